//! One cell: a question, and the answer in a few words.

use std::path::Path;

use legation_core::context::{Principal, Via};
use legation_core::{ClientId, EntityId, EntityLabels, SeatId, ServerName};
use legation_policy::governance::native_tools;
use legation_policy::hipaa::{Evidence, checklist};
use legation_policy::provider::{ProviderInquiry, Whose, choose};
use legation_policy::{
    Arguments, Clearance, Decision, GrantIndex, Inquiry, NativeTool, Origin, PinState, Policy,
    ResultFacts, Target, Verb, Verdict,
};

use super::world::NOW_MS;

/// Who acts: a client, and for whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Actor {
    pub(crate) client: &'static str,
    pub(crate) for_whom: Option<&'static str>,
}

/// A call, and what is known of it.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub actor: Actor,
    pub(crate) target: Target,
    pub(crate) arguments: String,
    pub(crate) holds: &'static [&'static str],
    pub(crate) confidence: Option<f64>,
    pub(crate) certified: bool,
    pub(crate) unredacted_phi: Option<bool>,
    pub(crate) workspace: Option<&'static str>,
}

/// What a cell asks.
#[derive(Clone, Debug)]
pub(crate) enum Ask {
    /// The decision.
    Call(Call),
    /// The decision and every layer's verdict.
    Explain(Call),
    /// The decision, and what becomes of this result.
    Result(Call, String, &'static [&'static str], Option<bool>),
    /// The model that gets a request.
    Provider {
        labels: Option<&'static [&'static str]>,
        job: Option<&'static str>,
        copilot: bool,
        now_ms: i64,
    },
    /// Whether a client may see data.
    Clearance(&'static str, &'static [&'static str]),
    /// What redacts an entity's data.
    Redaction(&'static str),
    /// The checklist of entities with health information.
    Checklist,
    /// Whose data a GitHub login may ask for.
    Login(&'static str),
}

/// One cell of the matrix.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    /// The part of the matrix it stands in, its line and its column.
    pub(crate) part: &'static str,
    pub(crate) line: String,
    pub(crate) column: String,
    pub(crate) ask: Ask,
}

// === impl Call ===

impl Call {
    pub(crate) fn new(actor: Actor, tool: &str, arguments: impl Into<String>) -> Self {
        Self {
            actor,
            target: target(tool),
            arguments: arguments.into(),
            holds: &[],
            confidence: None,
            certified: false,
            unredacted_phi: None,
            workspace: None,
        }
    }

    fn with<T>(&self, look: impl FnOnce(&Inquiry<'_>) -> T) -> T {
        let principal = |client: &str| Principal {
            client: ClientId::new(client),
            via: Via::Http,
        };
        let agent = principal(self.actor.client);
        let delegator = self.actor.for_whom.map(principal);
        let arguments = Arguments::new(&self.arguments);
        let labels = labels(self.holds);
        look(&Inquiry {
            principal: &agent,
            on_behalf_of: delegator.as_ref(),
            seat: &SeatId::new("seat"),
            workspace: self.workspace.map(Path::new),
            labels: &labels,
            arguments: Some(&arguments),
            sent_to: None,
            unredacted_phi: self.unredacted_phi,
            confidence: self.confidence,
            certified: self.certified,
            grants: &GrantIndex::none(),
            now_ms: NOW_MS,
        })
    }

    fn decide(&self, policy: &Policy) -> Decision {
        self.with(|inquiry| policy.decide(inquiry, self.target.clone()))
    }

    /// The layers that say more than that they let it pass.
    fn layers(&self, policy: &Policy) -> String {
        let explained = self.with(|inquiry| policy.explain(inquiry, &self.target));
        let steps = explained.steps.iter().filter_map(|step| {
            let rule = step.rule.as_ref()?;
            let verdict = match step.verdict {
                Verdict::Limits(rung) => format!("<={rung}"),
                other => other.as_str().to_owned(),
            };
            Some(format!("{}:{verdict}:{rule}", step.layer.as_str()))
        });
        steps.collect::<Vec<_>>().join(" ")
    }
}

// === impl Cell ===

impl Cell {
    /// The answer of these files.
    pub(crate) fn answer(&self, policy: &Policy) -> String {
        match &self.ask {
            Ask::Call(call) => words(&call.decide(policy), &self.column),
            Ask::Explain(call) => {
                let decision = words(&call.decide(policy), &self.column);
                format!("{decision} [{}]", call.layers(policy))
            }
            Ask::Result(call, text, holds, phi) => match call.decide(policy) {
                Decision::Permitted(permitted) => {
                    let facts = ResultFacts {
                        text,
                        labels: &labels(holds),
                        unredacted_phi: *phi,
                    };
                    match policy.judge_result(&permitted, &facts) {
                        Ok(()) => "handed on".to_owned(),
                        Err(denied) => format!("withheld {} {}", denied.rule, denied.reason_code),
                    }
                }
                other => words(&other, &self.column),
            },
            Ask::Provider {
                labels: of,
                job,
                copilot,
                now_ms,
            } => {
                let of = of.map(labels);
                provider(
                    policy,
                    &ProviderInquiry {
                        whose: of.as_ref().map_or(Whose::All, Whose::Labels),
                        job: *job,
                        copilot_token: *copilot,
                        now_ms: *now_ms,
                    },
                )
            }
            Ask::Clearance(client, of) => {
                match policy.clearance(&ClientId::new(*client), &labels(of)) {
                    Clearance::Cleared => "cleared".to_owned(),
                    Clearance::Redact(entities) => format!("redacted {}", list(&entities)),
                    Clearance::Refused => "refused".to_owned(),
                }
            }
            Ask::Redaction(entity) => redaction(policy, entity),
            Ask::Checklist => lines(policy),
            Ask::Login(login) => match policy.governance().profile.good() {
                Some(profile) => match profile.github_login(login) {
                    Some(entities) => list(&entities.named().cloned().collect::<Vec<_>>()),
                    None => "nobody".to_owned(),
                },
                None => "unavailable".to_owned(),
            },
        }
    }

    /// What the cell is about, for choosing which to try first.
    pub(crate) fn words(&self) -> String {
        let more = match &self.ask {
            Ask::Call(call) | Ask::Explain(call) | Ask::Result(call, ..) => {
                let tool = format!("{}/{}", call.target.server, call.target.item);
                format!("{tool} {} {:?}", call.arguments, call.holds)
            }
            other => format!("{other:?}"),
        };
        format!("{} {} {} {more}", self.part, self.line, self.column)
    }
}

pub(crate) fn labels(names: &[&str]) -> EntityLabels {
    names.iter().map(|name| EntityId::new(*name)).collect()
}

fn list(entities: &[EntityId]) -> String {
    let names: Vec<&str> = entities.iter().map(EntityId::as_str).collect();
    names.join("+")
}

/// The tool of that name: the hub's own, or that of a reviewed server.
pub(crate) fn target(tool: &str) -> Target {
    let (server, item) = tool.split_once('/').expect("server/tool");
    let own = native_tools().find(|own| own.server == server && own.tool == item);
    Target {
        server: ServerName::parse(server).expect("a name"),
        verb: Verb::CallTool,
        item: item.into(),
        definition: None,
        read_only_hint: false,
        trusted: true,
        origin: if own.is_some() {
            Origin::Builtin
        } else {
            Origin::User
        },
        entity: None,
        pin: PinState::Approved,
        native: own.map(|own| NativeTool {
            changes: own.native_change,
            drafts: own.native_change && item.starts_with("draft_"),
        }),
        fingerprint: None,
    }
}

fn words(decision: &Decision, column: &str) -> String {
    let of = |entity: &EntityId| {
        if entity.as_str() == column {
            String::new()
        } else {
            format!(" @{entity}")
        }
    };
    match decision {
        Decision::Permitted(permitted) => {
            let reads = if permitted.reads_only() { " reads" } else { "" };
            let of = of(permitted.entity());
            format!("{} {}{of}{reads}", permitted.rung(), permitted.rule())
        }
        Decision::Ask(asked) => {
            let (kind, of) = (asked.kind.as_str(), of(&asked.entity));
            format!("ask:{kind} {} {}{of}", asked.rung, asked.rule)
        }
        Decision::Denied(denied) => format!("deny {}", denied.rule),
    }
}

fn provider(policy: &Policy, inquiry: &ProviderInquiry<'_>) -> String {
    let decision = choose(policy.governance(), inquiry);
    let chosen = match &decision.outcome {
        Ok(chosen) => {
            let model = chosen.model.as_deref().unwrap_or("no model");
            format!(
                "{} {} by {}",
                chosen.provider,
                model,
                chosen.source.as_str()
            )
        }
        Err(blocked) => format!("blocked {}", blocked.reason_code),
    };
    let out = decision
        .considered
        .iter()
        .filter(|one| !one.is_in())
        .map(|one| {
            let why: Vec<String> = one.out.iter().map(ToString::to_string).collect();
            format!("{}: {}", one.provider, why.join(" and "))
        });
    let redact: Vec<EntityId> = decision.redact.iter().cloned().collect();
    let out: Vec<String> = out.collect();
    format!(
        "{chosen}; redacts [{}]; out: {}",
        list(&redact),
        out.join("; ")
    )
}

fn redaction(policy: &Policy, entity: &str) -> String {
    match policy.governance().redaction(&EntityId::new(entity)) {
        Ok(plan) => {
            let births: Vec<String> = plan.births.iter().map(ToString::to_string).collect();
            format!(
                "fields {}; names {}; born {}; identifiers {}; patterns {}; safe words {}",
                plan.fields.join(","),
                plan.names.join(","),
                births.join(","),
                plan.identifiers.join(","),
                plan.patterns.join(","),
                plan.safe_words.join(","),
            )
        }
        Err(broken) => format!("unavailable {}", broken.file),
    }
}

fn lines(policy: &Policy) -> String {
    let evidence = Evidence {
        now_ms: NOW_MS,
        redaction_test: Ok("tested".to_owned()),
        audit: Ok("recorded".to_owned()),
    };
    checklist(policy.governance(), &evidence)
        .iter()
        .map(|line| {
            let open = if line.open { "OPEN" } else { "closed" };
            format!(
                "{}: {open} {} ({})",
                line.entity, line.demand, line.evidence
            )
        })
        .collect::<Vec<_>>()
        .join("; ")
}
