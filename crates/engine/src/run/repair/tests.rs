use serde_json::json;

use super::*;

fn found(text: &str) -> Found {
    find(text, &|name| ["read_file", "bash"].contains(&name))
}

fn one(text: &str) -> (String, Value, bool) {
    let mut found = found(text);
    assert_eq!(found.calls.len(), 1, "{text}: {found:?}");
    let call = found.calls.remove(0);
    (call.name, call.arguments, call.is_cut)
}

#[test]
fn a_call_is_found_however_it_is_written() {
    let expected = json!({ "path": "src/a.rs" });
    for text in [
        "<tool_call>\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"src/a.rs\"}}\n</tool_call>",
        "<tool_call>{'name': 'read_file', 'arguments': {'path': 'src/a.rs',},}</tool_call>",
        "<tool_call>\n```json\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"src/a.rs\"}}\n```\n</tool_call>",
        "<tool_call>{\"name\": \"read_file\", \"arguments\": {\"path\": \"src/a.rs\"}",
        "[TOOL_CALLS][{\"name\": \"read_file\", \"arguments\": {\"path\": \"src/a.rs\"}}]",
        "<|python_tag|>{\"name\": \"read_file\", \"parameters\": {\"path\": \"src/a.rs\"}}",
        "<tool_call>\n<function=read_file>\n<parameter=path>\nsrc/a.rs\n</parameter>\n</function>\n</tool_call>",
        "<function=read_file>{\"path\": \"src/a.rs\"}</function>",
        "<function_calls><invoke name=\"read_file\"><parameter name=\"path\">src/a.rs</parameter></invoke></function_calls>",
        "I look.\n<read_file>\n<path>src/a.rs</path>\n</read_file>",
        "Here:\n```json\n{\"tool\": \"read_file\", \"args\": {\"path\": \"src/a.rs\"}}\n```",
        "```tool_call\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"src/a.rs\"}}\n```",
        "{\"type\": \"function\", \"function\": {\"name\": \"read_file\", \"arguments\": {\"path\": \"src/a.rs\"}}}",
        "  {\"name\": \"read_file\", \"input\": {\"path\": \"src/a.rs\"}}  ",
    ] {
        let (name, arguments, is_cut) = one(text);
        assert_eq!(
            (name.as_str(), &arguments, is_cut),
            ("read_file", &expected, false),
            "{text}"
        );
    }
}

#[test]
fn words_around_calls_stay() {
    let text = "First this.\n<tool_call>{\"name\": \"bash\", \"arguments\": {}}</tool_call>\nThen\n<tool_call>{\"name\": \"read_file\", \"arguments\": {}}</tool_call> that.";
    let found = found(text);
    assert_eq!(found.words, "First this.\n\nThen\n that.");
    let names: Vec<&str> = found.calls.iter().map(|call| call.name.as_str()).collect();
    assert_eq!(names, ["bash", "read_file"]);
}

#[test]
fn what_only_looks_like_a_call_is_none() {
    for text in [
        "```json\n{\"name\": \"left-pad\", \"version\": \"1.0.0\"}\n```",
        "```json\n{\"name\": \"read_file\", \"version\": \"1.0.0\"}\n```",
        "Use <read_file_please>x</read_file_please>.",
        "{\"good\": true}",
        "a < b and b > c",
        "<p>read_file</p>",
        "```json\n{\"name\": \"other\", \"arguments\": {}}\n```",
        "",
    ] {
        let found = found(text);
        assert!(found.calls.is_empty(), "{text}: {found:?}");
        assert_eq!(found.words, text.trim(), "{text}");
    }
    // Within marks that only calls have, any name is one; it is answered with names that there are.
    let (name, ..) = one("<tool_call>{\"name\": \"open\", \"arguments\": {}}</tool_call>");
    assert_eq!(name, "open");
}

#[test]
fn a_call_that_was_cut_is_told_from_a_whole_one() {
    for text in [
        "<tool_call>{\"name\": \"bash\", \"arguments\": {\"command\": \"rm -r",
        "<bash><command>rm -r",
        "<tool_call><function=bash><parameter=command>rm -r",
        "```json\n{\"name\": \"bash\", \"arguments\": {\"command\": \"rm",
    ] {
        let (name, _, is_cut) = one(text);
        assert!(name == "bash" && is_cut, "{text}");
    }
}

#[test]
fn nothing_is_found_in_no_time_whatever_comes() {
    for text in [
        "<".repeat(20_000),
        "{".repeat(20_000),
        "```".repeat(7_000),
        "<tool_call>".repeat(2_000),
    ] {
        assert!(found(&text).calls.is_empty());
    }
}
