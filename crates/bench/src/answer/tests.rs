//! The echo server's answers, byte for byte where a client depends on them.

use serde_json::{Value, json};

use super::{Answered, Era, Server};
use crate::journal::Journal;

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#;

fn ask(era: Era, message: &str) -> (Answered, Value) {
    let mut out = Vec::new();
    let answered = Server::new(era, 1).answer(message.as_bytes(), &mut out);
    let value = if out.is_empty() {
        Value::Null
    } else {
        serde_json::from_slice(&out).expect("an answer is JSON")
    };
    (answered, value)
}

fn call(tool: &str, members: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":"a\"b","method":"tools/call","params":{{"name":"{tool}","arguments":{{"text":"h\u00e9 \"x\""}}{members}}}}}"#
    )
}

#[test]
fn a_call_returns_its_text_in_the_era_it_was_made_in() {
    let (answered, value) = ask(Era::Both, &call("echo", ""));
    assert_eq!(answered, Answered::Reply);
    let content = json!([{ "type": "text", "text": "hé \"x\"" }]);
    assert_eq!(
        value["result"],
        json!({ "content": content, "isError": false })
    );
    assert_eq!(value["id"], "a\"b");
    let (_, value) = ask(Era::Both, &call("echo", &format!(",{META}")));
    assert_eq!(value["result"]["resultType"], "complete");
}

#[test]
fn kib_returns_one_kibibyte() {
    let (_, value) = ask(Era::Legacy, &call("kib", ""));
    let text = value["result"]["content"][0]["text"]
        .as_str()
        .expect("a text");
    assert_eq!(text.len(), 1024);
    assert!(text.starts_with("hé \"x\""));
}

#[test]
fn each_message_gets_its_kind_of_answer() {
    let request = |method: &str, members: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{members}}}}}"#)
    };
    for (era, message, expected) in [
        (Era::Legacy, request("initialize", ""), Answered::Opened),
        (Era::Modern, request("initialize", ""), Answered::Error(400)),
        (
            Era::Legacy,
            request("server/discover", META),
            Answered::Error(400),
        ),
        (Era::Both, request("server/discover", META), Answered::Reply),
        (Era::Both, request("server/discover", ""), Answered::Reply),
        (Era::Both, request("tools/list", ""), Answered::Reply),
        (Era::Both, request("no/such", META), Answered::Error(404)),
        (Era::Both, request("no/such", ""), Answered::Reply),
        (Era::Both, request("tools/call", META), Answered::Error(400)),
        (
            Era::Both,
            r#"{"jsonrpc":"2.0","method":"notifications/x"}"#.to_owned(),
            Answered::Silent,
        ),
        (Era::Both, "{".to_owned(), Answered::Error(400)),
    ] {
        assert_eq!(ask(era, &message).0, expected, "{era:?} {message}");
    }
}

#[test]
fn extra_tools_are_listed() {
    let (_, value) = ask(
        Era::Both,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#,
    );
    let tools = value["result"]["tools"].as_array().expect("a list");
    let names: Vec<_> = tools
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    assert_eq!(names, ["echo", "kib", "change", "tool_00000"]);
}

#[test]
fn a_call_is_written_down_before_it_is_answered() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let server = || Server::new(Era::Both, 1).with_journal(Journal::open(&path).unwrap());
    for _restart in 0..2 {
        let mut out = Vec::new();
        server().answer(call("echo", "").as_bytes(), &mut out);
        assert!(!out.is_empty());
    }
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let mut out = Vec::new();
    server().answer(list.as_bytes(), &mut out);
    let list = String::from_utf8(out).unwrap();
    assert!(
        list.contains("tool_00000") && !list.contains("readOnlyHint"),
        "{list}"
    );
    let written = std::fs::read_to_string(&path).unwrap();
    assert_eq!(written, "echo h\u{e9} \"x\"\n".repeat(2));
}
