//! Calls that a rule has a person asked about.

use legation_core::{ApprovalId, ProposalId};
use legation_keystore::{Keystore, Pin};
use legation_policy::governance::{FileText, Template};

use super::*;
use crate::approval::{Answer, Channel};

/// The personal template, in which `files/send` asks.
pub(super) fn asking() -> Policy {
    let mut sources = Template::Personal.sources();
    let FileText::Text(rules) = &mut sources.permissions else {
        panic!("the template has rules");
    };
    rules.push_str(
        "\n[[rule]]\nid = \"send-asks\"\nrule = 'ask files/send because \"it leaves\"'\n",
    );
    let files = ServerName::parse("files").expect("a name");
    Policy::load(&sources, &[KnownTool::server_only(files, true)])
}

pub(super) fn send(to: &str) -> Request {
    let arguments = Object::new().with("to", Raw::str(to)).to_raw();
    let mut request = request("files-send");
    request.params.set("arguments", arguments);
    request
}

pub(super) fn code(end: &Result<Outcome, Refusal>) -> &'static str {
    match end {
        Ok(_) => "done",
        Err(refusal) => refusal.reason_code().as_str(),
    }
}

impl Bench {
    pub(super) fn send(&self, to: &str) -> Result<Outcome, Refusal> {
        run(self.gate.call(&context("claude"), send(to)))
    }

    pub(super) fn waiting(&self) -> ApprovalId {
        let all = self.gate.asking().approvals.list();
        assert_eq!(all.len(), 1, "{all:?}");
        all[0].id.clone()
    }

    pub(super) fn say(&self, answer: Answer) {
        let id = self.waiting();
        let approvals = &self.gate.asking().approvals;
        approvals
            .answer(&id, answer, Channel::Command)
            .expect("taken");
    }

    pub(super) fn called(&self) -> usize {
        self.servers.calls.load(Ordering::Relaxed)
    }
}

#[test]
fn a_client_that_cannot_be_asked_waits_under_an_id_and_calls_again() {
    let bench = bench(asking());
    let pending = bench.send("a").expect_err("it waits");
    let told = pending.to_tool_result().expect("a model is told");
    let told: serde_json::Value = told.deserialize().expect("JSON");
    let data = &told["structuredContent"];
    assert_eq!(told["isError"], true);
    assert_eq!(data["blocked"], true);
    assert_eq!(data["reason_code"], "APPROVAL_PENDING");
    assert_eq!(data["status"], "pending");
    assert_eq!(data["approval_id"], bench.waiting().as_str());
    assert_eq!(data["blocked_action"], "files/send");
    assert_eq!(data["rule"], "send-asks");
    assert_eq!(code(&bench.send("a")), "APPROVAL_PENDING");
    let same = bench.waiting();
    bench.say(Answer::Once);
    assert_eq!(
        code(&bench.send("b")),
        "APPROVAL_PENDING",
        "other arguments"
    );
    assert_eq!(bench.called(), 0);
    assert_eq!(code(&bench.send("a")), "done");
    assert_eq!(bench.called(), 1);
    assert_eq!(code(&bench.send("a")), "APPROVAL_PENDING", "it was used up");
    assert!(bench.gate.asking().approvals.get(&same).is_none());
}

#[test]
fn a_denial_is_told_and_an_always_holds_for_any_arguments() {
    let bench = bench(asking());
    bench.send("a").expect_err("it waits");
    bench.say(Answer::Deny);
    assert_eq!(code(&bench.send("a")), "APPROVAL_DENIED");
    assert_eq!(bench.called(), 0);
    bench.send("b").expect_err("it waits");
    bench.say(Answer::Always);
    for to in ["b", "c", "d"] {
        assert_eq!(code(&bench.send(to)), "done", "{to}");
    }
    assert_eq!(bench.called(), 3);
    let grants = bench.gate.asking().approvals.grants();
    let removed = bench
        .gate
        .asking()
        .approvals
        .grant_remove(&grants[0].grant.id);
    assert!(removed.expect("removed"));
    assert_eq!(code(&bench.send("e")), "APPROVAL_PENDING");
}

#[test]
fn other_rules_void_an_approval_and_it_is_asked_anew() {
    let bench = bench(asking());
    bench.send("a").expect_err("it waits");
    bench.say(Answer::Once);
    let mut sources = Template::Personal.sources();
    if let FileText::Text(rules) = &mut sources.permissions {
        rules.push_str("\n[[rule]]\nid = \"send-asks-too\"\nrule = 'ask files/send'\n");
    }
    let files = ServerName::parse("files").expect("a name");
    let changed = Policy::load(&sources, &[KnownTool::server_only(files, true)]);
    bench.gate.set_rules(changed);
    assert_eq!(code(&bench.send("a")), "APPROVAL_PENDING");
    assert_eq!(bench.called(), 0);
}

