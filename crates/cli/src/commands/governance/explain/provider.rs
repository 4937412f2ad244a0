//! `legation governance explain provider`.

use clap::Args;
use legation_core::{EntityId, EntityLabels};
use legation_policy::governance::Meant;
use legation_policy::provider::{ChoiceSource, ProviderDecision, ProviderInquiry, Whose, choose};
use serde::Serialize;

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

#[derive(Debug, Serialize)]
struct Answer {
    entity_context: Vec<String>,
    provider: Option<String>,
    model: Option<String>,
    source: Option<&'static str>,
    needs_clearance: bool,
    redacted_first: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    blocked: Option<Blocked>,
    event: &'static str,
    considered: Vec<Considered>,
    preferences: Vec<Preference>,
    /// Who is asked when the chosen one does not answer.
    fallbacks: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Blocked {
    reason_code: &'static str,
    reason: String,
    next_safe_step: String,
}

#[derive(Debug, Serialize)]
struct Considered {
    provider: String,
    may_have_it: bool,
    why_not: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Preference {
    of: String,
    provider: String,
    may_have_it: bool,
}

pub(crate) fn explain(
    context: &Context,
    found: &Found,
    args: &ProviderArgs,
) -> Result<(), CliError> {
    let labels = labels(found, &args.entities)?;
    let inquiry = ProviderInquiry {
        whose: labels.as_ref().map_or(Whose::All, Whose::Labels),
        job: args.job.as_deref(),
        copilot_token: args.copilot_token,
        now_ms: context.clock.wall().0,
    };
    let decision = choose(found.governance(), &inquiry);
    let names = match &labels {
        Some(labels) => labels.iter().map(ToString::to_string).collect(),
        None => vec!["all".to_owned()],
    };
    context.output.result(&answer(names, &decision), render)?;
    match decision.outcome {
        Ok(_) => Ok(()),
        Err(blocked) => Err(CliError {
            message: format!("no model gets it: {}", blocked.reason),
            hint: Some(blocked.next_safe_step),
            rule: Some(blocked.reason_code.to_string()),
            class: None,
            exit: Exit::Refused,
        }),
    }
}

/// The labels that were named; `None` for every entity's.
fn labels(found: &Found, names: &[String]) -> Result<Option<EntityLabels>, CliError> {
    let mut labels: Vec<EntityId> = Vec::new();
    for name in names {
        let meant = match found.governance().profile.get() {
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

fn answer(entity_context: Vec<String>, decision: &ProviderDecision) -> Answer {
    let selected = decision.outcome.as_ref().ok();
    Answer {
        entity_context,
        provider: selected.map(|one| one.provider.clone()),
        model: selected.and_then(|one| one.model.clone()),
        source: selected.map(|one| one.source.as_str()),
        needs_clearance: decision.needs_clearance,
        redacted_first: decision.redact.iter().map(ToString::to_string).collect(),
        blocked: decision.outcome.as_ref().err().map(|blocked| Blocked {
            reason_code: blocked.reason_code.as_str(),
            reason: blocked.reason.clone(),
            next_safe_step: blocked.next_safe_step.clone(),
        }),
        event: decision.event().as_str(),
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

fn render(answer: &Answer) -> String {
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
