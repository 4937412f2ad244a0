//! The modern subscription: one `subscriptions/listen` at a time, replaced without a gap.

use super::{Effect, Link, Pending, StrayKind};
use crate::json::{Object, Raw};
use crate::listen::ListenFilter;
use crate::message::{ErrorObject, Id};
use crate::meta;

/// One subscription.
#[derive(Debug)]
pub(super) struct Listening {
    id: i64,
    filter: ListenFilter,
    acknowledged: bool,
}

// === impl Link ===

impl Link {
    /// Asks a modern server for these notifications, in place of those asked for before; for
    /// nothing at all ends the subscription. A legacy server needs no asking: its lists' changes
    /// come by themselves and resources are subscribed to by calls.
    ///
    /// The earlier subscription lasts until the new one is acknowledged, so nothing is missed.
    pub fn listen(&mut self, filter: ListenFilter) {
        if !self.is_modern() {
            return;
        }
        if self
            .listening
            .last()
            .is_some_and(|current| current.filter == filter)
        {
            return;
        }
        if filter.is_empty() {
            return self.stop_all_but(None);
        }
        // At most one replacement is on the way.
        if let Some(waiting) = self.listening.pop_if(|current| !current.acknowledged) {
            self.stop(waiting.id);
        }
        let mut params = Object::new().with("notifications", filter.to_raw());
        self.own_era_meta().insert(&mut params);
        let id = self.request("subscriptions/listen", params, Pending::Listen);
        self.listening.push(Listening {
            id,
            filter,
            acknowledged: false,
        });
    }

    /// The HTTP stream of the `subscriptions/listen` with this id ended without an answer.
    pub fn listen_closed(&mut self, id: &Id) {
        if let Id::Int(id) = id {
            self.listen_cancelled(*id);
        }
    }

    /// Whether a notification belongs to a subscription that is not this link's any more.
    pub(super) fn is_stale(&self, params: &Object) -> bool {
        let Some(id) = meta::get(params, meta::SUBSCRIPTION_ID) else {
            return false;
        };
        self.is_modern()
            && !self
                .listening
                .iter()
                .any(|listening| id.to_i64() == Some(listening.id))
    }

    pub(super) fn listen_acknowledged(&mut self, id: Option<&Raw>, params: &Object) {
        let id = id.and_then(Raw::to_i64);
        let Some(listening) = self
            .listening
            .iter_mut()
            .find(|listening| Some(listening.id) == id)
        else {
            return self.stray(StrayKind::StaleSubscription {
                method: "notifications/subscriptions/acknowledged".into(),
            });
        };
        listening.acknowledged = true;
        let (id, wanted) = (listening.id, listening.filter.clone());
        // Nobody may add to what was asked for.
        let agreed = params
            .get("notifications")
            .map(ListenFilter::from_raw)
            .unwrap_or_default();
        self.stop_all_but(Some(id));
        self.effect(Effect::ListenAcknowledged(wanted.intersect(&agreed)));
    }

    /// An answer ends a subscription: an empty result on shutdown, an error on refusal.
    pub(super) fn listen_answered(&mut self, id: i64, body: Result<Raw, ErrorObject>) {
        self.listening.retain(|listening| listening.id != id);
        self.effect(Effect::ListenEnded(body.err()));
    }

    /// A subscription ended without an answer.
    pub(super) fn listen_cancelled(&mut self, id: i64) {
        let before = self.listening.len();
        self.listening.retain(|listening| listening.id != id);
        if self.listening.len() < before {
            self.pending.remove(&id);
            self.note_cancelled(id);
            self.effect(Effect::ListenEnded(None));
        }
    }

    /// The HTTP request of the latest subscription was refused.
    pub(super) fn listen_failed(&mut self, error: Option<ErrorObject>) {
        if let Some(listening) = self.listening.pop() {
            self.pending.remove(&listening.id);
            self.note_cancelled(listening.id);
            self.effect(Effect::ListenEnded(error));
        }
    }

    fn stop_all_but(&mut self, kept: Option<i64>) {
        let (keep, stop): (Vec<_>, Vec<_>) = std::mem::take(&mut self.listening)
            .into_iter()
            .partition(|listening| Some(listening.id) == kept);
        self.listening = keep;
        for listening in stop {
            self.stop(listening.id);
        }
    }

    fn stop(&mut self, id: i64) {
        self.pending.remove(&id);
        self.note_cancelled(id);
        if self.config.http {
            self.effect(Effect::DropRequest { id: Id::Int(id) });
        } else {
            self.send_cancelled(id, "replaced");
        }
    }
}
