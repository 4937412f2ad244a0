//! Whatever is done to the file between its first record and its last shows,
//! and shows where.

use super::volume::{Table, edit};
use super::*;
use crate::FaultKind::{Changed, Misplaced, Missing, Repeated};

const CALLS: i64 = 4;

/// Four calls each in two entities, one after the other.
fn written() -> Place {
    let place = place();
    let (_store, ledger) = place.open();
    let (a, b) = (asked("a"), asked("b"));
    block_on(async {
        for _ in 0..CALLS {
            one_call(&ledger, &a, Durability::PageCache).await;
            ledger.flush().await.expect("flushed");
            one_call(&ledger, &b, Durability::PageCache).await;
            ledger.flush().await.expect("flushed");
        }
    });
    place
}

#[test]
fn an_untouched_file_is_intact() {
    let place = written();
    let report = place.verify();
    assert!(report.is_intact(), "{report:?}");
    assert_eq!((report.intents, report.outcomes, report.pairs), (8, 8, 8));
    let ends: Vec<_> = report.chains.iter().map(|chain| chain.seq).collect();
    assert_eq!(ends, [8, 8]);
}

#[test]
fn every_flipped_byte_is_found_and_located() {
    let place = written();
    let table = Table::open(&place);
    let connection = &table.connection;
    let reader = LedgerReader::open(&place.path).expect("opened");
    let rows: Vec<(i64, String, i64, [Vec<u8>; 3])> = connection
        .prepare(
            "SELECT position, name, seq, prev, hash, bytes
             FROM ledger JOIN ledger_entities ON number = entity ORDER BY position",
        )
        .expect("prepared")
        .query_map([], |row| {
            let blobs = [row.get(3)?, row.get(4)?, row.get(5)?];
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, blobs))
        })
        .expect("queried")
        .collect::<Result<_, _>>()
        .expect("read");
    let mut flips = 0;
    for (position, entity, seq, blobs) in &rows {
        for (column, blob) in ["prev", "hash", "bytes"].into_iter().zip(blobs) {
            let sql = format!("UPDATE ledger SET {column} = ?1 WHERE position = ?2");
            let mut update = connection.prepare(&sql).expect("prepared");
            for at in 0..blob.len() {
                let mut changed = blob.clone();
                changed[at] ^= 1 << (at % 8);
                update.execute((&changed, position)).expect("changed");
                table.save();
                let fault = reader
                    .records()
                    .verify(&Evidence::default())
                    .expect("read")
                    .faults
                    .remove(0);
                assert_eq!(
                    (fault.position, fault.entity.as_str(), fault.seq, fault.kind),
                    (*position, entity.as_str(), *seq, FaultKind::Changed),
                    "{column} byte {at}"
                );
                flips += 1;
            }
            update.execute((blob, position)).expect("restored");
            table.save();
        }
    }
    assert!(flips > 16 * 300, "{flips}");
    assert!(
        reader
            .records()
            .verify(&Evidence::default())
            .expect("read")
            .is_intact()
    );
}

