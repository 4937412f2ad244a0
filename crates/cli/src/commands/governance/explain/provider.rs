//! `legation governance explain provider`.

use clap::Args;
use legation_api::governance::{Blocked, Considered, ExplainProvider, Preference, ProviderAnswer};
use legation_core::{EntityId, EntityLabels, Wall};
use legation_policy::governance::{Governance, Meant};
use legation_policy::provider::{ChoiceSource, ProviderDecision, ProviderInquiry, Whose, choose};

use super::Found;
use crate::table::printable;
use crate::{CliError, Context, Exit};

/// Arguments of `legation governance explain provider`.
#[derive(Debug, Args)]
pub struct ProviderArgs {
    /// Whose data is in the request: ids or accounts, or `all`. Without it the
    /// request holds nobody's.
    #[arg(long = "entity", value_name = "ENTITY", value_delimiter = ',')]
    entities: Vec<String>,

    /// The job it is for.
    #[arg(long)]
    job: Option<String>,

    /// As if the token of a Copilot user came with the request.
    #[arg(long)]
    copilot_token: bool,
}

pub(crate) fn explain(
    context: &Context,
    found: &Found,
    args: &ProviderArgs,
) -> Result<(), CliError> {
    let request = ExplainProvider {
        entities: args.entities.clone(),
        job: args.job.clone(),
        copilot_token: args.copilot_token,
    };
    let answer = answered(found.governance(), &request, context.clock.wall())?;
    context.output.result(&answer, render)?;
    match answer.blocked {
        None => Ok(()),
        Some(blocked) => Err(CliError {
            message: format!("no model gets it: {}", blocked.reason),
            hint: Some(blocked.next_safe_step),
            rule: Some(blocked.reason_code),
            class: None,
            exit: Exit::Refused,
        }),
    }
}

/// Which model may have a request, and why.
///
/// # Errors
/// When it names an entity that there is not.
pub fn answered(
    governance: &Governance,
    request: &ExplainProvider,
    now: Wall,
) -> Result<ProviderAnswer, CliError> {
    let labels = labels(governance, &request.entities)?;
    let inquiry = ProviderInquiry {
        whose: labels.as_ref().map_or(Whose::All, Whose::Labels),
        job: request.job.as_deref(),
        copilot_token: request.copilot_token,
        now_ms: now.0,
    };
    let decision = choose(governance, &inquiry);
    let names = match &labels {
        Some(labels) => labels.iter().map(ToString::to_string).collect(),
        None => vec!["all".to_owned()],
    };
    Ok(answer(names, &decision))
}

/// The labels that were named; `None` for every entity's.
fn labels(governance: &Governance, names: &[String]) -> Result<Option<EntityLabels>, CliError> {
    let mut labels: Vec<EntityId> = Vec::new();
    for name in names {
        let meant = match governance.profile.get() {
            Ok(profile) => profile.meant(name),
            // Nothing can be looked up; the decision will say why.
            Err(_) => Meant::Entity(EntityId::new(name.as_str())),
        };
        match meant {
            Meant::All => return Ok(None),
            Meant::Entity(id) => labels.push(id),
            Meant::LooksLike(id) => {
                return Err(CliError::new(
                    Exit::Usage,
                    format!("`{}` only looks like the entity `{id}`", printable(name)),
                ));
            }
            Meant::Unknown => {
                return Err(CliError::new(
                    Exit::Usage,
                    format!("there is no entity `{}`", printable(name)),
                )
                .with_hint("`legation governance explain files` names them"));
            }
        }
    }
    Ok(Some(labels.into_iter().collect()))
}

fn answer(entity_context: Vec<String>, decision: &ProviderDecision) -> ProviderAnswer {
    let selected = decision.outcome.as_ref().ok();
    ProviderAnswer {
        entity_context,
        provider: selected.map(|one| one.provider.clone()),
        model: selected.and_then(|one| one.model.clone()),
        source: selected.map(|one| one.source.as_str().to_owned()),
        needs_clearance: decision.needs_clearance,
        redacted_first: decision.redact.iter().map(ToString::to_string).collect(),
        blocked: decision.outcome.as_ref().err().map(|blocked| Blocked {
            reason_code: blocked.reason_code.as_str().to_owned(),
            reason: blocked.reason.clone(),
            next_safe_step: blocked.next_safe_step.clone(),
        }),
        event: decision.event().as_str().to_owned(),
        considered: decision
            .considered
            .iter()
            .map(|one| Considered {
                provider: one.provider.clone(),
                may_have_it: one.is_in(),
                why_not: one.out.iter().map(ToString::to_string).collect(),
            })
            .collect(),
        preferences: decision
            .preferences
            .iter()
            .map(|wish| Preference {
                of: whose(&wish.source),
                provider: wish.provider.clone(),
                may_have_it: wish.is_in,
            })
            .collect(),
        fallbacks: decision
            .fallbacks
            .iter()
            .map(|one| one.provider.clone())
            .collect(),
    }
}

fn whose(source: &ChoiceSource) -> String {
    match source {
        ChoiceSource::PerJobOverride => "the job".to_owned(),
        ChoiceSource::EntityOverride(entity) => format!("entity {entity}"),
        ChoiceSource::Default => "default".to_owned(),
        ChoiceSource::Fallback => "fallback".to_owned(),
        ChoiceSource::Named => "whoever asks".to_owned(),
    }
}

fn render(answer: &ProviderAnswer) -> String {
    let mut text = String::new();
    let mut line = |name: &str, says: &str| {
        text.push_str(&format!("{name:<10}{}\n", printable(says)));
    };
    let list = |names: &[String]| {
        if names.is_empty() {
            "nobody".to_owned()
        } else {
            names.join(", ")
        }
    };
    line("data of", &list(&answer.entity_context));
    if answer.needs_clearance {
        line(
            "clearance",
            "only a provider cleared for health information",
        );
    }
    if !answer.redacted_first.is_empty() {
        line("redacted", &list(&answer.redacted_first));
    }
    for one in &answer.considered {
        let says = if one.may_have_it {
            "may have it".to_owned()
        } else {
            format!("may not: {}", one.why_not.join("; "))
        };
        line("provider", &format!("{} {says}", one.provider));
    }
    for wish in &answer.preferences {
        let says = if wish.may_have_it {
            "taken"
        } else {
            "passed over"
        };
        line(
            "wish",
            &format!("{} wants {}: {says}", wish.of, wish.provider),
        );
    }
    match (&answer.provider, &answer.blocked) {
        (Some(provider), _) => {
            let model = answer.model.as_deref().unwrap_or("the provider's own");
            line("chosen", &format!("{provider}, model {model}"));
            for other in &answer.fallbacks {
                line("else", &format!("{other}, when nobody answers"));
            }
        }
        (None, Some(blocked)) => {
            line(
                "blocked",
                &format!("{}: {}", blocked.reason_code, blocked.reason),
            );
        }
        (None, None) => {}
    }
    text
}
