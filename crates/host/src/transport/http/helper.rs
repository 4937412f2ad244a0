//! Headers that a command of the owner's prints (`headersHelper`), or that carry a token
//! of this machine's identity (`oidc`).
//!
//! The command runs when a connection is made, and again when the server refuses what it said:
//! a token that was good an hour ago is the usual reason. What it printed is kept as
//! long as the connection and is written nowhere; what it writes to stderr is dropped,
//! because scripts that trace themselves print their tokens there. It runs under a
//! guard like a server, so that nothing of it outlives its time or the hub.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use legation_core::Secret;
use legation_core::process::{Child, ChildSpec, SpawnError};
use legation_wire::json::{Limits, Object, Raw};
use tokio::io::AsyncReadExt as _;
use tokio::sync::Mutex;

use super::road::own_headers;
use crate::oidc::{self, IssueError, Issuer};

/// Most bytes that it may print.
const OUTPUT_MAX: u64 = 64 << 10;
/// How long it may take, as in Claude Code.
const LIMIT: Duration = Duration::from_secs(10);

/// Who says which headers to send, and what was said last.
pub struct HeadersHelper {
    origin: Origin,
    limit: Duration,
    held: Mutex<Option<Said>>,
}

/// Who says it.
enum Origin {
    /// What a command prints.
    Command(ChildSpec),
    /// A token of this machine's identity.
    Issuer(Issuer),
}

/// What it said.
#[derive(Clone)]
pub(super) struct Said {
    headers: Arc<HeaderMap>,
    /// Which of its runs said so.
    run: u64,
}

/// It did not say which headers to send; nothing was sent without them.
#[derive(Debug, thiserror::Error)]
pub enum HelperError {
    /// It was not started.
    #[error("headersHelper was not started")]
    Spawn(#[source] SpawnError),
    /// It took too long, and was ended.
    #[error("headersHelper took more than {} ms and was ended", after.as_millis())]
    Late {
        /// How long it may take.
        after: Duration,
    },
    /// It failed.
    #[error("headersHelper {exit}")]
    Failed {
        /// How it ended, as half a sentence.
        exit: String,
    },
    /// What it printed cannot be used. Nothing of it is told: it may be a token.
    #[error("headersHelper printed {why}")]
    Output {
        /// What it is instead.
        why: &'static str,
    },
    /// There is no token of this machine's identity.
    #[error("the server was asked for nothing")]
    Token(#[source] IssueError),
}

// === impl HeadersHelper ===

impl HeadersHelper {
    /// A command that has not run yet.
    #[must_use]
    pub fn new(child: ChildSpec) -> Self {
        Self {
            origin: Origin::Command(child),
            limit: LIMIT,
            held: Mutex::default(),
        }
    }

    /// An issuer of tokens, which has given the first.
    #[must_use]
    pub(crate) fn of_issuer(issuer: Issuer, first: &Secret) -> Self {
        let said = Said {
            headers: Arc::new(oidc::headers(first)),
            run: 0,
        };
        Self {
            origin: Origin::Issuer(issuer),
            // It has a limit of its own.
            limit: Duration::MAX,
            held: Mutex::new(Some(said)),
        }
    }

    /// The same with less time.
    #[cfg(test)]
    pub(in crate::transport) fn within(self, limit: Duration) -> Self {
        Self { limit, ..self }
    }

    /// What it says, without a run if it has said something. Whoever else asks
    /// meanwhile waits for the same run.
    pub(super) async fn said(&self) -> Result<Said, HelperError> {
        let mut held = self.held.lock().await;
        if let Some(said) = &*held {
            return Ok(said.clone());
        }
        let headers = Arc::new(self.run().await?);
        let said = Said { headers, run: 0 };
        *held = Some(said.clone());
        Ok(said)
    }

    /// What it says after the server refused `before`; `None` where that is the same.
    pub(super) async fn said_after(&self, before: &Said) -> Result<Option<Said>, HelperError> {
        let mut held = self.held.lock().await;
        if let Some(newer) = held.as_ref().filter(|held| held.run > before.run) {
            return Ok(Some(newer.clone()));
        }
        let headers = self.run().await?;
        let is_new = headers != *before.headers;
        let said = Said {
            headers: Arc::new(headers),
            run: before.run + 1,
        };
        *held = Some(said.clone());
        Ok(is_new.then_some(said))
    }

    async fn run(&self) -> Result<HeaderMap, HelperError> {
        let child = match &self.origin {
            Origin::Command(child) => child,
            Origin::Issuer(issuer) => return issuer.headers().await.map_err(HelperError::Token),
        };
        let late = HelperError::Late { after: self.limit };
        // Dropped before it is over, the command is killed with all that it started.
        let printed = tokio::time::timeout(self.limit, printed(child)).await;
        parse(printed.unwrap_or(Err(late))?)
    }
}

impl fmt::Debug for HeadersHelper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("HeadersHelper");
        match &self.origin {
            Origin::Command(child) => shown.field("child", child),
            Origin::Issuer(issuer) => shown.field("issuer", issuer),
        };
        shown.finish_non_exhaustive()
    }
}

