//! Finding and exporting records.

use legation_core::{Attribution, Identity};

use super::*;

const ALL: Bounds = Bounds {
    limit: usize::MAX,
    scan: usize::MAX,
};

/// Three calls of two clients, a refused one, and a note.
fn written() -> (super::Place, Arc<Store>, Ledger, Vec<String>) {
    let place = place();
    let (store, ledger) = place.open();
    let (a, b) = (asked("a"), asked("b"));
    let agent = Identity {
        attribution: Attribution::AgentUser,
        agent_id: Some("agent-1".into()),
        sponsor: Some("human-1".into()),
    };
    let on_behalf = Identity {
        attribution: Attribution::ApplicationForHuman,
        ..Identity::default()
    };
    let accounts = [(a.entity.clone(), agent), (b.entity.clone(), on_behalf)];
    ledger.set_identities(Identities::new(&accounts));
    let other = ClientId::new("co\"dex");
    let mut calls = Vec::new();
    block_on(async {
        for (asked, client, status) in [
            (&a, &a.client, Status::Ok),
            (&b, &other, Status::ToolError),
            (&a, &other, Status::Ok),
        ] {
            let intent = Intent {
                client,
                ..asked.intent(&ledger)
            };
            calls.push(intent.call.to_string());
            let ticket = ledger
                .intent(&intent, Durability::PageCache)
                .await
                .expect("recorded");
            ledger.outcome(ticket, &OutcomeRecord::bare(status));
            ledger.flush().await.expect("flushed");
        }
        let labels = [EntityId::new("a"), EntityId::new("b")];
        let detail = Detail {
            labels: &labels,
            rung: Some("draft"),
            provider: Some("local"),
            on_behalf_of: Some(&a.client),
            reason_code: Some("MIXED_ENTITIES"),
            ..Detail::default()
        };
        let intent = Intent {
            item: "send",
            rule: "boundary",
            detail,
            ..b.intent(&ledger)
        };
        let refused = Refused {
            intent,
            code: None,
            reason: "it says \"client\":\"claude\" and \"status\":\"ok\"",
        };
        ledger.refused(&refused).await.expect("recorded");
        let note = Note::new(&a.entity, "policy", "version 2");
        ledger.note(&note).await.expect("recorded");
    });
    (place, store, ledger, calls)
}

/// What is asked, and the positions of what is found, newest first.
const FILTERS: &[(&str, &str)] = &[
    ("", "8 7 6 5 4 3 2 1"),
    ("client=claude", "7 2 1"),
    ("client=co\"dex", "6 5 4 3"),
    ("client=co", ""),
    ("entity=b", "7 4 3"),
    ("entity=b seq=2", "4"),
    ("status=ok", "6 2"),
    ("status=tool_error", "4"),
    ("status=refused", "7"),
    ("reason_code=MIXED_ENTITIES", "7"),
    ("item=send server=files", "7"),
    ("item=send server=mail", ""),
    ("rule=boundary", "7"),
    ("agent=agent-1", "8 6 5 2 1"),
    ("agent=agent", ""),
    ("agent=agent-1 kind=outcome", "6 2"),
    ("attribution=application_for_human", "7 4 3"),
    ("attribution=none", ""),
    ("kind=note topic=policy", "8"),
    ("call=@1", "4 3"),
    ("from=@1", ""),
    ("until=@1 kind=refused", "7"),
    ("until=@0 kind=refused", ""),
];

/// Reads one of the above. `@` stands for the second call, or for the time of
/// the last record.
fn filter(text: &str, calls: &[String], at: i64) -> Filter {
    let mut filter = Filter::default();
    for part in text.split_whitespace() {
        let (name, value) = part.split_once('=').expect("a pair");
        let value = value.to_owned();
        match (name, value.strip_prefix('@')) {
            ("from", Some(_)) => filter.from_ms = Some(at + 1),
            ("until", Some("0")) => filter.until_ms = Some(0),
            ("until", Some(_)) => filter.until_ms = Some(at + 1),
            ("call", _) => filter.call = Some(calls[1].clone()),
            ("seq", _) => filter.seq = value.parse().ok(),
            ("client", _) => filter.client = Some(value),
            ("entity", _) => filter.entity = Some(value),
            ("status", _) => filter.status = Some(value),
            ("reason_code", _) => filter.reason_code = Some(value),
            ("item", _) => filter.item = Some(value),
            ("server", _) => filter.server = Some(value),
            ("rule", _) => filter.rule = Some(value),
            ("agent", _) => filter.agent_id = Some(value),
            ("attribution", _) => filter.attribution = Some(value),
            ("kind", _) => filter.kind = Some(value),
            ("topic", _) => filter.topic = Some(value),
            _ => panic!("{part}"),
        }
    }
    filter
}

