//! Whose data a call is about.
//!
//! The entities of a call come from its server and from the arguments that
//! name one; words in other arguments can only add. Everything is looked up in
//! tables that are made when the profile loads, and arguments that hold none
//! of the words and keys in question are not even parsed.

use std::collections::{HashMap, HashSet};

use aho_corasick::{AhoCorasick, AhoCorasickBuilder};
use legation_core::{EntityId, EntityLabels};
use serde_json::Value;

use crate::arguments::Arguments;
use crate::governance::{Meant, OperatorProfile, normalise};
use crate::known::KnownTool;
use crate::target::{Origin, Question};

/// Keys that say whose data a call is about, without case, `_` and `-`.
const ENTITY_KEYS: [&str; 4] = ["profileid", "entity", "entitycontext", "entityid"];

/// What the raw text of arguments must hold for such a key to be in it.
const KEY_STEMS: [&str; 2] = ["entity", "profile"];

/// The tables.
#[derive(Debug)]
pub(crate) struct Boundary {
    profile: OperatorProfile,
    everyone: EntityLabels,
    /// The one entity of an installation that has one: everything is its.
    sole: Option<EntityLabels>,
    /// Keywords and domains, as one automaton, and whose each is.
    words: Option<(AhoCorasick, Vec<EntityId>)>,
    /// What arguments must hold to be worth parsing.
    stems: Option<AhoCorasick>,
    /// `server/tool` of native tools whose schema has `profile_id`.
    wants_profile: HashSet<Box<str>>,
    recipients: HashMap<String, EntityLabels>,
}

/// Whose data one call is about.
#[derive(Clone, Debug, Default)]
pub(crate) struct Subject {
    /// The entities of the call itself.
    pub(crate) entities: EntityLabels,
    /// Those, and the ones that words added.
    pub(crate) labels: EntityLabels,
    /// Whether an argument could have changed this.
    pub(crate) varies: bool,
}

/// Why it cannot be said whose data a call is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The server's configuration names an entity that there is not.
    ServerEntity,
    /// An argument names one that there is not.
    Unknown,
    /// An argument, or the name of one, is written with look-alike letters.
    LookAlike,
    /// A native tool was called without saying for which account.
    Missing,
    /// The arguments cannot be read.
    Unreadable,
}

// === impl Boundary ===

impl Boundary {
    pub(crate) fn new(profile: &OperatorProfile, known: &[KnownTool]) -> Self {
        let everyone = profile.everyone();
        let several = everyone.as_slice().len() > 1;
        let words: Vec<(String, EntityId)> = profile
            .entities
            .iter()
            .flat_map(|(id, entity)| {
                let words = entity.keywords.iter().chain(&entity.email_domains);
                words.map(move |word| (normalise(word), id.clone()))
            })
            .filter(|(word, _)| several && !word.is_empty())
            .collect();
        let stems = words.iter().map(|(word, _)| word.as_str());
        let stems = automaton(stems.chain(KEY_STEMS));
        let wants_profile = known
            .iter()
            .filter(|tool| tool.native.is_some() && tool.has_argument("profile_id"))
            .filter_map(|tool| Some(format!("{}/{}", tool.server, tool.item.as_ref()?).into()))
            .collect();
        Self {
            sole: (!several && !everyone.is_empty()).then(|| everyone.clone()),
            everyone,
            words: automaton(words.iter().map(|(word, _)| word.as_str()))
                .map(|found| (found, words.into_iter().map(|(_, id)| id).collect())),
            stems,
            wants_profile,
            recipients: recipients(profile),
            profile: profile.clone(),
        }
    }

    pub(crate) fn profile(&self) -> &OperatorProfile {
        &self.profile
    }

    /// Whether there is such an entity.
    pub(crate) fn knows(&self, entity: &EntityId) -> bool {
        self.everyone.contains(entity)
    }

