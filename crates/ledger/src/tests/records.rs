//! What stands in a record, and what never does.

use legation_core::Wall;
use legation_core::clock::ManualClock;

use super::*;

/// A call, a refused call and a note.
fn record_all_kinds(ledger: &Ledger) -> Vec<(Entry, Record)> {
    let asked = asked("personal");
    block_on(async {
        let intent = asked.intent(ledger);
        let ticket = ledger
            .intent(&intent, Durability::Disk)
            .await
            .expect("recorded");
        assert_eq!((ticket.call(), ticket.seq()), (intent.call, 1));
        let outcome = OutcomeRecord {
            status: Status::ToolError,
            code: Some(-32_000),
            result: Some(b"{\"isError\":true}"),
            detail: Detail::default(),
        };
        ledger.outcome(ticket, &outcome);
        let refused = Refused {
            intent: Intent {
                server: None,
                rule: "default.deny",
                definition: None,
                args: None,
                ..asked.intent(ledger)
            },
            code: Some(-31_001),
            reason: "no such server",
        };
        ledger.refused(&refused).await.expect("recorded");
        let note = Note::new(&asked.entity, "policy", "version 2");
        ledger.note(&note).await.expect("recorded");
    });
    let entries = ledger.tail(10).expect("read");
    entries
        .into_iter()
        .map(|entry| {
            let record = entry.record().expect("a record");
            (entry, record)
        })
        .collect()
}

