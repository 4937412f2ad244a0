//! What is shown for good, and when.

use expect_test::expect;
use legation_api::tasks::{Class, TaskState};

use super::*;

const CLAUDE: &str = "claude-code";

fn client() -> Source {
    Source::Client(CLAUDE.to_owned())
}

/// A part of an answer that was broken off.
fn broken(seq: u64, task: &str, text: &str) -> Event {
    let body = Body::Text {
        text: text.to_owned(),
        partial: true,
    };
    message(seq, task, Source::Model, body)
}

#[test]
fn an_answer_is_shown_as_far_as_it_has_found_its_form() {
    let mut app = app();
    news(&mut app, delta("t", "I'll cre"));
    assert_eq!(prints(&mut app), "");
    news(&mut app, delta("t", "ate it.\n\nSec"));
    assert_eq!(
        prints(&mut app),
        "",
        "the paragraph may go on until the next one begins"
    );
    news(&mut app, delta("t", "ond paragraph.\n"));
    assert_eq!(prints(&mut app), "legation: I'll create it.");
    news(&mut app, delta("t", "\n```py\na = 1\n"));
    assert_eq!(prints(&mut app), "  Second paragraph.\n  ```py\n  a = 1");
    news(&mut app, delta("t", "b = 2"));
    assert_eq!(prints(&mut app), "");
    let whole = "I'll create it.\n\nSecond paragraph.\n\n```py\na = 1\nb = 2\n```";
    news(&mut app, text(7, "t", Source::Model, whole));
    assert_eq!(prints(&mut app), "  b = 2\n  ```");
    news(&mut app, text(7, "t", Source::Model, whole));
    assert_eq!(prints(&mut app), "", "an entry is shown once");
}

#[test]
fn an_answer_that_turned_out_otherwise_is_shown_whole() {
    let mut app = app();
    news(&mut app, delta("t", "One.\n\nTwo.\n"));
    assert_eq!(prints(&mut app), "legation: One.");
    news(&mut app, text(7, "t", Source::Model, "Uno.\n\nDos."));
    assert_eq!(prints(&mut app), "  Uno.\n  Dos.");
}

#[test]
fn a_call_is_shown_once_it_is_over() {
    let mut app = app();
    news(&mut app, call(3, "t", "running", ""));
    assert_eq!(prints(&mut app), "");
    assert_eq!(app.transcript.running().count(), 1);
    news(&mut app, text(4, "u", Source::Human, "meanwhile"));
    news(&mut app, call(3, "t", "success", "done"));
    assert_eq!(
        prints(&mut app),
        "you: meanwhile\ntool: write_file: src/board.py: ok, 145 lines"
    );
    assert_eq!(app.transcript.running().count(), 0);
    assert_eq!(app.transcript.len(), 2);
}

