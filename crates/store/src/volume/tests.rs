//! The volume, on real files.

use std::fs;
use std::path::PathBuf;

use legation_core::EntityId;

use super::frame::HEAD;
use super::*;

const ROOM: Room = Room {
    ahead: 4_096,
    limit: None,
};

/// A volume in a folder of its own.
struct Bench {
    _folder: tempfile::TempDir,
    path: PathBuf,
    /// What the database would know.
    stored: Vec<Place>,
}

fn bench() -> Bench {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("state.db-ledger");
    Bench {
        _folder: folder,
        path,
        stored: Vec::new(),
    }
}

fn append(volume: &Volume, texts: &[&str]) {
    let first = volume.last().position + 1;
    let rows: Vec<NewLedgerRow<'_>> = texts
        .iter()
        .zip(first..)
        .map(|(text, position)| NewLedgerRow {
            position,
            entity: 1,
            seq: position,
            at_ms: 1_000 + position,
            prev: &[1; 32],
            hash: &[2; 32],
            bytes: text.as_bytes(),
        })
        .collect();
    volume.append(&rows, None, || Ok(())).expect("appended");
}

impl Bench {
    fn open(&self) -> Volume {
        Volume::open(&self.path, self.stored.clone(), ROOM).expect("opened")
    }

    /// Five rows, closed or not.
    fn written(closed: bool) -> Self {
        let mut bench = bench();
        let volume = bench.open();
        append(&volume, &["one", "two", "three"]);
        append(&volume, &["four", "five"]);
        if closed {
            volume.close().expect("closed");
            bench.stored.push(volume.last());
        }
        bench
    }

    /// What a reader of the file finds: position, record, and whether it is sound.
    fn read(&self) -> Vec<(i64, String, bool)> {
        let reader = VolumeReader::open(&self.path, self.stored.clone()).expect("opened");
        told(&reader, 0)
    }

    fn change(&self, change: impl FnOnce(&mut Vec<u8>)) {
        let mut bytes = fs::read(&self.path).expect("read");
        change(&mut bytes);
        fs::write(&self.path, bytes).expect("written");
    }

    /// Where a row begins.
    fn start(&self, position: usize) -> usize {
        let lengths = ["one", "two", "three", "four", "five"].map(|text| HEAD + text.len());
        lengths[..position - 1].iter().sum()
    }
}

fn told(reader: &VolumeReader, after: i64) -> Vec<(i64, String, bool)> {
    let rows = reader.after(after, usize::MAX, &|number| {
        EntityId::new(number.to_string())
    });
    rows.expect("read")
        .into_iter()
        .map(|row| {
            let text = String::from_utf8_lossy(&row.bytes).into_owned();
            (row.position, text, row.is_sound)
        })
        .collect()
}

fn sound(texts: &[&str]) -> Vec<(i64, String, bool)> {
    let rows = texts.iter().zip(1..);
    rows.map(|(text, position)| (position, (*text).to_owned(), true))
        .collect()
}

const ALL: [&str; 5] = ["one", "two", "three", "four", "five"];

#[test]
fn rows_come_back_beside_their_writer_and_without_one() {
    let bench = bench();
    let volume = bench.open();
    let beside = volume.reader().expect("opened");
    assert_eq!(told(&beside, 0), []);
    append(&volume, &ALL[..3]);
    assert_eq!(told(&beside, 0), sound(&ALL[..3]));
    append(&volume, &ALL[3..]);
    assert_eq!(told(&beside, 3), sound(&ALL)[3..]);
    let names = |number: i64| EntityId::new(number.to_string());
    let last = beside.last(2, &names).expect("read");
    assert_eq!(
        last.iter().map(|row| row.position).collect::<Vec<_>>(),
        [4, 5]
    );
    assert_eq!(bench.read(), sound(&ALL));
    assert!(
        fs::metadata(&bench.path).expect("there").len() > 4_096,
        "room"
    );
    volume.close().expect("closed");
    let length = fs::metadata(&bench.path).expect("there").len();
    assert_eq!(length, volume.last().end);
    assert_eq!(bench.read(), sound(&ALL));
}

#[test]
fn a_row_that_does_not_follow_is_refused_until_it_is_looked_after() {
    let bench = bench();
    let volume = bench.open();
    append(&volume, &["one"]);
    let row = NewLedgerRow {
        position: 3,
        entity: 1,
        seq: 3,
        at_ms: 1,
        prev: &[0; 32],
        hash: &[0; 32],
        bytes: b"three",
    };
    for _ in 0..2 {
        let refused = volume.append(&[row], None, || Ok(()));
        assert!(matches!(refused, Err(DatabaseError::Moved)), "{refused:?}");
        assert!(volume.is_failed());
    }
    volume.repair().expect("repaired");
    append(&volume, &["two"]);
    assert_eq!(bench.read(), sound(&["one", "two"]));
}

