//! The two copies: the client's lines to the hub, the hub's lines to the client.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use legation_core::hello::Hello;
use legation_core::{Home, SharedClock};

use crate::connect::{Connected, Connector, HubStarter};
use crate::memory::{FromClient, Memory};

/// How long to wait for a hub that may be restarting before starting another.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long calls in flight may still take once the client has closed its end.
const LAST_ANSWERS: Duration = Duration::from_secs(30);
/// How often a bridge whose hub was stopped looks for the next one.
const LOOK_AGAIN: Duration = Duration::from_millis(250);
/// How soon after a failed attempt the hub is tried again.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// What a bridge needs.
pub struct BridgeParts {
    /// The data directory.
    pub home: Home,
    /// Who this bridge is to the hub.
    pub hello: Hello,
    /// Starts a hub; absent where that is not wanted.
    pub starter: Option<HubStarter>,
    /// The time.
    pub clock: SharedClock,
    /// Where the client's lines come from.
    pub input: Box<dyn Read + Send>,
    /// Where its answers go.
    pub output: Box<dyn Write + Send>,
    /// Where people read: standard error.
    pub talk: Box<dyn Write + Send>,
}

/// The bridge could not go on.
#[derive(Debug, thiserror::Error)]
pub enum BridgeError {
    /// The client's lines cannot be read.
    #[error("standard input cannot be read")]
    Input(#[source] io::Error),
}

struct Shared {
    connector: Connector,
    state: Mutex<State>,
    changed: Condvar,
    output: Mutex<Box<dyn Write + Send>>,
    talk: Mutex<Box<dyn Write + Send>>,
}

struct State {
    memory: Memory,
    hub: Hub,
    client_gone: bool,
    /// A line of the hub's is noted but not written yet.
    writing: bool,
}

enum Hub {
    Connecting,
    /// Somebody stopped it, or none runs yet; nothing is started until the client
    /// speaks.
    Stopped,
    Up(UnixStream),
    /// Not reachable: what was wrong, what to do, and when it was tried.
    Down {
        message: String,
        hint: String,
        tried: std::time::Instant,
    },
}

/// Runs until the client closes its end and its last answers are out.
///
/// # Errors
/// When standard input cannot be read.
pub fn run(parts: BridgeParts) -> Result<(), BridgeError> {
    let channel = parts.hello.channel;
    let shared = Arc::new(Shared {
        connector: Connector {
            home: parts.home,
            hello: parts.hello,
            starter: parts.starter,
            clock: parts.clock,
            was_reached: AtomicBool::new(false),
        },
        state: Mutex::new(State {
            memory: Memory::new(channel),
            hub: Hub::Connecting,
            client_gone: false,
            writing: false,
        }),
        changed: Condvar::new(),
        output: Mutex::new(parts.output),
        talk: Mutex::new(parts.talk),
    });
    let other = Arc::clone(&shared);
    let hub_side = std::thread::spawn(move || other.hub_side());
    let mut input = BufReader::with_capacity(64 * 1024, parts.input);
    let mut line = Vec::new();
    let end = loop {
        line.clear();
        match input.read_until(b'\n', &mut line) {
            Ok(0) => break Ok(()),
            Ok(_) => shared.client_line(&line),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => break Err(BridgeError::Input(error)),
        }
    };
    if shared.client_gone() {
        // A panic on the other thread has been printed; there is nothing left to do here.
        drop(hub_side.join());
    }
    end
}

// === impl BridgeParts ===

impl std::fmt::Debug for BridgeParts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BridgeParts")
            .field("home", &self.home)
            .field("hello", &self.hello)
            .finish_non_exhaustive()
    }
}

