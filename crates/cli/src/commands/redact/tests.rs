//! What goes through a pipe, and back.

use std::path::Path;
use std::sync::Arc;

use legation_core::clock::ManualClock;
use legation_core::{EntityId, SharedClock, Wall};
use legation_keystore::Keystore;
use legation_redact::{MemoryVault, Redactor, RedactorSpec};
use tempfile::TempDir;

use super::vault::{VaultFile, VaultFileError};
use super::{Restoring, Work};

fn piped(text: &str, json: bool, max_risk: Option<f32>) -> (Result<(), crate::CliError>, String) {
    let mut work = Work {
        redactor: Redactor::build(&RedactorSpec::default()).unwrap(),
        vault: MemoryVault::new(),
        kept: None,
        clock: clock(),
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

const DAY_MS: i64 = 24 * 60 * 60 * 1000;
const NOTE: &str = "Seen by Dr. Vandermolen, MRN 12345678.\n\nCall Okonkwo at 555-867-5309.\n";

fn clock() -> SharedClock {
    Arc::new(ManualClock::at(Wall(0)))
}

/// Redacts into a vault's file, as a run of the command does.
fn redacted(text: &str, path: &Path, keys: &Keystore, entity: Option<&EntityId>) -> String {
    let (kept, vault) = VaultFile::to_add(path, keys, entity, 0).unwrap();
    let mut work = Work {
        redactor: Redactor::build(&RedactorSpec::default()).unwrap(),
        vault,
        kept: Some(kept),
        clock: clock(),
        json: false,
        max_risk: None,
    };
    let mut out = Vec::new();
    work.stream(&mut text.as_bytes(), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn restored(
    text: &str,
    path: &Path,
    keys: &Keystore,
    entity: Option<&EntityId>,
    now_ms: i64,
) -> Result<String, VaultFileError> {
    let vault = VaultFile::to_restore(path, keys, entity, now_ms)?;
    let mut out = Vec::new();
    let mut work = Restoring { vault };
    work.stream(&mut text.as_bytes(), &mut out).unwrap();
    Ok(String::from_utf8(out).unwrap())
}

fn home() -> (TempDir, Keystore) {
    let home = TempDir::new().unwrap();
    let keys = Keystore::open(&home.path().join("keys")).unwrap();
    (home, keys)
}

#[test]
fn comes_back_with_the_vaults_file() {
    let (home, keys) = home();
    let path = home.path().join("note.vault");
    let out = redacted(NOTE, &path, &keys, None);
    assert!(
        !out.contains("Okonkwo") && !out.contains("12345678"),
        "{out}"
    );
    let kept = std::fs::read_to_string(&path).unwrap();
    assert!(
        !kept.contains("Okonkwo") && !kept.contains("name"),
        "{kept}"
    );
    assert_eq!(restored(&out, &path, &keys, None, DAY_MS).unwrap(), NOTE);
}

#[test]
fn goes_on_with_a_file_that_is_there() {
    let (home, keys) = home();
    let path = home.path().join("note.vault");
    let first = redacted(NOTE, &path, &keys, None);
    let second = redacted(
        "Dr. Vandermolen and Dr. Quillfeather agree.\n",
        &path,
        &keys,
        None,
    );
    let token = |text: &str| text[text.find('⟦').unwrap()..=text.find('⟧').unwrap() + 2].to_owned();
    assert_eq!(
        token(&first),
        token(&second),
        "the same value has the same token"
    );
    let both = restored(&format!("{first}{second}"), &path, &keys, None, 0).unwrap();
    assert!(
        both.contains("Quillfeather") && both.contains("Okonkwo"),
        "{both}"
    );
}

#[test]
fn gives_numbers_of_a_document_back_as_numbers() {
    let (home, keys) = home();
    let path = home.path().join("note.vault");
    let document = "{\"mrn\": 12345678,\n\n\"patient\": \"Ada Okonkwo\"}";
    let out = redacted(document, &path, &keys, None);
    assert!(!out.contains("12345678"), "{out}");
    assert_eq!(restored(&out, &path, &keys, None, 0).unwrap(), document);
}

#[test]
fn leaves_tokens_of_others_as_they_are() {
    let (home, keys) = home();
    let (one, other) = (home.path().join("one"), home.path().join("other"));
    let out = redacted(NOTE, &one, &keys, None);
    drop(redacted("Dr. Quillfeather agrees.\n", &other, &keys, None));
    assert_eq!(restored(&out, &other, &keys, None, 0).unwrap(), out);
}

#[test]
fn forgets_after_thirty_days() {
    let (home, keys) = home();
    let path = home.path().join("note.vault");
    let out = redacted(NOTE, &path, &keys, None);
    assert_eq!(
        restored(&out, &path, &keys, None, 29 * DAY_MS).unwrap(),
        NOTE
    );
    assert_eq!(
        restored(&out, &path, &keys, None, 30 * DAY_MS).unwrap(),
        out
    );
}

#[test]
fn opens_for_its_own_entity_only() {
    let (home, keys) = home();
    let path = home.path().join("note.vault");
    let (clinic, shop) = (EntityId::new("clinic"), EntityId::new("shop"));
    let out = redacted(NOTE, &path, &keys, Some(&clinic));
    keys.key("vault.shop").unwrap();
    keys.key("vault-file").unwrap();
    for entity in [Some(&shop), None] {
        let error = restored(&out, &path, &keys, entity, 0).unwrap_err();
        assert!(
            matches!(error, VaultFileError::Sealed { line: 1, .. }),
            "{error}"
        );
        assert!(!error.hint().is_empty());
    }
    assert!(restored(&out, &path, &keys, Some(&clinic), 0).is_ok());
    // With the key destroyed, nothing comes back.
    keys.destroy("vault.clinic").unwrap();
    let error = restored(&out, &path, &keys, Some(&clinic), 0).unwrap_err();
    assert!(matches!(error, VaultFileError::NoKey { .. }), "{error}");
}

#[test]
fn opens_no_line_that_was_changed_or_moved() {
    let (home, keys) = home();
    let path = home.path().join("note.vault");
    let out = redacted(NOTE, &path, &keys, None);
    let kept = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = kept.lines().collect();
    assert_eq!(lines.len(), 3, "a head and a line for each block");
    let flipped = {
        let digit = if lines[1].ends_with('0') { "1" } else { "0" };
        format!("{}{digit}", &lines[1][..lines[1].len() - 1])
    };
    for changed in [
        format!("{}\n{flipped}\n{}\n", lines[0], lines[2]),
        format!("{}\n{}\n{}\n", lines[0], lines[2], lines[1]),
        format!("{}\n{}\n", lines[0], lines[2]),
        format!("{}\nzz\n", lines[0]),
    ] {
        std::fs::write(&path, changed).unwrap();
        let error = restored(&out, &path, &keys, None, 0).unwrap_err();
        assert!(
            matches!(error, VaultFileError::Sealed { line: 1, .. }),
            "{error}"
        );
    }
    std::fs::write(&path, "something else\n").unwrap();
    let error = restored(&out, &path, &keys, None, 0).unwrap_err();
    assert!(matches!(error, VaultFileError::NoVault { .. }), "{error}");
}

#[test]
fn drops_a_line_that_was_not_finished() {
    let (home, keys) = home();
    let path = home.path().join("note.vault");
    let out = redacted(NOTE, &path, &keys, None);
    let mut kept = std::fs::read_to_string(&path).unwrap();
    kept.push_str("00ff");
    std::fs::write(&path, &kept).unwrap();
    let more = redacted("Dr. Quillfeather agrees.\n", &path, &keys, None);
    let both = restored(&format!("{out}{more}"), &path, &keys, None, 0).unwrap();
    assert!(
        both.starts_with(NOTE) && both.contains("Quillfeather"),
        "{both}"
    );
}

#[test]
fn needs_the_file_and_the_lock() {
    let (home, keys) = home();
    let path = home.path().join("note.vault");
    let error = restored(NOTE, &path, &keys, None, 0).unwrap_err();
    assert!(matches!(error, VaultFileError::Io { .. }), "{error}");
    let (held, _) = VaultFile::to_add(&path, &keys, None, 0).unwrap();
    let error = restored(NOTE, &path, &keys, None, 0).unwrap_err();
    assert!(matches!(error, VaultFileError::Locked { .. }), "{error}");
    drop(held);
    assert_eq!(restored(NOTE, &path, &keys, None, 0).unwrap(), NOTE);
}
