//! `legation mcp auth`.

mod token;

use std::io::{BufRead as _, IsTerminal as _};

use clap::Args;
use legation_api::client::AdminClient;
use legation_api::mcp::{Auth, AuthAnswer, AuthBring, AuthRevoke, AuthRevokeAnswer, AuthWait};
use serde::Serialize;

use crate::commands::{browser, running_hub, workspace};
use crate::table::printable;
use crate::{CliError, Context, Exit};

/// Arguments of `legation mcp auth`.
#[derive(Debug, Args)]
pub struct AuthArgs {
    /// Which server.
    name: String,
    /// Sign in anew, whatever there is.
    #[arg(long, conflicts_with = "revoke")]
    force: bool,
    /// End the sign-in: give it back, and forget it; of GitHub's server, forget its token.
    #[arg(long)]
    revoke: bool,
    /// Print where to go and do not wait until somebody did.
    #[arg(long, conflicts_with = "revoke")]
    no_wait: bool,
    /// Print where to go and open no browser.
    #[arg(long, conflicts_with = "revoke")]
    no_open: bool,
    /// Sign in with a browser of another machine: read from standard input the address that
    /// it ends at.
    #[arg(long, conflicts_with_all = ["revoke", "no_wait"])]
    paste: bool,
}

/// What came of it.
#[derive(Debug, Serialize)]
struct SignedIn<'a> {
    server: &'a str,
    /// `ready`, `pending` or `signed-in`.
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
}

pub(crate) fn cmd_auth(context: &Context, args: &AuthArgs) -> Result<(), CliError> {
    if let Some(spec) = token::wanted(context, &args.name) {
        return token::cmd_token(context, args, &spec);
    }
    let name = printable(&args.name).to_string();
    let mut hub = running_hub(context)?;
    if args.revoke {
        let answer: AuthRevokeAnswer = hub.call(&AuthRevoke {
            name: args.name.clone(),
            workspace: workspace(),
        })?;
        return context.output.result(&answer, |answer| {
            if answer.was_there {
                format!("signed out of {name}")
            } else {
                format!("nobody was signed in at {name}")
            }
        });
    }
    let AuthAnswer { url, .. } = hub.call(&Auth {
        name: args.name.clone(),
        force: args.force,
        workspace: workspace(),
    })?;
    let result = |status, url| SignedIn {
        server: &args.name,
        status,
        url,
    };
    let Some(url) = url else {
        let ready = result("ready", None);
        return context.output.result(&ready, |_| {
            format!("{name} needs no sign-in now; --force signs in anew")
        });
    };
    if args.no_wait {
        let pending = result("pending", Some(url));
        let shown = |pending: &SignedIn<'_>| pending.url.clone().unwrap_or_default();
        return context.output.result(&pending, shown);
    }
    let whose = if args.paste {
        "any browser"
    } else {
        "a browser of this machine"
    };
    let say = |text: &str| context.output.say(text);
    say(&format!(
        "Open this address with {whose} to sign in at {name}:"
    ));
    say(&format!("  {}", printable(&url)));
    if args.paste {
        say("It ends at an address of 127.0.0.1, which need not open. Paste that address here:");
        bring(context, &mut hub, &args.name)?;
    } else if !args.no_open {
        browser::open(context, "sign-in.html", &url);
    }
    loop {
        let ended = hub.call(&AuthWait {
            name: args.name.clone(),
            workspace: workspace(),
        })?;
        if !ended.over {
            continue;
        }
        if let Some(failure) = ended.failure {
            let error = CliError::new(Exit::Failed, failure);
            return Err(match ended.hint {
                Some(hint) => error.with_hint(hint),
                None => error,
            });
        }
        let done = result("signed-in", None);
        return context
            .output
            .result(&done, |_| format!("signed in at {name}"));
    }
}

/// Reads addresses until one is of the sign-in. A person may try again, a script may not.
fn bring(context: &Context, hub: &mut AdminClient, name: &str) -> Result<(), CliError> {
    let stdin = std::io::stdin();
    let is_person = stdin.is_terminal();
    for line in stdin.lock().lines() {
        let address = line.map_err(|error| CliError::failed(&error))?;
        if address.trim().is_empty() {
            continue;
        }
        let brought = hub.call(&AuthBring {
            name: name.to_owned(),
            address,
            workspace: workspace(),
        });
        match brought {
            Ok(_) => return Ok(()),
            Err(error) if is_person => context.output.say(&error.to_string()),
            Err(error) => return Err(error.into()),
        }
    }
    Err(
        CliError::new(Exit::Failed, "no address was pasted; nobody is signed in")
            .with_hint("begin again with `legation mcp auth NAME --paste`"),
    )
}
