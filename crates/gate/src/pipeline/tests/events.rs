//! What is on record beside a call, and for whom a call was made.

use std::collections::BTreeSet;

use legation_core::clock::ManualClock;
use legation_core::{SharedClock, Wall};
use legation_keystore::{Keystore, Pin};
use legation_policy::governance::{FileText, Template};
use legation_policy::registry::{EventName, Producer};

use super::asking::{asking, certifying, code};
use super::*;
use crate::approval::Answer;
use crate::stage::delegate::{CONFIDENCE, Delegation, ON_BEHALF_OF};

impl Bench {
    /// Every record, as it is.
    pub(super) fn records(&self) -> Vec<serde_json::Value> {
        run(self.gate.settle()).expect("recorded");
        run(self.ledger.flush()).expect("flushed");
        let entries = self.ledger.tail(10_000).expect("read");
        entries
            .iter()
            .map(|entry| serde_json::from_str(&entry.text).expect("a record"))
            .collect()
    }

    /// The events that are no calls, and what came of each.
    pub(super) fn topics(&self) -> Vec<String> {
        let records = self.records();
        let notes = records.iter().filter(|record| record["kind"] == "note");
        notes
            .map(|note| {
                let word = |member: &str| note[member].as_str().unwrap_or_default().to_owned();
                assert_eq!(word("topic"), word("event"), "{note}");
                format!("{} {}", word("event"), word("governance_result"))
            })
            .collect()
    }
}

/// Notes the events of a hub's records, each with all of its fields.
pub(super) fn look(seen: &mut BTreeSet<EventName>, bench: &Bench) {
    for record in bench.records() {
        let Some(event) = record["event"].as_str() else {
            continue;
        };
        let event = EventName::parse(event).expect("an event of the registry");
        for field in event.fields() {
            let name = field.as_str();
            let there = match name {
                // Every record has these under the names of its own form.
                "timestamp" => record["at"].is_string(),
                "entity_context" => record["labels"].is_array() || record["entity"].is_string(),
                "tool_name" => record["item"].is_string() || record["tool_name"].is_string(),
                // The outcome has them.
                "execution_time_ms" | "provider_used" => record["kind"] != "note",
                _ => record[name].is_string(),
            };
            assert!(there, "{event} has no {name}: {record}");
        }
        seen.insert(event);
    }
}

/// Approvals and grants of every end but expiry, and every act there is.
fn approvals_and_acts(seen: &mut BTreeSet<EventName>) {
    let bench = bench(asking());
    let answers = [
        ("a", Answer::Once),
        ("b", Answer::Deny),
        ("c", Answer::Always),
    ];
    for (to, answer) in answers {
        bench.send(to).expect_err("it waits");
        bench.say(answer);
    }
    let approvals = &bench.gate.asking().approvals;
    let grants = approvals.grants();
    let removed = approvals.grant_remove(&grants[0].grant.id);
    assert!(removed.expect("removed"));
    bench.send("d").expect_err("it waits");
    bench.gate.set_rules(personal());
    for item in [
        Item::Tool("files-read".into()),
        Item::Resource("files-read".into()),
        Item::Prompt("files-read".into()),
        Item::PromptArgument("files-read".into()),
    ] {
        let mut request = request("files-read");
        request.item = item;
        run(bench.gate.call(&context("claude"), request)).expect("called");
    }
    let cancel = run(bench.gate.task(
        &context("claude"),
        TaskHandle::new("of-files-read"),
        TaskVerb::Cancel,
        Arc::new(Nobody::default()),
    ));
    cancel.expect("cancelled");
    look(seen, &bench);
    let records = bench.records();
    let outcome = records.iter().find(|one| one["kind"] == "outcome");
    let outcome = outcome.expect("an outcome");
    assert_eq!(outcome["provider_used"], "none");
    assert!(outcome["execution_time_ms"].is_number(), "{outcome}");
}

/// Proposals of every end but expiry.
fn proposals(seen: &mut BTreeSet<EventName>) {
    let bench = bench(certifying());
    let plan = |to: &str| {
        bench.send(to).expect_err("it is proposed");
        bench.gate.asking().proposals.list().pop().expect("a plan")
    };
    let proposals = &bench.gate.asking().proposals;
    let first = plan("a");
    let keys = Keystore::open(&bench._dir.path().join("keys")).expect("a keystore");
    let (pin, now) = (Pin::new(&keys), SystemClock::shared().wall());
    pin.set(None, "correct horse", now).expect("set");
    let proof = pin.verify("correct horse", now).expect("a person");
    let certified = proposals.certify(&first.id, &first.digest, &proof);
    certified.expect("certified");
    assert_eq!(code(&bench.send("a")), "done");
    proposals.reject(&plan("b").id).expect("rejected");
    plan("c");
    bench.gate.set_rules(personal());
    look(seen, &bench);
}

