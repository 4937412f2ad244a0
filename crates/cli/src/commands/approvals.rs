//! `legation approvals`, `approve` and `deny`: the calls that wait for a person.
//!
//! Everything a model or a server wrote is shown escaped: what a person agrees
//! to must not be able to hide a part of itself.

use clap::{Args, Subcommand};
use legation_api::AdminClient;
use legation_api::approvals::{
    Answer, Certify, Find, List, ListAnswer, Posted, ResetLabels, Revoke, Waiting,
};

use crate::commands::running_hub;
use crate::table::{Table, printable};
use crate::{CliError, Context, Exit, terminal};

/// Arguments of `legation approvals`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct ApprovalsArgs {
    #[command(subcommand)]
    command: Option<ApprovalsCommand>,

    /// Take a grant back instead.
    #[arg(long, value_name = "GRANT")]
    revoke: Option<String>,

    /// Forget whose data the conversations of a client, or of one bridge, hold.
    #[arg(long, value_name = "HOLDER", conflicts_with = "revoke")]
    reset_labels: Option<String>,
}

/// What to do with what waits.
#[derive(Debug, Subcommand)]
enum ApprovalsCommand {
    /// Show everything that waits, and every grant.
    List,
    /// Show one whole, with the digest that its card in Teams has.
    Show {
        /// Which one.
        id: String,
    },
}

/// Arguments of `legation approve`.
#[derive(Debug, Args)]
pub struct ApproveArgs {
    /// Which one, as `legation approvals` shows it.
    id: String,

    /// Such calls until the client's session ends.
    #[arg(long)]
    session: bool,

    /// Such calls from the same folder.
    #[arg(long, conflicts_with = "session")]
    here: bool,

    /// Such calls until the tool's definition changes.
    #[arg(long, conflicts_with_all = ["session", "here"])]
    always: bool,

    /// For a proposal: read the PIN from standard input.
    #[arg(long)]
    pin_stdin: bool,

    /// For a proposal: have the operating system ask instead of the PIN.
    #[arg(long, conflicts_with = "pin_stdin")]
    consent: bool,
}

/// Arguments of `legation deny`.
#[derive(Debug, Args)]
pub struct DenyArgs {
    /// Which one, as `legation approvals` shows it.
    id: String,
}

pub(crate) fn cmd_approvals(context: &Context, args: &ApprovalsArgs) -> Result<(), CliError> {
    let mut hub = running_hub(context)?;
    if let Some(ApprovalsCommand::Show { id }) = &args.command {
        let waiting = find(&mut hub, id)?;
        return context.output.result(&waiting, shown_whole);
    }
    if let Some(id) = &args.revoke {
        let done = hub.call(&Revoke { id: id.clone() })?;
        return context
            .output
            .result(&done, |_| format!("{} is taken back.\n", printable(id)));
    }
    if let Some(holder) = &args.reset_labels {
        let request = ResetLabels {
            holder: holder.clone(),
        };
        let done = hub.call(&request)?;
        return context
            .output
            .result(&done, |_| format!("{} holds nothing.\n", printable(holder)));
    }
    let answer = hub.call(&List {})?;
    context.output.result(&answer, render)
}

pub(crate) fn cmd_approve(context: &Context, args: &ApproveArgs) -> Result<(), CliError> {
    let mut hub = running_hub(context)?;
    let waiting = find(&mut hub, &args.id)?;
    if !context.output.is_json() {
        context.output.say(&shown(&waiting));
    }
    if waiting.kind == "proposal" {
        return certify(context, &mut hub, &waiting, args);
    }
    let answer = match (args.session, args.here, args.always) {
        (true, _, _) => "session",
        (_, true, _) => "here",
        (_, _, true) => "always",
        _ => "once",
    };
    if terminal::is_there() {
        let question = format!("Approve it ({answer})? [y/N]");
        let said = terminal::ask(&question).map_err(|error| CliError::failed(&error))?;
        if !matches!(said.to_ascii_lowercase().as_str(), "y" | "yes") {
            return Err(CliError::new(Exit::Failed, "nothing was approved"));
        }
    }
    let done = hub.call(&Answer {
        id: waiting.id.clone(),
        answer: answer.to_owned(),
    })?;
    context.output.result(&done, |done| {
        let granted = &done.answer;
        let why = match answer {
            _ if granted == answer => "",
            "session" => ", because its client has no session",
            _ => ", because its client is in no folder",
        };
        format!("{} is approved: {granted}{why}.\n", waiting.id)
    })
}

pub(crate) fn cmd_deny(context: &Context, args: &DenyArgs) -> Result<(), CliError> {
    let mut hub = running_hub(context)?;
    let done = hub.call(&Answer {
        id: args.id.clone(),
        answer: "deny".to_owned(),
    })?;
    context
        .output
        .result(&done, |_| format!("{} is denied.\n", printable(&args.id)))
}

