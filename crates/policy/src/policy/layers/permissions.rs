//! What the permission rules say, and what the rung that is left comes to.

use legation_core::EntityLabels;

use super::{deny, passes};
use crate::condition::Owners;
use crate::decision::{AskKind, Rung, Scope};
use crate::permissions::{Asking, Reads};
use crate::policy::judge::{Case, Progress, Says, Want};
use crate::policy::{Policy, unavailable};
use crate::registry::ReasonCode;
use crate::rule_id::RuleId;
use crate::target::{Origin, Verb};

// === impl Policy ===

impl Policy {
    /// Hears the permission rules; what they say of reading comes before the
    /// ladder, all else after it.
    pub(super) fn hear_rules<'p>(&'p self, case: &Case<'_>, progress: &mut Progress<'p>) {
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
            arguments: match (case.inquiry, case.supposed) {
                (_, Some(supposed)) => Reads::Recorded(supposed),
                (None, None) => Reads::Anything,
                (Some(_), None) => Reads::These(None),
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
            Some(inquiry) if case.supposed.is_none() && permissions.read_arguments(&asking) => {
                permissions.ask(&Asking {
                    arguments: Reads::These(match inquiry.arguments {
                        Some(arguments) => arguments.value(),
                        None => Some(&empty),
                    }),
                    ..asking
                })
            }
            _ => permissions.ask(&asking),
        };
        progress.varies |= spoken.varies;
        progress.spoken = spoken;
    }

    pub(in crate::policy) fn ask_permissions<'p>(
        &'p self,
        case: &Case<'_>,
        progress: &mut Progress<'p>,
    ) -> Says {
        if let Err(broken) = &self.permissions {
            return Says::Deny(unavailable(broken));
        }
        if let Some(supposed) = case.supposed
            && let Some((_, broken)) = self.broken_folders.first()
            && supposed.in_folder(&RuleId::unavailable())
        {
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
        } else if case.inquiry.is_some() && !(self.unasked && case.question.verb != Verb::Sample) {
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
