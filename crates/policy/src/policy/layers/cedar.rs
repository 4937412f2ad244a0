//! What the owner's Cedar policies say.

use super::{deny, passes};
use crate::bans::Matter;
use crate::cedar::{Answer, Ask};
use crate::decision::Rung;
use crate::facts::Facts;
use crate::policy::judge::{Case, Progress, Says};
use crate::policy::{Policy, unavailable};
use crate::registry::ReasonCode;
use crate::replay::Supposed;
use crate::rule_id::RuleId;

// === impl Policy ===

impl Policy {
    pub(in crate::policy) fn ask_cedar<'p>(
        &'p self,
        case: &Case<'_>,
        progress: &mut Progress<'p>,
    ) -> Says {
        let cedar = match &self.cedar {
            Ok(cedar) => match case.supposed {
                Some(supposed) => supposed.cedar().unwrap_or(cedar),
                None => cedar,
            },
            Err(broken) => return Says::Deny(unavailable(broken)),
        };
        let facts = match (
            case.inquiry,
            &self.boundary,
            cedar.read_arguments(case.name),
        ) {
            (None, _, true) => return passes("it depends on what it is called with"),
            (Some(inquiry), Ok(boundary), true) => {
                progress.varies = true;
                let empty = serde_json::Value::Object(serde_json::Map::new());
                let value = inquiry
                    .arguments
                    .map_or(Some(&empty), |arguments| arguments.value());
                let matter = Matter {
                    name: case.name,
                    value,
                    text: None,
                    entities: &progress.subject.entities,
                    labels: &progress.labels,
                    sent_to: inquiry.sent_to,
                    unredacted_phi: inquiry.unredacted_phi,
                }
                .at(case.question.entity, boundary);
                let mut facts = match &self.bans {
                    Ok(compiled) => compiled.bans.facts(&matter, boundary),
                    Err(_) => Facts::default(),
                };
                matter.all_facts(boundary, &mut facts);
                facts
            }
            _ => Facts::default(),
        };
        if let Some(supposed) = case.supposed {
            self.note_reads(case, progress, supposed);
        }
        if case.inquiry.is_some_and(|inquiry| inquiry.certified) {
            let ask = self.cedar_ask(case, progress, &facts, true);
            return match cedar.ask(&ask, Rung::Apply) {
                Answer::Permit(id) => {
                    progress.rung = Rung::Apply;
                    Says::By(RuleId::new(&id), "a policy lets it be applied".into())
                }
                other => cedar_refusal(&other),
            };
        }
        let mut first = None;
        for rung in [Rung::Execute, Rung::Draft, Rung::Propose] {
            if rung > progress.rung {
                continue;
            }
            let ask = self.cedar_ask(case, progress, &facts, false);
            match cedar.ask(&ask, rung) {
                Answer::Permit(id) if rung == progress.rung => {
                    return Says::By(RuleId::new(&id), "a policy permits it".into());
                }
                // What a policy forbids above this rung must not come about by
                // an answer, so only a tool that can stay below it goes on.
                Answer::Permit(id) => {
                    let forbidden = matches!(first, Some(Answer::Forbid(_) | Answer::Error(_)));
                    let drafts = case.question.native.is_some_and(|native| native.drafts);
                    if forbidden && !(rung == Rung::Draft && drafts) {
                        break;
                    }
                    let reason = format!("a policy permits it as far as {rung}");
                    return Says::Limit(rung, RuleId::new(&id), reason.into());
                }
                other => {
                    if first.is_none() || matches!(other, Answer::Error(_)) {
                        first = Some(other);
                    }
                }
            }
        }
        cedar_refusal(&first.unwrap_or(Answer::Silent))
    }

    /// Notes the policies that could speak of a recorded call and read what was
    /// not recorded.
    fn note_reads(&self, case: &Case<'_>, progress: &Progress<'_>, supposed: &Supposed<'_>) {
        let facts = Facts::default();
        let ask = self.cedar_ask(case, progress, &facts, false);
        let rungs = Rung::ALL.into_iter().filter(|rung| *rung <= progress.rung);
        let spoken: Vec<Box<str>> = rungs
            .flat_map(|rung| supposed.could_speak(&ask, rung))
            .collect();
        supposed.cedar_reads(|id| spoken.iter().any(|one| **one == *id));
    }

    pub(super) fn cedar_ask<'a>(
        &'a self,
        case: &'a Case<'a>,
        progress: &'a Progress<'_>,
        facts: &'a Facts,
        approved: bool,
    ) -> Ask<'a> {
        let role = self.governance.roles.good();
        Ask {
            client: &case.principal.client,
            via: case.principal.via.as_str(),
            role: role
                .and_then(|roles| roles.role_of(&case.principal.client))
                .map(|(role, _)| role),
            delegated: case.delegated,
            question: case.question,
            name: case.name,
            entities: &progress.subject.entities,
            labels: &progress.labels,
            facts,
            arguments: case
                .inquiry
                .and_then(|inquiry| inquiry.arguments)
                .and_then(|arguments| arguments.value()),
            approved,
        }
    }
}

fn cedar_refusal(answer: &Answer) -> Says {
    let owner = "Only the owner of this hub can change governance/policy.cedar.";
    match answer {
        Answer::Forbid(ids) => {
            let id = ids.first().map_or("cedar.unknown", |id| &**id);
            deny(
                id,
                ReasonCode::PolicyForbidden,
                "a policy of this hub's owner forbids it",
                owner,
            )
        }
        Answer::Error(_) => deny(
            "cedar.error",
            ReasonCode::PolicyError,
            "a policy could not be evaluated for it",
            owner,
        ),
        Answer::Silent | Answer::Permit(_) => deny(
            "cedar.default",
            ReasonCode::PolicyForbidden,
            "no policy permits it",
            owner,
        ),
    }
}
