//! An answer of Graph that is not what was asked for.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use legation_core::CancelReason;
use serde::Deserialize;

use super::{Class, SignInError};
use crate::base::plain;
use crate::http::HttpError;

const MESSAGE_MAX: usize = 600;

/// What a refusal of Graph means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GraphMeaning {
    /// The token is not accepted.
    Token,
    /// The user has no licence for it.
    NoLicence,
    /// The token does not allow it.
    Forbidden,
    /// There is no such thing, or not for this user.
    NotFound,
    /// There is one already, or it was changed meanwhile.
    Conflict,
    /// The request is too large.
    TooLarge,
    /// Too many requests.
    Throttled,
    /// What a delta was to go on from is gone.
    Resync,
    /// The request is not understood.
    BadRequest,
    /// Graph has a problem of its own.
    Server,
    /// Something else.
    Other,
}

/// An answer of Graph with an error in it.
#[derive(Clone, PartialEq, Eq)]
pub struct GraphRefusal {
    /// What was asked: method and path, without query.
    pub operation: Box<str>,
    /// The HTTP status.
    pub status: u16,
    /// Graph's word, such as `Forbidden`.
    pub code: Box<str>,
    /// Graph's sentence.
    pub message: Box<str>,
    /// Graph's id of the request, for whoever runs the tenant.
    pub request_id: Box<str>,
    /// Ours.
    pub client_request_id: Box<str>,
    /// When it was, by Graph's clock.
    pub date: Box<str>,
}

