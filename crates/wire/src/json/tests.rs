use bytes::Bytes;
use proptest::prelude::*;
use serde_json::Value;

use super::{JsonFault, Kind, Limits, Object, Raw};

fn parse(text: &str) -> Result<Raw, JsonFault> {
    Raw::parse(Bytes::copy_from_slice(text.as_bytes()), &Limits::CLIENT)
        .map_err(|error| error.fault)
}

fn raw(text: &str) -> Raw {
    parse(text).expect("a test text is JSON")
}

#[test]
fn accepts_the_grammar() {
    let texts = [
        "null",
        "true",
        "false",
        "0",
        "-0",
        "12",
        "-1.5",
        "1e9",
        "1E-2",
        "0.0e+0",
        "9223372036854775808",
        "123456789012345678901234567890",
        r#""""#,
        r#""a\u00e9\ud83d\ude00\"\\\/\b\f\n\r\t""#,
        "[]",
        "{}",
        "[1,[2,[]],{}]",
        r#"{"a":{"a":1},"b":[{"a":1}]}"#,
        r#"{"":1}"#,
        r#""\u0000""#,
    ];
    for text in texts {
        assert_eq!(
            parse(text).map(|raw| raw.as_text().to_owned()),
            Ok(text.to_owned())
        );
        let spaced = format!(" \t\r\n{text}\n ");
        assert_eq!(
            parse(&spaced).map(|raw| raw.as_text().to_owned()),
            Ok(text.to_owned()),
            "{spaced:?}"
        );
    }
}

