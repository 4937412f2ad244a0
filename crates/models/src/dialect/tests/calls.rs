//! Calls, as the many servers stream them.

use super::*;

/// `(id, name, arguments)` of every call.
fn calls(answer: &Answer) -> Vec<(&str, &str, &str)> {
    let each = answer.turn.calls.iter();
    each.map(|call| (&*call.id, &*call.name, &*call.arguments))
        .collect()
}

fn pieces(pieces: &[&str]) -> Vec<String> {
    let piece = |piece: &&str| format!(r#"{{"choices":[{{"delta":{{"tool_calls":[{piece}]}}}}]}}"#);
    let mut all: Vec<String> = pieces.iter().map(piece).collect();
    all.push(r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#.to_owned());
    all.push("[DONE]".to_owned());
    all
}

/// `(id, name, arguments)` of a call.
type Call = (&'static str, &'static str, &'static str);

const TWO: &[Call] = &[("a", "read", "{\"p\":1}"), ("b", "list", "{\"q\":2}")];

/// How servers stream calls: what they do, what they send, what is read.
const STREAMS: &[(&str, &[&str], &[Call])] = &[
    (
        "one after the other",
        &[
            r#"{"index":0,"id":"a","type":"function","function":{"name":"read","arguments":""}}"#,
            r#"{"index":0,"function":{"arguments":"{\"p\""}}"#,
            r#"{"index":0,"function":{"arguments":":1}"}}"#,
            r#"{"index":1,"id":"b","function":{"name":"list","arguments":"{\"q\":2}"}}"#,
        ],
        TWO,
    ),
    (
        "mixed",
        &[
            r#"{"index":0,"id":"a","function":{"name":"read"}},{"index":1,"id":"b","function":{"name":"list"}}"#,
            r#"{"index":1,"function":{"arguments":"{\"q\""}}"#,
            r#"{"index":0,"function":{"arguments":"{\"p\":1}"}}"#,
            r#"{"index":1,"function":{"arguments":":2}"}}"#,
        ],
        TWO,
    ),
    (
        "every number zero",
        &[
            r#"{"index":0,"id":"a","function":{"name":"read","arguments":"{\"p\":1}"}}"#,
            r#"{"index":0,"id":"b","function":{"name":"list","arguments":"{\"q\""}}"#,
            r#"{"index":0,"function":{"arguments":":2}"}}"#,
        ],
        TWO,
    ),
    (
        "no numbers",
        &[
            r#"{"id":"a","function":{"name":"read","arguments":"{\"p\""}}"#,
            r#"{"id":"a","function":{"arguments":":1}"}}"#,
            r#"{"id":"b","function":{"name":"list","arguments":"{\"q\""}}"#,
            r#"{"function":{"arguments":":2}"}}"#,
        ],
        TWO,
    ),
    (
        "name and id again with each piece",
        &[
            r#"{"index":0,"id":"a","function":{"name":"read","arguments":"{\"p\""}}"#,
            r#"{"index":0,"id":"a","function":{"name":"read","arguments":":1}"}}"#,
            r#"{"index":1,"id":"b","function":{"name":"list","arguments":"{\"q\":2}"}}"#,
        ],
        TWO,
    ),
    (
        "arguments as an object",
        &[
            r#"{"index":0,"id":"a","function":{"name":"read","arguments":{"p":1}}}"#,
            r#"{"index":1,"id":"b","function":{"name":"list","arguments":{"q":2}}}"#,
        ],
        TWO,
    ),
    (
        "no ids",
        &[
            r#"{"index":0,"function":{"name":"read","arguments":"{}"}}"#,
            r#"{"index":1,"function":{"name":"list","arguments":null}}"#,
        ],
        &[("call_0", "read", "{}"), ("call_1", "list", "")],
    ),
    (
        "one id for two",
        &[
            r#"{"index":0,"id":"a","function":{"name":"read","arguments":"{}"}}"#,
            r#"{"index":1,"id":"a","function":{"name":"list","arguments":"{}"}}"#,
        ],
        &[("a", "read", "{}"), ("call_1", "list", "{}")],
    ),
    (
        "the name after the arguments",
        &[
            r#"{"index":0,"function":{"arguments":"{\"p\""}}"#,
            r#"{"index":0,"id":"a","function":{"name":"read","arguments":":1}"}}"#,
        ],
        &[("a", "read", "{\"p\":1}")],
    ),
    (
        "arguments that are half",
        &[r#"{"index":0,"id":"a","function":{"name":"read","arguments":"{\"p\":"}}"#],
        &[("a", "read", "{\"p\":")],
    ),
];

#[test]
fn calls_are_told_apart() {
    for (what, given, expected) in STREAMS {
        let given = pieces(given);
        let given: Vec<&str> = given.iter().map(String::as_str).collect();
        let (answer, error) = read(&Dialect::Compatible, &given);
        assert!(error.is_none(), "{what}: {error:?}");
        assert_eq!(calls(&answer), *expected, "{what}");
        assert_eq!(answer.finish, Some(Finish::Calls), "{what}");
    }
}

#[test]
fn a_call_without_a_name_is_none() {
    let given = pieces(&[r#"{"index":0,"id":"a","function":{"arguments":"{}"}}"#]);
    let given: Vec<&str> = given.iter().map(String::as_str).collect();
    let (answer, error) = read(&Dialect::Compatible, &given);
    assert!(answer.turn.calls.is_empty());
    assert!(matches!(error, Some(ModelError::Malformed { .. })));
}

#[test]
fn a_model_that_calls_has_not_just_stopped() {
    let call = r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"x"}}]},"finish_reason":null}]}"#;
    let other = r#"{"choices":[{"index":1,"delta":{"content":"another choice"}}]}"#;
    for (reason, expected) in [
        ("stop", Finish::Calls),
        ("tool_calls", Finish::Calls),
        ("length", Finish::Length),
        ("content_filter", Finish::Filtered),
        ("something_new", Finish::Calls),
    ] {
        let end = format!(r#"{{"choices":[{{"delta":{{}},"finish_reason":"{reason}"}}]}}"#);
        let (answer, error) = read(&Dialect::Compatible, &[call, other, &end, "[DONE]"]);
        assert!(error.is_none(), "{error:?}");
        assert_eq!(
            (answer.finish, answer.turn.text.as_str()),
            (Some(expected), "")
        );
    }
}

