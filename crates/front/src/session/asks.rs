//! Questions of servers to one legacy client that have no answer yet.

use std::collections::HashMap;
use std::sync::Arc;

use legation_wire::json::Object;
use legation_wire::json::Raw;
use legation_wire::message::{ErrorObject, Id, Message};
use tokio::sync::oneshot;

use super::Session;
use crate::outbox::{Outbox, Weight};

type Waiting = oneshot::Sender<Result<Raw, ErrorObject>>;

/// Not bounded by itself: every entry belongs to a call in flight, which are.
#[derive(Debug, Default)]
pub(super) struct Asks {
    last: i64,
    open: HashMap<Id, Waiting>,
}

/// An open question. Dropped before its answer, it tells the client so.
#[derive(Debug)]
pub(crate) struct Question {
    session: Arc<Session>,
    outbox: Arc<Outbox>,
    id: Id,
}

// === impl Asks ===

impl Asks {
    pub(super) fn open(&mut self) -> (Id, oneshot::Receiver<Result<Raw, ErrorObject>>) {
        self.last += 1;
        let id = Id::Int(self.last);
        let (answer, waiting) = oneshot::channel();
        self.open.insert(id.clone(), answer);
        (id, waiting)
    }

    pub(super) fn withdraw(&mut self, id: &Id) -> bool {
        self.open.remove(id).is_some()
    }

    pub(super) fn take(&mut self, id: &Id) -> Option<Waiting> {
        self.open.remove(id)
    }
}

// === impl Question ===

impl Question {
    pub(crate) fn new(session: Arc<Session>, outbox: Arc<Outbox>, id: Id) -> Self {
        Self {
            session,
            outbox,
            id,
        }
    }
}

impl Drop for Question {
    fn drop(&mut self) {
        if self.session.ask_withdrawn(&self.id) {
            let params = Object::new().with("requestId", self.id.to_raw()).with(
                "reason",
                Raw::from_static(r#""the call it belongs to has ended""#),
            );
            let cancelled = Message::notification("notifications/cancelled", Some(params.to_raw()));
            self.outbox.push(cancelled.to_bytes(), Weight::Droppable);
        }
    }
}
