//! The disk, and what is read from a trace.

use std::collections::BTreeMap;

use super::*;

fn write(file: &str, offset: usize, bytes: &[u8]) -> Operation {
    Operation::Write {
        file: file.to_owned(),
        offset,
        bytes: bytes.to_vec(),
    }
}

fn create(file: &str) -> Operation {
    Operation::Create {
        file: file.to_owned(),
    }
}

fn sync(name: &str, begun: usize) -> Operation {
    Operation::Sync {
        name: name.to_owned(),
        begun,
    }
}

fn disk(operations: &[Operation]) -> Disk {
    let mut disk = Disk::default();
    for (index, operation) in operations.iter().enumerate() {
        disk.apply(index, operation);
    }
    disk
}

#[test]
fn only_what_was_synced_is_certain() {
    let begun = [
        create("a"),
        write("a", 0, b"kept"),
        sync("a", 2),
        write("a", 4, b" lost"),
    ];
    let mut random = Random::new(1);
    let none = disk(&begun).image(Fate::None, &mut random);
    assert!(none.files.is_empty(), "the name was never synced");
    let named = disk(&[&begun[..], &[sync("", 4)]].concat());
    let files = |image: Image| image.files;
    let kept: BTreeMap<String, Vec<u8>> = [("a".to_owned(), b"kept".to_vec())].into();
    assert_eq!(files(named.image(Fate::None, &mut random)), kept);
    let all: BTreeMap<String, Vec<u8>> = [("a".to_owned(), b"kept lost".to_vec())].into();
    assert_eq!(files(named.image(Fate::All, &mut random)), all);
    assert_eq!(named.size("a"), 9);
}

#[test]
fn a_sync_holds_for_what_was_done_before_it_began() {
    let one = disk(&[
        create("a"),
        sync("", 1),
        write("a", 0, b"x"),
        write("a", 1, b"y"),
        sync("a", 3),
    ]);
    let image = one.image(Fate::None, &mut Random::new(1));
    assert_eq!(image.files["a"], b"x");
    assert_eq!(one.pending(), 1);
}

#[test]
fn another_name_is_all_or_nothing_and_a_folder_holds_its_own_names() {
    let rename = Operation::Rename {
        from: "d/.new".to_owned(),
        to: "d/old".to_owned(),
    };
    let folder = Operation::Folder {
        name: "d".to_owned(),
    };
    let mut operations = vec![
        folder,
        sync("", 1),
        create("d/old"),
        write("d/old", 0, b"1"),
        sync("d/old", 4),
        sync("d", 5),
        create("d/.new"),
        write("d/.new", 0, b"2"),
        sync("d/.new", 8),
        rename,
    ];
    let mut random = Random::new(7);
    for _ in 0..50 {
        let image = disk(&operations).image(Fate::Any, &mut random);
        assert!(
            [b"1", b"2"].contains(&&[image.files["d/old"][0]]),
            "{image:?}"
        );
    }
    operations.push(sync("d", 10));
    let image = disk(&operations).image(Fate::None, &mut random);
    assert_eq!(image.files["d/old"], b"2");
    assert_eq!(image.files.len(), 1, "{image:?}");
    let place = tempfile::tempdir().expect("a folder");
    std::fs::write(place.path().join("left"), "over").expect("written");
    image.lay(place.path()).expect("laid");
    assert!(!place.path().join("left").exists());
    assert_eq!(
        std::fs::read(place.path().join("d/old")).expect("read"),
        b"2"
    );
}

#[test]
fn a_torn_write_tears_where_sectors_end() {
    let long = disk(&[create("a"), sync("", 1), write("a", 500, &[1; 1_100])]);
    let mut random = Random::new(3);
    let mut torn = 0;
    for _ in 0..100 {
        let bytes = &long.image(Fate::Torn, &mut random).files["a"];
        for (at, pair) in bytes.windows(2).enumerate().skip(500) {
            if pair[0] != pair[1] {
                assert_eq!((at + 1) % 512, 0, "torn at {at}");
                torn += 1;
            }
        }
    }
    assert!(torn > 0, "nothing was torn");
}
