use legation_core::EntityId;

use super::{Evidence, Line, checklist};
use crate::governance::{FileText, Governance, Sources, Template};

/// 2026-06-01.
const NOW_MS: i64 = 1_780_272_000_000;

/// The business template with everything done that it asks for.
fn finished() -> Sources {
    let mut sources = Template::Business.sources();
    let text = Template::Business.file("llm_provider.json").expect("there");
    let text = text
        .replace(
            "\"enabled\": false,\n      \"endpoint\": \"\"",
            "\"enabled\": true,\n      \"endpoint\": \"https://models.example.com/openai\"",
        )
        .replace(
            "REPLACE with where the signed agreement is kept",
            "agreement 17 in the safe",
        );
    sources.llm_provider = FileText::Text(text);
    sources
}

fn evidence() -> Evidence {
    Evidence {
        now_ms: NOW_MS,
        redaction_test: Ok("tested on 2026-05-30, nothing missed".to_owned()),
        audit: Ok("state.db".to_owned()),
    }
}

fn lines(sources: &Sources, evidence: &Evidence) -> Vec<Line> {
    let (governance, _) = Governance::load(sources, &[]);
    checklist(&governance, evidence)
}

/// The demands that are open.
fn open(sources: &Sources, evidence: &Evidence) -> Vec<&'static str> {
    let lines = lines(sources, evidence);
    lines
        .iter()
        .filter(|line| line.open)
        .map(|line| line.demand)
        .collect()
}

fn swap(text: &mut FileText, from: &str, to: &str) {
    let FileText::Text(text) = text else {
        panic!("a text");
    };
    assert!(text.contains(from), "{from}");
    *text = text.replacen(from, to, 1);
}

#[test]
fn everything_done_closes_every_line() {
    let lines = lines(&finished(), &evidence());
    assert_eq!(lines.len(), 9);
    for line in &lines {
        assert!(!line.open, "{line:?}");
        assert!(!line.evidence.is_empty() && line.entity == EntityId::new("meadow"));
    }
    let agreement = &lines[1].evidence;
    assert!(
        agreement.contains("agreement 17") && agreement.contains("2027-12-31"),
        "{agreement}"
    );
}

#[test]
fn each_line_is_opened_by_what_it_is_about_alone() {
    const SET_UP: &str = "A provider is set up for it";
    const AGREED: &str = "A business associate agreement is in force";
    const CLEARED: &str = "The provider is cleared in llm_provider.json";
    const NAMED: &str = "The entity's override names that provider";
    const TESTED: &str = "Redaction was tested with its own people";
    const RECORDED: &str = "Every model call is recorded with provider and entity";
    const WEBHOOK: &str = "None of it is in what the Copilot webhook sends";
    const BANNED: &str = "A ban stops unredacted health information";
    let with = |edit: fn(&mut Sources)| {
        let mut sources = finished();
        edit(&mut sources);
        open(&sources, &evidence())
    };
    assert_eq!(
        with(|sources| swap(
            &mut sources.llm_provider,
            "https://models.example.com/openai",
            ""
        )),
        [SET_UP]
    );
    assert_eq!(
        with(|sources| swap(&mut sources.llm_provider, "agreement 17", "REPLACE")),
        [AGREED, CLEARED]
    );
    assert_eq!(
        with(|sources| swap(
            &mut sources.llm_provider,
            "\"hipaa_cleared\": true",
            "\"hipaa_cleared\": false"
        )),
        [CLEARED]
    );
    assert_eq!(
        with(|sources| swap(
            &mut sources.llm_provider,
            "\"required_hipaa_cleared\": true,",
            ""
        )),
        [NAMED]
    );
    assert_eq!(
        with(|sources| swap(
            &mut sources.operator_profile,
            "[\"harbor\", \"quarry\"]\n  }",
            "[\"meadow\"]\n  }"
        )),
        [WEBHOOK]
    );
    assert_eq!(
        with(|sources| swap(
            &mut sources.hard_bans,
            "\"facts\": [\"unredacted_phi\"]",
            "\"facts\": [\"unredacted_phi\", \"external_recipient\"]"
        )),
        [BANNED]
    );
    assert_eq!(with(|sources| sources.rosters.clear()), [TESTED]);
    let untested = Evidence {
        redaction_test: Err("never tested".to_owned()),
        ..evidence()
    };
    assert_eq!(open(&finished(), &untested), [TESTED]);
    let unrecorded = Evidence {
        audit: Err("no ledger".to_owned()),
        ..evidence()
    };
    assert_eq!(open(&finished(), &unrecorded), [RECORDED]);
    let later = Evidence {
        now_ms: NOW_MS + 700 * 86_400_000,
        ..evidence()
    };
    assert_eq!(open(&finished(), &later), [AGREED, CLEARED]);
}

#[test]
fn the_template_as_it_comes_is_not_done() {
    let demands = open(&Template::Business.sources(), &evidence());
    assert_eq!(demands.len(), 3, "{demands:?}");
    // Nobody with health information, nothing to demand.
    assert_eq!(lines(&Template::Personal.sources(), &evidence()), []);
    // Files that cannot be read demand to be repaired.
    assert_eq!(open(&Sources::nothing(), &evidence()).len(), 1);
}
