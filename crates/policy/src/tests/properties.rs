//! What holds for every rule and every argument.

use proptest::prelude::*;

use super::{Probe, known, personal_with, rules, target};
use crate::governance::Template;
use crate::{Decision, Policy, Verb};

/// From the strictest.
fn rank(decision: &Decision) -> u8 {
    match decision {
        Decision::Denied(_) => 0,
        Decision::Ask(_) => 1,
        Decision::Permitted(_) => 2,
    }
}

fn decide(lines: &[String], arguments: &str) -> u8 {
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let policy = personal_with(&rules(&lines), &known(&["files/read", "files/write"]));
    let mut probe = Probe::new(&policy, "claude");
    probe.arguments = arguments;
    rank(&probe.ask(target("files", Verb::CallTool, "read")))
}

fn line() -> impl Strategy<Value = String> {
    let effect = prop_oneof![Just("deny"), Just("ask"), Just("allow"), Just("reads")];
    let item = prop_oneof![Just("*"), Just("read"), Just("write"), Just("re*")];
    let clause = prop_oneof![
        Just(""),
        Just("where /path prefix /etc"),
        Just("where /n <= 5"),
        Just("client claude"),
        Just("client other"),
        Just("entity personal"),
    ];
    (effect, item, clause)
        .prop_map(|(effect, item, clause)| format!("{effect} files/{item} {clause}"))
}

fn json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<f64>().prop_map(Into::into),
        ".{0,12}".prop_map(Into::into),
        Just("/etc/../x@meadow.example.com".into()),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        let key = prop_oneof![
            Just("path".to_owned()),
            Just("n".to_owned()),
            Just("profile_id".to_owned()),
            Just("to".to_owned()),
            Just("amount".to_owned()),
            ".{0,6}",
        ];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Into::into),
            prop::collection::vec((key, inner), 0..5)
                .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn a_further_deny_never_permits_more_and_an_ask_only_asks(
        lines in prop::collection::vec(line(), 0..5),
        more in line(),
        arguments in json(),
    ) {
        let text = serde_json::json!({ "path": arguments, "n": 3 }).to_string();
        let before = decide(&lines, &text);
        let mut with = lines.clone();
        with.push(more.clone());
        let after = decide(&with, &text);
        // What nothing allowed, an ask makes a question, and nothing more.
        let most = match more.split_once(' ').map(|(effect, _)| effect) {
            Some("deny" | "reads") => before,
            Some("ask") => before.max(1),
            _ => 2,
        };
        prop_assert!(after <= most, "{lines:?} and {more}: {before} then {after}");
    }

    #[test]
    fn order_never_matters(lines in prop::collection::vec(line(), 0..6), arguments in json()) {
        let text = serde_json::json!({ "path": arguments }).to_string();
        let mut reversed = lines.clone();
        reversed.reverse();
        prop_assert_eq!(decide(&lines, &text), decide(&reversed, &text));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn no_arguments_make_it_panic(arguments in json(), text in ".{0,60}") {
        thread_local! {
            static POLICY: Policy = Policy::load(&Template::Business.sources(), &[]);
        }
        POLICY.with(|policy| {
            for arguments in [arguments.to_string(), text.clone()] {
                let mut probe = Probe::new(policy, "claude");
                probe.arguments = &arguments;
                let _rank = rank(&probe.ask(super::native("desk", "draft_email", true)));
            }
        });
    }

    #[test]
    fn no_line_makes_the_reader_panic(line in ".{0,80}", tail in ".{0,30}") {
        for line in [line, format!("allow files/read {tail}"), format!("deny files/* where /a {tail}")] {
            let rule = toml::Value::String(line).to_string();
            let text = format!("version = 2\n[[rule]]\nid = \"a\"\nrule = {rule}\n");
            let nobody = legation_core::EntityLabels::none();
            let owners = crate::condition::Owners { profile: None, call: &nobody };
            if let Ok(rules) = crate::permissions::read(&text, None, owners) {
                prop_assert_eq!(rules.len(), 1);
            }
        }
    }
}
