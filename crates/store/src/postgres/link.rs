//! One connection that comes back after it was lost.

use std::sync::Arc;
use std::time::{Duration, Instant};

use legation_core::{Clock as _, SystemClock};

use super::driver::Driver;
use super::migrate;
use super::session::{ServerSession, answer};
use super::url::DatabaseUrl;
use crate::{DatabaseError, OpenError};

/// PostgreSQL 14, the oldest that its makers still maintain.
const OLDEST: i64 = 140_000;

/// After a failure it is not tried again for so long, doubled each time.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// How often, 20 ms apart, the end of the connection before is waited for.
const ENDINGS: usize = 500;

/// A lock that somebody else holds is not waited for longer than this, and a
/// transaction of ours that hangs is ended by the server.
const SETTINGS: &str = "SET lock_timeout = '10s';
    SET idle_in_transaction_session_timeout = '60s';
    SET client_min_messages = 'warning';";

const SELF: &str = "SELECT pid, CAST(backend_start AS text) FROM pg_stat_activity
    WHERE pid = pg_backend_pid()";
const END: &str = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE pid = $1 AND CAST(backend_start AS text) = $2";
const PAUSE: &str = "SELECT pg_sleep(0.02)";

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    Write,
    Read,
}

#[derive(Debug)]
pub(super) struct Link {
    /// Dropped before the thread that drives it.
    session: Option<ServerSession>,
    driver: Arc<Driver>,
    url: DatabaseUrl,
    purpose: Use,
    /// The server's process behind the present connection, or the one before.
    process: Option<(i32, String)>,
    pause: Duration,
    not_before: Option<Instant>,
}

// === impl Link ===

impl Link {
    /// Connects. A writing link brings the schema up to date.
    pub(super) fn open(
        driver: Arc<Driver>,
        url: DatabaseUrl,
        purpose: Use,
    ) -> Result<Self, OpenError> {
        let mut link = Self {
            session: None,
            driver,
            url,
            purpose,
            process: None,
            pause: FIRST_PAUSE,
            not_before: None,
        };
        let mut session = link.connect()?;
        match purpose {
            Use::Write => migrate::migrate(&mut session, link.url.place())?,
            Use::Read => migrate::check(&mut session, link.url.place())?,
        }
        link.session = Some(session);
        Ok(link)
    }

    /// The connection, made anew if it was lost; whether it was.
    pub(super) fn session(&mut self) -> Result<(&mut ServerSession, bool), OpenError> {
        let lost = match &self.session {
            Some(session) => session.client.is_closed(),
            None => true,
        };
        if lost {
            self.session = None;
            if self.not_before.is_some_and(|time| SystemClock.now() < time) {
                return Err(OpenError::Away {
                    place: self.url.place().to_owned(),
                });
            }
            match self.connect() {
                Ok(session) => {
                    self.pause = FIRST_PAUSE;
                    self.not_before = None;
                    self.session = Some(session);
                }
                Err(error) => {
                    self.not_before = Some(SystemClock.now() + self.pause);
                    self.pause = (self.pause * 2).min(LONGEST_PAUSE);
                    return Err(error);
                }
            }
        }
        match &mut self.session {
            Some(session) => Ok((session, lost)),
            None => Err(OpenError::Away {
                place: self.url.place().to_owned(),
            }),
        }
    }

    /// Gives the connection up.
    pub(super) fn drop_session(&mut self) {
        self.session = None;
    }

    fn connect(&mut self) -> Result<ServerSession, OpenError> {
        let place = self.url.place().to_owned();
        let fail = |what| OpenError::postgres(what, &place);
        let client = self
            .driver
            .connect(&self.url)
            .map_err(fail("connecting to"))?;
        let mut session = ServerSession::new(client);
        session.batch(SETTINGS).map_err(fail("setting up"))?;
        let version = session
            .text("SELECT current_setting('server_version_num')")
            .map_err(fail("setting up"))?;
        if version.parse().is_ok_and(|version: i64| version < OLDEST) {
            return Err(OpenError::OldServer { place });
        }
        match self.purpose {
            Use::Read => session
                .batch("SET default_transaction_read_only = on")
                .map_err(fail("setting up"))?,
            Use::Write => {
                make_durable(&mut session, &place).map_err(fail("setting up"))?;
                self.end_the_one_before(&mut session)
                    .map_err(fail("ending a lost connection to"))?;
            }
        }
        Ok(session)
    }

    /// A connection that was lost here may live on at the server and commit
    /// what it was told to before. It must be over before anybody asks whether
    /// it did.
    fn end_the_one_before(&mut self, session: &mut ServerSession) -> Result<(), DatabaseError> {
        if let Some((pid, start)) = &self.process {
            let mut tries = 0;
            while !answer(session.client.query(END, &[pid, start]))?.is_empty() {
                tries += 1;
                if tries == ENDINGS {
                    return Err(DatabaseError::lost(
                        "the server does not end the connection before",
                    ));
                }
                answer(session.client.query(PAUSE, &[]))?;
            }
        }
        let row = answer(session.client.query_one(SELF, &[]))?;
        self.process = Some((row.try_get(0)?, row.try_get(1)?));
        Ok(())
    }
}

/// Sees to it that a commit is on disk when the server says it is done.
fn make_durable(session: &mut ServerSession, place: &str) -> Result<(), DatabaseError> {
    // The others wait for a standby as well, which is for the owner to choose.
    let commits = session.text("SELECT current_setting('synchronous_commit')")?;
    if commits == "off" {
        session.batch("SET synchronous_commit = on")?;
    }
    if session.text("SELECT current_setting('fsync')")? == "off" {
        tracing::warn!(
            database = place,
            "the server runs with fsync off: a power failure there may lose what was recorded"
        );
    }
    Ok(())
}
