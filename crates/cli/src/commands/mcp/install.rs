//! `legation mcp install`: a server that a registry lists, or an MCP bundle, as an entry of mcp.json.
//!
//! Everything that would run is known, pinned and shown before anything is written: the registry's word
//! is looked at, a bundle is fetched, checked and read, and only then is the owner asked.

mod answers;
mod find;
mod plan;

use clap::Args;
use legation_config::edit::{self, Change};
use legation_config::first_run;
use legation_core::error::chain;
use legation_core::{Secret, ServerName};
use legation_policy::Policy;
use legation_policy::governance::{Fingerprint, Template};
use legation_registry::{BadBundle, Recipe, Shelf};
use serde_json::{Value, json};

use super::bundles::INSTALLED;
use crate::commands::import::note::{Note, Server};
use crate::commands::import::undo;
use crate::commands::{hub, secret};
use crate::{CliError, Context, Exit};

use find::Candidate;
use plan::Plan;

/// Arguments of `legation mcp install`.
#[derive(Debug, Args)]
pub struct InstallArgs {
    /// NAME or NAME@VERSION of a registry, or a bundle: its file, or its address with --sha256.
    #[arg(required_unless_present = "undo")]
    what: Option<String>,

    /// Another registry than that of `registry.url`.
    #[arg(long, value_name = "URL")]
    registry: Option<String>,

    /// What to call the server [default: the end of its own name].
    #[arg(long = "as", value_name = "NAME")]
    name: Option<String>,

    /// Which of several ways: npm, pypi, oci, mcpb or remote [default: the first that can run here].
    #[arg(long, value_name = "KIND")]
    from: Option<String>,

    /// What the server wants to be told; the value may be ${NAME} or ${keyring:NAME}.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,

    /// What the bundle's SHA-256 has to be.
    #[arg(long, value_name = "HASH")]
    sha256: Option<String>,

    /// Replace an entry of the same name.
    #[arg(long)]
    replace: bool,

    /// Show what would run, and change nothing.
    #[arg(long)]
    dry_run: bool,

    /// Do it without being asked. Without this and without a terminal it is only shown.
    #[arg(long)]
    yes: bool,

    /// Take the last install back, with its secrets and its bundle.
    #[arg(long, conflicts_with_all = ["what", "registry", "name", "from", "set", "sha256", "replace", "dry_run"])]
    undo: bool,
}

pub(super) fn cmd_install(context: &Context, args: &InstallArgs) -> Result<(), CliError> {
    let Some(what) = args.what.as_deref().filter(|_| !args.undo) else {
        return undo::undo(context, INSTALLED, "a registry or bundle");
    };
    let found = find::candidate(context, args, what)?;
    let name = args.name.as_deref().unwrap_or(&found.name);
    let name = ServerName::parse(name).map_err(|error| CliError::usage(&error))?;
    let is_asked = !args.dry_run && crate::terminal::is_there();
    let told = answers::answers(context, &name, &found.way, &args.set, is_asked)?;
    let recipe = found.way.recipe(&told.answers);
    let recipe = recipe.map_err(|error| super::search::failed(&error))?;
    let entry = entry(&recipe, found.title.as_deref());
    let change = Change::AddJson {
        name: name.clone(),
        json: entry.to_string(),
        replace: args.replace,
    };
    let edited =
        edit::preview(&context.home, &change).map_err(|error| super::edit_failed(&error))?;
    check_policy(context, &name, &recipe)?;
    let mut plan = Plan::new(&name, &found, &recipe, &told);
    let warnings = edited.warnings.into_iter().map(|one| one.message);
    plan.notes.extend(warnings);
    plan.file = edited.file.display().to_string();
    plan.dry_run = args.dry_run;
    if args.dry_run {
        return context.output.result(&plan, Plan::render);
    }
    if !args.yes {
        context.output.say(&plan.render());
        match context.output.confirm("Install this server?") {
            Some(true) => {}
            Some(false) => {
                let message = "not agreed; nothing was installed";
                return Err(CliError::new(Exit::Refused, message));
            }
            None => {
                context
                    .output
                    .say("nothing was installed; do it with --yes");
                return context.output.result(&plan, |_| String::new());
            }
        }
    }
    apply(context, &name, &found, &told.secrets, &change, &entry)?;
    plan.changed = true;
    match hub(context)? {
        // It cannot connect before its secrets are there.
        Some(client) if told.missing.is_empty() => {
            plan.server = super::add::wait(context, client, &name)?;
        }
        Some(_) => crate::commands::nudge(context),
        None => {}
    }
    context.output.result(&plan, Plan::render)?;
    match &plan.server {
        Some(server) if server.status == "failed" => Err(CliError::new(
            Exit::NotReachable,
            format!("{name} was installed but does not connect"),
        )
        .with_hint(format!(
            "`legation mcp show {name}` says more; `legation mcp install --undo` takes it back"
        ))),
        _ => Ok(()),
    }
}

