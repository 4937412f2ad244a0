//! Reaching the hub, and starting it when none runs.

use std::fs::OpenOptions;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use legation_core::hello::{HELLO_VERSION, Hello, HelloAnswer, HelloLine, Rejection, Welcome};
use legation_core::{Home, SharedClock};

/// How long a hub that was started may take to answer.
const START_LIMIT: Duration = Duration::from_secs(20);
/// How long the hub may take to answer a hello.
const HELLO_LIMIT: Duration = Duration::from_secs(10);
/// How long another hub may take that kept the one started here from running.
const OTHER_HUB: Duration = Duration::from_millis(500);
/// Pause between two looks at the socket while the hub starts.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// A hub that was started and may have ended since: its last words, once it has.
pub type Started = Box<dyn FnMut() -> Option<String> + Send>;

/// Starts a hub in the background; returns once it was started, not once it answers.
pub type HubStarter = Box<dyn Fn() -> io::Result<Started> + Send + Sync>;

/// The hub could not be reached.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The socket is there but cannot be used.
    #[error("the hub's socket {} cannot be opened; nothing was sent", path.display())]
    Socket {
        /// Which socket.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// No hub runs, and none could be started.
    #[error("no hub runs and none could be started; nothing was sent")]
    Start(#[source] io::Error),
    /// A hub was started and did not answer.
    #[error("the hub was started but did not answer within {} s; nothing was sent", START_LIMIT.as_secs())]
    Silent,
    /// A hub was started and ended at once.
    #[error("the hub was started but ended again; nothing was sent: {words}")]
    Ended {
        /// The last thing it said.
        words: String,
    },
    /// The hub said no.
    #[error("{}", .0.message)]
    Rejected(Rejection),
    /// What answered is no hub.
    #[error("the other end of {} is no hub of this version", path.display())]
    Stranger {
        /// Which socket.
        path: PathBuf,
        /// What went wrong in the exchange.
        #[source]
        source: io::Error,
    },
}

/// A connection whose greeting is over.
#[derive(Debug)]
pub(crate) struct Connected {
    pub(crate) reader: BufReader<UnixStream>,
    pub(crate) writer: UnixStream,
    pub(crate) welcome: Welcome,
}

/// What it takes to reach the hub.
pub(crate) struct Connector {
    pub(crate) home: Home,
    pub(crate) hello: Hello,
    pub(crate) starter: Option<HubStarter>,
    pub(crate) clock: SharedClock,
    /// Whether a hub was reached before.
    pub(crate) was_reached: AtomicBool,
}

// === impl ConnectError ===

impl ConnectError {
    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Socket { path, .. } => {
                format!("see that {} is yours and closed to others", path.display())
            }
            Self::Start(_) | Self::Silent | Self::Ended { .. } => {
                "run `legation serve` in a terminal and read what it says, or `legation doctor`"
                    .to_owned()
            }
            Self::Rejected(rejection) => rejection.hint.clone(),
            Self::Stranger { .. } => {
                "stop the old hub and let this version start its own".to_owned()
            }
        }
    }
}

// === impl Connector ===

impl Connector {
    /// Connects, starting a hub if none answers. `patience` is how long to wait
    /// for one that may be restarting before a new one is started.
    pub(crate) fn connect(&self, patience: Duration) -> Result<Connected, ConnectError> {
        if let Some(connected) = self.try_connect()? {
            return Ok(connected);
        }
        if let Some(connected) = self.wait(patience, &mut || None)? {
            return Ok(connected);
        }
        let Some(starter) = &self.starter else {
            return Err(ConnectError::Start(io::Error::other(
                "starting one was not asked for",
            )));
        };
        self.home.create().map_err(|error| {
            ConnectError::Start(io::Error::other(legation_core::error::chain(&error)))
        })?;
        let lock = self.starter_lock().map_err(ConnectError::Start)?;
        // Another bridge may have started it while this one waited for its turn.
        if let Some(connected) = self.try_connect()? {
            return Ok(connected);
        }
        let mut started = starter().map_err(ConnectError::Start)?;
        let connected = self.wait(START_LIMIT, &mut started)?;
        drop(lock);
        connected.ok_or(ConnectError::Silent)
    }

