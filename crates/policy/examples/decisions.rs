//! What a decision costs: 50 Cedar policies, 200 permission rules and 5,000
//! grants, on the personal template and on the business one with its bans.
//!
//! `decisions [ROUNDS]` prints one JSON object a line: what was decided, and the
//! median and the 99th percentile in microseconds.

use std::io::Write as _;
use std::time::Duration;

use legation_core::context::{Principal, Via};
use legation_core::{
    ClientId, EntityId, EntityLabels, SeatId, ServerName, SharedClock, SystemClock,
};
use legation_policy::governance::{FileText, Severity, Sources, Template};
use legation_policy::{
    Arguments, Decision, DefinitionHash, Grant, GrantId, GrantIndex, GrantScope, Inquiry,
    KnownTool, Origin, PinState, Policy, Rung, Target, Verb,
};

const POLICIES: usize = 50;
const RULES: usize = 200;
const GRANTS: usize = 5_000;
const SERVERS: usize = 20;
const TOOLS: usize = 10;
/// Decisions that are timed as one, so that the clock's own cost is small.
const BATCH: u32 = 16;

const SCHEMA: &str = r#"{"type":"object","properties":{"path":{"type":"string"},"amount":{"type":"integer"},"note":{"type":"string"},"to":{"type":"array","items":{"type":"string"}}}}"#;

/// One series: which tool of every server is called and how, and what must come
/// of it.
struct Series<'a> {
    what: &'static str,
    policy: &'a Policy,
    tool: usize,
    arguments: &'a str,
    wanted: fn(&Decision) -> bool,
}

fn main() {
    let rounds: usize = std::env::args()
        .nth(1)
        .and_then(|text| text.parse().ok())
        .unwrap_or(4_000);
    let clock = SystemClock::shared();
    let (personal, business) = (load(Template::Personal), load(Template::Business));
    let grants = grants();
    let small = r#"{"path":"/home/sam/notes/today.md","amount":12}"#;
    let long = arguments();
    let permitted = |decision: &Decision| matches!(decision, Decision::Permitted(_));
    let of = |what, policy, tool, arguments, wanted| Series {
        what,
        policy,
        tool,
        arguments,
        wanted,
    };
    for series in [
        of("cached", &personal, 1, small, permitted),
        of("rules read arguments", &personal, 0, &*long, permitted),
        of("under a grant", &personal, 2, &*long, by_grant),
        of(
            "rules and bans read arguments",
            &business,
            0,
            &*long,
            permitted,
        ),
    ] {
        measure(&series, &grants, rounds, &clock);
    }
}

fn by_grant(decision: &Decision) -> bool {
    match decision {
        Decision::Permitted(permitted) => permitted.grant().is_some(),
        Decision::Ask(_) | Decision::Denied(_) => false,
    }
}

