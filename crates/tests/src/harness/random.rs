//! Made-up data that can be made up again.

use std::hash::{BuildHasher, RandomState};

/// A small generator (xorshift64*): the same seed, the same results.
#[derive(Debug)]
pub struct Random(u64);

/// The seed of a run: `LEGATION_TEST_SEED`, or a new one. Print it: a failure repeats with it.
#[expect(
    clippy::disallowed_methods,
    reason = "the seed of a failed run is given from outside"
)]
#[must_use]
pub fn seed() -> u64 {
    let given = std::env::var("LEGATION_TEST_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok());
    given
        .unwrap_or_else(|| RandomState::new().hash_one(0))
        .max(1)
}

// === impl Random ===

impl Random {
    /// The generator of a seed other than 0.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed.max(1))
    }

    /// Any number.
    pub fn number(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// A number below another.
    pub fn below(&mut self, end: usize) -> usize {
        // What remains is less than a `usize`.
        usize::try_from(self.number() % end.max(1) as u64).unwrap_or_default()
    }

    /// One of them.
    ///
    /// # Panics
    /// Where there is none.
    pub fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.below(from.len())]
    }
}
