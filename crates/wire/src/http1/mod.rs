//! HTTP/1.1 as far as both sides of the hub need it: where a body ends (RFC 9112), and headers
//! however they are kept.
//!
//! The front reads requests and the host reads answers with parsers of their own, because what
//! makes a request ambiguous is harmless in an answer and the other way round; bodies are the
//! same.

mod body;
mod fields;

pub use self::body::{BadFraming, Body, Framing, Step};
pub use self::fields::{Fields, NotSole, text};
