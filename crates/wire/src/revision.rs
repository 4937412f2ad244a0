//! The protocol revisions of MCP that the hub speaks, and their two eras.

use std::fmt;

use crate::json::Raw;

/// A protocol revision; ordered by date.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Revision {
    /// 2024-11-05, the first; HTTP+SSE.
    V2024_11_05,
    /// 2025-03-26: Streamable HTTP, batches.
    V2025_03_26,
    /// 2025-06-18: elicitation, structured output; no batches any more.
    V2025_06_18,
    /// 2025-11-25: URL elicitation, experimental tasks.
    V2025_11_25,
    /// 2026-07-28: no handshake, per-request metadata.
    V2026_07_28,
}

/// How revision, identity and capabilities are conveyed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Era {
    /// By an `initialize` handshake; up to 2025-11-25.
    Legacy,
    /// By metadata on every request; from 2026-07-28.
    Modern,
}

// === impl Revision ===

impl Revision {
    /// Every revision, oldest first.
    pub const ALL: [Self; 5] = [
        Self::V2024_11_05,
        Self::V2025_03_26,
        Self::V2025_06_18,
        Self::V2025_11_25,
        Self::V2026_07_28,
    ];
    /// The revisions that `initialize` can settle on, oldest first.
    pub const LEGACY: [Self; 4] = [
        Self::V2024_11_05,
        Self::V2025_03_26,
        Self::V2025_06_18,
        Self::V2025_11_25,
    ];
    /// The newest revision with a handshake.
    pub const LATEST_LEGACY: Self = Self::V2025_11_25;
    /// The newest revision.
    pub const LATEST: Self = Self::V2026_07_28;

    /// The revision as it is written on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// The revision as a JSON string, without composing it.
    pub fn to_raw(self) -> Raw {
        Raw::from_static(match self {
            Self::V2024_11_05 => r#""2024-11-05""#,
            Self::V2025_03_26 => r#""2025-03-26""#,
            Self::V2025_06_18 => r#""2025-06-18""#,
            Self::V2025_11_25 => r#""2025-11-25""#,
            Self::V2026_07_28 => r#""2026-07-28""#,
        })
    }

    /// Reads a revision; `None` for one that is not spoken here.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|revision| revision.as_str() == text)
    }

    /// The era of this revision.
    pub fn era(self) -> Era {
        if self.is_modern() {
            Era::Modern
        } else {
            Era::Legacy
        }
    }

    /// Whether this revision has no handshake.
    pub fn is_modern(self) -> bool {
        self >= Self::V2026_07_28
    }

    /// Whether JSON-RPC batches exist; one revision only.
    pub fn has_batches(self) -> bool {
        self == Self::V2025_03_26
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