/// Times every decision of a series, and prints the middle.
fn measure(series: &Series<'_>, grants: &GrantIndex, rounds: usize, clock: &SharedClock) {
    let principal = Principal {
        client: ClientId::new("claude"),
        via: Via::Socket,
    };
    let (seat, labels) = (SeatId::new("seat"), EntityLabels::none());
    let mut took: Vec<Duration> = Vec::with_capacity(rounds);
    for round in 0..rounds + rounds / 10 {
        let target = target(round % SERVERS, series.tool);
        let calls: Vec<(Target, Arguments<'_>)> = (0..BATCH)
            .map(|_| (target.clone(), Arguments::new(series.arguments)))
            .collect();
        let mut decisions = Vec::with_capacity(calls.len());
        let start = clock.now();
        for (target, arguments) in calls {
            let inquiry = Inquiry {
                principal: &principal,
                on_behalf_of: None,
                seat: &seat,
                workspace: None,
                labels: &labels,
                arguments: Some(&arguments),
                sent_to: None,
                unredacted_phi: None,
                confidence: None,
                certified: false,
                grants,
                now_ms: 1_795_219_200_000,
            };
            decisions.push(series.policy.decide(&inquiry, target));
        }
        let elapsed = clock.now() - start;
        for decision in &decisions {
            assert!((series.wanted)(decision), "{}: {decision:?}", series.what);
        }
        // The first fill the caches.
        if round >= rounds / 10 {
            took.push(elapsed / BATCH);
        }
    }
    took.sort_unstable();
    let micros = |at: usize| took[at].as_secs_f64() * 1e6;
    let (p50, p99) = (micros(took.len() / 2), micros(took.len() * 99 / 100));
    let what = series.what;
    let line = format!("{{\"what\":{what:?},\"p50_us\":{p50:.3},\"p99_us\":{p99:.3}}}\n");
    let mut out = std::io::stdout();
    out.write_all(line.as_bytes()).expect("standard output");
}

fn server(at: usize) -> ServerName {
    ServerName::parse(&format!("server-{at}")).expect("a name")
}

fn target(at: usize, tool: usize) -> Target {
    Target {
        server: server(at),
        verb: Verb::CallTool,
        item: format!("tool_{tool}").into(),
        definition: Some(DefinitionHash([u8::try_from(tool).expect("few tools"); 32])),
        read_only_hint: false,
        trusted: true,
        origin: Origin::User,
        entity: Some(EntityId::new("personal")),
        pin: PinState::Approved,
        native: None,
        fingerprint: None,
    }
}

/// About a kilobyte, as an agent would send it.
fn arguments() -> String {
    let note = "The numbers of the last quarter are in the folder. ".repeat(18);
    format!(
        r#"{{"path":"/home/sam/notes/quarter.md","amount":120,"to":["sam@example.com"],"note":"{note}"}}"#
    )
}

/// The template with so many policies and rules more.
fn load(template: Template) -> Policy {
    let mut sources = template.sources();
    sources.cedar = FileText::Text(cedar());
    sources.permissions = FileText::Text(rules());
    if template == Template::Business {
        open(&mut sources);
    }
    let policy = Policy::load(&sources, &known());
    let errors = policy.problems().iter();
    let errors: Vec<_> = errors
        .filter(|one| one.severity == Severity::Error)
        .collect();
    assert!(errors.is_empty(), "{errors:?}");
    policy
}

/// Lets the measured client call the measured tools: what refuses at once would
/// be measured too fast.
fn open(sources: &mut Sources) {
    let change = |file: &FileText, change: &dyn Fn(&mut serde_json::Value)| {
        let FileText::Text(text) = file else {
            panic!("the template has all its files");
        };
        let mut value = serde_json::from_str(text).expect("the template is JSON");
        change(&mut value);
        FileText::Text(value.to_string())
    };
    sources.role_cards = change(&sources.role_cards, &|value| {
        value["clients"]["claude"] = "owner".into();
        value["roles"]["owner"]["operations"] = serde_json::json!(["*"]);
    });
    sources.operator_profile = change(&sources.operator_profile, &|value| {
        let all = serde_json::json!({ "entities": "all", "phi": true });
        value["client_clearances"]["claude"] = all;
    });
    sources.autonomy_ladder = change(&sources.autonomy_ladder, &|value| {
        let measured = serde_json::json!({
            "action": "Measured", "mode": "autonomous", "tools": ["server-*/*"],
        });
        let categories = value["action_categories"].as_array_mut();
        categories.expect("categories").push(measured);
    });
}

/// One policy permits; the others forbid what is not asked, a fifth of them by
/// the arguments of one tool.
fn cedar() -> String {
    let mut text = String::from("@id(\"all\") permit(principal, action, resource);\n");
    for at in 1..POLICIES {
        let server = at % SERVERS;
        let policy = match at % 5 {
            0 => format!(
                "forbid(principal, action in Action::\"server-{server}/tool_0\", resource) \
                 when {{ context.input has amount && context.input.amount > 100000 }};"
            ),
            1 => format!("forbid(principal == Client::\"visitor-{at}\", action, resource);"),
            2 => format!(
                "forbid(principal, action in Action::\"execute\", resource == Server::\"closed-{at}\");"
            ),
            3 => format!(
                "forbid(principal, action, resource) \
                 when {{ context.labels.contains(\"entity-{at}\") }};"
            ),
            _ => format!(
                "forbid(principal, action, resource) \
                 when {{ context.delegated && context.tool == \"server-{server}/tool_9\" }};"
            ),
        };
        text.push_str(&format!("@id(\"p{at}\") {policy}\n"));
    }
    text
}

/// Ten rules about each server: one allows it, one asks about one tool, three
/// read the arguments of others.
fn rules() -> String {
    let mut text = String::from("version = 2\n");
    for at in 0..RULES {
        let (server, kind) = (at % SERVERS, at / SERVERS);
        let rule = match kind {
            0 => format!("allow server-{server}/*"),
            1 => format!("deny server-{server}/tool_0 where /path prefix /etc"),
            2 => format!("ask server-{server}/tool_0 where /amount >= 100000"),
            3 => format!("ask server-{server}/tool_2 for always"),
            4 => format!("deny server-{server}/tool_9 client visitor"),
            5 => format!("deny server-{server}/tool_8 entity personal rung execute"),
            6 => format!("reads server-{server}/tool_7"),
            7 => format!("deny server-{server}/tool_6 verb resources/read"),
            8 => format!("ask server-{server}/tool_5 client \"co*\""),
            _ => format!("deny server-{server}/tool_4 where /note glob \"*secret*\""),
        };
        text.push_str(&format!("[[rule]]\nid = \"r{at}\"\nrule = '{rule}'\n"));
    }
    text
}

fn known() -> Vec<KnownTool> {
    let all = (0..SERVERS).flat_map(|at| (0..TOOLS).map(move |tool| (at, tool)));
    let tool = |(at, tool)| KnownTool {
        item: Some(format!("tool_{tool}").into()),
        schema: Some(SCHEMA.into()),
        ..KnownTool::server_only(server(at), true)
    };
    all.map(tool).collect()
}

/// The measured client has one for each server, all others are of fifty clients.
fn grants() -> GrantIndex {
    let grant = |at: usize| {
        let own = at < SERVERS;
        let (client, tool) = if own {
            ("claude".to_owned(), 2)
        } else {
            (format!("client-{}", at % 50), at / SERVERS % TOOLS)
        };
        Grant {
            id: GrantId::new(format!("grant-{at}")),
            client: ClientId::new(client),
            on_behalf_of: None,
            server: server(at % SERVERS),
            item: format!("tool_{tool}").into(),
            verb: Verb::CallTool,
            definition: None,
            args_digest: None,
            entity: EntityId::new("personal"),
            rung: Rung::Execute,
            policy_version: None,
            scope: GrantScope::Always,
            seat: None,
            workspace: None,
            expires_ms: None,
            uses_left: None,
            approver: "owner".into(),
        }
    };
    GrantIndex::new((0..GRANTS).map(grant), 1)
}
