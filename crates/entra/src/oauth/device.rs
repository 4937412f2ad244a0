//! Signing in with a code (RFC 8628): when to ask again, without IO.

use std::time::{Duration, Instant};

use legation_core::Secret;
use serde::Deserialize;

use crate::base::Private;
use crate::error::{Meaning, SignInError};

/// How long a person is waited for, unless the code is good for less.
pub const WAIT: Duration = Duration::from_secs(120);
/// RFC 8628 section 3.2, where the answer names none.
const INTERVAL: Duration = Duration::from_secs(5);

/// What a person needs to sign in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignInPrompt {
    /// The code to enter.
    pub user_code: String,
    /// Where to enter it.
    pub verification_uri: String,
    /// The authority's own sentence.
    pub message: String,
    /// The link as a QR code, drawn with block characters, two rows a line.
    pub qr: String,
    /// For how long it can be entered.
    pub expires_in: Duration,
}

#[derive(Deserialize)]
#[serde(from = "Body")]
pub(crate) struct DeviceCode {
    pub(crate) device_code: Secret,
    pub(crate) user_code: String,
    pub(crate) verification_uri: String,
    pub(crate) message: String,
    pub(crate) expires_in: Duration,
    pub(crate) interval: Duration,
}

#[derive(Deserialize)]
struct Body {
    device_code: Private,
    user_code: String,
    #[serde(alias = "verification_url")]
    verification_uri: String,
    #[serde(default)]
    message: String,
    #[serde(default)]
    expires_in: Option<u64>,
    #[serde(default)]
    interval: Option<u64>,
}

/// When to ask whether the code was entered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Polling {
    started: Instant,
    until: Instant,
    interval: Duration,
    next: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Not before this has passed.
    Wait(Duration),
    /// Now.
    Ask,
    /// No more; so long it was waited.
    TimedOut(Duration),
}

// === impl DeviceCode ===

impl From<Body> for DeviceCode {
    fn from(body: Body) -> Self {
        Self {
            device_code: body.device_code.0,
            user_code: crate::base::plain(&body.user_code, 64),
            verification_uri: crate::base::plain(&body.verification_uri, 400),
            message: crate::base::plain(&body.message, 600),
            expires_in: body.expires_in.map_or(WAIT, Duration::from_secs),
            interval: body.interval.map_or(INTERVAL, Duration::from_secs),
        }
    }
}

impl DeviceCode {
    pub(crate) fn prompt(&self, wait: Duration) -> SignInPrompt {
        let (uri, code) = (&self.verification_uri, &self.user_code);
        let message = match self.message.is_empty() {
            true => format!("To sign in, open {uri} and enter the code {code}."),
            false => self.message.clone(),
        };
        SignInPrompt {
            user_code: code.clone(),
            verification_uri: uri.clone(),
            message,
            qr: qr(uri),
            expires_in: self.expires_in.min(wait),
        }
    }
}

impl std::fmt::Debug for DeviceCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DeviceCode")
            .field("user_code", &self.user_code)
            .finish_non_exhaustive()
    }
}

/// A QR code of a link, empty when the link is too long for one.
fn qr(link: &str) -> String {
    match qrcode::QrCode::new(link.as_bytes()) {
        Ok(code) => code
            .render::<qrcode::render::unicode::Dense1x2>()
            .quiet_zone(true)
            .build(),
        Err(_) => String::new(),
    }
}

// === impl Polling ===

impl Polling {
    pub(crate) fn start(code: &DeviceCode, wait: Duration, now: Instant) -> Self {
        Self {
            started: now,
            until: now + code.expires_in.min(wait),
            interval: code
                .interval
                .clamp(Duration::from_secs(1), Duration::from_secs(60)),
            next: now + code.interval,
        }
    }

    /// How long it is waited altogether.
    pub(crate) fn whole(&self) -> Duration {
        self.until - self.started
    }

    pub(crate) fn next(&self, now: Instant) -> Next {
        if now >= self.until {
            return Next::TimedOut(self.whole());
        }
        if now < self.next {
            let until = self.next.min(self.until);
            return Next::Wait(until - now);
        }
        Next::Ask
    }

    /// Takes a failed question; `Err` when there is no use in another.
    pub(crate) fn failed(&mut self, error: SignInError, now: Instant) -> Result<(), SignInError> {
        self.next = now + self.interval;
        match &error {
            SignInError::Refused(refusal) if refusal.meaning() == Meaning::Pending => Ok(()),
            // RFC 8628 section 3.5; Entra ID documents no such answer.
            SignInError::Refused(refusal) if &*refusal.error == "slow_down" => {
                self.interval += INTERVAL;
                self.next = now + self.interval;
                Ok(())
            }
            SignInError::RateLimited { retry_after, .. } => {
                self.next = now + self.interval.max(*retry_after);
                Ok(())
            }
            // Of two answers the first is lost when the line breaks; the code
            // is still good.
            SignInError::Unreachable { .. } => Ok(()),
            _ => Err(error),
        }
    }
}

#[cfg(test)]
mod tests;
