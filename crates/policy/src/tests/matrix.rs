use std::fmt::Write as _;

use expect_test::{ExpectFile, expect_file};

use crate::{DefinitionHash, Origin, Rules, Target, Verb};

use super::{principal, target};

const MIXED: &str = r#"
version = 1

[[rule]]
id = "everyone.reads"
effect = "allow"
servers = ["files", "git*"]
items = ["read_*", "file:///*", "log"]

[[rule]]
id = "codex.writes"
effect = "allow"
servers = ["files"]
items = ["*"]
clients = ["codex"]

[[rule]]
id = "no.secrets"
effect = "deny"
servers = ["*"]
items = ["*secret*"]
because = "secrets stay where they are"

[[rule]]
id = "git.reads"
effect = "reads"
servers = ["git*"]
items = ["*"]
verbs = ["tools/call"]
read_only_hint = true
trusted = true

[[rule]]
id = "tasks"
effect = "allow"
servers = ["*"]
items = ["*"]
verbs = ["tasks/cancel"]
"#;

/// Every actor × resource × action as one line, and the list view beside the
/// decision: they may never differ.
fn matrix(rules: &Rules, actors: &[&str], resources: &[Target]) -> String {
    let mut text = String::new();
    for actor in actors {
        for resource in resources {
            for verb in Verb::ALL {
                let asked = Target {
                    verb,
                    ..resource.clone()
                };
                let listed = rules.may_ever(&principal(actor), &asked.question());
                let line = format!(
                    "{actor} {verb} {}/{}{}{}",
                    asked.server,
                    asked.item,
                    if asked.read_only_hint { " hinted" } else { "" },
                    if asked.trusted { "" } else { " untrusted" },
                );
                let decided = rules.decide(&principal(actor), asked);
                assert_eq!(listed, decided.is_ok(), "{line}");
                match decided {
                    Ok(permitted) => {
                        assert_eq!(permitted.policy_version(), rules.version());
                        assert_eq!(permitted.principal().client.as_str(), *actor);
                        assert_eq!(permitted.target().verb, verb);
                        let reads = if permitted.reads_only() { " reads" } else { "" };
                        writeln!(text, "{line}: allow {}{reads}", permitted.rule())
                    }
                    Err(denied) => writeln!(text, "{line}: deny {}", denied.rule),
                }
                .expect("strings take all text");
            }
        }
    }
    text
}

fn check(rules: &Rules, actors: &[&str], resources: &[Target], expected: &ExpectFile) {
    expected.assert_eq(&matrix(rules, actors, resources));
}

#[test]
fn golden_matrix_of_a_mixed_file() {
    let rules = Rules::parse(MIXED, "permissions.toml").expect("valid");
    let hinted = |mut target: Target| {
        target.read_only_hint = true;
        target
    };
    let untrusted = |mut target: Target| {
        target.trusted = false;
        target
    };
    let call = |server, item| target(server, Verb::CallTool, item);
    check(
        &rules,
        &["claude", "codex"],
        &[
            call("files", "read_file"),
            call("files", "write_file"),
            call("files", "read_secret"),
            hinted(call("github", "log")),
            untrusted(hinted(call("github", "log"))),
            call("mail", "read_mail"),
        ],
        &expect_file!["golden/mixed.txt"],
    );
}

#[test]
fn golden_matrix_of_the_personal_template() {
    let rules = Rules::parse(Rules::personal_template(), "permissions.toml").expect("valid");
    assert_eq!(rules.len(), 4);
    let resources: Vec<Target> = [
        Origin::User,
        Origin::Workspace("/project".into()),
        Origin::Additional,
        Origin::Builtin,
    ]
    .into_iter()
    .flat_map(|origin| {
        [(true, true), (true, false), (false, true)].map(|(trusted, read_only_hint)| Target {
            trusted,
            read_only_hint,
            origin: origin.clone(),
            ..target(origin.as_str(), Verb::CallTool, "tool")
        })
    })
    .collect();
    check(
        &rules,
        &["claude"],
        &resources,
        &expect_file!["golden/personal.txt"],
    );
}

#[test]
fn no_rules_deny_everything() {
    let empty = Rules::parse("version = 1", "permissions.toml").expect("valid");
    assert!(empty.is_empty());
    let unavailable = Rules::unavailable("the file is gone");
    assert_eq!(unavailable.unavailable_reason(), Some("the file is gone"));
    for (rules, id) in [
        (empty, "default.deny"),
        (unavailable, "governance.unavailable"),
    ] {
        let text = matrix(&rules, &["claude"], &[target("files", Verb::CallTool, "a")]);
        assert_eq!(text.lines().count(), Verb::ALL.len());
        assert!(
            text.lines()
                .all(|line| line.ends_with(&format!("deny {id}"))),
            "{text}"
        );
    }
}

#[test]
fn deny_wins_wherever_it_stands() {
    let allow = "[[rule]]\nid=\"a\"\neffect=\"allow\"\nservers=[\"*\"]\nitems=[\"*\"]\n";
    let deny = "[[rule]]\nid=\"d\"\neffect=\"deny\"\nservers=[\"f*\"]\nitems=[\"*\"]\n";
    for text in [format!("{allow}{deny}"), format!("{deny}{allow}")] {
        let rules = Rules::parse(&format!("version=1\n{text}"), "x").expect("valid");
        let denied = rules
            .decide(&principal("c"), target("files", Verb::CallTool, "t"))
            .expect_err("denied");
        assert_eq!(denied.rule.as_str(), "d");
        let permitted = rules
            .decide(&principal("c"), target("mail", Verb::CallTool, "t"))
            .expect("allowed");
        assert_eq!(permitted.rule().as_str(), "a");
    }
}

#[test]
fn explaining_names_every_rule_that_spoke() {
    let rules = Rules::parse(MIXED, "permissions.toml").expect("valid");
    let asked = target("files", Verb::TaskCancel, "read_secret");
    let spoken: Vec<String> = rules
        .explain(&principal("codex"), &asked.question())
        .into_iter()
        .map(|matched| format!("{} {}", matched.effect.as_str(), matched.rule))
        .collect();
    assert_eq!(
        spoken,
        [
            "allow everyone.reads",
            "allow codex.writes",
            "deny no.secrets",
            "allow tasks"
        ]
    );
}

#[test]
fn a_definition_hash_prints_as_hex() {
    let mut bytes = [0; 32];
    bytes[0] = 0xab;
    bytes[31] = 0x01;
    let hash = DefinitionHash(bytes);
    assert_eq!(hash.to_string(), format!("ab{}01", "00".repeat(30)));
}
