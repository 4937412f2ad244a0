//! What came back, judged before anybody reads it.

use legation_core::EntityLabels;

use super::judge::Refusal;
use super::{Policy, unavailable};
use crate::bans::Matter;
use crate::cedar::{Answer, Ask};
use crate::decision::Rung;
use crate::denied::{About, Denied};
use crate::permitted::Permitted;
use crate::registry::ReasonCode;
use crate::rule_id::RuleId;
use crate::target::Verb;

/// What is known of a result.
#[derive(Clone, Copy, Debug)]
pub struct ResultFacts<'a> {
    /// All its text, in one piece.
    pub text: &'a str,
    /// Whose data it holds, beyond what the permission says.
    pub labels: &'a EntityLabels,
    /// Whether health information was found in it that will not be redacted;
    /// `None` when nobody looked, in which case the patterns of this crate
    /// look.
    pub unredacted_phi: Option<bool>,
}

/// Judges one result.
pub(super) fn judge(
    policy: &Policy,
    permitted: &Permitted,
    result: &ResultFacts<'_>,
) -> Result<(), Box<Denied>> {
    find_fault(policy, permitted, result).map_or(Ok(()), |fault| {
        let about = About {
            entities: Some(permitted.entities().clone()),
            apart: permitted.is_apart(),
            labels: permitted.labels().clone(),
            policy_version: permitted.policy_version(),
        };
        let target = permitted.target().clone();
        Err(Box::new(Denied::of(&fault, target, about)))
    })
}

fn find_fault(policy: &Policy, permitted: &Permitted, result: &ResultFacts<'_>) -> Option<Refusal> {
    let target = permitted.target();
    let name = format!("{}/{}", target.server, target.item);
    let labels = permitted.labels().join(result.labels);
    ban_fault(policy, permitted, result, &name, &labels)
        .or_else(|| contract_fault(policy, permitted, result, &name, &labels))
}

fn ban_fault(
    policy: &Policy,
    permitted: &Permitted,
    result: &ResultFacts<'_>,
    name: &str,
    labels: &EntityLabels,
) -> Option<Refusal> {
    let (compiled, boundary) = match (&policy.output_bans, &policy.boundary) {
        (Ok(compiled), Ok(boundary)) => (compiled, boundary),
        (Err(broken), _) | (_, Err(broken)) => return Some(unavailable(broken)),
    };
    if compiled.bans.is_empty() {
        return None;
    }
    let value = serde_json::from_str(result.text).unwrap_or(serde_json::Value::Null);
    let facts = compiled.bans.facts(
        &Matter {
            name,
            value: Some(&value),
            text: Some(result.text),
            entities: permitted.labels(),
            labels,
            sent_to: None,
            unredacted_phi: result.unredacted_phi,
        },
        boundary,
    );
    let question = permitted.target().question();
    let ask = Ask {
        client: &permitted.principal().client,
        via: permitted.principal().via.as_str(),
        role: None,
        delegated: false,
        question: &question,
        name,
        entities: permitted.labels(),
        labels,
        facts: &facts,
        arguments: None,
        approved: permitted.grant().is_some() || permitted.rung() == Rung::Apply,
    };
    match compiled.cedar.ask(&ask, Rung::Execute) {
        Answer::Permit(_) => None,
        Answer::Forbid(ids) => {
            let id = ids.first().map_or("ban.error", |id| &**id);
            let ban = id.strip_prefix("ban.").and_then(|id| compiled.bans.get(id));
            Some(Refusal {
                rule: RuleId::new(id),
                code: ReasonCode::HardBanViolation,
                reason: ban.map_or("a ban strikes the result".into(), |ban| ban.because.clone()),
                next: "The result is withheld; ask the owner if it is needed.".into(),
            })
        }
        Answer::Silent | Answer::Error(_) => Some(Refusal {
            rule: RuleId::new("ban.error"),
            code: ReasonCode::PolicyError,
            reason: "a ban could not be evaluated".into(),
            next: "The owner must look at governance/hard_bans.json.".into(),
        }),
    }
}

fn contract_fault(
    policy: &Policy,
    permitted: &Permitted,
    result: &ResultFacts<'_>,
    name: &str,
    labels: &EntityLabels,
) -> Option<Refusal> {
    if permitted.target().verb != Verb::CallTool {
        return None;
    }
    let contracts = match policy.governance.contracts.get() {
        Ok(contracts) => contracts,
        Err(broken) => return Some(unavailable(broken)),
    };
    let phi = || {
        let looked = result.unredacted_phi;
        looked.unwrap_or_else(|| crate::facts::shows_health(result.text))
    };
    let mut broken = contracts
        .of(name, &permitted.principal().client)
        .filter(|contract| {
            contract
                .breach(result.text, labels, !contract.allow_phi && phi())
                .is_some()
        });
    let contract = broken.next()?;
    Some(Refusal {
        rule: RuleId::new(&format!("contract.{}", contract.id)),
        code: ReasonCode::OutputContractViolation,
        reason: contract.because.as_str().into(),
        next: "The result is withheld; ask for one that keeps the contract.".into(),
    })
}
