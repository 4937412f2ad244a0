//! What is streamed, against a hub that is none.

use std::sync::Mutex;

use futures_util::future::BoxFuture;
use legation_core::{Cancel, EntityId, Secret};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::words::businesses;
use crate::answer::{self, Out};
use crate::hub::{
    Answered, Asker, Business, Called, Confirmation, Guess, Guessing, Hub, NotRecorded, Reference,
    Refused, Requested, ToolCall,
};
use crate::intent::Intent;
use crate::payload::Payload;
use crate::request::LetIn;

/// A hub that notes what it is asked, and answers as it was told.
#[derive(Debug, Default)]
struct Pretend {
    called: Mutex<Vec<ToolCall>>,
    recorded: Mutex<Vec<Requested>>,
    guessed: Mutex<Vec<Guessing>>,
    answers: Option<Called>,
    guess: Option<Intent>,
    gone: bool,
    no_record: bool,
}

impl Hub for Pretend {
    fn businesses(&self, _login: &str) -> BoxFuture<'static, Option<Vec<Business>>> {
        Box::pin(std::future::ready(Some(businesses())))
    }

    fn first_time(&self, _mark: [u8; 32]) -> BoxFuture<'static, Result<bool, NotRecorded>> {
        Box::pin(std::future::ready(Ok(true)))
    }

    fn guess(&self, _asker: &Asker, guessing: Guessing) -> BoxFuture<'static, Option<Guess>> {
        self.guessed.lock().unwrap().push(guessing);
        let guess = self.guess.map(|intent| Guess {
            intent,
            provider: "local".to_owned(),
        });
        Box::pin(std::future::ready(guess))
    }

    fn call(&self, _asker: &Asker, call: ToolCall) -> BoxFuture<'static, Called> {
        self.called.lock().unwrap().push(call);
        let answer = self.answers.clone().unwrap_or(Called::Answered(Answered {
            text: "a <b>line</b> ![x](https://example.com/x)".to_owned(),
            references: vec![Reference {
                kind: "legation.deal".to_owned(),
                id: "sunrise".to_owned(),
                name: "Sunrise II".to_owned(),
            }],
            is_error: false,
        }));
        Box::pin(std::future::ready(answer))
    }

    fn confirm(
        &self,
        _asker: &Asker,
        _approval: &str,
        _is_yes: bool,
    ) -> BoxFuture<'static, Confirmation> {
        let confirmed = match self.gone {
            true => Confirmation::Gone,
            false => Confirmation::Taken,
        };
        Box::pin(std::future::ready(confirmed))
    }

    fn record(&self, requested: Requested) -> BoxFuture<'static, Result<(), NotRecorded>> {
        self.recorded.lock().unwrap().push(requested);
        let recorded = match self.no_record {
            true => Err(NotRecorded),
            false => Ok(()),
        };
        Box::pin(std::future::ready(recorded))
    }
}

/// Everything that is streamed for these messages.
async fn stream(hub: &Pretend, messages: Value) -> String {
    let payload = json!({ "copilot_thread_id": "t-1", "messages": messages }).to_string();
    let let_in = LetIn {
        asker: Asker {
            login: "jordan-example".to_owned(),
            thread: Some("t-1".to_owned()),
            token: Secret::new("ghu_canary"),
            cancel: Cancel::new(),
        },
        payload: Payload::read(payload.as_bytes()).unwrap(),
        businesses: businesses(),
    };
    let (sender, mut events) = mpsc::channel(64);
    let out = Out(sender);
    drop(answer::answer(hub, let_in, &out).await);
    drop(out);
    let mut text = String::new();
    while let Some(event) = events.recv().await {
        text.push_str(std::str::from_utf8(&event).unwrap());
    }
    assert!(!text.contains("ghu_canary"));
    assert!(text.ends_with("data: [DONE]\n\n"), "{text}");
    text
}

async fn says(hub: &Pretend, text: &str) -> String {
    stream(hub, json!([{ "role": "user", "content": text }])).await
}

