use legation_wire::json::Limits;
use serde_json::json;

use super::*;

const INPUT: &str = r#"{"type":"object","properties":{"to":{"type":"array","items":{"type":"string"}},"limit":{"type":"integer","minimum":1}},"required":["to"],"additionalProperties":false}"#;
const OUTPUT: &str = r#"{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}"#;

fn fit() -> Fit {
    Fit {
        name: "post/send".to_owned(),
        input: Schema::new(INPUT),
        output: Some(Schema::new(OUTPUT)),
    }
}

fn raw(value: &Value) -> Raw {
    Raw::parse(value.to_string().into(), &Limits::CLIENT).unwrap()
}

#[test]
fn arguments_that_break_the_schema_are_refused_with_the_place_and_without_the_value() {
    let fit = fit();
    let cases = [
        (Some(json!({"to": ["a"], "limit": 3})), None),
        (Some(json!({"to": ["SECRET", 5]})), Some("at `to/1`")),
        (Some(json!({"to": [], "limit": 0})), Some("at `limit`")),
        (
            Some(json!({"to": [], "limit": "SECRET"})),
            Some("at `limit`"),
        ),
        (Some(json!({"to": [], "cc": 1})), Some("'cc'")),
        (Some(json!({"limit": 1})), Some("\"to\"")),
        (Some(json!(["SECRET"])), Some("object")),
        (Some(json!(null)), Some("object")),
        (None, Some("\"to\"")),
    ];
    for (arguments, complaint) in cases {
        let given = arguments.as_ref().map(raw);
        let refused = fit.takes(given.as_ref()).err();
        let told = refused.as_ref().map(|error| error.message.to_string());
        assert_eq!(
            told.is_some(),
            complaint.is_some(),
            "{arguments:?} {told:?}"
        );
        if let (Some(error), Some(told), Some(complaint)) = (refused, told, complaint) {
            assert_eq!(error.code, codes::INVALID_PARAMS);
            assert!(told.contains(complaint), "{arguments:?}: {told}");
            assert!(
                told.contains("post/send") && told.ends_with("nothing was done"),
                "{told}"
            );
            assert!(!told.contains("SECRET"), "{told}");
        }
    }
}

#[test]
fn an_answer_that_breaks_the_schema_is_never_sent_as_a_good_one() {
    let fit = fit();
    let answer = |value: &Value| fit.answers(Outcome::Complete(raw(value)));
    for good in [
        json!({"content": [], "structuredContent": {"n": 1}}),
        json!({"content": [], "isError": true}),
        json!({"content": [], "isError": true, "structuredContent": {"error": "gone"}}),
    ] {
        let Outcome::Complete(sent) = answer(&good) else {
            panic!("{good}");
        };
        assert_eq!(sent.deserialize::<Value>().unwrap(), good);
    }
    for bad in [
        json!({"content": [], "structuredContent": {"n": "SECRET"}}),
        json!({"content": [], "structuredContent": {}}),
        json!({"content": [], "isError": false}),
    ] {
        let Outcome::Error(error) = answer(&bad) else {
            panic!("{bad}");
        };
        assert_eq!(error.code, codes::INTERNAL_ERROR);
        assert!(!error.message.contains("SECRET"), "{}", error.message);
    }
    let failed = Outcome::Error(ErrorObject::new(1, "no"));
    let Outcome::Error(same) = fit.answers(failed) else {
        panic!("it became something else");
    };
    assert_eq!(same.code, 1);
}

#[test]
fn a_schema_that_is_none_lets_nothing_through() {
    let broken = Fit {
        input: Schema::new(r#"{"type":"nothing"}"#),
        ..fit()
    };
    assert!(broken.takes(Some(&raw(&json!({"to": []})))).is_err());
}

#[test]
fn every_tool_of_the_hub_has_schemas_that_can_be_read() {
    let mut count = 0;
    for tool in crate::known_tools() {
        let (name, server) = (tool.item.unwrap(), tool.server);
        let outputs = match server.as_str() {
            "desk" => crate::desk::output(&name),
            "delegate" => crate::delegate::output(&name),
            _ => None,
        };
        for text in tool.schema.as_deref().into_iter().chain(outputs) {
            count += 1;
            let schema: Value = serde_json::from_str(text).unwrap();
            jsonschema::validator_for(&schema).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }
    assert!(count > 60, "{count}");
}
