//! Deciding recorded calls again, by other rules.
//!
//! A record holds who called what, whose data it was about and what was
//! answered; of the arguments it holds a keyed commitment, which no rule can
//! read. A rule that reads an argument is therefore supposed to hold in one run
//! and not to hold in another. Where both runs come to the same answer it is
//! certain; where they do not, the answer is [`Answer::Depends`], with the rules
//! in question and what they read. To guess from the tool's name or from other
//! calls was rejected: an owner would lift a rule because of a guess.
//!
//! What was answered is evidence, too: a rule that stood word for word in the
//! files that were in force then, and did not stop the call, did not hold.

use std::cell::RefCell;
use std::collections::HashSet;

use legation_core::context::Principal;
use legation_core::{EntityLabels, SeatId};

use crate::cedar::{Ask, Cedar, Supposing};
use crate::decision::{Inquiry, Rung};
use crate::explanation::Verdict;
use crate::governance::{BanKind, Sources};
use crate::grant::GrantIndex;
use crate::known::KnownTool;
use crate::permissions::{Effect, Rule};
use crate::policy::Policy;
use crate::rule_id::RuleId;
use crate::target::Target;

/// A call as it was recorded, but for its target.
#[derive(Clone, Copy, Debug)]
pub struct Past<'a> {
    /// Who called.
    pub principal: &'a Principal,
    /// For whom, where an agent acted for somebody.
    pub on_behalf_of: Option<&'a Principal>,
    /// Whose data the call was about; `None` where it was refused before that
    /// was known.
    pub entities: Option<&'a EntityLabels>,
    /// Of a call about every entity, whether each stood by itself in the answer.
    pub apart: bool,
    /// That, and what the conversation held.
    pub labels: &'a EntityLabels,
    /// What was answered; never [`Answer::Depends`].
    pub answer: Answer,
    /// The rule that decided.
    pub rule: &'a str,
    /// How far the call went, or would have gone.
    pub rung: Rung,
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
    /// The [`Policy::version`] that decided.
    pub policy_version: Option<u64>,
}

/// What rules answer, before any person does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Answer {
    /// It may be done.
    Allowed,
    /// A person has to agree first.
    Asked,
    /// It may not be done.
    Denied,
    /// Nobody can tell without what was not recorded.
    Depends,
}

/// The answer of other rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Again {
    /// What they answer.
    pub answer: Answer,
    /// The rule that decides; `None` for [`Answer::Depends`].
    pub rule: Option<RuleId>,
    /// How far the call would go.
    pub rung: Rung,
    /// The rules whose answer nobody can tell; empty but for
    /// [`Answer::Depends`].
    pub depends: Vec<Unknown>,
    /// Every rule that a record would name for this answer.
    named: Vec<RuleId>,
}

/// A rule that reads what was not recorded.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Unknown {
    /// Which rule.
    pub rule: RuleId,
    /// JSON pointers into the arguments, or words for what else it reads.
    pub reads: Vec<String>,
}

/// Rules under which recorded calls are decided again.
#[derive(Debug)]
pub struct Replayer {
    policy: Policy,
    /// The version of the rules that are in force.
    in_force: u64,
    /// Rules that stand word for word in both.
    same: HashSet<RuleId>,
    cedar: Option<Supposing>,
}

/// How what is not known is supposed to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mood {
    /// Everything that refuses or asks holds, nothing that allows does.
    Strict,
    /// The other way round.
    Mild,
}

/// One run over a recorded call.
pub(crate) struct Supposed<'a> {
    past: &'a Past<'a>,
    mood: Mood,
    /// Rules of the time that are still the same.
    same: Option<&'a HashSet<RuleId>>,
    cedar: Option<&'a Supposing>,
    unknown: RefCell<Vec<Unknown>>,
}

// === impl Answer ===

impl Answer {
    /// The word for tables and programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Asked => "asked",
            Self::Denied => "denied",
            Self::Depends => "depends on arguments",
        }
    }
}

// === impl Again ===

impl Again {
    /// Whether a record of this answer could name this rule.
    pub fn is_by(&self, rule: &str) -> bool {
        self.named.iter().any(|named| named.as_str() == rule)
    }
}

// === impl Replayer ===