#[test]
fn anthropics_calls_are_read() {
    let given = [
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Look:"}}"#,
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"a","name":"read","input":{}}}"#,
        r#"{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"b","name":"list","input":{}}}"#,
        r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"q\""}}"#,
        r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"p\":1}"}}"#,
        r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":":2}"}}"#,
        r#"{"type":"content_block_stop","index":1}"#,
        r#"{"type":"content_block_stop","index":2}"#,
        r#"{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"c","name":"whole","input":{"r":3}}}"#,
        r#"{"type":"content_block_stop","index":3}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":9}}"#,
        r#"{"type":"message_stop"}"#,
    ];
    let (answer, error) = read(&Dialect::Anthropic, &given);
    assert!(error.is_none(), "{error:?}");
    assert_eq!(
        calls(&answer),
        [
            ("a", "read", "{\"p\":1}"),
            ("b", "list", "{\"q\":2}"),
            ("c", "whole", "{\"r\":3}"),
        ]
    );
    assert_eq!(answer.turn.text, "Look:");
    assert_eq!(answer.finish, Some(Finish::Calls));
    let stray = r#"{"type":"content_block_delta","index":5,"delta":{"type":"input_json_delta","partial_json":"{"}}"#;
    let (_, error) = read(&Dialect::Anthropic, &[stray]);
    assert!(matches!(error, Some(ModelError::Malformed { .. })));
    let nameless =
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a"}}"#;
    let (_, error) = read(&Dialect::Anthropic, &[nameless]);
    assert!(matches!(error, Some(ModelError::Malformed { .. })));
}
