mod kept;
mod source;

use std::time::Duration;

use legation_core::Wall;
use legation_core::{Clock as _, SystemClock};
use legation_entra::chat::{Change, Kind, Message, Presence, Seen, Sender};
use serde_json::Value;

use super::poll::{prefix, take};
use super::presence::Follow;
use super::question::{Question, Reply, card, code, reply};

#[test]
fn a_reply_is_a_code_and_a_choice() {
    let two = |number| Some(Reply::Choice(number));
    let cases = [
        ("7K2Q 1", two(1)),
        ("7k2q-2", two(2)),
        ("7K2Q2", two(2)),
        ("  #7K2Q: 1.", two(1)),
        ("hello\n7K2Q 2 but only on Monday\nbye", two(2)),
        ("7K2Q 1\n7K2Q 1", two(1)),
        ("7K2Q 1\n7K2Q 2", None),
        ("> 7K2Q 1", None),
        ("> 7K2Q 1\n7K2Q 2", two(2)),
        ("7K2Q", None),
        ("7K2Q 0", None),
        ("7K2Q 3", None),
        ("7K2Q 1st", None),
        ("7K2Q -", None),
        ("7K2Q 99999999999999999999", None),
        ("7K2QX 1", None),
        ("I say 7K2Q 1", None),
        ("7K2R 1", None),
        ("1", None),
        ("", None),
        ("ü", None),
        ("7K2ü 1", None),
    ];
    for (text, expected) in cases {
        assert_eq!(reply(text, "7K2Q", 2), expected, "{text:?}");
    }
    let words = |text: &str| Some(Reply::Words(text.to_owned()));
    assert_eq!(
        reply("7K2Q blue\nor grey", "7K2Q", 0),
        words("blue\nor grey")
    );
    assert_eq!(reply("7K2Q\nblue", "7K2Q", 0), words("blue"));
    assert_eq!(reply("7K2Q ", "7K2Q", 0), None);
}

fn message(id: &str, from: &str, at_ms: i64, text: &str) -> Message {
    Message {
        id: id.to_owned(),
        etag: at_ms.to_string(),
        kind: Kind::Message,
        created: Wall(at_ms),
        modified: Wall(at_ms),
        edited: None,
        is_deleted: false,
        // Everybody calls himself what he likes.
        from: Some(Sender {
            id: from.to_owned(),
            name: "Alex Sample".to_owned(),
            is_user: true,
        }),
        text: text.to_owned(),
        html: String::new(),
        mentions: Vec::new(),
        attachments: Vec::new(),
    }
}

fn question() -> Question {
    Question {
        client: "agent".to_owned(),
        account: "work".to_owned(),
        chat: "19:c".to_owned(),
        human: "human".to_owned(),
        code: "7K2Q".to_owned(),
        choices: 2,
        content: String::new(),
        message: Some(("card".to_owned(), 1_000)),
        expires_ms: 5_000,
        answer: None,
        told: false,
    }
}

#[test]
fn only_the_human_answers_once_and_in_time() {
    let question = question();
    let found = |messages: &[Message]| {
        question
            .find(messages)
            .map(|answer| (answer.message, answer.choice))
    };
    let good = message("good", "HUMAN", 2_000, "7K2Q 1");
    assert_eq!(
        found(std::slice::from_ref(&good)),
        Some(("good".to_owned(), Some(1)))
    );
    let mut deleted = good.clone();
    deleted.is_deleted = true;
    let mut system = good.clone();
    system.kind = Kind::System;
    let mut application = good.clone();
    application.from.as_mut().unwrap().is_user = false;
    let mut nobody = good.clone();
    nobody.from = None;
    let mut edited_late = good.clone();
    edited_late.modified = Wall(5_001);
    for (why, refused) in [
        (
            "another, by the human's name",
            message("x", "other", 2_000, "7K2Q 1"),
        ),
        ("the agent", message("x", "agent-user", 2_000, "7K2Q 1")),
        ("before", message("x", "human", 1_000, "7K2Q 1")),
        ("late", message("x", "human", 5_001, "7K2Q 1")),
        ("the card itself", message("card", "human", 2_000, "7K2Q 1")),
        ("another question's", message("x", "human", 2_000, "7K2R 1")),
        ("taken back", deleted),
        ("an event", system),
        ("an application", application),
        ("nobody", nobody),
        ("edited late", edited_late),
    ] {
        assert_eq!(found(&[refused]), None, "{why}");
    }
    let second = message("second", "human", 3_000, "7K2Q 2");
    let both = [second, message("other", "other", 1_500, "7K2Q 2"), good];
    assert_eq!(
        found(&both),
        Some(("good".to_owned(), Some(1))),
        "the first stands"
    );
    let unasked = Question {
        message: None,
        ..question.clone()
    };
    assert_eq!(unasked.find(&both), None);
}