/// A request to Graph without the answer it was for.
#[derive(Debug, thiserror::Error)]
pub enum GraphError {
    /// Graph refused.
    #[error(transparent)]
    Refused(Box<GraphRefusal>),
    /// Graph wants fewer requests.
    #[error("{operation} must wait: Graph takes no such request for {} s", retry_after.as_secs().max(1))]
    RateLimited {
        /// What was asked.
        operation: Box<str>,
        /// How long to wait.
        retry_after: Duration,
    },
    /// There is no token to ask with.
    #[error("{operation} was not asked: there is no token")]
    Token {
        /// What was to be asked.
        operation: Box<str>,
        /// Why not.
        #[source]
        source: Arc<SignInError>,
    },
    /// No answer.
    #[error("{operation} failed")]
    Unreachable {
        /// What was asked.
        operation: Box<str>,
        /// Why.
        #[source]
        source: HttpError,
    },
    /// A link in an answer leads to another host; a token goes to none but
    /// Graph's.
    #[error(
        "{operation}: the answer's link leads to {origin}, which is not Graph; it was not followed"
    )]
    ForeignLink {
        /// What was asked.
        operation: Box<str>,
        /// Where it leads.
        origin: String,
    },
    /// An answer that is not what was asked for.
    #[error("{operation} brought an answer that cannot be read: {what}")]
    BadAnswer {
        /// What was asked.
        operation: Box<str>,
        /// What is wrong with it.
        what: String,
    },
    /// A list without an end.
    #[error("{operation} brought more than {pages} pages; the rest was not read")]
    TooManyPages {
        /// What was asked.
        operation: Box<str>,
        /// How many were read.
        pages: usize,
    },
    /// It was called off.
    #[error("{operation}: {}", reason.as_str())]
    Cancelled {
        /// What was asked.
        operation: Box<str>,
        /// Why.
        reason: CancelReason,
    },
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Body {
    error: Inner,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Inner {
    code: Option<String>,
    message: Option<String>,
    #[serde(alias = "innererror")]
    #[serde(rename = "innerError")]
    inner: Option<Ids>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Ids {
    #[serde(rename = "request-id")]
    request_id: Option<String>,
    #[serde(rename = "client-request-id")]
    client_request_id: Option<String>,
    date: Option<String>,
}

// === impl GraphRefusal ===

impl GraphRefusal {
    /// Reads an answer; one that is not JSON is a refusal without words.
    #[must_use]
    pub fn parse(operation: &str, status: u16, body: &[u8]) -> Self {
        let body: Body = serde_json::from_slice(body).unwrap_or_default();
        let inner = body.error.inner.unwrap_or_default();
        let short = |text: Option<String>| plain(&text.unwrap_or_default(), 80).into();
        Self {
            operation: operation.into(),
            status,
            code: short(body.error.code),
            message: plain(&body.error.message.unwrap_or_default(), MESSAGE_MAX).into(),
            request_id: short(inner.request_id),
            client_request_id: short(inner.client_request_id),
            date: short(inner.date),
        }
    }

    /// What it means.
    #[must_use]
    pub fn meaning(&self) -> GraphMeaning {
        match self.status {
            401 => GraphMeaning::Token,
            403 if self.is_about_licence() => GraphMeaning::NoLicence,
            403 => GraphMeaning::Forbidden,
            410 => GraphMeaning::Resync,
            _ if is_resync(&self.code) => GraphMeaning::Resync,
            404 => GraphMeaning::NotFound,
            409 | 412 => GraphMeaning::Conflict,
            413 => GraphMeaning::TooLarge,
            429 | 509 => GraphMeaning::Throttled,
            400..=499 => GraphMeaning::BadRequest,
            500..=599 => GraphMeaning::Server,
            _ => GraphMeaning::Other,
        }
    }

    /// A 403 has many reasons; only one that speaks of a licence is about one.
    fn is_about_licence(&self) -> bool {
        let text = self.message.to_ascii_lowercase();
        ["license", "licence", "not licensed", "premium"]
            .iter()
            .any(|word| text.contains(word))
    }

    /// Its class.
    #[must_use]
    pub fn class(&self) -> Class {
        match self.meaning() {
            GraphMeaning::Token => Class::TokenExpired,
            GraphMeaning::NoLicence => Class::TeamsNotLicensed,
            GraphMeaning::TooLarge => Class::MessageTooLong,
            GraphMeaning::Throttled => Class::RateLimit,
            GraphMeaning::NotFound if self.is_of_a_chat() => Class::ChatNotFound,
            GraphMeaning::NotFound if self.is_of_a_mailbox() => Class::ItemNotFound,
            _ if self.is_of_a_mailbox() => Class::Mailbox,
            GraphMeaning::Forbidden
            | GraphMeaning::NotFound
            | GraphMeaning::Conflict
            | GraphMeaning::Resync
            | GraphMeaning::BadRequest
            | GraphMeaning::Server
            | GraphMeaning::Other => Class::Teams,
        }
    }

    fn is_of_a_chat(&self) -> bool {
        self.operation.contains("/chats/")
    }

    /// Mail and calendars are one service.
    fn is_of_a_mailbox(&self) -> bool {
        let kinds = ["/messages", "/mailFolders", "/events", "/calendar"];
        !self.is_of_a_chat() && kinds.iter().any(|kind| self.operation.contains(kind))
    }

    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self.meaning() {
            GraphMeaning::Token => "sign in again",
            GraphMeaning::NoLicence => {
                "give the user a licence with Teams (and Exchange for mail), then wait until it is in force, which takes up to a day"
            }
            GraphMeaning::Forbidden => {
                "the scopes of the token do not allow it, or the tenant forbids it: `legation identity whoami` shows them"
            }
            GraphMeaning::NotFound if self.is_of_a_chat() => {
                "connect again: the chat is gone, or this user is not in it"
            }
            GraphMeaning::NotFound if self.is_of_a_mailbox() => {
                "list again what is there; an id of one account is none of another's, and a user without a licence has no mailbox"
            }
            GraphMeaning::NotFound => "see the ids in the settings of the account",
            GraphMeaning::Conflict => "read it again, then decide",
            GraphMeaning::TooLarge => "send less at once",
            GraphMeaning::Throttled => "wait as long as it says",
            GraphMeaning::Resync => "read everything anew",
            GraphMeaning::BadRequest => {
                "this is a mistake of this program: report it with the ids above"
            }
            GraphMeaning::Server | GraphMeaning::Other => {
                "try again later; give the ids above to Microsoft if it stays so"
            }
        }
    }
}

fn is_resync(code: &str) -> bool {
    ["syncStateNotFound", "resyncRequired", "SyncStateInvalid"]
        .iter()
        .any(|known| code.eq_ignore_ascii_case(known))
}

impl fmt::Display for GraphRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} was refused with status {}",
            self.operation, self.status
        )?;
        if !self.code.is_empty() {
            write!(f, ", {}", self.code)?;
        }
        if !self.message.is_empty() {
            write!(f, ": {}", self.message)?;
        }
        if !self.request_id.is_empty() {
            write!(f, " [request id {}", self.request_id)?;
            if !self.date.is_empty() {
                write!(f, ", {}", self.date)?;
            }
            f.write_str("]")?;
        }
        Ok(())
    }
}

