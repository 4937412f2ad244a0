//! Every single byte of a ledger of a thousand records.
//!
//! One byte of every record is flipped at a time, and each has to be named: a
//! record's hash covers its own columns alone, so that what is flipped beside
//! it changes nothing about whether it is found.

use super::oracle::python;
use super::volume::{HEAD, Table};
use super::*;

const RECORDS: usize = 1_000;

fn thousand() -> Place {
    written(RECORDS)
}

fn written(records: usize) -> Place {
    let place = place();
    let (_store, ledger) = place.open();
    block_on(async {
        for call in 0..records / 2 {
            let asked = asked(["a", "b"][call % 3 / 2]);
            one_call(&ledger, &asked, Durability::PageCache).await;
        }
        ledger.flush().await.expect("flushed");
    });
    place
}

#[test]
fn every_byte_of_a_thousand_records_is_found_by_python() {
    let place = thousand();
    let path = place.path.display().to_string();
    let flip = concat!(env!("CARGO_MANIFEST_DIR"), "/src/tests/flip.py");
    let start = "import runpy, sys; sys.path.insert(0, '.'); sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0])";
    let (lines, content) = python(&["-c", start, flip, &path]);
    assert!(content, "{lines:?}");
    let flips: usize = lines[0].parse().expect("a number");
    assert!(flips > RECORDS * 350, "{flips}");
}

#[test]
fn every_byte_of_a_thousand_records_is_found() {
    let place = thousand();
    let table = Table::open(&place);
    let connection = &table.connection;
    let reader = LedgerReader::open(&place.path).expect("opened");
    let verify = || reader.records().verify(&Evidence::default()).expect("read");
    let mut flips = 0;
    for column in ["prev", "hash", "bytes"] {
        let rows: Vec<(i64, String, i64, Vec<u8>)> = connection
            .prepare(&format!(
                "SELECT position, name, seq, {column}
                 FROM ledger JOIN ledger_entities ON number = entity ORDER BY position"
            ))
            .expect("prepared")
            .query_map([], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
            })
            .expect("queried")
            .collect::<Result<_, _>>()
            .expect("read");
        assert_eq!(rows.len(), RECORDS);
        let longest = rows.iter().map(|row| row.3.len()).max().expect("rows");
        let sql = format!("UPDATE ledger SET {column} = ?1 WHERE position = ?2");
        for at in 0..=longest {
            connection.execute_batch("BEGIN").expect("begun");
            let mut update = connection.prepare_cached(&sql).expect("prepared");
            let mut expected = Vec::new();
            for (position, entity, seq, blob) in rows.iter().filter(|row| at <= row.3.len()) {
                let mut changed = blob.clone();
                if let Some(byte) = changed.get_mut(at) {
                    *byte ^= 1 << (at % 8);
                    expected.push((*position, entity.as_str(), *seq));
                }
                update.execute((&changed, position)).expect("changed");
            }
            drop(update);
            connection.execute_batch("COMMIT").expect("committed");
            table.save();
            let report = verify();
            let found: Vec<_> = report
                .faults
                .iter()
                .map(|fault| {
                    assert_eq!(
                        fault.kind,
                        FaultKind::Changed,
                        "{column} byte {at}: {fault}"
                    );
                    (fault.position, fault.entity.as_str(), fault.seq)
                })
                .collect();
            assert_eq!(found, expected, "{column} byte {at}");
            flips += found.len();
        }
    }
    assert!(flips > RECORDS * 350, "{flips}");
    assert!(verify().is_intact());
}

#[test]
fn every_byte_that_a_disk_turns_is_found_where_it_is() {
    const FEW: usize = 60;
    let place = written(FEW);
    let path = super::volume::path(&place);
    let whole = std::fs::read(&path).expect("read");
    let reader = LedgerReader::open(&place.path).expect("opened");
    let (mut start, mut flips) = (0, 0);
    for position in 1..=FEW {
        let size = whole[start + 8..start + 12].try_into().expect("a size");
        let end = start + HEAD + u32::from_le_bytes(size) as usize;
        // Beside the record, sums and sizes included; of the record itself one byte.
        for at in (start..start + HEAD)
            .chain([end - 1])
            .step_by(if position % 50 == 0 { 1 } else { 13 })
        {
            let mut changed = whole.clone();
            changed[at] ^= 1 << (at % 8);
            std::fs::write(&path, changed).expect("written");
            let report = reader.records().verify(&Evidence::default()).expect("read");
            let fault = report
                .first()
                .unwrap_or_else(|| panic!("row {position}, byte {}", at - start));
            assert_eq!(
                (usize::try_from(fault.position), fault.kind),
                (Ok(position), FaultKind::Changed),
                "row {position}, byte {}: {fault}",
                at - start
            );
            flips += 1;
        }
        start = end;
    }
    assert!(flips > FEW * 8, "{flips}");
}
