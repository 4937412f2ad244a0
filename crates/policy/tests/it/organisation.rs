//! What an organisation's policy and people's answers do to the worked example:
//! the same matrix, of other questions, and the same demand that no line of
//! either can go unnoticed.

use std::fmt::Write as _;

use expect_test::expect_file;
use legation_core::context::{Principal, Via};
use legation_core::{ClientId, EntityId, EntityLabels, SeatId, ServerName};
use legation_policy::governance::{FileText, Fingerprint};
use legation_policy::provider::{ProviderInquiry, Whose, choose};
use legation_policy::{
    Arguments, Decision, DefinitionHash, Grant, GrantId, GrantIndex, GrantScope, Inquiry, Policy,
    Rung, Target, Verb,
};

use super::ask::target;
use super::world::{self, NOW_MS};

/// Everything an organisation can say. The first half speaks of servers, the
/// second of models.
const ORGANISATION: &str = r#"version = 1
bypass_modes = true
disabled_servers = ["broker"]
disabled_tools = ["files/write_file", "desk/mail_move"]

[[allow]]
command = ["npx", "-y", "files-server"]
[[allow]]
url = "https://books.example.com/mcp"

[models]
allowed = ["azure_openai", "openai_direct", "local_model"]
disabled = ["openai_direct"]
"#;

fn policy(organisation: &str) -> Policy {
    let mut sources = world::sources();
    sources.enterprise = vec![FileText::Text(organisation.to_owned())];
    world::load(&sources)
}

/// How a call of the owner's is decided.
fn decide(policy: &Policy, target: Target, grants: &GrantIndex, call: &Call<'_>) -> Decision {
    let principal = Principal {
        client: ClientId::new(call.client),
        via: Via::Http,
    };
    let arguments = Arguments::new(call.arguments);
    let inquiry = Inquiry {
        principal: &principal,
        on_behalf_of: None,
        seat: &SeatId::new(call.seat),
        workspace: call.folder.map(std::path::Path::new),
        labels: &EntityLabels::none(),
        arguments: Some(&arguments),
        sent_to: None,
        unredacted_phi: None,
        confidence: None,
        certified: false,
        grants,
        now_ms: call.now_ms,
    };
    policy.decide(&inquiry, target)
}

fn words(decision: &Decision) -> String {
    match decision {
        Decision::Permitted(permitted) => match permitted.grant() {
            Some(grant) => format!("{} {} under {grant}", permitted.rung(), permitted.rule()),
            None => format!("{} {}", permitted.rung(), permitted.rule()),
        },
        Decision::Ask(asked) => format!("ask:{} {}", asked.kind.as_str(), asked.rule),
        Decision::Denied(denied) => format!("deny {}: {}", denied.rule, denied.reason),
    }
}

/// What is asked of the organisation's policy, one line each.
fn asked(policy: &Policy) -> String {
    let mut text = String::new();
    let started = [
        (
            "as allowed",
            Fingerprint::of_command(&["npx", "-y", "files-server"]),
        ),
        (
            "with more",
            Fingerprint::of_command(&["npx", "-y", "files-server", "/"]),
        ),
        (
            "at the address",
            Fingerprint::of_url("https://books.example.com/mcp"),
        ),
        (
            "elsewhere",
            Fingerprint::of_url("https://books.example.org/mcp"),
        ),
    ];
    let none = GrantIndex::none();
    for tool in [
        "files/read_file",
        "files/write_file",
        "broker/quote",
        "books/pay_invoice",
        "desk/mail_list",
        "desk/mail_move",
    ] {
        let mut shapes: Vec<(&str, Option<Fingerprint>)> = vec![("unknown", None)];
        shapes.extend(started.map(|(how, fingerprint)| (how, Some(fingerprint))));
        for (how, fingerprint) in shapes {
            let mut target = target(tool);
            if target.native.is_some() && fingerprint.is_some() {
                continue;
            }
            target.fingerprint = fingerprint;
            let call = Call {
                arguments: r#"{"profile_id":"harbor"}"#,
                ..Call::default()
            };
            let said = words(&decide(policy, target, &none, &call));
            writeln!(text, "{tool} {how}: {said}").expect("a String takes all");
        }
    }
    for (entity, job) in [
        ("harbor", None),
        ("harbor", Some("hook")),
        ("meadow", None),
        ("quarry", None),
    ] {
        let labels: EntityLabels = [EntityId::new(entity)].into_iter().collect();
        let inquiry = ProviderInquiry {
            whose: Whose::Labels(&labels),
            job,
            copilot_token: true,
            now_ms: NOW_MS,
        };
        let said = match choose(policy.governance(), &inquiry).outcome {
            Ok(chosen) => chosen.provider.to_string(),
            Err(blocked) => blocked.reason_code.to_string(),
        };
        writeln!(
            text,
            "model for {entity}, {}: {said}",
            job.unwrap_or("any job")
        )
        .expect("a String takes all");
    }
    writeln!(text, "asking less: {}", policy.allows_bypass()).expect("a String takes all");
    text
}

