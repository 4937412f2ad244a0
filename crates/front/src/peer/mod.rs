//! The roads back to a client: one per call, and one per seat for what comes
//! outside every call.

mod carrying;
mod legacy;
mod modern;
mod queue;
mod seat;

use std::sync::{Mutex, PoisonError};

use legation_gate::Delivery;
use legation_wire::json::{Object, Raw};
use legation_wire::message::Message;
use legation_wire::meta;

pub(crate) use self::carrying::Carrying;
pub(crate) use self::legacy::LegacyPeer;
pub(crate) use self::modern::ModernPeer;
pub(crate) use self::queue::{Pending, Step, is_answer};
pub(crate) use self::seat::SeatPeer;
use crate::level::Level;
use crate::outbox::{Outbox, Weight};
use crate::outgoing::Deliveries;

/// Keeps who wants to know of an answer.
fn put(deliveries: &Mutex<Deliveries>, delivery: Box<dyn Delivery>) {
    let mut all = deliveries.lock().unwrap_or_else(PoisonError::into_inner);
    all.add(delivery);
}

/// Takes those out that were kept.
fn take(deliveries: &Mutex<Deliveries>) -> Deliveries {
    let mut all = deliveries.lock().unwrap_or_else(PoisonError::into_inner);
    std::mem::take(&mut *all)
}

/// Sends progress under the client's own token.
fn send_progress(outbox: &Outbox, token: &Raw, mut params: Object) {
    params.set(meta::PROGRESS_TOKEN, token.clone());
    let message = Message::notification("notifications/progress", Some(params.to_raw()));
    outbox.push(message.to_bytes(), Weight::Droppable);
}

/// Sends a log message to a client that wants this level.
fn send_log(outbox: &Outbox, level: Option<Level>, params: Raw) {
    if level.is_some_and(|level| level.lets(&params)) {
        let message = Message::notification("notifications/message", Some(params));
        outbox.push(message.to_bytes(), Weight::Droppable);
    }
}
