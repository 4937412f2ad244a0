//! What is sent again, and when: a decision without IO.

use std::time::Duration;

use http::HeaderMap;
use http::header::RETRY_AFTER;
use legation_core::Wall;

use super::limiter::WAIT_MAX;
use super::{HttpError, Response};

/// Whether a request may be sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// It changes nothing, or the same thing again.
    Safe,
    /// It creates something and has no key of its own: it is sent again only
    /// when the service said that it did nothing, or never got it.
    Refused,
    /// Never.
    Never,
}

/// Most attempts.
const TRIES: u32 = 5;
/// The first wait where the service names none; it doubles.
const BASE: Duration = Duration::from_millis(500);
/// The longest of those.
const CAP: Duration = Duration::from_secs(30);

/// How often a request was sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attempt {
    repeat: Repeat,
    done: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The answer, or the error, stands. The service may have named a time
    /// all the same.
    Done { hold: Option<Duration> },
    /// Sent again after this.
    Again {
        wait: Duration,
        /// Whether the service named the time: then all wait.
        for_all: bool,
    },
    /// The service wants to be left alone for longer than is waited.
    TooLong { wait: Duration },
}

// === impl Attempt ===

impl Attempt {
    pub(super) fn first(repeat: Repeat) -> Self {
        Self { repeat, done: 0 }
    }

    pub(super) fn judge(&mut self, result: &Result<Response, HttpError>, now: Wall) -> Verdict {
        let random = random_fraction();
        self.decide(result, now, random)
    }

    fn decide(&mut self, result: &Result<Response, HttpError>, now: Wall, random: f64) -> Verdict {
        self.done += 1;
        let (may_repeat, named) = match result {
            Ok(answer) => {
                let named = retry_after(&answer.headers, now);
                (self.may_repeat_status(answer.status), named)
            }
            Err(error) => (self.may_repeat_error(error), None),
        };
        let throttled = matches!(result, Ok(answer) if is_throttle(answer.status));
        let is_final = !(may_repeat || throttled && named.is_some());
        if is_final {
            return Verdict::Done { hold: named };
        }
        let wait = named.unwrap_or_else(|| self.backoff(random));
        if throttled && (self.done >= TRIES || wait > WAIT_MAX || !may_repeat) {
            return Verdict::TooLong { wait };
        }
        if self.done >= TRIES || wait > WAIT_MAX {
            return Verdict::Done { hold: named };
        }
        Verdict::Again {
            wait,
            for_all: named.is_some(),
        }
    }

    fn may_repeat_status(self, status: u16) -> bool {
        match self.repeat {
            Repeat::Safe => matches!(status, 429 | 502 | 503 | 504 | 509),
            // Only this says that nothing was done.
            Repeat::Refused => is_throttle(status),
            Repeat::Never => false,
        }
    }

    fn may_repeat_error(self, error: &HttpError) -> bool {
        let unsent = matches!(error, HttpError::Connect { .. });
        match self.repeat {
            Repeat::Safe => {
                unsent || matches!(error, HttpError::Broken { .. } | HttpError::Timeout { .. })
            }
            Repeat::Refused => unsent,
            Repeat::Never => false,
        }
    }

    /// Full jitter: anything between nothing and the doubled bound.
    fn backoff(self, random: f64) -> Duration {
        let doubled = BASE * 2u32.saturating_pow(self.done.saturating_sub(1));
        doubled.min(CAP).mul_f64(random)
    }
}

// === impl Verdict ===

impl Verdict {
    /// How long everybody must wait, if the service said so.
    pub(super) fn hold(self) -> Option<Duration> {
        match self {
            Self::Again {
                wait,
                for_all: true,
            }
            | Self::TooLong { wait } => Some(wait),
            Self::Done { hold } => hold,
            Self::Again { .. } => None,
        }
    }
}

fn is_throttle(status: u16) -> bool {
    matches!(status, 429 | 509)
}

/// `Retry-After` (RFC 9110 section 10.2.3): seconds or a date, which is held
/// against the service's own time.
pub(crate) fn retry_after(headers: &HeaderMap, now: Wall) -> Option<Duration> {
    let value = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = value.parse::<f64>() {
        let fits = seconds.is_finite() && seconds >= 0.0;
        return fits.then(|| Duration::from_secs_f64(seconds.min(86_400.0)));
    }
    let at = httpdate::parse_http_date(value).ok()?;
    let at = at.duration_since(std::time::UNIX_EPOCH).ok()?;
    let now = Duration::from_millis(u64::try_from(now.0).unwrap_or(0));
    Some(at.saturating_sub(now).min(Duration::from_secs(86_400)))
}

/// Between 0 and 1. Without randomness everybody waits the whole time.
fn random_fraction() -> f64 {
    let mut bytes = [0u8; 4];
    match getrandom::fill(&mut bytes) {
        Ok(()) => f64::from(u32::from_le_bytes(bytes)) / f64::from(u32::MAX),
        Err(_) => 1.0,
    }
}

#[cfg(test)]
mod tests;
