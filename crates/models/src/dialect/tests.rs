//! What is said in each interface, and what is read of each, as data.

mod calls;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::delta::{Answer, Usage};
use crate::request::{AnswerSchema, CallResult, Message, Tool, ToolCall, ToolChoice, Turn};
use crate::resume::GoOn;
use crate::target::Target;
use legation_policy::governance::ProviderKind;

fn target(dialect: Dialect) -> Target {
    Target {
        provider: "tested".to_owned(),
        dialect,
        endpoint: crate::Endpoint::parse("https://models.example.com").expect("an address"),
        model: "small".to_owned(),
        is_local: false,
        go_on: GoOn::Never,
        timeouts: crate::Timeouts::remote(),
    }
}

/// Reads events, and says what they add up to or how they fail.
fn read(dialect: &Dialect, events: &[&str]) -> (Answer, Option<ModelError>) {
    let mut decoder = Decoder::new(dialect, Limits::default());
    let mut answer = Answer::default();
    for data in events {
        let event = Event {
            data: data.as_bytes().to_vec().into(),
            ..Event::default()
        };
        let read = decoder.event(&event);
        while let Some(delta) = decoder.next() {
            answer.push(delta);
        }
        if let Err(error) = read {
            return (answer, Some(error));
        }
    }
    answer.finish = decoder.finish().filter(|_| decoder.is_over());
    (answer, None)
}

/// A conversation with everything in it.
fn conversation() -> ChatRequest {
    let call = |id: &str, arguments: &str| ToolCall {
        id: id.to_owned(),
        name: "read".to_owned(),
        arguments: arguments.to_owned(),
    };
    let result = |id: &str, is_error: bool| {
        Message::Result(CallResult {
            call_id: id.to_owned(),
            text: "said".to_owned(),
            is_error,
        })
    };
    ChatRequest {
        messages: vec![
            Message::System("Be brief.".to_owned()),
            Message::User("Look.".to_owned()),
            Message::Assistant(Turn {
                text: String::new(),
                reasoning: "Well.".to_owned(),
                reasoning_seal: Some("seal".to_owned()),
                calls: vec![call("a", "{\"path\":\"x\"}"), call("b", "")],
            }),
            result("a", false),
            result("b", true),
            Message::User("And?".to_owned()),
        ],
        tools: vec![Tool {
            name: "read".to_owned(),
            description: "Reads.".to_owned(),
            parameters: json!({ "type": "object" }),
        }],
        tool_choice: ToolChoice::Named("read".to_owned()),
        parallel_calls: true,
        answer: Some(AnswerSchema {
            name: "answer".to_owned(),
            schema: json!({ "type": "object" }),
        }),
        tokens_max: Some(100),
        temperature: Some(0.5),
        seed: Some(7),
    }
}

fn said(dialect: Dialect, request: &ChatRequest) -> Value {
    let body = body(&target(dialect), request, &Limits::default()).expect("sayable");
    serde_json::from_slice(&body).expect("JSON")
}

#[test]
fn a_conversation_is_said_to_openai() {
    let body = said(Dialect::OpenAi, &conversation());
    let function = |arguments: &str| json!({ "name": "read", "arguments": arguments });
    assert_eq!(
        body,
        json!({
            "model": "small",
            "messages": [
                { "role": "system", "content": "Be brief." },
                { "role": "user", "content": "Look." },
                { "role": "assistant", "content": null, "tool_calls": [
                    { "id": "a", "type": "function", "function": function("{\"path\":\"x\"}") },
                    { "id": "b", "type": "function", "function": function("{}") },
                ] },
                { "role": "tool", "tool_call_id": "a", "content": "said" },
                { "role": "tool", "tool_call_id": "b", "content": "said" },
                { "role": "user", "content": "And?" },
            ],
            "stream": true,
            "stream_options": { "include_usage": true },
            "max_completion_tokens": 100,
            "temperature": 0.5,
            "seed": 7,
            "tools": [{ "type": "function", "function": {
                "name": "read", "description": "Reads.", "parameters": { "type": "object" },
            } }],
            "tool_choice": { "type": "function", "function": { "name": "read" } },
            "parallel_tool_calls": true,
            "response_format": { "type": "json_schema", "json_schema": {
                "name": "answer", "schema": { "type": "object" }, "strict": true,
            } },
        })
    );
    let compatible = said(Dialect::Compatible, &conversation());
    assert_eq!(compatible["max_tokens"], 100);
    assert_eq!(compatible.get("max_completion_tokens"), None);
    for (version, name, tells) in [
        ("2024-02-01", "max_tokens", false),
        ("2024-10-21", "max_completion_tokens", true),
    ] {
        let api_version = version.to_owned();
        let body = said(Dialect::AzureDated { api_version }, &conversation());
        assert_eq!(body[name], 100, "{version}");
        assert_eq!(body.get("stream_options").is_some(), tells, "{version}");
    }
}

