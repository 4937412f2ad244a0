//! What waits for a person, of whatever kind, as it is shown to them elsewhere.

use legation_core::{ClientId, EntityId};

use super::permission::Permission;
use crate::approval::{Approval, short_digest};
use crate::proposal::Proposal;

/// Something that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// What people call it by.
    pub id: Box<str>,
    /// What it is.
    pub kind: QuestionKind,
    /// Who asks.
    pub client: ClientId,
    /// For whom, where it acts for another one.
    pub on_behalf_of: Option<ClientId>,
    /// What would be done: `server/item`, or the client's own name of it.
    pub call: Box<str>,
    /// Whose data stands in it.
    pub entities: Vec<EntityId>,
    /// The rule that asks; empty where the client asks.
    pub rule: Box<str>,
    /// Why. Show it only escaped.
    pub reason: Box<str>,
    /// The arguments, as the model wrote them. Show them only escaped.
    pub preview: Box<str>,
    /// SHA-256 over all of it.
    pub digest: [u8; 32],
    /// When it was asked, in milliseconds of wall time.
    pub created_ms: i64,
    /// Until when it can be answered.
    pub expires_ms: i64,
}

/// What waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum QuestionKind {
    /// A call that a rule has a person asked about.
    Approval,
    /// A change that has to be certified.
    Proposal,
    /// Something a client asks of its own, of a tool that is none of ours.
    Permission,
}

// === impl Question ===

impl Question {
    /// The digest as people compare it.
    #[must_use]
    pub fn short_digest(&self) -> String {
        short_digest(&self.digest)
    }
}

impl From<&Approval> for Question {
    fn from(open: &Approval) -> Self {
        let bound = &open.bound;
        Self {
            id: open.id.as_str().into(),
            kind: QuestionKind::Approval,
            client: bound.client.clone(),
            on_behalf_of: bound.on_behalf_of.clone(),
            call: format!("{}/{}", bound.server, bound.item).into(),
            entities: vec![bound.entity.clone()],
            rule: open.rule.clone(),
            reason: open.reason.clone(),
            preview: open.preview.clone(),
            digest: open.digest(),
            created_ms: open.created_ms,
            expires_ms: open.expires_ms,
        }
    }
}

impl From<&Proposal> for Question {
    fn from(open: &Proposal) -> Self {
        let bound = &open.bound;
        Self {
            id: open.id.as_str().into(),
            kind: QuestionKind::Proposal,
            client: bound.client.clone(),
            on_behalf_of: bound.on_behalf_of.clone(),
            call: format!("{}/{}", bound.server, bound.item).into(),
            entities: vec![bound.entity.clone()],
            rule: open.rule.clone(),
            reason: open.reason.clone(),
            preview: open.arguments.clone(),
            digest: open.digest,
            created_ms: open.created_ms,
            expires_ms: open.expires_ms,
        }
    }
}

impl From<&Permission> for Question {
    fn from(open: &Permission) -> Self {
        Self {
            id: open.id.clone(),
            kind: QuestionKind::Permission,
            client: open.client.clone(),
            on_behalf_of: None,
            call: open.tool.clone(),
            entities: open.entities.clone(),
            rule: Box::default(),
            reason: open.description.clone(),
            preview: open.preview.clone(),
            digest: open.digest(),
            created_ms: open.created_ms,
            expires_ms: open.expires_ms,
        }
    }
}

// === impl QuestionKind ===

impl QuestionKind {
    /// The word that stands in lists and rows.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Approval => "approval",
            Self::Proposal => "proposal",
            Self::Permission => "client permission",
        }
    }
}
