//! The layers, each of which says what it alone would have.

mod bans;
mod cedar;
mod ladder;
mod permissions;

use legation_core::EntityLabels;

use super::judge::{Case, Progress, Refusal, Says, Want};
use super::{Policy, unavailable};
use crate::boundary::{Boundary, Fault, Subject};
use crate::decision::{AskKind, Scope};
use crate::governance::{ALL, Fingerprint};
use crate::registry::ReasonCode;
use crate::replay::Supposed;
use crate::rule_id::RuleId;
use crate::target::{Origin, PinState, Question, Verb};

fn deny(rule: &str, code: ReasonCode, reason: impl Into<Box<str>>, next: &str) -> Says {
    Says::Deny(Refusal {
        rule: RuleId::new(rule),
        code,
        reason: reason.into(),
        next: next.into(),
    })
}

fn passes(reason: &str) -> Says {
    Says::Nothing(reason.into())
}

// === impl Policy ===

impl Policy {
    pub(super) fn ask_enterprise<'p>(&'p self, case: &Case<'_>, _: &mut Progress<'p>) -> Says {
        let enterprise = match self.governance.enterprise.get() {
            Ok(enterprise) => enterprise,
            Err(broken) => return Says::Deny(unavailable(broken)),
        };
        let question = case.question;
        let fingerprint = match question.origin {
            Origin::Builtin => None,
            // What a server is started with has to be known to be allowed.
            _ => Some(
                question
                    .fingerprint
                    .unwrap_or_else(|| Fingerprint::of_url("")),
            ),
        };
        let blocked = enterprise
            .server(question.server, fingerprint)
            .and_then(|()| enterprise.tool(case.name));
        match blocked {
            Ok(()) => passes("the organisation's policy does not forbid it"),
            Err(block) => deny(
                "enterprise.policy",
                ReasonCode::EnterprisePolicyBlock,
                block.to_string(),
                "Use another tool; only the organisation can change its policy.",
            ),
        }
    }

    pub(super) fn ask_boundary<'p>(&'p self, case: &Case<'_>, progress: &mut Progress<'p>) -> Says {
        let boundary = match &self.boundary {
            Ok(boundary) => boundary,
            Err(broken) => return Says::Deny(unavailable(broken)),
        };
        let question = case.question;
        let Some(inquiry) = case.inquiry else {
            return match boundary.of_server(question) {
                Ok(entities) => {
                    progress.subject = Subject {
                        labels: entities.clone(),
                        entities,
                        varies: true,
                    };
                    passes("its server's entity is known")
                }
                Err(fault) => fault.says(),
            };
        };
        let subject = match case.supposed {
            None => boundary.subject(question, case.name, inquiry.arguments),
            Some(supposed) => supposed_subject(boundary, question, supposed),
        };
        progress.subject = match subject {
            Ok(subject) => subject,
            Err(fault) => {
                progress.varies = true;
                return fault.says();
            }
        };
        progress.bounded = true;
        progress.varies |= progress.subject.varies;
        progress.labels = progress.subject.labels.join(inquiry.labels);
        // The hub's own tools that touch nobody's data stay usable in a
        // conversation that holds too much, so that it can be looked into.
        let touched = match case.supposed {
            None => &progress.subject.labels,
            Some(_) => &progress.subject.entities,
        };
        let nobodys = touched.is_empty() && question.native.is_some();
        progress.apart = is_of_all(question)
            && match case.supposed {
                None => is_kept_apart(&progress.subject.entities, inquiry.labels),
                Some(supposed) => supposed.was_apart(),
            };
        if !nobodys && !progress.apart && boundary.profile().mixed(&progress.labels).is_some() {
            return deny(
                "boundary.never-mix",
                ReasonCode::CrossEntityBlock,
                "this would bring together the data of two entities that must never meet",
                "Do this in a conversation of its own that holds no other entity's data.",
            );
        }
        match progress.subject.entities.as_slice() {
            [] => passes("it is of no entity"),
            [one] => Says::Nothing(format!("it is of {one}").into()),
            _ => passes("it is of several entities that may meet"),
        }
    }

    pub(super) fn ask_clearance<'p>(
        &'p self,
        case: &Case<'_>,
        progress: &mut Progress<'p>,
    ) -> Says {
        let clearance = self.clearance(&case.principal.client, &progress.subject.entities);
        if clearance == super::Clearance::Refused {
            return deny(
                "clearance.client",
                ReasonCode::ClientNotCleared,
                "this client may not see this entity's data",
                "Use a client that is cleared for it; the owner declares clearances in \
                 governance/operator_profile.json.",
            );
        }
        passes("the client is cleared for it")
    }

    pub(super) fn ask_roles<'p>(&'p self, case: &Case<'_>, progress: &mut Progress<'p>) -> Says {
        let roles = match self.governance.roles.get() {
            Ok(roles) => roles,
            Err(broken) => return Says::Deny(unavailable(broken)),
        };
        let next = "Leave it to a client whose role card lists it; the owner writes them in \
                    governance/role_cards.json.";
        let Some((role, card)) = roles.role_of(&case.principal.client) else {
            return deny(
                "role.none",
                ReasonCode::RoleCardBlock,
                "this client has no role",
                next,
            );
        };
        let rule = format!("role.{role}");
        if !card.may(case.name) {
            let reason = format!("the role `{role}` does not perform this");
            return deny(&rule, ReasonCode::RoleCardBlock, reason, next);
        }
        let entities = &progress.subject.entities;
        if entities.iter().any(|entity| !card.serves(entity)) {
            let reason = format!("the role `{role}` does not work for this entity");
            return deny(&rule, ReasonCode::RoleCardBlock, reason, next);
        }
        Says::By(
            RuleId::new(&rule),
            format!("the role `{role}` performs it").into(),
        )
    }

    pub(super) fn ask_pins<'p>(&'p self, case: &Case<'_>, _: &mut Progress<'p>) -> Says {
        let question = case.question;
        let next = "The owner can look at it with `legation mcp review`.";
        match question.pin {
            PinState::Approved => passes("its definition was approved"),
            // Of a server that was reviewed, what is New is so for a reason.
            PinState::New => Says::Ask(Want {
                kind: AskKind::FirstSight,
                rule: RuleId::new("pin.new"),
                code: ReasonCode::DefinitionNew,
                reason: "nobody has looked at this definition yet".into(),
                widest: Scope::Always,
            }),
            PinState::Changed => deny(
                "pin.changed",
                ReasonCode::DefinitionChanged,
                "its definition is not the one that was approved",
                next,
            ),
            PinState::Quarantined => deny(
                "pin.quarantined",
                ReasonCode::DefinitionQuarantined,
                "its definition was set aside as dangerous",
                next,
            ),
        }
    }

    pub(super) fn ask_contracts<'p>(&'p self, case: &Case<'_>, _: &mut Progress<'p>) -> Says {
        match self.governance.contracts.get() {
            Ok(_) => passes("its result will be judged when it comes back"),
            // A result that nobody could judge could not be handed on.
            Err(broken) if case.question.verb == Verb::CallTool => Says::Deny(unavailable(broken)),
            Err(_) => passes("contracts speak of tools only"),
        }
    }
}

