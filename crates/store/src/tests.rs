//! The store, opened on real files.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, PermissionsExt as _};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use legation_core::{EntityId, Secret};
use rusqlite::Connection;

use super::*;
use crate::sqlite::connection::{open_writing, prepare_file, wal_path};
use crate::sqlite::migrate::{STEPS, Step, migrate_with};
use crate::volume::volume_path;

struct Place {
    _dir: tempfile::TempDir,
    path: PathBuf,
}

fn place() -> Place {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("state.db");
    Place { _dir: dir, path }
}

fn open(place: &Place) -> Store {
    Store::open(&place.path, StoreOptions::default()).expect("opened")
}

fn row(position: i64, entity: &str, seq: i64, bytes: usize) -> LedgerRow {
    LedgerRow {
        position,
        entity: EntityId::new(entity),
        seq,
        at_ms: 1_000 + position,
        prev: vec![0; 32],
        hash: vec![u8::try_from(position % 251).expect("small"); 32],
        bytes: vec![b'x'; bytes],
        is_sound: true,
    }
}

fn append(store: &Store, rows: &[LedgerRow]) -> Result<Committed, StoreError> {
    append_with(store, rows, None, store.generation()?)
}

/// With a mark, every chain in `rows` ends there.
fn append_with(
    store: &Store,
    rows: &[LedgerRow],
    mark: Option<i64>,
    generation: Generation,
) -> Result<Committed, StoreError> {
    let numbers: Vec<i64> = rows
        .iter()
        .map(|row| store.ledger_entity(&row.entity))
        .collect::<Result<_, _>>()?;
    let new: Vec<NewLedgerRow<'_>> = rows
        .iter()
        .zip(&numbers)
        .map(|(row, number)| NewLedgerRow {
            position: row.position,
            entity: *number,
            seq: row.seq,
            at_ms: row.at_ms,
            prev: row.prev.as_slice().try_into().expect("32 bytes"),
            hash: row.hash.as_slice().try_into().expect("32 bytes"),
            bytes: &row.bytes,
        })
        .collect();
    let ends: Vec<_> = new
        .iter()
        .map(|row| (row.entity, row.seq, row.position))
        .collect();
    let mark = mark.map(|position| LedgerMark {
        position,
        ends: &ends,
    });
    store.ledger_append(&new, mark, generation)
}

fn dump(connection: &Connection) -> Vec<(String, String, String)> {
    let mut statement = connection
        .prepare("SELECT type, name, coalesce(sql, '') FROM sqlite_schema ORDER BY type, name")
        .expect("prepared");
    statement
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .expect("queried")
        .collect::<Result<_, _>>()
        .expect("read")
}

fn migrated(place: &Place, steps: &[Step], present: &str) -> Result<Connection, OpenError> {
    prepare_file(&place.path)?;
    let mut connection = open_writing(&place.path)?;
    migrate_with(&mut connection, &place.path, steps, present)?;
    Ok(connection)
}

#[test]
fn a_fresh_schema_equals_a_migrated_one_from_every_step() {
    let fresh = place();
    drop(open(&fresh));
    let expected = dump(&open_writing(&fresh.path).expect("opened"));
    assert!(expected.len() > 5, "{expected:?}");
    for from in 1..=STEPS.len() {
        let old = place();
        let present: String = STEPS[..from].iter().map(|step| step.sql).collect();
        drop(migrated(&old, &STEPS[..from], &present).expect("made"));
        drop(open(&old));
        let found = dump(&open_writing(&old.path).expect("opened"));
        assert_eq!(found, expected, "from step {from}");
    }
}

#[test]
fn a_newer_schema_is_refused_and_left_alone() {
    let place = place();
    drop(open(&place));
    let connection = open_writing(&place.path).expect("opened");
    connection
        .execute(
            "INSERT INTO schema_steps VALUES (99, 'from the future')",
            [],
        )
        .expect("inserted");
    drop(connection);
    let before = fs::read(&place.path).expect("read");
    let error = Store::open(&place.path, StoreOptions::default()).expect_err("newer");
    assert!(
        matches!(
            error,
            OpenError::NewerSchema { found, known, .. }
                if found == STEPS.len() + 1 && known == STEPS.len()
        ),
        "{error}"
    );
    assert!(error.hint().contains("newer version"), "{}", error.hint());
    assert!(matches!(
        Reader::open(&place.path).expect_err("newer"),
        OpenError::NewerSchema { .. }
    ));
    assert_eq!(fs::read(&place.path).expect("read"), before);
}

#[test]
fn another_history_is_refused() {
    let place = place();
    let steps = [Step {
        name: "something else",
        sql: "",
    }];
    drop(migrated(&place, &steps, "").expect("made"));
    assert!(matches!(
        Store::open(&place.path, StoreOptions::default()).expect_err("foreign"),
        OpenError::ForeignSchema {
            step: 1,
            expected: "ledger",
            ..
        }
    ));
}

