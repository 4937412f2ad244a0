//! The grammar, the examples, the names, and who wins.

use super::{Probe, known, personal_with, rules, target};
use crate::{Origin, Verb};

const TOOLS: [&str; 4] = ["files/read", "files/write", "mail/send", "git/push"];

fn outcome(lines: &[&str], call: (&str, &str), arguments: &str) -> String {
    let policy = personal_with(&rules(lines), &known(&TOOLS));
    assert_eq!(
        policy
            .problems()
            .iter()
            .filter(|one| one.severity == crate::governance::Severity::Error)
            .count(),
        0,
        "{:?}",
        policy.problems()
    );
    let mut probe = Probe::new(&policy, "claude");
    probe.arguments = arguments;
    probe.words(target(call.0, Verb::CallTool, call.1))
}

#[test]
fn the_strictest_rule_wins_in_any_order() {
    let lines = [
        "allow files/*",
        "ask files/write because \"look first\"",
        "deny */* where /path prefix /etc",
    ];
    let mut reversed = lines;
    reversed.reverse();
    for (call, arguments, expected) in [
        ("read", r#"{"path":"/home/a"}"#, "execute"),
        ("write", r#"{"path":"/home/a"}"#, "ask permission"),
        ("write", r#"{"path":"/etc/a"}"#, "deny"),
        ("read", r#"{"path":"/etc/a"}"#, "deny"),
        ("read", r#"{"path":["/home/a","/etc/a"]}"#, "deny"),
        ("read", r#"{"path":"/home/../etc/a"}"#, "deny"),
        ("read", r#"{"path":"/ETC/a"}"#, "deny"),
        ("read", r#"{"path":7}"#, "deny"),
        ("read", "{}", "execute"),
        ("read", r#"{"path":"/a","path":"/etc/a"}"#, "deny"),
    ] {
        for lines in [lines, reversed] {
            let found = outcome(&lines, ("files", call), arguments);
            assert!(found.starts_with(expected), "{call} {arguments}: {found}");
        }
    }
}

#[test]
fn conditions_are_wary_where_they_refuse_and_exact_where_they_allow() {
    for (rule, arguments, expected) in [
        (
            "allow files/read where /path prefix /home/",
            r#"{"path":"/home/a"}"#,
            "execute",
        ),
        (
            "allow files/read where /path prefix /home/",
            r#"{"path":"/home/../etc"}"#,
            "deny",
        ),
        (
            "allow files/read where /path prefix /home/",
            r#"{"path":"/home/%2e%2e/etc"}"#,
            "deny",
        ),
        (
            "allow files/read where /path prefix /home/",
            r#"{"path":"/HOME/a"}"#,
            "deny",
        ),
        ("allow files/read where /path prefix /home/", "{}", "deny"),
        ("allow files/read where /n <= 5", r#"{"n":5}"#, "execute"),
        ("allow files/read where /n <= 5", r#"{"n":"5"}"#, "deny"),
        ("allow files/read where /n <= 5", r#"{"n":5.5}"#, "deny"),
        (
            "allow files/read where /n >= 2 and /b = true",
            r#"{"n":2,"b":true}"#,
            "execute",
        ),
        (
            "allow files/read where /n >= 2 and /b = true",
            r#"{"n":2,"b":"true"}"#,
            "deny",
        ),
        (
            "allow files/read where /s in a,b",
            r#"{"s":"b"}"#,
            "execute",
        ),
        (
            "allow files/read where /s in [\"a\", \"b c\"]",
            r#"{"s":"b c"}"#,
            "execute",
        ),
        ("allow files/read where /s != x", r#"{"s":"y"}"#, "execute"),
        ("allow files/read where /s != x", r#"{"s":"X"}"#, "deny"),
        ("allow files/read where /s != x", "{}", "deny"),
        (
            "allow files/read where /to/*/name glob a*",
            r#"{"to":[{"name":"ab"},{"name":"ac"}]}"#,
            "execute",
        ),
        (
            "allow files/read where /to/*/name glob a*",
            r#"{"to":[{"name":"ab"},{"name":"b"}]}"#,
            "deny",
        ),
        (
            "allow files/read where /a~1b = 1",
            r#"{"a/b":1}"#,
            "execute",
        ),
        (
            "allow files/read where /to entity-of personal",
            r#"{"to":"personal"}"#,
            "execute",
        ),
        (
            "allow files/read where /to entity-of call",
            r#"{"to":"elsewhere@example.com"}"#,
            "deny",
        ),
    ] {
        let found = outcome(&[rule], ("files", "read"), arguments);
        assert!(found.starts_with(expected), "{rule} {arguments}: {found}");
    }
}

#[test]
fn lines_that_are_no_rules_are_refused() {
    for line in [
        "",
        "permit files/read",
        "allow files",
        "allow */read",
        "allow fi*/read",
        "allow @all/read",
        "reads */*",
        "allow files/read where path = 1",
        "allow files/read where /path like 1",
        "allow files/read where /path",
        "allow files/read where /n <= five",
        "allow files/read where /p glob \"\"",
        "allow files/read where /a~2 = 1",
        "allow files/read for once",
        "allow files/read for session",
        "allow files/read for 8h",
        "allow files/read for here",
        "deny files/read for 8h",
        "ask files/read for 0s",
        "ask files/read for 9999999d",
        "deny files/read hinted",
        "allow files/read unhinted",
        "allow files/read rung faster",
        "allow files/read rung draft rung draft",
        "allow files/read because \"no end",
        "allow files/read because",
        "allow files/read verb tools/list",
        "allow files/read gladly",
        "reads files/read rung draft",
        "allow files/re\u{7}ad",
        // Names that never were.
        "deny flies/read",
        "deny files/raed",
        "allow files/read entity nobody",
        "deny files/* where /to entity-of nobody",
    ] {
        let policy = personal_with(&rules(&[line]), &known(&TOOLS));
        let found = Probe::new(&policy, "claude").words(target("files", Verb::CallTool, "read"));
        assert_eq!(
            found, "deny governance.unavailable GOVERNANCE_UNAVAILABLE",
            "{line}"
        );
        assert!(
            policy.problems().iter().any(|one| !one.hint.is_empty()),
            "{line}"
        );
    }
}

#[test]
fn a_server_that_is_merely_away_fails_nothing() {
    let mut tools = known(&TOOLS);
    let away = legation_core::ServerName::parse("away").expect("a name");
    tools.push(crate::KnownTool::server_only(away, true));
    let policy = personal_with(&rules(&["allow away/anything", "allow files/read"]), &tools);
    assert_eq!(policy.problems(), []);
}

#[test]
fn examples_are_tried_when_the_file_loads() {
    for (examples, fine) in [
        (
            "match = ['files/write']\nno_match = ['files/read', 'mail/write']",
            true,
        ),
        ("match = ['files/read']", false),
        ("no_match = ['files/write_all']", false),
        ("match = ['files']", false),
    ] {
        let text = format!("[[rule]]\nid = \"a\"\nrule = 'deny files/write*'\n{examples}\n");
        let policy = personal_with(&text, &known(&TOOLS));
        assert_eq!(
            policy.problems().is_empty(),
            fine,
            "{examples}: {:?}",
            policy.problems()
        );
    }
    let with_arguments = "[[rule]]\nid = \"a\"\nrule = 'deny files/* where /path prefix /etc'\n\
         match = ['files/read {\"path\": \"/etc/x\"}']\nno_match = ['files/read {\"path\": \"/x\"}', 'files/read']\n";
    assert_eq!(personal_with(with_arguments, &known(&TOOLS)).problems(), []);
}

#[test]
fn dead_rules_are_warned_about_with_what_makes_them_so() {
    for (lines, dead) in [
        (
            &["deny files/*", "allow files/read"][..],
            Some("`r1` does nothing: `r0`"),
        ),
        (
            &["allow files/read", "allow files/*"],
            Some("`r0` does nothing: `r1`"),
        ),
        (&["deny files/* where /a = 1", "allow files/read"], None),
        (&["ask files/*", "allow files/read"], None),
        (
            &["deny files/* client x", "allow files/read client y"],
            None,
        ),
    ] {
        let policy = personal_with(&rules(lines), &known(&TOOLS));
        let found = policy.problems().first().map(|one| one.message.clone());
        match dead {
            Some(words) => assert!(
                found.as_deref().is_some_and(|text| text.contains(words)),
                "{found:?}"
            ),
            None => assert_eq!(found, None, "{lines:?}"),
        }
    }
}

#[test]
fn rules_are_of_the_texts_they_were_read_from() {
    use crate::governance::{FileText, Template};
    let sources = Template::Personal.sources();
    let policy = crate::Policy::load(&sources, &known(&TOOLS));
    assert!(policy.is_of(&sources.clone()));
    let of_folder = |text: FileText| {
        let mut other = sources.clone();
        other.workspaces.push(("/home/sam".into(), text));
        other
    };
    assert!(!policy.is_of(&of_folder(FileText::Text(String::new()))));
    assert!(!policy.is_of(&of_folder(FileText::Unusable("why".to_owned()))));
    let mut other = sources.clone();
    other.cedar = FileText::Absent;
    assert!(!policy.is_of(&other));
}

#[test]
fn a_folder_may_only_deny_and_ask() {
    use crate::governance::{FileText, Template};
    let decide = |text: &str, workspace: Option<&str>| {
        let mut sources = Template::Personal.sources();
        let text = format!("version = 2\n{}", rules(&[text]));
        sources.workspaces = vec![("/home/sam".into(), FileText::Text(text))];
        let policy = crate::Policy::load(&sources, &known(&TOOLS));
        let mut probe = Probe::new(&policy, "claude");
        probe.workspace = workspace;
        probe.words(target("files", Verb::CallTool, "read"))
    };
    for (line, workspace, expected) in [
        (
            "deny files/*",
            Some("/home/sam/project"),
            "deny workspace.r0",
        ),
        ("ask nowhere/*", Some("/home/sam"), "execute own.servers"),
        (
            "ask files/*",
            Some("/home/sam"),
            "ask permission workspace.r0",
        ),
        ("deny files/*", Some("/other"), "execute own.servers"),
        ("deny files/*", None, "execute own.servers"),
        (
            "allow files/*",
            Some("/home/sam"),
            "deny governance.unavailable",
        ),
        (
            "reads files/*",
            Some("/home/sam"),
            "deny governance.unavailable",
        ),
        ("allow files/*", Some("/other"), "execute own.servers"),
    ] {
        let found = decide(line, workspace);
        assert!(found.starts_with(expected), "{line} {workspace:?}: {found}");
    }
}

#[test]
fn a_claim_to_read_counts_only_for_reviewed_servers_and_where_a_rule_says_so() {
    let policy = personal_with(
        &rules(&["allow files/*", "allow mail/*", "reads files/* hinted"]),
        &known(&TOOLS),
    );
    for (server, hinted, trusted, reads) in [
        ("files", true, true, true),
        ("files", false, true, false),
        ("files", true, false, false),
        ("mail", true, true, false),
    ] {
        let mut asked = target(server, Verb::CallTool, "read");
        asked.read_only_hint = hinted;
        asked.trusted = trusted;
        let found = Probe::new(&policy, "claude").words(asked);
        assert_eq!(
            found.ends_with(" reads"),
            reads,
            "{server} {hinted} {trusted}: {found}"
        );
    }
}

#[test]
fn an_allow_for_a_time_ends() {
    let text =
        "[[rule]]\nid = \"a\"\nrule = 'allow files/read for 8h'\nsince = 1970-01-02T00:00:00Z\n";
    let policy = personal_with(text, &known(&TOOLS));
    assert_eq!(policy.problems(), []);
    for (hours, expected) in [
        (25, "execute a"),
        (31, "execute a"),
        (32, "deny default.deny"),
    ] {
        let mut probe = Probe::new(&policy, "claude");
        probe.now_ms = hours * 3_600_000;
        let found = probe.words(target("files", Verb::CallTool, "read"));
        assert!(found.starts_with(expected), "{hours}: {found}");
    }
}

#[test]
fn sampling_is_a_kind_of_its_own() {
    let sample = |lines: &[&str]| {
        let policy = personal_with(&rules(lines), &known(&TOOLS));
        Probe::new(&policy, "claude").words(target("files", Verb::Sample, "read"))
    };
    assert!(sample(&["allow files/*"]).starts_with("ask mcp-sampling default.sampling"));
    assert!(sample(&["allow files/* verb mcp-sampling"]).starts_with("execute r0"));
    assert!(sample(&["ask files/* verb mcp-sampling"]).starts_with("ask mcp-sampling r0"));
    assert!(sample(&["deny files/*"]).starts_with("deny r0"));
}

#[test]
fn classes_of_servers_are_about_trust_and_origin() {
    let policy = personal_with(&rules(&["allow @own/*", "ask @workspace/*"]), &[]);
    for (origin, trusted, expected) in [
        (Origin::User, true, "execute"),
        (Origin::Additional, true, "execute"),
        (Origin::Builtin, true, "execute"),
        (Origin::Workspace("/w".into()), true, "ask"),
        (Origin::User, false, "deny default.deny SERVER_NOT_TRUSTED"),
        (
            Origin::Workspace("/w".into()),
            false,
            "deny default.deny SERVER_NOT_TRUSTED",
        ),
    ] {
        let asked = crate::Target {
            origin: origin.clone(),
            trusted,
            ..target("files", Verb::CallTool, "read")
        };
        let found = Probe::new(&policy, "claude").words(asked);
        assert!(found.starts_with(expected), "{origin:?} {trusted}: {found}");
    }
}
