//! Decisions as data: each layer's table, both templates' matrices, what never
//! may happen whatever the rules, and the pattern language against a naive
//! reference.

mod globs;
mod layers;
mod permissions;
mod properties;
mod replay;
mod templates;

use legation_core::context::{Principal, Via};
use legation_core::{ClientId, EntityId, EntityLabels, SeatId, ServerName};

use crate::governance::{FileText, Sources, Template};
use crate::{
    Arguments, Decision, GrantIndex, Inquiry, KnownTool, NativeTool, Origin, PinState, Policy,
    Target, Verb,
};

fn principal(client: &str) -> Principal {
    Principal {
        client: ClientId::new(client),
        via: Via::Http,
    }
}

fn target(server: &str, verb: Verb, item: &str) -> Target {
    Target {
        server: ServerName::parse(server).expect("a valid server name"),
        verb,
        item: item.into(),
        definition: None,
        read_only_hint: false,
        trusted: true,
        origin: Origin::User,
        entity: None,
        pin: PinState::Approved,
        native: None,
        fingerprint: None,
    }
}

/// A tool of the hub's own.
fn native(server: &str, item: &str, drafts: bool) -> Target {
    Target {
        origin: Origin::Builtin,
        native: Some(NativeTool {
            changes: true,
            drafts,
        }),
        ..target(server, Verb::CallTool, item)
    }
}

fn labels(names: &[&str]) -> EntityLabels {
    names.iter().map(|name| EntityId::new(*name)).collect()
}

/// What a test asks; everything else is empty.
struct Probe<'a> {
    policy: &'a Policy,
    client: &'a str,
    for_whom: Option<&'a str>,
    holds: &'a [&'a str],
    arguments: &'a str,
    sent_to: Option<&'a str>,
    confidence: Option<f64>,
    certified: bool,
    workspace: Option<&'a str>,
    grants: GrantIndex,
    now_ms: i64,
}

impl<'a> Probe<'a> {
    fn new(policy: &'a Policy, client: &'a str) -> Self {
        Self {
            policy,
            client,
            for_whom: None,
            holds: &[],
            arguments: "{}",
            sent_to: None,
            confidence: None,
            certified: false,
            workspace: None,
            grants: GrantIndex::none(),
            now_ms: 0,
        }
    }

    fn ask(&self, target: Target) -> Decision {
        let seat = SeatId::new("seat");
        let agent = principal(self.client);
        let delegator = self.for_whom.map(principal);
        let labels = labels(self.holds);
        let arguments = Arguments::new(self.arguments);
        let inquiry = Inquiry {
            principal: &agent,
            on_behalf_of: delegator.as_ref(),
            seat: &seat,
            workspace: self.workspace.map(std::path::Path::new),
            labels: &labels,
            arguments: Some(&arguments),
            sent_to: self.sent_to,
            unredacted_phi: None,
            confidence: self.confidence,
            certified: self.certified,
            grants: &self.grants,
            now_ms: self.now_ms,
        };
        let explained = self.policy.explain(&inquiry, &target);
        let decision = self.policy.decide(&inquiry, target.clone());
        // The second answer may come from memory; it is the same.
        let again = self.policy.decide(&inquiry, target);
        assert_eq!(words(&decision), words(&again));
        let outcome = match &decision {
            Decision::Permitted(_) => "passes",
            Decision::Ask(_) => "asks",
            Decision::Denied(_) => "denies",
        };
        assert_eq!(explained.outcome.as_str(), outcome, "{explained:#?}");
        decision
    }

    /// The decision in a few words.
    fn words(&self, target: Target) -> String {
        words(&self.ask(target))
    }
}

fn words(decision: &Decision) -> String {
    match decision {
        Decision::Permitted(permitted) => {
            let reads = if permitted.reads_only() { " reads" } else { "" };
            format!(
                "{} {} @{}{reads}",
                permitted.rung(),
                permitted.rule(),
                permitted.entity()
            )
        }
        Decision::Ask(asked) => format!(
            "ask {} {} @{}",
            asked.kind.as_str(),
            asked.rule,
            asked.entity
        ),
        Decision::Denied(denied) => format!("deny {} {}", denied.rule, denied.reason_code),
    }
}

/// The personal template with other permission rules.
fn personal_with(rules: &str, tools: &[KnownTool]) -> Policy {
    let mut sources = Template::Personal.sources();
    sources.permissions = FileText::Text(format!("version = 2\n{rules}"));
    Policy::load(&sources, tools)
}

/// `[[rule]]`s with ids `r0`, `r1`, ….
fn rules(lines: &[&str]) -> String {
    lines
        .iter()
        .enumerate()
        .map(|(at, line)| format!("[[rule]]\nid = \"r{at}\"\nrule = '''{line}'''\n"))
        .collect()
}

fn known(names: &[&str]) -> Vec<KnownTool> {
    names
        .iter()
        .map(|name| {
            let (server, item) = name.split_once('/').expect("server/tool");
            KnownTool {
                server: ServerName::parse(server).expect("a name"),
                item: Some(item.into()),
                verb: Verb::CallTool,
                schema: None,
                trusted: true,
                native: None,
            }
        })
        .collect()
}

fn nothing() -> Sources {
    Sources::nothing()
}
