//! Checkpoints against somebody who owns the database, by both verifiers.

use std::fs;
use std::path::PathBuf;

use super::volume::Table;
use legation_keystore::Keystore;

use super::oracle::{both, faults};
use super::*;

/// A ledger that exports its checkpoints to a folder.
struct Exported {
    place: super::Place,
    folder: PathBuf,
    key: PublicKey,
}

fn publish(ledger: &Ledger, place: &super::Place) -> PathBuf {
    let folder = place.path.with_file_name("exported");
    ledger.publish_to(PublishSettings {
        places: vec![crate::Place::Folder(folder.clone())],
        staging: place.path.with_file_name("staging"),
        env: Vec::new(),
    });
    folder
}

fn calls(ledger: &Ledger, count: usize) {
    block_on(async {
        for call in 0..count {
            one_call(ledger, &asked(["a", "b"][call % 2]), Durability::PageCache).await;
            ledger.flush().await.expect("flushed");
        }
    });
}

/// Three checkpoints, four calls before each, two of every entity's.
fn exported() -> Exported {
    let place = place();
    let (_store, ledger) = place.open();
    let folder = publish(&ledger, &place);
    for _ in 0..3 {
        calls(&ledger, 4);
        assert!(ledger.checkpoint().expect("made").is_some());
        assert!(
            ledger.checkpoint().expect("asked").is_none(),
            "nothing is new"
        );
    }
    assert_eq!(ledger.problems(), [""; 0]);
    let key = ledger.public_key().expect("a key");
    Exported { place, folder, key }
}

impl Exported {
    fn edit(&self, sql: &str) {
        super::volume::edit(&self.place, sql);
    }

    fn faults(&self) -> Vec<String> {
        faults(&self.place, Some(&self.folder), &[])
    }

    fn names(&self) -> Vec<String> {
        let files = fs::read_dir(&self.folder).expect("listed");
        let name = |file: io::Result<fs::DirEntry>| file.expect("read").file_name();
        let mut names: Vec<String> = files
            .map(|file| name(file).to_string_lossy().into_owned())
            .collect();
        names.sort_unstable();
        names
    }
}

#[test]
fn an_untouched_ledger_agrees_with_its_checkpoints() {
    let exported = exported();
    assert_eq!(exported.faults(), [""; 0]);
    let mut evidence = Evidence::default();
    evidence.add_folder(&exported.folder).expect("read");
    evidence.trust(exported.key.clone());
    let reader = LedgerReader::open(&exported.place.path).expect("a reader");
    let report = reader.records().verify(&evidence).expect("read");
    assert!(report.is_intact(), "{report:?}");
    // Twelve calls and the record that names the key.
    assert_eq!(
        (report.checkpoints, report.covered, report.records),
        (6, 25, 25)
    );
    assert_eq!(report.keys, [exported.key.to_string()]);
    let names = exported.names();
    let sizes: Vec<_> = names.iter().map(|name| &name[..13]).collect();
    assert_eq!(sizes, ["000000000009-", "000000000017-", "000000000025-"]);
    assert_eq!(
        both(&exported.place, Some(&exported.folder), &[exported.key]),
        []
    );
}

#[test]
fn a_tail_that_was_cut_off_is_missed() {
    let exported = exported();
    exported.edit("DELETE FROM ledger WHERE entity = (SELECT number FROM ledger_entities WHERE name = 'b') AND seq > 7");
    assert_eq!(exported.faults(), ["cut b 8"]);
    assert_eq!(faults(&exported.place, None, &[]), ["cut b 8"]);
    exported.edit("DELETE FROM checkpoints");
    assert_eq!(exported.faults(), ["cut b 8"]);
    // Nobody can know without what was exported.
    assert_eq!(faults(&exported.place, None, &[]), [""; 0]);
    exported.edit("DELETE FROM ledger");
    assert_eq!(
        exported.faults(),
        [
            "cut a 1",
            "cut all 1",
            "cut b 1",
            "key_changed all 9",
            "key_changed all 17",
            "key_changed all 25"
        ]
    );
    assert_eq!(
        faults(
            &exported.place,
            Some(&exported.folder),
            std::slice::from_ref(&exported.key)
        ),
        ["cut a 1", "cut all 1", "cut b 1"]
    );
}

