//! `legation models set`.

use clap::{Args, Subcommand};
use legation_models::{KeyPlace, Keys};
use serde::Serialize;
use serde_json::{Map, Value};

use super::file::{self, Change};
use crate::commands::connect::jsonc;
use crate::commands::identity::keep;
use crate::table::printable;
use crate::{CliError, Context, Exit};

/// The commands of `legation models set`.
#[derive(Debug, Subcommand)]
pub enum SetCommand {
    /// The provider where nothing else is preferred; `disabled` for none.
    Default {
        /// Which.
        provider: String,
    },
    /// The provider of a job.
    Job(JobArgs),
    /// Switch a provider on.
    Enable(EnableArgs),
    /// Switch a provider off.
    Disable {
        /// Which.
        provider: String,
    },
    /// Keep a provider's key, read from standard input, in the keystore.
    Key(KeyArgs),
}

/// Arguments of `legation models set job`.
#[derive(Debug, Args)]
pub struct JobArgs {
    /// The job, such as delegate.task.
    job: String,

    /// Its provider.
    #[arg(required_unless_present = "none")]
    provider: Option<String>,

    /// Its model, where it is not the provider's.
    #[arg(long, requires = "provider")]
    model: Option<String>,

    /// It shall prefer none.
    #[arg(long, conflicts_with = "provider")]
    none: bool,
}

/// Arguments of `legation models set enable`.
#[derive(Debug, Args)]
pub struct EnableArgs {
    /// Which.
    provider: String,

    /// Where it is.
    #[arg(long, value_name = "URL")]
    endpoint: Option<String>,

    /// Its model.
    #[arg(long)]
    model: Option<String>,
}

/// Arguments of `legation models set key`.
#[derive(Debug, Args)]
pub struct KeyArgs {
    /// Whose.
    provider: String,

    /// Forget the key.
    #[arg(long)]
    forget: bool,
}

#[derive(Debug, Serialize)]
struct Answer {
    updated: bool,
    says: String,
    warnings: Vec<String>,
}

pub(super) fn cmd_set(context: &Context, command: &SetCommand) -> Result<(), CliError> {
    let (says, warnings) = match command {
        SetCommand::Default { provider } => default(context, provider)?,
        SetCommand::Job(args) => job(context, args)?,
        SetCommand::Enable(args) => enable(context, args)?,
        SetCommand::Disable { provider } => {
            let off = Map::from_iter([("enabled".to_owned(), Value::from(false))]);
            let warnings = entry(context, provider, off)?;
            (format!("{provider} is switched off"), warnings)
        }
        SetCommand::Key(args) => key(context, args)?,
    };
    for warning in &warnings {
        context
            .output
            .say(&format!("warning: {}", printable(warning)));
    }
    let answer = Answer {
        updated: true,
        says,
        warnings,
    };
    context
        .output
        .result(&answer, |answer| format!("{}\n", printable(&answer.says)))
}

type Said = (String, Vec<String>);

fn default(context: &Context, provider: &str) -> Result<Said, CliError> {
    let change = Change {
        member: "default_provider",
        key: None,
        value: Some(Value::from(provider)),
    };
    let warnings = file::change(context, &change)?;
    Ok((format!("{provider} is the default provider"), warnings))
}

fn job(context: &Context, args: &JobArgs) -> Result<Said, CliError> {
    let value = args.provider.as_ref().map(|provider| {
        let mut entry = Map::new();
        entry.insert("provider".to_owned(), Value::from(provider.as_str()));
        if let Some(model) = &args.model {
            entry.insert("model".to_owned(), Value::from(model.as_str()));
        }
        Value::Object(entry)
    });
    let change = Change {
        member: "per_job_overrides",
        key: Some(&args.job),
        value,
    };
    let warnings = file::change(context, &change)?;
    let says = match &args.provider {
        Some(provider) => format!("{} prefers {provider}", args.job),
        None => format!("{} prefers no provider", args.job),
    };
    Ok((says, warnings))
}

fn enable(context: &Context, args: &EnableArgs) -> Result<Said, CliError> {
    let mut new = Map::from_iter([("enabled".to_owned(), Value::from(true))]);
    for (name, value) in [("endpoint", &args.endpoint), ("default_model", &args.model)] {
        if let Some(value) = value {
            new.insert(name.to_owned(), Value::from(value.as_str()));
        }
    }
    let warnings = entry(context, &args.provider, new)?;
    Ok((format!("{} is switched on", args.provider), warnings))
}

/// Changes members of one provider's entry.
fn entry(
    context: &Context,
    provider: &str,
    new: Map<String, Value>,
) -> Result<Vec<String>, CliError> {
    file::change_as(context, |text| {
        let found = jsonc::entry(text, "providers", provider).map_err(|error| {
            CliError::new(Exit::Usage, legation_core::error::chain(&error))
                .with_hint("`legation governance check` says what is wrong")
        })?;
        let Some(Value::Object(mut entry)) = found else {
            return Err(unknown(provider));
        };
        entry.extend(new);
        Ok(Change {
            member: "providers",
            key: Some(provider),
            value: Some(Value::Object(entry)),
        })
    })
}

fn unknown(provider: &str) -> CliError {
    let message = format!(
        "there is no provider `{}`; nothing was changed",
        printable(provider)
    );
    CliError::new(Exit::Usage, message).with_hint("`legation models list` names them")
}

fn key(context: &Context, args: &KeyArgs) -> Result<Said, CliError> {
    let name = &args.provider;
    let governed = crate::commands::governance::find(context);
    let providers = super::providers(governed.governance())?;
    let provider = providers.providers.get(name).ok_or_else(|| unknown(name))?;
    let settings = crate::commands::config::settings(context)?;
    let place = KeyPlace::of(name, provider);
    let fail =
        |error: legation_keystore::SecretsError| CliError::failed(&error).with_hint(error.hint());
    if !args.forget && place == KeyPlace::Caller {
        let message = "its key comes with each request; nothing was kept";
        return Err(CliError::new(Exit::Usage, message));
    }
    // What is read is read before anything is opened.
    let secret = match args.forget {
        true => None,
        false => Some(keep::read()?),
    };
    context.home.create()?;
    let keep_in = crate::accounts::keep_in(&settings);
    let store = crate::accounts::secrets(&context.home, keep_in).map_err(fail)?;
    if let Some(text) = store.announcement() {
        context.output.say(&text);
    }
    let Some(secret) = secret else {
        let was_there = store.delete(&Keys::name(name)).map_err(fail)?;
        let says = match was_there {
            true => format!("the key of {name} is forgotten"),
            false => format!("there was no key of {name}"),
        };
        return Ok((says, Vec::new()));
    };
    store.put(&Keys::name(name), &secret).map_err(fail)?;
    let mut warnings = Vec::new();
    if place != KeyPlace::Keystore {
        warnings.push(format!(
            "the key is not used while {name} takes it from elsewhere: take `auth_env_var` out, \
             and write \"auth_source\": \"keystore\""
        ));
    }
    Ok((format!("kept the key of {name}"), warnings))
}
