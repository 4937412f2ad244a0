//! `events/stream`: what happens, as it does.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use legation_core::Caller;
use legation_core::error::chain;
use legation_wire::codes;
use legation_wire::json::{Object, Raw};
use legation_wire::message::ErrorObject;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::ask::Filter;
use crate::events::{Inner, OpenStream, Started, read};
use crate::{Batch, EventsError, Log};

/// Places that are looked at together.
const AT_ONCE: usize = 100;
/// How long is waited after the log could not be read.
const AGAIN: Duration = Duration::from_secs(2);

/// An open stream. It remembers a place and no more: what is not asked for yet
/// stays in the log.
pub struct Stream {
    inner: Arc<Inner>,
    who: Caller,
    filter: Filter,
    log: Arc<dyn Log>,
    changed: watch::Receiver<u64>,
    place: u64,
    /// At most one batch.
    ready: VecDeque<Frame>,
    beat: Instant,
    /// When the log is tried again that could not be read.
    again: Option<Instant>,
    over: bool,
    _open: OpenStream,
}

/// What a stream says; the params of a `notifications/events/*` but for the
/// stream's id.
#[derive(Debug, Clone)]
pub enum Frame {
    /// It stands, or went on behind a gap.
    Active(Object),
    /// Something happened.
    Event(Object),
    /// It still stands.
    Heartbeat(Object),
    /// Something went wrong that may pass.
    Error(Object),
    /// It is over; nothing follows.
    Terminated(Object),
}

// === impl Frame ===

impl Frame {
    /// The notification's method.
    #[must_use]
    pub fn method(&self) -> &'static str {
        match self {
            Self::Active(_) => "notifications/events/active",
            Self::Event(_) => "notifications/events/event",
            Self::Heartbeat(_) => "notifications/events/heartbeat",
            Self::Error(_) => "notifications/events/error",
            Self::Terminated(_) => "notifications/events/terminated",
        }
    }

    /// The notification's params.
    #[must_use]
    pub fn into_params(self) -> Object {
        match self {
            Self::Active(params)
            | Self::Event(params)
            | Self::Heartbeat(params)
            | Self::Error(params)
            | Self::Terminated(params) => params,
        }
    }
}

// === impl Stream ===

impl Stream {
    pub(crate) fn new(
        inner: &Arc<Inner>,
        who: Caller,
        filter: Filter,
        (started, open): (Started, OpenStream),
    ) -> Self {
        let log = inner.log(&filter.topic);
        let mut stream = Self {
            inner: Arc::clone(inner),
            who,
            filter,
            changed: log.changed(),
            log,
            place: started.place,
            ready: VecDeque::new(),
            beat: Instant::now(),
            again: None,
            over: false,
            _open: open,
        };
        stream.active(started.truncated);
        stream
    }

    /// The next thing to say. After [`Frame::Terminated`] it never comes. May be
    /// dropped at any time and called again.
    pub async fn next(&mut self) -> Frame {
        loop {
            if let Some(frame) = self.ready.pop_front() {
                if let Frame::Event(_) = frame {
                    self.inner.counted.told.fetch_add(1, Ordering::Relaxed);
                }
                self.beat = Instant::now() + self.inner.settings.heartbeat;
                return frame;
            }
            if self.over {
                std::future::pending::<()>().await;
            }
            if let Some(again) = self.again {
                tokio::time::sleep_until(again).await;
                self.again = None;
            }
            self.changed.mark_unchanged();
            match read(&self.log, self.place, AT_ONCE).await {
                Ok(batch) => self.take(&batch),
                Err(error) => {
                    let error = ErrorObject::new(codes::INTERNAL_ERROR, &chain(&error));
                    self.ready.push_back(Frame::Error(wrapped(&error)));
                    self.again = Some(Instant::now() + AGAIN);
                }
            }
            if self.ready.is_empty() && self.log.end() <= self.place {
                self.wait().await;
            }
        }
    }

    /// Waits until there may be something, or it is time for a sign of life.
    async fn wait(&mut self) {
        let beat = tokio::select! {
            changed = self.changed.changed() => changed.is_err(),
            () = tokio::time::sleep_until(self.beat) => true,
        };
        if !beat {
            return;
        }
        // Nothing happened for long, but the rules may have changed.
        if let Err(error) = self.permit() {
            return self.end(&error);
        }
        let cursor = self.cursor();
        let params = Object::new().with("cursor", cursor);
        self.ready.push_back(Frame::Heartbeat(params));
    }

    fn take(&mut self, batch: &Batch) {
        if batch.reached == self.place {
            return;
        }
        if let Err(error) = self.permit() {
            return self.end(&error);
        }
        if batch.gap {
            self.place = batch
                .entries
                .first()
                .map_or(batch.reached, |entry| entry.place - 1);
            self.active(true);
        }
        for entry in &batch.entries {
            self.place = entry.place;
            let access = self.inner.access.as_ref();
            if let Some(data) = self.filter.tell(access, &self.who, entry) {
                let event = entry
                    .occurrence(&self.filter.topic, &data)
                    .with("cursor", self.cursor());
                self.ready.push_back(Frame::Event(event));
            }
        }
        self.place = self.place.max(batch.reached);
    }

    fn permit(&self) -> Result<(), EventsError> {
        self.filter.permit(self.inner.access.as_ref(), &self.who)
    }

    fn active(&mut self, truncated: bool) {
        let params = Object::new()
            .with("cursor", self.cursor())
            .with("truncated", Raw::bool(truncated));
        self.ready.push_back(Frame::Active(params));
    }

    fn end(&mut self, error: &EventsError) {
        self.over = true;
        self.ready.clear();
        let error = error.to_error(self.inner.settings.numbers);
        self.ready.push_back(Frame::Terminated(wrapped(&error)));
    }

    fn cursor(&self) -> Raw {
        self.inner.cursor(&self.who, &self.filter.topic, self.place)
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream")
            .field("filter", &self.filter)
            .field("place", &self.place)
            .finish_non_exhaustive()
    }
}

pub(crate) fn wrapped(error: &ErrorObject) -> Object {
    Object::new().with("error", error.to_object().to_raw())
}
