//! Each layer's own table.

use super::{Probe, known, native, principal, rules, target};
use crate::governance::{FileText, Template};
use crate::{
    Arguments, Decision, DefinitionHash, Grant, GrantId, GrantIndex, GrantScope, KnownTool, Policy,
    Rung, Scope, Target, Verb,
};

fn with(change: impl FnOnce(&mut crate::governance::Sources)) -> Policy {
    let mut sources = Template::Personal.sources();
    change(&mut sources);
    Policy::load(&sources, &known(&["files/read", "files/write"]))
}

fn with_cedar(text: &str) -> Policy {
    with(|sources| sources.cedar = FileText::Text(text.to_owned()))
}

fn call() -> Target {
    target("files", Verb::CallTool, "write")
}

#[test]
fn cedar_decides_the_rung_and_an_error_denies() {
    for (text, expected) in [
        (
            "permit(principal, action, resource);",
            "execute own.servers @personal",
        ),
        ("", "deny cedar.default POLICY_FORBIDDEN"),
        (
            "permit(principal, action in Action::\"execute\", resource);",
            "execute own.servers @personal",
        ),
        (
            "@id(\"d\") permit(principal, action in Action::\"draft\", resource);",
            "ask draft cedar.d @personal",
        ),
        (
            "@id(\"p\") permit(principal, action in Action::\"propose\", resource);",
            "ask certify cedar.p @personal",
        ),
        // A forbidden rung is not reached through an answer.
        (
            "permit(principal, action, resource); @id(\"f\") forbid(principal, action in Action::\"execute\", resource);",
            "deny cedar.f POLICY_FORBIDDEN",
        ),
        (
            "permit(principal, action, resource); @id(\"f\") forbid(principal, action == Action::\"files/write@execute\", resource);",
            "deny cedar.f POLICY_FORBIDDEN",
        ),
        (
            "permit(principal, action, resource); forbid(principal == Client::\"other\", action, resource);",
            "execute own.servers @personal",
        ),
        (
            "permit(principal in Role::\"owner\", action, resource);",
            "execute own.servers @personal",
        ),
        (
            "permit(principal, action, resource) when { context.entities.contains(\"personal\") };",
            "execute own.servers @personal",
        ),
        // Erroring policies are skipped by Cedar; here they deny.
        (
            "permit(principal, action, resource); forbid(principal, action, resource) when { 9223372036854775807 + 1 == 0 };",
            "deny cedar.error POLICY_ERROR",
        ),
        (
            "permit(principal, action, resource); permit(principal, action, resource) when { 9223372036854775807 + 1 == 0 };",
            "deny cedar.error POLICY_ERROR",
        ),
    ] {
        let policy = with_cedar(text);
        assert_eq!(policy.problems(), [], "{text}");
        assert_eq!(
            Probe::new(&policy, "claude").words(call()),
            expected,
            "{text}"
        );
    }
}

#[test]
fn policies_that_do_not_validate_are_not_in_force() {
    for text in [
        "permit(principal, action, resource) when { context.missing == 1 };",
        "permit(principal, action, resource) when { context.server == 1 };",
        "permit(principal, action == Action::\"files/raed@execute\", resource);",
        "permit(principal in Role::\"nobody\", action, resource);",
        "permit(principal == User::\"a\", action, resource);",
        "permit(principal == ?principal, action, resource);",
        "@id(\"a\") permit(principal, action, resource); @id(\"a\") forbid(principal, action, resource);",
        "permit(",
    ] {
        let policy = with_cedar(text);
        let found = Probe::new(&policy, "claude").words(call());
        assert_eq!(
            found, "deny governance.unavailable GOVERNANCE_UNAVAILABLE",
            "{text}"
        );
    }
}

