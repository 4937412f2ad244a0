//! The client: a blocking connection to the hub's socket.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::Shutdown;
use std::ops::ControlFlow;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use legation_core::Home;
use legation_core::hello::{
    COMMAND_SEAT, HELLO_VERSION, Hello, HelloAnswer, HelloLine, Mode, Rejection, TERMINAL_SEAT,
    Welcome,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::conversation::{self, Event, Follow};
use crate::{Done, Request};

/// How long the hub may take to answer a hello.
const HELLO_LIMIT: Duration = Duration::from_secs(10);

/// A connection to the running hub.
#[derive(Debug)]
pub struct AdminClient {
    reader: BufReader<UnixStream>,
    writer: UnixStream,
    welcome: Welcome,
    next_id: u64,
}

/// Ends a connection that another thread reads from: what it waits for fails with
/// [`AdminError::Gone`].
#[derive(Debug)]
pub struct Closer(UnixStream);

/// A request was not answered.
#[derive(Debug, thiserror::Error)]
pub enum AdminError {
    /// The socket is there but cannot be used.
    #[error("the hub's socket {} cannot be used; nothing was asked", path.display())]
    Socket {
        /// Which socket.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The hub refused the connection.
    #[error("{}", .0.message)]
    Rejected(Rejection),
    /// The hub went away before it answered.
    #[error("the hub stopped before it answered; whether it did what was asked is not known")]
    Gone,
    /// The answer is none.
    #[error("the hub's answer cannot be read")]
    Unreadable(#[source] serde_json::Error),
    /// The hub says no.
    #[error("{}", .0.message)]
    Remote(RemoteError),
}

/// The hub's own error.
#[derive(Debug, Clone, Deserialize)]
pub struct RemoteError {
    /// The JSON-RPC code.
    pub code: i64,
    /// What happened and what was not done.
    pub message: String,
    /// `hint` and `rule`, where there are such.
    #[serde(default)]
    pub data: Option<serde_json::Value>,
}

#[derive(Serialize)]
struct Outgoing<'a, R> {
    jsonrpc: &'static str,
    id: u64,
    method: &'static str,
    params: &'a R,
}

#[derive(Deserialize)]
struct Incoming<'a> {
    id: Option<u64>,
    #[serde(default)]
    method: Option<String>,
    #[serde(default, borrow)]
    params: Option<&'a RawValue>,
    #[serde(default, borrow)]
    result: Option<&'a RawValue>,
    #[serde(default)]
    error: Option<RemoteError>,
}

// === impl AdminError ===

impl AdminError {
    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Socket { path, .. } => Some(format!(
                "see that {} is yours and closed to others",
                path.display()
            )),
            Self::Rejected(rejection) => Some(rejection.hint.clone()),
            Self::Gone => Some("see `legation audit tail` for what was done".to_owned()),
            Self::Unreadable(_) => {
                Some("the hub may be of another version: stop it and try again".to_owned())
            }
            Self::Remote(error) => error.text("hint"),
        }
    }
}

// === impl RemoteError ===

impl RemoteError {
    /// The rule that refused, when one did.
    #[must_use]
    pub fn rule(&self) -> Option<String> {
        self.text("rule")
    }

    fn text(&self, member: &str) -> Option<String> {
        Some(self.data.as_ref()?.get(member)?.as_str()?.to_owned())
    }
}

// === impl AdminClient ===

impl AdminClient {
    /// Connects to the hub of a data directory; `None` when none runs.
    ///
    /// # Errors
    /// When the socket is there and cannot be used, or the hub refuses.
    pub fn connect(home: &Home, version: &str) -> Result<Option<Self>, AdminError> {
        Self::seated(home, version, COMMAND_SEAT)
    }

    /// The same for the terminal UI: what is answered over it is recorded as answered there.
    ///
    /// # Errors
    /// As [`AdminClient::connect`].
    pub fn at_terminal(home: &Home, version: &str) -> Result<Option<Self>, AdminError> {
        Self::seated(home, version, TERMINAL_SEAT)
    }

    fn seated(home: &Home, version: &str, seat: &str) -> Result<Option<Self>, AdminError> {
        let path = home.socket();
        let fail = |source| AdminError::Socket {
            path: path.clone(),
            source,
        };
        let stream = match UnixStream::connect(&path) {
            Ok(stream) => stream,
            Err(error) if is_gone(&error) => return Ok(None),
            Err(source) => return Err(fail(source)),
        };
        let hello = Hello {
            mode: Mode::Admin,
            endpoint: None,
            cwd: None,
            client: None,
            token: None,
            seat: seat.to_owned(),
            version: version.to_owned(),
            channel: false,
            again: false,
        };
        let mut text = serde_json::to_vec(&HelloLine {
            legation: HELLO_VERSION,
            hello,
        })
        .map_err(AdminError::Unreadable)?;
        text.push(b'\n');
        stream.set_read_timeout(Some(HELLO_LIMIT)).map_err(fail)?;
        let mut writer = stream.try_clone().map_err(fail)?;
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        match writer
            .write_all(&text)
            .and_then(|()| reader.read_line(&mut line))
        {
            Ok(0) => return Ok(None),
            Ok(_) => {}
            Err(error) if is_gone(&error) => return Ok(None),
            Err(source) => return Err(fail(source)),
        }
        reader.get_ref().set_read_timeout(None).map_err(fail)?;
        let answer: HelloAnswer = serde_json::from_str(&line).map_err(AdminError::Unreadable)?;
        match (answer.ok, answer.error) {
            (_, Some(rejection)) => Err(AdminError::Rejected(rejection)),
            (Some(welcome), None) => Ok(Some(Self {
                reader,
                writer,
                welcome,
                next_id: 0,
            })),
            (None, None) => Err(AdminError::Gone),
        }
    }

