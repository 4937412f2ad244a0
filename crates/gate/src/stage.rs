//! The stages, one file each, and what a call is told when one stops it.

use legation_ledger::LedgerError;
use legation_policy::Denied;
use legation_wire::codes;
use legation_wire::json::Raw;
use legation_wire::message::ErrorObject;
use serde::Serialize;

use crate::Unresolved;

pub mod authenticate;
pub mod decide;
pub mod record;
pub mod resolve;

pub use authenticate::{KnownClients, NotAuthentic};

/// A call that a stage stopped; nothing reached a server.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The credential is not (or no longer) good.
    #[error(transparent)]
    NotAuthentic(#[from] NotAuthentic),
    /// The name leads nowhere.
    #[error(transparent)]
    Unresolved(#[from] Unresolved),
    /// A rule says no.
    #[error(transparent)]
    Denied(#[from] Denied),
    /// The intent could not be recorded, so nothing was done.
    #[error("the call could not be recorded and was not sent")]
    NotRecorded(#[source] LedgerError),
}

/// The `data` member of a refusal's JSON-RPC error.
#[derive(Debug, Serialize)]
struct RefusalData<'a> {
    rule: &'a str,
    hint: String,
    /// The resource that was asked for, as the specification wants it for one
    /// that is not found (2026-07-28, server/resources).
    #[serde(skip_serializing_if = "Option::is_none")]
    uri: Option<&'a str>,
}

// === impl Refusal ===

impl Refusal {
    /// The rule that stopped the call.
    #[must_use]
    pub fn rule(&self) -> &str {
        match self {
            Self::NotAuthentic(_) => "authenticate.unknown_client",
            Self::Unresolved(Unresolved::Unknown { .. }) => "resolve.unknown",
            Self::Unresolved(Unresolved::Unavailable { .. }) => "resolve.unavailable",
            Self::Unresolved(Unresolved::Ambiguous { .. }) => "resolve.ambiguous",
            Self::Unresolved(Unresolved::NoEndpoint { .. }) => "resolve.no_endpoint",
            Self::Denied(denied) => denied.rule.as_str(),
            Self::NotRecorded(_) => "ledger.unavailable",
        }
    }

    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::NotAuthentic(error) => error.hint(),
            Self::Unresolved(Unresolved::Unknown { .. }) => {
                "read the list again; `legation mcp tools` shows every name".to_owned()
            }
            Self::Unresolved(Unresolved::Unavailable { server, .. }) => {
                format!("see `legation mcp show {server}`, then call again")
            }
            Self::Unresolved(Unresolved::Ambiguous { .. }) => {
                "ask one of them: each server has an endpoint of its own, /mcp/s/SERVER".to_owned()
            }
            Self::Unresolved(Unresolved::NoEndpoint { .. }) => {
                "`legation mcp list` shows the servers, legation.toml the views".to_owned()
            }
            Self::Denied(denied) => denied.hint().to_owned(),
            Self::NotRecorded(_) => {
                "see that the disk of the data directory has room and can be written".to_owned()
            }
        }
    }

    /// The JSON-RPC code a client is told.
    #[must_use]
    pub fn code(&self) -> i64 {
        match self {
            Self::NotAuthentic(_) | Self::Denied(_) => codes::REFUSED,
            Self::Unresolved(Unresolved::Unavailable { .. }) | Self::NotRecorded(_) => {
                codes::SERVER_UNAVAILABLE
            }
            Self::Unresolved(
                Unresolved::Unknown { .. }
                | Unresolved::Ambiguous { .. }
                | Unresolved::NoEndpoint { .. },
            ) => codes::INVALID_PARAMS,
        }
    }

    /// The JSON-RPC error a client is told; every refusal names its rule in
    /// `data.rule`.
    #[must_use]
    pub fn to_error(&self) -> ErrorObject {
        let uri = match self {
            Self::Unresolved(Unresolved::Unknown {
                what: "resource",
                name,
            }) => Some(&**name),
            Self::NotAuthentic(_)
            | Self::Denied(_)
            | Self::NotRecorded(_)
            | Self::Unresolved(_) => None,
        };
        let data = RefusalData {
            rule: self.rule(),
            hint: self.hint(),
            uri,
        };
        ErrorObject::new(self.code(), &legation_core::error::chain(self))
            .with_data(Raw::from_serialize(&data))
    }
}
