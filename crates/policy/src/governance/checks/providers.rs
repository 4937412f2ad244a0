//! `llm_provider.json`.

use super::{Around, Findings};
use crate::governance::providers::{DISABLED, LlmProviders, Provider, ProviderKind};
use crate::provider::is_protected;

pub(super) fn check(all: &LlmProviders, around: &Around<'_>, found: &mut Findings<'_>) {
    if all.timeout_ms == Some(0) {
        found.refuse(
            &["timeout_ms"],
            "a model cannot answer in no time",
            "Give it some milliseconds, or leave it out.",
        );
    }
    for (name, provider) in &all.providers {
        one(name, provider, around, found);
    }
    preferences(all, around, found);
    protected(all, around, found);
}

fn one(name: &str, provider: &Provider, around: &Around<'_>, found: &mut Findings<'_>) {
    let within = |step| ["providers", name, step];
    if name == DISABLED {
        found.refuse(
            &["providers", name],
            "`disabled` means no provider and cannot be the name of one",
            "Give it another name.",
        );
    }
    let kind = provider.kind_as(name);
    if kind.is_none() {
        found.error(
            &["providers", name],
            format!("neither `kind` nor the name says how `{name}` is spoken to"),
            "Add a `kind`.",
        );
    }
    if provider
        .auth_env_var
        .as_deref()
        .is_some_and(|text| !is_variable(text))
    {
        // What stands there may be the key itself, so it is not repeated.
        found.refuse(
            &within("auth_env_var"),
            "this is not the name of an environment variable",
            "Write the variable's name. If a key stood here, change that key: files are copied.",
        );
    }
    match provider.endpoint() {
        None if provider.enabled => found.error(
            &within("endpoint"),
            format!("`{name}` is enabled and has no endpoint, so it cannot be chosen"),
            "Add its URL, or switch it off.",
        ),
        Some(url) if !is_url(url) => found.refuse(
            &within("endpoint"),
            format!("the endpoint of `{name}` is not an http or https URL"),
            "Write the whole URL.",
        ),
        Some(url) if url.starts_with("http://") && kind != Some(ProviderKind::LocalModel) => found
            .warn(
                &within("endpoint"),
                format!("`{name}` is spoken to without encryption"),
                "Use https.",
            ),
        Some(_) | None => {}
    }
    clearance(name, provider, kind, found);
    if let Some(prices) = provider.prices {
        let all = [Some(prices.input), prices.cached_input, Some(prices.output)];
        let is_price = |price: &f64| price.is_finite() && *price >= 0.0;
        if !all.iter().flatten().all(is_price) {
            found.refuse(
                &within("prices"),
                "a price is a number of dollars and not below zero",
                "Write what a million tokens cost.",
            );
        }
    }
    let budget = provider.limits.and_then(|limits| limits.usd_per_month);
    if budget.is_some_and(|usd| !usd.is_finite() || usd < 0.0) {
        found.refuse(
            &within("limits"),
            "a budget is a number of dollars and not below zero",
            "Write how much it may cost in 30 days.",
        );
    }
    if budget.is_some() && provider.prices.is_none() {
        found.refuse(
            &within("limits"),
            "a budget in dollars cannot be kept without prices",
            "Add `prices`, or use `tokens_per_day`.",
        );
    }
    if let Some(entities) = &provider.entities {
        around.entities(entities.named(), &within("entities"), found);
    }
}

fn clearance(
    name: &str,
    provider: &Provider,
    kind: Option<ProviderKind>,
    found: &mut Findings<'_>,
) {
    let place = ["providers", name, "hipaa_cleared"];
    if !provider.hipaa_cleared {
        return;
    }
    if kind == Some(ProviderKind::CopilotExtension) {
        found.warn(
            &place,
            "Copilot is never cleared for health information, whatever stands here",
            "Set hipaa_cleared to false.",
        );
    } else if kind != Some(ProviderKind::LocalModel)
        && provider.enabled
        && !provider.baa.as_ref().is_some_and(|baa| baa.is_named())
    {
        found.warn(
            &place,
            format!("`{name}` counts as not cleared: it names no business associate agreement"),
            "Add `baa` with the agreement's reference and its last day.",
        );
    }
}

fn preferences(all: &LlmProviders, around: &Around<'_>, found: &mut Findings<'_>) {
    let hint = "Correct the name, or add the provider.";
    let is_known = |name: &str| all.providers.contains_key(name);
    if all.default_provider != DISABLED && !is_known(&all.default_provider) {
        found.error(
            &["default_provider"],
            format!("there is no provider `{}`", all.default_provider),
            hint,
        );
    }
    for (entity, wanted) in &all.entity_overrides {
        let place = ["entity_overrides", entity.as_str()];
        around.entities([entity], &place, found);
        if let Some(provider) = wanted.provider.as_deref().filter(|name| !is_known(name)) {
            found.error(&place, format!("there is no provider `{provider}`"), hint);
        }
    }
    let against = all.savings_against.iter();
    for name in against.filter(|name| !is_known(name)) {
        found.error(
            &["savings_against"],
            format!("there is no provider `{name}`"),
            hint,
        );
    }
    for name in all.fallbacks.iter().filter(|name| !is_known(name)) {
        found.error(
            &["fallbacks"],
            format!("there is no provider `{name}`"),
            hint,
        );
    }
    for (job, wanted) in &all.per_job_overrides {
        if !is_known(&wanted.provider) {
            found.error(
                &["per_job_overrides", job],
                format!("there is no provider `{}`", wanted.provider),
                hint,
            );
        }
    }
}

/// An entity with health information needs a provider that may have it.
fn protected(all: &LlmProviders, around: &Around<'_>, found: &mut Findings<'_>) {
    let Some(profile) = around.profile else {
        return;
    };
    for entity in profile.entities.keys() {
        if !is_protected(all, profile, entity) {
            continue;
        }
        let wanted = all.entity_overrides.get(entity);
        let name = wanted
            .and_then(|wanted| wanted.provider.as_deref())
            .unwrap_or(&all.default_provider);
        let is_cleared = all.providers.get(name).is_some_and(|provider| {
            provider.hipaa_cleared && provider.kind_as(name) != Some(ProviderKind::CopilotExtension)
        });
        if name != DISABLED && all.providers.contains_key(name) && !is_cleared {
            found.error(
                &["entity_overrides", entity.as_str()],
                format!(
                    "`{entity}` has health information and its provider `{name}` is not cleared \
                     for it, so no model gets anything of it"
                ),
                "Name a provider with hipaa_cleared, or `disabled`.",
            );
        }
    }
}

fn is_variable(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes
        .next()
        .is_some_and(|byte| byte.is_ascii_uppercase() || byte == b'_')
        && bytes.all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
}

fn is_url(text: &str) -> bool {
    ["https://", "http://"].iter().any(|scheme| {
        text.strip_prefix(scheme).is_some_and(|rest| {
            !rest.is_empty()
                && !rest.starts_with('/')
                && !rest.contains(|letter: char| letter.is_whitespace() || letter.is_control())
        })
    })
}
