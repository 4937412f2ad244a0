//! Questions that take the keys.

use legation_api::approvals::ListAnswer;

use super::lines::{line, reader};
use super::*;

fn come_up(app: &mut App, waiting: Vec<Waiting>) -> Vec<Effect> {
    let answer = ListAnswer {
        waiting,
        ..ListAnswer::default()
    };
    let ask = Box::new(Ask::Approvals { is_shown: false });
    let answer = Box::new(Ok(Answer::Approvals(answer)));
    told(app, Input::Answered(ask, answer))
}

fn answers(effects: &[Effect]) -> Vec<(String, String)> {
    let answers = effects.iter().filter_map(|effect| match effect {
        Effect::Ask(ask) => match &**ask {
            Ask::Approve(answer) => Some((answer.id.clone(), answer.answer.clone())),
            _ => None,
        },
        _ => None,
    });
    answers.collect()
}

#[test]
fn letters_answer_once_the_question_stood_for_a_moment() {
    let cases = [
        (Code::Char('y'), "once"),
        (Code::Char('n'), "deny"),
        (Code::Char('2'), "session"),
        (Code::Char('3'), "deny"),
    ];
    for (code, answer) in cases {
        let mut app = app();
        app.now_ms = 10_000;
        come_up(&mut app, vec![waiting("ap1", "approval")]);
        assert!(matches!(app.mode, Mode::Approval(_)));
        assert_eq!(
            answers(&press(&mut app, key(code))),
            [],
            "typed before it was read"
        );
        app.now_ms += 1_000;
        let effects = press(&mut app, key(code));
        assert_eq!(answers(&effects), [("ap1".to_owned(), answer.to_owned())]);
        assert_eq!(app.mode, Mode::Compose);
    }
}

#[test]
fn a_question_waits_while_somebody_writes() {
    let mut app = app();
    app.now_ms = 10_000;
    write(&mut app, "y");
    come_up(&mut app, vec![waiting("ap1", "approval")]);
    assert_eq!(app.mode, Mode::Compose);
    write(&mut app, "es");
    app.now_ms += 60_000;
    told(&mut app, Input::Tick);
    assert_eq!(app.mode, Mode::Compose, "there are words");
    press(&mut app, ctrl('u'));
    told(&mut app, Input::Tick);
    assert_eq!(app.mode, Mode::Compose, "a key was just pressed");
    after(&mut app, 2_000);
    assert!(matches!(app.mode, Mode::Approval(_)));
    assert_eq!(answers(&press(&mut app, key(Code::Esc))), []);
    after(&mut app, 60_000);
    assert_eq!(app.mode, Mode::Compose, "it was put off");
    press(&mut app, ctrl('y'));
    assert!(matches!(app.mode, Mode::Approval(_)));
}

#[test]
fn what_somebody_else_answered_goes_away() {
    let mut app = app();
    app.now_ms = 10_000;
    come_up(&mut app, vec![waiting("ap1", "approval")]);
    come_up(&mut app, Vec::new());
    assert_eq!(app.mode, Mode::Compose);
    assert!(
        app.notice()
            .is_some_and(|notice| notice.contains("elsewhere"))
    );
}

#[test]
fn a_proposal_takes_the_pin_and_the_digest_that_was_shown() {
    let mut app = app();
    app.now_ms = 10_000;
    come_up(&mut app, vec![waiting("ap1", "proposal")]);
    app.now_ms += 1_000;
    assert_eq!(answers(&press(&mut app, key(Code::Char('1')))), []);
    press(&mut app, key(Code::Char('y')));
    write(&mut app, "1234");
    let shown = format!("{:?}", crate::view::live(&app, true));
    assert!(
        shown.contains("PIN: ****") && !shown.contains("1234"),
        "{shown}"
    );
    let effects = press(&mut app, key(Code::Enter));
    let [Effect::Ask(ask)] = &effects[..] else {
        panic!("{effects:?}");
    };
    let Ask::Certify(certify) = &**ask else {
        panic!("{ask:?}");
    };
    assert_eq!(certify.digest, "ab".repeat(32));
    assert_eq!(certify.pin.as_deref(), Some("1234"));
    assert!(!format!("{effects:?} {app:?}").contains("1234"));
}

