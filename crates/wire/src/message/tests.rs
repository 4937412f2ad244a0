use bytes::Bytes;
use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::{Cut, ErrorObject, Excerpt, Id, Message, MessageFault, Parsed};
use crate::json::{Limits, Raw};

/// Reads a text and writes it again, or says why not and under which id to answer.
fn check(text: &str, expected: Expect) {
    let seen = match Message::parse_one(&Bytes::copy_from_slice(text.as_bytes()), &Limits::CLIENT) {
        Ok(message) => String::from_utf8(message.to_bytes().to_vec()).unwrap(),
        Err(error) => {
            let id = error
                .id
                .as_ref()
                .map_or_else(|| "null".to_owned(), ToString::to_string);
            format!(
                "{} id={id} response={}: {error}",
                error.code(),
                error.is_response
            )
        }
    };
    expected.assert_eq(&seen);
}

#[test]
fn round_trips() {
    check(
        r#" {"params":{ "a" : 1.0 },"method":"x/\u0079","id":"é\n","jsonrpc":"2.0","extra":[]} "#,
        expect![[r#"{"jsonrpc":"2.0","id":"é\n","method":"x/y","params":{ "a" : 1.0 }}"#]],
    );
    check(
        r#"{"jsonrpc":"2.0","method":"n"}"#,
        expect![[r#"{"jsonrpc":"2.0","method":"n"}"#]],
    );
    check(
        r#"{"jsonrpc":"2.0","id":9223372036854775807,"result":null}"#,
        expect![[r#"{"jsonrpc":"2.0","id":9223372036854775807,"result":null}"#]],
    );
    check(
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m","data":[1],"vendor":{}}}"#,
        expect![[
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m","data":[1],"vendor":{}}}"#
        ]],
    );
    check(
        r#"{"jsonrpc":"2.0","error":{"code":1}}"#,
        expect![[r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}"#]],
    );
}

#[test]
fn tolerates_members_written_as_null() {
    check(
        r#"{"jsonrpc":"2.0","id":1,"method":"a","params":null}"#,
        expect![[r#"{"jsonrpc":"2.0","id":1,"method":"a"}"#]],
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"result":{},"error":null}"#,
        expect![[r#"{"jsonrpc":"2.0","id":1,"result":{}}"#]],
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"error":null}"#,
        expect![[
            r#"-32600 id=1 response=true: member "error" must be an object with an integer "code""#
        ]],
    );
}

#[test]
fn refuses() {
    check(
        "{",
        expect!["-32700 id=null response=false: not JSON: text ends inside a value at byte 1"],
    );
    check(
        "1",
        expect!["-32600 id=null response=false: a message is an object"],
    );
    check(
        r#"{"id":1,"method":"a"}"#,
        expect![[r#"-32600 id=1 response=false: member "jsonrpc" must be "2.0""#]],
    );
    check(
        r#"{"jsonrpc":"1.0","id":"q","method":"a"}"#,
        expect![[r#"-32600 id="q" response=false: member "jsonrpc" must be "2.0""#]],
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"method":2}"#,
        expect![[r#"-32600 id=1 response=false: member "method" must be a string"#]],
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"method":"a","params":[]}"#,
        expect![[r#"-32600 id=1 response=false: member "params" must be an object"#]],
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"result":1,"error":{"code":1,"message":""}}"#,
        expect![[
            r#"-32600 id=1 response=true: "method", "result" and "error" exclude each other"#
        ]],
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"method":"a","result":1}"#,
        expect![[
            r#"-32600 id=1 response=false: "method", "result" and "error" exclude each other"#
        ]],
    );
    check(
        r#"{"jsonrpc":"2.0","id":1}"#,
        expect![[
            r#"-32600 id=1 response=false: one of "method", "result" and "error" is required"#
        ]],
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"error":"no"}"#,
        expect![[
            r#"-32600 id=1 response=true: member "error" must be an object with an integer "code""#
        ]],
    );
    check(
        "[]",
        expect!["-32600 id=null response=false: an empty batch"],
    );
    check(
        r#"[{"jsonrpc":"2.0","id":1,"method":"a"}]"#,
        expect!["-32600 id=null response=false: batches are not part of this protocol revision"],
    );
}

#[test]
fn ids_are_strings_and_64_bit_integers() {
    let long = format!("\"{}\"", "x".repeat(257));
    for id in [
        "null",
        "1.0",
        "1e2",
        "9223372036854775808",
        "{}",
        "[1]",
        "true",
        &long,
    ] {
        let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"a"}}"#);
        let error = Message::parse_one(&text.into(), &Limits::CLIENT).expect_err("not an id");
        assert_eq!((error.fault, error.id), (MessageFault::Id, None), "{id}");
    }
    let error = Message::parse_one(
        &Bytes::from_static(br#"{"jsonrpc":"2.0","id":null,"result":{}}"#),
        &Limits::CLIENT,
    );
    assert_eq!(
        error.expect_err("a result has an id").fault,
        MessageFault::Id
    );
    assert_ne!(Id::from(1), Id::from("1"));
}

/// What an excerpt of 100 bytes from either end says of a text.
fn cut(text: &str) -> Cut {
    let bytes = Bytes::copy_from_slice(text.as_bytes());
    let end = bytes.len().min(100);
    Excerpt {
        head: bytes.slice(..end),
        tail: bytes.slice(bytes.len() - end..),
    }
    .read()
}

#[test]
fn what_was_too_long_shows_its_id_at_either_end() {
    let payload = format!(r#"{{"a":["}}","\"id\":9,{}"]}}"#, "x".repeat(500));
    let request = |id: Id| Cut::Request(id);
    let response = |id: Id| Cut::Response(id);
    for (text, expected) in [
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"a","params":P}"#,
            request(1.into()),
        ),
        (
            r#" { "id" : "x\"y" , "method":"a","params":P}"#,
            request("x\"y".into()),
        ),
        (
            r#"{"method":"a","params":P,"jsonrpc":"2.0","id":-7}"#,
            request(Id::from(-7)),
        ),
        (
            r#"{"params":P,"id":"q","method":"a"} "#,
            request("q".into()),
        ),
        (r#"{"jsonrpc":"2.0","id":3,"result":P}"#, response(3.into())),
        (
            r#"{"result":P,"jsonrpc":"2.0","id":"a\\"}"#,
            response("a\\".into()),
        ),
        (r#"{"result":P , "id" : 4 }"#, response(4.into())),
        (r#"{"error":P,"id":5,"jsonrpc":"2.0"}"#, response(5.into())),
        (
            r#"{"jsonrpc":"2.0","id":1,"params":P,"method":"a"}"#,
            request(1.into()),
        ),
        // A notification, ids that are none, two of them, a payload's own, and no JSON.
        (r#"{"jsonrpc":"2.0","method":"a","params":P}"#, Cut::Other),
        (
            r#"{"jsonrpc":"2.0","id":null,"method":"a","params":P}"#,
            Cut::Other,
        ),
        (r#"{"id":1,"method":"a","params":P,"id":2}"#, Cut::Other),
        (r#"{"method":"a","params":{"id":1,"x":P}}"#, Cut::Other),
        (r#"{"method":"a","params":{"x":P,"id":1}}"#, Cut::Other),
        (r#"{"id":1,"x":P}"#, Cut::Other),
        (r#"[{"id":1,"method":"a","params":P}]"#, Cut::Other),
        ("P", Cut::Other),
        ("", Cut::Other),
    ] {
        assert_eq!(cut(&text.replace('P', &payload)), expected, "{text}");
    }
}

proptest! {
    #[test]
    fn excerpts_of_anything_are_read(head in "[{}\\[\\]\",:id1 \\\\]{0,40}", tail in "[{}\\[\\]\",:id1 \\\\]{0,40}") {
        let _read = Excerpt { head: head.into(), tail: tail.into() }.read();
    }
}

#[test]
fn batches_are_read_one_by_one() {
    let text = br#"[ {"jsonrpc":"2.0","method":"a"}, 1, {"jsonrpc":"2.0","id":7}, {"jsonrpc":"2.0","id":2,"method":"b"} ]"#;
    let Ok(Parsed::Batch(items)) = Message::parse(&Bytes::from_static(text), &Limits::CLIENT)
    else {
        panic!("a batch");
    };
    let kinds: Vec<_> = items
        .iter()
        .map(|item| {
            item.as_ref()
                .map(Message::to_bytes)
                .map_err(|error| error.fault.clone())
        })
        .collect();
    assert_eq!(
        kinds,
        [
            Ok(Bytes::from_static(br#"{"jsonrpc":"2.0","method":"a"}"#)),
            Err(MessageFault::NotAnObject),
            Err(MessageFault::Empty),
            Ok(Bytes::from_static(
                br#"{"jsonrpc":"2.0","id":2,"method":"b"}"#
            )),
        ]
    );
}

#[test]
fn errors_carry_data_and_vendor_members() {
    let error = ErrorObject::new(-31000, "no").with_data(Raw::from_static(r#"{"rule":1}"#));
    let again = ErrorObject::from_raw(&error.to_object().to_raw());
    assert_eq!(again, Some(error));
}

proptest! {
    #[test]
    fn what_is_read_is_written_the_same(
        id in prop_oneof![any::<i64>().prop_map(Id::Int), "[^\0]{0,40}".prop_map(|s| Id::Str(s.into()))],
        method in "\\PC{0,20}",
        payload in prop::sample::select(vec!["{}", r#"{"a":[1,{"b":null}]}"#, r#"{ "n" : 1e400 }"#]),
        kind in 0..4u8,
    ) {
        let payload = Raw::from_static(payload);
        let message = match kind {
            0 => Message::request(id, &method, Some(payload)),
            1 => Message::notification(&method, None),
            2 => Message::response(id, Ok(payload)),
            _ => Message::response(id, Err(ErrorObject::new(-1, &method).with_data(payload))),
        };
        prop_assert_eq!(Message::parse_one(&message.to_bytes(), &Limits::CLIENT), Ok(message));
    }

    #[test]
    fn never_panics(parts in prop::collection::vec(prop::sample::select(vec![
        "{", "}", "[", "]", ",", ":", "\"jsonrpc\"", "\"2.0\"", "\"id\"", "\"method\"", "\"params\"", "\"error\"", "\"result\"", "\"code\"", "1", "null", "\"\\u0069d\"", " ",
    ]), 0..24)) {
        drop(Message::parse(&parts.concat().into(), &Limits::CLIENT));
    }
}
