//! The socket of one connection, with the one timer it has.
//!
//! A timer is armed with a lock and a place in a wheel. What a connection waits
//! for changes several times with each request, and hardly ever takes as long as
//! it may: so there is one timer, and a deadline beside it that costs nothing to
//! move away. The timer that goes off early is armed again for what is left. And
//! as it is always the same task that waits, it is told once whom to wake.

use std::cell::RefCell;
use std::fmt;
use std::future::{Future, poll_fn};
use std::io::{self, IoSlice};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use legation_core::Cancel;
use tokio::io::{AsyncRead as _, AsyncWrite as _, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep};

/// What is read at once at first; most requests fit.
const READ: usize = 4 * 1024;
/// What is read at once of something long.
const READ_LONG: usize = 64 * 1024;
/// Most sets of buffers that a thread keeps for its next requests.
const SPARE_MAX: usize = 64;

thread_local! {
    /// Buffers between two requests; an idle connection has none.
    #[expect(clippy::vec_box, reason = "they are moved in and out with every request")]
    static SPARE: RefCell<Vec<Box<Buffers>>> = const { RefCell::new(Vec::new()) };
}

/// See the module.
pub(super) struct Io {
    stream: TcpStream,
    sleep: Pin<Box<Sleep>>,
    /// Whom the timer will wake.
    wakes: Option<Waker>,
    due: Due,
    stop: Pin<Box<dyn Future<Output = ()> + Send>>,
    write_timeout: Duration,
}

/// When the time allowed is over.
#[derive(Debug, Clone, Copy)]
enum Due {
    At(Instant),
    /// So long after it is first waited for: mostly that is not at all.
    After(Duration),
}

/// What a request and its answer are read and written with.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    pub(super) came: Came,
    pub(super) out: Vec<u8>,
}

/// What came and has not been used.
#[derive(Debug, Default)]
pub(super) struct Came {
    /// As long as what it has room for, so that it is cleared only once.
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

// === impl Io ===

impl Io {
    pub(super) fn new(stream: TcpStream, cancel: Cancel, write_timeout: Duration) -> Self {
        let due = Instant::now();
        Self {
            stream,
            sleep: Box::pin(tokio::time::sleep_until(due)),
            wakes: None,
            due: Due::At(due),
            stop: Box::pin(async move {
                cancel.cancelled().await;
            }),
            write_timeout,
        }
    }

    /// What is waited for next may take so long.
    pub(super) fn allow(&mut self, time: Duration) {
        self.due = Due::After(time);
    }

    fn due(&mut self) -> Instant {
        match self.due {
            Due::At(due) => due,
            Due::After(time) => {
                let due = Instant::now() + time;
                self.due = Due::At(due);
                due
            }
        }
    }

    /// Ready when the time allowed is over.
    pub(super) fn poll_due(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let due = self.due();
        loop {
            if self.sleep.deadline() > due || self.sleep.is_elapsed() {
                self.sleep.as_mut().reset(due);
                self.wakes = None;
            }
            let wakes = self.wakes.as_ref();
            if !wakes.is_some_and(|wakes| wakes.will_wake(cx.waker())) {
                self.wakes = None;
                // One that had its share of the turn would not be told, and say so neither.
                let sleep = pin!(tokio::task::unconstrained(self.sleep.as_mut()));
                if sleep.poll(cx).is_pending() {
                    self.wakes = Some(cx.waker().clone());
                    return Poll::Pending;
                }
            } else if !self.sleep.is_elapsed() {
                return Poll::Pending;
            }
            if due <= self.sleep.deadline() {
                return Poll::Ready(());
            }
        }
    }

    /// Waits until there is something to read, holding no buffer.
    ///
    /// # Errors
    /// The time is over, or the hub stops.
    pub(super) async fn readable(&mut self) -> io::Result<()> {
        poll_fn(|cx| match self.stream.poll_read_ready(cx) {
            Poll::Pending => self.poll_given_up(cx),
            ready @ Poll::Ready(_) => ready,
        })
        .await
    }

    /// Reads what has come, without waiting; whether anything has.
    ///
    /// # Errors
    /// The connection is at its end.
    pub(super) async fn read_arrived(&mut self, came: &mut Came) -> io::Result<bool> {
        poll_fn(|cx| {
            Poll::Ready(match self.poll_read(cx, came) {
                Poll::Ready(read) => read.map(|()| true),
                Poll::Pending => Ok(false),
            })
        })
        .await
    }

    /// Reads more.
    ///
    /// # Errors
    /// The connection is at its end, the time is over, or the hub stops.
    pub(super) async fn fill(&mut self, came: &mut Came) -> io::Result<()> {
        poll_fn(|cx| match self.poll_read(cx, came) {
            Poll::Pending => self.poll_given_up(cx),
            ready @ Poll::Ready(_) => ready,
        })
        .await
    }

