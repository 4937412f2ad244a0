//! Indexes over what callers see, made when somebody searches and kept until that changes.
//!
//! There is one for each list that callers get, and nothing in it that its caller does not see: not even how rare a
//! word is says anything of another client's tools. One index over everything with a filter was rejected for that.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use legation_find::{Document, Index};
use legation_gate::{Entry, Listing};
use legation_wire::json::Raw;

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

/// One list with its index.
#[derive(Debug)]
pub(super) struct Made {
    pub(super) listing: Arc<Listing>,
    texts: Vec<ServerText>,
    pub(super) tools: Index,
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
#[derive(Default)]
struct Words {
    name: String,
    title: String,
    description: String,
    arguments: String,
    about_arguments: String,
}

// === impl Finder ===

impl Finder {
    /// The index of exactly this, if there is one.
    pub(super) fn kept(&self, listing: &Arc<Listing>, texts: &[ServerText]) -> Option<Arc<Made>> {
        let mut kept = self.lock();
        let at = kept.iter().position(|made| made.is_of(listing, texts))?;
        let found = kept.remove(at)?;
        kept.push_back(Arc::clone(&found));
        Some(found)
    }

    /// Makes the index, unless somebody did meanwhile. It blocks, for some tenths of a second where there are ten
    /// thousand tools.
    pub(super) fn make(&self, listing: Arc<Listing>, texts: Vec<ServerText>) -> Arc<Made> {
        let _alone = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(made) = self.kept(&listing, &texts) {
            return made;
        }
        let made = Arc::new(Made::new(listing, texts));
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

// === impl Made ===

impl Made {
    fn new(listing: Arc<Listing>, texts: Vec<ServerText>) -> Self {
        let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
        for (at, entry) in listing.entries.iter().enumerate() {
            places.entry(entry.server.as_str()).or_default().push(at);
        }
        let by_name: HashMap<&str, &ServerText> = texts
            .iter()
            .map(|text| (text.name.as_str(), text))
            .collect();
        let words: Vec<Words> = listing.entries.iter().map(Words::of).collect();
        let tools = listing.entries.iter().zip(&words).map(|(entry, words)| {
            let server = entry.server.as_str();
            let instructions = by_name
                .get(server)
                .and_then(|text| text.instructions.as_deref());
            Document {
                name: &words.name,
                title: &words.title,
                description: &words.description,
                arguments: &words.arguments,
                about_arguments: &words.about_arguments,
                server,
                about_server: instructions.unwrap_or_default(),
            }
        });
        let tools = Index::new(tools);
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
            listing,
            texts,
            tools,
            servers,
            about,
        }
    }

    /// Whether it is of a list that reads the same: two clients of the same rights share one.
    fn is_of(&self, listing: &Arc<Listing>, texts: &[ServerText]) -> bool {
        let same = |(a, b): (&Entry, &Entry)| {
            a.server == b.server && a.item == b.item && a.raw.as_bytes() == b.raw.as_bytes()
        };
        self.texts == texts
            && (Arc::ptr_eq(&self.listing, listing)
                || self.listing.entries.len() == listing.entries.len()
                    && self.listing.entries.iter().zip(&listing.entries).all(same))
    }
}

// === impl Words ===

impl Words {
    fn of(entry: &Entry) -> Self {
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
}
