//! `permissions.toml`: the owner's rules about servers and tools.
//!
//! The strictest rule wins, whatever the order and whichever file it stands
//! in, and how exactly a rule names something never matters: a rule can be
//! moved, split or copied without changing a decision. What no rule speaks of
//! is denied. Rules are found by the server they name, so a call looks at its
//! own server's rules and at those that speak of many servers.

mod check;
mod error;
mod file;
mod grammar;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use legation_core::context::Principal;
use legation_core::{EntityId, EntityLabels};
use serde_json::Value;

pub(crate) use check::{dead, never_seen};
pub use error::RuleError;
pub(crate) use file::read;

use crate::condition::{Condition, Owners, Reading};
use crate::decision::{Rung, Scope};
use crate::glob::Glob;
use crate::replay::Supposed;
use crate::rule_id::RuleId;
use crate::target::{Origin, Question, Verb};

/// What a rule does with what it matches, from the strictest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Effect {
    /// It may not be done, whatever else matches.
    Deny,
    /// A person is asked, unless a rule denies it.
    Ask,
    /// It may be done, unless a rule denies it or asks.
    Allow,
    /// It only reads. Allows nothing by itself.
    Reads,
}

/// The rules of all files, ready to be asked.
#[derive(Clone, Debug, Default)]
pub(crate) struct Permissions {
    rules: Vec<Rule>,
    by_server: HashMap<Box<str>, Vec<usize>>,
    /// Rules that may speak of any server.
    anywhere: Vec<usize>,
}

/// One rule.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    pub(crate) id: RuleId,
    pub(crate) line: Line,
    /// The line as written.
    pub(crate) text: Box<str>,
    /// The folder whose file it stands in, or for which it was made.
    pub(crate) folder: Option<PathBuf>,
    /// When it stops to allow, in milliseconds since 1970.
    pub(crate) expires_ms: Option<i64>,
    /// Where it stands in its file, counted from 1.
    pub(crate) at_line: Option<usize>,
}

/// What one line says.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Line {
    pub(crate) effect: Effect,
    pub(crate) server: ServerPattern,
    pub(crate) item: Glob,
    pub(crate) item_text: Box<str>,
    pub(crate) verbs: Option<u8>,
    pub(crate) hint: Option<bool>,
    pub(crate) conditions: Box<[Condition]>,
    pub(crate) entity: Option<EntityId>,
    pub(crate) client: Option<Glob>,
    pub(crate) rung: Option<Rung>,
    pub(crate) scope: Option<Scope>,
    pub(crate) because: Option<Box<str>>,
}

/// Which servers a rule speaks of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ServerPattern {
    /// `@own`: reviewed servers of the owner's own configuration and of the
    /// hub itself.
    Own,
    /// `@workspace`: reviewed servers that a folder brought along.
    Workspace,
    /// By name.
    Glob(Glob),
}

/// What rules read of a call.
#[derive(Clone, Copy)]
pub(crate) struct Asking<'a> {
    pub(crate) principal: &'a Principal,
    pub(crate) question: &'a Question<'a>,
    pub(crate) workspace: Option<&'a Path>,
    /// The entities of the call itself.
    pub(crate) entities: &'a EntityLabels,
    /// Those and the ones that words added.
    pub(crate) labels: &'a EntityLabels,
    pub(crate) arguments: Reads<'a>,
    pub(crate) owners: Owners<'a>,
    pub(crate) now_ms: i64,
}

/// What is known of the arguments.
#[derive(Clone, Copy)]
pub(crate) enum Reads<'a> {
    /// They will be anything: the question is whether any would do.
    Anything,
    /// These; `None` when they cannot be read.
    These(Option<&'a Value>),
    /// Those of a recorded call, which nobody knows.
    Recorded(&'a Supposed<'a>),
}

/// What the rules say.
#[derive(Debug, Default)]
pub(crate) struct Spoken<'r> {
    /// A rule that denies it at every rung.
    pub(crate) deny: Option<&'r Rule>,
    /// Rules that want it asked.
    pub(crate) asks: Vec<&'r Rule>,
    /// The rule that allows it farthest.
    pub(crate) allow: Option<&'r Rule>,
    /// The rule that says that it only reads.
    pub(crate) reads: Option<&'r Rule>,
    /// How far it may go at most, and the rule that says so.
    pub(crate) ceiling: Option<(Rung, &'r Rule)>,
    /// Whether an argument or the time could have changed the answer.
    pub(crate) varies: bool,
}

