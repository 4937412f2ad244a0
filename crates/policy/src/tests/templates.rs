//! What the shipped templates decide.

use super::{Probe, native, target};
use crate::governance::{FileText, Sources, Template};
use crate::{PinState, Policy, Target, Verb};

#[test]
fn both_templates_load_without_a_problem() {
    for template in Template::ALL {
        let policy = Policy::load(&template.sources(), &[]);
        assert_eq!(policy.problems(), [], "{template}");
    }
}

#[test]
fn the_personal_template_runs_what_the_owner_configured() {
    let policy = Policy::load(&Template::Personal.sources(), &[]);
    let call = || target("files", Verb::CallTool, "write");
    for (asked, expected) in [
        (call(), "execute own.servers @personal"),
        (
            Target {
                read_only_hint: true,
                ..call()
            },
            "execute own.servers @personal reads",
        ),
        (
            Target {
                trusted: false,
                ..call()
            },
            "deny default.deny SERVER_NOT_TRUSTED",
        ),
        (
            Target {
                trusted: false,
                pin: PinState::New,
                ..call()
            },
            "deny default.deny SERVER_NOT_TRUSTED",
        ),
        (
            Target {
                pin: PinState::New,
                ..call()
            },
            "ask first_sight pin.new @personal",
        ),
        (
            Target {
                pin: PinState::Changed,
                ..call()
            },
            "deny pin.changed DEFINITION_CHANGED",
        ),
        (
            Target {
                pin: PinState::Quarantined,
                ..call()
            },
            "deny pin.quarantined DEFINITION_QUARANTINED",
        ),
    ] {
        assert_eq!(Probe::new(&policy, "claude").words(asked), expected);
    }
}

/// A message inside its entity.
const MAIL: &str =
    r#"{"profile_id":"harbor","to":["jordan@harbor.example.com"],"subject":"a","body_html":"b"}"#;

/// The same to somebody of another entity.
const FOREIGN: &str =
    r#"{"profile_id":"harbor","to":["intake@meadow.example.com"],"subject":"a","body_html":"b"}"#;

/// Client, tool, arguments, whose data the conversation holds, and the answer.
type Case = (
    &'static str,
    &'static str,
    &'static str,
    &'static [&'static str],
    &'static str,
);

const BUSINESS: &[Case] = &[
    (
        "claude",
        "desk/draft_email",
        MAIL,
        &[],
        "draft desk.tools @harbor",
    ),
    (
        "claude",
        "desk/draft_email",
        FOREIGN,
        &[],
        "deny boundary.never-mix CROSS_ENTITY_BLOCK",
    ),
    (
        "claude",
        "desk/draft_email",
        MAIL,
        &["meadow"],
        "deny boundary.never-mix CROSS_ENTITY_BLOCK",
    ),
    (
        "claude",
        "desk/mail_list",
        r#"{"profile_id":"harbor"}"#,
        &[],
        "execute desk.tools @harbor reads",
    ),
    (
        "claude",
        "desk/mail_list",
        r#"{"profile_id":"nobody"}"#,
        &[],
        "deny boundary.unknown-entity UNKNOWN_ENTITY",
    ),
    (
        "claude",
        "desk/mail_list",
        "{\"profile_id\":\"h\u{430}rbor\"}",
        &[],
        "deny boundary.look-alike ENTITY_LOOK_ALIKE",
    ),
    (
        "claude",
        "desk/mail_list",
        "{\"profile_id\":\"\u{ff48}arbor\"}",
        &[],
        "execute desk.tools @harbor reads",
    ),
    (
        "claude",
        "desk/mail_list",
        r#"{"filter":{"deep":[{"entity":"meadow"}]},"profile_id":"harbor"}"#,
        &[],
        "deny boundary.never-mix CROSS_ENTITY_BLOCK",
    ),
    (
        "claude",
        "desk/mail_list",
        r#"{"profile_id":"all"}"#,
        &[],
        "deny boundary.never-mix CROSS_ENTITY_BLOCK",
    ),
    (
        "claude",
        "desk/mail_move",
        r#"{"profile_id":"harbor"}"#,
        &[],
        "ask certify ladder.move-and-file @harbor",
    ),
    (
        "codex",
        "desk/draft_email",
        MAIL,
        &[],
        "deny role.reader ROLE_CARD_BLOCK",
    ),
    (
        "stranger",
        "desk/mail_list",
        r#"{"profile_id":"harbor"}"#,
        &[],
        "deny clearance.client CLIENT_NOT_CLEARED",
    ),
    (
        "claude",
        "teams/send",
        "{}",
        &[],
        "ask draft ladder.speak-in-chats @all",
    ),
    (
        "claude",
        "teams/update",
        "{}",
        &[],
        "deny ladder.change-what-people-have-read LADDER_NEVER",
    ),
];

#[test]
fn the_business_template_by_layer() {
    let policy = Policy::load(&Template::Business.sources(), &[]);
    for &(client, tool, arguments, holds, expected) in BUSINESS {
        let (server, item) = tool.split_once('/').expect("a pair");
        let mut probe = Probe::new(&policy, client);
        probe.arguments = arguments;
        probe.holds = holds;
        let found = probe.words(native(server, item, item.starts_with("draft")));
        assert_eq!(found, expected, "{client} {tool} {arguments}");
    }
}

type Part = fn(&mut Sources) -> &mut FileText;

#[test]
fn a_file_that_breaks_or_disappears_denies_what_it_governs() {
    let parts: [(&str, Part); 7] = [
        ("operator_profile.json", |s| &mut s.operator_profile),
        ("role_cards.json", |s| &mut s.role_cards),
        ("hard_bans.json", |s| &mut s.hard_bans),
        ("autonomy_ladder.json", |s| &mut s.autonomy_ladder),
        ("output_contracts.json", |s| &mut s.output_contracts),
        ("policy.cedar", |s| &mut s.cedar),
        ("permissions.toml", |s| &mut s.permissions),
    ];
    for (name, part) in parts {
        for text in [
            FileText::Absent,
            FileText::Unusable("is a link".to_owned()),
            FileText::Text("{ neither this nor that".to_owned()),
        ] {
            let mut sources = Template::Personal.sources();
            *part(&mut sources) = text.clone();
            let policy = Policy::load(&sources, &[]);
            let decision = Probe::new(&policy, "claude").ask(target("files", Verb::CallTool, "a"));
            let denied = decision.permitted().expect_err("denied");
            assert_eq!(denied.rule.as_str(), "governance.unavailable", "{name}");
            assert!(
                denied.next_safe_step.contains(name),
                "{name}: {}",
                denied.next_safe_step
            );
            assert!(
                policy.problems().iter().any(|one| *one.file == *name),
                "{name}"
            );
        }
    }
    let policy = Policy::load(&super::nothing(), &[]);
    let found = Probe::new(&policy, "claude").words(target("files", Verb::CallTool, "a"));
    assert_eq!(found, "deny governance.unavailable GOVERNANCE_UNAVAILABLE");
}
