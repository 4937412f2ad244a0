use expect_test::expect;
use serde_json::value::RawValue;

use super::*;
use crate::Exit;

#[test]
fn records_as_rows() {
    let texts = [
        r#"{"at":"T1","kind":"intent","client":"claude","server":"files","item":"read","rule":"own.servers"}"#,
        r#"{"at":"T2","kind":"outcome","client":"claude","intent":1,"status":"ok","execution_time_ms":0.381}"#,
        r#"{"at":"T3","kind":"outcome","client":"claude","intent":1,"status":"unknown"}"#,
        r#"{"at":"T4","kind":"refused","client":"codex","item":"nosuch","rule":"resolve.unknown","reason":"there is none"}"#,
        r#"{"at":"T5","kind":"note","text":"swept"}"#,
        r#"{"kind":7}"#,
    ];
    let answer = TailAnswer {
        records: (1..)
            .zip(texts)
            .map(|(seq, text)| Record {
                position: 0,
                entity: "a".to_owned(),
                at_ms: 0,
                seq,
                hash: String::new(),
                record: RawValue::from_string(text.to_owned()).expect("JSON"),
            })
            .collect(),
    };
    expect![[r#"
        CHAIN  SEQ  TIME  KIND     CLIENT  WHAT        RESULT
        a      1    T1    intent   claude  files/read  rule own.servers
        a      2    T2    outcome  claude  of 1        ok after 0.381 ms
        a      3    T3    outcome  claude  of 1        unknown
        a      4    T4    refused  codex   nosuch      rule resolve.unknown: there is none
        a      5    T5    note             swept
        a      6
    "#]]
    .assert_eq(&render(&answer));
}

#[test]
fn a_time_is_a_date_a_moment_or_so_long_ago() {
    let now = legation_core::Wall(1_795_226_096_789);
    let at = |text| filter::time(text, now).map(|at| legation_core::Wall(at).to_string());
    for (text, time) in [
        ("2026-11-21", "2026-11-21T00:00:00.000Z"),
        ("2026-11-21T01:00:00Z", "2026-11-21T01:00:00.000Z"),
        ("10s", "2026-11-21T01:54:46.789Z"),
        ("15m", "2026-11-21T01:39:56.789Z"),
        ("2h", "2026-11-20T23:54:56.789Z"),
        ("7d", "2026-11-14T01:54:56.789Z"),
    ] {
        assert_eq!(at(text).expect(text), time, "{text}");
    }
    for bad in ["", "d", "-1d", "yesterday", "7 d", "9999999999999999d", "ä"] {
        assert_eq!(at(bad).expect_err(bad).exit, Exit::Usage, "{bad}");
    }
}

#[test]
fn what_is_wrong_is_listed() {
    let answer = legation_api::audit::VerifyAnswer {
        intact: false,
        records: 9,
        intents: 4,
        outcomes: 4,
        refused: 1,
        notes: 0,
        open: 0,
        checkpoints: 2,
        covered: 7,
        public_keys: vec!["ledger+00+AA".to_owned()],
        chains: vec![legation_api::audit::Chain {
            entity: "a".to_owned(),
            seq: 9,
            hash: "ff".to_owned(),
        }],
        faults: vec![legation_api::audit::Fault {
            kind: "changed".to_owned(),
            entity: "a".to_owned(),
            seq: 3,
            checkpoint: None,
            what: "record 3 of entity a was changed\u{1b}".to_owned(),
        }],
        fault_count: 1,
    };
    expect![[r#"
        BROKEN: 1 faults in 9 records
          record 3 of entity a was changed\u{1b}
        chain a: 9 records, ends in ff
        2 checkpoints compared; 7 records are signed for
        trusted key ledger+00+AA
    "#]]
    .assert_eq(&verify::render(&answer));
}