    /// As [`fill`](Self::fill), while something else is waited for.
    pub(super) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        came: &mut Came,
    ) -> Poll<io::Result<()>> {
        let mut room = ReadBuf::new(came.room());
        ready!(Pin::new(&mut self.stream).poll_read(cx, &mut room))?;
        let length = room.filled().len();
        if length == 0 {
            return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
        }
        came.end += length;
        Poll::Ready(Ok(()))
    }

    fn poll_given_up(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.poll_due(cx).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        ready!(self.stop.as_mut().poll(cx));
        // What is ready once may not be asked again.
        self.stop = Box::pin(std::future::ready(()));
        Poll::Ready(Err(io::ErrorKind::Interrupted.into()))
    }

    /// Writes a head and what follows it, the peer reading something of it again
    /// and again.
    ///
    /// # Errors
    /// The connection is broken, or its peer does not read.
    pub(super) async fn write(&mut self, head: &[u8], body: &[u8]) -> io::Result<()> {
        let mut written = 0;
        let mut is_stuck = false;
        poll_fn(|cx| {
            while written < head.len() + body.len() {
                let step = match head.get(written..) {
                    Some(rest) if body.is_empty() => {
                        Pin::new(&mut self.stream).poll_write(cx, rest)
                    }
                    Some(rest) if !rest.is_empty() => {
                        let parts = [IoSlice::new(rest), IoSlice::new(body)];
                        Pin::new(&mut self.stream).poll_write_vectored(cx, &parts)
                    }
                    _ => {
                        let rest = &body[written - head.len()..];
                        Pin::new(&mut self.stream).poll_write(cx, rest)
                    }
                };
                match step {
                    Poll::Ready(Ok(0)) => {
                        return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
                    }
                    Poll::Ready(Ok(length)) => {
                        written += length;
                        is_stuck = false;
                    }
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                    Poll::Pending => {
                        if !std::mem::replace(&mut is_stuck, true) {
                            self.allow(self.write_timeout);
                        }
                        ready!(self.poll_due(cx));
                        return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
                    }
                }
            }
            Poll::Ready(Ok(()))
        })
        .await
    }

    /// Says that nothing more will be written, and reads for a while what the
    /// peer still sends: with it unread the system would break the connection
    /// off, and the peer might lose the answer that it is about to read
    /// (RFC 9112, section 9.6).
    pub(super) async fn linger(&mut self, came: &mut Came, time: Duration, mut most: usize) {
        let shut = poll_fn(|cx| Pin::new(&mut self.stream).poll_shutdown(cx)).await;
        if shut.is_err() {
            return;
        }
        self.allow(time);
        came.expect(most);
        loop {
            came.use_up(came.unused().len());
            if self.fill(came).await.is_err() || came.unused().len() > most {
                return;
            }
            most -= came.unused().len();
        }
    }
}

impl fmt::Debug for Io {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Io")
            .field("stream", &self.stream)
            .finish_non_exhaustive()
    }
}

// === impl Buffers ===

impl Buffers {
    /// Buffers of an earlier request, or new ones.
    pub(super) fn take() -> Box<Self> {
        SPARE.with_borrow_mut(Vec::pop).unwrap_or_default()
    }

    /// Keeps them for the next request, unless they have grown.
    pub(super) fn give_back(mut self: Box<Self>) {
        self.out.clear();
        self.came.use_up(self.came.unused().len());
        let is_small = self.came.bytes.len() <= READ && self.out.capacity() <= 2 * READ;
        SPARE.with_borrow_mut(|spare| {
            if is_small && spare.len() < SPARE_MAX {
                spare.push(self);
            }
        });
    }
}

// === impl Came ===

impl Came {
    pub(super) fn unused(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    pub(super) fn use_up(&mut self, length: usize) {
        self.start = (self.start + length).min(self.end);
        if self.start == self.end {
            self.start = 0;
            self.end = 0;
        }
    }

    /// So much is still to come: reads become as large as that is worth.
    pub(super) fn expect(&mut self, length: usize) {
        if length > READ && self.bytes.len() < READ_LONG {
            self.bytes.resize(READ_LONG, 0);
        }
    }

    /// Whether nothing more can be read without something being used.
    pub(super) fn is_full(&self) -> bool {
        self.end - self.start >= READ
    }

    /// Room behind what came, never none.
    fn room(&mut self) -> &mut [u8] {
        if self.end == self.bytes.len() {
            if self.start > 0 {
                self.bytes.copy_within(self.start..self.end, 0);
                self.end -= self.start;
                self.start = 0;
            } else {
                self.bytes.resize((2 * self.bytes.len()).max(READ), 0);
            }
        }
        &mut self.bytes[self.end..]
    }
}