#[test]
fn a_conversation_is_said_to_anthropic() {
    let body = said(Dialect::Anthropic, &conversation());
    assert_eq!(
        body,
        json!({
            "model": "small",
            "max_tokens": 100,
            "system": "Be brief.",
            "messages": [
                { "role": "user", "content": [{ "type": "text", "text": "Look." }] },
                { "role": "assistant", "content": [
                    { "type": "thinking", "thinking": "Well.", "signature": "seal" },
                    { "type": "tool_use", "id": "a", "name": "read", "input": { "path": "x" } },
                    { "type": "tool_use", "id": "b", "name": "read", "input": {} },
                ] },
                { "role": "user", "content": [
                    { "type": "tool_result", "tool_use_id": "a", "content": "said", "is_error": false },
                    { "type": "tool_result", "tool_use_id": "b", "content": "said", "is_error": true },
                    { "type": "text", "text": "And?" },
                ] },
            ],
            "stream": true,
            "temperature": 0.5,
            "tools": [{
                "name": "read", "description": "Reads.", "input_schema": { "type": "object" },
            }],
            "tool_choice": { "type": "tool", "name": "read" },
            "output_config": { "format": { "type": "json_schema", "schema": { "type": "object" } } },
        })
    );
    let mut serial = conversation();
    serial.parallel_calls = false;
    serial.tool_choice = ToolChoice::Required;
    assert_eq!(
        said(Dialect::Anthropic, &serial)["tool_choice"],
        json!({ "type": "any", "disable_parallel_tool_use": true })
    );
}

#[test]
fn what_makes_no_conversation_is_refused() {
    let whole = conversation().messages;
    let cases: Vec<(&str, Vec<Message>)> = vec![
        ("nothing", Vec::new()),
        ("a call without a result", whole[..3].to_vec()),
        ("one of two results", whole[..4].to_vec()),
        ("a result of nothing", [&whole[..2], &whole[3..4]].concat()),
        ("a result twice", [&whole[..5], &whole[3..4]].concat()),
        (
            "words before a result",
            [&whole[..3], &whole[1..2], &whole[3..5]].concat(),
        ),
        (
            "a turn that was begun",
            vec![whole[1].clone(), Message::Assistant(Turn::default())],
        ),
    ];
    for dialect in [Dialect::OpenAi, Dialect::Anthropic] {
        for (what, messages) in &cases {
            let request = ChatRequest {
                messages: messages.clone(),
                ..ChatRequest::default()
            };
            let refused = body(&target(dialect.clone()), &request, &Limits::default());
            assert!(
                matches!(refused, Err(ModelError::Unsayable { .. })),
                "{what}: {refused:?}"
            );
        }
    }
}

#[test]
fn a_turn_is_gone_on_with_where_the_server_can() {
    let begun = Turn {
        text: "One, tw".to_owned(),
        ..Turn::default()
    };
    let request = ChatRequest {
        messages: vec![
            Message::User("Count.".to_owned()),
            Message::Assistant(begun),
        ],
        ..ChatRequest::default()
    };
    let mut target = target(Dialect::Compatible);
    target.go_on = GoOn::Flag;
    let body = body(&target, &request, &Limits::default()).expect("sayable");
    let body: Value = serde_json::from_slice(&body).expect("JSON");
    assert_eq!(body["continue_final_message"], true);
    assert_eq!(body["add_generation_prompt"], false);
    assert_eq!(
        body["messages"][1],
        json!({ "role": "assistant", "content": "One, tw" })
    );
}

/// The kind, the version, what is written, and what is asked for.
const ADDRESSES: &[(ProviderKind, Option<&str>, &str, &str)] = &[
    (
        ProviderKind::OpenaiDirect,
        None,
        "https://api.openai.com/v1/chat/completions",
        "/v1/chat/completions",
    ),
    (
        ProviderKind::OpenaiDirect,
        None,
        "https://models.example.com/",
        "/v1/chat/completions",
    ),
    (
        ProviderKind::OpenaiCompatible,
        None,
        "https://models.example.com/api/v2",
        "/api/v2/chat/completions",
    ),
    (
        ProviderKind::LocalModel,
        None,
        "http://127.0.0.1:11434/v1/chat/completions",
        "/v1/chat/completions",
    ),
    (
        ProviderKind::LocalModel,
        None,
        "http://127.0.0.1:8080",
        "/v1/chat/completions",
    ),
    (
        ProviderKind::CopilotExtension,
        None,
        "https://api.githubcopilot.com/chat/completions",
        "/chat/completions",
    ),
    (
        ProviderKind::AnthropicDirect,
        None,
        "https://api.anthropic.com/v1/messages",
        "/v1/messages",
    ),
    (
        ProviderKind::AnthropicDirect,
        None,
        "https://api.anthropic.com",
        "/v1/messages",
    ),
    (
        ProviderKind::AzureOpenai,
        None,
        "https://unit.openai.azure.com",
        "/openai/v1/chat/completions",
    ),
    (
        ProviderKind::AzureOpenai,
        Some("v1"),
        "https://unit.openai.azure.com/openai/v1/",
        "/openai/v1/chat/completions",
    ),
    (
        ProviderKind::AzureOpenai,
        None,
        "https://models.example.com/openai",
        "/openai/v1/chat/completions",
    ),
    (
        ProviderKind::AzureOpenai,
        Some("2024-10-21"),
        "https://unit.openai.azure.com/openai",
        "/openai/deployments/my%20own/chat/completions?api-version=2024-10-21",
    ),
    (
        ProviderKind::AzureOpenai,
        Some("2024-10-21"),
        "https://unit.openai.azure.com/openai/deployments/old/chat/completions",
        "/openai/deployments/my%20own/chat/completions?api-version=2024-10-21",
    ),
];

