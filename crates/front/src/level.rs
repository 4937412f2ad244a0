//! Severities of log messages (RFC 5424, as MCP names them).

use legation_wire::json::Raw;

/// A severity; greater is graver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

// === impl Level ===

impl Level {
    const ALL: [Self; 8] = [
        Self::Debug,
        Self::Info,
        Self::Notice,
        Self::Warning,
        Self::Error,
        Self::Critical,
        Self::Alert,
        Self::Emergency,
    ];

    /// As it is written on the wire.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Notice => "notice",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Critical => "critical",
            Self::Alert => "alert",
            Self::Emergency => "emergency",
        }
    }

    /// Reads a severity.
    pub(crate) fn from_raw(raw: &Raw) -> Option<Self> {
        let text = raw.to_str()?;
        Self::ALL.into_iter().find(|level| level.as_str() == text)
    }

    /// Whether a message (params of `notifications/message`) is grave enough
    /// for a client that wants this level. One without a level is not.
    pub(crate) fn lets(self, params: &Raw) -> bool {
        params
            .get("level")
            .and_then(|level| Self::from_raw(&level))
            .is_some_and(|level| level >= self)
    }
}
