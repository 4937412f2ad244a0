//! What a server offers: its lists and what it says of itself, as sent.
//!
//! The definitions of the last connection are kept in the store, so that lists
//! answer at once after a restart. They are kept raw: a typed copy would lose
//! what this build does not know.

use std::sync::Arc;

use legation_core::QuickMap;
use legation_gate::ListKind;
use legation_gate::policy::DefinitionHash;
use legation_wire::caps::ServerCapabilities;
use legation_wire::headers::{BadDeclaration, ParamHeaders};
use legation_wire::json::{Object, Raw};
use legation_wire::revision::Revision;
use sha2::{Digest as _, Sha256};

use crate::port::About;

mod fetch;
mod skills;

pub(crate) use fetch::{Bounds, FetchError, fetch, fetch_all};
pub(crate) use skills::{check as check_skill, same as same_skill};

/// One tool, resource, template, prompt or skill.
#[derive(Debug, Clone)]
pub(crate) struct Item {
    /// The server's own name, URI or URI template for it.
    pub(crate) name: Box<str>,
    /// The definition as sent.
    pub(crate) raw: Raw,
    /// SHA-256 of it.
    pub(crate) hash: DefinitionHash,
    /// `annotations.readOnlyHint` of a tool.
    pub(crate) read_only_hint: bool,
    /// `execution.taskSupport` of a tool.
    pub(crate) task_support: TaskSupport,
    /// Parameters of a tool that are mirrored in headers, if any.
    pub(crate) declared: Option<Arc<ParamHeaders>>,
}

/// Whether a tool can run as a task (revision 2025-11-25, `execution`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TaskSupport {
    /// Never, or nothing was said.
    Forbidden,
    /// When the client asks.
    Optional,
    /// Only so.
    Required,
}

/// One list, in the server's order, without duplicates.
#[derive(Debug, Clone, Default)]
pub(crate) struct List {
    items: Vec<Item>,
    index: QuickMap<Box<str>, usize>,
}

/// Everything known of what a server offers.
#[derive(Debug, Clone)]
pub(crate) struct Definitions {
    lists: [List; 5],
    /// What it says of itself.
    pub(crate) about: About,
}

// === impl Item ===

impl Item {
    /// Reads one entry of a list; `None` when it has no name, which makes it
    /// nothing a client could ask for.
    pub(crate) fn read(kind: ListKind, raw: Raw) -> Option<Self> {
        let members = raw.to_object()?;
        let name = members.get(key(kind))?.to_str()?;
        if name.is_empty() {
            return None;
        }
        let flag = |outer: &str, inner: &str| members.get(outer).and_then(|raw| raw.get(inner));
        let read_only_hint = kind == ListKind::Tools
            && flag("annotations", "readOnlyHint").and_then(|raw| raw.to_bool()) == Some(true);
        let support = flag("execution", "taskSupport");
        let task_support = match support.as_ref().and_then(Raw::to_str).as_deref() {
            Some("required") => TaskSupport::Required,
            Some("optional") => TaskSupport::Optional,
            _ => TaskSupport::Forbidden,
        };
        Some(Self {
            name: name.as_ref().into(),
            hash: DefinitionHash(Sha256::digest(raw.sha256_input()).into()),
            read_only_hint,
            task_support,
            declared: None,
            raw,
        })
    }

    /// Reads which parameters of a modern server's tool are mirrored in
    /// headers.
    ///
    /// # Errors
    /// The declaration is not legal, in which case a client must not use the
    /// tool (2026-07-28, transports, custom headers).
    pub(crate) fn declare(&mut self) -> Result<(), BadDeclaration> {
        if let Some(schema) = self.raw.get("inputSchema") {
            let declared = ParamHeaders::from_schema(&schema)?;
            self.declared = (!declared.is_empty()).then(|| Arc::new(declared));
        }
        Ok(())
    }
}

/// The member that names an entry.
pub(crate) fn key(kind: ListKind) -> &'static str {
    match kind {
        ListKind::Tools | ListKind::Prompts => "name",
        ListKind::Resources | ListKind::Skills => "uri",
        ListKind::Templates => "uriTemplate",
    }
}

// === impl List ===

impl List {
    /// Takes an item unless its name is taken.
    pub(crate) fn push(&mut self, item: Item) -> bool {
        if self.index.contains_key(&item.name) {
            return false;
        }
        self.index.insert(item.name.clone(), self.items.len());
        self.items.push(item);
        true
    }