#[test]
fn a_person_steps_in_and_the_task_goes_on() {
    let mut app = app();
    news(
        &mut app,
        text(1, "a", client(), "Implement the Board class."),
    );
    works(&mut app, "a", Class::Agent);
    news(
        &mut app,
        delta("a", "I'll create the Board class.\n\nIt has"),
    );
    news(
        &mut app,
        broken(2, "a", "I'll create the Board class.\n\nIt has"),
    );
    let aside = task("a", Class::Agent, TaskState::Preempted);
    news(
        &mut app,
        Event::Task {
            task: Box::new(aside),
        },
    );
    news(
        &mut app,
        text(3, "h", Source::Human, "What did it ask for?"),
    );
    works(&mut app, "h", Class::Human);
    news(&mut app, delta("h", "The Board class."));
    news(&mut app, text(4, "h", Source::Model, "The Board class."));
    works(&mut app, "a", Class::Agent);
    news(&mut app, delta("a", " 64 squares.\n\nDone."));
    news(
        &mut app,
        text(
            5,
            "a",
            Source::Model,
            "I'll create the Board class.\n\nIt has 64 squares.\n\nDone.",
        ),
    );
    expect![[r#"
        claude-code: Implement the Board class.
        legation: I'll create the Board class.
          It has
          (broken off here)
        you: What did it ask for?
        legation: The Board class.
        legation: It has 64 squares.
          Done."#]]
    .assert_eq(&prints(&mut app));
}

#[test]
fn two_answers_at_once_do_not_run_into_each_other() {
    let mut app = app();
    news(&mut app, delta("a", "First of a.\n\nmore\n"));
    news(&mut app, delta("b", "First of b.\n\nmore\n"));
    news(&mut app, delta("a", "\nThird of a.\n"));
    assert_eq!(prints(&mut app), "legation: First of a.\n  more");
    news(
        &mut app,
        text(1, "a", Source::Model, "First of a.\n\nmore\n\nThird of a."),
    );
    news(&mut app, delta("b", "\nThird of b.\n"));
    assert_eq!(
        prints(&mut app),
        "  Third of a.\nlegation: First of b.\n  more"
    );
}

#[test]
fn a_hub_that_goes_and_comes_back_is_told_of() {
    let mut app = app();
    news(&mut app, delta("a", "half"));
    told(&mut app, Input::Gone("the hub stopped".to_owned()));
    told(&mut app, Input::Gone("no hub runs".to_owned()));
    told(&mut app, Input::Opened(Box::new(session("ses_1"))));
    let said = prints(&mut app);
    assert_eq!(said.lines().count(), 2, "{said}");
    assert!(
        said.contains("the hub is gone") && said.contains("answers again"),
        "{said}"
    );
    assert_eq!(app.streams.iter().count(), 0);
    let effects = news(&mut app, Event::Live {});
    assert!(
        matches!(&effects[..], [Effect::Ask(ask)] if matches!(&**ask, Ask::Tasks(list) if list.open)),
        "{effects:?}"
    );
}

#[test]
fn another_session_begins_with_nothing_of_the_first() {
    let mut app = app();
    works(&mut app, "a", Class::Agent);
    news(&mut app, text(1, "a", client(), "of the first"));
    told(&mut app, Input::Opened(Box::new(session("ses_2"))));
    assert_eq!(app.queue.items(), []);
    assert_eq!(app.transcript.len(), 1, "only that another one was opened");
}

#[test]
fn lines_end_once_everything_is_answered() {
    let choices = Choices {
        is_plain: true,
        ..Choices::default()
    };
    let mut app = App::new(choices, 80, 24);
    told(&mut app, Input::Opened(Box::new(session("ses_1"))));
    news(&mut app, Event::Live {});
    told(&mut app, Input::Line("do it".to_owned()));
    assert_eq!(told(&mut app, Input::LinesOver), []);
    works(&mut app, "h", Class::Human);
    assert_eq!(after(&mut app, 1_000), []);
    let over = task("h", Class::Human, TaskState::Completed);
    let effects = news(
        &mut app,
        Event::Task {
            task: Box::new(over),
        },
    );
    assert_eq!(effects, [Effect::Quit]);
}

#[test]
fn lines_end_though_the_end_of_a_task_was_missed() {
    let choices = Choices {
        is_plain: true,
        ..Choices::default()
    };
    let mut app = App::new(choices, 80, 24);
    told(&mut app, Input::Opened(Box::new(session("ses_1"))));
    news(&mut app, Event::Live {});
    let effects = told(&mut app, Input::Line("do it".to_owned()));
    let [Effect::Ask(submit)] = &effects[..] else {
        panic!("{effects:?}");
    };
    let worked = task("h", Class::Human, TaskState::InProgress);
    let answer = Box::new(Ok(Answer::Task(Box::new(worked))));
    told(&mut app, Input::Answered(submit.clone(), answer));
    told(&mut app, Input::LinesOver);
    // It was over before the hub was followed again.
    news(&mut app, Event::Lagged {});
    told(&mut app, Input::Opened(Box::new(session("ses_1"))));
    let effects = news(&mut app, Event::Live {});
    let [Effect::Ask(tasks)] = &effects[..] else {
        panic!("{effects:?}");
    };
    let none = Answer::Tasks(legation_api::tasks::ListAnswer { tasks: Vec::new() });
    let answered = Input::Answered(tasks.clone(), Box::new(Ok(none)));
    assert_eq!(told(&mut app, answered), [Effect::Quit]);
}
