use legation_api::tasks::ContextFile;
use legation_core::{EntityId, SessionId, Wall};
use serde_json::json;

use super::*;
use crate::record::{Entry, NewEntry};

fn entry(seq: u64, source: Source, entity: Option<&str>, text: &str) -> Entry {
    Entry {
        seq,
        at: Wall(0),
        entry: NewEntry {
            session: SessionId::new("ses_1"),
            task: None,
            source,
            labels: entity.map(EntityId::new).into_iter().collect(),
            body: Body::Text {
                text: text.to_owned(),
                partial: false,
            },
        },
    }
}

fn words(messages: &[Message]) -> Vec<String> {
    let word = |message: &Message| match message {
        Message::User(text) | Message::System(text) => text.clone(),
        Message::Assistant(turn) => format!("model: {}", turn.text),
        Message::Result(_) => String::new(),
    };
    messages.iter().map(word).collect()
}

#[test]
fn a_model_reads_the_conversation_of_its_entity_alone() {
    let log = [
        entry(1, Source::Human, None, "Hello."),
        entry(2, Source::Model, None, "Hello!"),
        entry(
            3,
            Source::Client("agent".to_owned()),
            Some("north"),
            "North's.",
        ),
        entry(4, Source::Human, Some("south"), "South's."),
        entry(5, Source::Human, None, "And now?"),
        entry(6, Source::Human, None, "Later."),
    ];
    let own = TaskId::new("task_1");
    let read = |labels: &[&str]| {
        let labels = labels.iter().map(|name| EntityId::new(*name)).collect();
        let (messages, held) = prior(&log, &own, 5, &labels);
        (words(&messages), held.to_string())
    };
    let common = ["[the person] Hello.", "model: Hello!"];
    let (north, held) = read(&["north"]);
    assert_eq!(
        north,
        [
            common[0],
            common[1],
            "[agent] North's.",
            "[the person] And now?"
        ]
    );
    assert_eq!(held, "north");
    // Who is of nobody hears of whom was talked last.
    let (last, held) = read(&[]);
    assert_eq!(
        last,
        [
            common[0],
            common[1],
            "[the person] South's.",
            "[the person] And now?"
        ]
    );
    assert_eq!(held, "south");
}

#[test]
fn a_long_conversation_is_read_from_its_end() {
    let long = "x".repeat(3_000);
    let log: Vec<Entry> = (1..20)
        .map(|seq| entry(seq, Source::Human, None, &long))
        .collect();
    let (messages, _) = prior(&log, &TaskId::new("task_1"), 19, &EntityLabels::none());
    let bytes: usize = words(&messages).iter().map(String::len).sum();
    assert!(
        bytes <= PRIOR_MAX && messages.len() >= 3,
        "{bytes} bytes in {}",
        messages.len()
    );
}

#[test]
fn a_task_says_everything_that_belongs_to_it() {
    let new = NewTask {
        message: "  Fix it.\n".to_owned(),
        context: vec![ContextFile {
            path: "a.md".to_owned(),
            content: "```\ncode\n```\n".to_owned(),
        }],
        ..NewTask::default()
    };
    let check = Check::Command {
        command: "make test".to_owned(),
    };
    assert_eq!(
        task(&new, Some(&check)),
        "Fix it.\n\nThe file `a.md`:\n````\n```\ncode\n```\n````\n\n\
         The task is done when this command succeeds: `make test`"
    );
    let schema = Check::JsonSchema {
        schema: json!({ "type": "object" }),
    };
    assert!(task(&NewTask::default(), Some(&schema)).ends_with(r#"{"type":"object"}"#));
}
