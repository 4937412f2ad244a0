//! What is on record, before and after.

use super::*;

#[tokio::test]
async fn a_request_is_on_record_before_it_is_sent_and_after_it_was_answered() {
    let server = Server::saying(stream(ANSWER)).await;
    let (hub, models) = hub(&server);
    let mut wanted = ask(&["harbor"], ChatRequest::ask("Is it so?"));
    wanted.model = Some("large".to_owned());
    let mut answer = models.ask(&ctx(), wanted).await.expect("an answer");
    assert_eq!((answer.provider(), answer.model()), ("unit", "large"));
    assert!(!answer.is_local());
    let (told, _, error) = collect(&mut answer).await;
    assert!(error.is_none() && told.turn.text == "Yes.", "{error:?}");
    drop(answer);
    let records = records(&hub).await;
    assert_eq!(records.len(), 2, "{records:#?}");
    let (intent, outcome) = (&records[0], &records[1]);
    for (member, value) in [
        ("kind", json!("intent")),
        ("verb", json!("ask_model")),
        ("item", json!("large")),
        ("client", json!("tester")),
        ("entity", json!("harbor")),
        ("rule", json!("provider.default")),
        ("provider_used", json!("unit")),
        ("event", json!("LLM_PROVIDER_SELECTED")),
        ("governance_result", json!("allowed")),
        ("job_id", json!("delegate.task")),
        ("source", json!("default")),
        ("conversation", json!("ses_1")),
        ("labels", json!(["harbor"])),
    ] {
        assert_eq!(intent[member], value, "{member}");
    }
    assert!(intent["args"].is_string(), "a commitment: {intent}");
    for (member, value) in [
        ("kind", json!("outcome")),
        ("status", json!("ok")),
        ("provider_used", json!("unit")),
        ("input_tokens", json!(9)),
        ("output_tokens", json!(2)),
        ("cost_micro_usd", json!(34)),
    ] {
        assert_eq!(outcome[member], value, "{member}");
    }
    let text = format!("{records:?}");
    assert!(!text.contains("Is it so") && !text.contains("Yes."));
}

#[tokio::test]
async fn every_end_of_an_answer_is_an_outcome() {
    let first = r#"{"choices":[{"delta":{"content":"Yes"}}]}"#;
    let begun = [head(), events(&[first])].concat();
    for (what, steps, takes, status) in [
        ("whole", stream(ANSWER), 99, "ok"),
        (
            "dropped",
            vec![Step::Send(begun.clone()), Step::Hang],
            1,
            "cancelled",
        ),
        (
            "cut",
            vec![Step::Send(begun.clone()), Step::Cut],
            99,
            "error",
        ),
        ("never begun", plain(500, "", ""), 0, "error"),
    ] {
        let server = Server::saying(steps).await;
        let (hub, models) = hub(&server);
        let asked = models
            .ask(&ctx(), ask(&[], ChatRequest::ask("Is it so?")))
            .await;
        if let Ok(mut answer) = asked {
            for _ in 0..takes {
                if answer.next().await.is_none() {
                    break;
                }
            }
            drop(answer);
            if what == "dropped" {
                server.closed().await;
            }
        }
        let records = records(&hub).await;
        let outcome = records.iter().find(|one| one["kind"] == "outcome");
        let outcome = outcome.unwrap_or_else(|| panic!("{what}: {records:?}"));
        assert_eq!(outcome["status"], status, "{what}");
        assert_eq!(outcome["intent"], 1, "{what}");
    }
}

#[tokio::test]
async fn nothing_is_sent_that_cannot_be_recorded() {
    let server = Server::saying(stream(ANSWER)).await;
    let (hub, models) = hub(&server);
    hub.store.limit_pages(Some(1)).expect("limited");
    let mut refused = false;
    for sent in 0..400 {
        let asked = models
            .ask(&ctx(), ask(&[], ChatRequest::ask("Is it so?")))
            .await;
        match asked {
            Ok(answer) => drop(answer),
            Err(error) => {
                assert!(
                    chain(&error).to_string().contains("could not be recorded"),
                    "{error}"
                );
                assert_eq!(server.seen().len(), sent, "nothing was sent");
                refused = true;
                break;
            }
        }
    }
    assert!(refused, "a full disk stops requests");
}

