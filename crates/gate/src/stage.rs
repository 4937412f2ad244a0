//! The stages, one file each, and what a call is told when one stops it.

use legation_ledger::LedgerError;
use legation_policy::registry::ReasonCode;
use legation_policy::{Denied, Target};
use legation_store::StoreError;
use legation_wire::codes;
use legation_wire::json::{Object, Raw};
use legation_wire::message::ErrorObject;
use serde::Serialize;

use crate::Unresolved;
use crate::rate::TooMany;
use crate::redaction::RedactionError;

pub mod ask;
pub mod authenticate;
pub mod decide;
pub mod delegate;
pub mod limit;
pub mod record;
pub mod resolve;
pub(crate) mod restore;
pub mod result;
pub(crate) mod sample;
pub mod unapproved;

pub use authenticate::{KnownClients, NotAuthentic};
pub use delegate::NotDelegated;
pub use result::{Cleaning, Withheld};
pub use unapproved::Unapproved;

/// A call that a stage stopped; nothing reached a server.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The credential is not (or no longer) good.
    #[error(transparent)]
    NotAuthentic(#[from] NotAuthentic),
    /// For whom it is made cannot be understood.
    #[error(transparent)]
    NotDelegated(#[from] NotDelegated),
    /// The name leads nowhere.
    #[error(transparent)]
    Unresolved(#[from] Unresolved),
    /// It came too soon.
    #[error(transparent)]
    TooMany(#[from] TooMany),
    /// A rule says no.
    #[error(transparent)]
    Denied(#[from] Box<Denied>),
    /// A person is needed, or said no.
    #[error(transparent)]
    Unapproved(#[from] Box<Unapproved>),
    /// What the conversation holds is not known, so nothing can be decided.
    #[error("whose data this conversation holds could not be read; nothing was called")]
    NoLabels(#[source] StoreError),
    /// The call was made, and its result must not be read by this client.
    #[error(transparent)]
    Withheld(Withheld),
    /// The arguments must not leave their entity as they are.
    #[error(transparent)]
    NotRedacted(NotRedacted),
    /// The intent could not be recorded, so nothing was done.
    #[error("the call could not be recorded and was not sent")]
    NotRecorded {
        /// What was not done, as `server/item` where the server is known.
        action: Box<str>,
        /// Why.
        #[source]
        source: LedgerError,
    },
}

/// Arguments whose personal data or tokens could not be replaced.
#[derive(Debug, thiserror::Error)]
#[error("the arguments were not sent, because {}; nothing was called", error.reason())]
pub struct NotRedacted {
    error: RedactionError,
    target: Box<Target>,
}

/// The `data` member of a refusal's JSON-RPC error, and the structured content of
/// a refused tool's result.
#[derive(Debug, Serialize)]
struct RefusalData<'a> {
    blocked: bool,
    reason_code: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    blocked_action: Option<String>,
    next_safe_step: String,
    rule: &'a str,
    hint: String,
    /// `pending` while a person has not answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'static str>,
    /// What a pending call waits under.
    #[serde(skip_serializing_if = "Option::is_none")]
    approval_id: Option<&'a str>,
    /// The resource that was asked for, as the specification wants it for one
    /// that is not found (2026-07-28, server/resources).
    #[serde(skip_serializing_if = "Option::is_none")]
    uri: Option<&'a str>,
}

// === impl NotRedacted ===

impl NotRedacted {
    fn new(error: RedactionError, target: &Target) -> Self {
        Self {
            error,
            target: Box::new(target.clone()),
        }
    }
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
            Self::Unresolved(Unresolved::NoAccount { .. }) => "resolve.no_account",
            Self::NotDelegated(_) => "delegation.malformed",
            Self::TooMany(_) => "rate.too_many",
            Self::Denied(denied) => denied.rule.as_str(),
            Self::Unapproved(unapproved) => unapproved.rule(),
            Self::Withheld(withheld) => withheld.rule,
            Self::NotRedacted(stopped) => stopped.error.rule(),
            Self::NoLabels(_) => "boundary.unknown_labels",
            Self::NotRecorded { .. } => "ledger.unavailable",
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
            Self::Unresolved(Unresolved::NoAccount { hint, .. }) => hint.clone(),
            Self::NotDelegated(_) => {
                "Name the client that you act for, or leave the member out; a confidence is between 0 and 1.".to_owned()
            }
            Self::TooMany(error) => error.hint(),
            Self::Denied(denied) => denied.hint().to_owned(),
            Self::Unapproved(unapproved) => unapproved.hint(),
            Self::Withheld(_) => {
                "Do not call again from here; the owner can clear this client in governance/operator_profile.json.".to_owned()
            }
            Self::NotRedacted(_) => {
                "Leave personal data out of the arguments; `legation governance check` tells the owner what is wrong with a roster.".to_owned()
            }
            Self::NoLabels(_) | Self::NotRecorded { .. } => {
                "see that the disk of the data directory has room and can be written".to_owned()
            }
        }
    }

    /// The JSON-RPC code a client is told.
    #[must_use]
    pub fn code(&self) -> i64 {
        match self {
            Self::NotAuthentic(_)
            | Self::Denied(_)
            | Self::Unapproved(_)
            | Self::NotRedacted(_)
            | Self::Withheld(_) => codes::REFUSED,
            Self::TooMany(_) => codes::OVERLOADED,
            Self::Unresolved(Unresolved::Unavailable { .. })
            | Self::NoLabels(_)
            | Self::NotRecorded { .. } => codes::SERVER_UNAVAILABLE,
            Self::NotDelegated(_)
            | Self::Unresolved(
                Unresolved::Unknown { .. }
                | Unresolved::Ambiguous { .. }
                | Unresolved::NoAccount { .. }
                | Unresolved::NoEndpoint { .. },
            ) => codes::INVALID_PARAMS,
        }
    }

    /// The reason as a word that programs compare.
    #[must_use]
    pub fn reason_code(&self) -> ReasonCode {
        match self {
            Self::NotAuthentic(_) => ReasonCode::MissingOrInvalidAuth,
            Self::Unresolved(_) => ReasonCode::UnknownTarget,
            Self::NotDelegated(_) => ReasonCode::DelegationDenied,
            Self::TooMany(_) => ReasonCode::RateLimited,
            Self::Denied(denied) => denied.reason_code,
            Self::Unapproved(unapproved) => unapproved.reason_code(),
            Self::Withheld(withheld) => withheld.code,
            Self::NotRedacted(stopped) => stopped.error.code(),
            Self::NoLabels(_) => ReasonCode::MissingEntityOrProvenance,
            Self::NotRecorded { .. } => ReasonCode::LedgerUnavailable,
        }
    }

    /// What was refused, where it was found.
    #[must_use]
    pub fn target(&self) -> Option<&Target> {
        match self {
            Self::Denied(denied) => Some(&denied.target),
            Self::Unapproved(unapproved) => Some(unapproved.target()),
            Self::NotRedacted(stopped) => Some(&stopped.target),
            Self::NotAuthentic(_)
            | Self::NotDelegated(_)
            | Self::Unresolved(_)
            | Self::TooMany(_)
            | Self::Withheld(_)
            | Self::NoLabels(_)
            | Self::NotRecorded { .. } => None,
        }
    }

    /// The result that tells a model of the refusal of a tool it called, so that
    /// it can act on it; `None` for what is no matter of the model's: a bad
    /// credential, a name that leads nowhere, a hub that cannot record.
    #[must_use]
    pub fn to_tool_result(&self) -> Option<Raw> {
        match self {
            Self::TooMany(_)
            | Self::Denied(_)
            | Self::Unapproved(_)
            | Self::NotRedacted(_)
            | Self::Unresolved(Unresolved::NoAccount { .. })
            | Self::Withheld(_) => {}
            Self::NotAuthentic(_)
            | Self::NotDelegated(_)
            | Self::Unresolved(_)
            | Self::NoLabels(_)
            | Self::NotRecorded { .. } => return None,
        }
        let message = legation_core::error::chain(self);
        let text = format!("{message}\n{}", self.hint());
        let content = Object::new()
            .with("type", Raw::from_static(r#""text""#))
            .with("text", Raw::str(&text));
        let result = Object::new()
            .with("content", Raw::array(&[content.to_raw()]))
            .with("structuredContent", Raw::from_serialize(&self.data()))
            .with("isError", Raw::bool(true));
        Some(result.to_raw())
    }

    /// The JSON-RPC error a client is told; every refusal names its rule in
    /// `data.rule`.
    #[must_use]
    pub fn to_error(&self) -> ErrorObject {
        ErrorObject::new(self.code(), &legation_core::error::chain(self))
            .with_data(Raw::from_serialize(&self.data()))
    }

    fn data(&self) -> RefusalData<'_> {
        let uri = match self {
            Self::Unresolved(Unresolved::Unknown {
                what: "resource",
                name,
            }) => Some(&**name),
            _ => None,
        };
        let waits = match self {
            Self::Unapproved(unapproved) => unapproved.waits_under(),
            _ => None,
        };
        RefusalData {
            blocked: true,
            reason_code: self.reason_code().as_str(),
            blocked_action: match self {
                Self::Withheld(withheld) => Some(withheld.action.to_string()),
                Self::NotRecorded { action, .. } => Some(action.to_string()),
                _ => self
                    .target()
                    .map(|target| format!("{}/{}", target.server, target.item)),
            },
            next_safe_step: self.hint(),
            rule: self.rule(),
            hint: self.hint(),
            status: waits.map(|_| "pending"),
            approval_id: waits,
            uri,
        }
    }
}