#[test]
fn a_call_leaves_an_intent_and_an_outcome_that_say_what_happened() {
    let place = place();
    let (_store, ledger) = place.open();
    let (entries, records): (Vec<Entry>, Vec<Record>) =
        record_all_kinds(&ledger).into_iter().unzip();
    let kinds: Vec<Kind> = records.iter().map(|record| record.kind).collect();
    assert_eq!(
        kinds,
        [Kind::Intent, Kind::Outcome, Kind::Refused, Kind::Note]
    );

    let intent = &records[0];
    let order = [
        "v",
        "entity",
        "seq",
        "at",
        "kind",
        "call",
        "client",
        "via",
        "server",
        "verb",
        "item",
        "attribution",
        "definition",
        "rule",
        "args",
    ];
    let value: serde_json::Value = serde_json::from_str(&entries[0].text).expect("JSON");
    let names: Vec<&String> = value.as_object().expect("an object").keys().collect();
    assert_eq!(names, order);
    assert!(
        !entries[0].text.contains("/etc/hosts"),
        "{}",
        entries[0].text
    );
    let commitment = |index: usize, bytes: &[u8]| {
        let entry: &Entry = &entries[index];
        keys()
            .commitment(&entry.entity, entry.at_ms, bytes)
            .expect("a key")
    };
    assert!(intent.args.is_some());
    assert_eq!(intent.args, commitment(0, br#"{"path":"/etc/hosts"}"#));

    let outcome = &records[1];
    assert_eq!(outcome.call, intent.call);
    assert_eq!(outcome.intent, Some(1));
    assert_eq!(outcome.item.as_deref(), Some("read_file"));
    assert_eq!(outcome.status, Some(Status::ToolError));
    assert_eq!(outcome.code, Some(-32_000));
    assert_eq!(outcome.result_bytes, Some(16));
    assert_eq!(outcome.result, commitment(1, b"{\"isError\":true}"));
    assert!(outcome.execution_time_ms.is_some_and(|ms| ms >= 0.0));

    assert_eq!(records[2].rule.as_deref(), Some("default.deny"));
    assert_eq!(records[2].reason.as_deref(), Some("no such server"));
    assert_eq!(records[2].server, None);
    assert_eq!(records[3].text.as_deref(), Some("version 2"));

    let report = ledger.verify(&Evidence::default()).expect("read");
    assert!(report.is_intact(), "{report:?}");
    assert_eq!((report.records, report.pairs, report.open), (4, 1, 0));
    assert_eq!((report.refused, report.notes), (1, 1));
    assert_eq!(report.chains[0].hash, entries[3].hash);
}

#[test]
fn free_text_is_cut_and_its_control_characters_are_escaped() {
    let place = place();
    let (_store, ledger) = place.open();
    let asked = asked("personal");
    let item = format!("a\n\u{1b}[31m\"\0{}", "ä".repeat(2_000));
    let refused = Refused {
        intent: Intent {
            item: &item,
            ..asked.intent(&ledger)
        },
        code: None,
        reason: "x\r\ny",
    };
    block_on(ledger.refused(&refused)).expect("recorded");
    let entry = ledger.tail(1).expect("read").remove(0);
    assert!(!entry.text.chars().any(char::is_control), "{}", entry.text);
    let record = entry.record().expect("a record");
    let kept = record.item.expect("an item");
    assert!(kept.len() <= 1_024 + '…'.len_utf8(), "{}", kept.len());
    assert!(item.starts_with(kept.trim_end_matches('…')));
    assert!(kept.ends_with('…'));
    assert_eq!(record.reason.as_deref(), Some("x\r\ny"));
    assert!(
        ledger
            .verify(&Evidence::default())
            .expect("read")
            .is_intact()
    );
}

#[test]
fn a_ticket_that_is_dropped_leaves_an_unknown_outcome() {
    let place = place();
    let (_store, ledger) = place.open();
    let asked = asked("personal");
    block_on(async {
        let intent = asked.intent(&ledger);
        drop(ledger.intent(&intent, Durability::PageCache).await);
        ledger.flush().await.expect("flushed");
    });
    assert_eq!(
        place.statuses(),
        [(Kind::Intent, None), (Kind::Outcome, Some(Status::Unknown))]
    );
}

#[test]
fn call_ids_differ_between_starts() {
    let place = place();
    let first = place.open().1.next_call();
    let (_store, ledger) = place.open();
    let (second, third) = (ledger.next_call(), ledger.next_call());
    assert_ne!(first, second);
    assert_ne!(second, third);
    assert_eq!(second.to_string().len(), 18);
}

#[test]
fn a_follower_gets_every_record_once_and_the_flusher_brings_the_last() {
    let place = place();
    let (_store, ledger) = place.open();
    let asked = asked("personal");
    block_on(async {
        one_call(&ledger, &asked, Durability::PageCache).await;
        ledger.flush().await.expect("flushed");
        let mut follow = ledger.follow(1).expect("followed");
        let cancel = legation_core::Cancel::new();
        let flush = ledger.run_flusher(cancel.clone());
        let work = async {
            let mut seen = Vec::new();
            for _ in 0..300 {
                one_call(&ledger, &asked, Durability::PageCache).await;
            }
            // The last outcome is committed by nothing but the flusher.
            while seen.len() < 601 {
                let more = follow.next().await.expect("read").expect("open");
                assert!(!more.is_empty());
                seen.extend(more.into_iter().map(|entry| entry.seq));
            }
            cancel.cancel(legation_core::CancelReason::Shutdown);
            seen
        };
        let ((), seen) = tokio::join!(flush, work);
        assert_eq!(seen, (2..=602).collect::<Vec<i64>>());
    });
}

#[test]
fn a_clock_that_is_moved_a_day_breaks_no_chain_and_hides_no_record() {
    const DAY: i64 = 24 * 60 * 60 * 1000;
    let place = place();
    let asked = asked("a");
    for day in [5_i64, 4, 6] {
        let clock = Arc::new(ManualClock::at(Wall(day * DAY)));
        let store = Store::open(&place.path, StoreOptions::default()).expect("a store");
        let ledger = Ledger::open(Arc::new(store), keys(), clock).expect("a ledger");
        block_on(one_call(&ledger, &asked, Durability::Disk));
        block_on(ledger.flush()).expect("flushed");
        // As when the process is killed; the next start closes it, whenever that
        // believes to be.
        let open = ledger.intent(&asked.intent(&ledger), Durability::Disk);
        std::mem::forget(block_on(open).expect("recorded"));
    }
    drop(place.open());
    let report = place.verify();
    assert!(report.is_intact(), "{report:?}");
    assert_eq!((report.intents, report.outcomes), (6, 6));
    let reader = LedgerReader::open(&place.path).expect("a reader");
    for (day, records) in [(5, 3), (4, 4), (6, 4)] {
        let filter = Filter {
            from_ms: Some(day * DAY),
            until_ms: Some((day + 1) * DAY),
            ..Filter::default()
        };
        let bounds = Bounds {
            limit: 100,
            scan: 100,
        };
        let page = reader.records().query(&filter, None, bounds).expect("read");
        assert_eq!(page.entries.len(), records, "day {day}");
    }
}
