//! Which requests were answered, so that none is answered twice.
//!
//! GitHub's requests carry no time. How long a copied one could be of use is bounded all the same: its
//! user's token is asked after at GitHub each time and ends within hours. For longer than that every
//! signature is remembered, here and, so that a hub that starts again knows them too, by the hub.

use std::collections::{HashSet, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::signature::Mark;

/// How long a signature is remembered: longer than any token that could come with it lives.
pub(crate) const REMEMBERED: Duration = Duration::from_secs(24 * 60 * 60);
/// Most signatures that are remembered. Only GitHub can make one, so it takes GitHub to fill this;
/// what comes then is refused rather than an older one forgotten.
const MARKS_MAX: usize = 65_536;

/// The signatures there were.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    marks: Mutex<Marks>,
}

#[derive(Debug, Default)]
struct Marks {
    known: HashSet<Mark>,
    by_age: VecDeque<(Instant, Mark)>,
}

/// What is said of a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum First {
    Yes,
    No,
    /// There is no room to remember it.
    Full,
}

// === impl Seen ===

impl Seen {
    /// Remembers a signature; whether it is the first time.
    pub(crate) fn note(&self, mark: Mark, now: Instant) -> First {
        let mut marks = self.marks.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some((at, old)) = marks.by_age.front().copied()
            && now.saturating_duration_since(at) >= REMEMBERED
        {
            marks.by_age.pop_front();
            marks.known.remove(&old);
        }
        if marks.known.contains(&mark) {
            return First::No;
        }
        if marks.known.len() >= MARKS_MAX {
            return First::Full;
        }
        marks.known.insert(mark);
        marks.by_age.push_back((now, mark));
        First::Yes
    }
}