#[test]
fn every_file_is_closed_to_others_even_if_it_stood_open() {
    let place = place();
    fs::write(&place.path, b"").expect("made");
    fs::set_permissions(&place.path, fs::Permissions::from_mode(0o644)).expect("opened");
    let store = open(&place);
    store.definition_put("k", b"v", 1).expect("put");
    let parent = place.path.parent().expect("a folder");
    let mut seen = 0;
    for entry in fs::read_dir(parent).expect("listed") {
        let entry = entry.expect("an entry");
        let mode = entry.metadata().expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{:?}", entry.path());
        seen += 1;
    }
    assert_eq!(seen, 4, "database, log, shared memory, the ledger's rows");
}

#[test]
fn a_symbolic_link_is_not_followed() {
    let place = place();
    let target = place.path.with_file_name("elsewhere");
    fs::write(&target, b"").expect("made");
    std::os::unix::fs::symlink(&target, &place.path).expect("linked");
    assert!(matches!(
        Store::open(&place.path, StoreOptions::default()).expect_err("link"),
        OpenError::File {
            what: "opening",
            ..
        }
    ));
}

#[test]
fn ledger_rows_come_back_in_order_and_heads_are_per_entity() {
    let place = place();
    let store = open(&place);
    assert_eq!(store.ledger_heads().expect("read"), []);
    assert_eq!(store.ledger_position().expect("read"), 0);
    let rows = [
        row(1, "b", 1, 10),
        row(2, "a", 1, 10),
        row(3, "b", 2, 10),
        row(4, "c", 1, 10),
    ];
    let commit =
        append_with(&store, &rows, Some(2), store.generation().expect("sound")).expect("appended");
    store.sync(commit).expect("synced");
    let reader = Reader::open(&place.path).expect("opened");
    assert_eq!(reader.ledger_after(0, 100).expect("read"), rows);
    assert_eq!(store.reader().ledger_after(2, 1).expect("read"), rows[2..3]);
    assert_eq!(reader.ledger_last(2).expect("read"), rows[2..]);
    assert_eq!(reader.ledger_mark().expect("read"), 2);
    let expected = [("b", 2, 3, true), ("a", 1, 2, false), ("c", 1, 4, true)];
    assert_eq!(heads(&store), expected.map(owned));
    assert_eq!(store.ledger_hash(3).expect("read"), Some(vec![3; 32]));
    assert_eq!(store.ledger_hash(5).expect("read"), None);
}

type Head = (String, i64, u8, bool);

fn owned((entity, seq, hash, fresh): (&str, i64, u8, bool)) -> Head {
    (entity.to_owned(), seq, hash, fresh)
}

fn heads(store: &Store) -> Vec<Head> {
    let heads = store.ledger_heads().expect("read");
    heads
        .into_iter()
        .map(|head| {
            let hash = head.hash.first().copied().unwrap_or(u8::MAX);
            (head.entity.to_string(), head.seq, hash, head.fresh)
        })
        .collect()
}

#[test]
fn a_head_is_found_before_the_mark_after_it_and_missed_when_its_row_is_gone() {
    let place = place();
    let store = open(&place);
    store
        .ledger_entity(&EntityId::new("idle"))
        .expect("numbered");
    let rows = [row(1, "a", 1, 10), row(2, "b", 1, 10), row(3, "b", 2, 10)];
    let sound = store.generation().expect("sound");
    let _ = append_with(&store, &rows, Some(3), sound).expect("appended");
    let _ = append(&store, &[row(4, "b", 3, 10)]).expect("appended");
    let expected = [("idle", 0, 0, false), ("a", 1, 1, false), ("b", 3, 4, true)];
    assert_eq!(heads(&store), expected.map(owned));
    let file = OpenOptions::new()
        .write(true)
        .open(volume_path(&place.path));
    // Inside the first row, which is then not what it was.
    file.expect("opened")
        .write_all_at(b"!", 100)
        .expect("damaged");
    let expected = [
        ("idle", 0, 0, false),
        ("a", 1, u8::MAX, false),
        ("b", 3, 4, true),
    ];
    assert_eq!(heads(&store), expected.map(owned));
}

static SYNC_FAILS: AtomicBool = AtomicBool::new(false);

fn failing_sync(file: &File) -> io::Result<()> {
    if SYNC_FAILS.load(Ordering::SeqCst) {
        return Err(io::Error::from_raw_os_error(5));
    }
    file.sync_data()
}