impl fmt::Debug for GraphRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GraphRefusal({self})")
    }
}

impl std::error::Error for GraphRefusal {}

// === impl GraphError ===

impl GraphError {
    /// A failed request, as the failure of an operation.
    pub(crate) fn http(operation: &str, error: HttpError) -> Self {
        let operation = operation.into();
        match error {
            HttpError::Cancelled { reason } => Self::Cancelled { operation, reason },
            HttpError::Throttled { retry_after } => Self::RateLimited {
                operation,
                retry_after,
            },
            source => Self::Unreachable { operation, source },
        }
    }

    /// The refusal, if Graph did refuse.
    #[must_use]
    pub fn refusal(&self) -> Option<&GraphRefusal> {
        match self {
            Self::Refused(refusal) => Some(refusal),
            _ => None,
        }
    }

    /// What Graph meant, if it did refuse.
    #[must_use]
    pub fn meaning(&self) -> Option<GraphMeaning> {
        self.refusal().map(GraphRefusal::meaning)
    }

    /// Whether the answer was longer than is read; it would be the next time.
    pub(crate) fn is_answer_too_large(&self) -> bool {
        let too_large = |source: &HttpError| matches!(source, HttpError::TooLarge { .. });
        matches!(self, Self::Unreachable { source, .. } if too_large(source))
    }

    /// Whether it was an id that could not be read.
    pub(crate) fn is_about_an_id(&self) -> bool {
        let code = self.refusal().map_or("", |refusal| &refusal.code);
        [
            "ErrorInvalidIdMalformed",
            "ErrorInvalidIdEmpty",
            "ErrorInvalidId",
        ]
        .iter()
        .any(|known| code.eq_ignore_ascii_case(known))
    }

    /// Whether the request may have been carried out although no answer says so.
    #[must_use]
    pub fn is_ambiguous(&self) -> bool {
        match self {
            Self::Unreachable { source, .. } => source.is_ambiguous(),
            Self::Refused(refusal) => refusal.meaning() == GraphMeaning::Server,
            Self::BadAnswer { .. } | Self::Cancelled { .. } => true,
            Self::RateLimited { .. }
            | Self::Token { .. }
            | Self::ForeignLink { .. }
            | Self::TooManyPages { .. } => false,
        }
    }

    /// How long to wait before it is asked again, where that is known.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { retry_after, .. } => Some(*retry_after),
            Self::Token { source, .. } => source.retry_after(),
            _ => None,
        }
    }

    /// Its class.
    #[must_use]
    pub fn class(&self) -> Class {
        match self {
            Self::Refused(refusal) => refusal.class(),
            Self::RateLimited { .. } => Class::RateLimit,
            Self::Token { source, .. } => source.class(),
            Self::Unreachable { .. } => Class::Unreachable,
            Self::ForeignLink { .. } | Self::BadAnswer { .. } | Self::TooManyPages { .. } => {
                Class::Teams
            }
            Self::Cancelled { .. } => Class::Cancelled,
        }
    }

    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Refused(refusal) => refusal.hint().to_owned(),
            Self::RateLimited { retry_after, .. } => {
                format!("try again in {} s", retry_after.as_secs().max(1))
            }
            Self::Token { source, .. } => source.hint(),
            Self::Unreachable { source, .. } => source.hint().to_owned(),
            Self::ForeignLink { .. } => {
                "see that `graph` of the account is the base its answers name".to_owned()
            }
            Self::BadAnswer { .. } => "see that `graph` of the account is Graph".to_owned(),
            Self::TooManyPages { .. } => "ask for less".to_owned(),
            Self::Cancelled { .. } => "ask again when it is wanted".to_owned(),
        }
    }
}
