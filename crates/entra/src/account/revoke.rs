//! Ending to act.

use legation_core::OpContext;

use super::{Account, Acting};
use crate::error::{GraphError, SignInError};
use crate::token::Role;

/// What ending to act did.
#[derive(Debug)]
pub struct Revoked {
    /// Which sign-ins were forgotten here.
    pub forgotten: Vec<&'static str>,
    /// Whether the sessions of the agent's own user were ended at the tenant;
    /// `None` where nobody asked for it, or a person's would have been ended.
    pub sessions: Option<Result<(), GraphError>>,
}

// === impl Account ===

impl Account {
    /// Which sign-ins are kept, so that nobody has to sign in again.
    ///
    /// # Errors
    /// [`SignInError::Store`].
    pub async fn signed_in(&self) -> Result<Vec<&'static str>, SignInError> {
        let mut kept = Vec::new();
        for role in Role::KEPT {
            let token = self.inner.vault.refresh_token(role).await;
            if token
                .map_err(|source| SignInError::Store { source })?
                .is_some()
            {
                kept.push(role.as_str());
            }
        }
        Ok(kept)
    }

    /// Forgets every token and sign-in of this account. With `end_sessions`
    /// the tenant ends those of the agent's own user; a person's are never
    /// ended from here.
    ///
    /// # Errors
    /// [`SignInError::Store`] when something could not be forgotten; tokens in
    /// memory are then forgotten all the same.
    pub async fn revoke(
        &self,
        ctx: &OpContext,
        end_sessions: bool,
    ) -> Result<Revoked, SignInError> {
        let is_agents = self.acting() == Acting::AgentUser;
        let sessions = match end_sessions && is_agents {
            true => {
                let ended = self
                    .graph()
                    .post_again::<serde_json::Value>(ctx, "/me/revokeSignInSessions", None)
                    .await;
                Some(ended.map(drop))
            }
            false => None,
        };
        self.inner.tokens.forget(|_| true);
        self.forget_identity().await?;
        let mut forgotten = Vec::new();
        // The person's first: an exchange that ends now keeps nothing beside it.
        for role in Role::KEPT {
            let was_there = self.inner.vault.forget(role).await;
            if was_there.map_err(|source| SignInError::Store { source })? {
                forgotten.push(role.as_str());
            }
        }
        Ok(Revoked {
            forgotten,
            sessions,
        })
    }
}