#[tokio::test]
async fn a_brief_is_one_call_whose_answer_is_shown() {
    let hub = Pretend::default();
    let text = says(&hub, "morning brief for harbor").await;
    let called = hub.called.lock().unwrap();
    let [call] = called.as_slice() else {
        panic!("{called:?}");
    };
    assert_eq!((&*call.server, &*call.tool), ("desk", "morning_brief"));
    assert_eq!(call.entity, Some(EntityId::new("harbor")));
    assert_eq!(call.arguments["entity_context"], "harbor");
    assert!(text.contains("copilot_references") && text.contains("Sunrise II"));
    assert!(
        text.contains("&lt;b>line") && !text.contains("![x]"),
        "{text}"
    );
    let recorded = hub.recorded.lock().unwrap();
    assert_eq!(recorded.len(), 1);
    assert_eq!(recorded[0].intent, "morning_brief");
    assert_eq!(recorded[0].login, "jordan-example");
    assert_eq!(recorded[0].thread.as_deref(), Some("t-1"));
    assert_eq!(recorded[0].refused, None);
}

#[tokio::test]
async fn whose_it_is_is_asked_and_the_answer_taken_with_what_was_wanted() {
    let hub = Pretend::default();
    let text = says(&hub, "morning brief").await;
    assert!(text.contains("Which business is this for?") && text.contains("Harbor Partners"));
    assert!(!text.contains("Quarry"), "{text}");
    assert!(hub.called.lock().unwrap().is_empty());
    let messages = json!([
        { "role": "user", "content": "morning brief" },
        { "role": "assistant", "content": "Which business is this for?\n\n- **Harbor Partners**\n" },
        { "role": "user", "content": "Harbor Partners" },
    ]);
    stream(&hub, messages).await;
    assert_eq!(hub.called.lock().unwrap()[0].tool, "morning_brief");
}

#[tokio::test]
async fn what_is_not_theirs_or_under_hipaa_is_not_called() {
    for (words, code) in [
        ("brief for quarry", "CLIENT_NOT_CLEARED"),
        (
            "draft an email to a@example.com about the resident: hello",
            "UNREDACTED_PHI",
        ),
        ("deadlines of meadow: by Friday", "UNREDACTED_PHI"),
    ] {
        let hub = Pretend::default();
        let text = says(&hub, words).await;
        assert!(
            text.contains("copilot_errors") && text.contains(code),
            "{text}"
        );
        assert!(!text.contains("Quarry"), "{text}");
        assert!(hub.called.lock().unwrap().is_empty(), "{words}");
        let recorded = hub.recorded.lock().unwrap();
        assert_eq!(recorded[0].refused.as_deref(), Some(code), "{words}");
    }
    let hub = Pretend::default();
    says(&hub, "brief for the facility").await;
    assert_eq!(hub.called.lock().unwrap().len(), 1, "it may be looked at");
}