    /// Whether the arguments of this call can matter to [`Boundary::subject`].
    pub(crate) fn reads(&self, question: &Question<'_>, arguments: Option<&Arguments<'_>>) -> bool {
        let builtin = matches!(question.origin, Origin::Builtin);
        if self.sole.is_some() && !builtin {
            return false;
        }
        let Some(arguments) = arguments else {
            return builtin && !self.wants_profile.is_empty();
        };
        let text = arguments.text();
        // A key or word can hide behind an escape or another script, and what
        // is not there at all may be what is missing.
        builtin
            || !text.is_ascii()
            || text.contains("\\u")
            || self.stems.as_ref().is_none_or(|stems| stems.is_match(text))
    }

    /// Whose data a call is about.
    pub(crate) fn subject(
        &self,
        question: &Question<'_>,
        name: &str,
        arguments: Option<&Arguments<'_>>,
    ) -> Result<Subject, Fault> {
        let of_server = match question.entity {
            Some(entity) if entity.as_str() == "all" => self.everyone.clone(),
            Some(entity) if self.everyone.contains(entity) => EntityLabels::of(entity.clone()),
            Some(_) => return Err(Fault::ServerEntity),
            None => EntityLabels::none(),
        };
        let varies = self.reads(question, arguments);
        let mut found = Found::default();
        if varies && let Some(arguments) = arguments {
            let value = arguments.value().ok_or(Fault::Unreadable)?;
            self.search(value, &mut found);
        }
        let builtin = matches!(question.origin, Origin::Builtin);
        if builtin && question.entity.is_some() && found.fault == Some(Fault::Unknown) {
            // The hub's own server knows what was named, and whose it is: an account need not be
            // listed a second time in the profile.
            found.fault = None;
            found.named = true;
        }
        let lenient = self.sole.is_some() && !builtin;
        if !lenient {
            found.fault.map_or(Ok(()), Err)?;
        }
        if self.wants_profile.contains(name) && !found.named {
            return Err(Fault::Missing);
        }
        let mut entities = of_server.join(&found.entities.into_iter().collect());
        if entities.is_empty()
            && let Some(sole) = &self.sole
        {
            entities = sole.clone();
        }
        Ok(Subject {
            labels: entities.join(&found.words.into_iter().collect()),
            entities,
            varies,
        })
    }

    /// What is known before any argument is: for lists.
    pub(crate) fn of_server(&self, question: &Question<'_>) -> Result<EntityLabels, Fault> {
        match question.entity {
            Some(entity) if entity.as_str() == "all" => Ok(self.everyone.clone()),
            Some(entity) if self.everyone.contains(entity) => Ok(EntityLabels::of(entity.clone())),
            Some(_) => Err(Fault::ServerEntity),
            None => Ok(self.sole.clone().unwrap_or_default()),
        }
    }

