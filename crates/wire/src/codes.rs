//! Error codes of JSON-RPC, of MCP, and the hub's own.

/// The text is not JSON (JSON-RPC 2.0, section 5.1).
pub const PARSE_ERROR: i64 = -32700;
/// The JSON is not a JSON-RPC message.
pub const INVALID_REQUEST: i64 = -32600;
/// No such method.
pub const METHOD_NOT_FOUND: i64 = -32601;
/// The method exists, its parameters are wrong. In 2026-07-28 also "resource not found".
pub const INVALID_PARAMS: i64 = -32602;
/// The answering side failed.
pub const INTERNAL_ERROR: i64 = -32603;
/// Used by several SDKs for a closed connection; never sent by the hub.
pub const CONNECTION_CLOSED: i64 = -32000;
/// No such resource, in the revisions up to 2025-11-25.
pub const RESOURCE_NOT_FOUND: i64 = -32002;
/// HTTP headers and body of a request differ (2026-07-28, Streamable HTTP).
pub const HEADER_MISMATCH: i64 = -32020;
/// The request needs a client capability that was not declared (2026-07-28).
pub const MISSING_CAPABILITY: i64 = -32021;
/// The revision named in the request is not spoken here (2026-07-28, versioning).
pub const UNSUPPORTED_VERSION: i64 = -32022;
/// The request needs a URL elicitation first; 2025-11-25 only.
pub const URL_ELICITATION_REQUIRED: i64 = -32042;

// MCP asks for own codes to lie outside -32768..-32000.

/// The gate refused the call.
pub const REFUSED: i64 = -31000;
/// The server that owns the name is not connected.
pub const SERVER_UNAVAILABLE: i64 = -31001;
/// The call ran into its time limit.
pub const TIMED_OUT: i64 = -31002;
/// The hub is stopping, or has been restarted while the call was in flight.
pub const HUB_STOPPED: i64 = -31003;
/// A queue of the hub is full; the call was not started.
pub const OVERLOADED: i64 = -31004;
/// The server answered with something that is no answer.
pub const BAD_UPSTREAM: i64 = -31005;
/// A sealed `requestState` is unknown, spent, or not this caller's.
pub const BAD_REQUEST_STATE: i64 = -31006;
/// The call was cancelled.
pub const CANCELLED: i64 = -31007;

/// Whether only a server of revision 2026-07-28 or later sends this code, so that a client
/// probing for an era need not fall back on it (versioning, backward compatibility).
pub fn is_modern(code: i64) -> bool {
    matches!(
        code,
        HEADER_MISMATCH | MISSING_CAPABILITY | UNSUPPORTED_VERSION
    )
}