// === impl Said ===

impl Said {
    /// The lines of a request that has these headers, and of `given` those that they do
    /// not replace.
    pub(super) fn lines(&self, given: &[(HeaderName, HeaderValue)]) -> Vec<u8> {
        let said = self.headers.iter();
        let said = said.map(|(name, value)| (name.clone(), value.clone()));
        own_headers(given.iter().cloned().chain(said))
    }
}

// === impl HelperError ===

impl HelperError {
    /// What the server's owner can do about it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Spawn(source) => source.hint(),
            Self::Token(source) => source.hint(),
            Self::Late { .. } | Self::Failed { .. } => {
                "run the command of the server's `headersHelper` yourself to see why"
            }
            Self::Output { .. } => {
                "it has to print one JSON object of texts, such as {\"Authorization\": \"Bearer …\"}, and nothing else"
            }
        }
    }
}

/// What a command prints until it ends, with success.
async fn printed(command: &ChildSpec) -> Result<Vec<u8>, HelperError> {
    let mut child = Child::spawn(command).map_err(HelperError::Spawn)?;
    drop(child.take_stdin());
    let (stdout, stderr) = (child.take_stdout(), child.take_stderr());
    let read = async {
        let mut text = Vec::new();
        if let Some(stdout) = stdout {
            // A pipe that breaks has ended; how the command ended says the rest.
            let _broken = stdout.take(OUTPUT_MAX + 1).read_to_end(&mut text).await;
        }
        match text.len() as u64 > OUTPUT_MAX {
            true => Err(HelperError::Output {
                why: "more than 64 KiB",
            }),
            false => Ok(text),
        }
    };
    let drain = async {
        if let Some(mut stderr) = stderr {
            let _broken = tokio::io::copy(&mut stderr, &mut tokio::io::sink()).await;
        }
        Ok(())
    };
    let ended = async { Ok(child.wait().await) };
    let (text, (), exit) = tokio::try_join!(read, drain, ended)?;
    match exit.success() {
        true => Ok(text),
        false => Err(HelperError::Failed { exit: exit.text }),
    }
}

/// A JSON object of texts, as headers.
fn parse(text: Vec<u8>) -> Result<HeaderMap, HelperError> {
    let wrong = |why| HelperError::Output { why };
    let text = Bytes::from(text.trim_ascii().to_vec());
    let raw = Raw::parse(text, &Limits::UPSTREAM).ok();
    let members: Option<Object> = raw.as_ref().and_then(Raw::to_object);
    let members = members.ok_or_else(|| wrong("no JSON object"))?;
    let mut headers = HeaderMap::new();
    for (name, value) in members.iter() {
        let name = HeaderName::from_bytes(name.as_bytes());
        let name = name.map_err(|_| wrong("a name that no header can have"))?;
        let value = value.to_str();
        let value = value.ok_or_else(|| wrong("a header whose value is no text"))?;
        let value = HeaderValue::from_str(&value);
        let mut value = value.map_err(|_| wrong("a value that no header can have"))?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}
