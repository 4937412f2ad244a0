//! Who may look at the pages: links that work once, sessions in a browser, and
//! the tokens of their forms.
//!
//! A browser has no place for a bearer token that other pages could not make it
//! send, so a session lives in a cookie that no script reads and no other site
//! brings along. Sessions are kept in memory and signed with a key of this start
//! of the hub: a stop ends them all, and a cookie of another hub opens nothing.
//! There is no clock here; the time is told with every question.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use legation_core::Wall;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// How long a link works, in milliseconds.
pub const LINK_MS: i64 = 5 * 60 * 1_000;
/// How long a session lasts that nobody uses.
const IDLE_MS: i64 = 30 * 60 * 1_000;
/// How long a session lasts at most.
const WHOLE_MS: i64 = 12 * 60 * 60 * 1_000;
/// Most links that wait to be used; the oldest goes.
const LINKS_MAX: usize = 16;
/// Most sessions; the one that was not used for the longest goes.
const SESSIONS_MAX: usize = 64;
/// Random bytes of a link, and of a session's id.
const ID_BYTES: usize = 32;

type Id = [u8; ID_BYTES];

/// Lets people in and knows them again.
pub struct Door {
    key: [u8; 32],
    cookie: String,
    inside: Mutex<Inside>,
}

/// A session that was found good for one request.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Pass(Id);

/// What the next page says first: what became of a form that was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// Whether it was not done.
    pub is_failure: bool,
    /// What happened, and what was not done.
    pub text: String,
    /// What to do next.
    pub hint: Option<String>,
    /// The approval or proposal that it waits under.
    pub approval: Option<String>,
}

