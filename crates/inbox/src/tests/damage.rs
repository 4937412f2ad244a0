use super::*;

/// What is done to a day file of six records in three writes, and what comes of it.
enum Then {
    /// It opens, with so many records and a problem that is told.
    Cut(usize),
    /// It does not open until it is mended, and has so many records then.
    Mended(usize),
}

/// Changes a file of which each line begins at one of the places.
type Damage = fn(&mut Vec<u8>, &[usize]);

fn line_starts(bytes: &[u8]) -> Vec<usize> {
    let ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    std::iter::once(0)
        .chain(ends.map(|(at, _)| at + 1))
        .collect()
}

fn try_damage(name: &str, damage: Damage, then: &Then) {
    let place = Place::new();
    let inbox = place.open();
    for at in 0..3 {
        put(&inbox, "teams", at * 2..at * 2 + 2);
    }
    for _ in 0..2 {
        answered(&inbox, &pull("a"));
    }
    drop(inbox);
    // As if nothing had been put in the index since the start, nor the last write been
    // recorded when the crash came.
    fs::remove_dir_all(place.folder().join("index")).expect("removed");
    note_recorded(&place, 4);
    let mut bytes = fs::read(place.day_file()).expect("a day file");
    let starts = line_starts(&bytes);
    damage(&mut bytes, &starts);
    fs::write(place.day_file(), &bytes).expect("damaged");
    let records = match then {
        Then::Cut(records) => *records,
        Then::Mended(records) => {
            let error = place.try_open().expect_err(name);
            assert!(
                matches!(error, OpenError::Damaged { .. }),
                "{name}: {error}"
            );
            assert!(error.hint().contains("legation inbox repair"));
            assert_eq!(fs::read(place.day_file()).expect("there"), bytes, "{name}");
            let repaired = repair(&place.folder()).expect("mended");
            assert_eq!(repaired.records, *records as u64, "{name}: {repaired:?}");
            *records
        }
    };
    let inbox = place.open();
    // What was left is recorded and announced with the first turn of the writer.
    put(&inbox, "teams", 0..0);
    assert_eq!(everything(&inbox).len(), records, "{name}");
    if let Then::Cut(_) = then {
        assert!(
            inbox.problems()[0].contains("cut"),
            "{name}: {:?}",
            inbox.problems()
        );
    }
    let fresh = inbox.unread(&ConsumerName::new("b", None));
    assert_eq!(fresh, records as u64, "{name}");
    // New messages are unread for everybody, and the source may bring the lost ones again.
    let before = inbox.unread(&ConsumerName::new("a", None));
    put(&inbox, "teams", 100..103);
    assert_eq!(
        inbox.unread(&ConsumerName::new("a", None)),
        before + 3,
        "{name}"
    );
    put(&inbox, "teams", 0..6);
    let mut all: Vec<String> = everything(&inbox).into_iter().map(|one| one.id).collect();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 9, "{name}: {all:?}");
}

#[test]
fn a_torn_end_is_cut_and_other_damage_waits_for_a_person() {
    let cases: [(&str, Damage, Then); 10] = [
        (
            "half a line",
            |bytes, starts| bytes.truncate(starts[5] + 20),
            Then::Cut(5),
        ),
        (
            "a line without its end",
            |bytes, _| bytes.truncate(bytes.len() - 1),
            Then::Cut(5),
        ),
        (
            "junk behind it",
            |bytes, _| bytes.extend_from_slice(b"\x00\xff\x01junk"),
            Then::Cut(6),
        ),
        (
            "a line of junk behind it",
            |bytes, _| bytes.extend_from_slice(b"\xff\n{}\n"),
            Then::Cut(6),
        ),
        (
            "the first sector of the last write is lost",
            |bytes, starts| {
                bytes[starts[4]..starts[4] + 100].fill(0);
            },
            Then::Cut(4),
        ),
        (
            "a digit of an old record",
            |bytes, starts| bytes[starts[1] + 8] ^= 1,
            Then::Mended(5),
        ),
        (
            "an old record that is empty",
            |bytes, starts| bytes[starts[2]..starts[3] - 1].fill(0),
            Then::Mended(5),
        ),
        (
            "an old record taken out",
            |bytes, starts| drop(bytes.drain(starts[2]..starts[3])),
            Then::Mended(5),
        ),
        (
            "a record that stands twice",
            |bytes, starts| {
                let line = bytes[starts[0]..starts[1]].to_vec();
                bytes.splice(starts[3]..starts[3], line);
            },
            Then::Mended(6),
        ),
        (
            "nothing but junk in the middle",
            |bytes, starts| {
                bytes.splice(starts[2]..starts[4], b"\n\n\xfe\n".iter().copied());
            },
            Then::Mended(4),
        ),
    ];
    for (name, damage, then) in &cases {
        try_damage(name, *damage, then);
    }
}

fn note_recorded(place: &Place, seq: u64) {
    fs::write(place.folder().join("recorded"), seq.to_le_bytes()).expect("noted");
}