    fn search(&self, value: &Value, found: &mut Found) {
        match value {
            Value::Object(members) => {
                for (key, value) in members {
                    match key_kind(key) {
                        KeyKind::Entity => self.name(value, found),
                        KeyKind::LookAlike => found.fail(Fault::LookAlike),
                        KeyKind::Other => {}
                    }
                    self.add_words(key, found);
                    self.search(value, found);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.search(item, found)),
            Value::String(text) => self.add_words(text, found),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// The value of a key that names an entity.
    fn name(&self, value: &Value, found: &mut Found) {
        match value {
            Value::String(text) => match self.profile.meant(text) {
                Meant::Entity(id) => {
                    found.named = true;
                    found.entities.insert(id);
                }
                Meant::All => {
                    found.named = true;
                    found.entities.extend(self.everyone.iter().cloned());
                }
                Meant::LooksLike(_) => found.fail(Fault::LookAlike),
                Meant::Unknown => found.fail(Fault::Unknown),
            },
            Value::Array(items) => items.iter().for_each(|item| self.name(item, found)),
            // An object's own members are searched like any other's.
            Value::Object(_) | Value::Null => {}
            Value::Bool(_) | Value::Number(_) => found.fail(Fault::Unknown),
        }
    }

    fn add_words(&self, text: &str, found: &mut Found) {
        let Some((words, owners)) = &self.words else {
            return;
        };
        let normal = normalise(text);
        for hit in words.find_overlapping_iter(&normal) {
            let before = normal[..hit.start()].chars().next_back();
            let after = normal[hit.end()..].chars().next();
            if ![before, after]
                .into_iter()
                .flatten()
                .any(char::is_alphanumeric)
            {
                found.words.insert(owners[hit.pattern().as_usize()].clone());
            }
        }
    }

    /// Whose data may go to an address; `None` where it is nobody's.
    pub(crate) fn recipient(&self, address: &str) -> Option<&EntityLabels> {
        let address = normalise(address);
        if let Some(cleared) = self.recipients.get(&address) {
            return Some(cleared);
        }
        let at = address.rfind('@')?;
        self.recipients.get(&address[at..])
    }
}

/// The entities that a text in an argument belongs to: an id or account, an
/// address, or a domain.
pub(crate) fn owners_of(profile: &OperatorProfile, text: &str) -> EntityLabels {
    match profile.meant(text) {
        Meant::Entity(id) => return EntityLabels::of(id),
        Meant::All => return profile.everyone(),
        Meant::LooksLike(_) => return EntityLabels::none(),
        Meant::Unknown => {}
    }
    let owners = if text.contains('@') {
        profile.recipient(text)
    } else {
        profile.recipient(&format!("x@{text}"))
    };
    owners.into_iter().collect()
}

/// A clearance beats a mailbox, a mailbox its domain; an address with a
/// clearance of its own does not have its domain's as well.
fn recipients(profile: &OperatorProfile) -> HashMap<String, EntityLabels> {
    let mut all: HashMap<String, EntityLabels> = HashMap::new();
    for (id, entity) in &profile.entities {
        let mailboxes = entity.mailboxes.iter().map(|one| normalise(one));
        let domains = entity.email_domains.iter();
        for key in mailboxes.chain(domains.map(|one| format!("@{}", normalise(one)))) {
            let owners = all.entry(key).or_default();
            *owners = owners.join(&EntityLabels::of(id.clone()));
        }
    }
    for (named, cleared) in &profile.recipient_clearances {
        all.insert(normalise(named), cleared.iter().cloned().collect());
    }
    all
}

fn automaton<'w>(words: impl Iterator<Item = &'w str>) -> Option<AhoCorasick> {
    let words: Vec<&str> = words.collect();
    if words.is_empty() {
        return None;
    }
    AhoCorasickBuilder::new()
        .ascii_case_insensitive(true)
        .build(words)
        .ok()
}

enum KeyKind {
    Entity,
    LookAlike,
    Other,
}

fn key_kind(key: &str) -> KeyKind {
    let plain = |text: &str| -> String {
        let letters = text.chars().filter(|letter| !matches!(letter, '_' | '-'));
        letters.collect()
    };
    if ENTITY_KEYS.contains(&plain(&normalise(key)).as_str()) {
        return KeyKind::Entity;
    }
    if key.is_ascii() {
        return KeyKind::Other;
    }
    if ENTITY_KEYS.contains(&plain(&crate::governance::look(key)).as_str()) {
        return KeyKind::LookAlike;
    }
    KeyKind::Other
}

#[derive(Default)]
struct Found {
    entities: HashSet<EntityId>,
    words: HashSet<EntityId>,
    named: bool,
    fault: Option<Fault>,
}

// === impl Found ===

impl Found {
    /// Look-alikes are told first: they are no slip.
    fn fail(&mut self, fault: Fault) {
        if self.fault != Some(Fault::LookAlike) {
            self.fault = Some(fault);
        }
    }
}

// === impl KnownTool ===

impl KnownTool {
    /// Whether its schema has an argument of this name.
    fn has_argument(&self, name: &str) -> bool {
        self.schema
            .as_deref()
            .and_then(|schema| serde_json::from_str::<Value>(schema).ok())
            .is_some_and(|schema| schema["properties"].get(name).is_some())
    }
}