// === impl Effect ===

impl Effect {
    /// Every effect, from the strictest.
    pub const ALL: [Self; 4] = [Self::Deny, Self::Ask, Self::Allow, Self::Reads];

    /// The word a rule uses.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::Ask => "ask",
            Self::Allow => "allow",
            Self::Reads => "reads",
        }
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|effect| effect.as_str() == text)
    }

    /// Whether it makes things stricter.
    fn is_strict(self) -> bool {
        matches!(self, Self::Deny | Self::Ask)
    }
}

// === impl Permissions ===

impl Permissions {
    pub(crate) fn new(rules: Vec<Rule>) -> Self {
        let mut by_server: HashMap<Box<str>, Vec<usize>> = HashMap::new();
        let mut anywhere = Vec::new();
        for (index, rule) in rules.iter().enumerate() {
            match &rule.line.server {
                ServerPattern::Glob(Glob::Exact(name)) => {
                    by_server.entry(name.clone()).or_default().push(index);
                }
                _ => anywhere.push(index),
            }
        }
        Self {
            rules,
            by_server,
            anywhere,
        }
    }

    pub(crate) fn rules(&self) -> &[Rule] {
        &self.rules
    }

    fn candidates(&self, server: &str) -> impl Iterator<Item = &Rule> {
        let own = self.by_server.get(server).map_or(&[][..], Vec::as_slice);
        own.iter().chain(&self.anywhere).map(|at| &self.rules[*at])
    }

    /// Whether a rule that may match reads an argument.
    pub(crate) fn read_arguments(&self, asking: &Asking<'_>) -> bool {
        self.candidates(asking.question.server.as_str())
            .any(|rule| !rule.line.conditions.is_empty() && rule.line.may_match(asking))
    }

    /// What they all say together.
    pub(crate) fn ask(&self, asking: &Asking<'_>) -> Spoken<'_> {
        let mut spoken = Spoken::default();
        for rule in self.candidates(asking.question.server.as_str()) {
            let recorded = matches!(asking.arguments, Reads::Recorded(_));
            let here = recorded || rule.in_folder(asking.workspace);
            if !here || !rule.line.may_match(asking) {
                continue;
            }
            spoken.varies |= !rule.line.conditions.is_empty() || rule.expires_ms.is_some();
            if rule.holds(asking) {
                spoken.hear(rule);
            }
        }
        spoken.asks.sort_by_key(|rule| &rule.id);
        spoken
    }
}

// === impl Spoken ===

impl<'r> Spoken<'r> {
    fn hear(&mut self, rule: &'r Rule) {
        match rule.line.effect {
            Effect::Deny => match rule.line.rung.and_then(below) {
                None => keep_first(&mut self.deny, rule),
                Some(rung) => self.limit(rung, rule),
            },
            Effect::Ask => self.asks.push(rule),
            Effect::Allow => match self.allow {
                Some(other) if other.reach() > rule.reach() => {}
                Some(other) if other.reach() == rule.reach() => {
                    keep_first(&mut self.allow, rule);
                }
                _ => self.allow = Some(rule),
            },
            Effect::Reads => keep_first(&mut self.reads, rule),
        }
    }

    fn limit(&mut self, rung: Rung, rule: &'r Rule) {
        let lower = self
            .ceiling
            .is_none_or(|(old, other)| (rung, &rule.id) < (old, &other.id));
        if lower {
            self.ceiling = Some((rung, rule));
        }
    }
}

/// Of rules that say the same, the one with the smallest id, so that the order
/// in the file shows nowhere.
fn keep_first<'r>(kept: &mut Option<&'r Rule>, rule: &'r Rule) {
    if kept.is_none_or(|other| rule.id < other.id) {
        *kept = Some(rule);
    }
}

/// The rung below; nothing below the lowest.
fn below(rung: Rung) -> Option<Rung> {
    match rung {
        Rung::Propose => None,
        Rung::Draft => Some(Rung::Propose),
        Rung::Execute => Some(Rung::Draft),
        Rung::Apply => Some(Rung::Execute),
    }
}

// === impl Rule ===

impl Rule {
    /// How far an allow reaches. One that reaches execution reaches what was
    /// certified too.
    pub(crate) fn reach(&self) -> Rung {
        match self.line.rung {
            None | Some(Rung::Execute) => Rung::Apply,
            Some(rung) => rung,
        }
    }