    /// What the hub said of itself.
    #[must_use]
    pub fn welcome(&self) -> &Welcome {
        &self.welcome
    }

    /// Asks, and waits for the answer.
    ///
    /// # Errors
    /// When the hub refuses, fails, or goes away.
    pub fn call<R: Request>(&mut self, request: &R) -> Result<R::Answer, AdminError> {
        let id = self.send(request)?;
        let ignore = |_: &str, _: &RawValue| Ok(ControlFlow::Continue(()));
        let answer = self.answer(id, ignore)?;
        // It never breaks off, so it ends with an answer.
        answer.ok_or(AdminError::Gone)
    }

    /// Asks for something that is told bit by bit, and hands every notification of
    /// `method` to `on_news` until it breaks off (`None`) or the answer comes. It takes
    /// the connection, because what is broken off still comes over it.
    ///
    /// # Errors
    /// When the hub refuses, fails, or goes away; [`Closer::close`] counts as going away.
    pub fn stream<R: Request, N: DeserializeOwned>(
        mut self,
        request: &R,
        method: &str,
        mut on_news: impl FnMut(N) -> ControlFlow<()>,
    ) -> Result<Option<R::Answer>, AdminError> {
        let id = self.send(request)?;
        self.answer(id, |told, params| {
            if told != method {
                return Ok(ControlFlow::Continue(()));
            }
            let news = serde_json::from_str(params.get()).map_err(AdminError::Unreadable)?;
            Ok(on_news(news))
        })
    }

    /// Follows a conversation until `on_event` breaks off.
    ///
    /// # Errors
    /// As [`AdminClient::stream`].
    pub fn follow(
        self,
        follow: &Follow,
        on_event: impl FnMut(Event) -> ControlFlow<()>,
    ) -> Result<Option<Done>, AdminError> {
        self.stream(follow, conversation::EVENT, on_event)
    }

    /// What ends this connection from another thread.
    ///
    /// # Errors
    /// When the process has no file descriptor left.
    pub fn closer(&self) -> io::Result<Closer> {
        self.writer.try_clone().map(Closer)
    }

    fn send<R: Request>(&mut self, request: &R) -> Result<u64, AdminError> {
        self.next_id += 1;
        let outgoing = Outgoing {
            jsonrpc: "2.0",
            id: self.next_id,
            method: R::METHOD,
            params: request,
        };
        let mut text = serde_json::to_vec(&outgoing).map_err(AdminError::Unreadable)?;
        text.push(b'\n');
        self.writer.write_all(&text).map_err(|_| AdminError::Gone)?;
        Ok(self.next_id)
    }

    /// The answer to a request, and what is told meanwhile; `None` when `on_news` broke off.
    fn answer<A: DeserializeOwned>(
        &mut self,
        id: u64,
        mut on_news: impl FnMut(&str, &RawValue) -> Result<ControlFlow<()>, AdminError>,
    ) -> Result<Option<A>, AdminError> {
        let mut line = String::new();
        loop {
            line.clear();
            let read = self.reader.read_line(&mut line);
            if read.map_err(|_| AdminError::Gone)? == 0 {
                return Err(AdminError::Gone);
            }
            let incoming: Incoming<'_> =
                serde_json::from_str(&line).map_err(AdminError::Unreadable)?;
            if let (None, Some(method), Some(params)) =
                (incoming.id, &incoming.method, incoming.params)
                && on_news(method, params)?.is_break()
            {
                return Ok(None);
            }
            if incoming.id != Some(id) {
                continue;
            }
            return match (incoming.error, incoming.result) {
                (Some(error), _) => Err(AdminError::Remote(error)),
                (None, Some(answer)) => serde_json::from_str(answer.get())
                    .map(Some)
                    .map_err(AdminError::Unreadable),
                (None, None) => Err(AdminError::Gone),
            };
        }
    }
}

// === impl Closer ===

impl Closer {
    /// Ends the connection. One that has ended already is left as it is.
    pub fn close(&self) {
        // That it has ended is what was wanted.
        drop(self.0.shutdown(Shutdown::Both));
    }
}

/// No hub, or one that is stopping.
fn is_gone(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::BrokenPipe
    )
}

#[cfg(test)]
mod tests;
