//! The channel's other direction: what its client asks a person of its own tools,
//! and the person's answer.
//!
//! A question lives as long as its session. It goes to the hub's desk, which
//! puts it where the person is; the answer comes back once, to this session and
//! no other.

use std::sync::{Arc, Weak};

use legation_gate::desk::{Asker, PermissionRequest};
use legation_wire::json::{Object, Raw};
use legation_wire::message::Message;

use super::{Phase, Session};
use crate::outbox::Weight;
use crate::shared::Shared;

/// The experimental capability, what the client sends and what it is answered.
pub(super) const CAPABILITY: &str = "claude/channel/permission";
pub(crate) const REQUEST: &str = "notifications/claude/channel/permission_request";
const ANSWER: &str = "notifications/claude/channel/permission";
/// Most questions whose guards a session keeps, answered ones among them.
const GUARDS_MAX: usize = 256;

/// A session that waits for an answer, as long as it is there.
#[derive(Debug)]
struct Waiting(Weak<Session>);

impl Session {
    /// Takes in a question of the client's, if it has a channel.
    pub(crate) fn asks_permission(self: &Arc<Self>, shared: &Shared, params: Option<&Raw>) {
        let Some(params) = params.filter(|_| self.has_channel() && self.is_ready()) else {
            return;
        };
        let text = |name: &str| {
            let member = params.get(name);
            member.and_then(|raw| raw.to_str().map(|text| text.into_owned().into_boxed_str()))
        };
        let (Some(request), Some(tool)) = (text("request_id"), text("tool_name")) else {
            tracing::info!("a client asks for a permission and does not say which");
            return;
        };
        let asked = PermissionRequest {
            request,
            tool,
            description: text("description").unwrap_or_default(),
            preview: text("input_preview").unwrap_or_default(),
        };
        let asker = Arc::new(Waiting(Arc::downgrade(self)));
        match shared.gate.ask_permission(&self.caller, asked, asker) {
            Ok(guard) => {
                let mut state = self.lock();
                if state.phase != Phase::Ready {
                    // The guard withdraws it, once the lock is given back.
                    drop(state);
                    return drop(guard);
                }
                // The oldest was answered, or its dialog is long gone.
                let old = match state.permissions.len() >= GUARDS_MAX {
                    true => state.permissions.pop_front(),
                    false => None,
                };
                state.permissions.push_back(guard);
                drop(state);
                drop(old);
            }
            Err(error) => {
                let error = legation_core::error::chain(&error);
                tracing::warn!(error, "a client's question is put to nobody");
            }
        }
    }
}

// === impl Waiting ===

impl Asker for Waiting {
    fn answered(&self, request: &str, allow: bool) -> bool {
        let Some(session) = self.0.upgrade() else {
            return false;
        };
        if !session.is_ready() {
            return false;
        }
        let behavior = if allow { "allow" } else { "deny" };
        let params = Object::new()
            .with("request_id", Raw::str(request))
            .with("behavior", Raw::str(behavior));
        let message = Message::notification(ANSWER, Some(params.to_raw()));
        session.general.push(message.to_bytes(), Weight::Needed)
    }
}
