//! OAuth for servers behind the hub, and for the hub's own front (MCP 2025-11-25 and
//! 2026-07-28, basic/authorization; OAuth 2.1).
//!
//! What is said is made and judged by functions without IO: challenges, metadata,
//! registrations, addresses for browsers, requests for tokens. Around them is a small
//! driver, whose two concerns are its own: nothing is fetched from where somebody
//! else's words must not lead ([`fetch`]), and a sign-in is renewed once, whoever
//! waits ([`OAuth`]). A library's client was not taken for those two: it renews per
//! client, and two clients that renew one sign-in at once end it for both.

mod authorize;
mod bound;
mod callback;
mod challenge;
mod client;
mod discover;
mod error;
pub mod fetch;
mod jwt;
mod metadata;
mod oauth;
mod resource;
mod settings;
mod sign_in;
mod slot;
mod token;
mod upstream;
mod url;
mod vault;

pub use authorize::AnswerError;
pub use challenge::Challenge;
pub use client::RegisterError;
pub use error::OAuthError;
pub use jwt::{KeyError, SigningKey};
pub use metadata::MetadataError;
pub use oauth::{News, OAuth, OAuthParts};
pub use resource::{BadResource, BadToken, Bearer, Judged, ResourceServer, ResourceSettings};
pub use settings::{Enterprise, Grant, Settings};
pub use sign_in::{Begun, SignIn};
pub use slot::Access;
pub use token::TokenError;
pub use upstream::Upstream;
pub use url::{BadUrl, WebUrl, encode};

#[cfg(test)]
mod tests;
