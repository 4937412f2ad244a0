//! Ledger rows: their order, the chains' ends, the mark, and what fails.

use legation_store::StoreError;

use crate::bench::{Bench, Kind, Made, Writer, cases};

cases!(
    rows_come_back_in_order_and_heads_are_per_entity,
    batches_of_every_size_are_written_whole,
    the_mark_is_moved_with_its_rows,
    a_batch_that_cannot_be_added_leaves_nothing_of_itself,
    positions_are_unbroken_under_many_writers,
    a_full_database_is_its_own_error_and_passes,
    a_chain_without_its_last_row_has_no_end,
    two_hubs_cannot_fork_a_chain,
);

fn rows_come_back_in_order_and_heads_are_per_entity(bench: &Bench<'_>) {
    let store = bench.open();
    assert_eq!(store.ledger_heads().expect("read"), []);
    assert_eq!(store.ledger_position().expect("read"), 0);
    let mut writer = Writer::new(&store);
    let made: Vec<Made> = ["b", "a", "b", "c"]
        .iter()
        .map(|entity| writer.make(entity, entity.as_bytes()))
        .collect();
    let commit = writer.append(&made, false).expect("appended");
    store.sync(commit).expect("synced");
    let hashes: Vec<Vec<u8>> = made.iter().map(|row| row.hash.to_vec()).collect();
    drop(store);
    let store = bench.open();
    for reader in [&bench.reader(), store.reader()] {
        let found = reader.ledger_after(0, 100).expect("read");
        let seen: Vec<_> = found
            .iter()
            .map(|row| (row.position, row.entity.as_str(), row.seq, row.at_ms))
            .collect();
        let expected = [
            (1, "b", 1, 1_001),
            (2, "a", 1, 1_002),
            (3, "b", 2, 1_003),
            (4, "c", 1, 1_004),
        ];
        assert_eq!(seen, expected);
        assert!(found.iter().map(|row| &row.hash).eq(&hashes));
        assert_eq!(found[2].prev, hashes[0]);
        assert_eq!(found[0].prev, [0; 32]);
        assert_eq!(reader.ledger_after(2, 1).expect("read"), found[2..3]);
        assert_eq!(reader.ledger_last(2).expect("read"), found[2..]);
        assert_eq!(reader.ledger_mark().expect("read"), 0);
    }
    let heads = store.ledger_heads().expect("read");
    let ends: Vec<_> = heads
        .iter()
        .map(|head| (head.entity.as_str(), head.seq, head.position, &head.hash))
        .collect();
    let [_, a, b, c] = &hashes[..] else {
        panic!("four rows");
    };
    assert_eq!(ends, [("b", 2, 3, b), ("a", 1, 2, a), ("c", 1, 4, c)]);
    assert_eq!(store.ledger_position().expect("read"), 4);
    assert_eq!(store.ledger_hash(3).expect("read").as_ref(), Some(b));
    assert_eq!(store.ledger_hash(5).expect("read"), None);
}

fn batches_of_every_size_are_written_whole(bench: &Bench<'_>) {
    let store = bench.open();
    let mut writer = Writer::new(&store);
    let mut expected = Vec::new();
    for size in (1..=33).chain([64, 65, 100]) {
        let made: Vec<Made> = (0..size).map(|_| writer.make("a", b"record")).collect();
        let _ = writer.append(&made, false).expect("appended");
        expected.extend(made.iter().map(|row| row.hash.to_vec()));
    }
    let found = store.reader().ledger_after(0, 10_000).expect("read");
    assert!(found.iter().map(|row| &row.hash).eq(&expected));
}

fn the_mark_is_moved_with_its_rows(bench: &Bench<'_>) {
    let store = bench.open();
    let mut writer = Writer::new(&store);
    let made = [writer.make("a", b"1"), writer.make("b", b"2")];
    let _ = writer.append(&made, true).expect("appended");
    assert_eq!(store.reader().ledger_mark().expect("read"), 2);
    writer.add("b", b"3");
    drop(store);
    let store = bench.open();
    let heads = store.ledger_heads().expect("read");
    let ends: Vec<_> = heads
        .iter()
        .map(|head| (head.entity.as_str(), head.seq))
        .collect();
    assert_eq!(ends, [("a", 1), ("b", 2)]);
}

