//! Tasks that the caller's own calls began, seen to their end.

use super::asking::{asking, code};
use super::*;

/// One whose results are put aside when they are longer than a line or two.
#[derive(Debug, Default)]
struct Short(ClientCapabilities);

impl Peer for Short {
    fn revision(&self) -> Revision {
        Revision::V2026_07_28
    }
    fn capabilities(&self) -> &ClientCapabilities {
        &self.0
    }
    fn result_max(&self) -> Option<usize> {
        Some(2_000)
    }
    fn ask(&self, _ask: Ask) -> BoxFuture<'static, Result<Raw, ErrorObject>> {
        std::future::ready(Err(ErrorObject::new(-32601, "nobody"))).boxed()
    }
}

impl Bench {
    fn follow(&self, tool: &str, by: &str) -> Result<Outcome, Refusal> {
        let handle = TaskHandle::new(format!("of-{tool}"));
        let by = ClientId::new(by);
        let peer = Arc::new(Short::default());
        run(self.gate.follow(&context("claude"), handle, &by, peer))
    }

    fn abandon(&self, tool: &str, by: &str) -> Result<Outcome, Refusal> {
        let handle = TaskHandle::new(format!("of-{tool}"));
        let by = ClientId::new(by);
        let peer = Arc::new(Short::default());
        run(self.gate.abandon(&context("claude"), handle, &by, peer))
    }
}

#[test]
fn what_a_call_began_is_followed_without_asking_anybody_again() {
    let bench = bench(asking());
    assert_eq!(code(&bench.send("a")), "APPROVAL_PENDING", "the call asks");
    for end in [
        bench.follow("files-send", "claude"),
        bench.abandon("files-send", "claude"),
    ] {
        assert_eq!(code(&end), "done");
    }
    assert_eq!(bench.gate.asking().approvals.list().len(), 1, "of the call");
    // Looking leaves no record, calling it off does.
    let recorded = bench.recorded();
    let outcomes = recorded.iter().filter(|one| one.starts_with("outcome"));
    assert_eq!(outcomes.count(), 1, "{recorded:?}");
}

#[test]
fn a_rule_that_is_against_it_by_now_holds_for_both_who_are_judged() {
    let bench = bench(personal());
    assert_eq!(code(&bench.follow("files-read", "claude")), "done");
    for end in [
        bench.follow("files-erase", "claude"),
        bench.abandon("files-erase", "claude"),
    ] {
        assert_eq!(end.expect_err("refused").rule(), "no-erasing");
    }
    let mut sources = legation_policy::governance::Template::Personal.sources();
    let legation_policy::governance::FileText::Text(rules) = &mut sources.permissions else {
        panic!("the template has rules");
    };
    rules.push_str("\n[[rule]]\nid = \"not-for-it\"\nrule = 'deny files/read client intern'\n");
    let files = ServerName::parse("files").expect("a name");
    let known = [KnownTool::server_only(files, true)];
    bench.gate.set_rules(Policy::load(&sources, &known));
    assert_eq!(code(&bench.follow("files-read", "claude")), "done");
    let refused = bench.follow("files-read", "intern").expect_err("refused");
    assert_eq!(refused.rule(), "not-for-it");
}

#[test]
fn a_long_result_of_a_task_is_put_aside_and_can_be_read_on() {
    let bench = bench(personal());
    let (result, _) = spilled::large(2_000);
    bench.answers(&serde_json::json!({
        "taskId": "of-files-read", "status": "completed", "result": result,
    }));
    let Ok(Outcome::Complete(task)) = bench.follow("files-read", "claude") else {
        panic!("a task");
    };
    let task: serde_json::Value = task.deserialize().expect("JSON");
    assert_eq!(task["status"], "completed");
    assert!(task.to_string().len() < 4_000, "{task}");
    let uri = task["result"]["content"][1]["uri"]
        .as_str()
        .expect("a link");
    let mut page = request("-");
    page.item = Item::Resource(uri.into());
    assert_eq!(
        code(&run(bench.gate.call(&context("claude"), page))),
        "done"
    );
}
