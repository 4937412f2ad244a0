use proptest::prelude::*;
use std::collections::BTreeSet;

use crate::ranges::Ranges;

proptest! {
    #[test]
    fn ranges_are_a_set(steps in proptest::collection::vec((0u64..60, 0u64..12), 0..40), cut in 0u64..80) {
        let mut ranges = Ranges::default();
        let mut set = BTreeSet::new();
        for (from, len) in steps {
            ranges.insert_range(from, from + len);
            set.extend(from..from + len);
        }
        for number in 0..80 {
            prop_assert_eq!(ranges.count_below(number), set.range(..number).count() as u64);
            let absent = (number..).find(|number| !set.contains(number));
            prop_assert_eq!(Some(ranges.first_absent(number)), absent);
        }
        for pair in ranges.pairs().windows(2) {
            prop_assert!(pair[0].1 < pair[1].0, "{:?}", ranges);
        }
        let had = set.range(cut..).next().is_some();
        prop_assert_eq!(ranges.truncate(cut), had);
        prop_assert_eq!(ranges.count_below(1_000), set.range(..cut).count() as u64);
    }
}
