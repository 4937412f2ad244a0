//! What no interface can say.

use std::collections::HashSet;

use crate::error::ModelError;
use crate::request::{ChatRequest, Message};
use crate::resume::GoOn;
use crate::target::Target;

/// Whether a request makes sense at all.
pub(super) fn request(target: &Target, request: &ChatRequest) -> Result<(), ModelError> {
    let unsayable = |what| Err(ModelError::Unsayable { what });
    if request.messages.is_empty() {
        return unsayable("there is no message");
    }
    let mut open = HashSet::new();
    for message in &request.messages {
        match message {
            Message::Assistant(turn) => {
                open = turn.calls.iter().map(|call| call.id.as_str()).collect();
            }
            Message::Result(result) => {
                if !open.remove(result.call_id.as_str()) {
                    return unsayable("a result belongs to no call before it");
                }
            }
            Message::System(_) | Message::User(_) => {
                if !open.is_empty() {
                    return unsayable("a call has no result");
                }
            }
        }
    }
    let Some(Message::Assistant(turn)) = request.messages.last() else {
        return match open.is_empty() {
            true => Ok(()),
            false => unsayable("a call has no result"),
        };
    };
    if !turn.calls.is_empty() {
        return unsayable("a turn that calls tools cannot be gone on with");
    }
    if target.go_on == GoOn::Never {
        return unsayable("this server cannot go on with a turn that was begun");
    }
    Ok(())
}
