//! What is kept under a name stays until its time or its turn is over.

use legation_store::KeptRow;

use crate::bench::{Bench, cases};

cases!(
    what_is_kept_is_found_by_kind_and_name,
    a_name_is_given_once,
    what_expired_and_what_is_too_much_goes,
);

fn row(kind: &str, name: &str, changed_ms: i64) -> KeptRow {
    KeptRow {
        kind: kind.to_owned(),
        name: name.to_owned(),
        value: format!("{kind} {name} {changed_ms}"),
        changed_ms,
        expires_ms: changed_ms + 100,
    }
}

fn what_is_kept_is_found_by_kind_and_name(bench: &Bench<'_>) {
    let store = bench.open();
    store.kept_put(&row("a", "1", 1)).expect("put");
    store.kept_put(&row("b", "1", 2)).expect("put");
    store.kept_put(&row("a", "1", 3)).expect("replaced");
    store.kept_put(&row("a", "0", 2)).expect("put");
    drop(store);
    let store = bench.open();
    assert_eq!(
        store.kept_get("a", "1").expect("read"),
        Some(row("a", "1", 3))
    );
    assert_eq!(store.kept_get("c", "1").expect("read"), None);
    let list = store.kept_list("a").expect("listed");
    assert_eq!(list, [row("a", "0", 2), row("a", "1", 3)]);
    assert!(store.kept_remove("a", "1").expect("removed"));
    assert!(!store.kept_remove("a", "1").expect("nothing there"));
    assert_eq!(store.kept_list("b").expect("listed").len(), 1);
}

fn a_name_is_given_once(bench: &Bench<'_>) {
    let store = bench.open();
    let won = std::thread::scope(|scope| {
        let tries: Vec<_> = (0..8)
            .map(|index| {
                scope.spawn({
                    let store = &store;
                    move || {
                        store
                            .kept_add(&row("a", "1", index))
                            .expect("added")
                            .is_none()
                    }
                })
            })
            .collect();
        let wins = tries.into_iter().map(|one| one.join().expect("no panic"));
        wins.filter(|won| *won).count()
    });
    assert_eq!(won, 1);
    let kept = store.kept_get("a", "1").expect("read");
    assert_eq!(
        store.kept_add(&row("a", "1", 99)).expect("there is one"),
        kept
    );
}

fn what_expired_and_what_is_too_much_goes(bench: &Bench<'_>) {
    let store = bench.open();
    for at in 0..10 {
        store.kept_put(&row("a", &at.to_string(), at)).expect("put");
    }
    store.kept_put(&row("b", "old", 0)).expect("put");
    assert_eq!(store.kept_expire(101).expect("expired"), 3);
    assert_eq!(store.kept_list("b").expect("listed"), []);
    assert_eq!(store.kept_trim("a", 3).expect("trimmed"), 5);
    let names: Vec<_> = store
        .kept_list("a")
        .expect("listed")
        .into_iter()
        .map(|row| row.name)
        .collect();
    assert_eq!(names, ["7", "8", "9"]);
    assert_eq!(store.kept_trim("a", 3).expect("nothing to do"), 0);
}
