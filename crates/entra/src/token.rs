//! Tokens in use: kept while they are good, renewed once whoever waits.
//!
//! A refresh is done by whoever comes first and in its own time; the others
//! wait for the same answer. A task of its own for refreshes was rejected: it
//! would need somebody to be cancelled with, and a caller that is called off
//! is simply followed by the next.

mod cache;
mod vault;

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use legation_core::{Secret, Wall};

use crate::oauth::{Grant, TokenClaims};

pub(crate) use cache::{Source, TokenCache};
pub(crate) use vault::Vault;

/// Whose token it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// The person, at our own application: what acting on behalf stands on.
    Human,
    /// An administrator, to make agents.
    Administrator,
    /// The application on behalf of the person.
    OnBehalf,
    /// The agent on behalf of the person.
    AgentOnBehalf,
    /// The agent's own user.
    AgentUser,
    /// The agent itself.
    Agent,
    /// The blueprint itself.
    Blueprint,
    /// The blueprint's token for one agent (the first hop).
    AgentApplication,
    /// The agent's token to become its user (the second hop).
    AgentExchange,
}

/// One token that is asked for: whose, and for what.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TokenKey {
    pub(crate) role: Role,
    pub(crate) scope: Arc<str>,
}

/// A token that is good for a while.
pub struct Token {
    secret: Secret,
    scope: String,
    claims: TokenClaims,
    /// When the next caller gets a new one.
    refresh_at: Instant,
    expires_at: Instant,
    expires: Wall,
}

/// Refreshed so long before it expires: clocks differ by up to five minutes.
const EARLY: Duration = Duration::from_secs(5 * 60);
/// And up to so much earlier, so that not all hubs ask at once.
const JITTER_MS: u32 = 60_000;

// === impl Role ===

impl Role {
    /// Every role whose sign-in is kept.
    pub(crate) const KEPT: [Self; 3] = [Self::Human, Self::OnBehalf, Self::AgentOnBehalf];

    /// The word in the names of secrets and in messages.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Human => "human",
            Self::Administrator => "administrator",
            Self::OnBehalf => "on-behalf",
            Self::AgentOnBehalf => "agent-on-behalf",
            Self::AgentUser => "agent-user",
            Self::Agent => "agent",
            Self::Blueprint => "blueprint",
            Self::AgentApplication => "agent-application",
            Self::AgentExchange => "agent-exchange",
        }
    }
}

// === impl TokenKey ===

impl TokenKey {
    pub(crate) fn new(role: Role, scope: impl Into<Arc<str>>) -> Self {
        let scope = scope.into();
        Self { role, scope }
    }
}

// === impl Token ===

impl Token {
    /// Reads a grant that was answered at `now`.
    pub(crate) fn new(grant: &Grant, now: Instant, wall: Wall) -> Self {
        let mut claims = TokenClaims::of(grant.access_token.reveal());
        if let Some(id) = &grant.id_token {
            let of_person = TokenClaims::of(id.reveal());
            claims.name = claims.name.or(of_person.name);
            claims.upn = claims.upn.or(of_person.upn);
            claims.oid = claims.oid.or(of_person.oid);
        }
        let life = grant.expires_in;
        let early = (EARLY + jitter()).min(life / 2);
        let life_ms = i64::try_from(life.as_millis()).unwrap_or(i64::MAX);
        Self {
            secret: grant.access_token.clone(),
            scope: grant.scope.clone(),
            claims,
            refresh_at: now + (life - early),
            expires_at: now + life,
            expires: Wall(wall.0.saturating_add(life_ms)),
        }
    }

    /// The token itself, for the header of one request.
    #[must_use]
    pub fn reveal(&self) -> &str {
        self.secret.reveal()
    }

    pub(crate) fn secret(&self) -> &Secret {
        &self.secret
    }

    /// What it says of itself.
    #[must_use]
    pub fn claims(&self) -> &TokenClaims {
        &self.claims
    }

    /// The scopes it was given for.
    #[must_use]
    pub fn scopes(&self) -> Vec<String> {
        let given = self.scope.split_ascii_whitespace();
        let given: Vec<String> = given.map(short_scope).map(str::to_owned).collect();
        match given.is_empty() {
            true => self.claims.scopes.clone(),
            false => given,
        }
    }

    /// When it expires, by our clock.
    #[must_use]
    pub fn expires(&self) -> Wall {
        self.expires
    }

    /// For how much longer it is good.
    #[must_use]
    pub fn left(&self, now: Instant) -> Duration {
        self.expires_at.saturating_duration_since(now)
    }

    fn is_fresh(&self, now: Instant) -> bool {
        now < self.refresh_at
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Token")
            .field("expires", &self.expires)
            .finish_non_exhaustive()
    }
}

/// `Chat.Create` for `https://graph.microsoft.com/Chat.Create`.
fn short_scope(scope: &str) -> &str {
    scope.rsplit('/').next().unwrap_or(scope)
}

fn jitter() -> Duration {
    let mut bytes = [0u8; 4];
    // Without randomness there is no jitter, which is no harm.
    let _none = getrandom::fill(&mut bytes);
    Duration::from_millis(u64::from(u32::from_le_bytes(bytes) % JITTER_MS))
}

#[cfg(test)]
mod tests;
