//! What holds for every text.

use legation_redact::{
    MemoryVault, Redactor, RedactorSpec, RosterEntry, restore_json, restore_text,
};
use proptest::prelude::*;

fn redactor() -> Redactor {
    let spec = RedactorSpec {
        roster: vec![RosterEntry::person("Anna Kowalska")],
        ..RedactorSpec::default()
    };
    Redactor::build(&spec).expect("nothing to refuse")
}

/// Texts of pieces that mean something to the engine, and of anything else.
fn texts() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("Anna Kowalska".to_owned()),
        Just("⟦P:name:7Q4K2M⟧".to_owned()),
        Just("219-09-9999".to_owned()),
        Just("é\u{301}\u{200b}".to_owned()),
        Just("%C3%A9&#x41;\\n".to_owned()),
        Just("QW5uYSBLb3dhbHNrYSBhbm5h".to_owned()),
        Just(" room 12, ".to_owned()),
        Just("a@b.co".to_owned()),
        Just("Rue ".to_owned()),
        Just("12 de março".to_owned()),
        "\\PC{0,12}",
        any::<String>(),
    ];
    proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn comes_back_as_it_was(text in texts()) {
        let mut vault = MemoryVault::new();
        let redacted = redactor().redact_text(&text, &mut vault);
        let mut end = 0;
        for finding in &redacted.findings {
            prop_assert!(finding.start >= end && finding.start < finding.end);
            prop_assert!(text.get(finding.start..finding.end).is_some());
            end = finding.end;
        }
        prop_assert_eq!(restore_text(&redacted.text, &vault), text);
    }

    #[test]
    fn documents_come_back_as_they_mean(texts in proptest::collection::vec(texts(), 1..5), number in any::<i64>()) {
        let document = serde_json::json!({"mrn": number, "items": texts, "n": 1.5}).to_string();
        let mut vault = MemoryVault::new();
        let redacted = redactor().redact_json(&document, &mut vault);
        let back: serde_json::Value = serde_json::from_str(&restore_json(&redacted.json, &vault)).unwrap();
        prop_assert_eq!(back, serde_json::from_str::<serde_json::Value>(&document).unwrap());
    }

    #[test]
    fn arbitrary_bytes_do_no_harm(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let text = String::from_utf8_lossy(&bytes);
        let mut vault = MemoryVault::new();
        let redacted = redactor().redact_json(&text, &mut vault);
        prop_assert!(redacted.residual_risk >= 0.0);
        drop(restore_json(&text, &vault));
    }
}
