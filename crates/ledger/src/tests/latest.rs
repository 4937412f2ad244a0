//! The last records of several chains.

use std::ops::Range;
use std::time::Duration;

use legation_core::clock::ManualClock;
use legation_core::{Clock as _, SharedClock, Wall};

use super::*;

const START: i64 = 1_760_000_000_000;
const HOUR: Duration = Duration::from_secs(60 * 60);
const BOUNDS: Bounds = Bounds {
    limit: 100,
    scan: 100_000,
};

/// A ledger whose time is told.
fn timed() -> (super::Place, Arc<ManualClock>, Ledger) {
    let place = place();
    let clock = Arc::new(ManualClock::at(Wall(START)));
    let store = Arc::new(Store::open(&place.path, StoreOptions::default()).expect("a store"));
    let ledger = Ledger::open(store, keys(), Arc::clone(&clock) as SharedClock).expect("a ledger");
    (place, clock, ledger)
}

fn calls(ledger: &Ledger, entities: &[&str], count: usize) {
    block_on(async {
        for call in 0..count {
            let entity = entities[call % entities.len()];
            one_call(ledger, &asked(entity), Durability::PageCache).await;
        }
        ledger.flush().await.expect("flushed");
    });
}

/// What is found together is what is found for each by itself; how many records were read.
fn same(ledger: &Ledger, names: &[&str], span: &Range<i64>, bounds: Bounds) -> usize {
    let entities: Vec<EntityId> = names.iter().map(|name| EntityId::new(*name)).collect();
    let latest = ledger.latest(&entities, span, bounds).expect("read");
    assert_eq!(latest.chains.len(), names.len());
    for (name, found) in names.iter().zip(&latest.chains) {
        let filter = Filter {
            from_ms: Some(span.start),
            until_ms: Some(span.end),
            entity: Some((*name).to_owned()),
            ..Filter::default()
        };
        let alone = ledger.query(&filter, None, bounds).expect("read");
        assert_eq!(*found, alone.entries, "{name}");
    }
    latest.read
}

#[test]
fn chains_are_found_together_as_each_by_itself() {
    let (_place, clock, ledger) = timed();
    calls(&ledger, &["old", "busy"], 300);
    clock.advance(24 * HOUR);
    let today = clock.wall().0;
    calls(&ledger, &["rare"], 2);
    calls(&ledger, &["busy", "other"], 1_500);
    let names = ["busy", "nobody", "rare", "old", "other"];
    let from_start = START..i64::MAX;
    let spans = [
        today..i64::MAX,
        from_start.clone(),
        START..today,
        today..today,
        i64::MIN..i64::MAX,
    ];
    for span in &spans {
        for bounds in [
            BOUNDS,
            Bounds {
                limit: 1,
                scan: 100_000,
            },
            Bounds {
                limit: 100_000,
                scan: 100_000,
            },
            Bounds {
                limit: 5_000,
                scan: 2_000,
            },
        ] {
            same(&ledger, &names, span, bounds);
        }
    }
    let rare = [EntityId::new("rare")];
    let found = ledger.latest(&rare, &from_start, BOUNDS).expect("read");
    assert_eq!(found.chains[0].len(), 4);
}

#[test]
fn no_more_is_read_than_the_chains_need() {
    let (_place, clock, ledger) = timed();
    calls(&ledger, &["old", "busy"], 1_000);
    clock.advance(24 * HOUR);
    let today = clock.wall().0..i64::MAX;
    calls(&ledger, &["busy", "other"], 1_500);
    // The last record, the last of a chain that ended yesterday, and one piece of the ledger.
    let piece = 1_024;
    let read = same(&ledger, &["busy", "nobody", "old", "other"], &today, BOUNDS);
    assert!(read <= 2 + piece, "{read} of 5000 records were read");
    // For chains that have nothing in it nothing is looked through, however many they are.
    let read = same(&ledger, &["nobody", "none", "old"], &today, BOUNDS);
    assert_eq!(read, 2);
    // For what is there and rare, everything of the span is, once and no further than the bound.
    calls(&ledger, &["late"], 1);
    calls(&ledger, &["other"], 2_000);
    let all = Bounds {
        limit: usize::MAX,
        scan: 2 * piece,
    };
    let read = same(&ledger, &["late", "busy", "other"], &today, all);
    assert!(read <= 3 + 2 * piece, "{read} records were read");
}

#[test]
fn a_clock_that_was_set_back_hides_nothing() {
    let (place, clock, ledger) = timed();
    clock.advance(24 * HOUR);
    let midnight = clock.wall().0;
    calls(&ledger, &["fast"], 1);
    drop(ledger);
    // The clock was ten minutes fast, and was right when the next was recorded.
    let right = ManualClock::at(Wall(midnight - 600_000));
    let clock = Arc::new(right);
    let store = Arc::new(Store::open(&place.path, StoreOptions::default()).expect("a store"));
    let ledger = Ledger::open(store, keys(), Arc::clone(&clock) as SharedClock).expect("a ledger");
    calls(&ledger, &["fast"], 1);
    clock.advance(HOUR);
    calls(&ledger, &["busy"], 1_000);
    let span = midnight..i64::MAX;
    same(&ledger, &["fast", "busy"], &span, BOUNDS);
    let fast = [EntityId::new("fast")];
    let found = ledger.latest(&fast, &span, BOUNDS).expect("read");
    assert_eq!(found.chains[0].len(), 2, "{found:?}");
}
