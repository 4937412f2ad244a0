//! Opening: migrations, other versions, and stores that are read only.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use legation_store::{DatabaseUrl, OpenError, Reader, Store, StoreOptions};

use crate::bench::{Bench, Kind, Writer, cases};
use crate::server::Server;

cases!(
    a_newer_schema_is_refused,
    another_history_is_refused,
    reading_makes_no_schema,
    many_may_open_at_once,
    what_is_committed_is_durable,
    both_stores_have_the_same_columns,
    a_server_that_nobody_vouches_for_is_refused,
);

fn try_open(bench: &Bench<'_>) -> Result<Store, OpenError> {
    match &bench.kind {
        Kind::File { path, .. } => Store::open(path, StoreOptions::default()),
        Kind::Server { .. } => Store::connect(&bench.url()),
    }
}

fn try_reader(bench: &Bench<'_>) -> Result<Reader, OpenError> {
    match &bench.kind {
        Kind::File { path, .. } => Reader::open(path),
        Kind::Server { .. } => Reader::connect(&bench.url()),
    }
}

fn a_newer_schema_is_refused(bench: &Bench<'_>) {
    drop(bench.open());
    bench.tamper("INSERT INTO schema_steps VALUES (99, 'from the future')");
    let error = try_open(bench).expect_err("newer");
    assert!(matches!(error, OpenError::NewerSchema { .. }), "{error}");
    assert!(error.hint().contains("newer version"), "{}", error.hint());
    let error = try_reader(bench).expect_err("newer");
    assert!(matches!(error, OpenError::NewerSchema { .. }), "{error}");
}

fn another_history_is_refused(bench: &Bench<'_>) {
    drop(bench.open());
    bench.tamper("UPDATE schema_steps SET name = 'something else' WHERE step = 1");
    let error = try_open(bench).expect_err("foreign");
    assert!(
        matches!(
            &error,
            OpenError::ForeignSchema {
                step: 1,
                expected: "ledger",
                ..
            }
        ),
        "{error}"
    );
}

fn reading_makes_no_schema(bench: &Bench<'_>) {
    try_reader(bench).expect_err("nothing there");
    drop(bench.open());
    let reader = try_reader(bench).expect("opened");
    assert_eq!(reader.ledger_mark().expect("read"), 0);
}

fn many_may_open_at_once(bench: &Bench<'_>) {
    // A file has one owner, who holds the data directory's lock.
    let Kind::Server { .. } = &bench.kind else {
        return;
    };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| drop(bench.open()));
        }
    });
    let store = bench.open();
    store.counter_add("a", 1).expect("moved");
}

fn what_is_committed_is_durable(bench: &Bench<'_>) {
    match &bench.kind {
        Kind::File { path, .. } => durable_in_a_file(path),
        Kind::Server { server, database } => durable_on_a_server(bench, server, database),
    }
}

static SYNCS: AtomicUsize = AtomicUsize::new(0);

fn counting_sync(file: &File) -> std::io::Result<()> {
    SYNCS.fetch_add(1, Ordering::SeqCst);
    file.sync_data()
}

fn durable_in_a_file(path: &Path) {
    let options = StoreOptions {
        sync: counting_sync,
        ..StoreOptions::default()
    };
    let store = Store::open(path, options).expect("opened");
    assert!(!store.is_remote());
    let syncs = || SYNCS.load(Ordering::SeqCst);
    let before = syncs();
    store.counter_add("a", 1).expect("moved");
    assert_eq!(syncs(), before + 1, "what is durable on return is synced");
    let mut writer = Writer::new(&store);
    let made = [writer.make("a", b"record")];
    assert_eq!(syncs(), before + 2, "rows have an entity's number alone");
    let commit = writer.append(&made, false).expect("appended");
    assert_eq!(syncs(), before + 2, "rows wait in the page cache");
    for _ in 0..2 {
        store.sync(commit).expect("synced");
        assert_eq!(syncs(), before + 3, "and are synced once");
    }
}

/// Notes with every change of a counter how that change will be committed.
const WATCH: &str = "CREATE TABLE seen (setting text);
    CREATE FUNCTION see() RETURNS trigger AS $$ BEGIN
        INSERT INTO seen VALUES (current_setting('synchronous_commit'));
        RETURN NEW;
    END $$ LANGUAGE plpgsql;
    CREATE TRIGGER see BEFORE INSERT OR UPDATE ON counters FOR EACH ROW EXECUTE FUNCTION see()";

fn durable_on_a_server(bench: &Bench<'_>, server: &Server, database: &str) {
    let store = bench.open();
    assert!(store.is_remote());
    server.run(database, WATCH);
    drop(store);
    // What an owner has switched off for speed is switched on, what waits for
    // more than this server's disk is left as it is.
    for (setting, expected) in [
        ("off", "on"),
        ("on", "on"),
        ("remote_apply", "remote_apply"),
    ] {
        server.run(database, "TRUNCATE seen");
        let set = format!("ALTER DATABASE {database} SET synchronous_commit = {setting}");
        server.run("postgres", &set);
        let store = bench.open();
        store.counter_add("a", 1).expect("moved");
        // Twice: an insert that meets its row becomes an update.
        let seen = server.run(database, "SELECT DISTINCT setting FROM seen");
        assert_eq!(seen, [expected], "{setting}");
    }
}

/// Table, column, and whether it may be empty.
type Column = (String, String, bool);

fn both_stores_have_the_same_columns(bench: &Bench<'_>) {
    let Kind::Server { server, database } = &bench.kind else {
        return;
    };
    drop(bench.open());
    let found = server.run(
        database,
        "SELECT table_name, column_name, is_nullable FROM information_schema.columns
         WHERE table_schema = 'public'",
    );
    let there: BTreeSet<Column> = found
        .chunks(3)
        .map(|column| (column[0].clone(), column[1].clone(), column[2] == "YES"))
        .collect();
    let mut here = columns_of_a_file();
    // A word that PostgreSQL keeps for itself, and an end that a file looks up.
    let only = |name: &str| ("ledger_mark".to_owned(), name.to_owned(), false);
    assert!(here.remove(&only("only")) && here.insert(only("single")));
    let noted = ("ledger_entities".to_owned(), "last_hash".to_owned(), false);
    assert!(here.insert(noted));
    // What tells where in a file beside the database rows stand.
    here.retain(|(table, ..)| table != "ledger_places");
    assert_eq!(there, here);
}

fn columns_of_a_file() -> BTreeSet<Column> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("state.db");
    drop(Store::open(&path, StoreOptions::default()).expect("opened"));
    let connection = rusqlite::Connection::open(&path).expect("opened");
    let mut statement = connection
        .prepare(
            "SELECT tables.name, columns.name, columns.\"notnull\" = 0 AND columns.pk = 0
             FROM sqlite_schema AS tables, pragma_table_info(tables.name) AS columns
             WHERE tables.type = 'table'",
        )
        .expect("prepared");
    let found = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
    found
        .expect("read")
        .collect::<Result<_, _>>()
        .expect("read")
}

fn a_server_that_nobody_vouches_for_is_refused(bench: &Bench<'_>) {
    let Kind::Server { server, database } = &bench.kind else {
        return;
    };
    let url = DatabaseUrl::parse(&server.url_encrypted(database), |_| None).expect("an address");
    let error = Store::connect(&url).expect_err("refused");
    let told = legation_core::error::chain(&error).to_string();
    assert!(told.contains("certificate"), "{told}");
    // The same server is let in where no certificate is asked for.
    drop(bench.open());
}
