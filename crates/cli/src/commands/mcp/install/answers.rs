//! What the owner is asked for, and says on the command line.

use std::collections::BTreeMap;

use legation_config::foreign::secret_name;
use legation_core::{Secret, ServerName};
use legation_registry::{Answers, Input, Way};

use crate::commands::secret;
use crate::table::printable;
use crate::{CliError, Context, Exit, terminal};

/// What was answered.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub(super) answers: Answers,
    /// Secrets that were typed, by the names they are kept under.
    pub(super) secrets: Vec<(String, Secret)>,
    /// Names of all secrets that the entry refers to.
    pub(super) referred: Vec<String>,
    /// Those of them that are not kept yet.
    pub(super) missing: Vec<String>,
}

/// Collects the answers: what was said, what is kept, what a person types where `is_asked`, and what
/// the publisher takes where nothing is said.
pub(super) fn answers(
    context: &Context,
    name: &ServerName,
    way: &Way,
    said: &[String],
    is_asked: bool,
) -> Result<Told, CliError> {
    let mut said = said_by_key(said, &way.inputs)?;
    let mut told = Told::default();
    let mut unanswered = Vec::new();
    for input in &way.inputs {
        let given = said.remove(input.key.as_str());
        if input.secret {
            secret(context, name, way, input, given, is_asked, &mut told)?;
            continue;
        }
        let values = match (given, &input.default) {
            (Some(values), _) => Some(values),
            (None, Some(default)) => Some(default.clone()),
            (None, None) if input.required && is_asked => Some(asked(input)?),
            (None, None) => {
                if input.required {
                    unanswered.push(line(input));
                }
                None
            }
        };
        if let Some(values) = values {
            input
                .check(&values)
                .map_err(|error| usage(&error.to_string()))?;
            told.answers.put(&input.key, values);
        }
    }
    if unanswered.is_empty() {
        return Ok(told);
    }
    Err(
        usage(&format!("it has to be told: {}", unanswered.join("; ")))
            .with_hint("say it with --set KEY=VALUE"),
    )
}

fn usage(message: &str) -> CliError {
    let message = format!("{message}; nothing was installed");
    CliError::new(Exit::Usage, printable(&message))
}

/// A key with what its publisher says about it.
pub(super) fn line(input: &Input) -> String {
    if input.about.is_empty() {
        input.key.clone()
    } else {
        format!("{} ({})", input.key, input.about)
    }
}

fn said_by_key<'i>(
    said: &[String],
    inputs: &'i [Input],
) -> Result<BTreeMap<&'i str, Vec<String>>, CliError> {
    let mut by_key: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for text in said {
        let (key, value) = text
            .split_once('=')
            .ok_or_else(|| usage("--set takes KEY=VALUE"))?;
        let input = inputs.iter().find(|input| input.key == key);
        let input = input.ok_or_else(|| {
            let known: Vec<&str> = inputs.iter().map(|input| input.key.as_str()).collect();
            let known = if known.is_empty() {
                "it wants to be told nothing".to_owned()
            } else {
                format!("it knows {}", known.join(", "))
            };
            usage(&format!("there is no {key} to set: {known}"))
        })?;
        by_key.entry(&input.key).or_default().push(value.to_owned());
    }
    Ok(by_key)
}

fn asked(input: &Input) -> Result<Vec<String>, CliError> {
    let choices = if input.choices.is_empty() {
        String::new()
    } else {
        format!(" [{}]", input.choices.join(", "))
    };
    let question = printable(&format!("{}{choices}:", line(input)));
    let typed = terminal::ask(&question).map_err(|error| CliError::failed(&error))?;
    if typed.is_empty() {
        return Err(usage("nothing was typed"));
    }
    Ok(vec![typed])
}

/// A secret stands nowhere but in the keystore: the entry refers to it.
fn secret(
    context: &Context,
    name: &ServerName,
    way: &Way,
    input: &Input,
    given: Option<Vec<String>>,
    is_asked: bool,
    told: &mut Told,
) -> Result<(), CliError> {
    if way.is_exposed(&input.key) {
        if !input.required && given.is_none() {
            return Ok(());
        }
        return Err(CliError::new(
            Exit::Refused,
            printable(&format!(
                "{} is a secret and would stand in a command line or an address, which others can \
                 read; nothing was installed",
                input.key
            )),
        )
        .with_hint(
            "take another way with --from, or ask who publishes it for a variable or header",
        ));
    }
    if let Some(values) = given {
        let is_reference = |value: &String| {
            let inner = value
                .strip_prefix("${")
                .and_then(|rest| rest.strip_suffix('}'));
            inner.is_some_and(|inner| !inner.contains(['{', '}', '$']) && !inner.contains(":-"))
        };
        if !values.iter().all(is_reference) {
            let message = format!(
                "{} is a secret, which command lines are no place for",
                input.key
            );
            return Err(usage(&message).with_hint(
                "leave it out to be asked, or refer to it: --set 'KEY=${keyring:NAME}'",
            ));
        }
        told.answers.put(&input.key, values);
        return Ok(());
    }
    let kept = secret_name(name.as_str(), &input.key);
    let is_kept =
        context.home.secrets().exists() && secret::get(&secret::open(context)?, &kept)?.is_some();
    if !is_kept && is_asked {
        let end = if input.required { "" } else { ", or nothing" };
        let question = printable(&format!("{} (not shown{end}):", line(input)));
        let typed = terminal::ask_hidden(&question).map_err(|error| CliError::failed(&error))?;
        match (typed.is_empty(), input.required) {
            (true, true) => return Err(usage("nothing was typed")),
            (true, false) => return Ok(()),
            (false, _) => told.secrets.push((kept.clone(), Secret::new(typed))),
        }
    } else if !is_kept {
        if !input.required {
            return Ok(());
        }
        told.missing.push(kept.clone());
    }
    told.answers
        .put(&input.key, vec![format!("${{keyring:{kept}}}")]);
    told.referred.push(kept);
    Ok(())
}