#[test]
fn after_a_failed_sync_nothing_is_called_durable_until_the_store_is_opened_anew() {
    let place = place();
    let options = StoreOptions {
        sync: failing_sync,
        ..StoreOptions::default()
    };
    let store = Store::open(&place.path, options).expect("opened");
    let first = append(&store, &[row(1, "a", 1, 10)]).expect("appended");
    let second = append(&store, &[row(2, "a", 2, 10)]).expect("appended");
    SYNC_FAILS.store(true, Ordering::SeqCst);
    let error = store.sync(first).expect_err("the disk fails");
    assert!(
        matches!(error, StoreError::Sync { source: Some(_) }),
        "{error}"
    );
    SYNC_FAILS.store(false, Ordering::SeqCst);
    // The kernel would say yes now, without having written the lost pages.
    assert!(matches!(
        store.sync(second).expect_err("in doubt"),
        StoreError::Sync { source: None }
    ));
    // The next use repairs: the log is moved into the database and synced.
    assert_eq!(store.ledger_position().expect("repaired"), 2);
    assert_eq!(fs::metadata(wal_path(&place.path)).expect("there").len(), 0);
    store.sync(second).expect("on disk by the repair");
    let third = append(&store, &[row(3, "a", 3, 10)]).expect("appended");
    store.sync(third).expect("synced");
}

/// Puts definitions down until `enough` says so, which a few thousand do unless the machine is very busy; how many.
fn put_until(store: &Store, enough: impl Fn() -> bool) -> usize {
    for count in 0..200_000 {
        if count % 500 == 0 && enough() {
            return count;
        }
        let key = format!("k{count}");
        store.definition_put(&key, &[b'x'; 400], 1).expect("put");
    }
    panic!("it never comes to that");
}

#[test]
fn the_log_is_moved_into_the_database_while_commits_go_on() {
    let place = place();
    let options = StoreOptions {
        log_pages: 1_024,
        ..StoreOptions::default()
    };
    let store = Store::open(&place.path, options).expect("opened");
    let length = || fs::metadata(&place.path).expect("there").len();
    let small = length();
    let count = put_until(&store, || length() > small + 200_000);
    assert!(count > 0);
    drop(store);
    assert!(!wal_path(&place.path).exists(), "closing empties the log");
    let key = format!("k{}", count - 1);
    assert!(open(&place).definition_get(&key).expect("read").is_some());
}

/// How often the log was started over: the checkpoint number in its header,
/// see <https://sqlite.org/fileformat2.html#walformat>.
fn log_number(place: &Place) -> u32 {
    let log = fs::read(wal_path(&place.path)).expect("read");
    u32::from_be_bytes(log[12..16].try_into().expect("four bytes"))
}

#[test]
fn the_log_starts_over_under_sustained_writing() {
    let place = place();
    let options = StoreOptions {
        log_pages: 1_024,
        ..StoreOptions::default()
    };
    let store = Store::open(&place.path, options).expect("opened");
    store.definition_put("k", b"v", 1).expect("put");
    let first = log_number(&place);
    put_until(&store, || log_number(&place) != first);
}

#[test]
fn rows_of_a_database_of_before_there_was_a_volume_are_moved() {
    let place = place();
    let store = open(&place);
    for position in 1..=3 {
        let _ = append(&store, &[row(position, "a", position, 10)]).expect("appended");
    }
    drop(store);
    fs::remove_file(volume_path(&place.path)).expect("removed");
    let connection = open_writing(&place.path).expect("opened");
    connection
        .execute_batch(
            "DELETE FROM schema_steps WHERE name = 'ledger_places';
             DROP TABLE ledger_places;
             WITH RECURSIVE rows(position) AS (
                 SELECT 1 UNION ALL SELECT position + 1 FROM rows WHERE position < 3000)
             INSERT INTO ledger SELECT position, 1, position, 1000 + position,
                 zeroblob(32), zeroblob(32), CAST('row ' || position AS BLOB) FROM rows",
        )
        .expect("as they were");
    drop(connection);
    for _ in 0..2 {
        let store = open(&place);
        assert_eq!(store.ledger_position().expect("read"), 3_000);
        let rows = store.reader().ledger_after(0, 10_000).expect("read");
        assert!(rows.iter().zip(1..).all(|(row, position)| {
            let text = format!("row {position}");
            row.position == position && row.bytes == text.as_bytes() && row.is_sound
        }));
        assert_eq!(heads(&store), [owned(("a", 3_000, 0, true))]);
    }
    let left: i64 = open_writing(&place.path)
        .expect("opened")
        .query_row("SELECT count(*) FROM ledger", [], |row| row.get(0))
        .expect("read");
    assert_eq!(left, 0);
}

