//! What the hard bans say.

use super::{deny, passes};
use crate::bans::{Ban, Matter};
use crate::cedar::Answer;
use crate::decision::{AskKind, Rung, Scope};
use crate::governance::BanKind;
use crate::policy::judge::{Case, Progress, Says, Want};
use crate::policy::{Policy, unavailable};
use crate::registry::ReasonCode;
use crate::rule_id::RuleId;

// === impl Policy ===

impl Policy {
    pub(in crate::policy) fn ask_bans<'p>(
        &'p self,
        case: &Case<'_>,
        progress: &mut Progress<'p>,
    ) -> Says {
        let compiled = match (&self.bans, &self.output_bans) {
            (Ok(compiled), Ok(_)) => compiled,
            (Err(broken), _) | (_, Err(broken)) => return Says::Deny(unavailable(broken)),
        };
        let Some(inquiry) = case.inquiry else {
            return if compiled.bans.strike_always(case.name) {
                deny(
                    "ban.always",
                    ReasonCode::HardBanViolation,
                    "a ban strikes it whatever it is called with",
                    "",
                )
            } else {
                passes("no ban strikes it whatever it is called with")
            };
        };
        if compiled.bans.is_empty() {
            return passes("there are no bans");
        }
        let Ok(boundary) = &self.boundary else {
            return passes("without a profile nothing is known about bans");
        };
        if let Some(supposed) = case.supposed {
            let mixed = !progress.apart && boundary.profile().mixed(&progress.labels).is_some();
            let struck =
                compiled
                    .bans
                    .supposed_to_strike(case.name, mixed, inquiry.certified, supposed);
            return if struck.is_empty() {
                passes("no ban strikes it")
            } else {
                ruled(&struck)
            };
        }
        progress.varies |= inquiry.arguments.is_some() && compiled.bans.read_arguments(case.name);
        let empty = serde_json::Value::Object(serde_json::Map::new());
        let mut facts = compiled.bans.facts(
            &Matter {
                name: case.name,
                value: inquiry
                    .arguments
                    .map_or(Some(&empty), |arguments| arguments.value()),
                text: None,
                entities: &progress.subject.entities,
                labels: &progress.labels,
                sent_to: inquiry.sent_to,
                unredacted_phi: inquiry.unredacted_phi,
            }
            .at(case.question.entity, boundary),
            boundary,
        );
        // Each by itself, they do not meet.
        facts.mixed_entities &= !progress.apart;
        let ask = self.cedar_ask(case, progress, &facts, inquiry.certified);
        let struck = match compiled.cedar.ask(&ask, Rung::Execute) {
            Answer::Permit(_) => return passes("no ban strikes it"),
            Answer::Silent | Answer::Error(_) => {
                return deny(
                    "ban.error",
                    ReasonCode::PolicyError,
                    "a ban could not be evaluated",
                    "The owner must look at governance/hard_bans.json.",
                );
            }
            Answer::Forbid(struck) => struck,
        };
        let bans: Vec<_> = struck
            .iter()
            .filter_map(|id| compiled.bans.get(id.strip_prefix("ban.")?))
            .collect();
        ruled(&bans)
    }
}

/// What the bans that strike come to.
fn ruled(bans: &[&Ban]) -> Says {
    let never = bans.iter().find(|ban| ban.kind == BanKind::NeverDo);
    match never.or(bans.first()) {
        Some(ban) if ban.kind == BanKind::NeverWithoutApproval => Says::Ask(Want {
            kind: AskKind::Permission,
            rule: RuleId::new(&format!("ban.{}", ban.id)),
            code: ReasonCode::OperatorApprovalRequired,
            reason: ban.because.clone(),
            widest: Scope::Once,
        }),
        Some(ban) => deny(
            &format!("ban.{}", ban.id),
            ReasonCode::HardBanViolation,
            ban.because.clone(),
            "Leave it out, or ask the owner to do it; no approval lifts a ban.",
        ),
        None => deny(
            "ban.error",
            ReasonCode::PolicyError,
            "a ban could not be told",
            "The owner must look at governance/hard_bans.json.",
        ),
    }
}