#[test]
fn more_than_there_may_be_is_refused_and_leaves_nothing_of_itself() {
    let bench = bench();
    let room = Room {
        limit: Some(200),
        ..ROOM
    };
    let volume = Volume::open(&bench.path, Vec::new(), room).expect("opened");
    append(&volume, &["one"]);
    let text = "x".repeat(200);
    let row = NewLedgerRow {
        position: 2,
        entity: 1,
        seq: 2,
        at_ms: 1,
        prev: &[0; 32],
        hash: &[0; 32],
        bytes: text.as_bytes(),
    };
    let Err(DatabaseError::File { source }) = volume.append(&[row], None, || Ok(())) else {
        panic!("it was taken");
    };
    assert_eq!(source.kind(), io::ErrorKind::StorageFull);
    assert_eq!(bench.read(), sound(&["one"]));
}

#[test]
fn what_a_power_failure_tore_is_cut_off_at_every_length() {
    let whole = Bench::written(false);
    let end = whole.start(6);
    for length in whole.start(5) + 1..end {
        let bench = Bench::written(false);
        // What did not come to the disk may be zeros, or not be there.
        bench.change(|bytes| bytes[length..].fill(0));
        let volume = bench.open();
        assert_eq!(volume.last().position, 4, "{length}");
        append(&volume, &["again"]);
        let expected = sound(&["one", "two", "three", "four", "again"]);
        assert_eq!(bench.read(), expected, "{length}");
        let bench = Bench::written(false);
        bench.change(|bytes| bytes.truncate(length));
        assert_eq!(bench.open().last().position, 4, "{length}");
        assert_eq!(bench.read(), sound(&ALL[..4]), "{length}");
    }
}

#[test]
fn a_row_behind_a_torn_one_is_kept_beside_the_file() {
    let bench = Bench::written(false);
    let (second, third) = (bench.start(2), bench.start(3));
    bench.change(|bytes| bytes[second..third].fill(0));
    assert_eq!(bench.open().last().position, 1);
    assert_eq!(bench.read(), sound(&["one"]));
    let mut copy = bench.path.clone().into_os_string();
    copy.push(".cut-2");
    let copy = fs::read(copy).expect("a copy");
    assert!(copy.windows(4).any(|bytes| bytes == b"five"));
}

#[test]
fn what_is_known_to_be_on_disk_is_never_cut_off() {
    for position in 1..=5 {
        let bench = Bench::written(true);
        let start = bench.start(position);
        bench.change(|bytes| bytes[start + HEAD] ^= 1);
        let volume = bench.open();
        assert_eq!(volume.last().position, 5, "{position}");
        let read = bench.read();
        let damaged: Vec<i64> = read.iter().filter(|row| !row.2).map(|row| row.0).collect();
        assert_eq!(
            (read.len(), damaged),
            (5, vec![i64::try_from(position).expect("small")])
        );
    }
}

#[test]
fn every_flipped_bit_of_a_file_shows_where_it_is() {
    let bench = Bench::written(true);
    let whole = fs::read(&bench.path).expect("read");
    for at in 0..whole.len() {
        bench.change(|bytes| bytes[at] ^= 1 << (at % 8));
        let position = (1..=5).rfind(|row| bench.start(*row) <= at).expect("a row");
        let read = bench.read();
        let first = read.iter().find(|row| !row.2);
        let first = first.unwrap_or_else(|| panic!("byte {at}: {read:?}")).0;
        assert_eq!(first, i64::try_from(position).expect("small"), "byte {at}");
        // What stands before and behind is read as ever.
        let untouched = read.iter().filter(|row| row.2).count();
        assert_eq!(untouched, 4, "byte {at}: {read:?}");
        fs::write(&bench.path, &whole).expect("restored");
    }
}

#[test]
fn a_file_that_lost_its_end_is_read_to_where_it_ends() {
    let bench = Bench::written(true);
    let third = bench.start(3);
    bench.change(|bytes| bytes.truncate(third));
    let volume = bench.open();
    assert_eq!(volume.last().position, 2);
    append(&volume, &["new"]);
    assert_eq!(bench.read(), sound(&["one", "two", "new"]));
}

#[test]
fn rows_are_found_from_the_places_on_the_way() {
    let bench = bench();
    let volume = bench.open();
    for batch in 0..50 {
        let texts: Vec<String> = (1..=20)
            .map(|row| format!("row {}", batch * 20 + row))
            .collect();
        append(
            &volume,
            &texts.iter().map(String::as_str).collect::<Vec<_>>(),
        );
    }
    let notes = volume.notes();
    assert_eq!(notes.places.len(), 3, "one in 256 rows or a little more");
    let beside = volume.reader().expect("opened");
    let apart = VolumeReader::open(&bench.path, notes.places.clone()).expect("opened");
    let misled = Place {
        position: 500,
        end: 17,
    };
    let misled = VolumeReader::open(&bench.path, vec![misled]).expect("opened");
    for reader in [&beside, &apart, &misled] {
        for after in [999, 700, 0, 255, 256, 257, 519, 520, 998] {
            let first = told(reader, after).into_iter().next().expect("a row");
            assert_eq!(first, (after + 1, format!("row {}", after + 1), true));
        }
        assert_eq!(told(reader, 1_000), []);
    }
    volume.noted(&notes);
    assert!(volume.notes().is_empty());
}