#[test]
fn an_address_is_completed_however_much_of_it_is_written() {
    for (kind, version, endpoint, expected) in ADDRESSES {
        let version = version.map_or_else(String::new, |version| {
            format!(", \"api_version\": \"{version}\"")
        });
        let text = format!(
            "{{ \"kind\": \"{kind}\", \"enabled\": true, \"endpoint\": \"{endpoint}\", \
             \"hipaa_cleared\": false{version} }}"
        );
        let provider = serde_json::from_str(&text).expect("a provider");
        let target = Target::of("any", &provider, "my own", None).expect("a target");
        let found = target.path_and_query().expect("a path");
        assert_eq!(found.as_str(), *expected, "{endpoint}");
        assert_eq!(target.is_local, *kind == ProviderKind::LocalModel);
    }
}

#[test]
fn an_address_with_more_in_it_is_refused() {
    for text in [
        "",
        "models.example.com",
        "ftp://models.example.com",
        "https://",
        "https://key@models.example.com",
        "https://models.example.com/v1?key=1",
        "https://models.example.com/v1#key",
        "https://models.example.com/a b",
    ] {
        assert!(crate::Endpoint::parse(text).is_err(), "{text}");
    }
    let place = crate::Endpoint::parse("http://[::1]:8080/v1/").expect("an address");
    assert_eq!(place.to_string(), "http://[::1]:8080/v1");
    assert_eq!(place.host(), "::1");
}

proptest! {
    /// Whatever a server writes: no panic, nothing over the limits, and an end
    /// is told once.
    #[test]
    fn nothing_that_comes_is_a_panic(
        events in prop::collection::vec(
            prop_oneof![
                Just(r#"{"choices":[{"delta":{"content":"a"}}]}"#.to_owned()),
                Just(r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"","function":{"name":"x","arguments":{}}}]}}]}"#.to_owned()),
                Just(r#"{"choices":[{"delta":{"tool_calls":[{"id":7,"function":null}]}}]}"#.to_owned()),
                Just(r#"{"choices":[{"delta":null,"finish_reason":"stop"}]}"#.to_owned()),
                Just(r#"{"choices":{},"usage":{"prompt_tokens":-1}}"#.to_owned()),
                Just(r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"b"}}"#.to_owned()),
                Just(r#"{"type":"content_block_delta","index":9,"delta":{"type":"input_json_delta"}}"#.to_owned()),
                Just(r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#.to_owned()),
                Just(r#"{"type":"message_stop"}"#.to_owned()),
                Just("[DONE]".to_owned()),
                "[ -~]{0,40}",
            ],
            0..20,
        ),
        is_openai: bool,
    ) {
        let dialect = if is_openai { Dialect::OpenAi } else { Dialect::Anthropic };
        let events: Vec<&str> = events.iter().map(String::as_str).collect();
        let (answer, error) = read(&dialect, &events);
        prop_assert!(answer.turn.calls.len() <= Limits::default().calls);
        prop_assert!(error.is_none() || answer.finish.is_none());
    }
}

#[test]
fn usage_is_counted_alike() {
    let anthropic = [
        r#"{"type":"message_start","message":{"usage":{"input_tokens":5,"cache_read_input_tokens":20,"cache_creation_input_tokens":3,"output_tokens":1}}}"#,
        r#"{"type":"ping"}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm."}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"seal"}}"#,
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}"#,
        r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Yes."}}"#,
        r#"{"type":"something_new","index":1}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"max_tokens"},"usage":{"output_tokens":9}}"#,
        r#"{"type":"message_stop"}"#,
    ];
    let (answer, error) = read(&Dialect::Anthropic, &anthropic);
    assert!(error.is_none(), "{error:?}");
    assert_eq!(answer.turn.text, "Yes.");
    assert_eq!(answer.turn.reasoning, "Hm.");
    assert_eq!(answer.turn.reasoning_seal.as_deref(), Some("seal"));
    assert_eq!(answer.finish, Some(Finish::Length));
    assert_eq!(
        answer.usage,
        Usage {
            input: Some(28),
            cached: Some(20),
            output: Some(9),
            reasoning: None,
        }
    );
    let cut = read(&Dialect::Anthropic, &[anthropic[0], anthropic[10]]);
    assert!(matches!(cut.1, Some(ModelError::CutOff)));
}
