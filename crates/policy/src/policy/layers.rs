//! The layers, each of which says what it alone would have.

use legation_core::EntityLabels;

use super::judge::{Case, Progress, Refusal, Says, Want};
use super::{Policy, unavailable};
use crate::bans::Matter;
use crate::boundary::{Fault, Subject};
use crate::cedar::{Answer, Ask};
use crate::condition::Owners;
use crate::decision::{AskKind, Rung, Scope};
use crate::facts::Facts;
use crate::governance::{BanKind, Fingerprint, Mode};
use crate::permissions::{Asking, Reads};
use crate::registry::ReasonCode;
use crate::rule_id::RuleId;
use crate::target::{Origin, PinState, Verb};

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
        progress.subject = match boundary.subject(question, case.name, inquiry.arguments) {
            Ok(subject) => subject,
            Err(fault) => {
                progress.varies = true;
                return fault.says();
            }
        };
        progress.varies |= progress.subject.varies;
        progress.labels = progress.subject.labels.join(inquiry.labels);
        // The hub's own tools that touch nobody's data stay usable in a
        // conversation that holds too much, so that it can be looked into.
        let nobodys = progress.subject.labels.is_empty() && question.native.is_some();
        if !nobodys && boundary.profile().mixed(&progress.labels).is_some() {
            return deny(
                "boundary.never-mix",
                ReasonCode::CrossEntityBlock,
                "data of two entities would meet that never may",
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

    pub(super) fn ask_bans<'p>(&'p self, case: &Case<'_>, progress: &mut Progress<'p>) -> Says {
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
        progress.varies |= inquiry.arguments.is_some() && compiled.bans.read_arguments(case.name);
        let empty = serde_json::Value::Object(serde_json::Map::new());
        let facts = compiled.bans.facts(
            &Matter {
                name: case.name,
                value: inquiry
                    .arguments
                    .map_or(Some(&empty), |arguments| arguments.value()),
                text: None,
                entities: &progress.subject.entities,
                labels: &progress.labels,
                unredacted_phi: inquiry.unredacted_phi,
            },
            boundary,
        );
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

    pub(super) fn ask_ladder<'p>(&'p self, case: &Case<'_>, progress: &mut Progress<'p>) -> Says {
        self.hear_rules(case, progress);
        let ladder = match self.governance.ladder.get() {
            Ok(ladder) => ladder,
            Err(broken) => return Says::Deny(unavailable(broken)),
        };
        let verb = case.question.verb;
        let tool = matches!(verb, Verb::CallTool | Verb::TaskUpdate | Verb::TaskCancel);
        if !tool {
            return passes("the ladder speaks of tools only");
        }
        let category = ladder.category_of(case.name);
        let mode = category.map_or(ladder.default_mode, |category| category.mode);
        let rule = category.map_or_else(
            || "ladder.default".to_owned(),
            |category| format!("ladder.{}", slug(&category.action)),
        );
        let because = category
            .and_then(|category| category.notes.clone())
            .unwrap_or_else(|| format!("the ladder says {}", mode.as_str()));
        match mode {
            Mode::Blocked => {
                return deny(
                    &rule,
                    ReasonCode::LadderBlocked,
                    because,
                    "The owner can lift this in governance/autonomy_ladder.json.",
                );
            }
            Mode::Never => {
                return deny(
                    &rule,
                    ReasonCode::LadderNever,
                    because,
                    "Do not try again; this is never done through the hub.",
                );
            }
            Mode::Autonomous | Mode::DraftOnly | Mode::ProposeCertifyApply => {}
        }
        if progress.spoken.reads.is_some() {
            return passes("a rule says that it only reads, which the ladder leaves alone");
        }
        if verb != Verb::CallTool {
            return passes("the task was started under the ladder");
        }
        let threshold = category.and_then(|category| category.confidence_threshold);
        let sure = |threshold: f64| {
            let confidence = case.inquiry.and_then(|inquiry| inquiry.confidence);
            confidence.is_some_and(|confidence| confidence >= threshold && confidence <= 1.0)
        };
        let rule = RuleId::new(&rule);
        match mode {
            Mode::Autonomous => match threshold {
                Some(threshold) if !sure(threshold) => Says::Limit(
                    Rung::Draft,
                    rule,
                    format!("the caller is not known to be {threshold} sure").into(),
                ),
                _ => Says::By(rule, because.into()),
            },
            Mode::DraftOnly => Says::Limit(Rung::Draft, rule, because.into()),
            _ => Says::Limit(Rung::Propose, rule, because.into()),
        }
    }

    /// Hears the permission rules; what they say of reading comes before the
    /// ladder, all else after it.
    fn hear_rules<'p>(&'p self, case: &Case<'_>, progress: &mut Progress<'p>) {
        let Ok(permissions) = &self.permissions else {
            return;
        };
        let none = EntityLabels::none();
        let asking = Asking {
            principal: case.principal,
            question: case.question,
            workspace: case.inquiry.and_then(|inquiry| inquiry.workspace),
            entities: &progress.subject.entities,
            labels: &progress.subject.labels,
            arguments: match case.inquiry {
                None => Reads::Anything,
                Some(_) => Reads::These(None),
            },
            owners: Owners {
                profile: self.governance.profile.good(),
                call: match case.inquiry {
                    None => &none,
                    Some(_) => &progress.subject.entities,
                },
            },
            now_ms: case.inquiry.map_or(i64::MIN, |inquiry| inquiry.now_ms),
        };
        let empty = serde_json::Value::Object(serde_json::Map::new());
        let spoken = match case.inquiry {
            Some(inquiry) if permissions.read_arguments(&asking) => permissions.ask(&Asking {
                arguments: Reads::These(match inquiry.arguments {
                    Some(arguments) => arguments.value(),
                    None => Some(&empty),
                }),
                ..asking
            }),
            _ => permissions.ask(&asking),
        };
        progress.varies |= spoken.varies;
        progress.spoken = spoken;
    }

    pub(super) fn ask_cedar<'p>(&'p self, case: &Case<'_>, progress: &mut Progress<'p>) -> Says {
        let cedar = match &self.cedar {
            Ok(cedar) => cedar,
            Err(broken) => return Says::Deny(unavailable(broken)),
        };
        let facts = match (case.inquiry, &self.boundary, cedar.reads_arguments) {
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
                    unredacted_phi: inquiry.unredacted_phi,
                };
                let mut facts = match &self.bans {
                    Ok(compiled) => compiled.bans.facts(&matter, boundary),
                    Err(_) => Facts::default(),
                };
                matter.all_facts(boundary, &mut facts);
                facts
            }
            _ => Facts::default(),
        };
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

    fn cedar_ask<'a>(
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

    pub(super) fn ask_permissions<'p>(
        &'p self,
        case: &Case<'_>,
        progress: &mut Progress<'p>,
    ) -> Says {
        if let Err(broken) = &self.permissions {
            return Says::Deny(unavailable(broken));
        }
        if let Some(workspace) = case.inquiry.and_then(|inquiry| inquiry.workspace) {
            let broken = self
                .broken_folders
                .iter()
                .find(|(folder, _)| workspace.starts_with(folder));
            if let Some((_, broken)) = broken {
                return Says::Deny(unavailable(broken));
            }
        }
        if let Some(says) = refused_by_rules(case, progress) {
            return says;
        }
        self.settle_rung(case, progress)
    }

    /// What the rung that is left comes to for this tool, and what the rules
    /// want asked about it.
    fn settle_rung<'p>(&'p self, case: &Case<'_>, progress: &mut Progress<'p>) -> Says {
        let allowed = progress
            .spoken
            .allow
            .map(|rule| (rule.id.clone(), rule.reach()));
        let certified = progress.rung == Rung::Apply;
        if let Some((id, reach)) = &allowed
            && progress.rung > *reach
        {
            progress.rung = *reach;
            progress.lowered_by = Some((id.clone(), "the rule allows no more".into()));
        }
        let drafts = case.question.native.is_some_and(|native| native.drafts);
        let (rule, reason) = progress
            .lowered_by
            .clone()
            .unwrap_or_else(|| (RuleId::default_deny(), "".into()));
        match progress.rung {
            Rung::Draft if !drafts => {
                progress.rung = Rung::Execute;
                progress.wants.push(Want {
                    kind: AskKind::Draft,
                    rule,
                    code: ReasonCode::OperatorApprovalRequired,
                    reason,
                    widest: Scope::Session,
                });
            }
            Rung::Propose => {
                progress.wants.push(Want {
                    kind: AskKind::Certify,
                    rule,
                    code: ReasonCode::CertificationRequired,
                    reason,
                    widest: Scope::Once,
                });
            }
            Rung::Draft | Rung::Execute | Rung::Apply => {}
        }
        if let Some((limit, rule)) = progress.spoken.ceiling {
            let does = match progress.rung {
                Rung::Propose => Rung::Execute,
                other => other,
            };
            if does > limit {
                return refused(rule);
            }
        }
        if certified {
            // A person certified exactly this; nothing is left to ask but
            // whether the definition was looked at.
            progress.wants.clear();
        } else if case.inquiry.is_some() {
            self.want_answers(case, progress);
        }
        match allowed {
            Some((id, _)) => Says::By(id, "a rule allows it".into()),
            None => passes("a rule wants it asked"),
        }
    }

    fn want_answers<'p>(&'p self, case: &Case<'_>, progress: &mut Progress<'p>) {
        for rule in &progress.spoken.asks {
            let reached = rule.line.rung.is_none_or(|rung| progress.rung >= rung);
            if !reached {
                continue;
            }
            progress.wants.push(Want {
                kind: if case.question.verb == Verb::Sample {
                    AskKind::Sampling
                } else {
                    AskKind::Permission
                },
                rule: rule.id.clone(),
                code: ReasonCode::OperatorApprovalRequired,
                reason: rule
                    .line
                    .because
                    .clone()
                    .unwrap_or_else(|| "a rule wants it asked".into()),
                widest: rule.line.scope.unwrap_or(Scope::Always),
            });
        }
        if case.question.verb == Verb::Sample
            && progress.spoken.allow.is_none()
            && progress.spoken.asks.is_empty()
        {
            progress.wants.push(Want {
                kind: AskKind::Sampling,
                rule: RuleId::new("default.sampling"),
                code: ReasonCode::OperatorApprovalRequired,
                reason: "a server asks for the client's model".into(),
                widest: Scope::Always,
            });
        }
    }

    pub(super) fn ask_pins<'p>(&'p self, case: &Case<'_>, _: &mut Progress<'p>) -> Says {
        let question = case.question;
        let next = "The owner can look at it with `legation mcp review`.";
        match question.pin {
            PinState::Approved => passes("its definition was approved"),
            PinState::New if question.trusted => passes("its server was reviewed"),
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
            Ok(_) => passes("its result will be judged when there is one"),
            // A result that nobody could judge could not be handed on.
            Err(broken) if case.question.verb == Verb::CallTool => Says::Deny(unavailable(broken)),
            Err(_) => passes("contracts speak of tools only"),
        }
    }
}

