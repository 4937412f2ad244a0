//! How far the autonomy ladder lets a tool go.

use super::{deny, passes};
use crate::decision::Rung;
use crate::governance::Mode;
use crate::policy::judge::{Case, Progress, Says};
use crate::policy::{Policy, unavailable};
use crate::registry::ReasonCode;
use crate::rule_id::RuleId;
use crate::target::Verb;

// === impl Policy ===

impl Policy {
    pub(in crate::policy) fn ask_ladder<'p>(
        &'p self,
        case: &Case<'_>,
        progress: &mut Progress<'p>,
    ) -> Says {
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
