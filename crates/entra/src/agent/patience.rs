//! What was made is not everywhere at once: it takes up to two minutes until
//! all of the directory knows it.

use std::time::Duration;

use legation_core::OpContext;

use crate::account::{Account, Bootstrap};
use crate::error::{GraphError, GraphMeaning, Meaning, Refusal, SignInError};

/// The waits between tries, two minutes altogether.
const WAITS_S: [u64; 7] = [1, 2, 5, 12, 20, 30, 50];

/// Tries again while the failure may be that something is not known yet.
pub(super) async fn patiently<T>(
    ctx: &OpContext,
    mut attempt: impl AsyncFnMut() -> Result<T, GraphError>,
) -> Result<T, GraphError> {
    for wait in WAITS_S {
        match attempt().await {
            Err(error) if may_come(&error) => {
                tracing::debug!(%error, wait_s = wait, "the directory may not know it yet");
            }
            other => return other,
        }
        tokio::select! {
            biased;
            reason = ctx.cancel.cancelled() => {
                return Err(GraphError::Cancelled { operation: "provisioning".into(), reason });
            }
            () = tokio::time::sleep(Duration::from_secs(wait)) => {}
        }
    }
    attempt().await
}

// === impl Account ===

impl Account {
    /// Begins to act as an agent that was just made: again and again until the
    /// tenant knows all of it, two minutes at most.
    ///
    /// # Errors
    /// See [`SignInError`].
    pub async fn settle(&self, ctx: &OpContext) -> Result<Bootstrap, SignInError> {
        for wait in WAITS_S {
            match self.bootstrap(ctx).await {
                Err(error) if error.refusal().is_some_and(may_be_known) => {
                    tracing::debug!(%error, wait_s = wait, "the tenant may not know it yet");
                }
                other => return other,
            }
            tokio::select! {
                biased;
                reason = ctx.cancel.cancelled() => return Err(SignInError::Cancelled { reason }),
                () = tokio::time::sleep(Duration::from_secs(wait)) => {}
            }
        }
        self.bootstrap(ctx).await
    }
}

fn may_be_known(refusal: &Refusal) -> bool {
    matches!(
        refusal.meaning(),
        Meaning::UnknownApplication
            | Meaning::WrongSecret
            | Meaning::WrongSubject
            | Meaning::NoConsent
    )
}

fn may_come(error: &GraphError) -> bool {
    match error {
        GraphError::Refused(refusal) => {
            let text = format!("{} {}", refusal.code, refusal.message).to_ascii_lowercase();
            refusal.meaning() == GraphMeaning::NotFound
                || text.contains("doesnotexist")
                || text.contains("does not exist")
        }
        GraphError::Token { source, .. } => source.refusal().is_some_and(may_be_known),
        _ => false,
    }
}
