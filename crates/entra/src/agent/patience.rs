//! What was made is not everywhere at once: it takes up to two minutes until
//! all of the directory knows it.

use std::time::Duration;

use legation_core::OpContext;

use crate::error::{GraphError, GraphMeaning, Meaning};

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

fn may_come(error: &GraphError) -> bool {
    match error {
        GraphError::Refused(refusal) => {
            let text = format!("{} {}", refusal.code, refusal.message).to_ascii_lowercase();
            refusal.meaning() == GraphMeaning::NotFound
                || text.contains("doesnotexist")
                || text.contains("does not exist")
        }
        GraphError::Token { source, .. } => source.refusal().is_some_and(|refusal| {
            matches!(
                refusal.meaning(),
                Meaning::UnknownApplication | Meaning::WrongSecret | Meaning::WrongSubject
            )
        }),
        _ => false,
    }
}
