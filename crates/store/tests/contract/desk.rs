//! Rows of the desk are found by id, key, owner and time, and change under nobody's hands.

use legation_core::EntityId;
use legation_store::{DeskAdded, DeskEvent, DeskRow, DeskWhich};

use crate::bench::{Bench, cases};

cases!(
    a_row_is_added_once_by_id_and_by_key,
    a_change_needs_the_version_before_it,
    rows_are_listed_by_owner_state_account_and_time,
    what_happened_is_read_by_whoever_owns_the_row,
    old_rows_go,
);

fn row(kind: &str, id: &str, entity: &str, at_ms: i64) -> DeskRow {
    DeskRow {
        kind: kind.to_owned(),
        id: id.to_owned(),
        entity: EntityId::new(entity),
        account: "work".to_owned(),
        state: "open".to_owned(),
        key: None,
        at_ms,
        until_ms: at_ms + 10,
        changed_ms: at_ms,
        version: 1,
        body: vec![0, 1, 255],
    }
}

fn event(row: &DeskRow, body: &[u8]) -> DeskEvent {
    DeskEvent {
        kind: row.kind.clone(),
        id: row.id.clone(),
        entity: row.entity.clone(),
        at_ms: row.changed_ms,
        body: body.to_vec(),
    }
}

fn all<'a>(kind: &'a str, entity: &'a EntityId) -> DeskWhich<'a> {
    DeskWhich {
        kind,
        entity,
        state: None,
        account: None,
        from_ms: i64::MIN,
        to_ms: i64::MAX,
        limit: 100,
    }
}

fn a_row_is_added_once_by_id_and_by_key(bench: &Bench<'_>) {
    let store = bench.open();
    let mut first = row("deal", "d1", "a", 5);
    first.key = Some("k".to_owned());
    let added = store.desk_add(&first, Some(&event(&first, b"made")));
    assert_eq!(added.expect("added"), DeskAdded::New);
    let mut again = row("deal", "d2", "a", 6);
    again.key = Some("k".to_owned());
    let taken = DeskAdded::Taken(Box::new(first.clone()));
    assert_eq!(
        store
            .desk_add(&again, Some(&event(&again, b"no")))
            .expect("asked"),
        taken
    );
    assert_eq!(
        store
            .desk_add(&row("deal", "d1", "b", 7), None)
            .expect("asked"),
        taken
    );
    assert_eq!(store.desk_get("deal", "d2").expect("read"), None);
    // Keys and ids are apart by kind, and rows without a key do not meet.
    for id in ["d1", "d2"] {
        assert_eq!(
            store
                .desk_add(&row("triage", id, "a", 5), None)
                .expect("added"),
            DeskAdded::New
        );
    }
    drop(store);
    let store = bench.open();
    assert_eq!(
        store.desk_get("deal", "d1").expect("read"),
        Some(first.clone())
    );
    assert_eq!(store.desk_by_key("deal", "k").expect("read"), Some(first));
    let log = store.desk_log(("deal", "d2"), &EntityId::new("a"), 9);
    assert_eq!(log.expect("read"), []);
}

fn a_change_needs_the_version_before_it(bench: &Bench<'_>) {
    let store = bench.open();
    let first = row("deal", "d1", "a", 5);
    store.desk_add(&first, None).expect("added");
    let mut second = DeskRow {
        version: 2,
        state: "closed".to_owned(),
        ..first.clone()
    };
    assert!(
        store
            .desk_set(&second, Some(&event(&second, b"closed")))
            .expect("set")
    );
    assert!(
        !store
            .desk_set(&second, Some(&event(&second, b"again")))
            .expect("late")
    );
    assert_eq!(
        store.desk_get("deal", "d1").expect("read"),
        Some(second.clone())
    );
    second.version = 9;
    assert!(!store.desk_set(&second, None).expect("ahead"));
    // What is read from elsewhere is simply put, and counts on.
    store
        .desk_put(&[row("deal", "d1", "a", 5), row("deal", "d3", "a", 6)])
        .expect("put");
    assert_eq!(
        store
            .desk_get("deal", "d1")
            .expect("read")
            .expect("there")
            .version,
        3
    );
    assert_eq!(
        store
            .desk_get("deal", "d3")
            .expect("read")
            .expect("there")
            .version,
        1
    );
    assert!(store.desk_remove("deal", "d3").expect("removed"));
    assert!(!store.desk_remove("deal", "d3").expect("gone"));
}

