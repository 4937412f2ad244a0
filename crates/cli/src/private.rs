//! The secrets that a hub, or a command that signs in, was given in its
//! environment.
//!
//! Whoever may look at a process sees the environment it was started with. So
//! a program that finds secrets there starts itself again without them, in the
//! same process, and reads them from a pipe.

use std::collections::BTreeSet;
use std::ffi::OsString;

use legation_config::{Environment, Settings};
use legation_core::Home;
use legation_core::error::chain;
use legation_core::process::{HANDED_OVER, HandOverError, hand_over, take_handed_over};

use serde_json::Value;

use crate::{CliError, Context, Exit};

/// Where programs usually look for keys of model providers.
const USUAL: [&str; 3] = [
    "OPENAI_API_KEY",
    "AZURE_OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
];

/// The environment, with what was handed over. Does not return where there are
/// secrets to hand over: this program then starts anew, with the same arguments.
///
/// # Errors
/// When they cannot be handed over; nothing was done then.
pub fn private_environment(context: &Context) -> Result<Environment, CliError> {
    let mut of_others = provider_variables(&context.home);
    of_others.extend(settings_variables(context));
    let is_key = |name: &str| of_others.contains(name);
    let (rest, secrets) = context.environment.split_secrets(is_key);
    if rest.get_os(HANDED_OVER).is_some() {
        let handed_over = take_handed_over().map_err(|error| refused(&error))?;
        return Ok(rest.without(HANDED_OVER).with(handed_over));
    }
    if secrets.is_empty() {
        return Ok(rest);
    }
    let rest: Vec<(OsString, OsString)> = rest
        .iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    Err(refused(&hand_over(&secrets, rest)))
}

/// The variables that hold keys of model providers: those that the owner's file names, and the usual
/// ones, because the file may name them while the hub runs.
fn provider_variables(home: &Home) -> BTreeSet<String> {
    let mut names: BTreeSet<String> = USUAL.iter().map(|&name| name.to_owned()).collect();
    // Whatever is wrong with the file is told by whoever reads its rules.
    let text = std::fs::read(home.governance().join("llm_provider.json"));
    let file: Option<Value> = text
        .ok()
        .and_then(|text| serde_json::from_slice(&text).ok());
    let providers = file
        .as_ref()
        .and_then(|file| file.get("providers")?.as_object());
    let named = providers.into_iter().flat_map(serde_json::Map::values);
    let named = named.filter_map(|provider| provider.get("auth_env_var")?.as_str());
    names.extend(named.map(str::to_owned));
    names
}

/// The variables that hold what the collector of traces wants, or a token of GitHub's. Whatever is wrong
/// with the settings is told by whoever goes by them.
fn settings_variables(context: &Context) -> Vec<String> {
    let Ok(settings) = Settings::load(&context.home, &context.environment, &[]) else {
        return Vec::new();
    };
    let headers = settings.traces.map(|traces| traces.headers);
    let headers = headers.into_iter().flatten().map(|header| header.variable);
    let tokens = settings.github.token_variables;
    headers.chain(tokens).map(Into::into).collect()
}

fn refused(error: &HandOverError) -> CliError {
    let message = format!("{}; nothing was done", chain(error));
    CliError::new(Exit::Failed, message).with_hint(error.hint())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_providers_are_secrets_of_the_environment() {
        let folder = tempfile::tempdir().expect("a folder");
        let home = Home::at(folder.path());
        std::fs::create_dir_all(home.governance()).expect("a folder");
        let file = home.governance().join("llm_provider.json");
        let environment = |pairs: &[(&str, &str)]| {
            let pairs = pairs
                .iter()
                .map(|(name, value)| (name.into(), value.into()));
            Environment::default().with(pairs)
        };
        let all = environment(&[
            ("OPENAI_API_KEY", "one"),
            ("OUR_KEY", "two"),
            ("PATH", "/bin"),
        ]);
        for (text, left, taken) in [
            ("", vec!["OUR_KEY", "PATH"], vec!["OPENAI_API_KEY"]),
            (
                r#"{ "providers": { "ours": { "auth_env_var": "OUR_KEY" }, "bad": 7 } }"#,
                vec!["PATH"],
                vec!["OPENAI_API_KEY", "OUR_KEY"],
            ),
        ] {
            std::fs::write(&file, text).expect("a file");
            let names = provider_variables(&home);
            let (rest, secrets) = all.split_secrets(|name| names.contains(name));
            let rest: Vec<_> = rest.iter().map(|(name, _)| name.to_owned()).collect();
            let secrets: Vec<_> = secrets.into_iter().map(|(name, _)| name).collect();
            assert_eq!(
                (rest, secrets),
                (
                    left.into_iter().map(OsString::from).collect(),
                    taken.into_iter().map(OsString::from).collect(),
                ),
                "{text}"
            );
        }
    }
}
