//! Finding and exporting records.

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

#[test]
fn a_filter_finds_what_it_names_and_nothing_else() {
    let (place, _store, ledger, calls) = written();
    let some = |text: &str| Some(text.to_owned());
    let default = Filter::default;
    let at = ledger.tail(1).expect("read")[0].at_ms;
    let cases = [
        (default(), "8 7 6 5 4 3 2 1"),
        (
            Filter {
                client: some("claude"),
                ..default()
            },
            "7 2 1",
        ),
        (
            Filter {
                client: some("co\"dex"),
                ..default()
            },
            "6 5 4 3",
        ),
        (
            Filter {
                client: some("co"),
                ..default()
            },
            "",
        ),
        (
            Filter {
                entity: some("b"),
                ..default()
            },
            "7 4 3",
        ),
        (
            Filter {
                entity: some("b"),
                seq: Some(2),
                ..default()
            },
            "4",
        ),
        (
            Filter {
                status: some("ok"),
                ..default()
            },
            "6 2",
        ),
        (
            Filter {
                status: some("tool_error"),
                ..default()
            },
            "4",
        ),
        (
            Filter {
                status: some("refused"),
                ..default()
            },
            "7",
        ),
        (
            Filter {
                reason_code: some("MIXED_ENTITIES"),
                ..default()
            },
            "7",
        ),
        (
            Filter {
                item: some("send"),
                server: some("files"),
                ..default()
            },
            "7",
        ),
        (
            Filter {
                item: some("send"),
                server: some("mail"),
                ..default()
            },
            "",
        ),
        (
            Filter {
                rule: some("boundary"),
                ..default()
            },
            "7",
        ),
        (
            Filter {
                kind: some("note"),
                topic: some("policy"),
                ..default()
            },
            "8",
        ),
        (
            Filter {
                call: some(&calls[1]),
                ..default()
            },
            "4 3",
        ),
        (
            Filter {
                from_ms: Some(at + 1),
                ..default()
            },
            "",
        ),
        (
            Filter {
                until_ms: Some(at + 1),
                kind: some("refused"),
                ..default()
            },
            "7",
        ),
        (
            Filter {
                until_ms: Some(0),
                ..default()
            },
            "",
        ),
    ];
    let reader = LedgerReader::open(&place.path).expect("a reader");
    for (filter, expected) in cases {
        let found = ledger.query(&filter, None, ALL).expect("read");
        let positions: Vec<String> = found
            .entries
            .iter()
            .map(|one| one.position.to_string())
            .collect();
        assert_eq!(positions.join(" "), expected, "{filter:?}");
        assert_eq!(found.next, None);
        assert_eq!(reader.query(&filter, None, ALL).expect("read"), found);
        let mut forward = ledger.scan(&filter, 0, ALL).expect("read").entries;
        forward.reverse();
        assert_eq!(forward, found.entries, "{filter:?}");
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

#[test]
fn an_export_has_every_record_in_each_form() {
    let (_place, _store, ledger, calls) = written();
    let entries = ledger.tail(10).expect("read");
    let lines = |format: Format| -> Vec<serde_json::Value> {
        let line = |entry| format.line(entry, "1.2.3");
        let read = |text: String| {
            assert!(!text.contains('\n'));
            serde_json::from_str(&text).expect("JSON")
        };
        entries.iter().map(line).map(read).collect()
    };
    for (entry, line) in entries.iter().zip(lines(Format::Jsonl)) {
        assert_eq!(line["hash"], entry.hash);
        assert_eq!(line["record"].to_string(), entry.text);
    }
    let ocsf = lines(Format::Ocsf);
    for event in &ocsf {
        // What the class requires.
        for member in [
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
        ] {
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
    assert_eq!(ocsf[3]["status"], "tool_error");
    assert_eq!(ocsf[3]["status_id"], 2);
    assert_eq!(ocsf[3]["metadata"]["correlation_uid"], calls[1].as_str());
    let refused = &ocsf[6];
    assert_eq!(refused["status_code"], "MIXED_ENTITIES");
    assert_eq!(
        (&refused["action"], &refused["disposition"]),
        (&"Denied".into(), &"Blocked".into())
    );
    assert_eq!(refused["metadata"]["labels"], serde_json::json!(["a", "b"]));
    assert_eq!(refused["unmapped"]["provider_used"], "local");
    let otel = lines(Format::Otel);
    let log = |index: usize| &otel[index]["resourceLogs"][0]["scopeLogs"][0]["logRecords"][0];
    let attribute = |index: usize, key: &str| {
        let attributes = log(index)["attributes"].as_array().expect("a list");
        let found = attributes.iter().find(|attribute| attribute["key"] == key);
        found
            .map(|attribute| attribute["value"].clone())
            .unwrap_or_default()
    };
    assert_eq!(log(0)["eventName"], "legation.call.intent");
    assert_eq!(
        log(0)["timeUnixNano"],
        format!("{}000000", entries[0].at_ms)
    );
    assert_eq!(log(0)["body"]["stringValue"], entries[0].text);
    assert_eq!(attribute(0, "mcp.method.name")["stringValue"], "tools/call");
    assert_eq!(attribute(0, "gen_ai.tool.name")["stringValue"], "read_file");
    assert_eq!(attribute(0, "legation.ledger.seq")["intValue"], "1");
    assert!(attribute(1, "error.type").is_null());
    assert_eq!(attribute(3, "error.type")["stringValue"], "tool_error");
    assert_eq!(attribute(6, "gen_ai.provider.name")["stringValue"], "local");
    assert_eq!(
        attribute(6, "legation.labels")["arrayValue"]["values"][1]["stringValue"],
        "b"
    );
    assert_eq!(log(6)["severityText"], "WARN");
    for format in [Format::Jsonl, Format::Ocsf, Format::Otel] {
        assert_eq!(format.to_string().parse(), Ok(format));
        let damaged = Entry {
            text: "{".to_owned(),
            ..entries[0].clone()
        };
        let line = format.line(&damaged, "1.2.3");
        assert!(
            serde_json::from_str::<serde_json::Value>(&line).is_ok(),
            "{line}"
        );
    }
    assert_eq!("csv".parse::<Format>(), Err(FormatError));
}
