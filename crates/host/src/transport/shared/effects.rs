//! What the link wants done, done: under the lock, and without waiting.

use std::sync::Arc;
use std::time::Duration;

use legation_wire::codes;
use legation_wire::message::{ErrorObject, Message};
use legation_wire::upstream::{self, CallKey, Effect, Link, LinkError, Ready, StrayKind};

use super::{Carrier, Inner, RELISTEN, Shared};
use crate::transport::call::CallEvent;
use crate::transport::error::StartError;
use crate::transport::events::Event;

impl Inner {
    pub(super) fn carry_out(&mut self, shared: &Arc<Shared>, effect: Effect) {
        match effect {
            Effect::Send { message, call } => self.send(shared, message, call),
            // The stream that carried the call is dropped by its owner.
            Effect::Abort(_) => {}
            Effect::DropRequest { id } => {
                if let Carrier::Http(http) = &self.carrier {
                    http.drop_request(&id);
                }
            }
            Effect::ProbeTimer(ms) => {
                let weak = Arc::downgrade(shared);
                shared.spawn("probe timer", async move {
                    tokio::time::sleep(Duration::from_millis(ms)).await;
                    if let Some(shared) = weak.upgrade() {
                        shared.drive(Link::probe_timed_out);
                    }
                });
            }
            Effect::Ready(ready) => self.ready(shared, ready),
            Effect::Failed(error) => self.failed(error),
            Effect::Respawn => self.standing.respawn = true,
            Effect::Call(key, event) => self.call_event(key, event),
            Effect::AskIdle {
                key,
                method,
                params,
            } => shared.events.push(Event::Ask {
                key,
                method,
                params,
            }),
            Effect::AskWithdrawn { key, call: None } => {
                shared.events.push(Event::AskWithdrawn(key));
            }
            Effect::AskWithdrawn {
                key,
                call: Some(call),
            } => {
                if let Some(slot) = self.slots.get(&call) {
                    slot.push(CallEvent::AskWithdrawn(key));
                }
            }
            Effect::ListChanged(kind) => shared.events.push(Event::ListChanged(kind)),
            Effect::ResourceUpdated { uri } => {
                shared.events.push(Event::ResourceUpdated { uri });
            }
            Effect::TaskStatus(params) => shared.events.push(Event::TaskStatus(params)),
            Effect::ElicitationComplete(params) => {
                shared.events.push(Event::ElicitationComplete(params));
            }
            Effect::ListenAcknowledged(agreed) => {
                self.standing.relisten = RELISTEN.0;
                shared.events.push(Event::ListenAcknowledged(agreed));
            }
            Effect::ListenEnded(error) => self.listen_ended(shared, error),
            Effect::Unattributed { notification } => {
                shared.events.push(Event::Unattributed(notification));
            }
            Effect::Stray(kind) => stray(shared, &kind),
        }
    }

    fn send(&mut self, shared: &Arc<Shared>, message: Message, call: Option<CallKey>) {
        match &self.carrier {
            // What is said to a connection that is gone is not heard; the end
            // itself has told everybody.
            Carrier::None => {}
            Carrier::Stdio(writer) => {
                writer.queue(&message);
                self.queued = Some(Arc::clone(writer));
            }
            Carrier::Http(_) if call.is_some() => self.outgoing = Some(Box::new(message)),
            Carrier::Http(http) => http.enqueue(shared, message),
            Carrier::Sse(sse) => sse.enqueue(shared, message, call),
        }
    }

    fn ready(&mut self, shared: &Arc<Shared>, ready: Ready) {
        let _set_once = shared.revision.set(ready.revision);
        match &self.carrier {
            // What was sent before has to arrive before the first call does.
            Carrier::Http(http) => http.enqueue_ready(shared, ready),
            Carrier::Sse(sse) => sse.enqueue_ready(shared, ready),
            Carrier::None | Carrier::Stdio(_) => {
                if let Some(starting) = self.standing.starting.take() {
                    let _unheard = starting.send(Ok(ready));
                }
            }
        }
    }

    fn failed(&mut self, source: LinkError) {
        if let Some(starting) = self.standing.starting.take() {
            let ended = self.standing.ended.as_deref().map(str::to_owned);
            let _unheard = starting.send(Err(StartError::Handshake { source, ended }));
        }
    }

    fn call_event(&mut self, key: CallKey, event: upstream::CallEvent) {
        let event = match event {
            upstream::CallEvent::Progress(params) => CallEvent::Progress(params),
            upstream::CallEvent::Log(params) => CallEvent::Log(params),
            upstream::CallEvent::Ask {
                key,
                method,
                params,
            } => CallEvent::Ask {
                key,
                method,
                params,
            },
            upstream::CallEvent::Done(body) => {
                let end = match (body, &self.standing.ended) {
                    (Err(_), Some(why)) => CallEvent::Lost(why.to_string()),
                    (body, _) => CallEvent::Done(body),
                };
                if let Some(slot) = self.slots.remove(&key) {
                    slot.push(end);
                }
                return;
            }
        };
        if let Some(slot) = self.slots.get(&key) {
            slot.push(event);
        }
    }

    fn listen_ended(&mut self, shared: &Arc<Shared>, error: Option<ErrorObject>) {
        // A server that does not know the method will not learn it.
        let final_word = error
            .as_ref()
            .is_some_and(|error| error.code == codes::METHOD_NOT_FOUND);
        shared.events.push(Event::ListenEnded(error));
        if final_word || self.standing.wish.is_empty() || self.standing.ended.is_some() {
            return;
        }
        let pause = self.standing.relisten;
        self.standing.relisten = (pause * 2).min(RELISTEN.1);
        let weak = Arc::downgrade(shared);
        self.standing.relistener = shared.spawn("listen again", async move {
            tokio::time::sleep(pause).await;
            if let Some(shared) = weak.upgrade() {
                let wish = shared.lock().standing.wish.clone();
                shared.drive(|link| link.listen(wish));
            }
        });
    }
}

fn stray(shared: &Shared, kind: &StrayKind) {
    match kind {
        // Told with its text where it was read.
        StrayKind::Garbage { .. } => {}
        // An answer that crossed a cancellation is nobody's fault.
        StrayKind::AfterCancel { id } => tracing::debug!(?id, "answer after cancellation"),
        kind => shared.stray(|| format!("a message that does not belong: {kind:?}")),
    }
}
