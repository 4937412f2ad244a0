//! Documents.

use legation_redact::{MemoryVault, Redactor, RedactorSpec, restore_json};

use crate::outside_tokens;

fn redactor() -> Redactor {
    let spec = RedactorSpec {
        fields: vec![
            "resident names".into(),
            "room numbers".into(),
            "score".into(),
        ],
        ..RedactorSpec::default()
    };
    Redactor::build(&spec).expect("nothing to refuse")
}

#[test]
fn takes_out_keys_numbers_and_parts() {
    let cases = [
        (r#"{"Anna Kowalska": {"ok": true}}"#, "Kowalska"),
        (r#"{"mrn": 12345678, "hr": 72}"#, "12345678"),
        (r#"{"ssn": ["219", "09", "9999"]}"#, "9999"),
        (
            r#"{"area": "555", "exchange": "201", "line": "3344"}"#,
            "3344",
        ),
        (r#"{"room_number": "will"}"#, "will"),
        (r#"{"residentName": "green"}"#, "green"),
        (r#"{"score": 7}"#, "7"),
        (r#"{"note": "Kowal\u0073ka called"}"#, "ka called"),
        (r#"{"note": "{\"name\": \"Anna Kowalska\"}"}"#, "Kowalska"),
        (r#"{"a": "\ud800"}"#, "ud800"),
    ];
    for (document, gone) in cases {
        let redacted = redactor()
            .redact_json(document, &mut MemoryVault::new())
            .json;
        let left = outside_tokens(&redacted);
        assert!(!left.contains(gone), "{document}: {redacted}");
        assert!(
            serde_json::from_str::<serde_json::Value>(&redacted).is_ok(),
            "{redacted}"
        );
    }
}

#[test]
fn leaves_what_is_harmless_as_it_was_written() {
    let document = "{ \"hr\" : 72,\"bp\":\"120/80\", \"on\": true, \"x\": null, \"dose\": 1.50e1 }";
    let redacted = redactor().redact_json(document, &mut MemoryVault::new());
    assert_eq!(redacted.json, document);
    assert!(redacted.findings.is_empty());
}

#[test]
fn gives_numbers_back_as_numbers() {
    let document = r#"{"mrn": 12345678, "name": "Anna Kowalska", "n": [1, 2]}"#;
    let mut vault = MemoryVault::new();
    let redacted = redactor().redact_json(document, &mut vault).json;
    assert!(!redacted.contains("12345678"));
    assert_eq!(restore_json(&redacted, &vault), document);
}

#[test]
fn stands_deep_documents_and_what_is_none() {
    let deep = format!(
        "{}\"Anna Kowalska\"{}",
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    let redacted = redactor().redact_json(&deep, &mut MemoryVault::new()).json;
    assert!(!redacted.contains("Kowalska"));
    for broken in [
        "{\"a\": Kowalska}",
        "[\"Kowalska\"",
        "Kowalska",
        "{\"Kowalska\"}",
        "\"Kowalska\" x",
    ] {
        let redacted = redactor().redact_json(broken, &mut MemoryVault::new()).json;
        assert!(!redacted.contains("Kowalska"), "{broken}: {redacted}");
    }
}
