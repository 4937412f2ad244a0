use expect_test::{Expect, expect};

use super::parse;

fn check(text: &str, expected: &Expect) {
    let printed = match parse(text) {
        Ok(value) => value.to_string(),
        Err(error) => error.to_string(),
    };
    expected.assert_eq(&printed);
}

#[test]
fn plain_json_is_read_as_it_stands() {
    check(
        "{\"b\": [1, -2, 3.5, null, true], \"a\": \"é\"}",
        &expect![[r#"{"b":[1,-2,3.5,null,true],"a":"é"}"#]],
    );
    check("\u{feff}{}", &expect!["{}"]);
    check(
        "{\"a\": {\"k\": 1}, \"b\": {\"k\": 2}}",
        &expect![[r#"{"a":{"k":1},"b":{"k":2}}"#]],
    );
}

#[test]
fn anything_else_is_refused_with_its_place() {
    check(
        "{\"a\": 1,\n \"a\": 2}",
        &expect![[r#"line 2, column 4: the key "a" is there twice"#]],
    );
    check(
        "{\"x\": {\"\\u0061\": 1, \"a\": 2}}",
        &expect![[r#"line 1, column 23: the key "a" is there twice"#]],
    );
    check(
        "{\"a\": [{\"k\": 1, \"k\": 1}]}",
        &expect![[r#"line 1, column 19: the key "k" is there twice"#]],
    );
    check(
        "{\n  // note\n}",
        &expect!["line 2, column 3: key must be a string"],
    );
    check("{\"a\": 1,}", &expect!["line 1, column 9: trailing comma"]);
    check("{} {}", &expect!["line 1, column 4: trailing characters"]);
    check("", &expect!["line 1, column 0: EOF while parsing a value"]);
    check(
        "{\"a\": 1e999}",
        &expect!["line 1, column 11: number out of range"],
    );
    check(
        "{\"a\": \"\\ud800\"}",
        &expect!["line 1, column 14: unexpected end of hex escape"],
    );
    check(
        &"[".repeat(100_000),
        &expect!["line 1, column 128: recursion limit exceeded"],
    );
}

#[test]
fn editors_files_may_have_comments_and_last_commas() {
    for (text, expected) in [
        ("{\"a\": 1, // \"b\": 2\n}", r#"{"a":1}"#),
        ("/* é \" */ {\"a\": [1, 2,],}", r#"{"a":[1,2]}"#),
        (
            r#"{"a": "// no /* comment */ ,]"}"#,
            r#"{"a":"// no /* comment */ ,]"}"#,
        ),
        (r#"{"a": "\"//", "b": 1}"#, r#"{"a":"\"//","b":1}"#),
        ("\u{feff}{}", "{}"),
    ] {
        let value = super::parse_lenient(text).expect(text);
        assert_eq!(value.to_string(), expected, "{text}");
    }
    for wrong in [
        "{\"a\": 1 /*",
        "{,}",
        "{\"a\": 1, \"a\": 2}",
        "\"\\",
        "{\"a\": \"x}",
    ] {
        assert!(super::parse_lenient(wrong).is_err(), "{wrong}");
    }
}
