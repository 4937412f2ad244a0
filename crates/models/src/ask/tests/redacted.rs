//! What leaves and what comes back.

use super::*;

/// Servers that answer with the first token of what they were asked.
async fn echo(parts: fn(&str) -> Vec<String>) -> Server {
    Server::start(move |seen| {
        let body = seen.body.to_string();
        let Some(start) = body.find('⟦') else {
            return stream(ANSWER);
        };
        let end = start + body[start..].find('⟧').expect("an end") + '⟧'.len_utf8();
        let mut all = parts(&body[start..end]);
        all.push(ANSWER[1].to_owned());
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        stream(&all)
    })
    .await
}

fn text(text: &str) -> String {
    json!({ "choices": [{ "delta": { "content": text } }] }).to_string()
}

fn conversation() -> ChatRequest {
    let call = |name: &str, arguments: &str| ToolCall {
        id: "call_1".to_owned(),
        name: name.to_owned(),
        arguments: arguments.to_owned(),
    };
    let noted = json!({ "resident_name": NAME, "room": 12, "open": true }).to_string();
    ChatRequest {
        messages: vec![
            Message::System(format!("You help {NAME}.")),
            Message::User(format!("Write to {NAME} about the visit.")),
            Message::Assistant(Turn {
                text: format!("I look for {NAME}."),
                reasoning: format!("{NAME} it is"),
                reasoning_seal: Some("seal".to_owned()),
                calls: vec![call("read", &noted), call(NAME, "{")],
            }),
            Message::Result(CallResult {
                call_id: "call_1".to_owned(),
                text: noted.clone(),
                is_error: false,
            }),
        ],
        tools: vec![Tool {
            name: "read".to_owned(),
            description: "Read a file.".to_owned(),
            parameters: json!({ "type": "object" }),
        }],
        answer: Some(AnswerSchema {
            name: "answer".to_owned(),
            schema: json!({ "enum": [NAME] }),
        }),
        ..ChatRequest::default()
    }
}

#[tokio::test]
async fn nothing_that_identifies_a_person_leaves_in_any_part_of_a_request() {
    let server = Server::saying(stream(ANSWER)).await;
    let (_hub, models) = hub(&server);
    let mut answer = models
        .ask(&ctx(), ask(&["meadow"], conversation()))
        .await
        .expect("an answer");
    let (_, _, error) = collect(&mut answer).await;
    assert!(error.is_none(), "{error:?}");
    let seen = server.seen();
    let body = &seen[0].body;
    let sent = body.to_string();
    for word in ["Wilhelmina", "Featherstone", "seal"] {
        assert!(!sent.contains(word), "{word} in {sent}");
    }
    assert!(sent.contains("⟦P:name:"), "{sent}");
    assert!(body["response_format"].is_null(), "{sent}");
    assert_eq!(body["tools"][0]["function"]["name"], "read");
    let result = body["messages"].as_array().and_then(|all| all.last());
    let result = result.and_then(|one| one["content"].as_str());
    let result: Value = serde_json::from_str(result.expect("a text")).expect("still JSON");
    assert_eq!(result["open"], true, "{sent}");
    // Nobody's data is as it is, and so is that of an entity without health
    // information.
    let mut plain = models
        .ask(&ctx(), ask(&["harbor"], conversation()))
        .await
        .expect("an answer");
    collect(&mut plain).await;
    assert!(server.seen()[1].body.to_string().contains(NAME));
}

