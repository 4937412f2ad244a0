//! The rules in force, and the one function that decides.
//!
//! Deny wins wherever it stands in the file, and what no rule allows is
//! denied. Order means nothing otherwise, so a rule file can be read in any
//! order and a rule can be moved without changing a decision.

mod error;
mod file;

pub use error::RulesError;

use legation_core::EntityId;
use legation_core::context::Principal;

use crate::decision::Rung;
use crate::denied::Denied;
use crate::explain::{Effect, Matched};
use crate::glob::Glob;
use crate::permitted::{Found, Permitted};
use crate::rule_id::RuleId;
use crate::target::{Question, Target};
use crate::template;

/// A loaded rule set. Immutable; a changed file makes a new one.
#[derive(Clone, Debug)]
pub struct Rules {
    state: State,
    version: u64,
}

#[derive(Clone, Debug)]
enum State {
    Loaded(Box<[Rule]>),
    Unavailable(Box<str>),
}

/// One rule, ready to be asked. Cheap conditions first, see
/// [`Rule::matches`].
#[derive(Clone, Debug)]
struct Rule {
    id: RuleId,
    effect: Effect,
    verbs: u8,
    origins: u8,
    trusted: Option<bool>,
    read_only_hint: Option<bool>,
    servers: Box<[Glob]>,
    items: Box<[Glob]>,
    clients: Option<Box<[Glob]>>,
    because: Option<Box<str>>,
}

/// What the rules say about one question.
enum Verdict<'r> {
    Allow { rule: &'r Rule, reads_only: bool },
    Deny(&'r Rule),
    Silent,
}

// === impl Rules ===

impl Rules {
    /// Reads the text of a `permissions.toml`. `source_name` is only used in
    /// messages.
    ///
    /// # Errors
    ///
    /// Anything the reader does not understand refuses the whole file, an
    /// example that does not hold included: a rule file that is half in force
    /// is worse than none, because its owner believes in the other half.
    pub fn parse(text: &str, source_name: &str) -> Result<Self, RulesError> {
        Ok(Self {
            state: State::Loaded(file::read(text, source_name)?),
            version: version_of(text),
        })
    }

    /// Rules that deny everything, for when the file is gone or broken.
    pub fn unavailable(reason: impl Into<Box<str>>) -> Self {
        let reason = reason.into();
        Self {
            version: version_of(&format!("unavailable: {reason}")),
            state: State::Unavailable(reason),
        }
    }

    /// The rule file that the first start writes for a single owner.
    pub fn personal_template() -> &'static str {
        template::PERSONAL
    }

    /// The first eight bytes of the SHA-256 of the file's text: equal for
    /// equal rules, across restarts and machines.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Why there are no rules to ask, if there are none.
    pub fn unavailable_reason(&self) -> Option<&str> {
        match &self.state {
            State::Unavailable(reason) => Some(reason),
            State::Loaded(_) => None,
        }
    }

    /// How many rules are in force.
    pub fn len(&self) -> usize {
        self.loaded().len()
    }

    /// Whether no rule is in force, in which case everything is denied.
    pub fn is_empty(&self) -> bool {
        self.loaded().is_empty()
    }

    /// Decides whether `principal` may do what `target` says.
    ///
    /// # Errors
    ///
    /// [`Denied`] when a deny rule matches, when nothing allows the target,
    /// and when the rules are unavailable.
    pub fn decide(&self, principal: &Principal, target: Target) -> Result<Permitted, Denied> {
        if let State::Unavailable(reason) = &self.state {
            return Err(Denied::unavailable(reason, target));
        }
        match self.verdict(principal, &target.question()) {
            Verdict::Deny(rule) => Err(Denied::by_rule(
                rule.id.clone(),
                rule.because.as_deref(),
                target,
            )),
            Verdict::Silent => Err(Denied::by_default(target)),
            Verdict::Allow { rule, reads_only } => Ok(Permitted::mint(
                target,
                principal.clone(),
                Found {
                    rule: rule.id.clone(),
                    reads_only,
                    rung: Rung::Execute,
                    entity: EntityId::personal(),
                    labels: legation_core::EntityLabels::none(),
                    grant: None,
                },
                self.version,
                crate::arguments::Arguments::digest_of(None),
            )),
        }
    }

    /// Whether [`Rules::decide`] could permit this at all. A list leaves out
    /// what it could not: an agent should not plan with tools it cannot use.
    /// No rule reads arguments, so the answer is exact.
    pub fn may_ever(&self, principal: &Principal, question: &Question<'_>) -> bool {
        matches!(self.verdict(principal, question), Verdict::Allow { .. })
    }

    /// Every rule that matches, in file order.
    pub fn explain(&self, principal: &Principal, question: &Question<'_>) -> Vec<Matched> {
        self.loaded()
            .iter()
            .filter(|rule| rule.matches(principal, question))
            .map(|rule| Matched {
                rule: rule.id.clone(),
                effect: rule.effect,
                because: rule.because.clone(),
            })
            .collect()
    }

    fn loaded(&self) -> &[Rule] {
        match &self.state {
            State::Loaded(rules) => rules,
            State::Unavailable(_) => &[],
        }
    }

    fn verdict(&self, principal: &Principal, question: &Question<'_>) -> Verdict<'_> {
        let mut allowing = None;
        let mut reads_only = false;
        for rule in self.loaded() {
            // A rule that could only repeat what is known is not asked.
            let news = match rule.effect {
                Effect::Deny => true,
                Effect::Allow => allowing.is_none(),
                Effect::Reads => !reads_only,
            };
            if !news || !rule.matches(principal, question) {
                continue;
            }
            match rule.effect {
                Effect::Deny => return Verdict::Deny(rule),
                Effect::Allow => allowing = Some(rule),
                Effect::Reads => reads_only = true,
            }
        }
        match allowing {
            Some(rule) => Verdict::Allow { rule, reads_only },
            None => Verdict::Silent,
        }
    }
}

// === impl Rule ===

impl Rule {
    fn matches(&self, principal: &Principal, question: &Question<'_>) -> bool {
        self.verbs & question.verb.bit() != 0
            && self.origins & question.origin.bit() != 0
            && self.trusted.is_none_or(|wanted| wanted == question.trusted)
            && self
                .read_only_hint
                .is_none_or(|wanted| wanted == question.read_only_hint)
            && any(&self.servers, question.server.as_str())
            && any(&self.items, question.item)
            && self
                .clients
                .as_deref()
                .is_none_or(|clients| any(clients, principal.client.as_str()))
    }

    /// Whether the names in an example match. Examples speak of names only;
    /// what a rule says of clients, verbs and trust is not part of them.
    fn names(&self, server: &str, item: &str) -> bool {
        any(&self.servers, server) && any(&self.items, item)
    }
}

fn any(globs: &[Glob], text: &str) -> bool {
    globs.iter().any(|glob| glob.matches(text))
}

fn version_of(text: &str) -> u64 {
    use sha2::Digest as _;
    let digest = sha2::Sha256::digest(text.as_bytes());
    digest
        .iter()
        .take(8)
        .fold(0, |version, byte| version << 8 | u64::from(*byte))
}
