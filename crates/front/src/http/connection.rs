//! One TCP connection, from its first byte to its last.
//!
//! The server is written out here rather than taken from a library: a library
//! reads each request into a map, hands it over through a service, a body and a
//! channel, and arms its timers anew, which was a third of what a call cost the
//! front. Here a request is read where it came in, and the connection itself
//! waits for its answer. Requests are answered one after the other, in the order
//! in which they came.
//!
//! A connection without a request has no buffers, so that ten thousand of them
//! cost little.

use std::future::poll_fn;
use std::io;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::Method;
use legation_core::{Cancel, ClientId, SeatId};
use legation_wire::http1::Framing;
use legation_wire::json::Raw;
use tokio::net::TcpStream;

use super::body;
use super::guard;
use super::head::{BadHead, Finder, Head};
use super::io::{Buffers, Came, Io};
use super::known::Known;
use super::reply::{self, Reply, ReplyBody, hex};
use super::route::{self, Begun, Next};
use super::stream::{Broken, Waiting};
use super::web::Answering;
use crate::shared::{Gauge, Held, count};
use crate::speaker::Modern;
use crate::web::WebAnswer;

/// How long a client is heard out that was answered before it had sent all.
const LINGER: Duration = Duration::from_secs(2);
/// A body up to this long is written in one piece with its head.
const TOGETHER: usize = 4 * 1024;

/// What requests of one connection share.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) shared: Held,
    /// The port it came in at, which `Host` has to name.
    pub(super) port: u16,
    /// Of which its calls are children: were they children of the hub's own, the threads would
    /// contend for it twice in every call.
    pub(super) cancel: Cancel,
    /// What the last modern client said of itself, which the next request repeats.
    recent: Mutex<Option<Arc<Declared>>>,
}

/// What a modern client says of itself, and what that comes to.
#[derive(Debug)]
pub(super) struct Declared {
    pub(super) client: ClientId,
    /// The metadata that said it, where it said nothing else.
    pub(super) whole: Option<Raw>,
    pub(super) capabilities: Raw,
    pub(super) modern: Arc<Modern>,
    pub(super) seat: SeatId,
    /// Until when it need not be told again that the seat is used, in milliseconds of the front's.
    pub(super) told_until_ms: AtomicU64,
}

/// What becomes of a connection after a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum After {
    /// It takes another.
    Open,
    /// It is over.
    Over,
    /// It is over, but its client may still be sending.
    Linger,
}

/// A request that was not read to its end.
enum Unread {
    /// Its client is answered, and the connection ends.
    Bad(BadHead),
    /// There is nobody to answer.
    Gone,
}

// === impl Connection ===

impl Connection {
    /// What the last client said of itself, if it was this one and `is_same` says so.
    pub(super) fn declared(
        &self,
        client: &ClientId,
        is_same: impl FnOnce(&Declared) -> bool,
    ) -> Option<Arc<Declared>> {
        let recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let same = recent.as_ref();
        same.filter(|last| last.client == *client && is_same(last))
            .map(Arc::clone)
    }

    pub(super) fn set_declared(&self, declared: Declared) {
        let declared = Some(Arc::new(declared));
        let last = std::mem::replace(
            &mut *self.recent.lock().unwrap_or_else(PoisonError::into_inner),
            declared,
        );
        drop(last);
    }
}

/// Serves a connection until either side ends it.
pub(crate) async fn serve(shared: Held, stream: std::net::TcpStream) {
    let shared = shared.apart();
    let _gauge = Gauge::new(&shared, |counters| &counters.connections);
    let Ok(stream) = TcpStream::from_std(stream) else {
        return;
    };
    let Ok(address) = stream.local_addr() else {
        return;
    };
    // An answer is one write; waiting for more would only delay it.
    drop(stream.set_nodelay(true));
    let settings = &shared.settings;
    let cancel = shared.cancel.child();
    let mut io = Io::new(stream, cancel.clone(), settings.write_timeout);
    let connection = Arc::new(Connection {
        shared: shared.clone(),
        port: address.port(),
        cancel,
        recent: Mutex::new(None),
    });
    let mut known: Option<Box<Known>> = None;
    loop {
        io.allow(settings.connection_idle);
        if io.readable().await.is_err() {
            return;
        }
        let mut buffers = Buffers::take();
        let after = match io.read_arrived(&mut buffers.came).await {
            Ok(false) => After::Open,
            // Its room is given up with it while the connection is idle.
            Ok(true) => {
                let known = known.get_or_insert_default();
                Box::pin(serve_arrived(&connection, &mut io, &mut buffers, known)).await
            }
            Err(_) => After::Over,
        };
        known = known.filter(|known| known.is_of_use());
        if after == After::Linger {
            let most = settings.body_max;
            Box::pin(io.linger(&mut buffers.came, LINGER, most)).await;
        }
        buffers.give_back();
        if after != After::Open {
            return;
        }
    }
}

