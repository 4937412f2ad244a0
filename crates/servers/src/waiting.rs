//! Calls that are under way and do nothing but wait for a person.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many there are of a kind; clones count the same.
#[derive(Debug, Clone, Default)]
pub struct Waiting(Arc<AtomicUsize>);

/// One of them.
#[derive(Debug)]
pub(crate) struct Waits<'a>(&'a Waiting);

// === impl Waiting ===

impl Waiting {
    /// One more, until what is returned is dropped.
    pub(crate) fn enter(&self) -> Waits<'_> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Waits(self)
    }

    /// How many there are now.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

// === impl Waits ===

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::Waiting;

    #[test]
    fn who_waits_is_counted_until_it_is_dropped() {
        let waiting = Waiting::default();
        let seen_elsewhere = waiting.clone();
        let (first, second) = (waiting.enter(), waiting.enter());
        assert_eq!(seen_elsewhere.count(), 2);
        drop(first);
        assert_eq!(seen_elsewhere.count(), 1);
        drop(second);
        assert_eq!(seen_elsewhere.count(), 0);
    }
}
