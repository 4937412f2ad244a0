//! Events of the registry that happen around the gate: files, definitions,
//! labels and keys.

use std::collections::BTreeMap;
use std::sync::Arc;

use legation_api::models::PreferencesAnswer;
use legation_core::{EntityId, TaskSet};
use legation_gate::journal::Happened;
use legation_gate::policy::registry::{EventName, ReasonCode};
use legation_host::PinNews;
use legation_policy::Policy;
use legation_policy::governance::Severity;

use super::hub::Inner;

/// What was in force when the files were last read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InForce {
    version: u64,
    broken: Vec<String>,
    /// Which models are preferred, where that can be read.
    preferred: Option<PreferencesAnswer>,
}

/// Records what happens beside calls, and what servers define anew.
pub(super) fn run(tasks: &TaskSet, inner: &Arc<Inner>) {
    let gate = Arc::clone(&inner.gate);
    tasks.spawn("upkeep", async move {
        gate.run_upkeep(legation_core::Cancel::new()).await;
    });
    let inner = Arc::clone(inner);
    tasks.spawn("definitions", async move {
        loop {
            for news in inner.host.noticed().await {
                defined(&inner, &news);
            }
        }
    });
}

fn defined(hub: &Inner, news: &PinNews) {
    let entity = || news.entity.clone().unwrap_or_else(EntityId::personal);
    if news.seen > 0 {
        let text = format!("{} definitions were seen for the first time", news.seen);
        hub.gate.happened(Happened {
            entity: entity(),
            tool: Some(format!("{}/*", news.server).into()),
            reason: Some(ReasonCode::DefinitionNew),
            ..Happened::new(EventName::DefinitionSeen, &text)
        });
    }
    for item in &news.changed {
        hub.gate.happened(Happened {
            entity: entity(),
            tool: Some(format!("{}/{item}", news.server).into()),
            reason: Some(ReasonCode::DefinitionChanged),
            ..Happened::new(
                EventName::DefinitionChanged,
                "it is not what was agreed to, and set aside",
            )
        });
    }
}

/// The owner looked at a definition. On record before it takes effect.
pub(super) fn reviewed(server: &str, item: &str, accepted: bool, text: &str) -> Happened {
    let event = match accepted {
        true => EventName::DefinitionApproved,
        false => EventName::DefinitionRejected,
    };
    Happened {
        tool: Some(format!("{server}/{item}").into()),
        reason: (!accepted).then_some(ReasonCode::DefinitionQuarantined),
        ..Happened::new(event, text)
    }
}

/// Other rules than before, or files that broke.
pub(super) fn governed(hub: &Inner, rules: &Policy) {
    let problems = rules.problems().iter();
    let errors = problems.filter(|problem| problem.severity == Severity::Error);
    let mut broken: Vec<String> = errors.map(|problem| problem.file.to_string()).collect();
    broken.sort();
    broken.dedup();
    let now = InForce {
        version: rules.version(),
        broken,
        preferred: preferred(rules),
    };
    let before = hub.set_in_force(now.clone());
    if let Some(before) = &before
        && let (Some(old), Some(new)) = (&before.preferred, &now.preferred)
        && old != new
    {
        let text = format!(
            "default {}, was {}",
            new.default_provider, old.default_provider
        );
        hub.gate
            .happened(Happened::new(EventName::LlmProviderChanged, &text));
    }
    if !now.broken.is_empty()
        && before
            .as_ref()
            .is_none_or(|before| before.broken != now.broken)
    {
        let text = format!("broken: {}", now.broken.join(", "));
        hub.gate.happened(Happened {
            reason: Some(ReasonCode::GovernanceUnavailable),
            ..Happened::new(EventName::GovernanceBroken, &text)
        });
    }
    if before.is_some_and(|before| before.version != now.version) {
        let text = format!("version {:016x} of the rules is in force", now.version);
        hub.gate
            .happened(Happened::new(EventName::GovernanceChanged, &text));
    }
}

/// Which models are preferred, without what else is known of them.
fn preferred(rules: &Policy) -> Option<PreferencesAnswer> {
    let providers = rules.governance().providers.good()?;
    Some(PreferencesAnswer {
        providers: BTreeMap::new(),
        ..legation_cli::models::preferences(providers)
    })
}

/// Somebody signed in at the console's pages. On record before a browser is let in.
pub(super) fn signed_in() -> Happened {
    let text = "a browser was let in with a link of `legation console`";
    Happened::new(EventName::ConsoleSignedIn, text)
}

/// The labels of a conversation were taken off.
pub(super) fn labels_cleared(hub: &Inner, holder: &str) {
    let text = format!(
        "of the conversation {}",
        legation_gate::approval::escaped(holder, 80)
    );
    hub.gate
        .happened(Happened::new(EventName::LabelsCleared, &text));
}

/// The owner changes something of the desk. On record before it takes effect.
pub(super) fn desk_changed(entity: &EntityId, what: &str, text: &str) -> Happened {
    Happened {
        entity: entity.clone(),
        tool: Some(format!("desk/{what}").into()),
        ..Happened::new(EventName::DeskChanged, text)
    }
}

/// Keys were destroyed.
pub(super) fn keys_destroyed(hub: &Inner, entity: &EntityId, months: &[String]) {
    let text = format!("months {}", months.join(", "));
    hub.gate.happened(Happened {
        entity: entity.clone(),
        ..Happened::new(EventName::KeyDestroyed, &text)
    });
}
