//! What is put to a person elsewhere, and what counts of what comes back.

use std::collections::BTreeSet;
use std::sync::LazyLock;
use std::sync::atomic::AtomicBool;

use legation_keystore::Key;
use legation_policy::registry::EventName;

use super::asking::{asking, certifying, code, send};
use super::*;
use crate::approval::{Answer, Channel, NotOpen};
use crate::desk::{
    Asker, Desk, Heard, PermissionRequest, Place, Question, Refused, Stage, Verdict,
};

const PERSON: &str = "person";
const AGENT: &str = "agent";

impl Bench {
    fn desk(&self) -> Desk {
        let asking = self.gate.asking().clone();
        Desk::open(asking, &self.store, &Key::from_bytes([5; 32])).expect("opened")
    }
}

fn put(desk: &Desk, question: &Question, is_shown: bool) -> String {
    let place = Place {
        account: "work",
        chat: "chat",
        person: PERSON,
        program: AGENT,
        now_ms: 1_000,
        is_shown,
    };
    let (posting, code) = desk.begin(question, &place).expect("begun");
    desk.posted(&posting.id, "card", &EntityId::personal());
    code
}

fn only(desk: &Desk) -> Question {
    let mut all = desk.waiting();
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

fn hear<'a>(desk: &Desk, text: &'a str, change: impl FnOnce(&mut Heard<'a>)) -> Option<Verdict> {
    static ENTITY: LazyLock<EntityId> = LazyLock::new(EntityId::personal);
    let mut heard = Heard {
        account: "work",
        entity: &ENTITY,
        chat: "chat",
        person: PERSON,
        program: AGENT,
        message: "m1",
        sender: PERSON,
        text,
        written_ms: 2_000,
        is_edited: false,
    };
    change(&mut heard);
    desk.hear(&heard)
}

fn why(verdict: Option<Verdict>) -> Refused {
    match verdict {
        Some(Verdict::Refused { why, .. }) => why,
        other => panic!("it counted, or was nothing: {other:?}"),
    }
}

/// One question that is answered wrongly and rightly, for the list of events.
pub(super) fn replies(seen: &mut BTreeSet<EventName>) {
    let bench = bench(asking());
    bench.send("a").expect_err("it waits");
    let desk = bench.desk();
    put(&desk, &only(&desk), true);
    why(hear(&desk, "approve 000000", |_| {}));
    super::events::look(seen, &bench);
}

#[test]
fn only_the_person_counts_and_only_once() {
    let bench = bench(asking());
    bench.send("a").expect_err("it waits");
    let desk = bench.desk();
    let question = only(&desk);
    let right = put(&desk, &question, true);
    let approve = format!("approve {right}");
    assert_eq!(hear(&desk, "hello", |_| {}), None, "no answer is no answer");
    type Change = fn(&mut Heard<'_>);
    let cases: [(Change, Refused); 6] = [
        (|heard| heard.sender = AGENT, Refused::Agent),
        (|heard| heard.sender = "third", Refused::SomebodyElse),
        (|heard| heard.sender = "", Refused::SomebodyElse),
        (|heard| heard.program = PERSON, Refused::SameUser),
        (|heard| heard.is_edited = true, Refused::Edited),
        (|heard| heard.written_ms = i64::MAX, Refused::Late),
    ];
    for (change, wanted) in cases {
        let found = why(hear(&desk, &approve, |heard| {
            change(heard);
        }));
        assert_eq!(found, wanted);
    }
    let unclear = format!("{approve} if you must");
    assert_eq!(why(hear(&desk, &unclear, |_| {})), Refused::Unclear);
    let elsewhere = why(hear(&desk, &approve, |heard| {
        heard.chat = "other";
    }));
    assert_eq!(elsewhere, Refused::WrongCode { left: 4 });
    assert_eq!(
        bench.gate.asking().approvals.list().len(),
        1,
        "it still waits"
    );

    let counted = hear(&desk, &approve, |_| {});
    assert!(
        matches!(counted, Some(Verdict::Counted { approve: true, .. })),
        "{counted:?}"
    );
    assert_eq!(
        hear(&desk, &approve, |_| {}),
        None,
        "the same message again"
    );
    let twice = why(hear(&desk, &approve, |heard| {
        heard.message = "m2";
    }));
    assert_eq!(twice, Refused::Twice);
    assert_eq!(code(&bench.send("a")), "done");
    assert_eq!(code(&bench.send("a")), "APPROVAL_PENDING");
    let reasons: Vec<String> = bench.topics();
    let count = |word: &str| {
        reasons
            .iter()
            .filter(|one| **one == format!("APPROVAL_REPLY_REFUSED {word}"))
            .count()
    };
    for (word, times) in [
        ("REPLY_NOT_FROM_SPONSOR", 4),
        ("REPLY_EDITED", 1),
        ("APPROVAL_EXPIRED", 1),
        ("REPLY_UNCLEAR", 1),
        ("REPLY_WRONG_CODE", 1),
        ("APPROVAL_USED", 1),
    ] {
        assert_eq!(count(word), times, "{word}: {reasons:?}");
    }
}

#[test]
fn wrong_codes_lock_whoever_starts_anew() {
    let bench = bench(asking());
    bench.send("a").expect_err("it waits");
    let desk = bench.desk();
    let right = put(&desk, &only(&desk), true);
    for left in [4, 3, 2, 1, 0] {
        let found = why(hear(&desk, "deny 000000", |_| {}));
        assert_eq!(found, Refused::WrongCode { left });
    }
    let approve = format!("approve {right}");
    for desk in [desk, bench.desk()] {
        assert_eq!(why(hear(&desk, &approve, |_| {})), Refused::Locked);
    }
}

#[test]
fn whoever_tries_codes_at_the_hub_learns_none() {
    let bench = bench(asking());
    bench.send("a").expect_err("it waits");
    let desk = bench.desk();
    let question = only(&desk);
    let right = put(&desk, &question, true);
    // What is no code is no try, and neither is the id of what waits.
    for typed in [&*question.id, "C-ABCDEF", ""] {
        for _ in 0..6 {
            assert_eq!(desk.with_code(typed), None);
        }
    }
    for _ in 0..4 {
        assert_eq!(desk.with_code("000000"), None);
        assert_eq!(desk.with_code(&right).as_deref(), Some(&*question.id));
    }
    assert_eq!(desk.with_code("000000"), None);
    for desk in [&desk, &bench.desk()] {
        assert_eq!(desk.with_code(&right), None, "too many were wrong");
    }
    // The person's own answer is another matter.
    let approve = format!("approve {right}");
    assert!(matches!(
        hear(&desk, &approve, |_| {}),
        Some(Verdict::Counted { .. })
    ));
    assert!(desk.is_posting("chat", "card"));
    assert!(!desk.is_posting("chat", "another") && !desk.is_posting("other", "card"));
}

#[test]
fn a_question_keeps_its_code_over_a_restart_and_one_that_is_not_shown_has_none() {
    let bench = bench(asking());
    bench.send("a").expect_err("it waits");
    let desk = bench.desk();
    let question = only(&desk);
    let right = put(&desk, &question, true);
    let again = bench.desk();
    assert_eq!(put(&again, &question, true), right);
    assert_eq!(again.with_code(&right).as_deref(), Some(&*question.id));
    // Elsewhere, or shown no more, it is another question.
    let hidden = put(&again, &question, false);
    assert_ne!(hidden, right);
    for code in [&right, &hidden] {
        let text = format!("approve {code}");
        let found = why(hear(&again, &text, |_| {}));
        assert!(matches!(found, Refused::WrongCode { .. }), "{found:?}");
    }
    let id = bench.waiting();
    let approvals = &bench.gate.asking().approvals;
    approvals
        .answer(&id, Answer::Deny, Channel::Command)
        .expect("taken");
    let ended = again.overtaken("work");
    assert_eq!(ended.len(), 1);
    assert_eq!(ended[0].1, Stage::Elsewhere);
}

#[test]
fn a_reply_certifies_exactly_the_plan_that_was_shown() {
    let bench = bench(certifying());
    bench.send("a").expect_err("it is proposed");
    let desk = bench.desk();
    let right = put(&desk, &only(&desk), true);
    let approve = format!("approve {right}");
    assert!(matches!(
        hear(&desk, &approve, |_| {}),
        Some(Verdict::Counted { approve: true, .. })
    ));
    assert!(desk.waiting().is_empty(), "what is certified asks nobody");
    assert_eq!(code(&bench.send("b")), "CERTIFICATION_REQUIRED");
    assert_eq!(
        code(&run(bench.gate.call(&context("claude"), send("a")))),
        "done"
    );
}

#[derive(Debug, Default)]
struct Told(Mutex<Vec<(String, bool)>>, AtomicBool);

impl Asker for Told {
    fn answered(&self, request: &str, allow: bool) -> bool {
        self.0
            .lock()
            .expect("a lock")
            .push((request.to_owned(), allow));
        !self.1.load(Ordering::Relaxed)
    }
}

#[test]
fn a_clients_own_question_ends_with_its_answer_or_its_session() {
    let bench = bench(asking());
    let context = context("claude");
    let told = Arc::new(Told::default());
    let ask = |request: &str| {
        let request = PermissionRequest {
            request: request.into(),
            tool: "Bash".into(),
            description: "runs a command".into(),
            preview: "ls".into(),
        };
        let asker = Arc::clone(&told) as Arc<dyn Asker>;
        bench.gate.ask_permission(&context.caller, request, asker)
    };
    let permissions = &bench.gate.asking().permissions;
    let guard = ask("abcde").expect("asked");
    ask("abcde").expect_err("it is open");
    ask("").expect_err("nobody could answer it");
    let desk = bench.desk();
    let right = put(&desk, &only(&desk), true);
    let deny = format!("deny {right}");
    assert!(matches!(
        hear(&desk, &deny, |_| {}),
        Some(Verdict::Counted { approve: false, .. })
    ));
    let open = permissions.list();
    assert!(open.is_empty(), "{open:?}");
    drop(guard);
    // One whose session has ended can be answered no more.
    let guard = ask("fghij").expect("asked");
    let id = permissions.list()[0].id.clone();
    drop(guard);
    let gone = permissions.answer(&id, true, Channel::Command);
    assert_eq!(gone.expect_err("gone"), NotOpen::Unknown);
    // One that cannot be told has not been answered.
    let _guard = ask("klmno").expect("asked");
    told.1.store(true, Ordering::Relaxed);
    let id = permissions.list()[0].id.clone();
    let gone = permissions.answer(&id, true, Channel::Command);
    assert_eq!(gone.expect_err("gone"), NotOpen::Expired);
    let told = told.0.lock().expect("a lock").clone();
    assert_eq!(
        told,
        [("abcde".to_owned(), false), ("klmno".to_owned(), true)]
    );
    // A credential that is good no more asks nobody.
    let stranger = super::context("nobody");
    let request = PermissionRequest {
        request: "x".into(),
        tool: "Bash".into(),
        description: Box::default(),
        preview: Box::default(),
    };
    let asked = bench
        .gate
        .ask_permission(&stranger.caller, request, Arc::new(Told::default()));
    assert!(asked.is_err());
}

#[test]
fn accounts_that_share_a_chat_judge_an_answer_once() {
    let bench = bench(asking());
    bench.send("a").expect_err("it waits");
    let desk = bench.desk();
    let right = format!("approve {}", put(&desk, &only(&desk), true));
    let through = |text: &str, account: &'static str, message: &'static str| {
        hear(&desk, text, |heard| {
            heard.account = account;
            heard.message = message;
        })
    };
    // Whoever put the question judges the answer.
    assert_eq!(through(&right, "home", "m1"), None);
    // A code that is nobody's is wrong once, whoever reads it first.
    let wrong = "approve 0000ZZ";
    let told = Refused::WrongCode { left: 4 };
    assert_eq!(why(through(wrong, "home", "m2")), told);
    assert_eq!(through(wrong, "work", "m2"), None);
    assert_eq!(why(through(wrong, "work", "m3")), told);
    assert_eq!(through(wrong, "home", "m3"), None);
    let counted = through(&right, "work", "m1");
    assert!(
        matches!(counted, Some(Verdict::Counted { .. })),
        "{counted:?}"
    );
}

#[test]
fn a_word_that_is_as_long_as_a_code_is_a_word() {
    let bench = bench(asking());
    bench.send("a").expect_err("it waits");
    let desk = bench.desk();
    let question = only(&desk);
    // Whichever it is, it cannot be a word of a language.
    for account in 0..40 {
        let place = Place {
            account: &account.to_string(),
            chat: "chat",
            person: PERSON,
            program: AGENT,
            now_ms: 1_000,
            is_shown: true,
        };
        let (_, code) = desk.begin(&question, &place).expect("begun");
        assert!(code.bytes().any(|b| b.is_ascii_digit()), "{code}");
    }
    let right = format!("deny {}", put(&desk, &question, true));
    for word in ["approve please", "Deny ABCDEF", "approve abcdef."] {
        for sender in [PERSON, "third", AGENT] {
            let heard = hear(&desk, word, |heard| heard.sender = sender);
            assert_eq!(heard, None, "{word:?} of {sender}");
        }
    }
    let counted = hear(&desk, &right, |_| {});
    assert!(
        matches!(counted, Some(Verdict::Counted { approve: false, .. })),
        "{counted:?}"
    );
}
