//! MCP on the socket: either era, as the messages themselves say.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use legation_core::CancelReason;
use legation_wire::framing::FrameError;
use legation_wire::json::Limits;
use legation_wire::message::{Cut, Message, Response};
use tokio::sync::Notify;

use super::greeting::Greeted;
use super::lines::{Lines, Reader, is_gone, left_out, left_out_bytes, write_out};
use crate::intake::{self, Intake};
use crate::outbox::{Outbox, Weight};
use crate::outgoing::Outgoing;
use crate::session::{Carrier, Session};
use crate::sessions;
use crate::shared::Held;

/// Past this many requests under way, no more are read; streams that are held open
/// (at most 256) leave as many as ever to the others.
const RUNNING_MAX: usize = 1024 + 256;
/// How long requests may go on after their client has stopped writing.
const LINGER: Duration = Duration::from_secs(60);
/// How often a client that has stopped writing is looked at for being gone.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How long calls that were called off may take to end.
const GRACE: Duration = Duration::from_secs(3);

type Running = FuturesUnordered<BoxFuture<'static, Option<Outgoing>>>;

/// A client on the socket.
struct Client<'a> {
    shared: &'a Held,
    session: Arc<Session>,
    /// Not spawned: the connection's own task drives its requests.
    running: Running,
    room: &'a Notify,
}

/// Serves a client until either side ends it.
pub(super) fn serve(
    shared: &Held,
    lines: Lines,
    greeted: Greeted,
) -> impl Future<Output = ()> + Send {
    let id = greeted.caller.seat.as_str().into();
    let session = Session::new(id, greeted.caller, greeted.endpoint, Carrier::Socket);
    let session = Arc::new(session.with_channel(greeted.channel, greeted.again));
    let Lines {
        mut reader,
        mut writer,
    } = lines;
    let room = Notify::new();
    // A block holds once what it takes from here, for as long as a client is idle; a function would hold it twice.
    async move {
        let outbox = Arc::clone(&session.general);
        let mut client = Client {
            shared,
            session,
            running: Running::new(),
            room: &room,
        };
        let limit = shared.settings.write_timeout;
        let mut writing = std::pin::pin!(write_out(&mut writer, &outbox, &room, limit));
        let written = tokio::select! {
            () = &mut writing => true,
            () = client.read_all(&mut reader) => false,
            _ = shared.cancel.cancelled() => false,
        };
        Box::pin(client.end((!written).then_some(writing))).await;
    }
}

// === impl Client ===

impl Client<'_> {
    async fn read_all(&mut self, reader: &mut Reader) {
        let outbox = Arc::clone(&self.session.general);
        loop {
            loop {
                match reader.line() {
                    Ok(Some(line)) => self.take(line, &outbox),
                    Ok(None) => break,
                    Err(line) => self.left_out(&line, &outbox),
                }
            }
            let reads = outbox.has_room() && self.running.len() < RUNNING_MAX;
            tokio::select! {
                biased;
                Some(answer) = self.running.next() => push(&outbox, answer),
                filled = reader.fill(), if reads => match filled {
                    Ok(true) => {}
                    Ok(false) => return Box::pin(self.linger(reader)).await,
                    Err(_) => return,
                },
                () = self.room.notified(), if !reads => {}
            }
        }
    }

    fn take(&mut self, line: Bytes, outbox: &Arc<Outbox>) {
        let limits = Limits {
            bytes: self.shared.settings.body_max,
            ..Limits::CLIENT
        };
        let parsed = Message::parse(&line, &limits);
        match intake::parsed(self.shared, &self.session, outbox, parsed) {
            Intake::Nothing => {}
            Intake::Reply(reply) => push(outbox, Some(reply.into())),
            Intake::Run(run) => self.running.push(run),
        }
    }

    /// A line that was too long to be read. Whoever waits for an answer is told, and so is whoever
    /// waits for the answer that it was.
    fn left_out(&self, line: &FrameError, outbox: &Outbox) {
        match left_out(line) {
            (Cut::Response(id), error) => self.session.answered(Response {
                id: Some(id),
                body: Err(error),
            }),
            (Cut::Request(_) | Cut::Other, _) => push(outbox, Some(left_out_bytes(line).into())),
        }
    }

    /// The client writes no more, but may still read.
    async fn linger(&mut self, reader: &Reader) {
        let outbox = Arc::clone(&self.session.general);
        let until = tokio::time::Instant::now() + LINGER;
        while !self.running.is_empty() && tokio::time::Instant::now() < until {
            if is_gone(reader).await {
                return;
            }
            tokio::select! {
                Some(answer) = self.running.next() => push(&outbox, answer),
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
        }
    }

    /// Ends the session, whose answers are still written where `writing` is not over.
    async fn end(&mut self, writing: Option<Pin<&mut (impl Future<Output = ()> + Send)>>) {
        let reason = if self.shared.cancel.reason().is_some() {
            CancelReason::Shutdown
        } else {
            CancelReason::Disconnected
        };
        // Answers of calls that end with the hub still go out.
        if writing.is_some() && reason == CancelReason::Shutdown {
            self.drain(GRACE).await;
        }
        sessions::end(self.shared, &self.session, reason);
        if let Some(writing) = writing {
            drop(tokio::time::timeout(GRACE, writing).await);
        }
        self.drain(GRACE).await;
    }

    /// Lets calls that were called off end in good order.
    async fn drain(&mut self, limit: Duration) {
        let outbox = Arc::clone(&self.session.general);
        let ended = async {
            while let Some(answer) = self.running.next().await {
                push(&outbox, answer);
            }
        };
        drop(tokio::time::timeout(limit, ended).await);
    }
}

fn push(outbox: &Outbox, message: Option<Outgoing>) {
    if let Some(message) = message {
        outbox.push(message, Weight::Answer);
    }
}