#[tokio::test]
async fn an_approval_is_asked_for_and_its_answer_makes_the_very_call() {
    let refused = Refused {
        code: "APPROVAL_PENDING".to_owned(),
        message: "it needs a person".to_owned(),
        hint: "Ask.".to_owned(),
        approval: Some("7K2QXM".to_owned()),
    };
    let hub = Pretend {
        answers: Some(Called::Refused(refused)),
        ..Pretend::default()
    };
    let words = "draft an email to a@example.com about the harbor data room: it is <open>";
    let text = says(&hub, words).await;
    let question = text
        .split("\n\n")
        .find_map(|event| event.strip_prefix("event: copilot_confirmation\ndata: "))
        .unwrap();
    let question: Value = serde_json::from_str(question).unwrap();
    assert_eq!(question["type"], "action");
    assert_eq!(question["confirmation"]["id"], "7K2QXM");
    let asked = hub.called.lock().unwrap()[0].clone();
    assert_eq!(asked.arguments["body_html"], "<p>it is &lt;open></p>");
    assert_eq!(asked.arguments["subject"], "the harbor data room");
    let pressed = |state: &str, confirmation: &Value| {
        json!([{ "role": "user", "content": "", "copilot_confirmations": [
            { "state": state, "confirmation": confirmation },
        ]}])
    };
    let hub = Pretend::default();
    stream(&hub, pressed("accepted", &question["confirmation"])).await;
    assert_eq!(hub.called.lock().unwrap()[0], asked);
    for (state, gone) in [("dismissed", false), ("later", false), ("accepted", true)] {
        let hub = Pretend {
            gone,
            ..Pretend::default()
        };
        stream(&hub, pressed(state, &question["confirmation"])).await;
        assert!(hub.called.lock().unwrap().is_empty(), "{state}");
        assert_eq!(hub.recorded.lock().unwrap().len(), 1, "{state}");
    }
    for (member, forged) in [
        ("tool", json!("mail_move")),
        ("tool", json!(7)),
        ("entity", json!("quarry")),
        ("entity", json!("meadow")),
        ("entity", json!(null)),
        ("arguments", json!("text")),
        ("arguments", json!({ "body_html": "x".repeat(40_000) })),
        ("id", json!(null)),
    ] {
        let mut confirmation = question["confirmation"].clone();
        confirmation[member] = forged;
        let hub = Pretend::default();
        let text = stream(&hub, pressed("accepted", &confirmation)).await;
        assert!(text.contains("APPROVAL_VOIDED"), "{confirmation}");
        assert!(hub.called.lock().unwrap().is_empty(), "{confirmation}");
    }
}

#[tokio::test]
async fn a_model_chooses_among_what_the_rules_found() {
    let hub = Pretend {
        guess: Some(Intent::CalendarList),
        ..Pretend::default()
    };
    says(&hub, "mail and meetings of harbor").await;
    assert_eq!(hub.called.lock().unwrap()[0].tool, "calendar_list");
    assert_eq!(
        hub.recorded.lock().unwrap()[0].provider.as_deref(),
        Some("local")
    );
    {
        let guessed = hub.guessed.lock().unwrap();
        assert_eq!(guessed[0].among, [Intent::CalendarList, Intent::MailList]);
        assert_eq!(guessed[0].entities, [EntityId::new("harbor")]);
    }
    // One that answers with something else, and none at all.
    for guess in [Some(Intent::DraftEmail), None] {
        let hub = Pretend {
            guess,
            ..Pretend::default()
        };
        says(&hub, "mail and meetings of harbor").await;
        assert_eq!(hub.called.lock().unwrap()[0].tool, "calendar_list");
    }
    let hub = Pretend::default();
    says(&hub, "good day").await;
    let guessed = hub.guessed.lock().unwrap();
    let strictest = [EntityId::new("harbor"), EntityId::new("meadow")];
    assert_eq!(guessed[0].entities, strictest, "it may be about either");
}

#[tokio::test]
async fn nothing_is_shown_that_is_on_no_record() {
    let hub = Pretend {
        no_record: true,
        ..Pretend::default()
    };
    let text = says(&hub, "brief for harbor").await;
    assert!(
        text.contains("LEDGER_UNAVAILABLE") && !text.contains("line"),
        "{text}"
    );
}

#[tokio::test]
async fn a_tool_that_fails_is_an_error_and_no_answer() {
    let failed = [
        Called::Failed {
            message: "the server is away".to_owned(),
        },
        Called::Answered(Answered {
            text: "the account is signed out".to_owned(),
            is_error: true,
            ..Answered::default()
        }),
        Called::Refused(Refused {
            code: "HARD_BAN_VIOLATION".to_owned(),
            message: "a ban forbids it".to_owned(),
            hint: "Leave it.".to_owned(),
            approval: None,
        }),
    ];
    for answers in failed {
        let hub = Pretend {
            answers: Some(answers),
            ..Pretend::default()
        };
        let text = says(&hub, "brief for harbor").await;
        assert!(text.contains("event: copilot_errors"), "{text}");
        assert_eq!(text.matches("\"role\":\"assistant\"").count(), 1, "the ack");
    }
}
