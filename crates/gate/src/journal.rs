//! What happens beside calls, on its way to the record.
//!
//! Approvals and proposals change under a lock, and a record waits for the disk;
//! so what happened is queued here and written by [`crate::Gate::run_upkeep`]
//! within moments. What must be on record before it happens, the use of an
//! approval, is not left to this: its intent is its record.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use legation_core::error::chain;
use legation_core::{ClientId, EntityId};
use legation_ledger::{Detail, Ledger, LedgerError, Note};
use legation_policy::registry::{EventName, ReasonCode};
use tokio::sync::Notify;

/// Most that wait to be written. Each needs a person or a new question, of which
/// few can be open; past this the disk has been gone for long.
const QUEUE_MAX: usize = 16 * 1024;

/// The word for what nothing stopped.
pub const ALLOWED: &str = "allowed";

/// Something worth a record that is no call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Happened {
    /// Which event it is.
    pub event: EventName,
    /// In whose chain it belongs.
    pub entity: EntityId,
    /// Who caused it, if it was a client.
    pub client: Option<ClientId>,
    /// `server/tool` it is about.
    pub tool: Option<Box<str>>,
    /// The approval, grant or proposal it is about.
    pub about: Option<About>,
    /// What stopped something, if anything was.
    pub reason: Option<ReasonCode>,
    /// In words, none of them a model's or a server's own.
    pub text: Box<str>,
}

/// What an event is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum About {
    /// An approval, by its id.
    Approval(Box<str>),
    /// A grant that lasts.
    Grant(Box<str>),
    /// A proposal.
    Proposal(Box<str>),
}

/// What waits to be written.
#[derive(Debug, Default)]
pub struct Journal {
    queue: Mutex<VecDeque<Happened>>,
    more: Notify,
    /// Held by who writes.
    writing: tokio::sync::Mutex<()>,
}

// === impl Happened ===

impl Happened {
    /// An event about nobody's data.
    #[must_use]
    pub fn new(event: EventName, text: &str) -> Self {
        Self {
            event,
            entity: EntityId::personal(),
            client: None,
            tool: None,
            about: None,
            reason: None,
            text: text.into(),
        }
    }

    /// Writes it; on disk on return.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn write(&self, ledger: &Ledger) -> Result<(), LedgerError> {
        let mut detail = Detail {
            event: Some(self.event.as_str()),
            governance_result: Some(self.reason.map_or(ALLOWED, ReasonCode::as_str)),
            tool_name: self.tool.as_deref(),
            labels: std::slice::from_ref(&self.entity),
            ..Detail::default()
        };
        match &self.about {
            None => {}
            Some(About::Approval(id)) => detail.approval = Some(id),
            Some(About::Grant(id)) => detail.grant = Some(id),
            Some(About::Proposal(id)) => detail.proposal = Some(id),
        }
        let note = Note {
            client: self.client.as_ref(),
            detail,
            ..Note::new(&self.entity, self.event.as_str(), &self.text)
        };
        ledger.note(&note).await
    }
}

// === impl Journal ===

impl Journal {
    /// Queues something.
    pub fn add(&self, happened: Happened) {
        let mut queue = self.lock();
        if queue.len() >= QUEUE_MAX {
            tracing::error!(event = %happened.event, text = happened.text, "it could not be recorded: too much waits already");
            return;
        }
        queue.push_back(happened);
        drop(queue);
        self.more.notify_one();
    }

    /// Has whoever waits look again.
    pub(crate) fn wake(&self) {
        self.more.notify_one();
    }

    /// Waits until something is queued.
    pub(crate) async fn filled(&self) {
        self.more.notified().await;
    }

    /// Writes everything that is queued, in its order. What cannot be written
    /// stays.
    ///
    /// # Errors
    /// When something cannot be written.
    pub(crate) async fn write(&self, ledger: &Ledger) -> Result<(), LedgerError> {
        let _one_writer = self.writing.lock().await;
        loop {
            let Some(next) = self.lock().front().cloned() else {
                return Ok(());
            };
            if let Err(error) = next.write(ledger).await {
                tracing::error!(error = %chain(&error), event = %next.event, "it waits to be recorded");
                return Err(error);
            }
            drop(self.lock().pop_front());
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, VecDeque<Happened>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
