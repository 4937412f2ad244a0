//! What goes through a pipe.

use legation_redact::{MemoryVault, Redactor, RedactorSpec};

use super::Work;

fn piped(text: &str, json: bool, max_risk: Option<f32>) -> (Result<(), crate::CliError>, String) {
    let mut work = Work {
        redactor: Redactor::build(&RedactorSpec::default()).unwrap(),
        vault: MemoryVault::new(),
        json,
        max_risk,
    };
    let mut out = Vec::new();
    let result = work.stream(&mut text.as_bytes(), &mut out);
    (result, String::from_utf8(out).unwrap())
}

#[test]
fn keeps_lines_and_takes_names_out() {
    let (result, out) = piped("Seen by Dr. Vandermolen.\n\nPain is better.\n", false, None);
    assert!(result.is_ok());
    assert!(
        out.starts_with("Seen by Dr. ⟦P:name:") && out.ends_with("⟧.\n\nPain is better.\n"),
        "{out}"
    );
}

#[test]
fn prints_findings_without_values() {
    let (result, out) = piped("MRN 12345678", true, None);
    assert!(result.is_ok());
    assert!(
        out.contains("\"class\":\"mrn\"") && !out.contains("12345678"),
        "{out}"
    );
}

#[test]
fn reads_a_document_as_one() {
    let (result, out) = piped("{\n\n\"mrn\": 12345678}\n", false, None);
    assert!(result.is_ok());
    let document: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert!(document["mrn"].is_string(), "{out}");
}

#[test]
fn refuses_what_is_too_risky() {
    let (result, out) = piped("anything", false, Some(-1.0));
    assert_eq!(result.unwrap_err().exit, crate::Exit::Refused);
    assert!(out.is_empty());
}
