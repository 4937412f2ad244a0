//! What models cost adds up, whoever adds and whenever.

use legation_store::SpendRow;

use crate::bench::{Bench, cases};

cases!(
    rows_of_the_same_kind_add_up,
    rows_are_apart_by_what_they_are_about,
    adding_at_once_loses_nothing,
    what_is_long_ago_goes,
);

fn row(day: i64, provider: &str, requests: i64) -> SpendRow {
    SpendRow {
        day,
        provider: provider.to_owned(),
        model: "small".to_owned(),
        job: "delegate.task".to_owned(),
        entities: "harbor meadow".to_owned(),
        requests,
        uncounted: requests - 1,
        input: 100 * requests,
        output: 10 * requests,
        cost_micro: 3 * requests,
        saved_micro: 5 * requests,
    }
}

fn rows_of_the_same_kind_add_up(bench: &Bench<'_>) {
    let store = bench.open();
    store.spend_add(&[]).expect("nothing is no failure");
    store.spend_add(&[row(7, "a", 2)]).expect("added");
    store
        .spend_add(&[row(7, "a", 3), row(7, "a", 4)])
        .expect("added");
    drop(store);
    let store = bench.open();
    let mut sum = row(7, "a", 9);
    sum.uncounted = 6;
    assert_eq!(store.spend_list(0).expect("listed"), [sum]);
}

fn rows_are_apart_by_what_they_are_about(bench: &Bench<'_>) {
    let store = bench.open();
    let first = row(7, "a", 1);
    let others = [
        SpendRow {
            entities: String::new(),
            ..first.clone()
        },
        SpendRow {
            job: String::new(),
            ..first.clone()
        },
        SpendRow {
            model: "large".to_owned(),
            ..first.clone()
        },
        row(7, "b", 1),
        row(8, "a", 1),
    ];
    store.spend_add(&others).expect("added");
    store.spend_add(&[first]).expect("added");
    assert_eq!(store.spend_list(7).expect("listed").len(), 6);
    assert_eq!(store.spend_list(8).expect("listed"), [row(8, "a", 1)]);
    assert!(store.spend_list(9).expect("listed").is_empty());
}

fn adding_at_once_loses_nothing(bench: &Bench<'_>) {
    let store = bench.open();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..5 {
                    store.spend_add(&[row(7, "a", 1)]).expect("added");
                }
            });
        }
    });
    let rows = store.spend_list(0).expect("listed");
    assert_eq!(rows.len(), 1);
    assert_eq!((rows[0].requests, rows[0].input), (20, 2_000));
}

fn what_is_long_ago_goes(bench: &Bench<'_>) {
    let store = bench.open();
    store
        .spend_add(&[row(5, "a", 1), row(6, "a", 1), row(7, "a", 1)])
        .expect("added");
    assert_eq!(store.spend_trim(7).expect("trimmed"), 2);
    assert_eq!(store.spend_trim(7).expect("trimmed"), 0);
    assert_eq!(store.spend_list(0).expect("listed"), [row(7, "a", 1)]);
}