#[test]
fn a_filter_finds_what_it_names_and_nothing_else() {
    let (place, _store, ledger, calls) = written();
    let at = ledger.tail(1).expect("read")[0].at_ms;
    let reader = LedgerReader::open(&place.path).expect("a reader");
    for (text, expected) in FILTERS {
        let filter = filter(text, &calls, at);
        let found = ledger.query(&filter, None, ALL).expect("read");
        let positions = found.entries.iter().map(|one| one.position.to_string());
        assert_eq!(positions.collect::<Vec<_>>().join(" "), *expected, "{text}");
        assert_eq!(found.next, None);
        assert_eq!(
            reader.records().query(&filter, None, ALL).expect("read"),
            found
        );
        let mut forward = ledger.scan(&filter, 0, ALL).expect("read").entries;
        forward.reverse();
        assert_eq!(forward, found.entries, "{text}");
    }
}

#[test]
fn pages_together_are_the_whole() {
    let place = place();
    let (_store, ledger) = place.open();
    block_on(async {
        for call in 0..1_500 {
            one_call(&ledger, &asked(["a", "b"][call % 2]), Durability::PageCache).await;
        }
        ledger.flush().await.expect("flushed");
    });
    let filter = Filter {
        entity: Some("a".to_owned()),
        ..Filter::default()
    };
    let whole = ledger.query(&filter, None, ALL).expect("read").entries;
    assert_eq!(whole.len(), 1_500);
    for bounds in [
        Bounds {
            limit: 7,
            scan: usize::MAX,
        },
        Bounds {
            limit: usize::MAX,
            scan: 1,
        },
        Bounds {
            limit: 1_000,
            scan: 1_100,
        },
    ] {
        let (mut backward, mut before) = (Vec::new(), None);
        let (mut forward, mut after) = (Vec::new(), Some(0));
        loop {
            let page = ledger.query(&filter, before, bounds).expect("read");
            assert!(page.entries.len() <= bounds.limit);
            backward.extend(page.entries);
            before = page.next;
            if before.is_none() {
                break;
            }
        }
        while let Some(from) = after {
            let page = ledger.scan(&filter, from, bounds).expect("read");
            forward.extend(page.entries);
            after = page.next;
        }
        forward.reverse();
        assert_eq!(backward, whole, "{bounds:?}");
        assert_eq!(forward, whole, "{bounds:?}");
    }
}

#[test]
fn a_call_is_found_with_everything_about_it() {
    let (_place, _store, ledger, calls) = written();
    let seqs = |call: &str| -> Vec<_> {
        let found = ledger.find_call(call).expect("read");
        found.iter().map(|entry| entry.position).collect()
    };
    assert_eq!(seqs(&calls[0]), [1, 2]);
    assert_eq!(seqs(&calls[2]), [5, 6]);
    assert_eq!(seqs("nothing"), [0i64; 0]);
    let entry = ledger.tail(8).expect("read").remove(0);
    let args = br#"{"path":"/etc/hosts"}"#;
    assert_eq!(
        ledger.is_commitment_to(&entry, args).expect("a key"),
        Some(true)
    );
    assert_eq!(
        ledger.is_commitment_to(&entry, b"{}").expect("a key"),
        Some(false)
    );
}

/// Every record in a form, as JSON.
fn lines(entries: &[Entry], format: Format) -> Vec<serde_json::Value> {
    let read = |entry| {
        let text = format.line(entry, "1.2.3");
        assert!(!text.contains('\n'));
        serde_json::from_str(&text).expect("JSON")
    };
    entries.iter().map(read).collect()
}

/// What OCSF requires of an event of this class.
const REQUIRED: &[&str] = &[
    "activity_id",
    "actor",
    "api",
    "category_uid",
    "class_uid",
    "metadata",
    "severity_id",
    "src_endpoint",
    "time",
    "type_uid",
];

