//! What the rules say of whom may be told.

use std::fmt;

use futures_util::future::BoxFuture;
use legation_core::{Caller, ClientId, EntityId};

use crate::Topic;

/// The rules, as far as events need them. Asked whenever something is told, so
/// that a rule that changed counts at once.
pub trait Access: Send + Sync + fmt::Debug {
    /// Whether the credential is still good.
    fn knows(&self, who: &Caller) -> bool;

    /// Whether a client may hear of a topic at all.
    fn offers(&self, who: &Caller, topic: &Topic) -> bool;

    /// Whether a client may know that there is something of an entity's: it
    /// could read it, be it redacted.
    fn may_know(&self, who: &Caller, entity: &EntityId) -> bool;

    /// Whether data of an entity may be told as it is; if so the client's
    /// conversation holds it from then on.
    fn may_be_told(&self, who: &Caller, entity: Option<&EntityId>) -> bool;

    /// Has something recorded; on disk when it is done.
    fn record(&self, record: Record) -> BoxFuture<'static, Result<(), String>>;
}

/// Something for the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// What happened.
    pub what: What,
    /// Whose subscription it is.
    pub client: ClientId,
    /// Whose data it is about.
    pub entity: Option<EntityId>,
    /// In words, none of them another's.
    pub text: String,
}

/// What is recorded of webhooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// A client named an address.
    Subscribed,
    /// A subscription is over.
    Ended,
    /// Something is about to be sent to an address.
    Sent,
    /// It could not be delivered and is given up.
    GivenUp,
}
