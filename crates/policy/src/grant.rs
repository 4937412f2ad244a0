//! What people agreed to, found by what it is for.
//!
//! Grants are rows, not policies: there may be thousands, and a policy costs
//! every call its evaluation. They are found by client, server and item, so
//! that a call looks at a handful of them however many there are.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};

use legation_core::{ClientId, EntityId, SeatId, ServerName};

use crate::decision::Rung;
use crate::target::{DefinitionHash, Verb};

/// The name of one grant.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GrantId(Box<str>);

/// One agreement. Every `Some` narrows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Its name.
    pub id: GrantId,
    /// For which client.
    pub client: ClientId,
    /// For calls that it makes on behalf of this client; `None` for its own.
    pub on_behalf_of: Option<ClientId>,
    /// To which server.
    pub server: ServerName,
    /// For which of its tools, resources or prompts.
    pub item: Box<str>,
    /// To do what.
    pub verb: Verb,
    /// With this definition only.
    pub definition: Option<DefinitionHash>,
    /// With these arguments only.
    pub args_digest: Option<[u8; 32]>,
    /// For this entity.
    pub entity: EntityId,
    /// At most this far.
    pub rung: Rung,
    /// Under this policy only.
    pub policy_version: Option<u64>,
    /// How widely it holds.
    pub scope: GrantScope,
    /// In this seat only.
    pub seat: Option<SeatId>,
    /// In this folder only, as the client's bridge names it.
    pub workspace: Option<Box<str>>,
    /// Until then, in milliseconds since 1970.
    pub expires_ms: Option<i64>,
    /// How often it can still be used.
    pub uses_left: Option<i64>,
    /// Who agreed.
    pub approver: Box<str>,
}

/// How widely a grant holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum GrantScope {
    /// One call with exactly these arguments.
    Once,
    /// While a seat is taken.
    Session,
    /// In a folder.
    Here,
    /// Until a time.
    Until,
    /// Until it is taken back.
    Always,
}

/// All grants of a moment. Immutable; a changed grant makes a new index.
#[derive(Debug, Default)]
pub struct GrantIndex {
    by_target: HashMap<u64, Vec<Grant>>,
    hasher: RandomState,
    generation: u64,
    len: usize,
}

/// What a grant has to cover.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    pub(crate) client: &'a ClientId,
    pub(crate) on_behalf_of: Option<&'a ClientId>,
    pub(crate) server: &'a ServerName,
    pub(crate) item: &'a str,
    pub(crate) verb: Verb,
    pub(crate) definition: Option<DefinitionHash>,
    pub(crate) args_digest: Option<&'a [u8; 32]>,
    pub(crate) entity: &'a EntityId,
    pub(crate) rung: Rung,
    pub(crate) policy_version: u64,
    pub(crate) seat: &'a SeatId,
    pub(crate) workspace: Option<&'a str>,
    pub(crate) now_ms: i64,
    /// The widest that may cover it.
    pub(crate) widest: GrantScope,
    /// Whether the definition itself was asked about.
    pub(crate) definition_bound: bool,
}

// === impl GrantId ===

impl GrantId {
    /// Wraps the text of a row.
    pub fn new(text: impl Into<Box<str>>) -> Self {
        Self(text.into())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for GrantId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

// === impl GrantScope ===

impl GrantScope {
    /// Every scope, from the narrowest.
    pub const ALL: [Self; 5] = [
        Self::Once,
        Self::Session,
        Self::Here,
        Self::Until,
        Self::Always,
    ];

    /// The word rows use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Session => "session",
            Self::Here => "here",
            Self::Until => "until",
            Self::Always => "always",
        }
    }

    /// The scope that is written so.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.as_str() == text)
    }
}

// === impl GrantIndex ===

impl GrantIndex {
    /// No grant at all.
    pub fn none() -> Self {
        Self::default()
    }

    /// Indexes the grants. `generation` is the store's counter of changes.
    pub fn new(grants: impl IntoIterator<Item = Grant>, generation: u64) -> Self {
        let mut index = Self {
            generation,
            ..Self::default()
        };
        for grant in grants {
            let key = index.key(&grant.client, &grant.server, &grant.item);
            index.by_target.entry(key).or_default().push(grant);
            index.len += 1;
        }
        // The narrowest is used up first, and equal ones in a fixed order.
        for grants in index.by_target.values_mut() {
            grants.sort_by(|a, b| (a.scope, &a.id).cmp(&(b.scope, &b.id)));
        }
        index
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The store's counter of changes when this index was made.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Every grant, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &Grant> {
        self.by_target.values().flatten()
    }

    fn key(&self, client: &ClientId, server: &ServerName, item: &str) -> u64 {
        self.hasher
            .hash_one((client.as_str(), server.as_str(), item))
    }

    /// The narrowest grant that covers what is wanted.
    pub(crate) fn covering(&self, wanted: &Wanted<'_>) -> Option<&Grant> {
        if self.is_empty() {
            return None;
        }
        let key = self.key(wanted.client, wanted.server, wanted.item);
        self.by_target
            .get(&key)?
            .iter()
            .find(|grant| grant.covers(wanted))
    }
}

// === impl Grant ===

impl Grant {
    fn covers(&self, wanted: &Wanted<'_>) -> bool {
        self.client == *wanted.client
            && self.on_behalf_of.as_ref() == wanted.on_behalf_of
            && self.server == *wanted.server
            && *self.item == *wanted.item
            && self.verb == wanted.verb
            && self.entity == *wanted.entity
            && self.rung >= wanted.rung
            && self.scope <= wanted.widest
            && match self.definition {
                Some(definition) => wanted.definition == Some(definition),
                None => !wanted.definition_bound,
            }
            && match &self.args_digest {
                Some(digest) => wanted.args_digest == Some(digest),
                None => self.scope != GrantScope::Once,
            }
            && self
                .policy_version
                .is_none_or(|version| version == wanted.policy_version)
            && self.in_scope(wanted)
            && self
                .expires_ms
                .map_or(self.scope != GrantScope::Until, |at| wanted.now_ms < at)
            && self.uses_left.is_none_or(|left| left > 0)
    }

    /// A session's grant without its seat, or a folder's without its folder,
    /// is damaged and covers nothing.
    fn in_scope(&self, wanted: &Wanted<'_>) -> bool {
        let seat = match &self.seat {
            Some(seat) => seat == wanted.seat,
            None => self.scope != GrantScope::Session,
        };
        let folder = match &self.workspace {
            Some(folder) => wanted.workspace == Some(folder),
            None => self.scope != GrantScope::Here,
        };
        seat && folder
    }
}
