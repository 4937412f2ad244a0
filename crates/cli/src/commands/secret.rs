//! `legation secret`: secrets that entries of servers refer to.

use clap::{Args, Subcommand};
use legation_config::environment::is_secret_name;
use legation_config::servers::Loaded;
use legation_core::Secret;
use legation_core::error::chain;
use legation_keystore::{KeepIn, SecretStore, SecretsError};
use serde::Serialize;

use crate::accounts::{KEPT, keep_in, secrets};
use crate::table::Table;
use crate::{CliError, Context, Exit, terminal};

/// The commands of `legation secret`.
#[derive(Debug, Subcommand)]
pub enum SecretCommand {
    /// Keep a secret, from standard input or typed without being shown.
    Set(SetArgs),
    /// List the names, and which servers refer to each. Values are never shown.
    List,
    /// Forget a secret.
    Rm(RmArgs),
}

/// Arguments of `legation secret set`.
#[derive(Debug, Args)]
pub struct SetArgs {
    /// Its name: entries refer to it as ${keyring:NAME}.
    name: String,
}

/// Arguments of `legation secret rm`.
#[derive(Debug, Args)]
pub struct RmArgs {
    /// Its name.
    name: String,
}

#[derive(Debug, Serialize)]
struct Changed {
    name: String,
    kept: bool,
    used_by: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Listed {
    name: String,
    used_by: Vec<String>,
    /// Whether a server refers to it and it is not there.
    missing: bool,
}

pub(crate) fn cmd_secret(context: &Context, command: &SecretCommand) -> Result<(), CliError> {
    match command {
        SecretCommand::Set(args) => set(context, &args.name),
        SecretCommand::List => list(context),
        SecretCommand::Rm(args) => remove(context, &args.name),
    }
}

/// The keystore, made where there is none.
pub(crate) fn open(context: &Context) -> Result<SecretStore, CliError> {
    // Settings that cannot be read are no reason to keep secrets elsewhere than they say.
    let keep = super::config::settings(context).map(|settings| keep_in(&settings))?;
    context.home.create()?;
    let store = secrets(&context.home, keep).map_err(|error| failed(&error))?;
    if let Some(text) = store.announcement() {
        context.output.say(&text);
    }
    Ok(store)
}

/// Keeps a secret under its name.
pub(crate) fn keep(store: &SecretStore, name: &str, secret: &Secret) -> Result<(), CliError> {
    store
        .put(&format!("{KEPT}{name}"), secret)
        .map_err(|error| failed(&error))
}

/// A secret by its name.
pub(crate) fn get(store: &SecretStore, name: &str) -> Result<Option<Secret>, CliError> {
    store
        .get(&format!("{KEPT}{name}"))
        .map_err(|error| failed(&error))
}

/// Forgets a secret; whether it was there.
pub(crate) fn forget(store: &SecretStore, name: &str) -> Result<bool, CliError> {
    store
        .delete(&format!("{KEPT}{name}"))
        .map_err(|error| failed(&error))
}

/// The names of all that are kept.
pub(crate) fn names(store: &SecretStore) -> Result<Vec<String>, CliError> {
    let names = store.list(KEPT).map_err(|error| failed(&error))?;
    let names = names.into_iter();
    Ok(names
        .filter_map(|name| name.strip_prefix(KEPT).map(str::to_owned))
        .collect())
}

fn failed(error: &SecretsError) -> CliError {
    CliError::new(Exit::Failed, chain(error)).with_hint(error.hint())
}

fn set(context: &Context, name: &str) -> Result<(), CliError> {
    check(name)?;
    let secret = if terminal::is_there() {
        let typed = terminal::ask_hidden(&format!("{name}:"));
        let typed = typed.map_err(|error| CliError::failed(&error))?;
        if typed.is_empty() {
            return Err(CliError::new(
                Exit::Usage,
                "nothing was typed; nothing was kept",
            ));
        }
        Secret::new(typed)
    } else {
        super::identity::keep::read()?
    };
    keep(&open(context)?, name, &secret)?;
    super::nudge(context);
    told(context, name, true)
}

fn remove(context: &Context, name: &str) -> Result<(), CliError> {
    check(name)?;
    let was_there = context.home.secrets().exists() && forget(&open(context)?, name)?;
    if !was_there {
        return Err(CliError::new(
            Exit::Failed,
            format!("there is no secret {name}; nothing was changed"),
        )
        .with_hint("`legation secret list` names them"));
    }
    super::nudge(context);
    told(context, name, false)
}

fn told(context: &Context, name: &str, kept: bool) -> Result<(), CliError> {
    let changed = Changed {
        name: name.to_owned(),
        kept,
        used_by: used_by(context, name),
    };
    context.output.result(&changed, |changed| {
        let verb = if changed.kept { "kept" } else { "forgotten" };
        let mut text = format!("{} is {verb}\n", changed.name);
        if changed.kept && changed.used_by.is_empty() {
            text.push_str(&format!(
                "write ${{keyring:{}}} where a server shall be given it\n",
                changed.name
            ));
        }
        for server in &changed.used_by {
            text.push_str(&format!(
                "{server} uses it from its next start on: legation mcp reload {server}\n"
            ));
        }
        text
    })
}

fn list(context: &Context) -> Result<(), CliError> {
    // Looking must not make what it looks for.
    let kept = match context.home.secrets().exists() {
        true => names(&secrets(&context.home, KeepIn::Auto).map_err(|error| failed(&error))?)?,
        false => Vec::new(),
    };
    let loaded = super::mcp::configured(context);
    let wanted = loaded.servers.iter().flat_map(|spec| spec.keyring_names());
    let missing = wanted.filter(|name| !kept.iter().any(|one| one == name));
    let mut all: Vec<(String, bool)> = missing.map(|name| (name.to_owned(), true)).collect();
    all.extend(kept.iter().map(|name| (name.clone(), false)));
    all.sort();
    all.dedup();
    let listed: Vec<Listed> = all
        .into_iter()
        .map(|(name, missing)| Listed {
            used_by: using(&loaded, &name),
            name,
            missing,
        })
        .collect();
    context.output.result(&listed, |listed| {
        if listed.is_empty() {
            return "no secrets; keep one with `legation secret set NAME`\n".to_owned();
        }
        let mut table = Table::new(&["NAME", "", "USED BY"]);
        for one in listed {
            let state = if one.missing { "missing" } else { "kept" };
            table.row([one.name.clone(), state.to_owned(), one.used_by.join(", ")]);
        }
        table.render()
    })
}

fn used_by(context: &Context, name: &str) -> Vec<String> {
    using(&super::mcp::configured(context), name)
}

fn using(loaded: &Loaded, name: &str) -> Vec<String> {
    let using = loaded
        .servers
        .iter()
        .filter(|spec| spec.keyring_names().contains(name));
    using.map(|spec| spec.label().into()).collect()
}

fn check(name: &str) -> Result<(), CliError> {
    if is_secret_name(name) {
        return Ok(());
    }
    Err(CliError::new(
        Exit::Usage,
        "that cannot be the name of a secret; nothing was changed",
    )
    .with_hint("a name is up to 120 letters, digits, dots, dashes and underscores"))
}

#[cfg(test)]
mod tests;
