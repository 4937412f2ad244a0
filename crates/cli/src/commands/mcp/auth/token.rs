//! Signing in at GitHub's server is keeping a token, and signing out is forgetting it.

use legation_api::mcp::{AuthRevokeAnswer, ReloadServer};
use legation_config::ServerSpec;
use legation_config::servers::GithubToken;
use legation_config::servers::github::{SECRET, is_token};
use legation_core::Secret;

use super::{AuthArgs, SignedIn};
use crate::commands::{hub, identity, mcp, nudge, secret, workspace};
use crate::table::printable;
use crate::{CliError, Context, Exit, terminal};

/// The server that is meant, where it is one that a token of GitHub's opens.
pub(super) fn wanted(context: &Context, name: &str) -> Option<ServerSpec> {
    let servers = mcp::configured(context).servers.into_iter();
    let mut named = servers.filter(|spec| spec.name.as_str() == name || *spec.label() == *name);
    named.find(|spec| spec.github.is_some())
}

pub(super) fn cmd_token(
    context: &Context,
    args: &AuthArgs,
    spec: &ServerSpec,
) -> Result<(), CliError> {
    let name = printable(&args.name);
    if args.revoke {
        return revoke(context, &name);
    }
    if args.no_wait || args.paste {
        let message = format!("{name} is opened by a token, and no address leads to one");
        return Err(CliError::new(Exit::Usage, message)
            .with_hint("pipe the token in, or type it where you are asked for it"));
    }
    let was_given = spec.github == Some(GithubToken::Given);
    if was_given && !args.force {
        let ready = answer(args, "ready");
        return context.output.result(&ready, |_| {
            format!("{name} has a token; --force keeps another")
        });
    }
    let token = token(context, &name)?;
    if !is_token(token.reveal()) {
        return Err(CliError::new(
            Exit::Usage,
            "that is no token of GitHub's that opens anything; nothing was kept",
        )
        .with_hint(
            "make a personal access token at GitHub; one that begins with ghr_ only renews others",
        ));
    }
    secret::keep(&secret::open(context)?, SECRET, &token)?;
    nudge(context);
    // Its entry is the same as before, so nothing else has it connect with the new one.
    if was_given && let Some(mut hub) = hub(context)? {
        hub.call(&ReloadServer {
            name: Some(args.name.clone()),
            workspace: workspace(),
        })?;
    }
    context.output.result(&answer(args, "signed-in"), |_| {
        format!("{name} has a token, kept as the secret {SECRET}")
    })
}

fn revoke(context: &Context, name: &str) -> Result<(), CliError> {
    let was_there =
        context.home.secrets().exists() && secret::forget(&secret::open(context)?, SECRET)?;
    nudge(context);
    context
        .output
        .result(&AuthRevokeAnswer { was_there }, |answer| {
            if answer.was_there {
                format!("the token of {name} is forgotten here; at GitHub it is valid until you delete it there")
            } else {
                format!("no token of {name} was kept; see [github] of `legation config list`")
            }
        })
}

fn token(context: &Context, name: &str) -> Result<Secret, CliError> {
    if !terminal::is_there() {
        return identity::keep::read();
    }
    context.output.say(
        "A personal access token of GitHub's, or one that `gh auth token` prints; it is not shown.",
    );
    let typed = terminal::ask_hidden(&format!("token for {name}:"));
    let typed = typed.map_err(|error| CliError::failed(&error))?;
    Ok(Secret::new(typed.trim()))
}

fn answer<'a>(args: &'a AuthArgs, status: &'static str) -> SignedIn<'a> {
    SignedIn {
        server: &args.name,
        status,
        url: None,
    }
}