#[test]
fn policies_read_arguments_in_the_types_of_the_schema() {
    let schema = r#"{"type":"object","properties":{"path":{"type":"string"},"n":{"type":"integer"},"tags":{"type":"array","items":{"type":"string"}}}}"#;
    let mut sources = Template::Personal.sources();
    sources.cedar = FileText::Text(
        "permit(principal, action, resource);\n\
         @id(\"etc\") forbid(principal, action in Action::\"files/write\", resource)\n\
         when { context.input has path && context.input.path like \"/etc/*\" };\n\
         @id(\"many\") forbid(principal, action == Action::\"files/write@execute\", resource)\n\
         when { context.input has n && context.input.n > 5 };"
            .to_owned(),
    );
    let tool = KnownTool {
        schema: Some(schema.into()),
        ..known(&["files/write"]).remove(0)
    };
    let policy = Policy::load(&sources, &[tool]);
    assert_eq!(policy.problems(), []);
    for (arguments, expected) in [
        (r#"{"path":"/home/a"}"#, "execute"),
        (r#"{"path":"/etc/a"}"#, "deny cedar.etc"),
        (r#"{"n":5}"#, "execute"),
        (r#"{"n":6}"#, "deny cedar.many"),
        (r#"{"n":"6"}"#, "deny cedar.error"),
        (r#"{"n":1e30}"#, "deny cedar.error"),
        (r#"{"path":["/etc/a"]}"#, "deny cedar.error"),
        ("{}", "execute"),
    ] {
        let mut probe = Probe::new(&policy, "claude");
        probe.arguments = arguments;
        let found = probe.words(call());
        assert!(found.starts_with(expected), "{arguments}: {found}");
    }
}

#[test]
fn only_servers_that_files_name_make_a_difference_by_their_tools() {
    let tools = known(&["files/read", "mail/send", "wiki/page", "calendar/list"]);
    let mut sources = Template::Personal.sources();
    sources.cedar = FileText::Text(
        "permit(principal, action, resource);\n\
         forbid(principal, action in Action::\"files/read\", resource) when { context.approved };"
            .to_owned(),
    );
    let rule = |line: &str| {
        FileText::Text(format!(
            "version = 2\n[[rule]]\nid = \"a\"\nrule = '{line}'\n"
        ))
    };
    sources.permissions = rule("deny mail/send");
    let named = |policy: &Policy, expected: [bool; 4]| {
        let servers = ["files", "mail", "wiki", "calendar"];
        let found = servers.map(|server| policy.names_tools_of(server));
        assert_eq!(found, expected, "{:?}", policy.problems());
    };
    named(&Policy::load(&sources, &tools), [true, true, false, false]);
    let ladder = r#"{"default_mode":"autonomous","action_categories":[
        {"action":"Look","mode":"autonomous","tools":["wiki/page","calend*/*","*"]}]}"#;
    sources.autonomy_ladder = FileText::Text(ladder.to_owned());
    named(&Policy::load(&sources, &tools), [true, true, true, false]);
    sources.permissions = rule("deny mail/*");
    named(&Policy::load(&sources, &tools), [true, true, true, false]);
    sources.permissions = rule("deny m*/send");
    named(&Policy::load(&sources, &tools), [true, false, true, false]);
    // What cannot be read may be mended by any tool.
    sources.permissions = rule("deny mail/sent");
    named(&Policy::load(&sources, &tools), [true; 4]);
    sources.permissions = rule("deny mail/send");
    named(&Policy::load(&sources, &tools[1..]), [true; 4]);
}

fn ladder(mode: &str, more: &str) -> Policy {
    with(|sources| {
        sources.autonomy_ladder = FileText::Text(format!(
            r#"{{"default_mode":"{mode}","action_categories":[
                {{"action":"Native","mode":"autonomous","tools":["audit/*","delegate/*","hub/*","identity/*","inbox/*","teams/*","desk/*","workspace/*"]}}
                {more}]}}"#
        ));
    })
}

#[test]
fn the_five_modes() {
    for (mode, drafts, expected) in [
        ("autonomous", false, "execute own.servers @personal"),
        ("draft_only", false, "ask draft ladder.default @personal"),
        ("draft_only", true, "draft own.servers @personal"),
        (
            "propose_certify_apply",
            true,
            "ask certify ladder.default @personal",
        ),
        ("blocked", true, "deny ladder.default LADDER_BLOCKED"),
        ("never", true, "deny ladder.default LADDER_NEVER"),
    ] {
        let policy = ladder(mode, "");
        assert_eq!(policy.problems(), []);
        let found = Probe::new(&policy, "claude").words(native("own", "write", drafts));
        assert_eq!(found, expected, "{mode} {drafts}");
        // What a rule says only reads is left alone, but for the two refusals.
        let hinted = Target {
            read_only_hint: true,
            ..call()
        };
        let found = Probe::new(&policy, "claude").words(hinted);
        let refused = matches!(mode, "blocked" | "never");
        assert_eq!(found.starts_with("deny"), refused, "{mode}: {found}");
    }
}

#[test]
fn certified_proposals_are_applied_and_confidence_decides_drafts() {
    let policy = ladder("propose_certify_apply", "");
    let mut probe = Probe::new(&policy, "claude");
    probe.certified = true;
    assert_eq!(probe.words(call()), "apply own.servers @personal");
    let policy = ladder(
        "autonomous",
        r#", {"action":"Sort","mode":"autonomous","tools":["files/write"],"confidence_threshold":0.8}"#,
    );
    for (confidence, expected) in [
        (None, "ask draft ladder.sort @personal"),
        (Some(0.79), "ask draft ladder.sort @personal"),
        (Some(f64::NAN), "ask draft ladder.sort @personal"),
        (Some(1.5), "ask draft ladder.sort @personal"),
        (Some(0.8), "execute own.servers @personal"),
    ] {
        let mut probe = Probe::new(&policy, "claude");
        probe.confidence = confidence;
        assert_eq!(probe.words(call()), expected, "{confidence:?}");
    }
}

#[test]
fn the_organisation_forbids_whatever_the_owner_says() {
    use crate::governance::Fingerprint;
    let allowed = Fingerprint::of_url("https://example.com/mcp");
    for (text, fingerprint, expected) in [
        ("version = 1", None, "execute"),
        (
            "version = 1\nthird_party_servers = false",
            None,
            "deny enterprise",
        ),
        (
            "version = 1\ndisabled_servers = [\"files\"]",
            None,
            "deny enterprise",
        ),
        (
            "version = 1\ndisabled_tools = [\"files/wr*\"]",
            None,
            "deny enterprise",
        ),
        ("version = 1\nallow = []", Some(allowed), "deny enterprise"),
        (
            "version = 1\n[[allow]]\nurl = \"https://example.com/mcp\"",
            Some(allowed),
            "execute",
        ),
        (
            "version = 1\n[[allow]]\nurl = \"https://example.com/mcp\"",
            None,
            "deny enterprise",
        ),
        (
            "version = 1\nunknown = 1",
            None,
            "deny governance.unavailable",
        ),
    ] {
        let policy = with(|sources| sources.enterprise = vec![FileText::Text(text.to_owned())]);
        let asked = Target {
            fingerprint,
            ..call()
        };
        let found = Probe::new(&policy, "claude").words(asked);
        assert!(found.starts_with(expected), "{text}: {found}");
    }
}

#[test]
fn of_a_delegated_call_the_lesser_answer_counts() {
    let policy = super::personal_with(
        &rules(&[
            "allow files/*",
            "ask files/write client agent",
            "deny files/read client boss",
        ]),
        &known(&["files/read", "files/write"]),
    );
    for (tool, agent, boss, expected) in [
        ("write", "claude", None, "execute"),
        ("write", "agent", Some("claude"), "ask"),
        ("write", "claude", Some("agent"), "ask"),
        ("read", "claude", Some("boss"), "deny r2"),
        ("read", "boss", Some("claude"), "deny r2"),
        ("read", "claude", Some("agent"), "execute"),
    ] {
        let mut probe = Probe::new(&policy, agent);
        probe.for_whom = boss;
        let found = probe.words(target("files", Verb::CallTool, tool));
        assert!(
            found.starts_with(expected),
            "{tool} {agent} {boss:?}: {found}"
        );
    }
}

fn grant(change: impl FnOnce(&mut Grant)) -> GrantIndex {
    let mut grant = Grant {
        id: GrantId::new("g"),
        client: principal("claude").client,
        on_behalf_of: None,
        server: call().server,
        item: "write".into(),
        verb: Verb::CallTool,
        definition: Some(DefinitionHash([7; 32])),
        args_digest: None,
        entity: legation_core::EntityId::personal(),
        rung: Rung::Execute,
        policy_version: None,
        scope: GrantScope::Always,
        seat: None,
        workspace: None,
        expires_ms: None,
        uses_left: None,
        approver: "owner".into(),
    };
    change(&mut grant);
    GrantIndex::new([grant], 1)
}

#[test]
fn a_grant_covers_what_it_is_bound_to_and_nothing_else() {
    let policy = super::personal_with(&rules(&["ask files/*"]), &known(&["files/write"]));
    type Change = fn(&mut Grant);
    let cases: [(&str, Change, bool); 18] = [
        ("as it is", |_| {}, true),
        ("client", |g| g.client = principal("other").client, false),
        (
            "delegator",
            |g| g.on_behalf_of = Some(principal("other").client),
            false,
        ),
        ("item", |g| g.item = "read".into(), false),
        ("verb", |g| g.verb = Verb::ReadResource, false),
        (
            "definition",
            |g| g.definition = Some(DefinitionHash([8; 32])),
            false,
        ),
        ("arguments", |g| g.args_digest = Some([1; 32]), false),
        (
            "same arguments",
            |g| g.args_digest = Some(Arguments::new("{}").digest()),
            true,
        ),
        (
            "entity",
            |g| g.entity = legation_core::EntityId::new("other"),
            false,
        ),
        ("rung", |g| g.rung = Rung::Draft, false),
        ("policy", |g| g.policy_version = Some(1), false),
        ("expired", |g| g.expires_ms = Some(1_000), false),
        ("not expired", |g| g.expires_ms = Some(1_001), true),
        ("used up", |g| g.uses_left = Some(0), false),
        (
            "another seat",
            |g| g.seat = Some(legation_core::SeatId::new("b")),
            false,
        ),
        (
            "a session without a seat",
            |g| g.scope = GrantScope::Session,
            false,
        ),
        (
            "a folder",
            |g| g.workspace = Some("/elsewhere".into()),
            false,
        ),
        (
            "once without arguments",
            |g| g.scope = GrantScope::Once,
            false,
        ),
    ];
    for (name, change, covers) in cases {
        let mut probe = Probe::new(&policy, "claude");
        probe.grants = grant(change);
        probe.now_ms = 1_000;
        let asked = Target {
            definition: Some(DefinitionHash([7; 32])),
            ..call()
        };
        match probe.ask(asked) {
            Decision::Permitted(permitted) => {
                assert!(covers, "{name}");
                assert_eq!(permitted.grant().map(GrantId::as_str), Some("g"), "{name}");
            }
            Decision::Ask(asked) => {
                assert!(!covers, "{name}");
                assert_eq!(
                    asked.scopes,
                    [Scope::Once, Scope::Session, Scope::Here, Scope::Always]
                );
            }
            Decision::Denied(denied) => panic!("{name}: {denied}"),
        }
    }
}

#[test]
fn no_answer_is_wider_than_the_rule_lets_it_be() {
    let policy = super::personal_with(
        &rules(&["ask files/* for session"]),
        &known(&["files/write"]),
    );
    let mut probe = Probe::new(&policy, "claude");
    probe.grants = grant(|grant| grant.definition = None);
    let Decision::Ask(asked) = probe.ask(call()) else {
        panic!("an answer for always does not stand for one for a session");
    };
    assert_eq!(asked.scopes, [Scope::Once, Scope::Session]);
}

#[test]
fn results_are_judged_by_bans_and_contracts() {
    let policy = Policy::load(&Template::Business.sources(), &[]);
    let mut probe = Probe::new(&policy, "claude");
    probe.arguments = r#"{"profile_id":"harbor"}"#;
    let permitted = probe
        .ask(native("desk", "mail_list", false))
        .permitted()
        .expect("permitted");
    let none = super::labels(&[]);
    let judge = |text| {
        let facts = crate::ResultFacts {
            text,
            labels: &none,
            unredacted_phi: Some(false),
        };
        policy
            .judge_result(&permitted, &facts)
            .map_err(|denied| denied.rule.as_str().to_owned())
    };
    assert_eq!(judge("all quiet"), Ok(()));
    assert_eq!(
        judge("-----BEGIN  PRIVATE\u{200b} KEY-----"),
        Err("ban.output.private-keys".to_owned())
    );
}

#[test]
fn what_the_desk_says_of_all_is_kept_apart_and_nothing_else_is() {
    let policy = Policy::load(&Template::Business.sources(), &[]);
    let of_all = || Target {
        entity: Some(legation_core::EntityId::new("all")),
        native: Some(crate::NativeTool::default()),
        ..native("desk", "morning_brief", false)
    };
    let rule = |client, holds, arguments, target: Target| {
        let mut probe = Probe::new(&policy, client);
        probe.holds = holds;
        probe.arguments = arguments;
        match probe.ask(target) {
            Decision::Denied(denied) => denied.rule.as_str().to_owned(),
            Decision::Permitted(_) => "permitted".to_owned(),
            Decision::Ask(_) => "asked".to_owned(),
        }
    };
    let everyone = &["harbor", "meadow", "personal", "quarry"];
    let one = || Target {
        entity: None,
        ..of_all()
    };
    let configured = || Target {
        origin: crate::Origin::User,
        native: None,
        ..of_all()
    };
    for (client, holds, arguments, target, wanted) in [
        ("owner", &[][..], "{}", of_all(), "permitted"),
        ("owner", everyone, "{}", of_all(), "permitted"),
        // What a conversation holds already is not brought together with more.
        ("owner", &["harbor"], "{}", of_all(), "boundary.never-mix"),
        // Everything else of all holds: who is not cleared for one of them gets nothing.
        ("claude", &[], "{}", of_all(), "clearance.client"),
        // The word of a caller is not that of the server, nor is a configured server the hub's.
        (
            "owner",
            &[],
            r#"{"entity_context":"all"}"#,
            one(),
            "boundary.never-mix",
        ),
        ("owner", &[], "{}", configured(), "boundary.never-mix"),
        // After it nothing of one alone is done in that conversation.
        (
            "owner",
            everyone,
            r#"{"entity_context":"harbor"}"#,
            one(),
            "boundary.never-mix",
        ),
    ] {
        assert_eq!(
            rule(client, holds, arguments, target),
            wanted,
            "{client} {holds:?} {arguments}"
        );
    }
}

#[test]
fn an_account_that_its_server_knows_need_not_stand_in_the_profile() {
    let policy = super::personal_with("", &known(&[]));
    let mut probe = Probe::new(&policy, "claude");
    probe.arguments = r#"{"profile_id":"work"}"#;
    let target = |entity: Option<&str>| Target {
        entity: entity.map(legation_core::EntityId::new),
        ..native("desk", "mail_list", false)
    };
    let denied = |target: Target| match probe.ask(target) {
        Decision::Denied(denied) => Some(denied.rule.as_str().to_owned()),
        Decision::Permitted(_) | Decision::Ask(_) => None,
    };
    assert_eq!(
        denied(target(None)).as_deref(),
        Some("boundary.unknown-entity")
    );
    let known = denied(target(Some("personal")));
    assert!(!known.is_some_and(|rule| rule.starts_with("boundary.")));
}

#[test]
fn whom_a_native_writes_to_is_a_recipient() {
    let policy = Policy::load(&Template::Business.sources(), &[]);
    let send = || Target {
        entity: Some(legation_core::EntityId::new("meadow")),
        ..native("teams", "send", false)
    };
    let mut probe = Probe::new(&policy, "owner");
    probe.arguments = r#"{"text":"Patient in room 204, date of birth: 1931-04-02"}"#;
    let banned = |probe: &Probe<'_>| match probe.ask(send()) {
        Decision::Denied(denied) => denied.rule.as_str().contains("phi.unredacted"),
        Decision::Permitted(_) | Decision::Ask(_) => false,
    };
    assert!(!banned(&probe), "it goes on to nobody");
    for somebody in ["intake@meadow.example.com", "a1b2-no-address", ""] {
        probe.sent_to = Some(somebody);
        assert!(banned(&probe), "{somebody:?}");
    }
    probe.arguments = r#"{"text":"The build is green."}"#;
    assert!(!banned(&probe));
}

#[test]
fn a_policy_about_one_tool_leaves_the_others_to_memory() {
    let large = "when { context.input has n && context.input.n > 3 };";
    for (text, read, write) in [
        ("", false, false),
        (
            "forbid(principal, action in Action::\"files/read\", resource) LARGE",
            true,
            false,
        ),
        (
            "forbid(principal, action == Action::\"files/read@draft\", resource) LARGE",
            true,
            false,
        ),
        (
            "forbid(principal, action in [Action::\"files/read\", Action::\"files/write\"], resource) LARGE",
            true,
            true,
        ),
        (
            "forbid(principal, action, resource) when { context.foreign_recipient };",
            true,
            true,
        ),
        (
            "forbid(principal, action in Action::\"execute\", resource) when { context.foreign_recipient };",
            true,
            true,
        ),
    ] {
        let text = format!(
            "permit(principal, action, resource); {}",
            text.replace("LARGE", large)
        );
        let mut sources = Template::Personal.sources();
        sources.cedar = FileText::Text(text.clone());
        let mut tools = known(&["files/read", "files/write"]);
        for tool in &mut tools {
            let schema = r#"{"type":"object","properties":{"n":{"type":"integer"}}}"#;
            tool.schema = Some(schema.into());
        }
        let policy = Policy::load(&sources, &tools);
        assert_eq!(policy.problems(), [], "{text}");
        let cedar = policy.cedar().expect("the policies are read");
        assert_eq!(cedar.read_arguments("files/read"), read, "{text}");
        assert_eq!(cedar.read_arguments("files/write"), write, "{text}");
        assert_eq!(
            cedar.read_arguments("mail/send"),
            read && write && !text.contains('['),
            "{text}"
        );
    }
}