/// What is done, how, and what is found: the chain, the place in it, the fault.
/// Positions 1 and 2 are a's first call, 3 and 4 are b's, and so on.
const REARRANGEMENTS: &[(&str, &str, &str, i64, FaultKind)] = &[
    (
        "delete one",
        "DELETE FROM ledger WHERE position = 5",
        "a",
        3,
        Missing,
    ),
    (
        "delete the first",
        "DELETE FROM ledger WHERE position = 1",
        "a",
        1,
        Missing,
    ),
    (
        "delete and close the gap",
        "DELETE FROM ledger WHERE position = 5;
             UPDATE ledger SET seq = seq - 1 WHERE entity = 1 AND seq > 3",
        "a",
        3,
        Misplaced,
    ),
    (
        "swap two rows",
        "UPDATE ledger SET position = 1000 WHERE position = 5;
             UPDATE ledger SET position = 5 WHERE position = 6;
             UPDATE ledger SET position = 6 WHERE position = 1000",
        "a",
        3,
        Missing,
    ),
    (
        "swap two records",
        "UPDATE ledger SET bytes = CASE position
                WHEN 5 THEN (SELECT bytes FROM ledger WHERE position = 6)
                ELSE (SELECT bytes FROM ledger WHERE position = 5) END
             WHERE position IN (5, 6)",
        "a",
        3,
        Changed,
    ),
    (
        "duplicate a row",
        "INSERT INTO ledger SELECT 1000, entity, seq, at_ms, prev, hash, bytes
             FROM ledger WHERE position = 5",
        "a",
        3,
        Repeated,
    ),
    (
        "duplicate a row under a number of its own",
        "INSERT INTO ledger SELECT 1000, entity, 9, at_ms, prev, hash, bytes
             FROM ledger WHERE position = 5",
        "a",
        9,
        Misplaced,
    ),
    (
        "renumber",
        "UPDATE ledger SET seq = 99 WHERE position = 5",
        "a",
        99,
        Misplaced,
    ),
    (
        "redate",
        "UPDATE ledger SET at_ms = at_ms + 1 WHERE position = 5",
        "a",
        3,
        Misplaced,
    ),
    (
        "move to another chain",
        "UPDATE ledger SET entity = 2 WHERE position = 5",
        "b",
        3,
        Misplaced,
    ),
    (
        "move to a chain that is none",
        "UPDATE ledger SET entity = 7 WHERE position = 5",
        "#7",
        3,
        Misplaced,
    ),
    (
        "rename a chain",
        "UPDATE ledger_entities SET name = 'c' WHERE number = 1",
        "c",
        1,
        Misplaced,
    ),
    (
        "forget a chain's name",
        "DELETE FROM ledger_entities WHERE number = 2",
        "#2",
        1,
        Misplaced,
    ),
    (
        "bring in another chain's record",
        "UPDATE ledger SET (prev, hash, bytes, at_ms) =
                (SELECT prev, hash, bytes, at_ms FROM ledger WHERE position = 7)
             WHERE position = 5",
        "a",
        3,
        Misplaced,
    ),
    (
        "bring in bytes without their hash",
        "UPDATE ledger SET bytes = (SELECT bytes FROM ledger WHERE position = 7)
             WHERE position = 5",
        "a",
        3,
        Changed,
    ),
    (
        "shorten a hash",
        "UPDATE ledger SET hash = substr(hash, 1, 31) WHERE position = 5",
        "a",
        3,
        Changed,
    ),
    (
        "empty a record",
        "UPDATE ledger SET bytes = x'' WHERE position = 5",
        "a",
        3,
        Changed,
    ),
];

#[test]
fn every_rearrangement_is_found_and_located() {
    for (what, sql, entity, seq, kind) in REARRANGEMENTS {
        let place = written();
        edit(&place, sql);
        let report = place.verify();
        let fault = report
            .first()
            .unwrap_or_else(|| panic!("{what}: {report:?}"));
        assert_eq!(
            (fault.entity.as_str(), fault.seq, fault.kind),
            (*entity, *seq, *kind),
            "{what}"
        );
        assert!(!report.is_intact(), "{what}");
        assert!(!super::oracle::both(&place, None, &[]).is_empty(), "{what}");
    }
}

