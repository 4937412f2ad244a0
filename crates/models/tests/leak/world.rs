//! What servers and conversations share: the rules in force, what arrived, and
//! what should not have.

use std::sync::{Arc, Mutex, MutexGuard};

use legation_gate::Gate;

use crate::rules::{ENTITIES, PROVIDERS, Rules};
use crate::talk::Dice;

/// Words that redaction leaves, because they say nothing of anybody: one phrase
/// of each entity, that no other text has.
pub(crate) const CANARIES: [&str; ENTITIES.len()] = [
    "the purple umbrella",
    "the yellow ladder",
    "the green bucket",
];
/// Whom nobody may read about, wherever it is.
pub(crate) const PERSON: &str = "Avery Placeholder";

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Answer,
    Fail,
    Busy,
    CutOff,
    /// The rules change while the server holds the request, which then fails.
    ChangeAndFail,
}

#[derive(Default)]
pub(crate) struct Counts {
    pub(crate) arrived: [usize; PROVIDERS.len()],
    /// Canaries that came where they may.
    pub(crate) canaries: [usize; ENTITIES.len()],
    pub(crate) tokens: usize,
    pub(crate) changes: usize,
    pub(crate) answered: usize,
    pub(crate) refused: usize,
    pub(crate) stopped: usize,
    pub(crate) fell_back: usize,
    pub(crate) restored: usize,
}

struct Inner {
    rules: Rules,
    dice: Dice,
    /// Rules to come; drawn beforehand because reading them takes long.
    gate: Option<Arc<Gate>>,
    ports: Vec<u16>,
    counts: Counts,
    wrong: Vec<String>,
    /// What is told of a fault.
    about: String,
}

/// Shared; one thread runs all of it.
pub(crate) struct World(Mutex<Inner>);

// === impl World ===

impl World {
    pub(crate) fn new(rules: Rules, dice: Dice) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Inner {
            rules,
            dice,
            gate: None,
            ports: Vec::new(),
            counts: Counts::default(),
            wrong: Vec::new(),
            about: String::new(),
        })))
    }

    pub(crate) fn open(&self, gate: &Arc<Gate>, ports: &[u16]) {
        let mut inner = self.lock();
        inner.gate = Some(Arc::clone(gate));
        inner.ports = ports.to_vec();
    }

    /// What is under way, for whoever reads of a fault.
    pub(crate) fn about(&self, about: String) {
        self.lock().about = about;
    }

    pub(crate) fn count(&self, count: impl FnOnce(&mut Counts)) {
        count(&mut self.lock().counts);
    }

    /// Puts other rules in force.
    pub(crate) fn change(&self) {
        let mut inner = self.lock();
        inner.change();
    }

    /// A request came: it must be one that may, under the rules of this moment.
    pub(crate) fn arrived(&self, provider: usize, bytes: &[u8]) -> Fate {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let mut inner = self.lock();
        let name = PROVIDERS[provider].0;
        inner.counts.arrived[provider] += 1;
        for (entity, canary) in CANARIES.iter().enumerate() {
            if !text.contains(canary) {
                continue;
            }
            if inner.rules.allows(provider, entity) {
                inner.counts.canaries[entity] += 1;
            } else {
                let (about, rules) = (&inner.about, &inner.rules);
                let wrong = format!(
                    "{name} got data of {} ({about}) under {rules:?}",
                    ENTITIES[entity]
                );
                inner.wrong.push(wrong);
            }
        }
        if text.contains("Avery") || text.contains("Placeholder") {
            let wrong = format!("{name} got a person's name ({})", inner.about);
            inner.wrong.push(wrong);
        }
        if text.contains("⟦P:") {
            inner.counts.tokens += 1;
        }
        let fate = match inner.dice.of(12) {
            0 => Fate::Fail,
            1 => Fate::Busy,
            2 => Fate::CutOff,
            3 if inner.dice.of(4) == 0 => Fate::ChangeAndFail,
            _ => Fate::Answer,
        };
        if fate == Fate::ChangeAndFail {
            inner.change();
        }
        fate
    }

    /// What went wrong, or what there was of everything.
    pub(crate) fn told(&self, conversations: usize) -> Result<String, String> {
        let inner = self.lock();
        if !inner.wrong.is_empty() {
            return Err(inner.wrong.join("\n"));
        }
        let counts = &inner.counts;
        let told = format!(
            "{conversations} conversations: requests {:?}, canaries {:?}, {} with tokens, {} answered \
             ({} restored), {} by a fallback, {} refused, {} stopped, {} changes of rules",
            counts.arrived,
            counts.canaries,
            counts.tokens,
            counts.answered,
            counts.restored,
            counts.fell_back,
            counts.refused,
            counts.stopped,
            counts.changes
        );
        let each = counts.arrived.iter().chain(&counts.canaries);
        let rest = [
            counts.tokens,
            counts.answered,
            counts.restored,
            counts.fell_back,
            counts.refused,
            counts.stopped,
            counts.changes,
        ];
        // A campaign in which something never happened proves nothing about it.
        match each.chain(&rest).all(|count| *count > 0) {
            true => Ok(told),
            false => Err(format!("something never happened: {told}")),
        }
    }

    pub(crate) fn is_wrong(&self) -> bool {
        !self.lock().wrong.is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().expect("not poisoned")
    }
}

// === impl Inner ===

impl Inner {
    fn change(&mut self) {
        self.rules = Rules::drawn(&mut self.dice);
        let policy = self.rules.policy(&self.ports);
        if let Some(gate) = &self.gate {
            gate.set_rules(policy);
        }
        self.counts.changes += 1;
    }
}
