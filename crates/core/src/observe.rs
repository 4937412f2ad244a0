//! What happens, told to whoever counts it and follows it.
//!
//! Gate, models and front say here what came of a call; who listens is put there once, when the hub
//! starts, so that nobody depends on how it is counted or where it is sent. Nothing of what a call
//! carries has a place in these types: no argument, result, person or entity. Without a listener
//! nothing is measured, and without followed traces a span is one look at an atomic.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use crate::clock::{Clock as _, SystemClock};

mod span;

pub use span::{Ended, Span, SpanKind, Value, follow, is_followed, is_traceparent};

/// A call that is over, whatever came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallEnded<'a> {
    /// Which server, where its name led to one.
    pub server: Option<&'a str>,
    /// What was done, as MCP has it: `tools/call`, ….
    pub method: &'static str,
    /// How far it went; none for what was refused.
    pub rung: Option<&'static str>,
    /// What came of it, one word of a closed list.
    pub outcome: &'static str,
    /// Why it was refused, one word of a closed list.
    pub reason: Option<&'static str>,
    /// From the gate's first stage to its last.
    pub elapsed: Duration,
    /// How long the server had it.
    pub at_server: Option<Duration>,
}

/// An answer of a model that is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelEnded<'a> {
    /// Whose, as the owner's file names it.
    pub provider: &'a str,
    /// What came of it, one word of a closed list.
    pub outcome: &'static str,
    /// Tokens read.
    pub input_tokens: Option<u64>,
    /// Tokens written.
    pub output_tokens: Option<u64>,
    /// Millionths of a US dollar.
    pub cost_micro_usd: Option<u64>,
    /// What a paid model would have cost more.
    pub saved_micro_usd: Option<u64>,
    /// From the request to its end.
    pub elapsed: Duration,
}

/// Who is told. Called in the middle of calls: it neither waits nor blocks.
pub trait Observer: Send + Sync + fmt::Debug {
    /// A call is over.
    fn call_ended(&self, call: &CallEnded<'_>);
    /// An answer of a model is over.
    fn model_ended(&self, model: &ModelEnded<'_>);
    /// A span of a followed trace is over.
    fn span_ended(&self, span: Ended);
}

/// The one who is told.
static OBSERVER: OnceLock<Arc<dyn Observer>> = OnceLock::new();

/// Time that is measured only where somebody is told.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Instant);

/// Tells `observer` of everything from here on; the first one stays. Whether it is this one.
pub fn tell(observer: Arc<dyn Observer>) -> bool {
    OBSERVER.set(observer).is_ok()
}

/// Who is told, if anybody.
#[must_use]
pub fn observer() -> Option<&'static dyn Observer> {
    OBSERVER.get().map(|observer| &**observer)
}

// === impl Stopwatch ===

impl Stopwatch {
    /// Begins to measure, if anybody is told.
    #[must_use]
    pub fn start() -> Option<Self> {
        OBSERVER.get().map(|_| Self(SystemClock.now()))
    }

    /// How long it has been.
    #[must_use]
    pub fn elapsed(self) -> Duration {
        SystemClock.now().saturating_duration_since(self.0)
    }
}
