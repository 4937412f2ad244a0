//! Indexes over what callers see, made when somebody searches and kept until that changes.
//!
//! There is one for each list that callers get, and nothing in it that its caller does not see: not even how rare a
//! word is says anything of another client's tools. One index over everything with a filter was rejected for that.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use legation_find::{Document, Index};
use legation_gate::{Entry, Listing};
use legation_wire::json::Raw;

use super::meaning::Vectors;

/// How many indexes are kept, the least recently used being forgotten first. Ten thousand tools take some
/// megabytes.
const KEPT_MAX: usize = 4;

/// What a server says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerText {
    /// Its name.
    pub name: String,
    /// What people read.
    pub title: String,
    /// What it wants models to know.
    pub instructions: Option<String>,
}

/// The indexes.
#[derive(Debug, Default)]
pub(super) struct Finder {
    kept: Mutex<VecDeque<Arc<Made>>>,
    /// Held while one is made, so that those who want the same wait for it.
    making: Mutex<()>,
}

/// Exactly what one caller could list.
#[derive(Debug, Clone)]
pub(super) struct Sight {
    pub(super) tools: Arc<Listing>,
    pub(super) skills: Arc<Listing>,
    pub(super) texts: Vec<ServerText>,
}

/// What is seen, with its indexes.
#[derive(Debug)]
pub(super) struct Made {
    pub(super) sight: Sight,
    pub(super) tools: Index,
    /// Of each tool the place of the first one that reads the same, which is its own where there is none before it.
    pub(super) first_alike: Vec<usize>,
    pub(super) skills: Index,
    /// What both mean, once that is known.
    pub(super) vectors: OnceLock<Vectors>,
    /// The servers that have a tool in the list.
    pub(super) servers: Vec<Seen>,
    pub(super) about: Index,
}

/// A server as far as its caller sees it.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) text: ServerText,
    /// The places of its tools in the list.
    pub(super) tools: Vec<usize>,
}

/// The texts of a definition that are compared.
#[derive(Default, PartialEq, Eq, Hash)]
pub(super) struct Words {
    pub(super) name: String,
    pub(super) title: String,
    pub(super) description: String,
    arguments: String,
    about_arguments: String,
}

// === impl Finder ===

impl Finder {
    /// The index of exactly this, if there is one.
    pub(super) fn kept(&self, sight: &Sight) -> Option<Arc<Made>> {
        let mut kept = self.lock();
        let at = kept.iter().position(|made| made.sight.reads_like(sight))?;
        let found = kept.remove(at)?;
        kept.push_back(Arc::clone(&found));
        Some(found)
    }