impl Replayer {
    /// Reads the rules to try, and those in force, which say what is known of
    /// the calls that were decided by them.
    pub fn load(sources: &Sources, in_force: &Sources, tools: &[KnownTool]) -> Self {
        let policy = Policy::load(sources, tools);
        let old = Policy::load(in_force, tools);
        // Whose address it is and who has which role is in these two files.
        let same = if sources.operator_profile == in_force.operator_profile
            && sources.role_cards == in_force.role_cards
        {
            same_rules(&policy, &old)
        } else {
            HashSet::new()
        };
        Self {
            cedar: policy.cedar().map(|cedar| cedar.supposing(&same)),
            in_force: old.version(),
            policy,
            same,
        }
    }

    /// The rules to try.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Decides a call again, as far as its record says enough.
    pub fn decide(&self, past: &Past<'_>, target: &Target) -> Again {
        let (strict, mut unknown) = self.run(past, target, Mood::Strict);
        let (mild, more) = self.run(past, target, Mood::Mild);
        let named = |one: &Judgement| [one.rule.clone(), one.allowing.clone()];
        let certain = strict.answer == mild.answer && strict.rung == mild.rung;
        if certain {
            // What allows in the worst case allows for certain, and what
            // refuses in the best case refuses for certain.
            let decisive = match strict.answer {
                Answer::Allowed => &strict,
                _ => &mild,
            };
            return Again {
                answer: decisive.answer,
                rule: Some(decisive.rule.clone()),
                rung: decisive.rung,
                depends: Vec::new(),
                named: [named(&strict), named(&mild)].concat(),
            };
        }
        unknown.extend(more);
        unknown.sort_unstable();
        unknown.dedup();
        Again {
            answer: Answer::Depends,
            rule: None,
            rung: mild.rung,
            depends: unknown,
            named: Vec::new(),
        }
    }

    fn run(&self, past: &Past<'_>, target: &Target, mood: Mood) -> (Judgement, Vec<Unknown>) {
        let evident = past.policy_version == Some(self.in_force);
        let supposed = Supposed {
            past,
            mood,
            same: evident.then_some(&self.same),
            cedar: self.cedar.as_ref(),
            unknown: RefCell::default(),
        };
        let inquiry = Inquiry {
            principal: past.principal,
            on_behalf_of: past.on_behalf_of,
            seat: &SeatId::new("replay"),
            workspace: None,
            labels: past.labels,
            arguments: None,
            sent_to: None,
            unredacted_phi: None,
            confidence: None,
            // What was certified was asked about first.
            certified: false,
            grants: &GrantIndex::none(),
            now_ms: past.at_ms,
        };
        let judged = self.policy.judge_supposed(&inquiry, target, &supposed);
        (judged, supposed.unknown.into_inner())
    }
}

/// What one run comes to.
pub(crate) struct Judgement {
    pub(crate) answer: Answer,
    pub(crate) rule: RuleId,
    /// What the record of an answered question names.
    pub(crate) allowing: RuleId,
    pub(crate) rung: Rung,
}

/// The rules that stand in both, word for word.
fn same_rules(one: &Policy, other: &Policy) -> HashSet<RuleId> {
    let mut same = HashSet::new();
    let rules = |policy: &Policy| -> Vec<(RuleId, String, Option<std::path::PathBuf>)> {
        let rules = policy.permission_rules();
        rules.map_or_else(
            |_| Vec::new(),
            |rules| {
                rules
                    .map(|(id, text, folder)| {
                        (
                            id.clone(),
                            text.to_owned(),
                            folder.map(std::path::Path::to_path_buf),
                        )
                    })
                    .collect()
            },
        )
    };
    let known = rules(other);
    let both = rules(one).into_iter().filter(|rule| known.contains(rule));
    same.extend(both.map(|(id, ..)| id));
    if let (Some(one), Some(other)) = (one.governance().bans.good(), other.governance().bans.good())
    {
        let both = one.bans.iter().filter(|ban| other.bans.contains(ban));
        same.extend(both.map(|ban| RuleId::new(&format!("ban.{}", ban.id))));
    }
    if let (Some(one), Some(other)) = (one.cedar(), other.cedar()) {
        same.extend(one.same_policies(other));
    }
    same
}

// === impl Supposed ===

impl<'a> Supposed<'a> {
    pub(crate) fn past(&self) -> &'a Past<'a> {
        self.past
    }

