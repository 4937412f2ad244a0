//! What is said to a receiver beside events: is it you, something is missing, it
//! is over.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use legation_core::Wall;
use legation_wire::json::{Object, Raw};
use subtle::ConstantTimeEq as _;

use super::hook::Hook;
use super::post::{Answer, Parcel};
use crate::events::Inner;
use crate::stream::wrapped;
use crate::{EventsError, Reason};

/// Random bytes of a challenge, and of a control message's id.
const CHALLENGE: usize = 24;
const ID: usize = 12;

impl Inner {
    /// Asks a receiver to echo a challenge that only it can read; one is used
    /// once. It comes before anything else that goes there.
    pub(super) async fn challenge(&self, hook: &Hook) -> Result<(), Reason> {
        let challenge = random::<CHALLENGE>().ok_or(Reason::ChallengeFailed)?;
        let body = Object::new()
            .with("type", Raw::str("verification"))
            .with("challenge", Raw::str(&challenge));
        let answer = self.control(hook, "verification", &body).await?;
        if let Some(reason) = failure(answer.status) {
            return Err(reason);
        }
        let echoed = serde_json::from_slice::<serde_json::Value>(&answer.body).ok();
        let echoed = echoed
            .as_ref()
            .and_then(|answer| answer.get("challenge")?.as_str());
        let same =
            echoed.is_some_and(|echoed| echoed.as_bytes().ct_eq(challenge.as_bytes()).into());
        if same {
            Ok(())
        } else {
            Err(Reason::ChallengeFailed)
        }
    }

    /// Tells a receiver that something is missing before a cursor. Once.
    pub(super) async fn tell_gap(&self, hook: &Hook) {
        let place = hook.lock().position.place;
        let cursor = self.cursor(&hook.who(), &hook.filter.topic, place);
        let body = Object::new()
            .with("type", Raw::str("gap"))
            .with("cursor", cursor);
        let told = self.control(hook, "gap", &body).await;
        let now = self.clock.wall();
        let mut state = hook.lock();
        match told.map(|answer| failure(answer.status)) {
            Ok(None) => {
                state.owes_gap = false;
                state.delivered(now);
            }
            Ok(Some(reason)) | Err(reason) => state.failed(reason, now),
        }
    }

    /// Tells a receiver that nothing will follow. It may not listen any more.
    pub(super) async fn tell_end(self: &Arc<Self>, hook: &Hook, error: &EventsError) {
        let error = error.to_error(self.settings.numbers);
        let body = wrapped(&error).with("type", Raw::str("terminated"));
        if let Err(reason) = self.control(hook, "terminated", &body).await {
            tracing::debug!(
                reason = reason.as_str(),
                "a receiver does not hear of its end"
            );
        }
    }

    async fn control(&self, hook: &Hook, kind: &str, body: &Object) -> Result<Answer, Reason> {
        let random = random::<ID>().ok_or(Reason::ConnectionRefused)?;
        let id = format!("msg_{kind}_{random}");
        self.send(hook, &id, body.to_raw().as_bytes().clone()).await
    }

    /// One attempt, stamped and signed now.
    pub(super) async fn send(&self, hook: &Hook, id: &str, body: Bytes) -> Result<Answer, Reason> {
        let Wall(now) = self.clock.wall();
        let timestamp = now.div_euclid(1000);
        let signature = hook.sign(id, timestamp, &body);
        let parcel = Parcel {
            id,
            timestamp,
            signature: &signature,
            subscription: &hook.id,
            body,
        };
        self.webhooks.poster.post(&hook.receiver, &parcel).await
    }
}

/// What is wrong with a status; nothing when it says that the receiver has it.
pub(super) fn failure(status: u16) -> Option<Reason> {
    match status {
        200..=299 => None,
        500.. => Some(Reason::Http5xx),
        _ => Some(Reason::Http4xx),
    }
}

/// Random text of so many bytes; `None` when the system has none.
fn random<const LEN: usize>() -> Option<String> {
    let mut bytes = [0; LEN];
    getrandom::fill(&mut bytes).ok()?;
    Some(URL_SAFE_NO_PAD.encode(bytes))
}