#[test]
fn refuses_what_is_not_the_grammar() {
    use JsonFault as F;
    let byte = |b: u8| F::UnexpectedByte { found: b };
    let cases = [
        ("", F::UnexpectedEnd),
        ("  ", F::UnexpectedEnd),
        ("tru", F::UnexpectedEnd),
        ("nulL", byte(b'L')),
        ("01", F::BadNumber),
        ("-", F::BadNumber),
        ("1.", F::BadNumber),
        ("1e", F::BadNumber),
        (".5", byte(b'.')),
        ("+1", byte(b'+')),
        ("NaN", byte(b'N')),
        ("'a'", byte(b'\'')),
        ("[1,]", byte(b']')),
        ("[,1]", byte(b',')),
        ("[1 2]", byte(b'2')),
        ("[1}", byte(b'}')),
        ("{]", byte(b']')),
        (r#"{"a":1,}"#, byte(b'}')),
        (r#"{"a" 1}"#, byte(b'1')),
        (r#"{"a":}"#, byte(b'}')),
        (r#"{a:1}"#, byte(b'a')),
        (r#"{1:1}"#, byte(b'1')),
        (r#"{"a""#, F::UnexpectedEnd),
        (r#"{"a":1"#, F::UnexpectedEnd),
        ("1 2", F::TrailingData),
        ("{}{}", F::TrailingData),
        (r#""abc"#, F::UnexpectedEnd),
        (r#""abc\"#, F::UnexpectedEnd),
        (r#""\x""#, F::BadEscape),
        (r#""\u12g4""#, F::BadEscape),
        (r#""\u+123""#, F::BadEscape),
        (r#""\ud800""#, F::LoneSurrogate),
        (r#""\udc00""#, F::LoneSurrogate),
        (r#""\ud800\u0041""#, F::LoneSurrogate),
        (r#""\ud800\ud800""#, F::LoneSurrogate),
        ("\"a\nb\"", F::ControlCharacter),
        ("\"a\0b\"", F::ControlCharacter),
        (r#"{"a\u0000":1}"#, F::NulInKey),
        ("\u{feff}{}", byte(0xef)),
    ];
    for (text, fault) in cases {
        assert_eq!(parse(text), Err(fault), "{text:?}");
    }
}

#[test]
fn refuses_bytes_that_are_not_utf8() {
    for bytes in [
        &b"\"\xff\""[..],
        b"\"\xed\xa0\x80\"",
        b"\"\xc0\x80\"",
        b"\xf5",
    ] {
        let error =
            Raw::parse(Bytes::copy_from_slice(bytes), &Limits::CLIENT).expect_err("not UTF-8");
        assert_eq!(error.fault, JsonFault::NotUtf8);
    }
}

#[test]
fn refuses_duplicate_members_at_every_depth() {
    let duplicate = |key: &str| Err(JsonFault::DuplicateKey { key: key.into() });
    assert_eq!(parse(r#"{"a":1,"b":2,"a":3}"#), duplicate("a"));
    assert_eq!(
        parse(r#"[{"x":[{"k":{"é":1,"\u00e9":2}}]}]"#),
        duplicate("é")
    );
    assert_eq!(parse(r#"{"a/b":1,"a\/b":2}"#), duplicate("a/b"));
    let many = (0..500)
        .map(|n| format!("\"k{n}\":{{\"k{n}\":0}}"))
        .collect::<Vec<_>>()
        .join(",");
    assert!(parse(&format!("{{{many}}}")).is_ok());
    assert_eq!(parse(&format!("{{{many},\"k17\":1}}")), duplicate("k17"));
    assert_eq!(
        parse(&format!("{{{many},\"\\u006b3\":1}}")),
        duplicate("k3")
    );
}

#[test]
fn bounds_depth_and_size() {
    let limits = Limits {
        bytes: 1 << 20,
        depth: 3,
    };
    let parse = |text: &str| Raw::parse(Bytes::copy_from_slice(text.as_bytes()), &limits);
    assert!(parse("[[[1]]]").is_ok());
    let error = parse(r#"{"a":[{"b":[]}]}"#).expect_err("too deep");
    assert_eq!(
        (error.offset, error.fault),
        (11, JsonFault::TooDeep { limit: 3 })
    );
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    assert_eq!(
        parse(&deep).expect_err("too deep").fault,
        JsonFault::TooDeep { limit: 3 }
    );
    let unlimited = Limits {
        bytes: usize::MAX,
        depth: usize::MAX,
    };
    let raw =
        Raw::parse(deep.into(), &unlimited).expect("an explicit stack has no depth of its own");
    assert_eq!(raw.to_array().map(|items| items.len()), Some(1));
    let long = format!("\"{}\"", "a".repeat(1 << 20));
    assert_eq!(
        parse(&long).expect_err("too long").fault,
        JsonFault::TooLarge { limit: 1 << 20 }
    );
}

#[test]
fn errors_name_the_offset() {
    let error =
        Raw::parse(Bytes::from_static(br#"{"a": tru }"#), &Limits::CLIENT).expect_err("no literal");
    assert_eq!(error.to_string(), "unexpected byte 0x20 at byte 9");
    let error =
        Raw::parse(Bytes::from_static(b"[1,\"\xff\"]"), &Limits::CLIENT).expect_err("no UTF-8");
    assert_eq!(error.to_string(), "invalid UTF-8 at byte 4");
}

#[test]
fn reads_scalars() {
    assert_eq!(raw("-9223372036854775808").to_i64(), Some(i64::MIN));
    assert_eq!(raw("9223372036854775808").to_i64(), None);
    assert_eq!(raw("1.0").to_i64(), None);
    assert_eq!(raw(r#""1""#).to_i64(), None);
    assert_eq!(raw("true").to_bool(), Some(true));
    assert_eq!(
        raw(r#""a\n\u00e9\ud83d\ude00""#).to_str().as_deref(),
        Some("a\né😀")
    );
    assert_eq!(raw("[]").to_str(), None);
    assert_eq!(Raw::str("a\u{1}\"\\\n").as_text(), r#""a\u0001\"\\\n""#);
    let kinds = ["null", "false", "1", "\"\"", "[]", "{}"].map(|text| raw(text).kind());
    assert_eq!(
        kinds,
        [
            Kind::Null,
            Kind::Bool,
            Kind::Number,
            Kind::String,
            Kind::Array,
            Kind::Object
        ]
    );
}

#[test]
fn objects_keep_order_and_spelling() {
    let mut object = raw(r#" { "b" : 1.50 , "a\u0041" : [ 1 , "}" ] , "c":{"x":"\"{"} } "#)
        .to_object()
        .expect("an object");
    assert_eq!(
        object
            .iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect::<Vec<_>>(),
        ["b=1.50", "aA=[ 1 , \"}\" ]", r#"c={"x":"\"{"}"#]
    );
    object.set("b", Raw::int(2));
    object.set("d", Raw::str("x"));
    assert_eq!(object.remove("aA"), Some(raw("[ 1 , \"}\" ]")));
    assert_eq!(
        object.to_raw().as_text(),
        r#"{"b":2,"c":{"x":"\"{"},"d":"x"}"#
    );
    assert_eq!(raw("{}").to_object(), Some(Object::new()));
    assert_eq!(raw("[]").to_object(), None);
    assert_eq!(raw(r#"{"a":{"b":2},"b":1}"#).get("b"), Some(raw("1")));
    assert_eq!(raw(r#"{"a":{"b":2}}"#).get("b"), None);
}

#[test]
fn nests_into_serialised_data() {
    #[derive(serde::Serialize)]
    struct Record {
        args: Raw,
    }
    let record = Record {
        args: raw(r#"{"n":12345678901234567890,"f":1.0}"#),
    };
    assert_eq!(
        Raw::from_serialize(&record).as_text(),
        r#"{"args":{"n":12345678901234567890,"f":1.0}}"#
    );
}

fn arbitrary_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1e9f64..1e9).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    let key = any::<String>().prop_map(|key| key.replace('\0', ""));
    leaf.prop_recursive(6, 200, 24, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
            prop::collection::vec((key.clone(), inner), 0..24)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Rebuilds a value from its raw text, one level at a time.
fn rebuild(raw: &Raw) -> Value {
    match raw.kind() {
        Kind::Object => {
            let object = raw.to_object().expect("an object");
            Value::Object(
                object
                    .iter()
                    .map(|(key, value)| (key.to_owned(), rebuild(value)))
                    .collect(),
            )
        }
        Kind::Array => raw
            .to_array()
            .expect("an array")
            .iter()
            .map(rebuild)
            .collect(),
        Kind::String => Value::from(raw.to_str().expect("a string").into_owned()),
        _ => serde_json::from_slice(raw.as_bytes()).expect("a scalar"),
    }
}

#[test]
fn finds_what_a_long_string_may_not_hold_wherever_it_stands() {
    for length in 0..150 {
        for at in 0..=length {
            for byte in [0x00, 0x0a, 0x1f, b'"'] {
                let mut body = vec![b'~'; length];
                body.insert(at, byte);
                let text = [&b"\""[..], &body, b"\""].concat();
                let error = Raw::parse(text.into(), &Limits::CLIENT).unwrap_err();
                let offset = at + 1 + usize::from(byte == b'"');
                assert_eq!(
                    error.offset, offset,
                    "{byte:#x} at {at} of {length}: {error}"
                );
            }
            for escaped in [r#"\""#, r"\\", r"\n"] {
                let mut body = "~".repeat(length);
                body.insert_str(at, escaped);
                let object = raw(&format!(r#"{{"{body}":"{body}","after":1}}"#));
                assert_eq!(object.get("after"), Some(raw("1")), "{body}");
                let members = object.to_object().expect("an object");
                let (name, value) = members.iter().next().expect("a member");
                let text = value.to_str().expect("a string");
                assert_eq!(*name, *text);
                assert_eq!(text.chars().filter(|&c| c == '~').count(), length);
            }
        }
    }
}

proptest! {
    #[test]
    fn agrees_with_a_general_parser(value in arbitrary_json(), pretty: bool) {
        let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
        let raw = Raw::parse(text.clone().into(), &Limits::CLIENT).expect("valid text");
        prop_assert_eq!(raw.as_text(), text.trim());
        let theirs: Value = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(rebuild(&raw), theirs);
        if let Some(object) = raw.to_object() {
            let again = Raw::parse(object.to_raw().as_bytes().clone(), &Limits::CLIENT).expect("valid text");
            prop_assert_eq!(rebuild(&again), rebuild(&raw));
            for (key, value) in object.iter() {
                let got = raw.get(key);
                prop_assert_eq!(got.as_ref(), Some(value));
            }
        }
    }

    #[test]
    fn never_panics_and_accepts_nothing_a_general_parser_refuses(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        if let Ok(raw) = Raw::parse(bytes.into(), &Limits::CLIENT) {
            prop_assert!(serde_json::from_slice::<Value>(raw.as_bytes()).is_ok() || raw.to_i64().is_none());
        }
    }

    #[test]
    fn near_misses_agree_with_a_general_parser(text in r#"[\[\]{}:, "a\\u0d81ntrefalsx.\-+E]{0,24}"#) {
        let ours = Raw::parse(text.clone().into(), &Limits::CLIENT);
        let theirs = serde_json::from_str::<Value>(&text);
        match (&ours, &theirs) {
            (Ok(_), Err(error)) => prop_assert!(error.to_string().contains("number out of range"), "{text}: {error}"),
            (Err(error), Ok(_)) => prop_assert!(
                matches!(error.fault, JsonFault::DuplicateKey { .. } | JsonFault::NulInKey),
                "{text}: {error}"
            ),
            _ => {}
        }
    }
}
