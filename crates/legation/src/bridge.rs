//! `legation bridge`: what the pipe needs to know.

use std::io;
use std::path::{Path, PathBuf};

use legation_bridge::{BridgeParts, HubStarter, run};
use legation_cli::{BridgeArgs, CliError, Context, Exit};
use legation_core::hello::{Hello, HelloEndpoint, Mode};
use legation_core::id::random_hex;
use legation_core::process::{self, DetachSpec};

pub(crate) fn bridge(context: &Context, args: BridgeArgs) -> Result<(), CliError> {
    let endpoint = match (args.server, args.view) {
        (Some(server), _) => Some(HelloEndpoint::Server(server)),
        (None, Some(view)) => Some(HelloEndpoint::View(view)),
        (None, None) => None,
    };
    let token = args
        .client
        .as_deref()
        .and_then(|client| token(context, client));
    let hello = Hello {
        mode: Mode::Mcp,
        endpoint,
        cwd: std::env::current_dir()
            .ok()
            .map(|folder| folder.display().to_string()),
        client: args.client,
        token,
        seat: random_hex().map_err(|error| CliError::new(Exit::Failed, error.to_string()))?,
        version: context.version.to_owned(),
        channel: args.channel,
        again: false,
    };
    run(BridgeParts {
        home: context.home.clone(),
        hello,
        starter: (!args.no_start).then(|| starter(context)),
        clock: context.clock.clone(),
        input: Box::new(io::stdin()),
        output: Box::new(io::stdout()),
        talk: Box::new(io::stderr()),
    })
    .map_err(|error| CliError::failed(&error))
}

/// The credential that `legation connect` laid down for the client.
fn token(context: &Context, client: &str) -> Option<String> {
    // The name becomes part of a path: one that is no plain name has no file.
    let plain = client
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    let path = context.home.client_tokens().join(format!("{client}.token"));
    plain
        .then(|| std::fs::read_to_string(path).ok())
        .flatten()
        .map(|text| text.trim().to_owned())
}

/// Starts a hub that outlives who needs it, with no more of the environment than
/// the hub reads and its servers inherit.
pub(crate) fn starter(context: &Context) -> HubStarter {
    let home = context.home.clone();
    let env: Vec<_> = context
        .environment
        .inherited_by_children()
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .chain(
            context
                .environment
                .iter()
                .filter(|(name, _)| name.to_string_lossy().starts_with("LEGATION_"))
                .map(|(name, value)| (name.to_owned(), value.to_owned())),
        )
        .collect();
    Box::new(move || {
        let spec = DetachSpec {
            program: std::env::current_exe()?,
            args: vec![
                "--home".into(),
                home.root().into(),
                "serve".into(),
                "--detached".into(),
            ],
            env: env.clone(),
            cwd: PathBuf::from("/"),
            log: home.logs().join("start.log"),
        };
        let mut hub = process::detach(&spec)
            .map_err(|error| io::Error::other(legation_core::error::chain(&error)))?;
        let log = spec.log;
        Ok(Box::new(move || {
            hub.exited().map(|exit| last_words(&log, &exit.text))
        }))
    })
}

/// What a hub that ended said last: its error, if it printed one.
fn last_words(log: &Path, exit: &str) -> String {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let said: Vec<&str> = text.lines().rev().take(4).collect();
    match said.iter().find_map(|line| line.strip_prefix("error: ")) {
        Some(error) => error.to_owned(),
        None => exit.to_owned(),
    }
}
