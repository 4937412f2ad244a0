use expect_test::expect;

use super::*;

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
                seq,
                hash: String::new(),
                record: RawValue::from_string(text.to_owned()).expect("JSON"),
            })
            .collect(),
    };
    expect![[r#"
        SEQ  TIME  KIND     CLIENT  WHAT        RESULT
        1    T1    intent   claude  files/read  rule own.servers
        2    T2    outcome  claude  of 1        ok after 0.381 ms
        3    T3    outcome  claude  of 1        unknown
        4    T4    refused  codex   nosuch      rule resolve.unknown: there is none
        5    T5    note             swept
        6
    "#]]
    .assert_eq(&render(&answer));
}
