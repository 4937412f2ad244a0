//! What a connection remembers of its last request.
//!
//! A client sends the same head with one message after the other, but for how long they are. To read it, to find out
//! whose it is and to look its session up costs a twentieth of the time of a call, and comes to the same as long as the
//! credentials are the same and the session is open.

use std::sync::{Arc, OnceLock, Weak};

use legation_gate::Endpoint;

use super::connection::Connection;
use super::guard::Shown;
use super::head::Head;
use super::mcp::Said;
use super::route::{self, Next, PostTo, Posting};
use crate::session::Session;

/// Longest head that is remembered, in bytes: an idle connection costs little.
const KEPT_MAX: usize = 2 * 1024;

/// A request's head, and what it led to.
#[derive(Debug, Default)]
pub(super) struct Known {
    pub(super) head: Head,
    led: Option<Led>,
    /// The session that the head names.
    pub(super) session: LastSession,
}

/// The session that a head was found to name, for as long as it leads to the same.
#[derive(Debug, Default)]
pub(super) struct LastSession(OnceLock<Weak<Session>>);

/// Whose request it was and where to, told by its head alone.
#[derive(Debug)]
struct Led {
    /// Of the credentials that this was told by.
    edition: u64,
    shown: Shown,
    endpoint: Endpoint,
    said: Said,
}

// === impl Known ===

impl Known {
    /// How long the head at the beginning of `text` is, if it is the last one again.
    pub(super) fn again(&mut self, text: &[u8]) -> Option<usize> {
        self.led.as_ref()?;
        self.head.again(text)
    }

    /// Room for the head of another request.
    pub(super) fn anew(&mut self) -> &mut Head {
        self.forget();
        self.head.clear();
        &mut self.head
    }

    /// Whether there is anything to be had of it for the next request.
    pub(super) fn is_of_use(&self) -> bool {
        self.led.is_some()
    }

    /// Looks at the head.
    pub(super) fn begin(&mut self, connection: &Arc<Connection>) -> Next {
        // Looked at before the credentials are: what they come to is never older than this says.
        let edition = connection.shared.authenticator.edition();
        let led = self.led.as_ref();
        if let Some(led) = led.filter(|led| Some(led.edition) == edition) {
            let to = PostTo::Mcp(led.endpoint.clone(), led.said);
            return Next::Body(Posting::Client(led.shown.clone(), to));
        }
        self.forget();
        let next = route::begin(connection, &self.head);
        if let (Some(edition), Next::Body(Posting::Client(shown, to))) = (edition, &next)
            && let PostTo::Mcp(endpoint, said) = to
            && shown.until.is_none()
            && self.head.length() <= KEPT_MAX
        {
            self.led = Some(Led {
                edition,
                shown: shown.clone(),
                endpoint: endpoint.clone(),
                said: *said,
            });
        }
        next
    }

    fn forget(&mut self) {
        self.led = None;
        self.session = LastSession::default();
    }
}

// === impl LastSession ===

impl LastSession {
    /// The session, if it was found and is open still.
    pub(super) fn find(&self) -> Option<Arc<Session>> {
        let session = self.0.get()?.upgrade()?;
        (!session.is_closed()).then_some(session)
    }

    /// Keeps what was found.
    pub(super) fn keep(&self, session: &Arc<Session>) {
        self.0.get_or_init(|| Arc::downgrade(session));
    }
}
