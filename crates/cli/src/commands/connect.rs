//! `legation connect`: an agent's credential and configuration.

mod client;
mod file;
mod undo;

use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use legation_config::clients;
use legation_core::home::{create_private_dir, write_private};
use legation_core::{ClientId, Home, Secret};

use crate::table::Table;
use crate::{CliError, Context, Exit};

use client::{Client, Road};
use file::{ENTRY, with_entry};
use undo::{Undo, replace};

/// Arguments of `legation connect`.
#[derive(Debug, Args)]
pub struct ConnectArgs {
    /// Which agent; without one, what is connected.
    client: Option<Client>,

    /// Show what would change, and change nothing.
    #[arg(long)]
    dry_run: bool,

    /// Take back what `connect` changed, and revoke the credential.
    #[arg(long, conflicts_with = "dry_run")]
    undo: bool,

    /// Give the agent HTTP and a token in its file instead of a bridge.
    #[arg(long)]
    http: bool,

    /// The agent's configuration file, where it is not the usual one.
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,

    /// Only this server, with its own tool names.
    #[arg(long, value_name = "NAME", conflicts_with = "view")]
    server: Option<String>,

    /// Only this view of legation.toml.
    #[arg(long, value_name = "NAME")]
    view: Option<String>,
}

#[derive(Debug, Serialize)]
struct Done<'a> {
    client: &'a str,
    file: &'a Path,
    changed: bool,
    dry_run: bool,
    diff: String,
}

#[derive(Debug, Serialize)]
struct Connected {
    client: &'static str,
    title: &'static str,
    file: Option<PathBuf>,
    installed: bool,
    connected: bool,
}

pub(crate) fn cmd_connect(context: &Context, args: &ConnectArgs) -> Result<(), CliError> {
    let Some(client) = args.client else {
        return list(context);
    };
    if args.undo {
        return undo(context, client);
    }
    connect(context, client, args)
}

fn connect(context: &Context, client: Client, args: &ConnectArgs) -> Result<(), CliError> {
    if args.http && !client.takes_http() {
        return Err(CliError::new(
            Exit::Usage,
            format!(
                "{} cannot keep an HTTP token in its file; nothing was changed",
                client.title()
            ),
        )
        .with_hint("leave out --http: the bridge works"));
    }
    let path = path_of(context, client, args.file.as_deref())?;
    let before = read(&path)?;
    let token = if args.dry_run {
        Secret::new("****")
    } else {
        mint(context, client)?
    };
    let road = road(context, client, args, &token)?;
    let (after, old_entry) = with_entry(
        client,
        before.as_deref().unwrap_or_default(),
        Some(&client.entry(&road)),
    )
    .map_err(|error| not_understood(&path, client, &road, &error))?;
    let diff = diff(before.as_deref().unwrap_or_default(), &after, &token);
    let changed = before.as_deref() != Some(after.as_str());
    if !args.dry_run && changed {
        let old = Undo::load(&context.home, client.name()).ok().flatten();
        // Connecting twice must not make the first connection the state to return to.
        let (before, old_entry) = match old {
            Some(old) if Some(&old.after) == before.as_ref() => (old.before, old.old_entry),
            _ => (before, old_entry),
        };
        Undo {
            path: path.clone(),
            before,
            after: after.clone(),
            old_entry,
        }
        .save(&context.home, client.name())
        .map_err(|error| CliError::failed(&error))?;
        replace(&path, &after, args.http).map_err(|error| CliError::failed(&error))?;
    }
    let done = Done {
        client: client.name(),
        file: &path,
        changed,
        dry_run: args.dry_run,
        diff,
    };
    context.output.result(&done, |done| {
        let end = match (done.dry_run, done.changed) {
            (true, _) => "nothing was changed (--dry-run)".to_owned(),
            (false, false) => format!("{} was connected already", client.title()),
            (false, true) => format!(
                "{} is connected; restart it. Take it back with `legation connect {} --undo`",
                client.title(),
                client.name()
            ),
        };
        format!("{}\n{}{end}\n", done.file.display(), done.diff)
    })
}

fn undo(context: &Context, client: Client) -> Result<(), CliError> {
    let Some(note) =
        Undo::load(&context.home, client.name()).map_err(|error| CliError::failed(&error))?
    else {
        return Err(CliError::new(
            Exit::Failed,
            format!(
                "{} was not connected from here; nothing was changed",
                client.title()
            ),
        ));
    };
    let now = read(&note.path)?;
    let restored = match (&now, &note.before) {
        (Some(now), before) if *now == note.after => before.clone(),
        // Somebody changed the file since: only the hub's own entry is taken out.
        (Some(now), _) => {
            let changed = with_entry(client, now, note.old_entry.as_ref());
            Some(changed.map_err(|error| CliError::failed(&error))?.0)
        }
        (None, _) => None,
    };
    let diff = diff(
        now.as_deref().unwrap_or_default(),
        restored.as_deref().unwrap_or_default(),
        &Secret::new("****"),
    );
    match &restored {
        Some(text) => {
            replace(&note.path, text, false).map_err(|error| CliError::failed(&error))?;
        }
        None if now.is_some() => {
            std::fs::remove_file(&note.path).map_err(|error| CliError::failed(&error))?;
        }
        None => {}
    }
    revoke(context, client)?;
    Undo::forget(&context.home, client.name()).map_err(|error| CliError::failed(&error))?;
    let done = Done {
        client: client.name(),
        file: &note.path,
        changed: true,
        dry_run: false,
        diff,
    };
    context.output.result(&done, |done| {
        format!(
            "{}\n{}{} is no longer connected and its credential is revoked\n",
            done.file.display(),
            done.diff,
            client.title()
        )
    })
}

