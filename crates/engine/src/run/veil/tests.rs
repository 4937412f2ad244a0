use serde_json::json;

use super::*;
use crate::run::toolset::{Offer, ToolChoice};

fn tools() -> Toolset {
    let offer = Offer {
        flat: "workspace-read_file".into(),
        server: "workspace".into(),
        item: "read_file".into(),
        description: String::new(),
        schema: json!({ "type": "object" }),
        reads: true,
    };
    let choice = ToolChoice {
        budget_bytes: usize::MAX,
        ..ToolChoice::default()
    };
    Toolset::choose(vec![offer], &choice)
}

/// What is shown while an answer comes in pieces, and when it is over.
fn shown(answer: &str, size: usize) -> (String, String) {
    let tools = tools();
    let mut veil = Veil::default();
    let letters: Vec<char> = answer.chars().collect();
    let mut early = String::new();
    for piece in letters.chunks(size) {
        early.push_str(&veil.push(&piece.iter().collect::<String>(), &tools));
    }
    let has_calls = !repair::find(answer, &|name| tools.knows(name))
        .calls
        .is_empty();
    let late = veil.finish(has_calls, &tools);
    (early, late)
}

#[test]
fn calls_are_not_shown_and_words_are() {
    const CALL: &str = r#"{"name": "read_file", "arguments": {"path": "a"}}"#;
    for (answer, early, late) in [
        ("Only words.", "Only words.", ""),
        // Signs that begin nothing.
        ("a < b, c[0] and `x`; {d}", "a < b, c[0] and `x`; {d}", ""),
        ("<b>bold</b> [1] {x}", "<b>bold</b> [1] {x}", ""),
        ("[Note] so", "[Note] so", ""),
        // What may be a mark at the very end is words when nothing follows.
        ("It is x <tool", "It is x ", "<tool"),
        (
            &format!("I look.\n<tool_call>{CALL}</tool_call>"),
            "I look.\n",
            "",
        ),
        (
            &format!("I look.\n<tool_call>{CALL}</tool_call> Then."),
            "I look.\n",
            "Then.",
        ),
        (&format!("[TOOL_CALLS][{CALL}]"), "", ""),
        (&format!("<function=read_file>{CALL}</function>"), "", ""),
        ("<read_file><path>a</path></read_file>", "", ""),
        ("<read_files> is no tool", "<read_files> is no tool", ""),
        (&format!("So:\n```json\n{CALL}\n```"), "So:\n", ""),
        (CALL, "", ""),
        (&format!(" [{CALL}]"), " ", ""),
        // JSON that is no call.
        (
            "```json\n{\"a\": 1}\n``` is it.",
            "```json\n{\"a\": 1}\n``` is it.",
            "",
        ),
        (r#"{"a": 1}"#, "", r#"{"a": 1}"#),
        // What closes a fence could open another.
        ("```rust\nfn a() {}\n```", "```rust\nfn a() {}\n", "```"),
        // A mark with nothing that can be read in it.
        (
            "<tool_call>what</tool_call>",
            "",
            "<tool_call>what</tool_call>",
        ),
    ] {
        for size in 1..=answer.chars().count() {
            let (shown_early, shown_late) = shown(answer, size);
            assert_eq!(
                (shown_early.as_str(), shown_late.as_str()),
                (early, late),
                "{answer:?} by {size}"
            );
        }
    }
}

#[test]
fn without_tools_nothing_is_held_back() {
    let mut veil = Veil::default();
    let text = "<tool_call>{}";
    assert_eq!(veil.push(text, &Toolset::none()), text);
    assert_eq!(veil.finish(false, &Toolset::none()), "");
}