/// Answers requests until everything is used up that has come.
async fn serve_arrived(
    connection: &Arc<Connection>,
    io: &mut Io,
    buffers: &mut Buffers,
    known: &mut Known,
) -> After {
    while !buffers.came.unused().is_empty() {
        let after = match read_head(connection, io, &mut buffers.came, known).await {
            Ok(()) => answer(connection, io, buffers, known).await,
            Err(Unread::Gone) => return After::Over,
            Err(Unread::Bad(bad)) => {
                count(&connection.shared.counters.mine().rejected);
                match send(connection, io, buffers, &known.head, bad.into()).await {
                    Ok(_) => After::Linger,
                    Err(_) => After::Over,
                }
            }
        };
        if after != After::Open {
            return after;
        }
        if connection.shared.cancel.reason().is_some() {
            return After::Over;
        }
    }
    After::Open
}

/// Reads the head of a request, of which something has come.
async fn read_head(
    connection: &Connection,
    io: &mut Io,
    came: &mut Came,
    known: &mut Known,
) -> Result<(), Unread> {
    if let Some(length) = known.again(came.unused()) {
        came.use_up(length);
        return Ok(());
    }
    let head = known.anew();
    let mut finder = Finder::default();
    let mut is_late = false;
    loop {
        let text = came.unused();
        if let Some(length) = finder.find(text).map_err(Unread::Bad)? {
            head.read(&text[..length]).map_err(Unread::Bad)?;
            came.use_up(length);
            return Ok(());
        }
        // All of it together may take so long, not each piece.
        if !std::mem::replace(&mut is_late, true) {
            io.allow(connection.shared.settings.header_timeout);
        }
        io.fill(came).await.map_err(|_| Unread::Gone)?;
    }
}

/// Answers the request whose head has been read.
async fn answer(
    connection: &Arc<Connection>,
    io: &mut Io,
    buffers: &mut Buffers,
    known: &mut Known,
) -> After {
    let came = &mut buffers.came;
    let settings = &connection.shared.settings;
    let mut next = known.begin(connection);
    if let Next::Wait(wait) = next {
        tokio::select! {
            () = wait => {}
            _ = connection.cancel.cancelled() => return After::Over,
        }
        next = known.begin(connection);
    }
    let known = &*known;
    let head = &known.head;
    let begun = match next {
        Next::Wait(_) => Begun::Reply(reply::rejected(&guard::unavailable(), None).closing()),
        Next::Reply(reply) => {
            // What it would have been about is passed over if it is there.
            let reply = if skip(came, head.framing) {
                reply
            } else {
                reply.closing()
            };
            Begun::Reply(reply)
        }
        Next::Body(posting) => {
            let most = posting.body_max(settings);
            match body::read(io, came, head, most, settings).await {
                Ok(body) => route::finish(connection, known, posting, body),
                Err(error) => match error.reply() {
                    Some(reply) => Begun::Reply(reply),
                    None => return After::Over,
                },
            }
        }
    };
    let reply = match begun {
        Begun::Reply(reply) => reply,
        Begun::Wait(mut waiting) => {
            if wait(io, came, &mut waiting, settings.keepalive)
                .await
                .is_err()
            {
                return After::Over;
            }
            waiting.into_reply()
        }
        Begun::Web(mut answering) => match answered(io, came, &mut answering).await {
            Ok(answer) => reply::web(answer),
            Err(_) => return After::Over,
        },
    };
    let was_refused = reply.closes;
    match send(connection, io, buffers, head, reply).await {
        Ok(true) => After::Open,
        Ok(false) if was_refused => After::Linger,
        Ok(false) | Err(_) => After::Over,
    }
}

/// Uses up a body that has come whole; whether it has.
fn skip(came: &mut Came, framing: Option<Framing>) -> bool {
    let length = match framing {
        None => return true,
        Some(Framing::Length(length)) => usize::try_from(length).unwrap_or(usize::MAX),
        Some(Framing::Chunked | Framing::Close) => return false,
    };
    let is_there = came.unused().len() >= length;
    if is_there {
        came.use_up(length);
    }
    is_there
}

