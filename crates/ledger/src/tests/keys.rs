//! Keys of commitments: one an entity and month, and gone when destroyed.

use legation_keystore::{Key, Keystore};

use super::*;

const NOVEMBER: i64 = 1_795_226_096_789;
const DECEMBER: i64 = NOVEMBER + 14 * 86_400_000;

#[test]
fn a_commitment_is_hmac_sha_256_under_a_key_of_its_entity_and_month() {
    let dir = tempfile::tempdir().expect("a folder");
    let keystore = Arc::new(Keystore::open(dir.path()).expect("a keystore"));
    let keys = LedgerKeys::kept_in(Arc::clone(&keystore));
    let (a, odd) = (EntityId::new("a-1"), EntityId::new("A/1 ä"));
    assert_eq!(keys.commitment(&a, NOVEMBER, b"x").expect("asked"), None);
    let mut seen = Vec::new();
    for (entity, at_ms) in [(&a, NOVEMBER), (&a, DECEMBER), (&odd, NOVEMBER)] {
        let made = keys.commit(entity, at_ms, b"x").expect("made");
        assert_eq!(keys.commit(entity, at_ms, b"x").expect("made again"), made);
        let later = keys.commitment(entity, at_ms, b"x").expect("read");
        assert_eq!(later, Some(legation_core::id::hex(&made)));
        assert!(!seen.contains(&made), "two keys alike");
        seen.push(made);
    }
    assert_eq!(
        keystore.names().expect("listed"),
        [
            "ledger._41_2f1_20_c3_a4.2026-11",
            "ledger.a-1.2026-11",
            "ledger.a-1.2026-12"
        ]
    );
    let long = EntityId::new("x".repeat(500));
    keys.commit(&long, NOVEMBER, b"x")
        .expect("a name that fits");
    assert!(!format!("{keys:?}").contains("a-1"));
}

#[test]
fn a_commitment_is_what_another_implementation_makes() {
    let seed = [7; 32];
    let key = Key::from_bytes(seed).derive("ledger.a-1.2026-11");
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, key.reveal());
    let keys = LedgerKeys::from_bytes(&seed);
    for length in [0, 1, 55, 64, 1_000] {
        let bytes = vec![b'x'; length];
        let made = keys
            .commit(&EntityId::new("a-1"), NOVEMBER, &bytes)
            .expect("no key is kept anywhere");
        assert_eq!(made, ring::hmac::sign(&key, &bytes).as_ref());
    }
}

#[test]
fn a_month_reads_as_it_prints_and_takes_a_date() {
    for (at_ms, text) in [(0, "1970-01"), (NOVEMBER, "2026-11"), (DECEMBER, "2026-12")] {
        assert_eq!(Month::of(at_ms).to_string(), text);
        assert_eq!(text.parse(), Ok(Month::of(at_ms)));
    }
    assert_eq!("2026-11-30".parse(), Ok(Month::of(NOVEMBER)));
    for bad in [
        "",
        "2026",
        "2026-13",
        "2026-00",
        "26-11",
        "2026-11-00",
        "2026-11-1",
        "2026-11-01-",
        "-026-11",
    ] {
        assert!(bad.parse::<Month>().is_err(), "{bad}");
    }
}
