//! `legation connect`: an agent's credential and configuration.

mod client;
mod credential;
pub(crate) mod file;
pub(crate) mod jsonc;
mod list;
mod part;
mod plan;
mod take_back;
pub(crate) mod undo;
mod wake;

use std::path::{Path, PathBuf};

use clap::Args;
use legation_api::hub::{Status, StatusAnswer};
use legation_core::{Secret, ServerName};
use serde::Serialize;

use crate::{CliError, Context, Exit};

use client::{Client, Road};
use file::ENTRY;
use part::Part;
use plan::{Also, plans};
use undo::{Note, Notes, mode_of, replace};

pub(crate) use list::problems;

/// Arguments of `legation connect`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  legation connect                   what is connected
  legation connect claude --dry-run  what would change
  legation connect claude
  legation connect claude --rules    also the rule when to look into the inbox
  legation connect claude --undo")]
pub struct ConnectArgs {
    /// Which agent; without one, what is connected.
    client: Option<Client>,

    /// Show what would change, and change nothing.
    #[arg(long, requires = "client")]
    dry_run: bool,

    /// Take back what `connect` changed, and revoke the credential.
    #[arg(long, requires = "client", conflicts_with_all = ["http", "server", "view"])]
    undo: bool,

    /// Give the agent HTTP and a token in its file instead of a bridge.
    #[arg(long, requires = "client")]
    http: bool,

    /// The agent's configuration file, where it is not the usual one.
    #[arg(long, value_name = "FILE", requires = "client")]
    file: Option<PathBuf>,

    /// Only this server, with its own tool names.
    #[arg(
        long,
        value_name = "NAME",
        requires = "client",
        conflicts_with = "view"
    )]
    server: Option<String>,

    /// Only this view of legation.toml.
    #[arg(long, value_name = "NAME", requires = "client")]
    view: Option<String>,

    /// Install nothing that wakes idle sessions for messages, and no command `/inbox`.
    #[arg(long, requires = "client", conflicts_with = "undo")]
    no_wake: bool,

    /// Write the rule when to look into the inbox into the file of rules that the
    /// agent reads everywhere, or into FILE (AGENTS.md, CLAUDE.md, …).
    #[arg(long, value_name = "FILE", num_args = 0..=1, requires = "client", conflicts_with = "undo")]
    rules: Option<Option<PathBuf>>,
}

#[derive(Debug, Serialize)]
struct Done<'a> {
    client: &'static str,
    file: &'a Path,
    changed: bool,
    dry_run: bool,
    diff: String,
    also: Vec<Also>,
}

pub(crate) fn cmd_connect(context: &Context, args: &ConnectArgs) -> Result<(), CliError> {
    match args.client {
        None => list::cmd_list(context),
        Some(client) if args.undo => take_back::cmd_undo(context, client, args),
        Some(client) => connect(context, client, args),
    }
}

fn connect(context: &Context, client: Client, args: &ConnectArgs) -> Result<(), CliError> {
    check(context, client, args)?;
    let path = path_of(context, client, args.file.as_deref())?;
    let before = read(&path)?;
    let text = before.as_deref().unwrap_or_default();
    let with = |token: &Secret| -> Result<(String, Option<serde_json::Value>), CliError> {
        let road = road(context, client, args, token)?;
        let old = file::entry(client, text);
        let changed = old.and_then(|old| {
            let entry = file::merged(old.as_ref(), &client.entry(&road));
            let same = old.as_ref() == Some(&entry);
            let after = match same {
                true => text.to_owned(),
                false => file::with_entry(client, text, Some(&entry))?,
            };
            Ok((after, old))
        });
        changed.map_err(|error| not_understood(&path, client, Some(&road), &error))
    };
    let plans = plans(context, client, args)?;
    // A credential is only made once it is known that the files can take it.
    let existing = credential::existing(context, client);
    let (mut after, old_entry) = with(existing.as_ref().unwrap_or(&Secret::new("****")))?;
    if existing.is_none() && !args.dry_run {
        after = with(&credential::mint(context, client)?)?.0;
    }
    let changed = before.as_deref() != Some(after.as_str());
    let done = Done {
        client: client.name(),
        file: &path,
        changed,
        dry_run: args.dry_run,
        diff: file::diff(client, text, &after),
        also: plans.iter().map(|plan| plan.also(client)).collect(),
    };
    if !args.dry_run && changed {
        let note = Note {
            mode: mode_of(&path),
            path: path.clone(),
            before: before.clone(),
            after: after.clone(),
            old_entry,
            part: Part::Entry,
        };
        let mode = note.mode.filter(|_| !args.http);
        remember(context, client, note)?;
        replace(&path, &after, mode)?;
    }
    if !args.dry_run {
        for plan in plans {
            plan.apply(context, client)?;
        }
    }
    if existing.is_none() && !args.dry_run {
        super::nudge(context);
    }
    context.output.result(&done, |done| describe(client, done))
}