/// The entry of mcp.json.
fn entry(recipe: &Recipe, title: Option<&str>) -> Value {
    let pairs = |all: &[(String, String)]| -> Value {
        let all = all.iter().map(|(name, value)| (name.clone(), json!(value)));
        Value::Object(all.collect())
    };
    let mut entry = match recipe {
        Recipe::Program {
            command,
            args,
            cwd,
            env,
        } => {
            let mut entry = json!({"type": "stdio", "command": command, "args": args});
            if let Some(cwd) = cwd {
                entry["cwd"] = json!(cwd);
            }
            if !env.is_empty() {
                entry["env"] = pairs(env);
            }
            entry
        }
        Recipe::Address {
            url,
            headers,
            is_sse,
        } => {
            let kind = if *is_sse { "sse" } else { "http" };
            let mut entry = json!({"type": kind, "url": url});
            if !headers.is_empty() {
                entry["headers"] = pairs(headers);
            }
            entry
        }
    };
    entry["tools"] = json!(["*"]);
    if let Some(title) = title {
        entry["displayName"] = json!(title);
    }
    entry
}

/// What the organisation does not let start is not installed.
fn check_policy(context: &Context, name: &ServerName, recipe: &Recipe) -> Result<(), CliError> {
    let print = match recipe {
        Recipe::Program { command, args, .. } => {
            let words: Vec<&str> = std::iter::once(command)
                .chain(args)
                .map(String::as_str)
                .collect();
            Fingerprint::of_command(&words)
        }
        Recipe::Address { url, .. } => Fingerprint::of_url(url),
    };
    let sources = crate::sources(&context.home, &context.environment, &[]);
    let Some(reason) = Policy::load(&sources, &[]).forbids_server(name, print) else {
        return Ok(());
    };
    let mut refused = CliError::new(
        Exit::Refused,
        format!("{name} would not start: {reason}; nothing was installed"),
    )
    .with_hint("ask who keeps your organisation's policy; `--as NAME` gives it another name");
    refused.rule = Some("enterprise".to_owned());
    Err(refused)
}

fn apply(
    context: &Context,
    name: &ServerName,
    found: &Candidate,
    secrets: &[(String, Secret)],
    change: &Change,
    entry: &Value,
) -> Result<(), CliError> {
    first_run::first_run(&context.home, &crate::template(Template::Personal))
        .map_err(|error| CliError::failed(&error).with_hint(error.hint()))?;
    let shelf = Shelf::of(&context.home);
    if let Some(bundle) = &found.bundle {
        shelf.put(bundle).map_err(|error| bad_bundle(&error))?;
    }
    let known = edit::written(&context.home).map_err(|error| super::edit_failed(&error))?;
    let before = known.into_iter().find(|(known, _)| known == name.as_str());
    let mut note = Note {
        servers: vec![Server {
            name: name.to_string(),
            before: before.map(|(_, entry)| entry),
            after: entry.clone(),
        }],
        secrets: Vec::new(),
    };
    if !secrets.is_empty() {
        let store = secret::open(context)?;
        for (name, value) in secrets {
            if secret::get(&store, name)?.is_none() {
                note.secrets.push(name.clone());
            }
            secret::keep(&store, name, value)?;
        }
    }
    // Before it is done, so that it can be taken back whatever happens.
    note.save(&context.home, INSTALLED)?;
    let done = edit::apply(&context.home, change).map_err(|error| super::edit_failed(&error));
    // Another command may have taken away what nothing referred to yet.
    if let Some(bundle) = found.bundle.as_ref().filter(|_| done.is_ok()) {
        shelf.put(bundle).map_err(|error| bad_bundle(&error))?;
    }
    super::tidy_bundles(context);
    done.map(drop)
}

/// A bundle that is not used.
fn bad_bundle(error: &BadBundle) -> CliError {
    let exit = match error {
        BadBundle::Write(_) | BadBundle::Home(_) => Exit::Failed,
        BadBundle::Archive { .. }
        | BadBundle::Large { .. }
        | BadBundle::Entry { .. }
        | BadBundle::Manifest { .. } => Exit::Refused,
    };
    let message = format!(
        "the bundle is refused: {}; nothing was installed",
        chain(error)
    );
    CliError::new(exit, crate::table::printable(&message)).with_hint(error.hint())
}

#[cfg(test)]
mod tests;