#[test]
fn a_message_that_waits_and_is_reacted_to_is_new_all_the_same() {
    let mut all: Vec<Message> = (0..6)
        .map(|number| message(&number.to_string(), "human", 100_000 + number * 20_000, "x"))
        .collect();
    // The second was reacted to last, and stands behind the others therefore.
    let mut second = all.remove(1);
    second.modified = Wall(900_000);
    second.etag = "900000".to_owned();
    all.push(second);
    let before = Seen {
        until: Some(Wall(90_000)),
        ..Seen::default()
    };
    let mut seen = before.clone();
    let mut ids = Vec::new();
    for page in 0..3 {
        let to = prefix(&all, &seen, "agent", 2);
        let more = to < all.len();
        assert_eq!(more, page < 2);
        let page = all[..to].to_vec();
        let news = match more {
            true => take(&mut seen, page),
            false => seen.take(page),
        };
        assert!(news.iter().all(|one| one.change == Change::New));
        ids.extend(news.into_iter().map(|one| one.message.id));
        assert_eq!(seen.until == before.until, more);
    }
    assert_eq!(ids, ["0", "2", "3", "4", "5", "1"]);
    assert_eq!(seen.recent.len(), 1, "the rest is past");
    assert!(seen.take(all).is_empty());
}

#[test]
fn a_card_names_every_choice_by_its_code() {
    let choices = ["Yes".to_owned(), "No".to_owned()];
    let shown = card("Deploy?", &choices, "7K2Q", Some("https://example.com/x"));
    assert_eq!(shown["body"][1]["facts"][1]["title"], "7K2Q 2");
    assert_eq!(shown["body"][1]["facts"][1]["value"], "No");
    assert_eq!(shown["actions"][0]["url"], "https://example.com/x");
    let shown = card("Name?", &[], "7K2Q", None);
    assert!(shown["body"][1]["text"].as_str().unwrap().contains("7K2Q"));
    assert_eq!(shown["actions"], Value::Null);
}

#[test]
fn a_code_is_of_plain_symbols() {
    let made = code("0123456789abcdef0123456789abcdef").unwrap();
    assert_eq!(made.len(), 4);
    assert!(!made.contains(['0', '1', 'I', 'L', 'O', 'U']), "{made}");
    assert_eq!(code("0123"), None);
    let all: std::collections::HashSet<_> = (0..200)
        .map(|_| code(&legation_core::id::random_hex().unwrap()).unwrap())
        .collect();
    assert!(all.len() > 150, "{}", all.len());
}

#[test]
fn presence_follows_work_and_not_every_twitch() {
    let start = SystemClock.now();
    let at = |seconds: u64| start + Duration::from_secs(seconds);
    let mut follow = Follow::new(start);
    let steps = [
        (0, false, Presence::Available),
        (2, true, Presence::Available),
        (4, false, Presence::Available),
        (6, true, Presence::Available),
        (10, true, Presence::Busy),
        (12, false, Presence::Busy),
        (14, true, Presence::Busy),
        (16, false, Presence::Busy),
        (34, false, Presence::Available),
        (613, false, Presence::Available),
        (614, false, Presence::Away),
        (9_000, false, Presence::Away),
        (9_002, true, Presence::Available),
        (9_006, true, Presence::Busy),
    ];
    for (seconds, is_busy, expected) in steps {
        assert_eq!(follow.next(is_busy, at(seconds)), expected, "{seconds}");
    }
}