/// What cannot work is said before anything is made.
fn check(context: &Context, client: Client, args: &ConnectArgs) -> Result<(), CliError> {
    if args.http && !client.takes_http() {
        return Err(CliError::new(
            Exit::Usage,
            format!(
                "{} cannot be given HTTP; nothing was changed",
                client.title()
            ),
        )
        .with_hint("leave out --http: the bridge works"));
    }
    if args.http {
        check_address(context)?;
    }
    if let Some(server) = &args.server {
        ServerName::parse(server).map_err(|error| CliError::usage(&error))?;
    }
    if let Some(view) = &args.view {
        let settings = super::config::settings(context)?;
        if !settings.views.contains_key(view.as_str()) {
            return Err(CliError::new(
                Exit::Usage,
                format!("there is no view `{view}`; nothing was changed"),
            )
            .with_hint(format!(
                "write [views.{view}] in {}",
                context.home.settings().display()
            )));
        }
    }
    Ok(())
}

/// The address goes into the agent's file, so it must be one that stays.
fn check_address(context: &Context) -> Result<(), CliError> {
    let listen = super::config::settings(context)?.listen;
    if listen.port() == 0 {
        return Err(CliError::new(
            Exit::Usage,
            "`listen` asks for any free port, so the address is another one at every start; nothing was changed",
        )
        .with_hint(format!(
            "set `listen` in {} to a port",
            context.home.settings().display()
        )));
    }
    let wanted = format!("http://{listen}");
    let running = super::hub(context)?.map(|mut hub| hub.call(&Status {}));
    if let Some(Ok(StatusAnswer {
        listen: Some(address),
        ..
    })) = running
        && address != wanted
    {
        context.output.say(&format!(
            "note: the running hub answers at {address}; the agent is given {wanted}, where `listen` puts the next one"
        ));
    }
    Ok(())
}

/// Notes how to take the change back. Connecting again must not make an
/// earlier connection the state to return to.
fn remember(context: &Context, client: Client, mut note: Note) -> Result<(), CliError> {
    let failed = |error: &dyn std::error::Error| CliError::failed(error);
    let mut notes = Notes::load(&context.home, client.name()).map_err(|error| failed(&error))?;
    if let Some(old) = notes.of(&note.path) {
        note.before = match note.before.take() {
            Some(now) if now != old.after => old
                .part
                .taken_out(client, &now, old.old_entry.as_ref())
                .map_err(|error| not_understood(&note.path, client, None, &error))?,
            _ => old.before.clone(),
        };
        note.old_entry = old.old_entry.clone();
        note.mode = old.mode.or(note.mode);
    }
    notes.set(note);
    notes
        .save(&context.home, client.name())
        .map_err(|error| failed(&error))
}

/// What a person can do so that an agent is woken for which no file can do it.
fn woken(client: Client) -> &'static str {
    match client {
        Client::Gemini => {
            "\nWhere an editor starts it (`gemini --acp`), write `legation acp --` before that command: then its idle sessions are woken."
        }
        Client::Claude
        | Client::Codex
        | Client::Copilot
        | Client::Jetbrains
        | Client::Opencode
        | Client::Vscode => "",
    }
}

