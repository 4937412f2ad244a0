//! Retention: keys are destroyed, records stay.

use legation_core::Wall;
use legation_core::clock::ManualClock;
use legation_keystore::Keystore;

use super::*;

const DAY_MS: i64 = 86_400_000;
/// 2026-11-21.
const NOVEMBER: i64 = 1_795_226_096_789;

/// Whose intents of which month are known to be about these arguments; `None`
/// where nobody can know any more.
fn known(ledger: &Ledger, args: &[u8]) -> Vec<(String, Option<bool>)> {
    let filter = Filter {
        kind: Some("intent".to_owned()),
        ..Filter::default()
    };
    let all = Bounds {
        limit: 10,
        scan: 100,
    };
    let found = ledger.scan(&filter, 0, all).expect("read").entries;
    found
        .iter()
        .map(|entry| {
            let known = ledger.is_commitment_to(entry, args).expect("keys");
            (
                format!("{} {}", entry.entity, Month::of(entry.at_ms)),
                known,
            )
        })
        .collect()
}

fn named(found: &Shredded) -> Vec<String> {
    found.months.iter().map(ToString::to_string).collect()
}

#[test]
fn a_shredded_month_says_nothing_any_more_and_the_chain_verifies() {
    let place = place();
    let folder = place.path.with_file_name("keys");
    let keystore = Arc::new(Keystore::open(&folder).expect("a keystore"));
    let open = |at| {
        let store = Arc::new(Store::open(&place.path, StoreOptions::default()).expect("open"));
        let keys = LedgerKeys::kept_in(Arc::clone(&keystore));
        Ledger::open(store, keys, Arc::new(ManualClock::at(Wall(at)))).expect("a ledger")
    };
    for month in 0..3 {
        let ledger = open(NOVEMBER + month * 30 * DAY_MS);
        block_on(async {
            for entity in ["a", "b"] {
                one_call(&ledger, &asked(entity), Durability::PageCache).await;
            }
            ledger.flush().await.expect("flushed");
        });
    }
    let ledger = open(NOVEMBER + 60 * DAY_MS);
    let (a, month) = (EntityId::new("a"), |text: &str| {
        text.parse::<Month>().expect("a month")
    });
    let args = br#"{"path":"/etc/hosts"}"#;
    let known = || known(&ledger, args);
    assert!(
        known().iter().all(|(_, known)| *known == Some(true)),
        "{:?}",
        known()
    );
    // Nothing of the present month, whatever is asked.
    let would = ledger.shreddable(&a, month("2099-01")).expect("asked");
    assert_eq!(named(&would), ["2026-11", "2026-12"]);
    let would = ledger.shreddable(&a, month("2026-12-24")).expect("asked");
    assert_eq!(named(&would), ["2026-11"]);
    assert!(
        known().iter().all(|(_, known)| *known == Some(true)),
        "only asked"
    );
    let done = ledger.shred(&a, month("2026-12")).expect("shredded");
    assert_eq!(named(&done), ["2026-11"]);
    for (what, known) in known() {
        assert_eq!(known, (what != "a 2026-11").then_some(true), "{what}");
    }
    assert_eq!(
        ledger.shred(&a, month("2026-12")).expect("again").months,
        []
    );
    assert_eq!(
        ledger
            .shred(&EntityId::new("none"), month("2099-01"))
            .expect("none")
            .months,
        []
    );
    let note = ledger
        .tail(1)
        .expect("read")
        .remove(0)
        .record()
        .expect("a record");
    assert_eq!(
        (
            note.entity.as_str(),
            note.topic.as_deref(),
            note.text.as_deref()
        ),
        ("a", Some("commitments_shredded"), Some("2026-11"))
    );
    assert_eq!(super::oracle::faults(&place, None, &[]), [""; 0]);
}
