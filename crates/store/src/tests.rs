//! The store, opened on real files.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use legation_core::{ClientId, EntityId, SeatId, ServerName, TaskHandle};
use rusqlite::Connection;

use super::*;
use crate::sqlite::connection::{open_writing, prepare_file, wal_path};
use crate::sqlite::migrate::{STEPS, Step, migrate_with};

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
            OpenError::NewerSchema {
                found: 13,
                known: 12,
                ..
            }
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
    assert_eq!(seen, 3, "database, log, shared memory");
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
fn batches_of_every_size_are_written_whole() {
    let place = place();
    let store = open(&place);
    let mut expected = Vec::new();
    for size in (1..=33).chain([64, 65, 100]) {
        let first = i64::try_from(expected.len()).expect("small") + 1;
        let rows: Vec<_> = (first..first + size)
            .map(|at| row(at, "a", at, 40))
            .collect();
        let _ = append(&store, &rows).expect("appended");
        expected.extend(rows);
    }
    let found = store.reader().ledger_after(0, 10_000).expect("read");
    assert_eq!(found, expected);
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
    let connection = open_writing(&place.path).expect("opened");
    connection
        .execute_batch("DELETE FROM ledger WHERE position = 1")
        .expect("deleted");
    let expected = [
        ("idle", 0, 0, false),
        ("a", 1, u8::MAX, false),
        ("b", 3, 4, true),
    ];
    assert_eq!(heads(&store), expected.map(owned));
}

#[test]
fn a_failed_append_leaves_nothing_of_itself() {
    let place = place();
    let store = open(&place);
    let _ = append(&store, &[row(1, "a", 1, 10)]).expect("appended");
    let before = store.generation().expect("sound");
    let twice = [row(2, "a", 2, 10), row(2, "a", 3, 10)];
    append_with(&store, &twice, Some(3), before).expect_err("the same place twice");
    assert!(matches!(
        append_with(&store, &[row(2, "a", 2, 10)], None, before),
        Err(StoreError::Reopened)
    ));
    append(&store, &twice).expect_err("the same place twice");
    assert_eq!(store.ledger_position().expect("read"), 1);
    assert_eq!(store.reader().ledger_mark().expect("read"), 0);
    let _ = append(&store, &[row(2, "a", 2, 10)]).expect("appended");
    assert_eq!(store.ledger_position().expect("read"), 2);
}

