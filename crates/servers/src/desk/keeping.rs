//! What the desk forgets by itself: items of triage and suggestions where to file, once nobody has
//! touched them for long. The letters they are about stay where they are.

use std::time::Duration;

use legation_core::error::chain;
use legation_desk::filing::FilingState;
use legation_desk::triage::ItemState;

use super::Shared;
use super::book::{BookError, Kind};

/// For how long rows are kept after they last changed; `None` keeps them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Keeping {
    /// What was dealt with.
    pub done: Option<Duration>,
    /// What nobody dealt with.
    pub open: Option<Duration>,
}

/// How often it is looked for what is old.
pub(super) const EVERY_MS: i64 = 60 * 60 * 1000;
/// Never less: an unread letter is taken up for a week, and what was dismissed would come back.
const LEAST: Duration = Duration::from_secs(8 * 24 * 3600);

/// Kinds of rows with the words for how they stand, and whether that is dealt with.
const STATES: [(Kind, &str, bool); 9] = [
    (Kind::Triage, ItemState::Classified.as_str(), true),
    (Kind::Triage, ItemState::Linked.as_str(), true),
    (Kind::Triage, ItemState::Done.as_str(), true),
    (Kind::Triage, ItemState::Dismissed.as_str(), true),
    (Kind::Triage, ItemState::Open.as_str(), false),
    (Kind::Filing, FilingState::Filed.as_str(), true),
    (Kind::Filing, FilingState::Undone.as_str(), true),
    (Kind::Filing, FilingState::Rejected.as_str(), true),
    (Kind::Filing, FilingState::Proposed.as_str(), false),
];

/// Forgets what is old.
pub(super) async fn keep_up(shared: &Shared, keeping: Keeping) {
    match forgotten(shared, keeping).await {
        Ok(0) => {}
        Ok(count) => tracing::info!(count, "old items of triage and suggestions were forgotten"),
        Err(error) => {
            let error = chain(&error);
            tracing::warn!(error, "old items of triage and suggestions stay");
        }
    }
}

async fn forgotten(shared: &Shared, keeping: Keeping) -> Result<usize, BookError> {
    let mut count = 0;
    for (kind, state, is_done) in STATES {
        let kept = if is_done { keeping.done } else { keeping.open };
        let Some(kept) = kept else {
            continue;
        };
        let kept = i64::try_from(kept.max(LEAST).as_millis()).unwrap_or(i64::MAX);
        let before_ms = shared.now_ms().saturating_sub(kept);
        count += shared.book.forget(kind, state, before_ms).await?;
    }
    Ok(count)
}

#[cfg(test)]
mod tests;
