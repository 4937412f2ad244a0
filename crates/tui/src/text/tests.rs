//! What is left of texts, and how they are broken into lines.

use expect_test::{Expect, expect};
use ratatui_core::text::{Line, Span};

use super::*;

fn shown(lines: &[Line<'_>]) -> String {
    let rows = lines
        .iter()
        .map(|line| plain_of(line).trim_end().to_owned());
    rows.collect::<Vec<String>>().join("\n")
}

fn check(text: &str, width: usize, wanted: &Expect) {
    let prefix = Prefix {
        first: vec![Span::raw("[legation] ")],
        rest: vec![Span::raw("  ")],
    };
    let lines = markdown(&clean(text), width, prefix);
    for line in &lines {
        let wide = columns(&plain_of(line));
        assert!(wide <= width, "{wide} columns: {line:?}");
    }
    wanted.assert_eq(&shown(&lines));
}

#[test]
fn nothing_but_letters_and_line_ends_is_left() {
    let cases = [
        ("plain", "plain"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("a\tb\n\tc", "a   b\n    c"),
        ("\u{1b}[2J\u{1b}]0;title\u{7}", "␛[2J␛]0;title␇"),
        ("\u{9b}31m\u{85}x", "\u{fffd}31m\nx"),
        ("del\u{7f}", "del␡"),
        ("\u{202e}evil\u{2066}\u{feff}", "evil"),
        ("hid\u{200b}den\u{2060}\u{ad}", "hidden"),
        ("👨\u{200d}👩 ❤\u{fe0f}", "👨👩 ❤"),
        ("tag\u{e0041}\u{e007f}ged", "tagged"),
        (
            "e\u{301}\u{301}\u{301}\u{301}\u{301}",
            "e\u{301}\u{301}\u{301}",
        ),
        ("\u{301}x", "x"),
        ("שלום 張偉", "שלום 張偉"),
    ];
    for (text, left) in cases {
        assert_eq!(clean(text), left, "{text:?}");
    }
    assert_eq!(one_line(" a \n\t b\u{1b}c "), "a b␛c");
}

#[test]
fn every_sign_there_is_comes_out_harmless() {
    for code in 0..=0x0010_ffff {
        let Some(sign) = char::from_u32(code) else {
            continue;
        };
        let left = clean(&format!("a{sign}b"));
        let harm = left.chars().find(|sign| sign.is_control() && *sign != '\n');
        assert_eq!(harm, None, "U+{code:04X}");
    }
}

#[test]
fn an_entity_becomes_no_control_character() {
    let lines = markdown("&#27;[31m &#x9b;1m <b>&#8238;x</b>", 60, Prefix::default());
    assert_eq!(shown(&lines), "␛[31m \u{fffd}1m <b>x</b>");
}

#[test]
fn paragraphs_lists_and_quotes() {
    let text = "# Board\n\nI'll create the **Board** class with `get_piece` and *set_piece*.\n\n\
                1. first entry that is longer than a line\n2. second\n   - inner\n\n> quoted words\n> go on\n\n\
                See [the docs](https://example.com/docs) or <https://example.com>.\n\n---\n\n- [x] done\n- [ ] open";
    check(
        text,
        40,
        &expect![[r#"
            [legation] # Board

              I'll create the Board class with
              `get_piece` and set_piece.

              1. first entry that is longer than a
                 line
              2. second
                 - inner

              > quoted words go on

              See the docs
              (https://example.com/docs) or
              https://example.com.

              ---

              - [x] done
              - [ ] open"#]],
    );
}

#[test]
fn code_keeps_its_form_and_stands_apart() {
    check(
        "```python\nclass Board:\n\tdef get(self):  # a comment that is too long for this line\n\n        return 1\n```\n\nDone.",
        32,
        &expect![[r#"
            [legation]
                class Board:
                    def get(self):  # a comm
                ent that is too long for thi
                s line

                        return 1

              Done."#]],
    );
}

#[test]
fn tables_stand_side_by_side_or_one_entry_below_the_other() {
    let text = "| file | lines | note |\n|---|--:|:-:|\n| src/board.py | 145 | 新しい |\n| tests/test_board.py | 60 | with a long note of many words |";
    check(
        text,
        80,
        &expect![[r#"
            [legation]
                file                | lines |              note
                --------------------|-------|-------------------------------
                src/board.py        |   145 |             新しい
                tests/test_board.py |    60 | with a long note of many words"#]],
    );
    check(
        text,
        40,
        &expect![[r#"
            [legation]
                file          | lines |     note
                --------------|-------|-------------
                src/board.py  |   145 |    新しい
                tests/test_bo |    60 | with a long
                ard.py        |       | note of many
                              |       |    words"#]],
    );
    check(
        "| a | b | c | d |\n|-|-|-|-|\n| 1000000 | 2000000 | 3000000 | 4000000 |",
        24,
        &expect![[r#"
            [legation]
                a: 1000000
                b: 2000000
                c: 3000000
                d: 4000000"#]],
    );
}

#[test]
fn wide_signs_are_never_cut_in_half() {
    check(
        "請檢查這個合併請求好嗎謝謝 and then some words",
        20,
        &expect![[r#"
            [legation] 請檢查這
              個合併請求好嗎謝謝
              and then some
              words"#]],
    );
    assert_eq!(clip("張偉 wrote", 4), "張…");
    assert_eq!(clip("張偉", 4), "張偉");
    assert_eq!(clip("abc", 0), "");
}

/// Texts of every kind, for what must hold of all of them.
const TEXTS: &[&str] = &[
    "One paragraph.\n\nAnother one\nof two lines.\n\n```rust\nfn main() {\n    let x = 1;\n}\n```\n\nEnd.\n",
    "- one\n- two\n  - inner\n  - more\n- three\n\nafter\n\n1. a\n2. b\n3. c\n",
    "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n\nafter it\n\n> quote\n> more\n\nlast\n",
    "# head\n\ntext\n\n---\n\n~~~\ncode with ``` in it\n~~~\n\n    indented\n    code\n\nlast\n",
    "```\nno end\nof it\n",
    "Setext\n======\n\nwords\n\n<div>\nhtml\n</div>\n\nwords\n",
];

#[test]
fn what_was_shown_for_good_is_never_taken_back() {
    for text in TEXTS {
        for width in [20, 40, 80] {
            let mut shown_lines: Vec<String> = Vec::new();
            let (mut base, mut shown_to) = (0, 0);
            let ends = text.char_indices().map(|(at, sign)| at + sign.len_utf8());
            for end in ends {
                let so_far = &text[base..end];
                let (block, until) = settled(so_far);
                assert!(block <= until, "{text:?}");
                let until = base + until;
                assert!(until <= end, "{text:?}");
                if until > shown_to {
                    let lines = |from: usize, to: usize| {
                        let lines = markdown(&text[from..to], width, Prefix::default());
                        lines.iter().map(plain_of).collect::<Vec<String>>()
                    };
                    let skip = lines(base, shown_to).len();
                    if skip == 0 && !shown_lines.is_empty() {
                        shown_lines.push(String::new());
                    }
                    shown_lines.extend(lines(base, until).into_iter().skip(skip));
                    shown_to = until;
                    base += block;
                }
            }
            let rest = markdown(&text[base..], width, Prefix::default());
            let skip = markdown(&text[base..shown_to], width, Prefix::default()).len();
            if skip == 0 && !shown_lines.is_empty() && !rest.is_empty() {
                shown_lines.push(String::new());
            }
            shown_lines.extend(rest.iter().skip(skip).map(plain_of));
            let whole = markdown(text, width, Prefix::default());
            let whole: Vec<String> = whole.iter().map(plain_of).collect();
            assert_eq!(
                shown_lines.join("\n"),
                whole.join("\n"),
                "{text:?} at {width}"
            );
        }
    }
}
