//! A record, as far as rules can be asked about it again.

use legation_api::audit::Record;
use legation_core::context::{Principal, Via};
use legation_core::{ClientId, EntityId, EntityLabels, ServerName};
use legation_policy::registry::ReasonCode;
use legation_policy::replay::{Again, Answer, Past, Replayer};
use legation_policy::{Rung, Target, Verb};
use serde::Deserialize;

use super::super::target::Targets;

/// The chain of calls that are of no one entity.
const CHAIN_OF_ALL: &str = "all";

/// What a record of a call about every entity has among its traits where they were kept apart.
const APART: &str = "apart";

/// A call that rules decided.
pub(super) struct Recorded {
    pub(super) call: String,
    pub(super) principal: Principal,
    pub(super) target: Target,
    pub(super) answer: Answer,
    pub(super) rule: String,
    on_behalf_of: Option<Principal>,
    entities: Option<EntityLabels>,
    apart: bool,
    labels: EntityLabels,
    rung: Rung,
    at_ms: i64,
    policy_version: Option<u64>,
}

/// The members of a record that matter here.
#[derive(Deserialize)]
struct Members {
    kind: String,
    call: Option<String>,
    client: Option<String>,
    via: Option<String>,
    server: Option<String>,
    verb: Option<String>,
    item: Option<String>,
    rule: Option<String>,
    #[serde(default)]
    labels: Vec<String>,
    rung: Option<String>,
    grant: Option<String>,
    approval: Option<String>,
    proposal: Option<String>,
    on_behalf_of: Option<String>,
    reason_code: Option<String>,
    policy: Option<String>,
    entities: Option<Vec<String>>,
    #[serde(default)]
    traits: Vec<String>,
}

// === impl Recorded ===

impl Recorded {
    /// `None` for a record of a call that never came to a decision.
    pub(super) fn read(record: &Record, targets: &Targets) -> Option<Self> {
        let members: Members = serde_json::from_str(record.record.get()).ok()?;
        let answer = members.answer()?;
        let via = members.via()?;
        let principal = |client: &str| Principal {
            client: ClientId::new(client),
            via,
        };
        let server = ServerName::parse(members.server.as_deref()?).ok()?;
        let verb = members.verb()?;
        let mut described = targets.describe(server, verb, members.item.as_deref()?);
        if !members.traits.is_empty() {
            described.target.set_traits(&members.traits, "");
        }
        let rung = members.rung.as_deref().and_then(Rung::parse);
        Some(Self {
            principal: principal(members.client.as_deref()?),
            on_behalf_of: members.on_behalf_of.as_deref().map(principal),
            entities: members.entities(record),
            apart: members.traits.iter().any(|word| word == APART),
            labels: members
                .labels
                .iter()
                .map(|one| EntityId::new(one.as_str()))
                .collect(),
            rung: rung.unwrap_or(Rung::Execute),
            at_ms: record.at_ms,
            policy_version: members
                .policy
                .as_deref()
                .and_then(|text| u64::from_str_radix(text, 16).ok()),
            call: members.call?,
            rule: members.rule?,
            target: described.target,
            answer,
        })
    }

    pub(super) fn decide(&self, replayer: &Replayer) -> Again {
        let past = Past {
            principal: &self.principal,
            on_behalf_of: self.on_behalf_of.as_ref(),
            entities: self.entities.as_ref(),
            apart: self.apart,
            labels: &self.labels,
            answer: self.answer,
            rule: &self.rule,
            rung: self.rung,
            at_ms: self.at_ms,
            policy_version: self.policy_version,
        };
        replayer.decide(&past, &self.target)
    }

    pub(super) fn past_rung(&self) -> Rung {
        self.rung
    }

    /// How far it went, to be compared with how far it would go. A refusal does
    /// not record it.
    pub(super) fn rung(&self, again: &Again) -> Rung {
        match self.answer {
            Answer::Allowed => self.rung,
            Answer::Asked | Answer::Denied | Answer::Depends => again.rung,
        }
    }
}

// === impl Members ===

impl Members {
    /// What the rules answered, before any person did.
    fn answer(&self) -> Option<Answer> {
        if self.kind == "intent" {
            let agreed = [&self.grant, &self.approval, &self.proposal];
            let certified = self.rung.as_deref() == Some(Rung::Apply.as_str());
            let asked = certified || agreed.into_iter().any(Option::is_some);
            return Some(if asked {
                Answer::Asked
            } else {
                Answer::Allowed
            });
        }
        let code = ReasonCode::parse(self.reason_code.as_deref()?)?;
        match code {
            ReasonCode::OperatorApprovalRequired
            | ReasonCode::ApprovalPending
            | ReasonCode::ApprovalDenied
            | ReasonCode::ApprovalExpired
            | ReasonCode::ApprovalUsed
            | ReasonCode::ApprovalVoided
            | ReasonCode::CertificationRequired
            | ReasonCode::ProposalVoided
            | ReasonCode::DefinitionNew => Some(Answer::Asked),
            // Without a version, something before the rules or behind them refused.
            _ => self.policy.as_ref().map(|_| Answer::Denied),
        }
    }

    fn via(&self) -> Option<Via> {
        let all = [
            Via::Http,
            Via::Sse,
            Via::Socket,
            Via::Admin,
            Via::Web,
            Via::Copilot,
            Via::NoAuth,
        ];
        let via = self.via.as_deref()?;
        all.into_iter().find(|one| one.as_str() == via)
    }

    /// Records have words of their own for what MCP calls methods.
    fn verb(&self) -> Option<Verb> {
        Some(match self.verb.as_deref()? {
            "call_tool" => Verb::CallTool,
            "read_resource" => Verb::ReadResource,
            "get_prompt" => Verb::GetPrompt,
            "complete" => Verb::Complete,
            "task_update" => Verb::TaskUpdate,
            "task_cancel" => Verb::TaskCancel,
            "sample" => Verb::Sample,
            _ => return None,
        })
    }

    /// Whose data the call was about: refusals say it themselves, of a call it
    /// is its chain that does.
    fn entities(&self, record: &Record) -> Option<EntityLabels> {
        let labels = |names: &[String]| {
            names
                .iter()
                .map(|one| EntityId::new(one.as_str()))
                .collect()
        };
        // The boundary itself failed: what it read is not known.
        let unread = self
            .rule
            .as_deref()
            .is_some_and(|rule| rule.starts_with("boundary.") && rule != "boundary.never-mix");
        match &self.entities {
            _ if unread => None,
            Some(entities) => Some(labels(entities)),
            None if self.kind != "intent" => None,
            None if record.entity == CHAIN_OF_ALL => Some(EntityLabels::none()),
            None => Some(EntityLabels::of(EntityId::new(record.entity.as_str()))),
        }
    }
}
