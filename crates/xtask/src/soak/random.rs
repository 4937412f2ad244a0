//! A small generator whose every number follows from the seed (xorshift64*, Marsaglia 2003).

use std::hash::{BuildHasher as _, RandomState};

/// The generator.
#[derive(Debug)]
pub(super) struct Random(u64);

/// A seed that differs from run to run.
pub(super) fn fresh_seed() -> u64 {
    // The standard library's hasher is keyed by the system's randomness.
    RandomState::new().hash_one(std::process::id()) >> 16
}

// === impl Random ===

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        // Zero would stay zero, and small seeds start alike, so they are spread first.
        let spread = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Self(spread.max(1))
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `end`, which must not be zero.
    pub(super) fn below(&mut self, end: usize) -> usize {
        let bound = end.max(1) as u64;
        usize::try_from(self.next() % bound).unwrap_or_default()
    }

    /// One of several; there must be one.
    pub(super) fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    /// So many random bytes.
    pub(super) fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next().to_be_bytes()[0]).collect()
    }
}