#[test]
fn a_full_database_is_its_own_error_and_passes() {
    let place = place();
    let store = open(&place);
    store.limit_pages(Some(16)).expect("limited");
    for attempt in 0..2 {
        let error = append(&store, &[row(1, "a", 1, 200_000)]).expect_err("full");
        assert!(
            matches!(error, StoreError::Full { .. }),
            "{attempt}: {error}"
        );
        assert_eq!(store.ledger_position().expect("read"), 0);
    }
    store.limit_pages(None).expect("lifted");
    let _ = append(&store, &[row(1, "a", 1, 200_000)]).expect("appended");
    assert_eq!(store.ledger_position().expect("read"), 1);
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

#[test]
fn the_log_is_moved_into_the_database_while_commits_go_on() {
    let place = place();
    let store = open(&place);
    let small = fs::metadata(&place.path).expect("there").len();
    for position in 1..=2_000 {
        let _ = append(&store, &[row(position, "a", position, 400)]).expect("appended");
    }
    drop(store);
    assert!(fs::metadata(&place.path).expect("there").len() > small + 2_000 * 400);
    assert!(!wal_path(&place.path).exists(), "closing empties the log");
    assert_eq!(open(&place).ledger_position().expect("read"), 2_000);
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
    let store = open(&place);
    let _ = append(&store, &[row(1, "a", 1, 400)]).expect("appended");
    let first = log_number(&place);
    let mut last = 1;
    // A few thousand commits are enough unless the machine is very busy.
    while log_number(&place) == first {
        for position in last + 1..=last + 500 {
            let _ = append(&store, &[row(position, "a", position, 400)]).expect("appended");
        }
        last += 500;
        assert!(last < 200_000, "the log never starts over");
    }
    drop(store);
    assert_eq!(open(&place).ledger_position().expect("read"), last);
}

#[test]
fn definitions_are_remembered_replaced_listed_and_forgotten() {
    let place = place();
    let store = open(&place);
    assert_eq!(store.definition_get("a/tools").expect("read"), None);
    store.definition_put("a/tools", b"1", 10).expect("put");
    store.definition_put("a/tools", b"2", 20).expect("put");
    store.definition_put("a/era", b"e", 30).expect("put");
    store.definition_put("a%", b"p", 30).expect("put");
    store.definition_put("b/era", b"e", 30).expect("put");
    drop(store);
    let store = open(&place);
    let found = store
        .definition_get("a/tools")
        .expect("read")
        .expect("there");
    assert_eq!(
        (found.blob.as_slice(), found.updated_at_ms),
        (&b"2"[..], 20)
    );
    let keys = |prefix: &str| -> Vec<String> {
        let found = store.definition_list(prefix).expect("read");
        found.into_iter().map(|one| one.key).collect()
    };
    assert_eq!(keys("a/"), ["a/era", "a/tools"]);
    assert_eq!(keys("a%"), ["a%"]);
    assert_eq!(keys("").len(), 4);
    assert!(store.definition_remove("a/era").expect("removed"));
    assert!(!store.definition_remove("a/era").expect("none"));
}

fn task(handle: &str, client: &str, created_ms: i64, ttl_ms: Option<i64>) -> Task {
    Task {
        handle: TaskHandle::new(handle),
        client: ClientId::new(client),
        server: ServerName::parse("files").expect("a name"),
        seat: SeatId::new("seat"),
        upstream: format!("up-{handle}"),
        created_ms,
        ttl_ms,
        state: b"{}".to_vec(),
    }
}

#[test]
fn tasks_belong_to_a_client_and_expire() {
    let place = place();
    let store = open(&place);
    let one = task("t1", "claude", 100, Some(50));
    let two = task("t2", "codex", 90, None);
    let three = task("t3", "claude", 80, Some(1_000));
    for task in [&one, &two, &three] {
        store.task_put(task).expect("put");
    }
    assert_eq!(
        store.task_get(&one.handle).expect("read"),
        Some(one.clone())
    );
    let claude = ClientId::new("claude");
    assert_eq!(
        store.task_list(Some(&claude)).expect("read"),
        [three.clone(), one.clone()]
    );
    assert_eq!(store.task_list(None).expect("read").len(), 3);
    assert!(store.task_state_set(&three.handle, b"[]").expect("set"));
    assert!(
        !store
            .task_state_set(&TaskHandle::new("no"), b"")
            .expect("none")
    );
    assert_eq!(store.task_expire(149).expect("expired"), 0);
    assert_eq!(store.task_expire(150).expect("expired"), 1);
    assert_eq!(store.task_get(&one.handle).expect("read"), None);
    let kept = store.task_get(&three.handle).expect("read").expect("there");
    assert_eq!(kept.state, b"[]");
    assert!(store.task_remove(&two.handle).expect("removed"));
    assert!(!store.task_remove(&two.handle).expect("none"));
}

fn grant(id: &str, uses_left: Option<i64>) -> GrantRow {
    GrantRow {
        id: id.to_owned(),
        client: "claude".to_owned(),
        server: "files".to_owned(),
        item: "write".to_owned(),
        verb: "call".to_owned(),
        entity: "a".to_owned(),
        definition: Some([1; 32]),
        args_digest: None,
        rung: "execute".to_owned(),
        policy_version: Some(7),
        scope: "once".to_owned(),
        seat: None,
        workspace: Some("/home/person/work".to_owned()),
        created_ms: 10,
        expires_ms: Some(1_000),
        uses_left,
        approval: None,
        approver: "person".to_owned(),
        mac: [9; 32],
    }
}

/// Makes one row for each claim that held.
struct Rows {
    entity: i64,
    next: i64,
    bytes: Vec<u8>,
    zeros: [u8; 32],
    hashes: Vec<[u8; 32]>,
}

impl BuildLedger for Rows {
    fn build(&mut self, held: &[bool]) -> LedgerBatch<'_> {
        let first = self.next;
        let count = held.iter().filter(|held| **held).count();
        self.next += i64::try_from(count).expect("few");
        self.hashes = vec![[5; 32]; count];
        let rows = self
            .hashes
            .iter()
            .zip(first..)
            .map(|(hash, at)| NewLedgerRow {
                position: at,
                entity: self.entity,
                seq: at,
                at_ms: 1,
                prev: &self.zeros,
                hash,
                bytes: &self.bytes,
            });
        LedgerBatch {
            rows: rows.collect(),
            mark: None,
        }
    }
}

#[test]
fn a_claim_is_used_up_with_its_record_and_one_that_fails_loses_only_its_own() {
    let place = place();
    let store = open(&place);
    let before = store.grant_generation();
    store.grant_put(&grant("g", Some(1))).expect("put");
    assert!(store.grant_generation() > before);
    let mut rows = Rows {
        entity: store.ledger_entity(&EntityId::new("a")).expect("numbered"),
        next: 1,
        bytes: b"record".to_vec(),
        zeros: [0; 32],
        hashes: Vec::new(),
    };
    let known = store.grant_generation();
    let claims = ["g", "g", "none"].map(|id| Claim::Grant { id, now_ms: 999 });
    let sound = store.generation().expect("sound");
    let (held, commit) = store
        .ledger_commit(&claims, sound, &mut rows)
        .expect("committed");
    store.sync(commit).expect("synced");
    assert_eq!(held, [true, false, false]);
    assert!(store.grant_generation() > known, "the last use is a change");
    assert_eq!(store.ledger_position().expect("read"), 1);
    assert_eq!(store.grant_list().expect("read"), [grant("g", Some(0))]);
    store.grant_put(&grant("late", None)).expect("put");
    let late = Claim::Grant {
        id: "late",
        now_ms: 1_000,
    };
    let (held, _) = store
        .ledger_commit(&[late], sound, &mut rows)
        .expect("committed");
    assert_eq!(held, [false]);
    assert_eq!(store.grant_expire(1_000).expect("expired"), 2);
}
