use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use legation_core::Wall;

use crate::pin::{FREE_TRIES, WAIT_MS};
use crate::{Key, Keystore, KeystoreError, Pin, PinError, Unsealed};

fn keystore() -> (tempfile::TempDir, Keystore) {
    let folder = tempfile::tempdir().unwrap();
    let keys = Keystore::open(&folder.path().join("keys")).unwrap();
    (folder, keys)
}

#[test]
fn a_key_stays_the_same_and_is_closed_to_others() {
    let (_folder, keys) = keystore();
    let first = keys.key("vault.acme").unwrap();
    let path = keys.folder().join("vault.acme.key");
    assert_eq!(
        fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o600
    );
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(keys.key("vault.acme").unwrap().reveal(), first.reveal());
    assert_eq!(
        fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o600
    );
    assert_ne!(keys.key("vault.other").unwrap().reveal(), first.reveal());
    assert_eq!(keys.names().unwrap(), ["vault.acme", "vault.other"]);
}

#[test]
fn a_damaged_key_is_never_replaced() {
    let (_folder, keys) = keystore();
    keys.key("one").unwrap();
    let path = keys.folder().join("one.key");
    for text in ["", "00", &"g".repeat(64), &"0".repeat(65)] {
        fs::write(&path, text).unwrap();
        let error = keys.key("one").unwrap_err();
        assert!(matches!(error, KeystoreError::Damaged { .. }), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), *text);
    }
}

#[test]
fn a_destroyed_key_opens_nothing() {
    let (_folder, keys) = keystore();
    let sealed = keys.key("one").unwrap().seal(b"row 1", b"a name").unwrap();
    assert!(keys.destroy("one").unwrap());
    assert!(!keys.destroy("one").unwrap());
    assert!(keys.existing("one").unwrap().is_none());
    assert_eq!(
        keys.key("one").unwrap().open(b"row 1", &sealed),
        Err(Unsealed)
    );
}

#[test]
fn names_lead_nowhere_else() {
    let (_folder, keys) = keystore();
    for name in [
        "",
        "..",
        ".hidden",
        "a/b",
        "../x",
        "a b",
        "ü",
        &"x".repeat(101),
    ] {
        let error = keys.key(name).unwrap_err();
        assert!(
            matches!(error, KeystoreError::Name { .. }),
            "{name:?}: {error}"
        );
    }
}

#[test]
fn what_was_sealed_opens_in_its_place_only() {
    let key = Key::from_bytes([7; 32]);
    let sealed = key.seal(b"row 1", b"a name").unwrap();
    assert_eq!(&key.open(b"row 1", &sealed).unwrap()[..], b"a name");
    assert_eq!(key.open(b"row 2", &sealed), Err(Unsealed));
    assert_eq!(
        Key::from_bytes([8; 32]).open(b"row 1", &sealed),
        Err(Unsealed)
    );
    for at in 0..sealed.len() {
        let mut changed = sealed.clone();
        changed[at] ^= 1;
        assert_eq!(key.open(b"row 1", &changed), Err(Unsealed), "byte {at}");
        assert_eq!(
            key.open(b"row 1", &sealed[..at]),
            Err(Unsealed),
            "cut at {at}"
        );
    }
    assert_ne!(sealed, key.seal(b"row 1", b"a name").unwrap());
}

#[test]
fn a_mac_knows_where_its_parts_end() {
    let key = Key::from_bytes([7; 32]);
    let mac = key.mac(&[b"ab", b"c"]);
    assert!(key.verify(&[b"ab", b"c"], &mac));
    assert!(!key.verify(&[b"a", b"bc"], &mac));
    assert!(!key.verify(&[b"ab", b"c"], &mac[..31]));
    assert_ne!(key.derive("one").reveal(), key.derive("two").reveal());
}

#[test]
fn a_signature_is_of_one_message() {
    let (_folder, keys) = keystore();
    let signer = keys.signer("ledger").unwrap();
    let signature = signer.sign(b"1000 records");
    let public = keys.signer("ledger").unwrap().public();
    assert!(public.verifies(b"1000 records", &signature));
    assert!(!public.verifies(b"1001 records", &signature));
    assert!(
        !keys
            .signer("other")
            .unwrap()
            .public()
            .verifies(b"1000 records", &signature)
    );
}

/// RFC 8032 section 7.1, test 1.
#[test]
fn the_seed_is_the_one_of_the_rfc() {
    let seed = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
    let (_folder, keys) = keystore();
    fs::write(keys.folder().join("rfc.key"), seed).unwrap();
    let public = legation_core::id::hex(&keys.signer("rfc").unwrap().public().0);
    assert_eq!(
        public,
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
    );
}

#[test]
fn wrong_pins_are_counted_and_must_wait() {
    let (_folder, keys) = keystore();
    let pin = Pin::new(&keys);
    let at = |ms: i64| Wall(1_000_000 + ms);
    assert!(matches!(pin.verify("123456", at(0)), Err(PinError::NotSet)));
    assert!(matches!(
        pin.set(None, "12345", at(0)),
        Err(PinError::Length)
    ));
    pin.set(None, "correct horse", at(0)).unwrap();
    for _ in 0..FREE_TRIES {
        assert!(matches!(
            pin.verify("wrong horse", at(0)),
            Err(PinError::Wrong)
        ));
    }
    let locked = pin.verify("correct horse", at(1)).unwrap_err();
    assert!(
        matches!(locked, PinError::Locked { wait_ms } if wait_ms == WAIT_MS - 1),
        "{locked}"
    );
    // Neither a new handle nor a clock that was set back opens it earlier.
    assert!(matches!(
        Pin::new(&keys).verify("correct horse", at(-500)),
        Err(PinError::Locked { .. })
    ));
    assert_eq!(
        pin.verify("correct horse", at(WAIT_MS)).unwrap().how(),
        "pin"
    );
    assert!(pin.verify("correct horse", at(WAIT_MS)).is_ok());
}

#[test]
fn a_pin_is_changed_by_who_knows_it() {
    let (_folder, keys) = keystore();
    let pin = Pin::new(&keys);
    pin.set(None, "first one", Wall(0)).unwrap();
    assert!(matches!(
        pin.set(None, "second one", Wall(0)),
        Err(PinError::Wrong)
    ));
    assert!(matches!(
        pin.set(Some("guess 1"), "second one", Wall(0)),
        Err(PinError::Wrong)
    ));
    pin.set(Some("first one"), "second one", Wall(0)).unwrap();
    assert!(pin.verify("second one", Wall(0)).is_ok());
    let text = fs::read_to_string(keys.folder().join("pin.json")).unwrap();
    assert!(!text.contains("second"), "{text}");
    fs::write(keys.folder().join("pin.json"), "{}").unwrap();
    assert!(matches!(
        pin.verify("second one", Wall(0)),
        Err(PinError::Damaged { .. })
    ));
}