#[test]
fn a_record_forged_with_a_hash_of_its_own_breaks_the_link_after_it() {
    let place = written();
    let table = Table::open(&place);
    let connection = &table.connection;
    let (prev, bytes): (Vec<u8>, String) = connection
        .query_row(
            "SELECT prev, CAST(bytes AS TEXT) FROM ledger WHERE position = 5",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .expect("read");
    let forged = bytes.replace("read_file", "write_all");
    assert_ne!(forged, bytes);
    let hash = crate::chain::hash(&prev, forged.as_bytes());
    connection
        .execute(
            "UPDATE ledger SET bytes = CAST(?1 AS BLOB), hash = ?2 WHERE position = 5",
            (&forged, &hash[..]),
        )
        .expect("forged");
    table.save();
    let fault = place.verify().faults.remove(0);
    assert_eq!(
        (fault.entity.as_str(), fault.seq, fault.kind),
        ("a", 4, FaultKind::Unlinked)
    );
    assert_eq!(
        fault.to_string(),
        "record 4 of entity a was not written after the record before it"
    );
}

#[test]
fn a_file_cut_off_at_its_end_verifies_but_ends_earlier() {
    let place = written();
    let before = place.verify();
    edit(&place, "DELETE FROM ledger WHERE entity = 1 AND seq > 6");
    let after = place.verify();
    assert!(after.is_intact());
    assert_ne!(before.chains, after.chains);
    assert_eq!(after.chains[0].seq, 6);
}

#[test]
fn a_damaged_record_does_not_keep_the_hub_from_starting_but_a_damaged_head_does() {
    let place = written();
    edit(&place, "UPDATE ledger SET bytes = x'00' WHERE position = 5");
    // The intent cannot be read, so its call is not closed a second time.
    assert_eq!(place.open().1.swept(), 0);
    // The last row's record, and nothing else.
    let file = super::volume::path(&place);
    let mut bytes = std::fs::read(&file).expect("read");
    *bytes.last_mut().expect("rows") ^= 1;
    std::fs::write(&file, bytes).expect("written");
    let store = Store::open(&place.path, StoreOptions::default()).expect("a store");
    let error = Ledger::open(Arc::new(store), keys(), SystemClock::shared()).expect_err("damaged");
    assert!(
        matches!(&error, LedgerOpenError::DamagedHead { entity, seq: 8 } if entity == "b"),
        "{error}"
    );
}

/// What follows the stamp of a record that somebody added at the end, hash and
/// all, and what is found; nothing where it is as good as any record.
const ADDED: &[(&str, Option<FaultKind>)] = &[
    (r#""kind":"note","topic":"x","text":"y"}"#, None),
    (r#""kind":"intent","call":"00-1"}"#, None),
    (r#""kind":"refused","call":"00-1"}"#, None),
    (
        r#""kind":"outcome","call":"00-1","intent":1,"status":"ok"}"#,
        Some(FaultKind::Orphan),
    ),
    (
        r#""kind":"outcome","call":"00-1","status":"ok"}"#,
        Some(FaultKind::Malformed),
    ),
    (r#""kind":"intent"}"#, Some(FaultKind::Malformed)),
    (
        r#""kind":"other","call":"00-1"}"#,
        Some(FaultKind::Malformed),
    ),
    (r#""kind":"note","topic":"x""#, Some(FaultKind::Malformed)),
    (r#""kind":"note"}}"#, Some(FaultKind::Malformed)),
    ("", Some(FaultKind::Malformed)),
];

#[test]
fn a_record_added_at_the_end_is_read_alike_by_both_verifiers() {
    for (rest, found) in ADDED {
        let place = written();
        let table = Table::open(&place);
        let connection = &table.connection;
        let (prev, at_ms): (Vec<u8>, i64) = connection
            .query_row(
                "SELECT hash, at_ms FROM ledger WHERE entity = 1 AND seq = 8",
                [],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
            .expect("read");
        let at = legation_core::Wall(at_ms);
        let text = format!(r#"{{"v":1,"entity":"a","seq":9,"at":"{at}",{rest}"#);
        let hash = crate::chain::hash(&prev, text.as_bytes());
        connection
            .execute(
                "INSERT INTO ledger (position, entity, seq, at_ms, prev, hash, bytes)
                 VALUES (17, 1, 9, ?1, ?2, ?3, CAST(?4 AS BLOB))",
                (at_ms, &prev, &hash[..], &text),
            )
            .expect("added");
        table.save();
        let expected = found.map(|kind| format!("{} a 9", kind.name()));
        let said = super::oracle::faults(&place, None, &[]);
        assert_eq!(said, Vec::from_iter(expected), "{rest}");
    }
}