fn refused(rule: &crate::permissions::Rule) -> Says {
    let because = rule.line.because.as_deref();
    deny(
        rule.id.as_str(),
        ReasonCode::PermissionDenied,
        because.unwrap_or("a rule of this hub's owner forbids it"),
        "Do not try again; only the owner of this hub can change that rule.",
    )
}

fn refused_by_rules(case: &Case<'_>, progress: &Progress<'_>) -> Option<Says> {
    let spoken = &progress.spoken;
    if let Some(rule) = spoken.deny {
        return Some(refused(rule));
    }
    if spoken.allow.is_some() || !spoken.asks.is_empty() {
        return None;
    }
    let question = case.question;
    if question.verb == Verb::Sample && question.trusted {
        return None;
    }
    let server = question.server.as_str();
    let (code, reason, next) = if question.trusted {
        (
            ReasonCode::NoRuleAllows,
            "no rule allows it",
            "The owner can allow it with `legation permissions add`.".to_owned(),
        )
    } else if let Origin::Workspace(folder) = question.origin {
        (
            ReasonCode::ServerNotTrusted,
            "no rule allows it and the server has not been reviewed",
            format!("The owner can review the server with `legation trust {folder}`."),
        )
    } else {
        (
            ReasonCode::ServerNotTrusted,
            "no rule allows it and the server has not been reviewed",
            format!("The owner can look at the server with `legation mcp show {server}`."),
        )
    };
    Some(deny("default.deny", code, reason, &next))
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

/// An action's words as one.
fn slug(action: &str) -> String {
    let mut slug = String::with_capacity(action.len());
    for letter in action.chars() {
        if letter.is_alphanumeric() {
            slug.extend(letter.to_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.trim_end_matches('-').to_owned()
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
