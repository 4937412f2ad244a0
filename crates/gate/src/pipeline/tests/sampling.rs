//! Servers that ask for a model of clients that have none.

use legation_core::EntityLabels;
use legation_policy::governance::{FileText, Template};

use super::*;
use crate::Sampler;

/// Answers with whose data it was told of and what it was asked.
#[derive(Debug)]
struct Echo;

impl Sampler for Echo {
    fn sample(
        &self,
        context: OpContext,
        labels: EntityLabels,
        params: Raw,
    ) -> BoxFuture<'static, Result<Raw, ErrorObject>> {
        let client = &context.caller.principal.client;
        let text = format!("{client} {labels:?} {}", params.as_text());
        std::future::ready(Ok(Raw::str(&text))).boxed()
    }
}

fn rules(line: &str) -> Policy {
    rules_of(&[line])
}

fn rules_of(lines: &[&str]) -> Policy {
    let mut sources = Template::Personal.sources();
    let lines = ["allow @own/*"].iter().chain(lines).enumerate();
    let rules: String = lines
        .map(|(number, rule)| format!("[[rule]]\nid = \"rule{number}\"\nrule = '{rule}'\n"))
        .collect();
    sources.permissions = FileText::Text(format!("version = 2\n{rules}"));
    let providers = serde_json::json!({
        "default_provider": "one",
        "providers": { "one": {
            "kind": "openai_compatible", "enabled": true, "endpoint": "https://models.example.com/v1",
            "default_model": "small", "auth_source": "none", "hipaa_cleared": false,
        } },
    });
    sources.llm_provider = FileText::Text(providers.to_string());
    let known = ["files", "other"].map(|name| {
        let name = ServerName::parse(name).expect("a name");
        KnownTool::server_only(name, true)
    });
    let policy = Policy::load(&sources, &known);
    assert!(policy.problems().is_empty(), "{:?}", policy.problems());
    policy
}

/// Calls a server that asks for a model as far as it is offered one; what it was offered, and told.
fn asked(bench: &Bench) -> (bool, String) {
    asked_by(bench, request("files-read"))
}

fn asked_by(bench: &Bench, request: Request) -> (bool, String) {
    let told = Arc::new(Mutex::new((false, String::new())));
    let note = Arc::clone(&told);
    let act = move |call: Call| {
        let note = Arc::clone(&note);
        async move {
            let is_offered = call.peer.capabilities().sampling;
            assert_eq!(
                call.peer.answers_itself("sampling/createMessage"),
                is_offered
            );
            assert!(!call.peer.answers_itself("elicitation/create"));
            let ask = Ask {
                method: "sampling/createMessage".into(),
                params: Object::new().with("messages", Raw::array(&[])).to_raw(),
            };
            let answer = match call.peer.ask(ask).await {
                Ok(answer) => answer.to_string(),
                Err(error) => format!("refused {}", error.code),
            };
            *note.lock().expect("whole") = (is_offered, answer);
            Outcome::Complete(Raw::empty_object())
        }
        .boxed()
    };
    *bench.servers.act.lock().expect("whole") = Some(Act(Box::new(act)));
    let outcome = run(bench.gate.call(&context("claude"), request));
    assert!(matches!(outcome, Ok(Outcome::Complete(_))), "{outcome:?}");
    told.lock().expect("whole").clone()
}

#[test]
fn a_client_without_a_model_is_lent_the_hubs_where_a_rule_allows_it() {
    let allowed = "allow files/* verb mcp-sampling";
    let bench = bench(rules(allowed));
    let (is_offered, answer) = asked(&bench);
    assert!(!is_offered, "nobody answers: {answer}");
    bench.gate.set_sampler(Arc::new(Echo));
    let (is_offered, answer) = asked(&bench);
    assert!(is_offered);
    assert!(
        answer.contains("claude") && answer.contains("messages"),
        "{answer}"
    );
    // The call and the wish are both on record, each with its end.
    let recorded = bench.recorded();
    let ends = recorded.iter().filter(|one| *one == "outcome - ok").count();
    assert!(ends >= 2, "{recorded:?}");
}

#[test]
fn without_such_a_rule_it_is_neither_offered_nor_answered() {
    for line in [
        "allow files/*",
        "deny files/* verb mcp-sampling",
        "allow other/* verb mcp-sampling",
    ] {
        let bench = bench(rules(line));
        bench.gate.set_sampler(Arc::new(Echo));
        let (is_offered, answer) = asked(&bench);
        // A rule about another server makes it an offer, and the decision about this one stands.
        assert_eq!(is_offered, line.contains("other"), "{line}");
        assert!(answer.starts_with("refused"), "{line}: {answer}");
    }
}

#[test]
fn a_wish_on_the_way_of_a_delegated_call_is_judged_for_both() {
    let lines = [
        "allow files/* verb mcp-sampling",
        "deny files/* verb mcp-sampling client codex",
    ];
    let bench = bench(rules_of(&lines));
    bench.gate.set_sampler(Arc::new(Echo));
    for (delegator, is_answered) in [("chief", true), ("codex", false)] {
        let mut request = request("files-read");
        let meta = Object::new().with(crate::stage::delegate::ON_BEHALF_OF, Raw::str(delegator));
        request.params.set("_meta", meta.to_raw());
        let (_, answer) = asked_by(&bench, request);
        assert_eq!(
            !answer.starts_with("refused"),
            is_answered,
            "{delegator}: {answer}"
        );
    }
}
