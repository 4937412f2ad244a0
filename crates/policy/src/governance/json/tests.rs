//! The reader against `serde_json`, which it must agree with wherever no key
//! stands twice.

use proptest::prelude::*;
use serde_json::{Map, Value};

use super::{parse, place, push_step, read};

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "\\PC{0,8}".prop_map(Value::from),
        prop_oneof![Just("\"\\"), Just("{\"a\":["), Just("]},")].prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec(("[a-c/~_\"]{0,3}", inner), 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// Every value in `value`, with its pointer.
fn pointers(value: &Value, at: &mut String, all: &mut Vec<(String, Value)>) {
    all.push((at.clone(), value.clone()));
    let depth = at.len();
    let inner: Vec<(String, &Value)> = match value {
        Value::Object(members) => members
            .iter()
            .map(|(key, value)| (key.clone(), value))
            .collect(),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .map(|(index, value)| (index.to_string(), value))
            .collect(),
        _ => Vec::new(),
    };
    for (step, value) in inner {
        push_step(at, &step);
        pointers(value, at, all);
        at.truncate(depth);
    }
}

proptest! {
    #[test]
    fn what_has_no_key_twice_is_read_as_it_is(value in value()) {
        for text in [value.to_string(), serde_json::to_string_pretty(&value).expect("written")] {
            prop_assert_eq!(parse(&text).expect("read"), value.clone());
        }
    }

    #[test]
    fn every_value_is_found_where_it_stands(value in value()) {
        let text = serde_json::to_string_pretty(&value).expect("written");
        let mut all = Vec::new();
        pointers(&value, &mut String::new(), &mut all);
        for (pointer, value) in all {
            let line = place(&text, &pointer).line.expect("a line");
            let from = text.lines().nth(line - 1).expect("there");
            let begins = match &value {
                Value::Object(members) if members.is_empty() => "{}".to_owned(),
                Value::Array(items) if items.is_empty() => "[]".to_owned(),
                Value::Object(_) => "{".to_owned(),
                Value::Array(_) => "[".to_owned(),
                plain => plain.to_string(),
            };
            prop_assert!(from.contains(&begins), "{pointer}: {from:?} holds {begins:?}");
        }
    }

    #[test]
    fn a_key_added_twice_anywhere_is_refused(value in value(), pick in any::<prop::sample::Index>()) {
        let text = value.to_string();
        let opens: Vec<usize> = structural(&text);
        prop_assume!(!opens.is_empty());
        let at = opens[pick.index(opens.len())] + 1;
        let comma = if text[at..].starts_with('}') { "" } else { "," };
        let doubled = format!("{}\"zz\":1,\"z\\u007a\":2{comma}{}", &text[..at], &text[at..]);
        let refused = parse(&doubled).expect_err("twice");
        prop_assert!(refused.message.contains("twice"), "{}", refused.message);
    }

    #[test]
    fn no_text_is_too_strange(text in "\\PC{0,64}", pointer in "(/[a-z0-9~/]{0,3}){0,4}") {
        drop(read::<Value>(&text));
        if parse(&text).is_ok() {
            place(&text, &pointer);
        }
    }
}

/// Where objects begin, outside of strings.
fn structural(text: &str) -> Vec<usize> {
    let (mut inside, mut escaped) = (false, false);
    let mut opens = Vec::new();
    for (at, byte) in text.bytes().enumerate() {
        if inside {
            inside = byte != b'"' || escaped;
            escaped = byte == b'\\' && !escaped;
        } else if byte == b'"' {
            inside = true;
        } else if byte == b'{' {
            opens.push(at);
        }
    }
    opens
}
