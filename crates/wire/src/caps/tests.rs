use super::{ClientCapabilities, ServerCapabilities};
use crate::json::{Limits, Raw};
use crate::revision::Revision;

fn raw(text: &str) -> Raw {
    Raw::parse(text.to_owned().into(), &Limits::CLIENT).expect("JSON")
}

fn revision(text: &str) -> Revision {
    Revision::parse(text).expect("a revision")
}

/// A client's declaration under one revision, as it reads for servers of others.
fn check_client(declared: &str, under: &str, expected: &[(&str, &str)]) {
    let caps = ClientCapabilities::from_raw(&raw(declared), revision(under));
    for (target, text) in expected {
        assert_eq!(
            caps.to_raw(revision(target)).as_text(),
            *text,
            "{declared} of {under} for {target}"
        );
    }
}

#[test]
fn client_declarations_are_translated() {
    check_client(
        r#"{"roots":{"listChanged":true},"elicitation":{},"vendor":{"x":1}}"#,
        "2025-06-18",
        &[
            (
                "2024-11-05",
                r#"{"roots":{"listChanged":true},"vendor":{"x":1}}"#,
            ),
            (
                "2025-06-18",
                r#"{"roots":{"listChanged":true},"elicitation":{},"vendor":{"x":1}}"#,
            ),
            (
                "2025-11-25",
                r#"{"roots":{"listChanged":true},"elicitation":{},"vendor":{"x":1}}"#,
            ),
            (
                "2026-07-28",
                r#"{"roots":{},"elicitation":{},"vendor":{"x":1}}"#,
            ),
        ],
    );
    let modern = r#"{"sampling":{"tools":{}},"elicitation":{"form":{},"url":{}},"extensions":{"io.modelcontextprotocol/tasks":{},"x/y":{"a":1}}}"#;
    check_client(
        modern,
        "2026-07-28",
        &[
            ("2026-07-28", modern),
            (
                "2025-11-25",
                r#"{"sampling":{"tools":{}},"elicitation":{"form":{},"url":{}},"extensions":{"x/y":{"a":1}}}"#,
            ),
            (
                "2025-06-18",
                r#"{"sampling":{"tools":{}},"elicitation":{},"extensions":{"x/y":{"a":1}}}"#,
            ),
            (
                "2025-03-26",
                r#"{"sampling":{"tools":{}},"extensions":{"x/y":{"a":1}}}"#,
            ),
        ],
    );
    check_client(
        r#"{"elicitation":{"url":{}},"tasks":{"list":{}}}"#,
        "2025-11-25",
        &[
            (
                "2025-11-25",
                r#"{"elicitation":{"url":{}},"tasks":{"list":{}}}"#,
            ),
            ("2025-06-18", "{}"),
            ("2026-07-28", r#"{"elicitation":{"url":{}}}"#),
        ],
    );
    check_client("[]", "2025-11-25", &[("2026-07-28", "{}")]);
}

#[test]
fn client_flags_decide_what_may_be_asked() {
    let caps = ClientCapabilities::from_raw(
        &raw(r#"{"elicitation":{},"roots":{}}"#),
        Revision::V2025_11_25,
    );
    let asked = [
        ("roots/list", false),
        ("elicitation/create", false),
        ("elicitation/create", true),
        ("ping", false),
    ];
    assert_eq!(
        asked.map(|(method, url)| caps.allows(method, url)),
        [true, true, false, false]
    );
    assert!(!caps.answers_nothing());
    assert!(ClientCapabilities::default().answers_nothing());
    let changed = ClientCapabilities {
        roots: false,
        elicitation_url: true,
        tasks_ext: true,
        ..caps
    };
    assert_eq!(
        changed.to_raw(Revision::V2026_07_28).as_text(),
        r#"{"elicitation":{"form":{},"url":{}},"extensions":{"io.modelcontextprotocol/tasks":{}}}"#
    );
}

#[test]
fn server_declarations_are_translated() {
    let declared = r#"{"tools":{"listChanged":true,"vendor":1},"prompts":{},"tasks":{"requests":{"tools":{"call":{}}}},"experimental":{"claude/channel":{}}}"#;
    let caps = ServerCapabilities::from_raw(&raw(declared), Revision::V2025_11_25);
    assert!(
        caps.tools_list_changed && caps.legacy_tool_tasks() && !caps.completions && !caps.resources
    );
    assert_eq!(caps.to_raw(Revision::V2025_11_25), raw(declared));
    let for_modern = r#"{"tools":{"listChanged":true,"vendor":1},"prompts":{},"experimental":{"claude/channel":{}}}"#;
    assert_eq!(caps.to_raw(Revision::V2026_07_28), raw(for_modern));

    let oldest = ServerCapabilities::from_raw(&raw(r#"{"prompts":{}}"#), Revision::V2024_11_05);
    assert_eq!(
        oldest.to_raw(Revision::V2025_06_18),
        raw(r#"{"prompts":{},"completions":{}}"#)
    );
    assert_eq!(
        oldest.to_raw(Revision::V2024_11_05),
        raw(r#"{"prompts":{}}"#)
    );

    let own = ServerCapabilities {
        tools: true,
        tools_list_changed: true,
        resources: true,
        resources_subscribe: true,
        logging: true,
        tasks_ext: true,
        ..ServerCapabilities::default()
    };
    assert_eq!(
        own.to_raw(Revision::V2026_07_28),
        raw(
            r#"{"logging":{},"resources":{"subscribe":true},"tools":{"listChanged":true},"extensions":{"io.modelcontextprotocol/tasks":{}}}"#
        )
    );
}

#[test]
fn skills_are_declared_where_there_are_resources() {
    let skills = |text: &str, under: &str| {
        let caps = ServerCapabilities::from_raw(&raw(text), revision(under));
        (caps.skills, caps.skill_directories)
    };
    let declared = r#"{"resources":{},"extensions":{"io.modelcontextprotocol/skills":{"directoryRead":true,"x":1},"a/b":{}}}"#;
    assert_eq!(skills(declared, "2026-07-28"), (true, true));
    assert_eq!(skills(declared, "2025-11-25"), (true, true));
    assert_eq!(skills(declared, "2025-06-18"), (false, false));
    let without = declared.replace(r#""resources":{},"#, "");
    assert_eq!(skills(&without, "2026-07-28"), (false, false));
    let odd = r#"{"resources":{},"extensions":{"io.modelcontextprotocol/skills":true}}"#;
    assert_eq!(skills(odd, "2026-07-28"), (true, false));
    let mut caps = ServerCapabilities::from_raw(&raw(declared), revision("2026-07-28"));
    assert_eq!(caps.to_raw(revision("2025-11-25")).as_text(), declared);
    assert_eq!(
        caps.to_raw(revision("2025-06-18")).as_text(),
        r#"{"resources":{},"extensions":{"a/b":{}}}"#
    );
    caps.skill_directories = false;
    assert_eq!(
        caps.to_raw(revision("2026-07-28")).as_text(),
        r#"{"resources":{},"extensions":{"io.modelcontextprotocol/skills":{"x":1},"a/b":{}}}"#
    );
    let none = ServerCapabilities::default().to_raw(revision("2026-07-28"));
    assert_eq!(none.as_text(), "{}");
}
