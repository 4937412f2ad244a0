//! What is counted from many threads.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many parts there are; threads past that share one.
const PARTS: usize = 8;

/// A thing in parts, of which each thread has its own to write to: what two processors write costs each of them more than
/// what it is written for. Whoever reads adds the parts up.
#[derive(Debug, Default)]
pub struct Parts<T>([Apart<T>; PARTS]);

/// Far enough from everything else for no processor to fetch both together.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Apart<T>(T);

/// The part of this thread.
fn mine() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static MINE: Cell<Option<usize>> = const { Cell::new(None) };
    }
    MINE.get().unwrap_or_else(|| {
        let mine = NEXT.fetch_add(1, Ordering::Relaxed) % PARTS;
        MINE.set(Some(mine));
        mine
    })
}

impl<T> Parts<T> {
    /// This thread's.
    pub fn mine(&self) -> &T {
        &self.0[mine()].0
    }

    /// Every one.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter().map(|part| &part.0)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use super::*;

    #[test]
    fn the_parts_together_are_what_all_threads_counted() {
        let parts = Parts::<AtomicU64>::default();
        std::thread::scope(|scope| {
            for _ in 0..20 {
                scope.spawn(|| parts.mine().fetch_add(1, Ordering::Relaxed));
            }
        });
        let sum: u64 = parts.iter().map(|part| part.load(Ordering::Relaxed)).sum();
        assert_eq!(sum, 20);
        let used = parts.iter().filter(|part| part.load(Ordering::Relaxed) > 0);
        assert!(used.count() > 1);
    }
}