// === impl Shared ===

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A line of the client's, on the thread that reads them.
    fn client_line(&self, line: &[u8]) {
        if line.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        // What is not UTF-8 is not noted, only passed on: the hub says what is wrong with it.
        let text = std::str::from_utf8(line).unwrap_or("");
        let mut state = self.state();
        while matches!(state.hub, Hub::Connecting | Hub::Stopped) {
            if matches!(state.hub, Hub::Stopped) {
                state.hub = Hub::Connecting;
                self.changed.notify_all();
            }
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        if let FromClient::Answer(answer) = state.memory.note_client(text) {
            drop(state);
            self.to_client(&[answer]);
            return;
        }
        let answer = match &mut state.hub {
            Hub::Up(stream) => {
                let mut whole = Vec::new();
                let bytes = if line.ends_with(b"\n") {
                    line
                } else {
                    whole.extend_from_slice(line);
                    whole.push(b'\n');
                    &whole
                };
                // When this fails the reader of the socket sees the end too, and reports what was lost.
                drop(stream.write_all(bytes));
                None
            }
            Hub::Down {
                message,
                hint,
                tried,
            } => {
                let (message, hint) = (message.clone(), hint.clone());
                if self.connector.clock.now().duration_since(*tried) >= RETRY_AFTER {
                    state.hub = Hub::Connecting;
                    self.changed.notify_all();
                }
                state.memory.unreachable(text, &message, &hint)
            }
            Hub::Connecting | Hub::Stopped => None,
        };
        drop(state);
        self.to_client(answer.as_slice());
    }

    /// Lets the last answers out; whether the other thread will end by itself.
    /// One that is still looking for a hub is not waited for: nothing is in
    /// flight then.
    fn client_gone(&self) -> bool {
        let mut state = self.state();
        state.client_gone = true;
        let until = self.connector.clock.now() + LAST_ANSWERS;
        while matches!(state.hub, Hub::Up(_)) && (state.writing || !state.memory.is_idle()) {
            let left = until.saturating_duration_since(self.connector.clock.now());
            if left.is_zero() {
                break;
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        self.changed.notify_all();
        match &state.hub {
            Hub::Up(stream) => {
                // A socket that is closed already needs no closing.
                drop(stream.shutdown(Shutdown::Both));
                true
            }
            Hub::Down { .. } | Hub::Stopped => true,
            Hub::Connecting => false,
        }
    }

    /// Connects, copies, and connects again, until the client is gone.
    fn hub_side(&self) {
        let mut restarted = false;
        loop {
            let patience = if restarted { PATIENCE } else { Duration::ZERO };
            let found = if restarted {
                self.next_hub()
            } else {
                self.first_hub()
            };
            if self.state().client_gone {
                return;
            }
            match found.map_or_else(|| self.connector.connect(patience), Ok) {
                Ok(connected) => {
                    let reader = self.up(connected, restarted);
                    self.copy(reader);
                    restarted = true;
                }
                Err(error) => {
                    let message = legation_core::error::chain(&error);
                    self.say(&format!(
                        "legation bridge: {message}\nhint: {}",
                        error.hint()
                    ));
                    let mut state = self.state();
                    state.hub = Hub::Down {
                        message,
                        hint: error.hint(),
                        tried: self.connector.clock.now(),
                    };
                    self.changed.notify_all();
                    drop(state);
                }
            }
            let mut state = self.state();
            while matches!(state.hub, Hub::Down { .. }) && !state.client_gone {
                state = self
                    .changed
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner);
            }
            if state.client_gone {
                return;
            }
        }
    }

    /// A hub that runs, or none once the client wants one: a client that leaves
    /// without a word leaves no hub behind.
    fn first_hub(&self) -> Option<Connected> {
        self.connector.look().or_else(|| self.wanted_hub())
    }

    /// Waits, after a hub that was stopped, for the next one or for the client to
    /// want one. Starting another at once would make it impossible to stop a hub
    /// while an agent runs.
    fn next_hub(&self) -> Option<Connected> {
        if self.connector.stopped() {
            self.wanted_hub()
        } else {
            None
        }
    }

    /// Waits for a hub that somebody else starts, or for the client to speak.
    fn wanted_hub(&self) -> Option<Connected> {
        let mut state = self.state();
        if state.client_gone {
            return None;
        }
        state.hub = Hub::Stopped;
        self.changed.notify_all();
        while matches!(state.hub, Hub::Stopped) && !state.client_gone {
            let waited = self.changed.wait_timeout(state, LOOK_AGAIN);
            drop(waited.unwrap_or_else(PoisonError::into_inner));
            let found = self.connector.look();
            state = self.state();
            if found.is_some() {
                state.hub = Hub::Connecting;
                return found;
            }
        }
        None
    }

    fn up(&self, connected: Connected, restarted: bool) -> BufReader<UnixStream> {
        let Connected {
            reader,
            mut writer,
            welcome,
        } = connected;
        if welcome.version != self.connector.hello.version {
            self.say(&format!(
                "legation bridge: this is version {}, the running hub is {}\nhint: stop the hub; the next bridge starts the new one",
                self.connector.hello.version, welcome.version
            ));
        }
        let mut state = self.state();
        for line in state.memory.redo() {
            // A hub that is gone again is seen by the reader.
            drop(writeln!(writer, "{line}"));
        }
        let news = if restarted {
            state.memory.news()
        } else {
            Vec::new()
        };
        state.hub = Hub::Up(writer);
        self.changed.notify_all();
        drop(state);
        self.to_client(&news);
        reader
    }

    /// The hub's lines to the client, until the hub is gone.
    fn copy(&self, mut reader: BufReader<UnixStream>) {
        let mut line = Vec::new();
        loop {
            line.clear();
            match reader.read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => break,
                Ok(_) => {}
            }
            let mut state = self.state();
            let shown = std::str::from_utf8(&line).map_or(true, |text| state.memory.note_hub(text));
            state.writing = true;
            drop(state);
            if shown {
                let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
                // A client that closed its ears is gone; its closing of our input ends the bridge.
                drop(output.write_all(&line).and_then(|()| output.flush()));
            }
            let mut state = self.state();
            state.writing = false;
            if state.client_gone {
                self.changed.notify_all();
            }
        }
        let mut state = self.state();
        state.hub = Hub::Connecting;
        let lost = state.memory.lost();
        self.changed.notify_all();
        drop(state);
        self.to_client(&lost);
    }

    fn to_client(&self, lines: &[String]) {
        if lines.is_empty() {
            return;
        }
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        for line in lines {
            drop(writeln!(output, "{line}"));
        }
        drop(output.flush());
    }

    fn say(&self, text: &str) {
        let mut talk = self.talk.lock().unwrap_or_else(PoisonError::into_inner);
        drop(writeln!(talk, "{text}"));
    }
}
