//! Counters by name.

use std::collections::BTreeSet;

use crate::bench::{Bench, cases};

cases!(counters_move_and_are_kept, no_two_get_the_same_number);

fn counters_move_and_are_kept(bench: &Bench<'_>) {
    let store = bench.open();
    assert_eq!(store.counter_get("a").expect("read"), 0);
    assert_eq!(store.counter_add("a", 5).expect("moved"), 5);
    assert_eq!(store.counter_add("a", -2).expect("moved"), 3);
    drop(store);
    let store = bench.open();
    assert_eq!(store.counter_get("a").expect("read"), 3);
    assert_eq!(store.counter_get("b").expect("read"), 0);
}

fn no_two_get_the_same_number(bench: &Bench<'_>) {
    let store = bench.open();
    let seen: BTreeSet<i64> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| -> Vec<i64> {
                    (0..8)
                        .map(|_| store.counter_add("a", 1).expect("moved"))
                        .collect()
                })
            })
            .collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().expect("ended"))
            .collect()
    });
    assert_eq!(seen, (1..=64).collect());
}