#[tokio::test]
async fn who_gets_no_model_is_on_record_too() {
    let server = Server::saying(plain(500, "", "")).await;
    let mut open = entry(&server);
    open["hipaa_cleared"] = json!(false);
    let hub = Hub::new(
        rules(&json!({
            "default_provider": "unit",
            "providers": { "unit": open, "other": entry(&server) },
            "per_job_overrides": { "sampling": { "provider": "copilot_extension" } },
        })),
        "tester",
    );
    let models = models(&hub);
    let request = || ChatRequest::ask("Is it so?");
    let named = |provider: &str| ModelAsk {
        provider: Some(provider.to_owned()),
        ..ask(&["meadow"], request())
    };
    let cases = [
        (
            ask(&["meadow"], request()),
            "LLM_PROVIDER_BLOCKED",
            "LLM_PROVIDER_UNAVAILABLE",
        ),
        (
            named("unit"),
            "LLM_PROVIDER_BLOCKED",
            "LLM_PROVIDER_UNAVAILABLE",
        ),
        (
            ask(&[], request()),
            "LLM_PROVIDER_UNAVAILABLE",
            "LLM_PROVIDER_UNAVAILABLE",
        ),
        (
            ask(&["nobody"], request()),
            "LLM_PROVIDER_BLOCKED",
            "UNKNOWN_ENTITY",
        ),
        (
            ModelAsk {
                job: "sampling",
                ..ask(&[], request())
            },
            "UNKNOWN_PROVIDER",
            "UNKNOWN_PROVIDER",
        ),
    ];
    for (wanted, event, code) in cases {
        let what = format!("{wanted:?}");
        let error = models.ask(&ctx(), wanted).await.expect_err(&what);
        assert!(!error.hint().is_empty(), "{what}");
        let records = records(&hub).await;
        let last = records.last().expect("a record");
        assert_eq!(last["kind"], "refused", "{what}");
        assert_eq!(
            (last["event"].as_str(), last["reason_code"].as_str()),
            (Some(event), Some(code)),
            "{what}"
        );
    }
    let stranger = Hub::new(rules(&llm(&server)), "somebody");
    let models = self::models(&stranger);
    let error = models.ask(&ctx(), ask(&[], request())).await;
    assert!(matches!(error, Err(AskError::NotAuthentic(_))), "{error:?}");
    drop(stranger);
    let error = models.ask(&ctx(), ask(&[], request())).await;
    assert!(matches!(error, Err(AskError::Closing)), "{error:?}");
}

#[tokio::test]
async fn rules_that_change_meanwhile_are_asked_again() {
    let first = r#"{"choices":[{"delta":{"content":"Yes"}}]}"#;
    let begun = [head(), events(&[first])].concat();
    let server = Server::saying(vec![Step::Send(begun), Step::Hang]).await;
    let (hub, models) = hub(&server);
    let wanted = || ask(&["meadow"], ChatRequest::ask("Is it so?"));
    let mut answer = models.ask(&ctx(), wanted()).await.expect("an answer");
    assert!(answer.next().await.is_some());
    let mut open = llm(&server);
    open["providers"]["unit"]["hipaa_cleared"] = json!(false);
    hub.gate.set_rules(rules(&open));
    let error = answer.next().await.expect("a word").expect_err("stopped");
    assert!(error.is_refused(), "{error}");
    server.closed().await;
    drop(answer);
    let records = records(&hub).await;
    assert_eq!(records.last().expect("a record")["status"], "refused");
    let error = models.ask(&ctx(), wanted()).await.expect_err("blocked");
    assert!(error.is_refused() && error.class().is_none(), "{error}");
    assert_eq!(server.seen().len(), 1);
}
