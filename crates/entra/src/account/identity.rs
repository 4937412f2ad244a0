//! Under whose identity the account acts, for those who keep records.
//!
//! It is known from the first token on, kept beside the sign-in until that is
//! ended, and told at once to whoever asked to be: a record that is made after
//! an answer must name whom the answer named.

use std::sync::{Arc, PoisonError};

use legation_core::{Attribution, Identity, Secret};
use serde::{Deserialize, Serialize};

use super::{Account, Acting, Found};
use crate::error::SignInError;
use crate::token::Token;

/// Is told the identity of an account whenever it changes.
pub type Told = dyn Fn(&Account, &Identity) + Send + Sync;

/// What is kept of an identity.
#[derive(Serialize, Deserialize)]
struct Kept {
    attribution: String,
    agent_id: Option<Box<str>>,
    sponsor: Option<Box<str>>,
}

// === impl Acting ===

impl Acting {
    /// The same in the words of records.
    #[must_use]
    pub fn attribution(self) -> Attribution {
        match self {
            Self::AgentUser => Attribution::AgentUser,
            Self::AgentForHuman => Attribution::AgentForHuman,
            Self::ApplicationForHuman => Attribution::ApplicationForHuman,
        }
    }
}

// === impl Account ===

impl Account {
    /// Under whose identity it acts; nobody's before somebody has signed in.
    #[must_use]
    pub fn identity(&self) -> Identity {
        let identity = self.inner.identity.lock();
        identity.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Has somebody told whenever that changes. Only the first who asks is.
    pub fn tell_identity(&self, told: Arc<Told>) {
        self.inner.told.get_or_init(|| told);
    }

    /// Takes up the identity that another process, or this one before it was
    /// started again, signed in with.
    ///
    /// # Errors
    /// [`SignInError::Store`].
    pub async fn recall_identity(&self) -> Result<(), SignInError> {
        let kept = self.inner.vault.identity().await;
        let kept = kept.map_err(|source| SignInError::Store { source })?;
        if kept.is_none() && self.identity() != Identity::default() {
            // Signed out elsewhere: what is in memory here goes as well.
            self.inner.tokens.forget(|_| true);
        }
        let kept = kept.and_then(|kept| serde_json::from_str::<Kept>(kept.reveal()).ok());
        self.identified(kept.map(Kept::into_identity).unwrap_or_default());
        Ok(())
    }

    /// Whoever acts has got a token.
    pub(super) async fn keep_identity(&self, token: &Token) -> Result<(), SignInError> {
        let Found {
            acting, agent_id, ..
        } = self.found();
        // Whoever signed in answers for what is done on their behalf.
        let person = match acting {
            Acting::AgentUser => self.settings().human.clone(),
            Acting::AgentForHuman | Acting::ApplicationForHuman => {
                token.claims().oid.as_deref().map(Into::into)
            }
        };
        let identity = Identity {
            attribution: acting.attribution(),
            agent_id,
            sponsor: person,
        };
        if identity == self.identity() {
            return Ok(());
        }
        let kept = serde_json::json!(Kept::of(&identity)).to_string();
        let kept = self.inner.vault.keep_identity(&Secret::new(kept)).await;
        kept.map_err(|source| SignInError::Store { source })?;
        self.identified(identity);
        Ok(())
    }

    /// Nobody acts any more.
    pub(super) async fn forget_identity(&self) -> Result<(), SignInError> {
        self.identified(Identity::default());
        let gone = self.inner.vault.forget_identity().await;
        gone.map(drop)
            .map_err(|source| SignInError::Store { source })
    }

    fn identified(&self, identity: Identity) {
        let mut known = self
            .inner
            .identity
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if *known == identity {
            return;
        }
        known.clone_from(&identity);
        // Told under the lock, so that of two changes the later is told last.
        if let Some(told) = self.inner.told.get() {
            told(self, &identity);
        }
    }
}

// === impl Kept ===

impl Kept {
    fn of(identity: &Identity) -> Self {
        Self {
            attribution: identity.attribution.as_str().to_owned(),
            agent_id: identity.agent_id.clone(),
            sponsor: identity.sponsor.clone(),
        }
    }

    fn into_identity(self) -> Identity {
        Identity {
            attribution: Attribution::parse(&self.attribution).unwrap_or_default(),
            agent_id: self.agent_id,
            sponsor: self.sponsor,
        }
    }
}