/// What is certified is the plan that was shown, by its digest.
fn certify(
    context: &Context,
    hub: &mut AdminClient,
    waiting: &Waiting,
    args: &ApproveArgs,
) -> Result<(), CliError> {
    let pin = if args.consent {
        None
    } else if args.pin_stdin {
        Some(terminal::piped())
    } else if terminal::is_there() {
        Some(terminal::ask_hidden("PIN:"))
    } else {
        return Err(CliError::new(
            Exit::Refused,
            "a proposal takes a person's PIN and nobody is at a terminal; nothing was certified",
        )
        .with_hint("run it at a terminal, or with --consent on a desktop"));
    };
    let pin = pin.transpose().map_err(|error| CliError::failed(&error))?;
    let done = hub.call(&Certify {
        id: waiting.id.clone(),
        digest: waiting.digest.clone().unwrap_or_default(),
        pin,
    })?;
    context.output.result(&done, |_| {
        format!(
            "{} is certified; it runs when {} makes the same call again.\n",
            waiting.id,
            printable(&waiting.client)
        )
    })
}

fn find(hub: &mut AdminClient, id: &str) -> Result<Waiting, CliError> {
    Ok(hub.call(&Find { id: id.to_owned() })?)
}

/// One waiting call, for the person who is about to agree to it.
fn shown(waiting: &Waiting) -> String {
    let client = match &waiting.on_behalf_of {
        Some(by) => format!("{} (for {})", printable(&waiting.client), printable(by)),
        None => printable(&waiting.client),
    };
    let verb = match waiting.server.is_empty() {
        true => "wants to use its own",
        false => "calls",
    };
    let rule = match waiting.rule.is_empty() {
        true => String::new(),
        false => format!(" (rule {})", printable(&waiting.rule)),
    };
    format!(
        "{} {}: {client} {verb} {} for {}\n  arguments {}\n  because   {}{rule}",
        waiting.kind,
        waiting.id,
        call(waiting),
        printable(&waiting.entity),
        printable(&waiting.arguments),
        printable(&waiting.reason),
    )
}

/// The same with all that is known of it.
fn shown_whole(waiting: &Waiting) -> String {
    let mut text = shown(waiting);
    let mut line = |name: &str, value: &str| text.push_str(&format!("\n  {name:<9} {value}"));
    if let Some(digest) = &waiting.short_digest {
        line("digest", digest);
    }
    line("answers", &waiting.answers.join(", "));
    line("asked", &waiting.created);
    line("expires", &waiting.expires);
    if let Some(posted) = &waiting.posted {
        line("asked in", &elsewhere(posted));
    }
    text.push('\n');
    text
}

/// Where else a person is asked, and why not.
fn elsewhere(posted: &Posted) -> String {
    let problem = match &posted.problem {
        Some(problem) => format!(": {}", printable(problem)),
        None => String::new(),
    };
    format!(
        "{} {} ({}){problem}",
        posted.to, posted.account, posted.state
    )
}

/// What would be called, as people name it.
fn call(waiting: &Waiting) -> String {
    match waiting.server.is_empty() {
        true => printable(&waiting.item),
        false => printable(&format!("{}/{}", waiting.server, waiting.item)),
    }
}

fn render(answer: &ListAnswer) -> String {
    const SHOWN: usize = 60;
    let mut text = String::new();
    for problem in &answer.reported {
        text.push_str(&format!("WARNING: {}\n", printable(problem)));
    }
    if answer.waiting.is_empty() {
        text.push_str("Nothing waits.\n");
    } else {
        let is_put = answer.waiting.iter().any(|one| one.posted.is_some());
        let mut names = vec!["ID", "KIND", "CLIENT", "CALL", "ARGUMENTS", "EXPIRES"];
        if is_put {
            names.push("ALSO ASKED IN");
        }
        let mut table = Table::new(&names);
        for waiting in &answer.waiting {
            let arguments: String = printable(&waiting.arguments).chars().take(SHOWN).collect();
            let mut row = vec![
                waiting.id.clone(),
                waiting.kind.clone(),
                printable(&waiting.client),
                call(waiting),
                arguments,
                waiting.expires.clone(),
            ];
            if is_put {
                row.push(waiting.posted.as_ref().map_or("-".to_owned(), elsewhere));
            }
            table.row(row);
        }
        text.push_str(&table.render());
    }
    if !answer.grants.is_empty() {
        let mut table = Table::new(&["GRANT", "CLIENT", "CALL", "SCOPE", "BY", "EXPIRES"]);
        for grant in &answer.grants {
            table.row([
                grant.id.clone(),
                printable(&grant.client),
                printable(&format!("{}/{}", grant.server, grant.item)),
                grant.scope.clone(),
                grant.approver.clone(),
                grant.expires.clone().unwrap_or_else(|| "-".to_owned()),
            ]);
        }
        text.push('\n');
        text.push_str(&table.render());
    }
    text
}