    fn in_folder(&self, workspace: Option<&Path>) -> bool {
        self.folder
            .as_deref()
            .is_none_or(|folder| workspace.is_some_and(|workspace| workspace.starts_with(folder)))
    }

    fn holds(&self, asking: &Asking<'_>) -> bool {
        if self.expires_ms.is_some_and(|at| asking.now_ms >= at) {
            return false;
        }
        match asking.arguments {
            Reads::Recorded(supposed) => self.supposed_to_hold(asking, supposed),
            Reads::Anything | Reads::These(_) => {
                self.in_folder(asking.workspace) && self.line.conditions_hold(asking)
            }
        }
    }

    /// Whether it holds for a recorded call: what it reads of what was not
    /// recorded is supposed.
    fn supposed_to_hold(&self, asking: &Asking<'_>, supposed: &Supposed<'_>) -> bool {
        let conditions = self.line.conditions.iter();
        let mut reads: Vec<String> = conditions.map(|one| one.pointer().to_owned()).collect();
        if self.folder.is_some() {
            reads.push("the folder of the client".to_owned());
        }
        // Words in the arguments, or the conversation, brought the label.
        let entity = self.line.entity.as_ref();
        if self.line.effect.is_strict() && entity.is_some_and(|one| !asking.entities.contains(one))
        {
            reads.push("every text".to_owned());
        }
        reads.is_empty() || supposed.rule_holds(self, reads)
    }
}

// === impl ServerPattern ===

impl ServerPattern {
    fn matches(&self, question: &Question<'_>) -> bool {
        match self {
            Self::Own => question.trusted && !matches!(question.origin, Origin::Workspace(_)),
            Self::Workspace => question.trusted && matches!(question.origin, Origin::Workspace(_)),
            Self::Glob(glob) => glob.matches(question.server.as_str()),
        }
    }
}

// === impl Line ===

impl Line {
    pub(crate) fn new(effect: Effect, server: ServerPattern, item: Box<str>) -> Self {
        Self {
            effect,
            server,
            item: Glob::compile(&item),
            item_text: item,
            verbs: None,
            hint: None,
            conditions: Box::default(),
            entity: None,
            client: None,
            rung: None,
            scope: None,
            because: None,
        }
    }

    /// Whether it lets a server ask for a model.
    pub(crate) fn allows_sampling(&self) -> bool {
        let names = self
            .verbs
            .is_some_and(|bits| bits & Verb::Sample.bit() != 0);
        names && self.effect == Effect::Allow
    }

    /// Whether it matches but for what it says of arguments.
    fn may_match(&self, asking: &Asking<'_>) -> bool {
        let question = asking.question;
        self.speaks_of(question.verb)
            && self.item.matches(question.item)
            && self.server.matches(question)
            && self
                .client
                .as_ref()
                .is_none_or(|client| client.matches(asking.principal.client.family()))
            && self.hint_fits(question)
            && self.entity_fits(asking)
    }

    /// A rule without a verb is about everything; but only one that refuses or
    /// asks is about sampling unnamed.
    fn speaks_of(&self, verb: Verb) -> bool {
        match self.verbs {
            Some(bits) => bits & verb.bit() != 0,
            None => verb != Verb::Sample || self.effect.is_strict(),
        }
    }

    /// A server's claim counts for the owner's convenience only where the
    /// owner reviewed the server.
    fn hint_fits(&self, question: &Question<'_>) -> bool {
        match self.hint {
            None => true,
            Some(true) => question.read_only_hint && question.trusted,
            Some(false) => !question.read_only_hint,
        }
    }

    fn entity_fits(&self, asking: &Asking<'_>) -> bool {
        let Some(entity) = &self.entity else {
            return true;
        };
        if self.effect.is_strict() {
            return asking.labels.contains(entity);
        }
        match asking.arguments {
            Reads::Anything if asking.entities.is_empty() => true,
            _ => asking.entities.as_slice() == std::slice::from_ref(entity),
        }
    }

    fn conditions_hold(&self, asking: &Asking<'_>) -> bool {
        let reading = if self.effect.is_strict() {
            Reading::Wary
        } else {
            Reading::Exact
        };
        match asking.arguments {
            // Some arguments would pass a deny and fulfil an allow.
            Reads::Anything => self.conditions.is_empty() || self.effect != Effect::Deny,
            Reads::Recorded(_) => self.conditions.is_empty(),
            Reads::These(value) => self
                .conditions
                .iter()
                .all(|condition| condition.holds(value, reading, asking.owners)),
        }
    }
}
