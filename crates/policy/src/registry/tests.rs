//! The lists are whole, and nothing is on them twice.

use std::collections::BTreeSet;

use super::{EventName, Producer, ReasonCode};

fn check(codes: &[&'static str]) {
    let distinct: BTreeSet<&str> = codes.iter().copied().collect();
    assert_eq!(distinct.len(), codes.len(), "each code is there once");
    for code in codes {
        let is_code = |byte: u8| byte.is_ascii_uppercase() || byte == b'_';
        assert!(code.len() <= 64 && code.bytes().all(is_code), "{code}");
        assert!(
            !code.starts_with('_') && !code.ends_with('_') && !code.contains("__"),
            "{code}"
        );
    }
}

#[test]
fn every_code_is_written_once_and_read_back() {
    let reasons: Vec<&str> = ReasonCode::ALL.iter().map(|code| code.as_str()).collect();
    check(&reasons);
    for code in ReasonCode::ALL {
        assert_eq!(ReasonCode::parse(code.as_str()), Some(*code));
    }
    let events: Vec<&str> = EventName::ALL.iter().map(|name| name.as_str()).collect();
    check(&events);
    for name in EventName::ALL {
        assert_eq!(EventName::parse(name.as_str()), Some(*name));
    }
    assert_eq!(ReasonCode::parse("unknown_provider"), None);
    assert_eq!(EventName::parse(""), None);
}

/// The codes that programs for earlier hubs of this kind know.
#[test]
fn the_codes_that_are_known_elsewhere_are_here() {
    for code in [
        "MISSING_OR_INVALID_AUTH",
        "NOT_AUTHENTICATED",
        "OPERATOR_APPROVAL_REQUIRED",
        "HARD_BAN_VIOLATION",
        "MISSING_ENTITY_OR_PROVENANCE",
        "CROSS_ENTITY_BLOCK",
        "LLM_PROVIDER_UNAVAILABLE",
        "COPILOT_TOKEN_MISSING",
        "UNKNOWN_PROVIDER",
    ] {
        assert!(ReasonCode::parse(code).is_some(), "{code}");
    }
    for name in [
        "LLM_PROVIDER_SELECTED",
        "LLM_PROVIDER_BLOCKED",
        "LLM_PROVIDER_CHANGED",
        "LLM_PROVIDER_UNAVAILABLE",
        "MCP_TOOL_CALL",
        "COPILOT_WEBHOOK_REQUEST",
        "COPILOT_TOKEN_MISSING",
        "UNKNOWN_PROVIDER",
    ] {
        assert!(EventName::parse(name).is_some(), "{name}");
    }
}

#[test]
fn every_event_says_what_came_of_it_and_when() {
    for name in EventName::ALL {
        let fields: Vec<&str> = name.fields().iter().map(|field| field.as_str()).collect();
        let distinct: BTreeSet<&&str> = fields.iter().collect();
        assert_eq!(distinct.len(), fields.len(), "{name}");
        for always in ["governance_result", "timestamp", "entity_context"] {
            assert!(fields.contains(&always), "{name} has no {always}");
        }
    }
    let of = |name: EventName| {
        name.fields()
            .iter()
            .map(|field| field.as_str())
            .collect::<Vec<_>>()
    };
    assert!(of(EventName::McpToolCall).contains(&"execution_time_ms"));
    assert!(of(EventName::McpToolCall).contains(&"provider_used"));
    assert!(of(EventName::CopilotWebhookRequest).contains(&"user_github_login"));
}

/// Every code is given by something, or says why nothing gives it yet: a reason
/// that stands in the sources of no crate is one that nobody will ever see.
#[test]
fn every_reason_is_given_somewhere_or_says_why_not() {
    let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut sources = String::new();
    for part in ["policy", "gate", "front", "legation", "models"] {
        read(&crates.join(part).join("src"), &mut sources);
    }
    for reason in ReasonCode::ALL {
        let given = sources.contains(&format!("ReasonCode::{reason:?}"));
        match reason.is_for_later() {
            None => assert!(given, "{reason} is given by nothing"),
            Some(why) => assert!(!given && !why.is_empty(), "{reason} is given"),
        }
    }
    for event in EventName::ALL {
        let given = sources.contains(&format!("EventName::{event:?}"));
        match event.producer() {
            Producer::Later(why) => assert!(!given && !why.is_empty(), "{event} is recorded"),
            Producer::Gate | Producer::Hub | Producer::Decision => {
                assert!(given, "{event} is recorded by nothing");
            }
        }
    }
}

/// All sources below a folder but the registry's and tests.
fn read(folder: &std::path::Path, sources: &mut String) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        if name.starts_with("tests") || name.starts_with("registry") || name == "hipaa.rs" {
            continue;
        }
        if path.is_dir() {
            read(&path, sources);
        } else if name.ends_with(".rs") {
            sources.push_str(&std::fs::read_to_string(&path).expect("a source"));
        }
    }
}