#[test]
fn the_organisation_takes_away_as_it_is_written_down() {
    let mut text = asked(&policy(ORGANISATION));
    for (name, organisation) in [
        (
            "no third parties",
            "version = 1\nthird_party_servers = false\n",
        ),
        ("an empty list", "version = 1\nallow = []\n"),
        ("a file that breaks", "version = 1\nallow = 3\n"),
    ] {
        write!(text, "== {name}\n{}", asked(&policy(organisation))).expect("a String takes all");
    }
    expect_file!["organisation.txt"].assert_eq(&text);
}

/// Each member and item gone, and each flag turned round.
#[test]
fn nothing_can_go_from_the_organisations_policy() {
    let base = asked(&policy(ORGANISATION));
    let lines: Vec<&str> = ORGANISATION.lines().collect();
    let mut tried = 0;
    let mut survivors = Vec::new();
    let mut mutate = |what: &str, text: &str| {
        tried += 1;
        if asked(&policy(text)) == base {
            survivors.push(what.to_owned());
        }
    };
    for line in lines.iter().filter(|line| line.contains('=')) {
        mutate(line, &ORGANISATION.replacen(&format!("{line}\n"), "", 1));
        let Some((key, list)) = line.split_once(" = [") else {
            continue;
        };
        let items: Vec<&str> = list.trim_end_matches(']').split(", ").collect();
        for gone in 0..items.len() {
            let mut fewer = items.clone();
            let item = fewer.remove(gone);
            let text = ORGANISATION.replacen(line, &format!("{key} = [{}]", fewer.join(", ")), 1);
            mutate(&format!("{key} without {item}"), &text);
        }
    }
    for (flag, turned) in [("true", "false"), ("version = 1", "version = 2")] {
        mutate(flag, &ORGANISATION.replacen(flag, turned, 1));
    }
    let block = "[[allow]]\ncommand = [\"npx\", \"-y\", \"files-server\"]\n";
    mutate("an allowed server", &ORGANISATION.replacen(block, "", 1));
    // One provider that another list takes out anyway may go from the first.
    survivors.retain(|what| what != "allowed without \"openai_direct\"");
    assert_eq!(
        survivors,
        Vec::<String>::new(),
        "nothing shows that these are gone"
    );
    assert!(tried >= 18, "{tried}");
}

/// What can differ from one call to the next.
#[derive(Clone, Copy)]
struct Call<'a> {
    client: &'a str,
    seat: &'a str,
    folder: Option<&'a str>,
    arguments: &'a str,
    now_ms: i64,
}

impl Default for Call<'_> {
    fn default() -> Self {
        Self {
            client: "owner",
            seat: "seat",
            folder: Some("/home/sam/ledger"),
            arguments: r#"{"profile_id":"harbor","to":"Sam"}"#,
            now_ms: NOW_MS,
        }
    }
}

const ASKED: &str = r#"
[[rule]]
id = "files.asked"
rule = 'ask files/read_file for always because "it is tried"'
[[rule]]
id = "books.asked"
rule = 'ask books/pay_invoice because "it is tried"'
"#;

fn grant(policy: &Policy, change: impl FnOnce(&mut Grant)) -> Grant {
    let mut grant = Grant {
        id: GrantId::new("g"),
        client: ClientId::new("owner"),
        on_behalf_of: None,
        server: ServerName::parse("files").expect("a name"),
        item: "read_file".into(),
        verb: Verb::CallTool,
        definition: Some(DefinitionHash([7; 32])),
        args_digest: Some(Arguments::new(Call::default().arguments).digest()),
        entity: EntityId::new("harbor"),
        rung: Rung::Execute,
        policy_version: Some(policy.version()),
        scope: GrantScope::Always,
        seat: Some(SeatId::new("seat")),
        workspace: Some("/home/sam/ledger".into()),
        expires_ms: Some(NOW_MS + 1),
        uses_left: Some(1),
        approver: "owner".into(),
    };
    change(&mut grant);
    grant
}