#[test]
fn what_was_announced_and_is_gone_is_said_at_the_start() {
    type Change = fn(&Place);
    let changes: [(&str, u64, Change); 3] = [
        ("the only day", 6, |place| {
            fs::remove_file(place.day_file()).expect("removed");
        }),
        ("the last line", 1, |place| {
            let bytes = fs::read(place.day_file()).expect("read");
            let starts = line_starts(&bytes);
            fs::write(place.day_file(), &bytes[..starts[5]]).expect("cut");
        }),
        ("half the last line", 1, |place| {
            let bytes = fs::read(place.day_file()).expect("read");
            fs::write(place.day_file(), &bytes[..bytes.len() - 30]).expect("cut");
        }),
    ];
    for (name, lost, change) in changes {
        let place = Place::new();
        let inbox = place.open();
        put(&inbox, "teams", 0..6);
        inbox.pull(&pull("a")).expect("pulled");
        drop(inbox);
        // The hub was killed before it put its index on disk.
        fs::remove_dir_all(place.folder().join("index")).expect("removed");
        change(&place);
        let error = place.try_open().expect_err(name);
        let OpenError::Damaged { what, .. } = &error else {
            panic!("{name}: {error}");
        };
        assert!(what.contains("record 6 was announced"), "{name}: {what}");
        let repaired = repair(&place.folder()).expect("mended");
        assert_eq!(
            (repaired.lost, repaired.records),
            (lost, 6 - lost),
            "{name}"
        );
        let inbox = place.open();
        // A new record has a number of its own, and the source may bring the lost again.
        let added = put(&inbox, "teams", 0..7);
        let new = added.iter().filter(|one| !one.duplicate).count() as u64;
        assert_eq!(new, lost + 1, "{name}");
        assert!(
            added
                .iter()
                .filter(|one| !one.duplicate)
                .all(|one| one.seq > Seq(6)),
            "{name}"
        );
        assert_eq!(inbox.unread(&ConsumerName::new("b", None)), 7, "{name}");
    }
}

#[test]
fn damage_that_the_index_does_not_see_is_said_by_who_reads_it() {
    let place = Place::new();
    let inbox = place.open();
    put(&inbox, "teams", 0..3);
    drop(inbox);
    let mut bytes = fs::read(place.day_file()).expect("a day file");
    bytes[30] ^= 1;
    fs::write(place.day_file(), &bytes).expect("damaged");
    let inbox = place.open();
    let error = inbox.pull(&pull("a")).expect_err("damaged");
    assert!(
        matches!(error, ReadError::Damaged { seq: 1, .. }),
        "{error}"
    );
    assert!(error.hint().contains("repair"));
}

#[test]
fn a_day_that_is_missing_or_changed_is_noticed_at_the_start() {
    type Change = fn(&PathBuf);
    let changes: [(&str, Change); 3] = [
        ("gone", |path| fs::remove_file(path).expect("removed")),
        ("shorter", |path| {
            let bytes = fs::read(path).expect("read");
            fs::write(path, &bytes[..bytes.len() / 2]).expect("cut");
        }),
        ("longer", |path| {
            let mut bytes = fs::read(path).expect("read");
            bytes.extend_from_slice(b"more\n");
            fs::write(path, &bytes).expect("longer");
        }),
    ];
    for (name, change) in changes {
        let place = Place::new();
        let inbox = place.open();
        put(&inbox, "teams", 0..2);
        place.next_day();
        put(&inbox, "teams", 2..4);
        drop(inbox);
        change(&place.day_file());
        let error = place.try_open().expect_err(name);
        assert!(
            matches!(error, OpenError::Damaged { .. }),
            "{name}: {error}"
        );
        repair(&place.folder()).expect("mended");
        let inbox = place.open();
        put(&inbox, "teams", 0..6);
        let mut all: Vec<String> = everything(&inbox).into_iter().map(|one| one.id).collect();
        all.sort_unstable();
        assert_eq!(all.len(), 6, "{name}: {all:?}");
    }
}

/// The file that is written is still open, and so nothing of it is lost, also when nothing
/// comes in any more. An old one is gone, and everybody who wants it is told so.
#[test]
fn a_day_file_that_is_deleted_under_the_hub_is_never_missed_silently() {
    let place = Place::new();
    let inbox = place.open();
    put(&inbox, "teams", 0..2);
    let old = place.day_file();
    place.next_day();
    put(&inbox, "teams", 2..4);
    fs::remove_file(place.folder().join("2026-11-22.jsonl")).expect("removed");
    fs::remove_file(&old).expect("removed");
    // Readers of before have the file open; others are told.
    inbox.shared.index.reopen();
    let error = inbox.pull(&pull("a")).expect_err("it is gone");
    assert!(
        matches!(error, ReadError::Damaged { seq: 1, .. }),
        "{error}"
    );
    let told = legation_core::error::chain(&error);
    assert!(told.contains("2026-11-21.jsonl"), "{told}");
    assert!(error.hint().contains("legation inbox repair"));
    drop(inbox);
    assert!(
        place.folder().join("2026-11-22.jsonl").exists(),
        "it was put back"
    );
    let error = place.try_open().expect_err("a day is gone");
    assert!(error.to_string().contains("the file is gone"), "{error}");
    let repaired = repair(&place.folder()).expect("mended");
    assert_eq!((repaired.lost, repaired.records), (2, 2));
    let inbox = place.open();
    assert_eq!(ids(&everything(&inbox)), ["teams-2", "teams-3"]);
    // Its source may bring again what was in it.
    put(&inbox, "teams", 0..4);
    assert_eq!(everything(&inbox).len(), 4);
}

#[test]
fn a_day_file_that_is_deleted_under_the_hub_is_put_back() {
    let place = Place::new();
    let inbox = place.open();
    put(&inbox, "teams", 0..3);
    fs::remove_file(place.day_file()).expect("removed");
    put(&inbox, "teams", 3..5);
    assert_eq!(everything(&inbox).len(), 5);
    assert!(inbox.problems()[0].contains("put back"));
    drop(inbox);
    assert_eq!(everything(&place.open()).len(), 5);
}