#[test]
fn a_client_is_answered_only_in_a_form_that_its_question_has() {
    let mut app = app();
    app.now_ms = 10_000;
    let mut own = waiting("cp1", "client permission");
    own.answers = ["allow", "deny"].map(str::to_owned).to_vec();
    come_up(&mut app, vec![own]);
    app.now_ms += 1_000;
    assert_eq!(answers(&press(&mut app, key(Code::Char('9')))), []);
    let effects = press(&mut app, key(Code::Char('1')));
    assert_eq!(answers(&effects), [("cp1".to_owned(), "allow".to_owned())]);
}

fn is_message(effects: &[Effect]) -> bool {
    matches!(effects, [Effect::Ask(ask)] if matches!(**ask, Ask::Submit(_)))
}

#[test]
fn lines_answer_by_number_and_code() {
    let mut app = reader();
    come_up(&mut app, vec![waiting("ap1", "approval")]);
    let said = prints(&mut app);
    for line in [
        "  1 once",
        "  2 session",
        "  3 deny",
        "  digest: abab-abab",
        "  type the number and abab, as in: 1 abab; or /approvals ap1 ANSWER",
    ] {
        assert!(said.lines().any(|one| one == line), "{said}");
    }
    come_up(&mut app, vec![waiting("ap1", "approval")]);
    assert_eq!(prints(&mut app), "", "it is said once");
    let effects = line(&mut app, "2 abab");
    assert_eq!(
        answers(&effects),
        [("ap1".to_owned(), "session".to_owned())]
    );
    assert!(is_message(&line(&mut app, "2")), "nothing asks");
}

#[test]
fn a_line_answers_no_question_that_it_does_not_name() {
    let mut app = reader();
    assert!(is_message(&line(&mut app, "1 abab")), "nothing was asked");
    app = reader();
    let mut second = waiting("ap2", "approval");
    second.short_digest = Some("cdcd-cdcd".to_owned());
    come_up(&mut app, vec![waiting("ap1", "approval"), second.clone()]);
    prints(&mut app);
    let refused = [
        (
            "1",
            "note: nothing was answered and nothing was sent: an answer names its question, as in: 1 abab",
        ),
        ("9 cdcd", "note: cdcd has no answer 9; nothing was sent"),
        ("0 cdcd", "note: cdcd has no answer 0; nothing was sent"),
    ];
    for (words, why) in refused {
        assert_eq!(line(&mut app, words), [], "{words}");
        assert_eq!(prints(&mut app), why);
    }
    // Somebody else answers the first while its answer is being typed.
    come_up(&mut app, vec![second.clone()]);
    assert_eq!(line(&mut app, "1 abab"), []);
    assert_eq!(
        prints(&mut app),
        "note: abab does not wait any more; nothing was sent"
    );
    assert!(is_message(&line(&mut app, "2 apples")));
    let mut twin = second.clone();
    twin.id = "ap3".to_owned();
    come_up(&mut app, vec![second, twin]);
    prints(&mut app);
    assert_eq!(line(&mut app, "1 cdcd"), [], "which one is not known");
    let effects = line(&mut app, "/approvals ap3 deny");
    assert_eq!(answers(&effects), [("ap3".to_owned(), "deny".to_owned())]);
}

#[test]
fn no_line_answers_a_proposal() {
    let mut app = reader();
    come_up(&mut app, vec![waiting("ap1", "proposal")]);
    prints(&mut app);
    for words in ["1", "1 abab"] {
        let effects = line(&mut app, words);
        assert_eq!(answers(&effects), [], "{words}");
        assert!(
            effects.iter().all(
                |effect| !matches!(effect, Effect::Ask(ask) if matches!(**ask, Ask::Certify(_)))
            ),
            "{effects:?}"
        );
    }
}

#[test]
fn a_pin_that_is_being_typed_never_becomes_words() {
    let mut app = app();
    app.now_ms = 10_000;
    come_up(&mut app, vec![waiting("ap1", "proposal")]);
    app.now_ms += 1_000;
    press(&mut app, key(Code::Char('y')));
    write(&mut app, "12");
    come_up(&mut app, Vec::new());
    write(&mut app, "34");
    assert!(app.composer.is_empty());
    press(&mut app, key(Code::Esc));
    come_up(&mut app, Vec::new());
    assert_eq!(app.mode, Mode::Compose);
}