/// Waits until there is something to answer, or the client has to see a sign of
/// life. Fails when it hangs up.
async fn wait(
    io: &mut Io,
    came: &mut Came,
    waiting: &mut Waiting,
    keepalive: Duration,
) -> io::Result<()> {
    io.allow(keepalive);
    poll_fn(|cx| {
        if waiting.poll(cx).is_ready() {
            return Poll::Ready(Ok(()));
        }
        if let Some(error) = poll_hung_up(io, cx, came) {
            return Poll::Ready(Err(error));
        }
        if waiting.shows_life() && io.poll_due(cx).is_ready() {
            return Poll::Ready(Ok(()));
        }
        Poll::Pending
    })
    .await
}

/// Waits for an answer of the admin API's or the console's. Fails when its client hangs up.
async fn answered(
    io: &mut Io,
    came: &mut Came,
    answering: &mut Answering,
) -> io::Result<WebAnswer> {
    poll_fn(|cx| {
        if let Poll::Ready(answer) = answering.poll(cx) {
            return Poll::Ready(Ok(answer));
        }
        match poll_hung_up(io, cx, came) {
            Some(error) => Poll::Ready(Err(error)),
            None => Poll::Pending,
        }
    })
    .await
}

/// Whether the client has hung up; what else it sends waits for its turn.
fn poll_hung_up(io: &mut Io, cx: &mut Context<'_>, came: &mut Came) -> Option<io::Error> {
    while !came.is_full() {
        match io.poll_read(cx, came) {
            Poll::Ready(Ok(())) => {}
            Poll::Ready(Err(error)) => return Some(error),
            Poll::Pending => return None,
        }
    }
    None
}

/// Sends a response; whether the connection takes another request.
async fn send(
    connection: &Connection,
    io: &mut Io,
    buffers: &mut Buffers,
    head: &Head,
    mut reply: Reply,
) -> io::Result<bool> {
    let Buffers { came, out } = buffers;
    // What is sent as it comes ends with the connection in HTTP/1.0.
    reply.closes |= !head.keep || (reply.body.is_stream() && !head.is_11);
    out.clear();
    let is_chunked = reply.write_head(out, head, connection.shared.clock.wall());
    let keep = !reply.closes;
    match reply.body {
        _ if head.method == Method::HEAD => io.write(out, b"").await?,
        ReplyBody::Full(body) if body.len() <= TOGETHER => {
            out.extend_from_slice(&body);
            io.write(out, b"").await?;
        }
        ReplyBody::Full(body) => io.write(out, &body).await?,
        ReplyBody::Events(mut events) => {
            stream(io, came, out, |cx| events.poll_chunk(cx), is_chunked).await?;
        }
        ReplyBody::Web(mut chunks) => {
            let mut stop = Box::pin(connection.cancel.cancelled());
            let next = |cx: &mut Context<'_>| {
                // Whoever listens for as long as the hub runs is not waited for when it stops.
                if stop.as_mut().poll(cx).is_ready() {
                    return Poll::Ready(None);
                }
                chunks.as_mut().poll_next(cx).map(|one| one.map(Ok))
            };
            stream(io, came, out, next, is_chunked).await?;
        }
    }
    reply.deliveries.written();
    Ok(keep)
}

/// Sends a body as it comes, behind a head that has not been sent.
async fn stream(
    io: &mut Io,
    came: &mut Came,
    out: &mut Vec<u8>,
    mut next_chunk: impl FnMut(&mut Context<'_>) -> Poll<Option<Result<Bytes, Broken>>>,
    is_chunked: bool,
) -> io::Result<()> {
    loop {
        let is_head_left = !out.is_empty();
        let next = poll_fn(|cx| {
            if let Poll::Ready(chunk) = next_chunk(cx) {
                return Poll::Ready(chunk.map(|chunk| chunk.map_err(io::Error::other)));
            }
            if is_head_left {
                return Poll::Ready(Some(Ok(Bytes::new())));
            }
            match poll_hung_up(io, cx, came) {
                Some(error) => Poll::Ready(Some(Err(error))),
                None => Poll::Pending,
            }
        });
        let Some(chunk) = next.await.transpose()? else {
            break;
        };
        if chunk.is_empty() || !is_chunked {
            io.write(out, &chunk).await?;
        } else {
            hex(out, chunk.len());
            out.extend_from_slice(b"\r\n");
            if chunk.len() <= TOGETHER {
                out.extend_from_slice(&chunk);
                out.extend_from_slice(b"\r\n");
                io.write(out, b"").await?;
            } else {
                io.write(out, &chunk).await?;
                io.write(b"\r\n", b"").await?;
            }
        }
        out.clear();
    }
    if is_chunked {
        out.extend_from_slice(b"0\r\n\r\n");
    }
    io.write(out, b"").await
}