    /// Whether the last hub ended on purpose: it took its socket away, which one
    /// that was killed cannot do.
    pub(crate) fn stopped(&self) -> bool {
        matches!(self.home.socket().try_exists(), Ok(false))
    }

    /// A hub that runs already, if one does.
    pub(crate) fn look(&self) -> Option<Connected> {
        // What is wrong with it is said when the client wants something of it.
        self.try_connect().ok().flatten()
    }

    /// Looks for a hub until one answers, `ended` has last words, or time is up.
    fn wait(
        &self,
        limit: Duration,
        ended: &mut dyn FnMut() -> Option<String>,
    ) -> Result<Option<Connected>, ConnectError> {
        let until = self.clock.now() + limit;
        let mut words = None;
        let mut ended_at = None;
        while self.clock.now() < until {
            if let Some(connected) = self.try_connect()? {
                return Ok(Some(connected));
            }
            words = words.or_else(&mut *ended);
            // One that ended because another hub is just starting leaves that one to be found.
            if let Some(words) = &words {
                let since = *ended_at.get_or_insert_with(|| self.clock.now());
                if self.clock.now().duration_since(since) >= OTHER_HUB {
                    return Err(ConnectError::Ended {
                        words: words.clone(),
                    });
                }
            }
            std::thread::sleep(LOOK_EVERY);
        }
        Ok(None)
    }

    fn try_connect(&self) -> Result<Option<Connected>, ConnectError> {
        let path = self.home.socket();
        match UnixStream::connect(&path) {
            Ok(stream) => {
                let again = self.was_reached.load(Ordering::Relaxed);
                let hello = Hello {
                    again,
                    ..self.hello.clone()
                };
                let greeted = greet(stream, hello, &path)?;
                self.was_reached
                    .store(again || greeted.is_some(), Ordering::Relaxed);
                Ok(greeted)
            }
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused
                ) =>
            {
                Ok(None)
            }
            Err(source) => Err(ConnectError::Socket { path, source }),
        }
    }

    fn starter_lock(&self) -> io::Result<std::fs::File> {
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(self.home.root().join("start.lock"))?;
        file.lock()?;
        Ok(file)
    }
}

/// `None` when the hub went away during the greeting: it is stopping.
fn greet(stream: UnixStream, hello: Hello, path: &Path) -> Result<Option<Connected>, ConnectError> {
    let stranger = |source| ConnectError::Stranger {
        path: path.to_owned(),
        source,
    };
    let exchange =
        move || -> io::Result<Option<(BufReader<UnixStream>, UnixStream, HelloAnswer)>> {
            stream.set_read_timeout(Some(HELLO_LIMIT))?;
            let mut writer = stream.try_clone()?;
            let line = HelloLine {
                legation: HELLO_VERSION,
                hello,
            };
            let mut text = serde_json::to_vec(&line)?;
            text.push(b'\n');
            writer.write_all(&text)?;
            let mut reader = BufReader::with_capacity(16 * 1024, stream);
            let mut answer = String::new();
            if reader.read_line(&mut answer)? == 0 {
                return Ok(None);
            }
            reader.get_ref().set_read_timeout(None)?;
            Ok(Some((reader, writer, serde_json::from_str(&answer)?)))
        };
    let (reader, writer, answer) = match exchange() {
        Ok(Some(parts)) => parts,
        Ok(None) => return Ok(None),
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset
            ) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(stranger(error)),
    };
    if let Some(rejection) = answer.error {
        return Err(ConnectError::Rejected(rejection));
    }
    match answer.ok {
        Some(welcome) => Ok(Some(Connected {
            reader,
            writer,
            welcome,
        })),
        None => Err(stranger(io::Error::other(
            "its greeting says neither yes nor no",
        ))),
    }
}