#[test]
fn events_of_ocsf_have_what_their_class_requires() {
    let (_place, _store, ledger, calls) = written();
    let events = lines(&ledger.tail(10).expect("read"), Format::Ocsf);
    for event in &events {
        for member in REQUIRED {
            assert!(!event[member].is_null(), "{member}: {event}");
        }
        assert_eq!(
            (&event["class_uid"], &event["category_uid"]),
            (&6003.into(), &6.into())
        );
        let activity = event["activity_id"].as_u64().expect("a number");
        assert_eq!(event["type_uid"], 600_300 + activity);
        assert_eq!(event["metadata"]["product"]["version"], "1.2.3");
    }
    let (failed, refused) = (&events[3], &events[6]);
    assert_eq!(
        (&failed["status"], &failed["status_id"]),
        (&"tool_error".into(), &2.into())
    );
    assert_eq!(failed["metadata"]["correlation_uid"], calls[1].as_str());
    assert_eq!(refused["status_code"], "MIXED_ENTITIES");
    assert_eq!(
        (&refused["action"], &refused["disposition"]),
        (&"Denied".into(), &"Blocked".into())
    );
    assert_eq!(refused["metadata"]["labels"], serde_json::json!(["a", "b"]));
    assert_eq!(refused["unmapped"]["provider_used"], "local");
}

#[test]
fn log_records_of_opentelemetry_are_named_by_its_conventions() {
    let (_place, _store, ledger, _) = written();
    let entries = ledger.tail(10).expect("read");
    let lines = lines(&entries, Format::Otel);
    let log = |index: usize| &lines[index]["resourceLogs"][0]["scopeLogs"][0]["logRecords"][0];
    let attribute = |index: usize, key: &str, kind: &str| {
        let attributes = log(index)["attributes"].as_array().expect("a list");
        let found = attributes.iter().find(|attribute| attribute["key"] == key);
        found.map_or(serde_json::Value::Null, |attribute| {
            attribute["value"][kind].clone()
        })
    };
    assert_eq!(log(0)["eventName"], "legation.call.intent");
    assert_eq!(
        log(0)["timeUnixNano"],
        format!("{}000000", entries[0].at_ms)
    );
    assert_eq!(log(0)["body"]["stringValue"], entries[0].text);
    assert_eq!(log(6)["severityText"], "WARN");
    for (index, key, kind, value) in [
        (0, "mcp.method.name", "stringValue", "tools/call"),
        (0, "gen_ai.operation.name", "stringValue", "execute_tool"),
        (0, "gen_ai.tool.name", "stringValue", "read_file"),
        (0, "legation.ledger.seq", "intValue", "1"),
        (3, "error.type", "stringValue", "tool_error"),
        (6, "error.type", "stringValue", "refused"),
        (6, "gen_ai.provider.name", "stringValue", "local"),
        (6, "legation.reason_code", "stringValue", "MIXED_ENTITIES"),
    ] {
        assert_eq!(attribute(index, key, kind), value, "{index} {key}");
    }
    assert!(attribute(1, "error.type", "stringValue").is_null());
    let labels = attribute(6, "legation.labels", "arrayValue");
    assert_eq!(labels["values"][1]["stringValue"], "b");
}

#[test]
fn an_export_keeps_the_very_bytes_and_takes_damaged_records_too() {
    let (_place, _store, ledger, _) = written();
    let entries = ledger.tail(10).expect("read");
    for (entry, line) in entries.iter().zip(lines(&entries, Format::Jsonl)) {
        assert_eq!(line["hash"], entry.hash);
        // As text: a number read and written again is not the same bytes.
        let text = Format::Jsonl.line(entry, "1.2.3");
        let record = format!(r#""record":{}"#, entry.text);
        assert!(text.contains(&record), "{text}");
    }
    let damaged = Entry {
        text: "{".to_owned(),
        ..entries[0].clone()
    };
    for format in [Format::Jsonl, Format::Ocsf, Format::Otel] {
        assert_eq!(format.to_string().parse(), Ok(format));
        assert_eq!(lines(std::slice::from_ref(&damaged), format).len(), 1);
    }
    assert_eq!("csv".parse::<Format>(), Err(FormatError));
}
