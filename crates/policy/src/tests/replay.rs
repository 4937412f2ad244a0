//! Recorded calls, decided again without their arguments.

use super::{known, labels, principal, rules, target};
use crate::governance::{FileText, Problem, Severity, Sources, Template};
use crate::replay::{Again, Answer, Past, Replayer};
use crate::{
    Arguments, Decision, GrantIndex, Inquiry, KnownTool, NativeTool, Origin, Policy, Rung, Target,
    Verb,
};
use legation_core::{EntityId, EntityLabels, SeatId};

const SCHEMA: &str =
    r#"{"type":"object","properties":{"path":{"type":"string"},"n":{"type":"integer"}}}"#;

fn tools() -> Vec<KnownTool> {
    let mut tools = known(&["files/read", "files/write"]);
    for tool in &mut tools {
        tool.schema = Some(SCHEMA.into());
    }
    tools
}

fn write() -> Target {
    target("files", Verb::CallTool, "write")
}

/// The personal template with these rules, bans and policies.
fn sources(lines: &[&str], bans: &str, cedar: &str) -> Sources {
    let mut sources = Template::Personal.sources();
    sources.permissions = FileText::Text(format!("version = 2\n{}", rules(lines)));
    sources.hard_bans = FileText::Text(format!(r#"{{"bans":[{bans}]}}"#));
    sources.cedar = FileText::Text(format!(
        "@id(\"all\") permit(principal, action, resource);{cedar}"
    ));
    sources
}

fn errors(policy: &Policy) -> Vec<&Problem> {
    let problems = policy.problems().iter();
    let errors = problems.filter(|one| one.severity == Severity::Error);
    errors.collect()
}

/// What was answered then.
struct Recorded {
    answer: Answer,
    rule: String,
    rung: Rung,
    entities: EntityLabels,
    labels: EntityLabels,
    version: u64,
}

fn decide(policy: &Policy, arguments: &str) -> Recorded {
    let arguments = Arguments::new(arguments);
    let decision = policy.decide(
        &Inquiry {
            principal: &principal("claude"),
            on_behalf_of: None,
            seat: &SeatId::new("seat"),
            workspace: None,
            labels: &EntityLabels::none(),
            arguments: Some(&arguments),
            sent_to: None,
            unredacted_phi: None,
            confidence: None,
            certified: false,
            grants: &GrantIndex::none(),
            now_ms: 0,
        },
        write(),
    );
    let personal = labels(&["personal"]);
    let (answer, rule, rung) = match &decision {
        Decision::Permitted(permitted) => (
            Answer::Allowed,
            permitted.rule().to_string(),
            permitted.rung(),
        ),
        Decision::Ask(asked) => (Answer::Asked, asked.rule.to_string(), asked.rung),
        Decision::Denied(denied) => (Answer::Denied, denied.rule.to_string(), Rung::Execute),
    };
    Recorded {
        answer,
        rule,
        rung,
        entities: personal.clone(),
        labels: personal,
        version: policy.version(),
    }
}

fn again(replayer: &Replayer, recorded: &Recorded, version: Option<u64>) -> Again {
    replayer.decide(
        &Past {
            principal: &principal("claude"),
            on_behalf_of: None,
            entities: Some(&recorded.entities),
            apart: false,
            labels: &recorded.labels,
            answer: recorded.answer,
            rule: &recorded.rule,
            rung: recorded.rung,
            at_ms: 0,
            policy_version: version,
        },
        &write(),
    )
}

fn words(again: &Again) -> String {
    let depends: Vec<String> = again
        .depends
        .iter()
        .map(|one| format!(" {} {}", one.rule, one.reads.join(",")))
        .collect();
    let rule = again.rule.as_ref().map(ToString::to_string);
    let rule = rule.map(|rule| format!(" {rule}")).unwrap_or_default();
    format!("{}{rule}{}", again.answer.as_str(), depends.join(";"))
}

const LARGE: &str = r#"@id("n")
forbid(principal, action == Action::"files/write@execute", resource)
when { context.input has n && context.input.n > 3 };"#;
const AT_HOME: &str = r#"@id("n")
forbid(principal, action, resource) unless { context.foreign_recipient };"#;
const OWN: &str = "allow @own/*";
const BAN: &str = r#"{"id":"etc","kind":"never_do","when":{"arguments":[{"pointer":"/path","op":"starts_with","value":"/etc"}]},"because":"no","match":[{"tool":"files/write","arguments":{"path":"/etc/hosts"}}],"no_match":[{"tool":"files/write","arguments":{"path":"/home/notes"}}]}"#;

#[test]
fn other_rules_answer_as_far_as_the_record_says_enough() {
    let cases: &[(&[&str], &str, &str, &str)] = &[
        (&[OWN], "", "", "allowed r0"),
        (&[OWN, "deny files/write"], "", "", "denied r1"),
        (&[OWN, "ask files/write"], "", "", "asked r1"),
        (
            &[OWN, "deny files/read where /path = x"],
            "",
            "",
            "allowed r0",
        ),
        (
            &[OWN, "deny files/write where /path prefix /etc"],
            "",
            "",
            "depends on arguments r1 /path",
        ),
        (
            &["allow files/write where /path prefix /home and /n <= 3"],
            "",
            "",
            "depends on arguments r0 /path,/n",
        ),
        (
            &[OWN, "deny files/*", "deny files/write where /path = x"],
            "",
            "",
            "denied r1",
        ),
        (&[OWN], BAN, "", "depends on arguments ban.etc /path"),
        (
            &[OWN],
            "",
            r#"@id("n") forbid(principal, action in Action::"files/write", resource) when { context.input has n && context.input.n > 3 };"#,
            "depends on arguments cedar.n /n",
        ),
        (
            &[OWN],
            "",
            r#"@id("n") forbid(principal, action in Action::"files/read", resource) when { context.input has n && context.input.n > 3 };"#,
            "allowed r0",
        ),
        (
            &[OWN],
            "",
            r#"@id("n") forbid(principal, action, resource) when { context.server == "mail" && context.foreign_recipient };"#,
            "allowed r0",
        ),
        (
            &[OWN],
            "",
            r#"@id("n") forbid(principal, action, resource) when { context.server == "files" && context.foreign_recipient };"#,
            "depends on arguments cedar.n foreign recipient",
        ),
    ];
    let before = sources(&[OWN], "", "");
    let recorded = decide(&Policy::load(&before, &tools()), "{}");
    for (lines, bans, cedar, expected) in cases {
        let replayer = Replayer::load(&sources(lines, bans, cedar), &before, &tools());
        assert_eq!(
            errors(replayer.policy()),
            Vec::<&Problem>::new(),
            "{lines:?} {bans} {cedar}"
        );
        let found = again(&replayer, &recorded, Some(recorded.version));
        assert_eq!(words(&found), *expected, "{lines:?} {bans} {cedar}");
    }
}

#[test]
fn what_was_answered_then_tells_what_a_rule_said_that_is_still_the_same() {
    let deny = "deny files/write where /path prefix /etc";
    let before = sources(&[OWN, deny], BAN, "");
    let policy = Policy::load(&before, &tools());
    let replayer = |lines: &[&str]| Replayer::load(&sources(lines, BAN, ""), &before, &tools());
    let passed = decide(&policy, r#"{"path":"/home"}"#);
    let same = replayer(&[OWN, deny, "deny files/read"]);
    let found = again(&same, &passed, Some(passed.version));
    assert_eq!(words(&found), "allowed r0");
    // Records of other rules, and other rules of the same name, tell nothing.
    let found = again(&same, &passed, Some(passed.version ^ 1));
    assert_eq!(
        words(&found),
        "depends on arguments ban.etc /path; r1 /path"
    );
    let wider = replayer(&[OWN, "deny files/write where /path prefix /"]);
    let found = again(&wider, &passed, Some(passed.version));
    assert_eq!(words(&found), "depends on arguments r1 /path");
    // What was refused by a rule that is still there is refused again.
    let refused = decide(&policy, r#"{"path":"/etc/passwd"}"#);
    let found = again(&same, &refused, Some(refused.version));
    assert_eq!(
        (found.answer, refused.rule.as_str()),
        (Answer::Denied, "ban.etc")
    );
    assert!(found.is_by(&refused.rule));
}

#[test]
fn a_call_refused_before_its_entity_was_known_stays_open() {
    let before = sources(&[OWN], "", "");
    let replayer = Replayer::load(&before, &before, &tools());
    let none = EntityLabels::none();
    let past = Past {
        principal: &principal("claude"),
        on_behalf_of: None,
        entities: None,
        apart: false,
        labels: &none,
        answer: Answer::Denied,
        rule: "boundary.unknown-entity",
        rung: Rung::Execute,
        at_ms: 0,
        policy_version: None,
    };
    let found = replayer.decide(&past, &write());
    assert_eq!(
        words(&found),
        "depends on arguments boundary.unknown-entity whose data it is about"
    );
}

#[test]
fn a_call_about_all_is_decided_again_by_what_its_conversation_held() {
    let business = Template::Business.sources();
    let policy = Policy::load(&business, &[]);
    let replayer = Replayer::load(&business, &business, &[]);
    let called = |entity: Option<&str>| Target {
        origin: Origin::Builtin,
        native: Some(NativeTool::default()),
        entity: entity.map(EntityId::new),
        ..target("desk", Verb::CallTool, "morning_brief")
    };
    let everyone: &[&str] = &["harbor", "meadow", "personal", "quarry"];
    for (holds, wanted) in [
        (&[][..], Answer::Allowed),
        (everyone, Answer::Allowed),
        (&["harbor"], Answer::Denied),
    ] {
        let (owner, held) = (principal("owner"), labels(holds));
        let arguments = Arguments::new("{}");
        let inquiry = Inquiry {
            principal: &owner,
            on_behalf_of: None,
            seat: &SeatId::new("seat"),
            workspace: None,
            labels: &held,
            arguments: Some(&arguments),
            sent_to: None,
            unredacted_phi: None,
            confidence: None,
            certified: false,
            grants: &GrantIndex::none(),
            now_ms: 0,
        };
        let (apart, entities, labels, rule) = match policy.decide(&inquiry, called(Some("all"))) {
            Decision::Permitted(one) => (
                one.is_apart(),
                one.entities().clone(),
                one.labels().clone(),
                one.rule().clone(),
            ),
            Decision::Denied(one) => (
                one.about.apart,
                one.about.entities.unwrap(),
                one.about.labels,
                one.rule,
            ),
            Decision::Ask(asked) => panic!("{asked:?}"),
        };
        assert_eq!(apart, wanted == Answer::Allowed, "{holds:?}");
        // Of the target a record has its words.
        let traits: Vec<String> = called(Some("all")).traits().map(str::to_owned).collect();
        let mut recorded = called(None);
        recorded.set_traits(&traits, "");
        let past = Past {
            principal: &owner,
            on_behalf_of: None,
            entities: Some(&entities),
            apart,
            labels: &labels,
            answer: wanted,
            rule: rule.as_str(),
            rung: Rung::Execute,
            at_ms: 0,
            policy_version: Some(policy.version()),
        };
        let found = replayer.decide(&past, &recorded);
        assert_eq!(found.answer, wanted, "{holds:?}: {}", words(&found));
        assert_eq!(found.rule.as_ref(), Some(&rule), "{holds:?}");
    }
}

/// Whatever the rules before and after and the real arguments: an answer that
/// does not depend on them is the one that the real ones get.
#[test]
fn no_answer_is_guessed() {
    let files: Vec<Sources> = [
        (&[OWN][..], "", ""),
        (&[OWN, "deny files/write where /n >= 3"], "", ""),
        (
            &[
                OWN,
                "ask files/*",
                "deny files/write where /path prefix /etc",
            ],
            BAN,
            "",
        ),
        (
            &[
                "allow files/write where /n <= 3",
                "allow files/* rung draft",
            ],
            "",
            "",
        ),
        (&[OWN, "reads files/write where /path = /home"], BAN, ""),
        (&[OWN], BAN, LARGE),
        (&[OWN], "", AT_HOME),
        (
            &[OWN, "deny files/write rung execute where /n >= 3"],
            "",
            "",
        ),
    ]
    .iter()
    .map(|(lines, bans, cedar)| sources(lines, bans, cedar))
    .collect();
    let arguments = [
        "{}",
        r#"{"n":2}"#,
        r#"{"n":3,"path":"/home"}"#,
        r#"{"n":7,"path":"/etc/hosts"}"#,
        r#"{"path":"/home"}"#,
        r#"{"to":["jordan@harbor.example.com"]}"#,
        r#"{"n":1,"n":2}"#,
    ];
    let (mut certain, mut open) = (0, 0);
    for before in &files {
        let old = Policy::load(before, &tools());
        assert_eq!(errors(&old), Vec::<&Problem>::new());
        for after in &files {
            let replayer = Replayer::load(after, before, &tools());
            for arguments in arguments {
                let recorded = decide(&old, arguments);
                let real = decide(replayer.policy(), arguments);
                for version in [Some(recorded.version), None] {
                    let found = again(&replayer, &recorded, version);
                    if found.answer == Answer::Depends {
                        open += 1;
                        assert_ne!(found.depends, []);
                    } else {
                        certain += 1;
                        assert_eq!(
                            found.answer, real.answer,
                            "{before:#?} {after:#?} {arguments}"
                        );
                        assert_eq!(
                            found.rung,
                            if real.answer == Answer::Denied {
                                found.rung
                            } else {
                                real.rung
                            }
                        );
                    }
                }
            }
        }
    }
    assert!(
        certain > 100 && open > 300,
        "{certain} certain, {open} open"
    );
}
