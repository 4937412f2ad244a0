//! Which models are preferred, for whoever asks the hub over HTTP.

use std::path::PathBuf;

use legation_api::models::{
    EntityView, JobView, PreferencesAnswer, ProviderView, SetPreferences, SetPreferencesAnswer,
};
use legation_config::Environment;
use legation_core::Home;
use legation_models::{Endpoint, KeyPlace};
use legation_policy::governance::{LlmProviders, Provider};
use serde_json::Value;

use super::file::{self, Change, Place};
use crate::{CliError, Exit};

/// What `llm_provider.json` prefers, without anything secret.
#[must_use]
pub fn preferences(providers: &LlmProviders) -> PreferencesAnswer {
    let entity = |one: &legation_policy::governance::EntityOverride| EntityView {
        provider: one.provider.clone(),
        required_hipaa_cleared: one.required_hipaa_cleared,
        notes: one.notes.clone(),
    };
    let job = |one: &legation_policy::governance::JobOverride| JobView {
        provider: one.provider.clone(),
        model: one.model.clone(),
        notes: one.notes.clone(),
    };
    let jobs = providers.per_job_overrides.iter();
    let entities = providers.entity_overrides.iter();
    let all = providers.providers.iter();
    PreferencesAnswer {
        default_provider: providers.default_provider.clone(),
        default_model: providers.default_model.clone(),
        providers: all
            .map(|(name, one)| (name.clone(), provider(name, one)))
            .collect(),
        entity_overrides: entities
            .map(|(id, one)| (id.to_string(), entity(one)))
            .collect(),
        per_job_overrides: jobs.map(|(name, one)| (name.clone(), job(one))).collect(),
        fallbacks: providers.fallbacks.clone(),
    }
}

fn provider(name: &str, provider: &Provider) -> ProviderView {
    // What is no address may hold a password.
    let endpoint = provider
        .endpoint()
        .and_then(|text| Endpoint::parse(text).ok());
    let key = match KeyPlace::of(name, provider) {
        KeyPlace::Variable(_) => "environment",
        KeyPlace::Keystore => "keystore",
        KeyPlace::Caller => "caller",
        KeyPlace::Nowhere => "none",
    };
    ProviderView {
        kind: provider.kind_as(name).map(|kind| kind.as_str().to_owned()),
        enabled: provider.enabled,
        endpoint: endpoint.map(|endpoint| endpoint.to_string()),
        default_model: provider.default_model.clone(),
        hipaa_cleared: provider.hipaa_cleared,
        key: key.to_owned(),
        auth_env_var: provider.auth_env_var.clone(),
        notes: provider.notes.clone(),
    }
}

/// Changes what is preferred, all of it or nothing. The same change again
/// changes nothing.
///
/// # Errors
/// Why nothing was changed.
pub fn set_preferences(
    home: &Home,
    environment: &Environment,
    folders: &[PathBuf],
    wanted: &SetPreferences,
) -> Result<SetPreferencesAnswer, CliError> {
    let place = Place {
        home,
        environment,
        folders,
    };
    if wanted.default_provider.is_none() && wanted.per_job_overrides.is_empty() {
        let message =
            "neither `default_provider` nor `per_job_overrides` is given; nothing was changed";
        return Err(CliError::new(Exit::Usage, message)
            .with_hint("name what shall be preferred, or ask with GET"));
    }
    let edited = file::edit(place, wanted.dry_run, |_| Ok(changes(wanted)))?;
    let policy = file::policy(place, &edited.text);
    let providers = super::providers(policy.governance())?;
    Ok(SetPreferencesAnswer {
        updated: edited.changes && !wanted.dry_run,
        changes: edited.changes,
        dry_run: wanted.dry_run,
        warnings: edited.warnings,
        preferences: preferences(providers),
    })
}

fn changes(wanted: &SetPreferences) -> Vec<Change<'_>> {
    let default = wanted.default_provider.as_ref().map(|name| Change {
        member: "default_provider",
        key: None,
        value: Some(Value::from(name.as_str())),
    });
    let jobs = wanted.per_job_overrides.iter().map(|(job, view)| Change {
        member: "per_job_overrides",
        key: Some(job.as_str()),
        value: view.as_ref().map(entry),
    });
    default.into_iter().chain(jobs).collect()
}

fn entry(view: &JobView) -> Value {
    let members = [
        ("provider", Some(&view.provider)),
        ("model", view.model.as_ref()),
        ("notes", view.notes.as_ref()),
    ];
    let given = members.into_iter().filter_map(|(name, text)| {
        let text = Value::from(text?.as_str());
        Some((name.to_owned(), text))
    });
    Value::Object(given.collect())
}
