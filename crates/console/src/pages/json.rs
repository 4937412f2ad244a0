//! JSON that somebody else wrote, for a person who decides about it.

use legation_core::unseen::is_written_out;
use serde::de::IgnoredAny;

/// How deep values are indented.
const DEPTH_MAX: usize = 16;

/// JSON by lines; what is none, such as what was cut, as it is. Only the space between values is
/// another: a number that was read would lose digits, and an escape that was undone could hide or
/// turn around what a person decides about. What shows nothing by itself is written out.
pub(crate) fn by_lines(text: &str) -> String {
    if serde_json::from_str::<IgnoredAny>(text).is_err() {
        return written_out(text);
    }
    let mut lines = String::with_capacity(text.len() * 2);
    let (mut depth, mut in_text, mut is_escaped) = (0_usize, false, false);
    for character in text.chars() {
        if in_text {
            in_text = character != '"' || is_escaped;
            is_escaped = character == '\\' && !is_escaped;
            lines.push(character);
            continue;
        }
        match character {
            '{' | '[' => {
                depth += 1;
                lines.push(character);
                begin(&mut lines, depth);
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                lines.truncate(lines.trim_end().len());
                if !lines.ends_with(['{', '[']) {
                    begin(&mut lines, depth);
                }
                lines.push(character);
            }
            ',' => {
                lines.push(character);
                begin(&mut lines, depth);
            }
            ':' => lines.push_str(": "),
            ' ' | '\t' | '\r' | '\n' => {}
            _ => {
                in_text = character == '"';
                lines.push(character);
            }
        }
    }
    written_out(&lines)
}

fn begin(lines: &mut String, depth: usize) {
    lines.push('\n');
    lines.extend(std::iter::repeat_n("  ", depth.min(DEPTH_MAX)));
}

/// A text in which control, format and bidi characters are written out as JSON has them.
fn written_out(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if character == '\n' || !is_written_out(character) {
            out.push(character);
            continue;
        }
        for unit in character.encode_utf16(&mut [0; 2]) {
            out.push_str(&format!("\\u{unit:04x}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::by_lines;

    #[test]
    fn it_says_what_was_written_and_nothing_else() {
        let nested = "{\n  \"a\": [\n    1,\n    {\n      \"b\": null\n    }\n  ],\n  \"c\": {},\n  \"d\": []\n}";
        let cases = [
            (r#"{"a":[1,{"b":null}],"c":{},"d":[]}"#, nested),
            // Nothing is turned around, and no digit is lost.
            (
                r#"{ "to":"\u202emoc.elpmaxe" }"#,
                "{\n  \"to\": \"\\u202emoc.elpmaxe\"\n}",
            ),
            (
                "{\"to\":\"\u{202e}moc\u{e0041}\"}",
                "{\n  \"to\": \"\\u202emoc\\udb40\\udc41\"\n}",
            ),
            (
                "[12345678901234567890123,1.10]",
                "[\n  12345678901234567890123,\n  1.10\n]",
            ),
            // What stands in a text is no mark.
            (r#"["a\",{ }: b\\"]"#, "[\n  \"a\\\",{ }: b\\\\\"\n]"),
            // What was cut stays as it is, and hides nothing either.
            ("{\"a\":\"b\u{200b}…", "{\"a\":\"b\\u200b…"),
        ];
        for (text, shown) in cases {
            assert_eq!(by_lines(text), shown, "{text}");
        }
    }
}
