//! Tool calls for somebody whom nothing can be asked while they run: a page, a program, a chat.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use legation_core::ServerName;
use legation_gate::{Ask, Endpoint, Item, Peer, Request, TaskWish};
use legation_wire::caps::ClientCapabilities;
use legation_wire::codes;
use legation_wire::json::{Object, Raw};
use legation_wire::message::ErrorObject;
use legation_wire::revision::Revision;

/// Who calls, and what is said of where they are.
#[derive(Debug)]
struct Mute {
    place: &'static str,
    capabilities: ClientCapabilities,
}

/// A call of a tool from such a place, such as `in a chat`.
pub(super) fn request(
    server: ServerName,
    tool: &str,
    arguments: Raw,
    place: &'static str,
) -> Request {
    Request {
        endpoint: Endpoint::Server(server),
        item: Item::Tool(tool.into()),
        params: Object::new()
            .with("name", Raw::str(tool))
            .with("arguments", arguments),
        retry: None,
        task: TaskWish::Never,
        peer: Arc::new(Mute {
            place,
            capabilities: ClientCapabilities::default(),
        }),
    }
}

/// What a result says in words.
pub(super) fn text(result: &Raw) -> String {
    let parts = result.get("content").and_then(|content| content.to_array());
    let parts: Vec<String> = parts
        .unwrap_or_default()
        .iter()
        .filter_map(|part| Some(part.get("text")?.to_str()?.into_owned()))
        .collect();
    parts.join("\n")
}

/// Whether a result says that the tool failed.
pub(super) fn is_error(result: &Raw) -> bool {
    result.get("isError").and_then(|raw| raw.to_bool()) == Some(true)
}

// === impl Mute ===

impl Peer for Mute {
    fn revision(&self) -> Revision {
        Revision::V2025_11_25
    }

    fn capabilities(&self) -> &ClientCapabilities {
        &self.capabilities
    }

    fn ask(&self, ask: Ask) -> BoxFuture<'static, Result<Raw, ErrorObject>> {
        let message = format!("{} cannot be answered {}", ask.method, self.place);
        let error = ErrorObject::new(codes::METHOD_NOT_FOUND, &message);
        Box::pin(std::future::ready(Err(error)))
    }
}