fn a_batch_that_cannot_be_added_leaves_nothing_of_itself(bench: &Bench<'_>) {
    let store = bench.open();
    let mut behind = Writer::new(&store);
    behind.number("a");
    let generation = behind.generation();
    Writer::new(&store).add("a", b"first");
    let made = [
        behind.make("a", b"second first"),
        behind.make("a", b"third"),
    ];
    behind.append(&made, true).expect_err("the place is taken");
    assert_eq!(store.ledger_position().expect("read"), 1);
    assert_eq!(store.reader().ledger_mark().expect("read"), 0);
    assert_ne!(store.generation().expect("sound"), generation);
    assert!(matches!(
        behind.append(&made, false),
        Err(StoreError::Reopened)
    ));
    Writer::new(&store).add("a", b"second");
    assert_eq!(store.ledger_position().expect("read"), 2);
}

fn positions_are_unbroken_under_many_writers(bench: &Bench<'_>) {
    let store = bench.open();
    let shared = std::sync::Mutex::new(Writer::new(&store));
    std::thread::scope(|scope| {
        for entity in ["a", "b", "c", "d"] {
            let shared = &shared;
            scope.spawn(move || {
                for _ in 0..20 {
                    shared.lock().expect("whole").add(entity, b"record");
                }
            });
        }
    });
    let found = store.reader().ledger_after(0, 1_000).expect("read");
    let positions: Vec<i64> = found.iter().map(|row| row.position).collect();
    assert_eq!(positions, (1..=80).collect::<Vec<_>>());
}

fn a_full_database_is_its_own_error_and_passes(bench: &Bench<'_>) {
    // A server's disk cannot be filled here without filling this machine's.
    let Kind::File { .. } = &bench.kind else {
        return;
    };
    let store = bench.open();
    store.limit_pages(Some(64)).expect("limited");
    let large = vec![b'x'; 400_000];
    for attempt in 0..2 {
        let mut writer = Writer::new(&store);
        let made = [writer.make("a", &large)];
        let error = writer.append(&made, false).expect_err("full");
        assert!(
            matches!(error, StoreError::Full { .. }),
            "{attempt}: {error}"
        );
        assert!(error.hint().contains("disk space"), "{}", error.hint());
        assert_eq!(store.ledger_position().expect("read"), 0);
    }
    store.limit_pages(None).expect("lifted");
    Writer::new(&store).add("a", &large);
    assert_eq!(store.ledger_position().expect("read"), 1);
}

fn a_chain_without_its_last_row_has_no_end(bench: &Bench<'_>) {
    let store = bench.open();
    let mut writer = Writer::new(&store);
    let made = [writer.make("a", b"1"), writer.make("b", b"2")];
    let _ = writer.append(&made, true).expect("appended");
    bench.lose_first_row();
    let heads = store.ledger_heads().expect("read");
    let ends: Vec<_> = heads
        .iter()
        .map(|head| (head.entity.as_str(), head.seq, head.hash.len()))
        .collect();
    assert_eq!(ends, [("a", 1, 0), ("b", 1, 32)]);
}

fn two_hubs_cannot_fork_a_chain(bench: &Bench<'_>) {
    // A file has one owner, who holds the data directory's lock.
    let Kind::Server { .. } = &bench.kind else {
        return;
    };
    const EACH: usize = 25;
    let refused: usize = std::thread::scope(|scope| {
        let hubs: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let store = bench.open();
                    (0..EACH).map(|_| add_until_done(&store)).sum::<usize>()
                })
            })
            .collect();
        hubs.into_iter().map(|hub| hub.join().expect("ended")).sum()
    });
    let rows = bench.reader().ledger_after(0, 1_000).expect("read");
    assert_eq!(rows.len(), 2 * EACH, "{refused} were refused first");
    let mut last = vec![0; 32];
    for (row, place) in rows.iter().zip(1..) {
        assert_eq!((row.position, row.seq), (place, place));
        assert_eq!(row.prev, last);
        last.clone_from(&row.hash);
    }
}

/// Adds a row, however often another hub is quicker; how often that was.
fn add_until_done(store: &legation_store::Store) -> usize {
    for refused in 0..1_000 {
        let mut writer = Writer::new(store);
        let made = [writer.make("a", b"record")];
        match writer.append(&made, false) {
            Ok(_) => return refused,
            Err(StoreError::Reopened) => {}
            Err(error) => panic!("{error:?}"),
        }
    }
    panic!("never added");
}