#[tokio::test]
async fn tokens_come_back_as_values_however_they_are_cut() {
    let whole: fn(&str) -> Vec<String> = |token| vec![text(token)];
    let letters: fn(&str) -> Vec<String> =
        |token| token.chars().map(|one| text(&one.to_string())).collect();
    let dressed: fn(&str) -> Vec<String> =
        |token| vec![text("**"), text(&token.to_lowercase()), text("**")];
    for (parts, expected) in [
        (whole, NAME.to_owned()),
        (letters, NAME.to_owned()),
        (dressed, format!("**{NAME}**")),
    ] {
        let server = echo(parts).await;
        let (_hub, models) = hub(&server);
        let request = ChatRequest::ask(NAME);
        let mut answer = models
            .ask(&ctx(), ask(&["meadow"], request))
            .await
            .expect("an answer");
        let (told, all, error) = collect(&mut answer).await;
        assert!(error.is_none(), "{error:?}");
        assert_eq!(told.turn.text, expected);
        assert!(
            matches!(all.last(), Some(Delta::Done(Finish::Stop))),
            "{all:?}"
        );
        assert_eq!(answer.resumption(), Resumption::Restart);
    }
}

#[tokio::test]
async fn calls_carry_values_that_are_json() {
    let call: fn(&str) -> Vec<String> = |token| {
        let call = |first: Value| json!({ "choices": [{ "delta": { "tool_calls": [first] } }] });
        let (a, b) = token.split_at(token.len() / 2 / 3 * 3);
        [
            call(json!({ "index": 0, "id": "a", "function": { "name": "read", "arguments": "" } })),
            call(json!({ "index": 0, "function": { "arguments": format!("{{\"who\":\"{a}") } })),
            call(json!({ "index": 0, "function": { "arguments": format!("{b}\"}}") } })),
        ]
        .iter()
        .map(Value::to_string)
        .collect()
    };
    let server = Server::start(move |seen| {
        let body = seen.body.to_string();
        let start = body.find('⟦').expect("a token");
        let end = start + body[start..].find('⟧').expect("an end") + '⟧'.len_utf8();
        let mut all = call(&body[start..end]);
        all.push(r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#.to_owned());
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        stream(&all)
    })
    .await;
    let (_hub, models) = hub(&server);
    let mut answer = models
        .ask(&ctx(), ask(&["meadow"], conversation()))
        .await
        .expect("an answer");
    let (told, _, error) = collect(&mut answer).await;
    assert!(error.is_none(), "{error:?}");
    let arguments = &told.turn.calls[0].arguments;
    let arguments: Value = serde_json::from_str(arguments).expect("JSON");
    let who = arguments["who"].as_str().expect("a text");
    assert!(!who.contains('⟦') && NAME.contains(who), "{who}");
}

#[tokio::test]
async fn a_token_of_another_conversation_stays_one() {
    let server = echo(|token| vec![text(token)]).await;
    let (_hub, models) = hub(&server);
    let request = || ChatRequest::ask(format!("{NAME} asks."));
    let mut first = models
        .ask(&ctx(), ask(&["meadow"], request()))
        .await
        .expect("an answer");
    collect(&mut first).await;
    let body = server.seen()[0].body.to_string();
    let start = body.find('⟦').expect("a token");
    let token = &body[start..start + body[start..].find('⟧').expect("an end") + '⟧'.len_utf8()];
    let other = ModelAsk {
        conversation: "ses_2".to_owned(),
        ..ask(&["meadow"], ChatRequest::ask(token))
    };
    let mut second = models.ask(&ctx(), other).await.expect("an answer");
    let (told, _, _) = collect(&mut second).await;
    assert_eq!(told.turn.text, token);
}

#[tokio::test]
async fn what_cannot_be_redacted_is_not_sent() {
    let server = Server::saying(stream(ANSWER)).await;
    let mut sources = Template::Business.sources();
    sources.llm_provider = FileText::Text(llm(&server).to_string());
    sources.rosters.clear();
    let hub = Hub::new(Policy::load(&sources, &[]), "tester");
    let models = models(&hub);
    let asked = models
        .ask(&ctx(), ask(&["meadow"], ChatRequest::ask(NAME)))
        .await;
    let error = asked.expect_err("no roster");
    assert!(matches!(error, AskError::NotRedacted(_)), "{error:?}");
    assert!(error.is_refused() && !error.hint().is_empty());
    assert!(server.seen().is_empty());
    let records = records(&hub).await;
    assert_eq!(records[0]["reason_code"], "UNREDACTED_PHI");
}