type Change = fn(&mut Grant);

fn reading(change: impl FnOnce(&mut Target)) -> Target {
    let mut target = Target {
        definition: Some(DefinitionHash([7; 32])),
        ..target("files/read_file")
    };
    change(&mut target);
    target
}

/// The files in which rules ask about what the grants are for.
fn asking() -> Policy {
    let mut sources = world::sources();
    let rules = world::text(&sources.permissions).to_owned();
    sources.permissions = FileText::Text(format!("{rules}{ASKED}"));
    world::load(&sources)
}

fn outcome(policy: &Policy, change: Change, target: Target, call: &Call<'_>) -> String {
    let index = GrantIndex::new([grant(policy, change)], 1);
    words(&decide(policy, target, &index, call))
}

/// What differs, the call, and the grant that does not speak of it.
fn differing() -> Vec<(&'static str, Target, Call<'static>, Option<Change>)> {
    let call = Call::default();
    let read = || reading(|_| {});
    let with = |change: fn(&mut Call<'static>)| {
        let mut call = Call::default();
        change(&mut call);
        call
    };
    let quarry = with(|one| one.arguments = r#"{"profile_id":"quarry","to":"Sam"}"#);
    let to_kim = with(|one| one.arguments = r#"{"profile_id":"harbor","to":"Kim"}"#);
    let changed = reading(|one| one.definition = Some(DefinitionHash([8; 32])));
    vec![
        ("client", read(), with(|one| one.client = "claude"), None),
        ("server", target("books/pay_invoice"), call, None),
        (
            "item",
            reading(|one| one.item = "write_file".into()),
            call,
            None,
        ),
        (
            "verb",
            reading(|one| one.verb = Verb::TaskUpdate),
            call,
            None,
        ),
        ("entity", read(), quarry, None),
        (
            "definition",
            changed,
            call,
            Some(|one| one.definition = None),
        ),
        (
            "arguments",
            read(),
            to_kim,
            Some(|one| one.args_digest = None),
        ),
        (
            "seat",
            read(),
            with(|one| one.seat = "other"),
            Some(|one| one.seat = None),
        ),
        (
            "folder",
            read(),
            with(|one| one.folder = Some("/home/sam")),
            Some(|one| one.workspace = None),
        ),
        (
            "no folder",
            read(),
            with(|one| one.folder = None),
            Some(|one| one.workspace = None),
        ),
        (
            "time",
            read(),
            with(|one| one.now_ms = NOW_MS + 1),
            Some(|one| one.expires_ms = None),
        ),
    ]
}

/// Grants that are worth nothing, whatever the call.
const WORTHLESS: [(&str, Change); 7] = [
    ("used up", |one| one.uses_left = Some(0)),
    ("other rules", |one| one.policy_version = Some(1)),
    ("a lower rung", |one| one.rung = Rung::Draft),
    ("once without arguments", |one| {
        (one.scope, one.args_digest) = (GrantScope::Once, None);
    }),
    ("a session without its seat", |one| {
        (one.scope, one.seat) = (GrantScope::Session, None);
    }),
    ("a folder without its name", |one| {
        (one.scope, one.workspace) = (GrantScope::Here, None);
    }),
    ("a time without its end", |one| {
        (one.scope, one.expires_ms) = (GrantScope::Until, None);
    }),
];

/// A call that differs in one attribute is not covered; a grant without that
/// attribute covers it.
#[test]
fn each_attribute_of_a_grant_narrows_it() {
    let policy = asking();
    let call = Call::default();
    let whole = outcome(&policy, |_| {}, reading(|_| {}), &call);
    assert!(whole.ends_with(" under g"), "{whole}");
    for (what, target, call, without) in differing() {
        let said = outcome(&policy, |_| {}, target.clone(), &call);
        assert!(!said.ends_with(" under g"), "{what}: {said}");
        if let Some(without) = without {
            let said = outcome(&policy, without, target, &call);
            assert!(said.ends_with(" under g"), "without {what}: {said}");
        }
    }
    for (what, change) in WORTHLESS {
        let said = outcome(&policy, change, reading(|_| {}), &call);
        assert_eq!(said, "ask:permission files.asked", "{what}");
    }
    // No answer lifts what is refused.
    let banned = outcome(
        &policy,
        |one| {
            (one.server, one.item) = (
                ServerName::parse("broker").expect("a name"),
                "wire_funds".into(),
            )
        },
        target("broker/wire_funds"),
        &call,
    );
    assert!(banned.starts_with("deny ban."), "{banned}");
}
