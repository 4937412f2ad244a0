//! Servers that offer events (SEP-3415), to be asked for them by the hub itself.
//!
//! Only what everybody shares is asked: events of one client's own instance, or of
//! a folder's, are not for all.

use std::sync::Arc;
use std::time::Duration;

use legation_config::Instance as Mode;
use legation_core::error::chain;
use legation_core::{EntityId, ServerName};
use legation_wire::caps::ServerCapabilities;
use legation_wire::codes;
use legation_wire::json::{Object, Raw};

use crate::host::Host;
use crate::instance::{Key, Live};
use crate::port::{self, AskError};
use crate::server::Server;

/// How long one answer may take.
const ANSWER_MAX: Duration = Duration::from_secs(30);

/// A connection to a server that offers events.
#[derive(Debug, Clone)]
pub struct Feed {
    server: Arc<Server>,
    live: Arc<Live>,
}

/// What a server can be asked here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FeedAsk {
    /// `events/list`.
    List,
    /// `events/poll`.
    Poll,
}

/// Why a server told nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoFeed {
    /// It does not take what it was asked with.
    #[error("{why}")]
    Params {
        /// What it says of it.
        why: String,
    },
    /// It gave no answer, or another error.
    #[error("{why}")]
    Answer {
        /// Which.
        why: String,
    },
}

// === impl Host ===

impl Host {
    /// The connected servers that offer events and whose owner wants them.
    #[must_use]
    pub fn feeds(&self) -> Vec<Feed> {
        let roster = self.inner.roster.load();
        let servers = roster.all().iter();
        servers.filter_map(Feed::of).collect()
    }
}

// === impl Feed ===

impl Feed {
    fn of(server: &Arc<Server>) -> Option<Self> {
        let spec = &server.spec;
        let shared = spec.instance == Mode::Shared && spec.trusted;
        if spec.source.trusted_folder().is_some() || !shared || spec.events.is_empty() {
            return None;
        }
        let live = server.running(&Key::Shared)?.live()?;
        let about = &live.about;
        let declared = about.capabilities.to_raw();
        let offers = about.revision.is_modern()
            && ServerCapabilities::from_raw(&declared, about.revision).events();
        offers.then(|| Self {
            server: Arc::clone(server),
            live,
        })
    }

    /// Whose events.
    #[must_use]
    pub fn server(&self) -> &ServerName {
        &self.server.spec.name
    }

    /// Whose data they are.
    #[must_use]
    pub fn entity(&self) -> Option<&EntityId> {
        self.server.spec.entity.as_ref()
    }

    /// Whether the owner wants events of this name.
    #[must_use]
    pub fn wants(&self, name: &str) -> bool {
        crate::glob::any(&self.server.spec.events, name)
    }

    /// Whether the connection is still the server's.
    #[must_use]
    pub fn is_current(&self) -> bool {
        let running = self.server.running(&Key::Shared);
        let live = running.and_then(|instance| instance.live());
        live.is_some_and(|live| Arc::ptr_eq(&live, &self.live))
    }

    /// Asks the server something and waits for its answer.
    ///
    /// # Errors
    /// See [`NoFeed`].
    pub async fn ask(&self, ask: FeedAsk, params: Object) -> Result<Raw, NoFeed> {
        let method = match ask {
            FeedAsk::List => "events/list",
            FeedAsk::Poll => "events/poll",
        };
        let answer = port::request(&*self.live.port, method, params);
        match tokio::time::timeout(ANSWER_MAX, answer).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(AskError::Refused(error))) if error.code == codes::INVALID_PARAMS => {
                let why = chain(&AskError::Refused(error));
                Err(NoFeed::Params { why })
            }
            Ok(Err(error)) => Err(NoFeed::Answer { why: chain(&error) }),
            Err(_) => Err(NoFeed::Answer {
                why: format!("no answer within {} s", ANSWER_MAX.as_secs()),
            }),
        }
    }
}
