//! JSON-RPC with raw payloads, MCP revisions and the translation between them; sans-IO.
//!
//! Nothing here opens a socket, starts a process or looks at a clock: bytes and messages come
//! in, bytes and messages go out, and the shells around this crate (front, host, bridge) do
//! the reading and writing. A typed MCP library was rejected for this place because its round
//! trip drops what its types do not know.

pub mod caps;
pub mod codes;
pub mod framing;
pub mod headers;
pub mod http1;
pub mod json;
pub mod listen;
pub mod message;
pub mod meta;
pub mod revision;
pub mod sse;
pub mod translate;
pub mod upstream;