fn rows_are_listed_by_owner_state_account_and_time(bench: &Bench<'_>) {
    let store = bench.open();
    let mut rows: Vec<DeskRow> = (0..5)
        .map(|at| row("event", &format!("e{at}"), "a", at * 10))
        .collect();
    rows[1].state = "gone".to_owned();
    rows[2].account = String::new();
    rows[3].entity = EntityId::new("b");
    store.desk_put(&rows).expect("put");
    let (a, b) = (EntityId::new("a"), EntityId::new("b"));
    let ids = |which: &DeskWhich<'_>| -> Vec<String> {
        let found = store.desk_oldest(which).expect("listed");
        found.into_iter().map(|row| row.id).collect()
    };
    assert_eq!(ids(&all("event", &a)), ["e0", "e1", "e2", "e4"]);
    assert_eq!(ids(&all("event", &b)), ["e3"]);
    let open = DeskWhich {
        state: Some("open"),
        ..all("event", &a)
    };
    assert_eq!(ids(&open), ["e0", "e2", "e4"]);
    let work = DeskWhich {
        account: Some("work"),
        ..open
    };
    assert_eq!(ids(&work), ["e0", "e4"]);
    let none = DeskWhich {
        account: Some(""),
        ..open
    };
    assert_eq!(ids(&none), ["e2"]);
    // One that ends at the beginning is not in it, nor one that begins at the end.
    let window = DeskWhich {
        from_ms: 10,
        to_ms: 40,
        ..all("event", &a)
    };
    assert_eq!(ids(&window), ["e1", "e2"]);
    let newest = DeskWhich {
        limit: 2,
        ..all("event", &a)
    };
    let found = store.desk_newest(&newest).expect("listed");
    assert_eq!(found, [rows[4].clone(), rows[2].clone()]);
    let counts = store.desk_counts("event").expect("counted");
    let count = |entity: &EntityId, state: &str, n| (entity.clone(), state.to_owned(), n);
    assert_eq!(
        counts,
        [
            count(&a, "gone", 1),
            count(&a, "open", 3),
            count(&b, "open", 1)
        ]
    );
    let mut owners = store.desk_owners("event", 30).expect("read");
    owners.sort();
    assert_eq!(owners, [("e3".to_owned(), b, 30), ("e4".to_owned(), a, 40)]);
}

fn what_happened_is_read_by_whoever_owns_the_row(bench: &Bench<'_>) {
    let store = bench.open();
    let mut deal = row("deal", "d1", "a", 5);
    store
        .desk_add(&deal, Some(&event(&deal, b"1")))
        .expect("added");
    for step in 2..=4_i64 {
        deal.version = step;
        if step == 4 {
            deal.entity = EntityId::new("b");
        }
        let said = event(&deal, step.to_string().as_bytes());
        assert!(store.desk_set(&deal, Some(&said)).expect("set"));
    }
    let bodies = |entity: &str, limit| -> Vec<Vec<u8>> {
        let log = store.desk_log(("deal", "d1"), &EntityId::new(entity), limit);
        log.expect("read")
            .into_iter()
            .map(|event| event.body)
            .collect()
    };
    assert_eq!(bodies("a", 2), [b"2", b"3"]);
    assert_eq!(bodies("b", 9), [b"4"]);
}

fn old_rows_go(bench: &Bench<'_>) {
    let store = bench.open();
    let rows: Vec<DeskRow> = (0..4)
        .map(|at| row("letter", &at.to_string(), "a", at))
        .collect();
    store.desk_put(&rows).expect("put");
    store.desk_put(&[row("event", "0", "a", 0)]).expect("put");
    assert_eq!(store.desk_trim("letter", 12).expect("trimmed"), 2);
    assert_eq!(
        store
            .desk_oldest(&all("letter", &EntityId::new("a")))
            .expect("listed")
            .len(),
        2
    );
    assert!(store.desk_get("event", "0").expect("read").is_some());
    // Of what stands so, what was stored first, and no more than was asked for.
    let mut items: Vec<DeskRow> = (0..5)
        .map(|at| row("triage", &at.to_string(), "a", at))
        .collect();
    for (at, item) in items.iter_mut().enumerate() {
        item.changed_ms = 100 - at as i64;
        item.state = if at == 4 { "open" } else { "done" }.to_owned();
    }
    store.desk_put(&items).expect("put");
    let forget = |before, limit| {
        let gone = store.desk_forget(("triage", "done"), before, limit);
        let mut gone = gone.expect("forgotten");
        gone.sort();
        gone
    };
    assert_eq!(forget(97, 9), [""; 0]);
    assert_eq!(forget(100, 2), ["2", "3"]);
    assert_eq!(forget(100, 2), ["1"]);
    let left = store.desk_counts("triage").expect("counted");
    let left: Vec<(&str, u64)> = left.iter().map(|(_, state, n)| (&**state, *n)).collect();
    assert_eq!(left, [("done", 1), ("open", 1)]);
}