    /// The item of a name.
    pub(crate) fn get(&self, name: &str) -> Option<&Item> {
        self.items.get(*self.index.get(name)?)
    }

    /// The items in the server's order.
    pub(crate) fn items(&self) -> &[Item] {
        &self.items
    }

    fn same(&self, other: &Self) -> bool {
        self.items.len() == other.items.len()
            && self
                .items
                .iter()
                .zip(&other.items)
                .all(|(a, b)| a.hash == b.hash && a.name == b.name)
    }
}

// === impl Definitions ===

impl Definitions {
    /// Definitions with empty lists.
    pub(crate) fn new(about: About) -> Self {
        Self {
            lists: Default::default(),
            about,
        }
    }

    /// One of the lists.
    pub(crate) fn list(&self, kind: ListKind) -> &List {
        &self.lists[slot(kind)]
    }

    /// Puts a list in place.
    pub(crate) fn set(&mut self, kind: ListKind, list: List) {
        self.lists[slot(kind)] = list;
    }

    /// The lists in which two differ.
    pub(crate) fn differences(&self, other: &Self) -> Vec<ListKind> {
        ListKind::ALL
            .into_iter()
            .filter(|kind| !self.list(*kind).same(other.list(*kind)))
            .collect()
    }

    /// Whether the server declares that it has a list.
    pub(crate) fn declares(&self, kind: ListKind) -> bool {
        let capability = match kind {
            ListKind::Tools => "tools",
            ListKind::Resources | ListKind::Templates => "resources",
            ListKind::Prompts => "prompts",
            ListKind::Skills => return self.capabilities().skills,
        };
        self.about.capabilities.contains(capability)
    }

    /// What the server declares.
    pub(crate) fn capabilities(&self) -> ServerCapabilities {
        let About {
            capabilities,
            revision,
            ..
        } = &self.about;
        ServerCapabilities::from_raw(&capabilities.to_raw(), *revision)
    }

    /// Whether a URI is a listed skill's or, whoever lists it, of a file or folder of one.
    pub(crate) fn has_skill_at(&self, uri: &str) -> bool {
        let mut skills = self.list(ListKind::Skills).items().iter();
        skills.any(|item| skills::contains(&item.name, uri))
    }

    /// Whether listed skills are somewhere below a URI.
    pub(crate) fn has_skills_below(&self, uri: &str) -> bool {
        let mut skills = self.list(ListKind::Skills).items().iter();
        skills.any(|item| {
            let rest = item.name.strip_prefix(uri);
            rest.is_some_and(|rest| rest.starts_with('/'))
        })
    }

    /// What [`Definitions::from_raw`] reads.
    pub(crate) fn to_raw(&self) -> Raw {
        let mut object = Object::new()
            .with("revision", Raw::str(self.about.revision.as_str()))
            .with("capabilities", self.about.capabilities.to_raw());
        if let Some(info) = &self.about.server_info {
            object.set("serverInfo", info.clone());
        }
        if let Some(text) = &self.about.instructions {
            object.set("instructions", Raw::str(text));
        }
        for kind in ListKind::ALL {
            let items = self.list(kind).items().iter().map(|item| &item.raw);
            object.set(kind.member(), Raw::array(items));
        }
        object.to_raw()
    }

    /// Definitions as an earlier run left them; `None` when they make no sense,
    /// which is the same as having none.
    pub(crate) fn from_raw(raw: &Raw) -> Option<Self> {
        let object = raw.to_object()?;
        let mut definitions = Self::new(About {
            revision: Revision::parse(&object.get("revision")?.to_str()?)?,
            capabilities: object.get("capabilities")?.to_object()?,
            server_info: object.get("serverInfo").cloned(),
            instructions: object
                .get("instructions")
                .and_then(|raw| raw.to_str())
                .map(|text| text.into_owned()),
        });
        for kind in ListKind::ALL {
            let mut list = List::default();
            let kept = match (kind, object.get(kind.member())) {
                (_, Some(kept)) => kept.to_array()?,
                // Definitions of before there were skills.
                (ListKind::Skills, None) => Vec::new(),
                (_, None) => return None,
            };
            for raw in kept {
                list.push(Item::read(kind, raw)?);
            }
            definitions.set(kind, list);
        }
        Some(definitions)
    }
}

fn slot(kind: ListKind) -> usize {
    match kind {
        ListKind::Tools => 0,
        ListKind::Resources => 1,
        ListKind::Templates => 2,
        ListKind::Prompts => 3,
        ListKind::Skills => 4,
    }
}

#[cfg(test)]
mod tests;
