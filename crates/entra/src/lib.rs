//! Client of Microsoft Entra ID and Microsoft Graph: sign-in, tokens, agent
//! identities, chats, mail, calendars, presence.
//!
//! Requests are written by hand over one small HTTP client. The client
//! libraries there are were rejected: none knows the agents' grants, and what
//! matters here (who waits for a refresh, what may be sent twice, which host
//! gets a token) is in the parts they hide.
//!
//! Architecture invariant: there is no MCP and no rule in it, and a token
//! leaves it only in the header of a request to the configured authority,
//! Graph or broker.

pub mod account;
pub mod accounts;
pub mod agent;
pub mod broker;
pub mod calendar;
pub mod chat;
pub mod error;
pub mod graph;
pub mod html;
pub mod http;
pub mod mail;
pub mod oauth;
pub mod token;

mod base;

pub use account::{Account, AccountSettings, Acting, Cloud, Parts};
pub use accounts::{Accounts, NoAccount};
pub use error::{Class, GraphError, SignInError};

#[cfg(test)]
mod test_kit;
