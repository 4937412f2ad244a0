use legation_models::{CallResult, ToolCall};

use super::*;

fn tools() -> Vec<Tool> {
    vec![Tool {
        name: "look".to_owned(),
        description: "Looks.".to_owned(),
        parameters: json!({ "type": "object" }),
    }]
}

#[test]
fn a_conversation_without_a_beginning_is_told_of_tools_first() {
    let told = told(&[Message::User("Hi".to_owned())], &tools());
    assert_eq!(told.len(), 2);
    assert!(matches!(&told[0], Message::System(text) if text.contains("look: Looks.")));
}

#[test]
fn what_is_written_of_calls_is_found_in_it_again() {
    let turn = Turn {
        text: "I look.".to_owned(),
        calls: ["a", "b"]
            .map(|path| ToolCall {
                id: path.to_owned(),
                name: "look".to_owned(),
                arguments: json!({ "path": path }).to_string(),
            })
            .to_vec(),
        ..Turn::default()
    };
    let result = Message::Result(CallResult {
        call_id: "b".to_owned(),
        text: "nothing".to_owned(),
        is_error: true,
    });
    let told = told(
        &[
            Message::System(String::new()),
            Message::Assistant(turn),
            result,
        ],
        &tools(),
    );
    let Message::Assistant(turn) = &told[1] else {
        panic!("no turn");
    };
    assert!(turn.calls.is_empty());
    let found = crate::run::repair::find(&turn.text, &|name| name == "look");
    let paths: Vec<&Value> = found
        .calls
        .iter()
        .map(|call| &call.arguments["path"])
        .collect();
    assert_eq!(
        (found.words.as_str(), paths),
        ("I look.", vec![&json!("a"), &json!("b")])
    );
    assert!(matches!(&told[2], Message::User(text) if text == "look failed:\nnothing"));
}