#[test]
fn places_behind_the_end_of_a_shorter_file_are_forgotten() {
    let place = place();
    let store = open(&place);
    let rows: Vec<_> = (1..=3)
        .map(|position| row(position, "a", position, 10))
        .collect();
    let _ = append(&store, &rows).expect("appended");
    drop(store);
    let volume = volume_path(&place.path);
    let whole = fs::read(&volume).expect("read");
    fs::write(&volume, &whole[..whole.len() / 3]).expect("cut");
    for last in 2..=3 {
        let store = open(&place);
        let _ = append(&store, &[row(last, "a", last, 10)]).expect("appended");
        drop(store);
        let connection = open_writing(&place.path).expect("opened");
        let places: Vec<i64> = connection
            .prepare("SELECT position FROM ledger_places ORDER BY position")
            .expect("prepared")
            .query_map([], |row| row.get(0))
            .expect("queried")
            .collect::<Result<_, _>>()
            .expect("read");
        assert_eq!(places.last(), Some(&last), "{places:?}");
    }
}

#[test]
fn rows_that_only_came_into_the_table_are_moved() {
    let place = place();
    let store = open(&place);
    let _ = append(&store, &[row(1, "a", 1, 10)]).expect("appended");
    drop(store);
    // As when the hub is killed between the two.
    open_writing(&place.path)
        .expect("opened")
        .execute_batch(
            "INSERT INTO ledger VALUES (1, 1, 1, 9, zeroblob(32), zeroblob(32), x'41'),
                 (2, 1, 2, 9, zeroblob(32), zeroblob(32), x'42'),
                 (4, 1, 4, 9, zeroblob(32), zeroblob(32), x'44')",
        )
        .expect("put");
    let store = open(&place);
    let rows = store.reader().ledger_after(0, 10).expect("read");
    let texts: Vec<&[u8]> = rows.iter().map(|row| &row.bytes[..]).collect();
    assert_eq!(texts, [&[b'x'; 10][..], b"B"]);
}

#[test]
fn an_address_says_what_is_wrong_and_never_its_password() {
    let variable = |name: &str| {
        let known = [
            ("PGPASSWORD", "from the usual one"),
            ("DB_PASSWORD", "p@ss/word"),
        ];
        let found = known.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| Secret::new(*value))
    };
    let parse = |text| DatabaseUrl::parse(text, variable);
    for (text, password) in [
        ("postgres://u@localhost/hub", "from the usual one"),
        ("postgres://u:${DB_PASSWORD}@127.0.0.1/hub", "p@ss/word"),
        ("postgresql://u:wr%40itten@[::1]:5433/hub", "wr@itten"),
        ("postgres://u@%2Frun%2Fpostgresql/hub", "from the usual one"),
        (
            "postgres://u:written@db.example.com/hub?sslmode=prefer",
            "written",
        ),
    ] {
        let url = parse(text).expect(text);
        let found = url.config.get_password().expect("there");
        assert_eq!(found, password.as_bytes(), "{text}");
        let shown = format!("{url} {url:?} {}", url.place());
        assert!(
            !shown.contains(password) && shown.contains("hub"),
            "{shown}"
        );
    }
    let missing = |missing| UrlError::Missing { missing };
    let undefined = UrlError::Undefined {
        variable: "NONE".to_owned(),
    };
    let open = UrlError::Open {
        host: "db.example.com".to_owned(),
    };
    for (text, expected) in [
        ("mysql://u@localhost/hub", UrlError::Scheme),
        ("/home/person/state.db", UrlError::Scheme),
        ("postgres://u@localhost:port/hub", UrlError::Syntax),
        ("postgres://u@localhost/hub?what=1", UrlError::Syntax),
        ("postgres:///hub", missing("host")),
        ("postgres://u@localhost", missing("database")),
        ("postgres://u:${NONE}@localhost/hub", undefined),
        (
            "postgres://u:secret@db.example.com/hub?sslmode=disable",
            open,
        ),
    ] {
        let error = parse(text).expect_err(text);
        assert_eq!(error, expected, "{text}");
        assert!(!error.to_string().contains("secret") && !error.hint().is_empty());
    }
}

#[test]
fn beyond_this_machine_a_connection_is_encrypted() {
    use tokio_postgres::config::SslMode;
    for (text, mode) in [
        ("postgres://u@localhost/hub", SslMode::Disable),
        (
            "postgres://u@localhost/hub?sslmode=require",
            SslMode::Require,
        ),
        ("postgres://u@db.example.com/hub", SslMode::Require),
        (
            "postgres://u@db.example.com/hub?sslmode=prefer",
            SslMode::Require,
        ),
        ("postgres://u@127.0.0.1,192.0.2.1/hub", SslMode::Require),
        (
            "postgres://u@192.0.2.1/hub?host=localhost",
            SslMode::Require,
        ),
    ] {
        let url = DatabaseUrl::parse(text, |_| None).expect(text);
        assert_eq!(url.config.get_ssl_mode(), mode, "{text}");
    }
}
