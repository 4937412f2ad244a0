//! How many messages wait for the caller, said with every tool's result: a client
//! that is told nothing unasked hears of them with whatever it does next.

use std::fmt;
use std::sync::Arc;

use legation_core::Caller;
use legation_gate::Outcome;
use legation_wire::json::Raw;

/// In a result's `_meta`: how many messages of the inbox the client has not read.
const UNREAD: &str = "io.legation/inboxUnread";

/// Who knows what waits.
pub trait Unread: Send + Sync + fmt::Debug {
    /// How many messages a caller has not read and may read.
    fn unread(&self, caller: &Caller) -> u64;
}

/// A result that will say how many there are.
pub(super) struct Mention {
    unread: Arc<dyn Unread>,
    caller: Caller,
}

// === impl Mention ===

impl Mention {
    /// Something to say, if there is.
    pub(super) fn of(unread: &Arc<dyn Unread>, caller: &Caller) -> Option<Self> {
        (unread.unread(caller) > 0).then(|| Self {
            unread: Arc::clone(unread),
            caller: caller.clone(),
        })
    }

    /// Says it, unless everything was read meanwhile.
    pub(super) fn add(self, outcome: Outcome) -> Outcome {
        let Outcome::Complete(raw) = outcome else {
            return outcome;
        };
        let count = i64::try_from(self.unread.unread(&self.caller)).unwrap_or(i64::MAX);
        let (Some(mut result), true) = (raw.to_object(), count > 0) else {
            return Outcome::Complete(raw);
        };
        let meta = match result.get("_meta") {
            None => Some(legation_wire::json::Object::new()),
            Some(meta) => meta.to_object(),
        };
        // A server's own `_meta` that is none is its mistake, and passes as it is.
        let Some(mut meta) = meta else {
            return Outcome::Complete(raw);
        };
        meta.set(UNREAD, Raw::int(count));
        result.set("_meta", meta.to_raw());
        Outcome::Complete(result.to_raw())
    }
}
