//! How much is read of an answer, and how long it is waited for.

use std::time::Duration;

/// Bounds of one answer. Whatever is larger fails the answer: a server that
/// writes without end would else fill the memory of everybody's hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The request, in bytes.
    pub request: usize,
    /// One event, in bytes.
    pub event: usize,
    /// The whole stream with everything in it, in bytes.
    pub stream: usize,
    /// What the model says, thinks and calls, in bytes.
    pub content: usize,
    /// How many calls it makes.
    pub calls: usize,
    /// What is read of an answer that says no, and of one that is asked about
    /// the server itself, in bytes.
    pub plain: usize,
}

/// How long an answer is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// For a connection.
    pub connect: Duration,
    /// From then to the first word. What a server says to stay connected is
    /// no word.
    pub first: Duration,
    /// Between any two pieces after that.
    pub idle: Duration,
    /// For the formal end, once the model is done.
    pub end: Duration,
}

// === impl Limits ===

impl Default for Limits {
    fn default() -> Self {
        Self {
            request: 32 << 20,
            event: 4 << 20,
            stream: 64 << 20,
            content: 8 << 20,
            calls: 128,
            plain: 256 << 10,
        }
    }
}

// === impl Timeouts ===

impl Timeouts {
    /// For services that have machines of their own.
    #[must_use]
    pub fn remote() -> Self {
        Self {
            connect: Duration::from_secs(15),
            first: Duration::from_secs(60),
            idle: Duration::from_secs(120),
            end: Duration::from_secs(2),
        }
    }

    /// For a model on the owner's machine, which may have to be loaded and may
    /// read a long conversation for minutes before its first word.
    #[must_use]
    pub fn local() -> Self {
        Self {
            connect: Duration::from_secs(5),
            first: Duration::from_secs(300),
            ..Self::remote()
        }
    }
}