/// Whether a tool of the hub's own answers about every entity, each by itself. Only such a server
/// says of itself that a call is about all.
fn is_of_all(question: &Question<'_>) -> bool {
    let says_all = question.entity.is_some_and(|entity| entity.as_str() == ALL);
    says_all && question.native.is_some() && *question.origin == Origin::Builtin
}

/// Whether who asks about all may be told: their conversation holds nobody's data or everybody's
/// already. Everything else of every entity holds too: clearances first of all.
fn is_kept_apart(all: &EntityLabels, held: &EntityLabels) -> bool {
    held.is_empty() || all.iter().all(|entity| held.contains(entity))
}

/// Whose data a recorded call was about, by what its record says.
fn supposed_subject(
    boundary: &Boundary,
    question: &Question<'_>,
    supposed: &Supposed<'_>,
) -> Result<Subject, Fault> {
    let of_server = boundary.of_server(question)?;
    let past = supposed.past();
    let entities = match past.entities {
        // All are those that the rules know.
        Some(_) if is_of_all(question) => of_server,
        Some(entities) => entities.clone(),
        None if supposed.boundary_fails() => return Err(Fault::Unreadable),
        None => of_server,
    };
    if entities.iter().any(|entity| !boundary.knows(entity)) {
        return Err(Fault::Unknown);
    }
    Ok(Subject {
        labels: entities.join(past.labels),
        entities,
        varies: true,
    })
}

// === impl Fault ===

impl Fault {
    fn says(self) -> Says {
        let (rule, code, reason, next) = match self {
            Self::ServerEntity => (
                "boundary.server-entity",
                ReasonCode::UnknownEntity,
                "the server's configuration names an entity that does not exist",
                "The owner must correct `entity` of this server in mcp.json.",
            ),
            Self::Unknown => (
                "boundary.unknown-entity",
                ReasonCode::UnknownEntity,
                "an argument names an entity or account that does not exist",
                "Use the id of an entity or account that you were told.",
            ),
            Self::LookAlike => (
                "boundary.look-alike",
                ReasonCode::EntityLookAlike,
                "an argument is written with letters that only look like an entity's name",
                "Write the id of the entity or account in plain letters.",
            ),
            Self::Missing => (
                "boundary.profile-id",
                ReasonCode::MissingEntityOrProvenance,
                "nothing says for which account this is",
                "Call again with `profile_id`.",
            ),
            Self::Unreadable => (
                "boundary.unreadable",
                ReasonCode::MissingEntityOrProvenance,
                "the arguments cannot be read, so nobody can tell whose data they hold",
                "Send one JSON object without a key that stands twice.",
            ),
        };
        deny(rule, code, reason, next)
    }
}
