//! Sets of numbers that are mostly without gaps.

/// Half-open ranges, sorted, apart from each other and not empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Ranges(Vec<(u64, u64)>);

// === impl Ranges ===

impl Ranges {
    /// The set of these ranges, whatever their order and overlaps.
    pub(crate) fn from_pairs(pairs: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let mut ranges = Self::default();
        for (from, to) in pairs {
            ranges.insert_range(from, to);
        }
        ranges
    }

    pub(crate) fn insert(&mut self, number: u64) {
        self.insert_range(number, number + 1);
    }

    pub(crate) fn insert_range(&mut self, mut from: u64, mut to: u64) {
        if from >= to {
            return;
        }
        let first = self.0.partition_point(|range| range.1 < from);
        let mut last = first;
        while let Some(range) = self.0.get(last).filter(|range| range.0 <= to) {
            from = from.min(range.0);
            to = to.max(range.1);
            last += 1;
        }
        self.0.splice(first..last, [(from, to)]);
    }

    /// How many numbers below `end` are in it.
    pub(crate) fn count_below(&self, end: u64) -> u64 {
        let below = self.0.iter().take_while(|range| range.0 < end);
        below.map(|(from, to)| to.min(&end) - from).sum()
    }

    /// The first number from `from` on that is not in it.
    pub(crate) fn first_absent(&self, from: u64) -> u64 {
        let at = self.0.partition_point(|range| range.1 <= from);
        match self.0.get(at) {
            Some((start, end)) if *start <= from => *end,
            _ => from,
        }
    }

    /// Takes out everything from `end` on; whether there was something.
    pub(crate) fn truncate(&mut self, end: u64) -> bool {
        let last = self.0.last().map_or(0, |range| range.1);
        self.0.retain(|range| range.0 < end);
        if let Some(range) = self.0.last_mut() {
            range.1 = range.1.min(end);
        }
        last > end
    }

    pub(crate) fn pairs(&self) -> &[(u64, u64)] {
        &self.0
    }
}