fn describe(client: Client, done: &Done<'_>) -> String {
    let changed = done.changed || done.also.iter().any(|one| one.changed);
    let end = match (done.dry_run, changed) {
        (true, true) => "nothing was changed (--dry-run)".to_owned(),
        (_, false) => format!("{} is connected already", client.title()),
        (false, true) => {
            format!(
                "{title} is connected; restart it if it runs.\nTake it back with `legation connect {name} --undo`.",
                title = client.title(),
                name = client.name()
            ) + woken(client)
        }
    };
    let mut text = format!("{}\n{}", done.file.display(), done.diff);
    for one in done.also.iter().filter(|one| one.changed) {
        text.push_str(&format!("{}\n{}", one.file.display(), one.diff));
    }
    for one in done.also.iter().filter(|one| one.left) {
        let file = one.file.display();
        text.push_str(&format!("{file} is yours and stays as it is\n"));
    }
    format!("{text}{end}\n")
}

fn path_of(context: &Context, client: Client, given: Option<&Path>) -> Result<PathBuf, CliError> {
    match given {
        Some(path) => std::path::absolute(path).map_err(|error| CliError::usage(&error)),
        None => client.file(&context.environment).ok_or_else(|| {
            CliError::new(
                Exit::Usage,
                "the home directory is not known; nothing was changed",
            )
            .with_hint("set HOME, or name the file with --file")
        }),
    }
}

fn read(path: &Path) -> Result<Option<String>, CliError> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(CliError::new(
            Exit::Failed,
            format!(
                "{} cannot be read: {error}; nothing was changed",
                path.display()
            ),
        )),
    }
}

/// The road to the hub, with this program's own path: agents are started with
/// environments in which a bare name may mean another program, or none.
fn road(
    context: &Context,
    client: Client,
    args: &ConnectArgs,
    token: &Secret,
) -> Result<Road, CliError> {
    if args.http {
        let path = match (&args.server, &args.view) {
            (Some(server), _) => format!("/mcp/s/{}", percent_encoded(server)),
            (None, Some(view)) => format!("/mcp/v/{view}"),
            (None, None) => "/mcp".to_owned(),
        };
        let listen = super::config::settings(context)?.listen;
        return Ok(Road::Http {
            url: format!("http://{listen}{path}"),
            authorization: Secret::new(format!("Bearer {}", token.reveal())),
        });
    }
    let mut words = program_words(context)?.into_iter();
    let command = words.next().unwrap_or_default();
    let mut arguments = vec![
        "bridge".to_owned(),
        "--client".to_owned(),
        client.name().to_owned(),
    ];
    for (flag, value) in [("--server", &args.server), ("--view", &args.view)] {
        if let Some(value) = value {
            arguments.extend([flag.to_owned(), value.clone()]);
        }
    }
    arguments.extend(words);
    Ok(Road::Bridge {
        command,
        args: arguments,
    })
}

/// What starts this program on the right data directory, whatever an agent's
/// environment says.
fn program_words(context: &Context) -> Result<Vec<String>, CliError> {
    let program = std::env::current_exe().map_err(|error| CliError::failed(&error))?;
    let mut words = vec![program.display().to_string()];
    // An agent's environment may lack LEGATION_HOME, so a home that is not the usual one is named.
    let usual = context
        .environment
        .user_home()
        .map(|home| home.join(".legation"));
    if usual.as_deref() != Some(context.home.root()) {
        words.extend([
            "--home".to_owned(),
            context.home.root().display().to_string(),
        ]);
    }
    Ok(words)
}

/// A server's name as a segment of a URL's path (RFC 3986, section 2.1).
fn percent_encoded(name: &str) -> String {
    name.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                char::from(byte).to_string()
            }
            _ => format!("%{byte:02X}"),
        })
        .collect()
}

fn not_understood(
    path: &Path,
    client: Client,
    road: Option<&Road>,
    error: &file::FileError,
) -> CliError {
    let chain = legation_core::error::chain(error);
    let entry = match road {
        Some(road @ Road::Bridge { .. }) => client.entry(road).to_string(),
        // An HTTP entry holds the token.
        Some(Road::Http { .. }) => "the entry that its page in docs/clients shows".to_owned(),
        None => {
            return CliError::new(
                Exit::Failed,
                format!("{} was not changed: {chain}", path.display()),
            )
            .with_hint(format!("take `{ENTRY}` out of it yourself"));
        }
    };
    CliError::new(
        Exit::Failed,
        format!("{} was not changed: {chain}", path.display()),
    )
    .with_hint(format!(
        "correct it, or put this under `{}` as `{ENTRY}` yourself: {entry}",
        client.member()
    ))
}

#[cfg(test)]
mod tests;
