//! Numbers that look random and come back with their seed (SplitMix64).

/// A stream of such numbers.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The stream of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 up to, but not, `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.draw() % bound.max(1) as u64) as usize
    }

    /// Yes in so many of a hundred cases.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

/// A seed that differs from run to run.
#[must_use]
pub fn fresh_seed() -> u64 {
    // The system chose the folder's name at random.
    let name = tempfile::tempdir().map(|path| path.path().to_string_lossy().into_owned());
    let name = name.unwrap_or_default();
    name.bytes()
        .fold(std::process::id().into(), |seed: u64, byte| {
            seed.wrapping_mul(31).wrapping_add(byte.into())
        })
}