#[test]
fn a_file_that_was_rolled_back_is_found_before_and_after_it_goes_on() {
    let place = place();
    let (store, ledger) = place.open();
    let folder = publish(&ledger, &place);
    calls(&ledger, 4);
    ledger.checkpoint().expect("made");
    drop((store, ledger));
    let files = [place.path.clone(), super::volume::path(&place)];
    let yesterday = files.clone().map(|file| fs::read(file).expect("read"));
    let (store, ledger) = place.open();
    publish(&ledger, &place);
    calls(&ledger, 4);
    ledger.checkpoint().expect("made");
    drop((store, ledger));
    for (file, yesterday) in files.iter().zip(yesterday) {
        fs::write(file, yesterday).expect("rolled back");
    }
    assert_eq!(faults(&place, Some(&folder), &[]), ["cut a 5", "cut b 5"]);
    assert_eq!(faults(&place, None, &[]), [""; 0]);
    // The hub itself notices, at its start and when it exports the next one.
    let (store, ledger) = place.open();
    publish(&ledger, &place);
    ledger.close_checkpoints();
    let noticed = |problems: Vec<String>| {
        let told = problems
            .iter()
            .any(|one| one.contains("an older ledger was put back"));
        assert!(told && problems.len() == 1, "{problems:?}");
    };
    noticed(ledger.problems());
    calls(&ledger, 2);
    ledger.checkpoint().expect("made");
    noticed(ledger.problems());
    calls(&ledger, 10);
    ledger.checkpoint().expect("made");
    drop((store, ledger));
    assert_eq!(
        faults(&place, Some(&folder), &[]),
        ["rewritten a 5", "rewritten b 5"]
    );
}

/// Writes chain `a` anew from a place on, hashes included, as somebody who owns
/// the database can.
fn rewrite(place: &Place, from: i64) {
    let table = Table::open(place);
    let connection = &table.connection;
    let rows: Vec<(i64, i64, Vec<u8>, Vec<u8>)> = connection
        .prepare(
            "SELECT position, seq, prev, bytes FROM ledger
             WHERE entity = (SELECT number FROM ledger_entities WHERE name = 'a') ORDER BY seq",
        )
        .expect("prepared")
        .query_map([], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
        })
        .expect("queried")
        .collect::<Result<_, _>>()
        .expect("read");
    let mut prev: Option<[u8; 32]> = None;
    for (position, seq, old, bytes) in rows {
        let text = String::from_utf8(bytes).expect("text");
        let text = if seq == from {
            text.replace("read_file", "list_dir_")
        } else {
            text
        };
        let before = prev.map_or(old, |prev| prev.to_vec());
        let hash = crate::chain::hash(&before, text.as_bytes());
        connection
            .execute(
                "UPDATE ledger SET prev = ?1, hash = ?2, bytes = ?3 WHERE position = ?4",
                (&before, &hash[..], text.as_bytes(), position),
            )
            .expect("rewritten");
        prev = Some(hash);
    }
    table.save();
}

#[test]
fn a_chain_written_anew_by_the_owner_of_the_database_is_found() {
    // The first checkpoint covers four records of each chain, the second eight.
    for (from, first) in [(1, 1), (4, 1), (5, 5), (8, 5), (9, 9), (12, 9)] {
        let exported = exported();
        rewrite(&exported.place, from);
        let expected = [format!("rewritten a {first}")];
        assert_eq!(exported.faults(), expected, "from {from}");
        assert_eq!(faults(&exported.place, None, &[]), expected, "from {from}");
        exported.edit("DELETE FROM checkpoints");
        assert_eq!(exported.faults(), expected, "from {from}");
        // With the signing key in hand, which lies beside the database.
        let (_store, ledger) = exported.place.open();
        calls(&ledger, 2);
        ledger.checkpoint().expect("made");
        drop(ledger);
        assert_eq!(faults(&exported.place, None, &[]), [""; 0]);
        assert_eq!(exported.faults(), expected, "from {from}");
    }
}

