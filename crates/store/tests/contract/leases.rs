//! Leases, their tokens and the database's clock.

use std::time::Duration;

use crate::bench::{Bench, cases};

cases!(
    a_lease_has_one_holder_and_a_growing_token,
    of_many_who_want_a_lease_one_gets_it,
    the_clock_is_the_databases_and_runs,
);

const LONG: Duration = Duration::from_secs(600);

fn a_lease_has_one_holder_and_a_growing_token(bench: &Bench<'_>) {
    let store = bench.open();
    assert_eq!(store.lease_get("poller").expect("read"), None);
    let take = |holder, time| store.lease_take("poller", holder, time).expect("tried");
    let first = take("hub-1", LONG).expect("taken");
    assert_eq!((first.holder.as_str(), first.token), ("hub-1", 1));
    assert_eq!(take("hub-2", LONG), None);
    assert_eq!(take("hub-1", LONG), None);
    let renewed = store
        .lease_renew("poller", first.token, LONG * 2)
        .expect("tried");
    let renewed = renewed.expect("kept");
    assert!(renewed.until_ms > first.until_ms);
    assert_eq!(store.lease_get("poller").expect("read"), Some(renewed));
    assert!(
        !store
            .lease_release("poller", first.token + 1)
            .expect("another's")
    );
    assert!(
        store
            .lease_release("poller", first.token)
            .expect("given back")
    );
    drop(store);
    let store = bench.open();
    let second = store.lease_take("poller", "hub-2", Duration::ZERO);
    let second = second.expect("tried").expect("taken");
    assert_eq!((second.holder.as_str(), second.token), ("hub-2", 2));
    // Its time is over at once: the holder cannot keep it, another can take it.
    assert_eq!(store.lease_renew("poller", 2, LONG).expect("tried"), None);
    let third = store.lease_take("poller", "hub-3", LONG).expect("tried");
    assert_eq!(third.expect("taken").token, 3);
    assert_eq!(store.lease_renew("poller", 2, LONG).expect("tried"), None);
}

fn of_many_who_want_a_lease_one_gets_it(bench: &Bench<'_>) {
    let store = bench.open();
    let taken: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..16)
            .map(|index| {
                let store = &store;
                scope.spawn(move || {
                    let holder = format!("hub-{index}");
                    let lease = store.lease_take("poller", &holder, LONG).expect("tried");
                    usize::from(lease.is_some())
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("ended"))
            .sum()
    });
    assert_eq!(taken, 1);
}

fn the_clock_is_the_databases_and_runs(bench: &Bench<'_>) {
    let store = bench.open();
    let first = store.now_ms().expect("told");
    // After 2026 and before 2100, and never backwards.
    assert!(
        (1_767_225_600_000..4_102_444_800_000).contains(&first),
        "{first}"
    );
    let mut now = first;
    for _ in 0..100_000 {
        now = store.now_ms().expect("told");
        if now > first {
            return;
        }
    }
    panic!("the clock stands at {now}");
}