/// What expires.
fn expiry(seen: &mut BTreeSet<EventName>) {
    let clock = ManualClock::at(Wall(1_800_000_000_000));
    let clock = Arc::new(clock);
    for rules in [asking(), certifying()] {
        let dir = tempfile::tempdir().expect("a folder");
        let bench = bench_in(dir, rules, &(Arc::clone(&clock) as SharedClock));
        bench.send("a").expect_err("it waits");
        clock.advance(std::time::Duration::from_hours(24));
        bench.gate.sweep();
        look(seen, &bench);
    }
}

/// A server asks for a model.
fn sampling(seen: &mut BTreeSet<EventName>) {
    let bench = bench(asking());
    let target = Target {
        verb: Verb::Sample,
        ..OneServer::target(&Item::Tool("files-read".into()))
    };
    let ask = Ask {
        method: "sampling/createMessage".into(),
        params: Raw::empty_object(),
    };
    let context = context("claude");
    let sampled = bench.gate.sample(
        &context,
        (target, &Delegation::NONE),
        Arc::new(Nobody::default()),
        ask,
    );
    drop(run(sampled));
    look(seen, &bench);
}

#[test]
fn every_event_that_the_gate_is_to_record_is_recorded_with_its_fields() {
    let mut seen = BTreeSet::new();
    approvals_and_acts(&mut seen);
    proposals(&mut seen);
    expiry(&mut seen);
    sampling(&mut seen);
    super::desk::replies(&mut seen);
    let wanted: BTreeSet<EventName> = EventName::ALL
        .iter()
        .copied()
        .filter(|event| event.producer() == Producer::Gate)
        .collect();
    assert_eq!(seen, wanted);
}

#[test]
fn a_plain_call_leaves_two_records() {
    let bench = bench(personal());
    for _ in 0..5 {
        run(bench.gate.call(&context("claude"), request("files-read"))).expect("called");
    }
    assert_eq!(bench.records().len(), 10);
}

/// The personal template, in which one client may do nothing and one tool takes
/// a caller that is sure of itself.
fn delegating() -> Policy {
    let mut sources = Template::Personal.sources();
    let FileText::Text(roles) = &sources.role_cards else {
        panic!("the template has roles");
    };
    let mut roles: serde_json::Value = serde_json::from_str(roles).expect("JSON");
    roles["roles"]["nothing"] = serde_json::json!({ "operations": ["hub/servers"] });
    roles["clients"]["intern"] = "nothing".into();
    sources.role_cards = FileText::Text(roles.to_string());
    let FileText::Text(ladder) = &sources.autonomy_ladder else {
        panic!("the template has a ladder");
    };
    let mut ladder: serde_json::Value = serde_json::from_str(ladder).expect("JSON");
    let categories = ladder["action_categories"]
        .as_array_mut()
        .expect("categories");
    categories.push(serde_json::json!({
        "action": "sending", "mode": "autonomous", "confidence_threshold": 0.8,
        "tools": ["files/send"]
    }));
    sources.autonomy_ladder = FileText::Text(ladder.to_string());
    let files = ServerName::parse("files").expect("a name");
    let mut known = KnownTool::server_only(files, true);
    known.item = Some("send".into());
    Policy::load(&sources, &[known])
}

#[test]
fn a_delegated_call_is_judged_as_both_and_recorded_as_such() {
    let bench = bench(delegating());
    let call = |tool: &str, meta: serde_json::Value| {
        let mut request = request(tool);
        request.params.set("_meta", Raw::from_serialize(&meta));
        run(bench.gate.call(&context("claude"), request))
    };
    let on = |client: &str| serde_json::json!({ ON_BEHALF_OF: client, "trace": 1 });
    assert_eq!(code(&call("files-read", on("chief"))), "done");
    let seen = bench.records();
    assert_eq!(seen[0]["on_behalf_of"], "chief");
    let told = bench.servers.told.lock().expect("whole").clone();
    assert_eq!(told.expect("it was told").client.as_str(), "chief");
    let denied = call("files-read", on("intern")).expect_err("the delegator may not");
    assert_eq!(denied.reason_code().as_str(), "ROLE_CARD_BLOCK");
    let last = bench.records().pop().expect("a record");
    assert_eq!(
        (&last["kind"], &last["on_behalf_of"]),
        (&"refused".into(), &"intern".into())
    );
    let malformed = call("files-read", serde_json::json!({ ON_BEHALF_OF: 7 }));
    assert_eq!(code(&malformed), "DELEGATION_DENIED");
    assert_eq!(
        malformed.expect_err("refused").rule(),
        "delegation.malformed"
    );
    // How sure the caller is.
    for (sure, wanted) in [(Some(0.9), "done"), (Some(0.5), "other"), (None, "other")] {
        let meta = sure.map_or(
            serde_json::json!({}),
            |sure| serde_json::json!({ CONFIDENCE: sure }),
        );
        let end = call("files-send", meta);
        assert_eq!(code(&end) == "done", wanted == "done", "{sure:?}: {end:?}");
    }
    let sure = bench
        .records()
        .into_iter()
        .find(|one| one["confidence"].is_number());
    assert_eq!(sure.expect("a record")["confidence"], 0.9);
}
