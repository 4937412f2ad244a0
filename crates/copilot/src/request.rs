//! Who is let in: the checks of a request in their order, each before the next costs anything.
//!
//! What was not signed by GitHub is not even parsed, and what was is asked after at GitHub only once.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use legation_core::{Cancel, Secret, SharedClock};

use crate::caller::{CallerError, Callers};
use crate::github::Github;
use crate::hub::{Asker, Business, Hub, Requested, Work};
use crate::keys::{KeyError, Keys};
use crate::payload::Payload;
use crate::replay::{First, Seen};
use crate::settings::CopilotSettings;
use crate::signature::{Bad, Claim};

/// The field with the user's token.
const TOKEN: &str = "x-github-token";

/// The checks.
#[derive(Debug)]
pub(crate) struct Door {
    pub(crate) hub: Arc<dyn Hub>,
    keys: Keys,
    callers: Callers,
    seen: Seen,
    clock: SharedClock,
}

/// A request that may be answered.
#[derive(Debug)]
pub(crate) struct LetIn {
    pub(crate) asker: Asker,
    pub(crate) payload: Payload,
    pub(crate) businesses: Vec<Business>,
}

/// A request that is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shut {
    pub(crate) status: StatusCode,
    /// The reason, as a word.
    pub(crate) code: &'static str,
    pub(crate) message: String,
}

// === impl Door ===

impl Door {
    pub(crate) fn new(settings: &CopilotSettings, hub: Arc<dyn Hub>, clock: SharedClock) -> Self {
        let github = Arc::new(Github::new(&settings.github, settings.github_ca.clone()));
        Self {
            hub,
            keys: Keys::new(Arc::clone(&github), clock.clone()),
            callers: Callers::new(github, clock.clone()),
            seen: Seen::default(),
            clock,
        }
    }

    /// Lets a request in, or says why not.
    pub(crate) async fn open(
        &self,
        headers: &HeaderMap,
        body: &Bytes,
        cancel: Cancel,
    ) -> Result<LetIn, Shut> {
        let claim = Claim::of(headers)?;
        let token = token(headers)?;
        let point = self.keys.get(&claim.key).await?;
        let mark = claim.check(&point, body)?;
        match self.seen.note(mark, self.clock.now()) {
            First::Yes => {}
            First::No => return Err(Bad::Replayed.into()),
            First::Full => return Err(Shut::busy("too many requests are remembered")),
        }
        match self.hub.first_time(mark.0).await {
            Ok(true) => {}
            Ok(false) => return Err(Bad::Replayed.into()),
            Err(error) => return Err(Shut::busy(&error.to_string())),
        }
        let payload = Payload::read(body).map_err(|_| Shut {
            status: StatusCode::BAD_REQUEST,
            code: "BAD_REQUEST",
            message: "the body is not what GitHub sends".to_owned(),
        })?;
        let login = self.callers.login(&token).await?;
        let thread = payload.thread();
        let Some(businesses) = self.hub.businesses(&login).await else {
            return Err(self.not_let_in(login, thread).await);
        };
        let asker = Asker {
            login,
            thread,
            token,
            cancel,
        };
        Ok(LetIn {
            asker,
            payload,
            businesses,
        })
    }

    /// A person whom the owner's list does not have. Who is on it is nobody's business.
    async fn not_let_in(&self, login: String, thread: Option<String>) -> Shut {
        const CODE: &str = "MISSING_OR_INVALID_AUTH";
        let requested = Requested {
            login,
            thread,
            intent: "none",
            entity: None,
            provider: None,
            refused: Some(CODE.to_owned()),
            work: Work::NotLetIn,
        };
        match self.hub.record(requested).await {
            Ok(()) => Shut {
                status: StatusCode::FORBIDDEN,
                code: CODE,
                message: "this user is not let in; nothing was done".to_owned(),
            },
            Err(error) => Shut::busy(&error.to_string()),
        }
    }
}

/// The user's token, of which there is one.
fn token(headers: &HeaderMap) -> Result<Secret, CallerError> {
    let mut all = headers.get_all(TOKEN).into_iter();
    match (all.next(), all.next()) {
        (Some(value), None) => match value.to_str() {
            Ok(text) if !text.trim().is_empty() => Ok(Secret::new(text.trim())),
            Ok(_) | Err(_) => Err(CallerError::NoToken),
        },
        _ => Err(CallerError::NoToken),
    }
}

// === impl Shut ===

impl Shut {
    pub(crate) fn of(status: StatusCode, code: &'static str, message: &str) -> Self {
        Self {
            status,
            code,
            message: message.to_owned(),
        }
    }

    fn busy(message: &str) -> Self {
        Self {
            status: StatusCode::SERVICE_UNAVAILABLE,
            code: "LEDGER_UNAVAILABLE",
            message: message.to_owned(),
        }
    }

    fn unauthorized(message: String) -> Self {
        Self {
            status: StatusCode::UNAUTHORIZED,
            code: "MISSING_OR_INVALID_AUTH",
            message: format!("{message}; nothing was read"),
        }
    }

    fn unavailable(message: String) -> Self {
        Self {
            status: StatusCode::SERVICE_UNAVAILABLE,
            code: "MISSING_OR_INVALID_AUTH",
            message: format!("{message}; nothing was done"),
        }
    }
}

impl From<Bad> for Shut {
    fn from(bad: Bad) -> Self {
        Self::unauthorized(bad.to_string())
    }
}

impl From<KeyError> for Shut {
    fn from(error: KeyError) -> Self {
        match error {
            KeyError::Unknown(unknown) => Self::unauthorized(unknown.to_string()),
            KeyError::Unavailable => Self::unavailable(error.to_string()),
        }
    }
}

impl From<CallerError> for Shut {
    fn from(error: CallerError) -> Self {
        match error {
            CallerError::NoToken | CallerError::Refused => Self::unauthorized(error.to_string()),
            CallerError::Unknown(_) => Self::unavailable(error.to_string()),
        }
    }
}