    /// The policies to ask instead of the owner's own.
    pub(crate) fn cedar(&self) -> Option<&'a Cedar> {
        let supposing = self.cedar?;
        Some(match self.mood {
            Mood::Mild => &supposing.mild,
            Mood::Strict if self.same.is_some() && self.went_through() => &supposing.informed,
            Mood::Strict => &supposing.strict,
        })
    }

    /// Notes that Cedar policies read what is not known.
    pub(crate) fn cedar_reads(&self, by: impl Fn(&str) -> bool) {
        let supposing = self.cedar.into_iter();
        for (rule, reads) in supposing.flat_map(|supposing| &supposing.reads) {
            if by(rule.as_str()) {
                self.note(rule, reads.clone());
            }
        }
    }

    /// The policies that speak of a call, whether they permit or forbid.
    pub(crate) fn could_speak(&self, ask: &Ask<'_>, rung: Rung) -> Vec<Box<str>> {
        let Some(supposing) = self.cedar else {
            return Vec::new();
        };
        let informed = match self.same {
            Some(_) if self.went_through() => &supposing.informed,
            _ => &supposing.strict,
        };
        [&supposing.mild, informed]
            .into_iter()
            .flat_map(|cedar| cedar.spoken(ask, rung))
            .collect()
    }

    fn went_through(&self) -> bool {
        self.past.answer != Answer::Denied && self.past.rung >= Rung::Execute
    }

    /// Whether a fault of the boundary's is to be supposed, where nobody knows
    /// whose data the call was about.
    pub(crate) fn boundary_fails(&self) -> bool {
        let rule = RuleId::new(self.past.rule);
        self.note(&rule, vec!["whose data it is about".to_owned()]);
        self.mood == Mood::Strict
    }

    /// Whether a call about every entity is to be supposed to have kept them apart, which depends
    /// on what its conversation held: the record says it unless the call was refused before that
    /// was looked at.
    pub(crate) fn was_apart(&self) -> bool {
        match self.past.entities {
            Some(_) => self.past.apart,
            None => !self.boundary_fails(),
        }
    }

    /// Whether a folder's broken rules are to be supposed to hold.
    pub(crate) fn in_folder(&self, rule: &RuleId) -> bool {
        self.note(rule, vec!["the folder of the client".to_owned()]);
        self.mood == Mood::Strict
    }

    /// Whether a ban that reads arguments is to be supposed to strike.
    pub(crate) fn strikes(&self, id: &str, kind: BanKind, reads: Vec<String>) -> bool {
        let rule = RuleId::new(&format!("ban.{id}"));
        let effect = match kind {
            BanKind::NeverDo => Effect::Deny,
            BanKind::NeverWithoutApproval => Effect::Ask,
        };
        self.holds(&rule, effect, None, reads)
    }

    /// Whether a permission rule is to be supposed to hold.
    pub(crate) fn rule_holds(&self, rule: &Rule, reads: Vec<String>) -> bool {
        self.holds(&rule.id, rule.line.effect, rule.line.rung, reads)
    }

    fn holds(&self, id: &RuleId, effect: Effect, rung: Option<Rung>, reads: Vec<String>) -> bool {
        if let Some(held) = self.held(id, effect, rung) {
            return held;
        }
        self.note(id, reads);
        let strict = matches!(effect, Effect::Deny | Effect::Ask);
        strict == (self.mood == Mood::Strict)
    }

    /// Whether the rule held then, where the answer shows it.
    fn held(&self, id: &RuleId, effect: Effect, rung: Option<Rung>) -> Option<bool> {
        if !self.same.is_some_and(|same| same.contains(id)) {
            return None;
        }
        if id.as_str() == self.past.rule {
            return Some(true);
        }
        let passed = match effect {
            Effect::Deny => self.past.answer != Answer::Denied && rung.is_none(),
            Effect::Ask => {
                self.past.answer == Answer::Allowed
                    && self.past.rung != Rung::Apply
                    && rung.is_none_or(|rung| self.past.rung >= rung)
            }
            Effect::Allow | Effect::Reads => false,
        };
        passed.then_some(false)
    }

    fn note(&self, rule: &RuleId, reads: Vec<String>) {
        let rule = rule.clone();
        self.unknown.borrow_mut().push(Unknown { rule, reads });
    }
}

impl std::fmt::Debug for Supposed<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Supposed({:?})", self.mood)
    }
}

// === impl Judgement ===

impl Judgement {
    pub(crate) fn of(outcome: Verdict, rule: RuleId, allowing: RuleId, rung: Rung) -> Self {
        let answer = match outcome {
            Verdict::Passes | Verdict::Limits(_) => Answer::Allowed,
            Verdict::Asks => Answer::Asked,
            Verdict::Denies => Answer::Denied,
        };
        Self {
            answer,
            rule,
            allowing,
            rung,
        }
    }
}