#[test]
fn a_changed_signing_key_is_found() {
    let exported = exported();
    let other = || LedgerKeys::from_bytes(&[8; 32]);
    let store = Arc::new(Store::open(&exported.place.path, StoreOptions::default()).expect("open"));
    let ledger = Ledger::open(store, other(), SystemClock::shared()).expect("a ledger");
    calls(&ledger, 2);
    ledger.checkpoint().expect("made");
    let new = ledger.public_key().expect("a key");
    drop(ledger);
    // The chain says when: its second record about a key.
    let expected = ["key_changed all 2", "key_changed all 30"];
    assert_eq!(exported.faults(), expected);
    assert_eq!(faults(&exported.place, None, &[]), expected);
    assert_eq!(
        faults(&exported.place, None, std::slice::from_ref(&exported.key)),
        expected
    );
    // Whoever trusts both keys accepts it.
    assert_eq!(
        faults(&exported.place, None, &[exported.key.clone(), new.clone()]),
        [""; 0]
    );
    assert_eq!(faults(&exported.place, None, &[new]), [""; 0]);
}

#[test]
fn a_key_that_was_rotated_is_vouched_for_and_the_old_one_destroyed() {
    let place = place();
    let keys = place.path.with_file_name("keys");
    let keystore = Arc::new(Keystore::open(&keys).expect("a keystore"));
    let open = || {
        let store = Arc::new(Store::open(&place.path, StoreOptions::default()).expect("open"));
        let keys = LedgerKeys::kept_in(Arc::clone(&keystore));
        Ledger::open(store, keys, SystemClock::shared()).expect("a ledger")
    };
    let ledger = open();
    let folder = publish(&ledger, &place);
    calls(&ledger, 2);
    ledger.checkpoint().expect("made");
    let old = ledger.public_key().expect("a key");
    calls(&ledger, 2);
    let new = ledger.rotate_key().expect("rotated");
    assert_ne!(old, new);
    drop(ledger);
    let ledger = open();
    assert_eq!(ledger.public_key().expect("a key"), new);
    calls(&ledger, 2);
    ledger.checkpoint().expect("made");
    drop(ledger);
    for trusted in [vec![], vec![old], vec![new]] {
        assert_eq!(faults(&place, Some(&folder), &trusted), [""; 0]);
    }
    let signers: Vec<_> = keystore.names().expect("listed");
    let signers: Vec<_> = signers
        .iter()
        .filter(|name| name.contains("signer"))
        .collect();
    assert_eq!(signers, ["ledger-signer.2"]);
}

#[test]
fn a_changed_checkpoint_is_found() {
    let exported = exported();
    let name = exported.names().remove(2);
    let path = exported.folder.join(&name);
    let note = fs::read(&path).expect("read");
    let text = String::from_utf8(note.clone()).expect("text");
    let root = text.find('\n').expect("lines") + 10;
    // In the origin, the root, a head and the signature.
    for at in [0, root, text.find("head").expect("a head"), text.len() - 20] {
        let mut changed = note.clone();
        changed[at] ^= 1;
        fs::write(&path, &changed).expect("changed");
        let said = both(&exported.place, Some(&exported.folder), &[]);
        let found = (
            "bad_checkpoint".to_owned(),
            "all".to_owned(),
            0,
            Some(name.clone()),
        );
        assert_eq!(said, [found], "byte {at}");
    }
    fs::write(&path, &note).expect("restored");
    exported.edit("UPDATE checkpoints SET note = x'00' WHERE size = 17");
    assert_eq!(exported.faults(), ["bad_checkpoint all 0"]);
}

#[test]
fn what_an_export_missed_is_brought_later() {
    let place = place();
    let (_store, ledger) = place.open();
    let folder = publish(&ledger, &place);
    fs::write(&folder, "in the way").expect("written");
    calls(&ledger, 2);
    ledger
        .checkpoint()
        .expect("made though nothing was exported");
    let problems = ledger.problems();
    assert!(
        problems.len() == 1 && problems[0].contains("calls go on"),
        "{problems:?}"
    );
    calls(&ledger, 2);
    fs::remove_file(&folder).expect("out of the way");
    ledger.checkpoint().expect("made");
    assert_eq!(ledger.problems(), [""; 0]);
    assert_eq!(fs::read_dir(&folder).expect("listed").count(), 2);
    assert_eq!(faults(&place, Some(&folder), &[]), [""; 0]);
}
