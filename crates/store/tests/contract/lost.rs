//! A connection that is lost, in a transaction and outside one.

use legation_store::StoreError;

use crate::bench::{Bench, Kind, Writer, cases};

cases!(
    after_a_loss_the_next_use_connects_anew,
    a_commit_whose_answer_is_lost_is_found_or_not_but_never_later,
    a_server_that_is_away_is_not_tried_at_every_call,
);

const END_ALL: &str = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'legation'";

fn after_a_loss_the_next_use_connects_anew(bench: &Bench<'_>) {
    // A file has no connection to lose; its failed syncs are tested beside it.
    let Kind::Server { server, database } = &bench.kind else {
        return;
    };
    let store = bench.open();
    let mut writer = Writer::new(&store);
    writer.add("a", b"first");
    for _ in 0..3 {
        server.run(database, END_ALL);
        let made = [writer.make("a", b"second")];
        let past = writer.generation();
        writer.append(&made, false).expect_err("lost or past");
        writer = Writer::new(&store);
        assert_ne!(writer.generation(), past);
        let rows = store.reader().ledger_after(0, 100);
        if let Err(error) = &rows {
            assert!(matches!(error, StoreError::Io { .. }), "{error}");
        }
    }
    writer.add("a", b"second");
    assert_eq!(store.ledger_position().expect("read"), 2);
    assert_eq!(store.reader().ledger_last(9).expect("read").len(), 2);
}

fn a_commit_whose_answer_is_lost_is_found_or_not_but_never_later(bench: &Bench<'_>) {
    let Kind::Server { server, database } = &bench.kind else {
        return;
    };
    let store = bench.open();
    let mut writer = Writer::new(&store);
    writer.add("a", b"first");
    let (mut found, mut missing) = (0, 0);
    for round in 0..40 {
        let made = [writer.make("a", b"next")];
        let position = writer.position();
        let done = std::thread::scope(|scope| {
            let append = scope.spawn(|| writer.append(&made, false));
            if round % 4 != 0 {
                std::thread::yield_now();
            }
            server.run(database, END_ALL);
            append.join().expect("ended")
        });
        // The loss may show only at the next use.
        let there = (0..3).find_map(|_| store.ledger_hash(position).ok());
        let there = there.expect("connected anew").is_some();
        if done.is_ok() {
            assert!(there, "acknowledged and lost");
        }
        match there {
            true => found += 1,
            false => missing += 1,
        }
        // What was not there when it was asked for does not come later.
        writer = Writer::new(&store);
        assert_eq!(
            writer.position(),
            if there { position } else { position - 1 }
        );
    }
    assert_eq!(found + missing, 40);
    assert_eq!(store.ledger_position().expect("read"), 1 + found);
}

fn a_server_that_is_away_is_not_tried_at_every_call(bench: &Bench<'_>) {
    let Kind::Server { server, database } = &bench.kind else {
        return;
    };
    let store = bench.open();
    store.counter_add("a", 1).expect("moved");
    let allow = |yes: bool| {
        let sql = format!("ALTER DATABASE {database} ALLOW_CONNECTIONS {yes}");
        server.run("postgres", &sql);
    };
    server.run(database, END_ALL);
    allow(false);
    let mut away = 0;
    for _ in 0..20 {
        match store.counter_get("a") {
            Err(StoreError::Reopen { source }) => {
                away += usize::from(source.to_string().contains("a moment ago"));
            }
            Err(StoreError::Io { .. }) => {}
            other => panic!("{other:?}"),
        }
    }
    assert!(away > 10, "only {away} of 20 were answered without trying");
    allow(true);
    let back = (0..200).any(|_| {
        // tidy: the store says of itself that it is not to be asked sooner
        std::thread::sleep(std::time::Duration::from_millis(50));
        store.counter_get("a").is_ok()
    });
    assert!(back, "it never comes back");
}
