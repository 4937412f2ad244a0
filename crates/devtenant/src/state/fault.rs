//! Faults that were ordered: what goes wrong, how often, and where.

use serde::{Deserialize, Serialize};

/// One ordered fault.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Fault {
    /// Names it in commands.
    pub(crate) id: u64,
    pub(crate) kind: FaultKind,
    /// Only requests whose `METHOD path` contains this.
    #[serde(default)]
    pub(crate) matching: String,
    /// How many requests it still meets; `None` until it is withdrawn.
    #[serde(default)]
    pub(crate) left: Option<u32>,
    /// The earliest time the client may come back, once it was told.
    #[serde(default)]
    pub(crate) not_before_ms: i64,
    /// When the client was told so.
    #[serde(default)]
    pub(crate) told_ms: i64,
}

/// What goes wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "fault")]
pub(crate) enum FaultKind {
    /// 429, with a time to wait or without.
    Throttle {
        /// Seconds.
        #[serde(default)]
        retry_after: Option<u32>,
        /// The time is told as a date, which RFC 9110 allows and clients forget.
        #[serde(default)]
        date: bool,
    },
    /// Another status, such as 503.
    Status { status: u16 },
    /// The connection ends before anything happened.
    Cut,
    /// The connection ends after everything happened.
    CutAfter,
    /// The access token counts as expired.
    Expired,
    /// A claims challenge for a token that is still good.
    Challenge,
    /// Every delta link has become too old.
    Gone,
    /// The person's licence is missing.
    Unlicensed,
    /// Consent is missing at the token endpoint.
    Consent,
    /// A second factor is needed at the token endpoint.
    Mfa,
    /// Any other error of the token endpoint, by its number.
    Aadsts { code: u32 },
}

/// A client needs this long to hear that it should wait; what comes sooner was under way.
const UNDER_WAY_MS: i64 = 100;

/// What meets a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Met {
    /// The fault happens.
    Fault(FaultKind),
    /// The client was told to wait and did not; this many seconds are left.
    Early(u32),
}

// === impl FaultKind ===

impl FaultKind {
    /// Whether it is for any request, before the request is looked at.
    pub(crate) fn interrupts(&self) -> bool {
        matches!(
            self,
            Self::Throttle { .. } | Self::Status { .. } | Self::Cut
        )
    }
}

// === impl World ===

impl super::World {
    /// Takes one ordered fault that fits a request. `what` is its method and path.
    pub(crate) fn meet(
        &mut self,
        what: &str,
        fits: impl Fn(&FaultKind) -> bool,
    ) -> Option<FaultKind> {
        match self.meet_at(what, 0, fits)? {
            Met::Fault(kind) => Some(kind),
            Met::Early(_) => None,
        }
    }

    /// The same with the time, for faults that say when to come back.
    pub(crate) fn meet_at(
        &mut self,
        what: &str,
        now_ms: i64,
        fits: impl Fn(&FaultKind) -> bool,
    ) -> Option<Met> {
        self.faults
            .retain(|fault| fault.left != Some(0) || fault.not_before_ms > now_ms);
        let fault = self
            .faults
            .iter_mut()
            .find(|fault| fits(&fault.kind) && fault.is_for(what))?;
        if now_ms < fault.not_before_ms {
            let left_ms = fault.not_before_ms - now_ms;
            return Some(Met::Early(
                u32::try_from((left_ms + 999) / 1000).unwrap_or(1),
            ));
        }
        if fault.left == Some(0) {
            return None;
        }
        fault.left = fault.left.map(|left| left - 1);
        if let FaultKind::Throttle {
            retry_after: Some(seconds),
            ..
        } = fault.kind
        {
            fault.told_ms = now_ms;
            fault.not_before_ms = now_ms + i64::from(seconds) * 1000;
        }
        Some(Met::Fault(fault.kind.clone()))
    }

    /// Whether a client that came back early had time to hear that it should not.
    pub(crate) fn was_told(&self, what: &str, now_ms: i64) -> bool {
        self.faults
            .iter()
            .any(|fault| fault.is_for(what) && now_ms - fault.told_ms > UNDER_WAY_MS)
    }
}

// === impl Fault ===

impl Fault {
    /// Without a pattern a fault is for Graph, and one of the token endpoint for that.
    fn is_for(&self, what: &str) -> bool {
        if self.matching.is_empty() {
            let graph = what.contains(" /v1.0/") || what.contains(" /beta/");
            let token = matches!(
                self.kind,
                FaultKind::Consent | FaultKind::Mfa | FaultKind::Aadsts { .. }
            );
            return graph || token;
        }
        what.contains(&self.matching)
    }
}