    /// Makes the index, unless somebody did meanwhile. It blocks, for some tenths of a second where there are ten
    /// thousand tools.
    pub(super) fn make(&self, sight: Sight) -> Arc<Made> {
        let _alone = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(made) = self.kept(&sight) {
            return made;
        }
        let made = Arc::new(Made::new(sight));
        let mut kept = self.lock();
        if kept.len() >= KEPT_MAX {
            kept.pop_front();
        }
        kept.push_back(Arc::clone(&made));
        made
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Arc<Made>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Sight ===

impl Sight {
    /// Whether it reads the same: two clients of the same rights share one.
    fn reads_like(&self, other: &Self) -> bool {
        self.texts == other.texts
            && same(&self.tools, &other.tools)
            && same(&self.skills, &other.skills)
    }
}

fn same(one: &Arc<Listing>, other: &Arc<Listing>) -> bool {
    let same = |(a, b): (&Entry, &Entry)| {
        a.server == b.server && a.item == b.item && a.raw.as_bytes() == b.raw.as_bytes()
    };
    Arc::ptr_eq(one, other)
        || one.entries.len() == other.entries.len()
            && one.entries.iter().zip(&other.entries).all(same)
}

// === impl Made ===

impl Made {
    fn new(sight: Sight) -> Self {
        let Sight {
            tools: listing,
            skills,
            texts,
        } = &sight;
        let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
        for (at, entry) in listing.entries.iter().enumerate() {
            places.entry(entry.server.as_str()).or_default().push(at);
        }
        let by_name: HashMap<&str, &ServerText> = texts
            .iter()
            .map(|text| (text.name.as_str(), text))
            .collect();
        let words: Vec<Words> = listing.entries.iter().map(Words::of).collect();
        let first_alike = first_alike(&words);
        let about_skills: Vec<Words> = skills.entries.iter().map(Words::of_skill).collect();
        let document = |(entry, words)| document(entry, words, &by_name);
        let tools = Index::new(listing.entries.iter().zip(&words).map(document));
        let skills = Index::new(skills.entries.iter().zip(&about_skills).map(document));
        let servers: Vec<Seen> = texts
            .iter()
            .filter_map(|text| {
                let tools = places.remove(text.name.as_str())?;
                let text = text.clone();
                Some(Seen { text, tools })
            })
            .collect();
        let names: Vec<String> = servers
            .iter()
            .map(|server| {
                let names = server.tools.iter().map(|at| words[*at].name.as_str());
                names.collect::<Vec<_>>().join(" ")
            })
            .collect();
        let about = Index::new(servers.iter().zip(&names).map(|(server, names)| Document {
            name: &server.text.name,
            title: &server.text.title,
            description: server.text.instructions.as_deref().unwrap_or_default(),
            arguments: names,
            ..Document::default()
        }));
        Self {
            sight,
            tools,
            first_alike,
            skills,
            vectors: OnceLock::new(),
            servers,
            about,
        }
    }
}

fn first_alike(words: &[Words]) -> Vec<usize> {
    let mut first: HashMap<&Words, usize> = HashMap::new();
    let places = words.iter().enumerate();
    places
        .map(|(at, words)| *first.entry(words).or_insert(at))
        .collect()
}

fn document<'a>(
    entry: &'a Entry,
    words: &'a Words,
    by_name: &HashMap<&str, &'a ServerText>,
) -> Document<'a> {
    let server = entry.server.as_str();
    let text = by_name.get(server);
    Document {
        name: &words.name,
        title: &words.title,
        description: &words.description,
        arguments: &words.arguments,
        about_arguments: &words.about_arguments,
        server,
        about_server: text
            .and_then(|text| text.instructions.as_deref())
            .unwrap_or_default(),
    }
}

// === impl Words ===

impl Words {
    pub(super) fn of(entry: &Entry) -> Self {
        let definition = entry.raw.to_object().unwrap_or_default();
        let text = |key: &str| {
            let text = definition.get(key).and_then(Raw::to_str);
            text.map(|text| text.into_owned()).unwrap_or_default()
        };
        let mut words = Self {
            name: entry.item.to_string(),
            title: text("title"),
            description: text("description"),
            ..Self::default()
        };
        let properties = definition
            .get("inputSchema")
            .and_then(|schema| schema.get("properties"))
            .and_then(|properties| properties.to_object())
            .unwrap_or_default();
        for (name, schema) in properties.iter() {
            words.arguments.push_str(name);
            words.arguments.push(' ');
            let about = schema.get("description");
            if let Some(about) = about.as_ref().and_then(Raw::to_str) {
                words.about_arguments.push_str(&about);
                words.about_arguments.push(' ');
            }
        }
        words
    }

    /// Of a skill its frontmatter speaks.
    pub(super) fn of_skill(entry: &Entry) -> Self {
        let frontmatter = entry.raw.get("frontmatter");
        let text = |key: &str| {
            let text = frontmatter.as_ref().and_then(|raw| raw.get(key));
            let text = text.as_ref().and_then(Raw::to_str);
            text.map(|text| text.into_owned()).unwrap_or_default()
        };
        Self {
            name: text("name"),
            description: text("description"),
            ..Self::default()
        }
    }
}