fn list(context: &Context) -> Result<(), CliError> {
    let rows: Vec<Connected> = Client::ALL
        .into_iter()
        .map(|client| {
            let file = client.file(&context.environment);
            let text = file
                .as_deref()
                .and_then(|path| std::fs::read_to_string(path).ok());
            let connected = text.as_deref().is_some_and(|text| {
                with_entry(client, text, None).is_ok_and(|(_, entry)| entry.is_some())
            });
            let installed = file
                .as_deref()
                .and_then(Path::parent)
                .is_some_and(Path::is_dir);
            Connected {
                client: client.name(),
                title: client.title(),
                file,
                installed,
                connected,
            }
        })
        .collect();
    context.output.result(&rows, |rows| {
        let mut table = Table::new(&["CLIENT", "CONNECTED", "FILE"]);
        for row in rows {
            let file = row.file.as_ref().map(|path| path.display().to_string());
            let connected = if row.connected { "yes" } else { "no" };
            table.row([
                row.client.to_owned(),
                connected.to_owned(),
                file.unwrap_or_default(),
            ]);
        }
        table.render() + "\nconnect one with `legation connect CLIENT`\n"
    })
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
            (Some(server), _) => format!("/mcp/s/{server}"),
            (None, Some(view)) => format!("/mcp/v/{view}"),
            (None, None) => "/mcp".to_owned(),
        };
        let listen = crate::commands::config::listen_address(context)?;
        return Ok(Road::Http {
            url: format!("http://{listen}{path}"),
            authorization: Secret::new(format!("Bearer {}", token.reveal())),
        });
    }
    let program = std::env::current_exe().map_err(|error| CliError::failed(&error))?;
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
    // An agent's environment may lack LEGATION_HOME, so a home that is not the usual one is named.
    let usual = context
        .environment
        .user_home()
        .map(|home| home.join(".legation"));
    if usual.as_deref() != Some(context.home.root()) {
        arguments.extend([
            "--home".to_owned(),
            context.home.root().display().to_string(),
        ]);
    }
    Ok(Road::Bridge {
        command: program.display().to_string(),
        args: arguments,
    })
}

/// A new credential. It is also laid down for the agent's bridge, which has no
/// other way to show it: neither its arguments nor the agent's file may hold it.
fn mint(context: &Context, client: Client) -> Result<Secret, CliError> {
    let failed = |error: &dyn std::error::Error| CliError::failed(error);
    context.home.create().map_err(|error| failed(&error))?;
    let now = context.clock.wall();
    let minted = clients::mint(
        &context.home,
        client.name(),
        client.title(),
        client.name(),
        now,
    )
    .map_err(|error| CliError::failed(&error).with_hint(error.hint()))?;
    create_private_dir(&context.home.client_tokens()).map_err(|error| failed(&error))?;
    write_private(
        &token_file(&context.home, client),
        minted.token.reveal().as_bytes(),
    )
    .map_err(|error| failed(&error))?;
    Ok(minted.token)
}

fn revoke(context: &Context, client: Client) -> Result<(), CliError> {
    clients::revoke(
        &context.home,
        &ClientId::new(client.name()),
        context.clock.wall(),
    )
    .map_err(|error| CliError::failed(&error).with_hint(error.hint()))?;
    match std::fs::remove_file(token_file(&context.home, client)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(CliError::failed(&error)),
        _ => Ok(()),
    }
}

fn token_file(home: &Home, client: Client) -> PathBuf {
    home.client_tokens()
        .join(format!("{}.token", client.name()))
}

fn not_understood(path: &Path, client: Client, road: &Road, error: &file::FileError) -> CliError {
    let chain = legation_core::error::chain(error);
    let entry = match road {
        Road::Bridge { .. } => client.entry(road).to_string(),
        Road::Http { .. } => "the entry that --dry-run shows".to_owned(),
    };
    CliError::new(
        Exit::Failed,
        format!("{} was not changed: {chain}", path.display()),
    )
    .with_hint(format!(
        "put this under `{}` as `{ENTRY}` yourself: {entry}",
        client.member()
    ))
}

/// What changes, line by line, without the token.
fn diff(before: &str, after: &str, token: &Secret) -> String {
    similar::TextDiff::from_lines(before, after)
        .unified_diff()
        .context_radius(3)
        .to_string()
        .replace(token.reveal(), "****")
}