#[test]
fn of_a_thousand_calls_with_one_approval_exactly_one_reaches_the_server() {
    let bench = bench(asking());
    bench.send("a").expect_err("it waits");
    bench.say(Answer::Once);
    let context = context("claude");
    let ends = run(futures_util::future::join_all(
        (0..1000).map(|_| bench.gate.call(&context, send("a"))),
    ));
    let done = ends.iter().filter(|end| end.is_ok()).count();
    assert_eq!((done, bench.called()), (1, 1));
    let refused = ends.iter().map(code).filter(|code| *code != "done");
    for code in refused {
        assert!(
            ["APPROVAL_USED", "APPROVAL_PENDING"].contains(&code),
            "{code}"
        );
    }
}

/// The personal template, in which `files/send` has to be certified.
pub(super) fn certifying() -> Policy {
    let mut sources = Template::Personal.sources();
    let FileText::Text(ladder) = &sources.autonomy_ladder else {
        panic!("the template has a ladder");
    };
    let mut ladder: serde_json::Value = serde_json::from_str(ladder).expect("JSON");
    ladder["action_categories"]
        .as_array_mut()
        .expect("categories")
        .push(serde_json::json!({
            "action": "sending", "mode": "propose_certify_apply", "tools": ["files/send"]
        }));
    sources.autonomy_ladder = FileText::Text(ladder.to_string());
    let files = ServerName::parse("files").expect("a name");
    let mut known = KnownTool::server_only(files, true);
    known.item = Some("send".into());
    Policy::load(&sources, &[known])
}

#[test]
fn a_proposal_takes_a_pin_and_is_applied_exactly_so_and_once() {
    let bench = bench(certifying());
    let proposed = bench.send("a").expect_err("it is proposed");
    assert_eq!(proposed.reason_code().as_str(), "CERTIFICATION_REQUIRED");
    let proposals = &bench.gate.asking().proposals;
    let plan = proposals.list().remove(0);
    assert_eq!(&*plan.arguments, r#"{"to":"a"}"#);
    let approvals = &bench.gate.asking().approvals;
    let id = ApprovalId::new(plan.id.as_str());
    for answer in Answer::ALL {
        let said = approvals.answer(&id, answer, Channel::Elicitation);
        assert!(said.is_err(), "no answer certifies: {answer}");
    }
    assert_eq!(code(&bench.send("a")), "CERTIFICATION_REQUIRED");
    let keys = Keystore::open(&bench._dir.path().join("keys")).expect("a keystore");
    let (pin, now) = (Pin::new(&keys), SystemClock::shared().wall());
    pin.set(None, "correct horse", now).expect("set");
    let proof = pin.verify("correct horse", now).expect("a person");
    let other = proposals.certify(&plan.id, &[0; 32], &proof);
    assert!(other.is_err(), "another plan than the one shown");
    proposals
        .certify(&plan.id, &plan.digest, &proof)
        .expect("certified");
    assert_eq!(
        code(&bench.send("b")),
        "CERTIFICATION_REQUIRED",
        "another plan"
    );
    assert_eq!(bench.called(), 0);
    assert_eq!(code(&bench.send("a")), "done");
    assert_eq!(code(&bench.send("a")), "CERTIFICATION_REQUIRED", "once");
    assert_eq!(bench.called(), 1);
    assert!(proposals.get(&ProposalId::new(plan.id.as_str())).is_none());
}

#[test]
fn an_approval_for_another_is_nobody_elses() {
    let bench = bench(asking());
    let on = |delegator: Option<&str>| {
        let mut request = send("a");
        if let Some(client) = delegator {
            let meta = Object::new().with(crate::stage::delegate::ON_BEHALF_OF, Raw::str(client));
            request.params.set("_meta", meta.to_raw());
        }
        run(bench.gate.call(&context("claude"), request))
    };
    assert_eq!(code(&on(Some("chief"))), "APPROVAL_PENDING");
    bench.say(Answer::Once);
    // The same words for itself, or for a third, are another call.
    for other in [None, Some("codex")] {
        assert_eq!(code(&on(other)), "APPROVAL_PENDING", "{other:?}");
        bench.say(Answer::Deny);
    }
    assert_eq!(bench.called(), 0);
    assert_eq!(code(&on(Some("chief"))), "done");
    assert_eq!(code(&on(Some("chief"))), "APPROVAL_PENDING", "once is once");
    assert_eq!(bench.called(), 1);
}
