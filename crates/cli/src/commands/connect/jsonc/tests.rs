use expect_test::expect;
use serde_json::json;

use super::*;

#[test]
fn comments_trailing_commas_and_order_stay() {
    let before = r#"// What my editor may start.
{
    "inputs": [], // none
    "servers": {
        /* the one I use */
        "files": { "command": "f", }, // keep
        // end
    },
}
"#;
    let entry = json!({"command": "x"});
    let after = with_entry(before, "servers", "own", Some(&entry)).expect("changed");
    expect![[r#"
            // What my editor may start.
            {
                "inputs": [], // none
                "servers": {
                    /* the one I use */
                    "files": { "command": "f", }, // keep
                    // end
                    "own": {
                        "command": "x"
                    },
                },
            }
        "#]]
    .assert_eq(&after);
    assert_eq!(
        with_entry(&after, "servers", "own", None).expect("taken out"),
        before
    );
}

#[test]
fn taking_out_gives_the_text_before() {
    let entry = json!({"command": "x", "args": ["a\"b", "}"]});
    let texts = [
        "{}",
        "{ }",
        "{\n}\n",
        "{\"a\": 1}",
        "{\"servers\": {\"files\": {}}}",
        "{\r\n  \"servers\": {\r\n    \"files\": {}\r\n  }\r\n}\r\n",
        "\u{feff}{\"a\": \"ü\"}",
        "{\n\t\"servers\": {\n\t\t\"files\": {\"command\": \"f\"} // last\n\t}\n}",
        "{\n  \"a\": 12345678901234567890.10, \"servers\": {\"b\": {}, }\n}",
    ];
    for text in texts {
        let after = with_entry(text, "servers", "own", Some(&entry)).expect(text);
        assert_eq!(
            super::entry(&after, "servers", "own").expect(text).as_ref(),
            Some(&entry),
            "{after}"
        );
        let again = with_entry(&after, "servers", "own", Some(&entry)).expect(text);
        assert_eq!(again, after);
        let back = with_entry(&after, "servers", "own", None).expect(text);
        let squeezed = |text: &str| text.split_whitespace().collect::<String>();
        assert_eq!(squeezed(&back), squeezed(text), "{after}");
    }
}

#[test]
fn the_entry_is_taken_from_any_place() {
    let texts = [
        (
            "{\"servers\": {\"own\": 1, \"b\": 2}}",
            "{\"servers\": { \"b\": 2}}",
        ),
        (
            "{\"servers\": {\"a\": 0, \"own\": 1, \"b\": 2}}",
            "{\"servers\": {\"a\": 0, \"b\": 2}}",
        ),
        (
            "{\"servers\": {\"a\": 0, \"own\": 1}}",
            "{\"servers\": {\"a\": 0}}",
        ),
        ("{\"servers\": {\"own\": 1}, \"z\": 0}", "{ \"z\": 0}"),
        ("{\"z\": 0, \"servers\": {\"own\": 1,},}", "{\"z\": 0,}"),
        ("{\"servers\": {\"a\": 0}}", "{\"servers\": {\"a\": 0}}"),
        ("{\"servers\": {}}", "{\"servers\": {}}"),
    ];
    for (before, after) in texts {
        let taken = with_entry(before, "servers", "own", None).expect(before);
        assert_eq!(taken, after, "{before}");
    }
}

#[test]
fn what_is_not_json_is_refused_with_its_line() {
    let cases = [
        ("{", "line 1: the name of a member is missing"),
        ("{\n\"a\"}", "line 2: a colon is missing"),
        ("{\"a\": 1 \"b\": 2}", "line 1: a comma is missing"),
        ("{\"a\": [1 2]}", "line 1: a comma is missing"),
        ("{\"a\": }", "line 1: a value is missing or malformed"),
        ("{\"a\": \"", "line 1: a text does not end"),
        ("{} x", "line 1: something follows the value"),
        ("{}\n/*", "line 2: a comment does not end"),
        (
            "{\"a\": 1, \"a\": 1}",
            "line 1: two members have the same name",
        ),
    ];
    for (text, wanted) in cases {
        let error = with_entry(text, "servers", "own", None).expect_err(text);
        assert_eq!(
            legation_core::error::chain(&error),
            format!("it is not JSON, not even with comments: {wanted}"),
            "{text}"
        );
    }
    let deep = format!("{{\"a\": {}1{}}}", "[".repeat(9999), "]".repeat(9999));
    assert!(with_entry(&deep, "servers", "own", None).is_err());
}