/// The system has no randomness to give, so nobody can be let in.
#[derive(Debug, thiserror::Error)]
#[error("the system gave no random bytes for the console")]
pub struct DoorError(#[source] getrandom::Error);

#[derive(Default)]
struct Inside {
    /// Digests of the links, and until when they work; oldest first.
    links: VecDeque<([u8; 32], i64)>,
    sessions: Vec<Session>,
}

struct Session {
    id: Id,
    began_ms: i64,
    used_ms: i64,
    notice: Option<Notice>,
}

// === impl Door ===

impl Door {
    /// A door of the hub with this name: what tells it from every other hub on the
    /// machine, such as its data directory. Browsers keep cookies by host and not by
    /// port, so the name stands in the cookie's.
    ///
    /// # Errors
    /// When the system has no randomness to give.
    pub fn new(hub: &str) -> Result<Self, DoorError> {
        let digest = Sha256::digest(hub.as_bytes());
        let cookie = format!("legation-{}", legation_core::id::hex(&digest[..6]));
        Ok(Self {
            key: random()?,
            cookie,
            inside: Mutex::default(),
        })
    }

    /// The word of a new link, which works once and for [`LINK_MS`].
    ///
    /// # Errors
    /// When the system has no randomness to give.
    pub fn link(&self, now: Wall) -> Result<String, DoorError> {
        let word = URL_SAFE_NO_PAD.encode(random::<ID_BYTES>()?);
        let mut inside = self.inside();
        if inside.links.len() == LINKS_MAX {
            inside.links.pop_front();
        }
        inside.links.push_back((digest(&word), now.0 + LINK_MS));
        Ok(word)
    }

    /// Begins a session for whoever brings a link's word; the value of `Set-Cookie`.
    /// `None` for a word that was used, is too old, or never was one.
    ///
    /// # Errors
    /// When the system has no randomness to give; the link works on.
    pub fn enter(&self, word: &str, now: Wall) -> Result<Option<String>, DoorError> {
        let id = random()?;
        let mut inside = self.inside();
        inside.links.retain(|(_, until_ms)| now.0 < *until_ms);
        let digest = digest(word);
        let found = inside
            .links
            .iter()
            .position(|(link, _)| bool::from(link.ct_eq(&digest)));
        let Some(found) = found else {
            return Ok(None);
        };
        inside.links.remove(found);
        inside.sessions.retain(|session| session.lives(now));
        if inside.sessions.len() == SESSIONS_MAX {
            let oldest = inside.sessions.iter().enumerate();
            let oldest = oldest.min_by_key(|(_, session)| session.used_ms);
            let oldest = oldest.map_or(0, |(place, _)| place);
            inside.sessions.swap_remove(oldest);
        }
        inside.sessions.push(Session {
            id,
            began_ms: now.0,
            used_ms: now.0,
            notice: None,
        });
        let value = format!("{}.{}", text(&id), text(&self.mac(b"session", &id)));
        Ok(Some(format!(
            "{}={value}; Path=/; HttpOnly; SameSite=Strict",
            self.cookie
        )))
    }

    /// Whose cookie this is, if its session lives; `cookies` are the values of the
    /// `Cookie` headers. Looking counts as using unless it is `quiet`: a stream that
    /// stays open must not keep a session alive that nobody sits before.
    #[must_use]
    pub fn pass<'a>(
        &self,
        cookies: impl Iterator<Item = &'a str>,
        now: Wall,
        quiet: bool,
    ) -> Option<Pass> {
        let mut pairs = cookies.flat_map(|header| header.split(';'));
        let id = pairs.find_map(|pair| {
            let (name, value) = pair.trim().split_once('=')?;
            (name == self.cookie).then(|| self.signed(value))?
        })?;
        let mut inside = self.inside();
        inside.sessions.retain(|session| session.lives(now));
        let session = inside.session(&id)?;
        if !quiet {
            session.used_ms = now.0;
        }
        Some(Pass(id))
    }

    /// Whether a session lives still.
    #[must_use]
    pub fn lives(&self, pass: &Pass, now: Wall) -> bool {
        let mut inside = self.inside();
        let session = inside.session(&pass.0);
        session.is_some_and(|session| session.lives(now))
    }

    /// What the forms of a session must bring back.
    #[must_use]
    pub fn token(&self, pass: &Pass) -> String {
        text(&self.mac(b"form", &pass.0))
    }

    /// Whether a form brought it back.
    #[must_use]
    pub fn is_token(&self, pass: &Pass, brought: &str) -> bool {
        self.token(pass).as_bytes().ct_eq(brought.as_bytes()).into()
    }

    /// Ends a session; the value of `Set-Cookie` that makes the browser forget it.
    #[must_use]
    pub fn leave(&self, pass: &Pass) -> String {
        self.inside()
            .sessions
            .retain(|session| session.id != pass.0);
        format!(
            "{}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0",
            self.cookie
        )
    }

    /// Leaves a notice for the session's next page.
    pub fn tell(&self, pass: &Pass, notice: Notice) {
        if let Some(session) = self.inside().session(&pass.0) {
            session.notice = Some(notice);
        }
    }

    /// Takes the notice that was left.
    #[must_use]
    pub fn told(&self, pass: &Pass) -> Option<Notice> {
        self.inside().session(&pass.0)?.notice.take()
    }

    /// The session that a cookie's value names, if this hub signed it.
    fn signed(&self, value: &str) -> Option<Id> {
        let (id, mac) = value.split_once('.')?;
        let id: Id = URL_SAFE_NO_PAD.decode(id).ok()?.try_into().ok()?;
        let mac = URL_SAFE_NO_PAD.decode(mac).ok()?;
        let good: bool = self.mac(b"session", &id).ct_eq(&mac).into();
        good.then_some(id)
    }

    fn mac(&self, purpose: &[u8], id: &Id) -> [u8; 32] {
        let mut mac =
            Hmac::<Sha256>::new_from_slice(&self.key).expect("HMAC takes keys of any length");
        mac.update(self.cookie.as_bytes());
        mac.update(b"\0");
        mac.update(purpose);
        mac.update(b"\0");
        mac.update(id);
        mac.finalize().into_bytes().into()
    }

    fn inside(&self) -> MutexGuard<'_, Inside> {
        // Nothing in here is ever half changed.
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Door {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Door").finish_non_exhaustive()
    }
}

// === impl Pass ===

impl fmt::Debug for Pass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pass(****)")
    }
}

// === impl Notice ===

impl Notice {
    /// Something was done.
    pub fn done(text: impl Into<String>) -> Self {
        Self {
            is_failure: false,
            text: text.into(),
            hint: None,
            approval: None,
        }
    }

    /// Something was not done.
    pub fn failed(text: impl Into<String>) -> Self {
        Self {
            is_failure: true,
            text: text.into(),
            hint: None,
            approval: None,
        }
    }
}

// === impl Inside ===

impl Inside {
    fn session(&mut self, id: &Id) -> Option<&mut Session> {
        self.sessions
            .iter_mut()
            .find(|session| bool::from(session.id.ct_eq(id)))
    }
}

// === impl Session ===

impl Session {
    /// A clock that was set back ends nothing early.
    fn lives(&self, now: Wall) -> bool {
        now.0 < self.used_ms + IDLE_MS && now.0 < self.began_ms + WHOLE_MS
    }
}

fn random<const N: usize>() -> Result<[u8; N], DoorError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(DoorError)?;
    Ok(bytes)
}

fn digest(word: &str) -> [u8; 32] {
    Sha256::digest(word.as_bytes()).into()
}

fn text(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

#[cfg(test)]
mod tests;
