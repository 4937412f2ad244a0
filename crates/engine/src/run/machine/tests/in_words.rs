//! Models that cannot call tools.

use super::*;

const WORK: [Turn; 3] = [
    Turn::Says(
        "I look.\n<tool_call>\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"}}\n</tool_call>",
    ),
    Turn::Says(
        "<tool_call>\n{\"name\": \"write_file\", \"arguments\": {\"path\": \"a\"}}\n</tool_call>",
    ),
    Turn::Says("It is changed."),
];

/// Nothing of a request needs a model that calls tools.
fn is_plain(request: &ChatRequest) -> bool {
    let has_calls = request.messages.iter().any(|message| match message {
        Message::Assistant(turn) => !turn.calls.is_empty(),
        Message::Result(_) => true,
        Message::System(_) | Message::User(_) => false,
    });
    request.tools.is_empty() && !has_calls
}

fn words_of(request: &ChatRequest) -> String {
    let words = request.messages.iter().map(|message| match message {
        Message::System(text) => format!("system: {text}\n"),
        Message::User(text) => format!("user: {text}\n"),
        Message::Assistant(turn) => format!("assistant: {}\n", turn.text),
        Message::Result(result) => format!("result: {}\n", result.text),
    });
    words.collect()
}

fn assert_done(world: &mut World) {
    let ending = world.run().clone();
    let response = "It is changed.".to_owned();
    assert_eq!(ending, Ending::Completed { response });
    assert_eq!(world.made, ["read_file \"a\"", "write_file \"a\""]);
    assert_eq!(
        world.seen.trim(),
        "I look.\nIt is changed.",
        "calls are no words"
    );
    assert!(world.requests.iter().all(is_plain));
    let last = words_of(world.requests.last().expect("a request"));
    for part in [
        "system: You are a test.",
        "Arguments (JSON Schema)",
        "assistant: I look.\n<tool_call>\n{",
        "user: read_file answered:\n\"a\" done",
    ] {
        assert!(last.contains(part), "{part}: {last}");
    }
}

#[test]
fn tools_are_told_in_words_where_a_model_calls_none() {
    let setup = Setup {
        calls_in_words: true,
        ..setup()
    };
    assert_done(&mut World::new(setup, &WORK));
}

#[test]
fn what_is_found_out_late_is_done_in_words_from_there() {
    let mut world = World::new(setup(), &WORK);
    assert!(world.step());
    world.inbox.clear();
    world.streaming = false;
    assert!(!is_plain(&world.requests[0]));
    world.requests.clear();
    world.feed(Input::Failed(Failure {
        class: ModelClass::NotFound,
        is_refused: false,
        lacks_calls: true,
        message: "its model cannot call tools; nothing was sent".to_owned(),
        hint: String::new(),
        retry_after: None,
    }));
    assert_done(&mut world);
}

#[test]
fn without_tools_nothing_is_said_of_them() {
    let setup = Setup {
        calls_in_words: true,
        tools: Toolset::none(),
        ..setup()
    };
    let mut world = World::new(setup, &[Turn::Says("Yes.")]);
    world.run();
    assert!(!words_of(&world.requests[0]).contains("tool_call"));
}
