//! Keys.

use legation_api::tasks::{self, Class, TaskState};

use super::*;

fn asks(effects: &[Effect]) -> Vec<&Ask> {
    let asks = effects.iter().filter_map(|effect| match effect {
        Effect::Ask(ask) => Some(&**ask),
        _ => None,
    });
    asks.collect()
}

fn submitted(effects: &[Effect]) -> Vec<&str> {
    let asks = asks(effects).into_iter().filter_map(|ask| match ask {
        Ask::Submit(submit) => Some(submit.task.message.as_str()),
        _ => None,
    });
    asks.collect()
}

#[test]
fn enter_sends_into_the_session_and_the_first_key_is_told() {
    let mut app = app();
    let typed = write(&mut app, "What did");
    assert!(
        matches!(asks(&typed)[..], [Ask::Typing(typing)] if typing.session == "ses_1"),
        "once a second is enough: {typed:?}"
    );
    app.now_ms += 1_500;
    assert_eq!(asks(&write(&mut app, " it")).len(), 1);
    let effects = press(&mut app, key(Code::Enter));
    let [Ask::Submit(submit)] = asks(&effects)[..] else {
        panic!("{effects:?}");
    };
    assert_eq!(submit.task.message, "What did it");
    assert_eq!(submit.task.session.as_deref(), Some("ses_1"));
    assert!(app.composer.is_empty());
    assert_eq!(enter(&mut app, "   "), [], "blanks are nothing");
}

#[test]
fn enter_preempts_an_agent_and_steers_ones_own_answer() {
    let mut app = app();
    works(&mut app, "task_a", Class::Agent);
    assert_eq!(submitted(&enter(&mut app, "now me")), ["now me"]);
    works(&mut app, "task_h", Class::Human);
    let steered = enter(&mut app, "and in short");
    assert!(
        matches!(asks(&steered)[..], [Ask::Steer(steer)] if steer.task_id == "task_h"),
        "{steered:?}"
    );
}

#[test]
fn tab_waits_for_the_task_that_is_worked_on() {
    let mut app = app();
    write(&mut app, "at once");
    assert_eq!(submitted(&press(&mut app, key(Code::Tab))), ["at once"]);
    works(&mut app, "task_a", Class::Agent);
    for text in ["first", "second"] {
        write(&mut app, text);
        assert_eq!(press(&mut app, key(Code::Tab)), []);
    }
    assert_eq!(app.queue.held(), 2);
    let aside = task("task_a", Class::Agent, TaskState::Preempted);
    assert_eq!(
        news(
            &mut app,
            Event::Task {
                task: Box::new(aside)
            }
        ),
        []
    );
    let over = task("task_a", Class::Agent, TaskState::Completed);
    let effects = news(
        &mut app,
        Event::Task {
            task: Box::new(over),
        },
    );
    assert_eq!(submitted(&effects), ["first"]);
    assert_eq!(submitted(&after(&mut app, 10)), ["second"]);
}

#[test]
fn escape_interrupts_ones_own_answer_at_once_and_an_agents_task_at_the_second_press() {
    let mut app = app();
    write(&mut app, "kept");
    assert_eq!(press(&mut app, key(Code::Esc)), []);
    works(&mut app, "task_a", Class::Agent);
    assert_eq!(press(&mut app, key(Code::Esc)), []);
    assert!(
        app.notice()
            .is_some_and(|notice| notice.contains("claude-code"))
    );
    app.now_ms += TWICE_MS + 1;
    assert_eq!(
        press(&mut app, key(Code::Esc)),
        [],
        "too late for the first"
    );
    let effects = press(&mut app, key(Code::Esc));
    assert!(
        matches!(asks(&effects)[..], [Ask::Cancel(cancel)] if cancel.task_id == "task_a"),
        "{effects:?}"
    );
    works(&mut app, "task_h", Class::Human);
    let effects = press(&mut app, key(Code::Esc));
    assert!(
        matches!(asks(&effects)[..], [Ask::Cancel(cancel)] if cancel.task_id == "task_h"),
        "{effects:?}"
    );
    assert_eq!(app.composer.text(), "kept", "no word is lost");
}

#[test]
fn ctrl_c_keeps_the_words_and_ends_at_the_second_press() {
    let mut app = app();
    write(&mut app, "half a sentence");
    assert_eq!(press(&mut app, ctrl('c')), []);
    assert!(app.composer.is_empty());
    press(&mut app, key(Code::Up));
    assert_eq!(app.composer.text(), "half a sentence");
    app.now_ms += TWICE_MS + 1;
    assert_eq!(press(&mut app, ctrl('c')), []);
    assert_eq!(press(&mut app, ctrl('c')), [Effect::Quit]);
}

#[test]
fn words_are_written_moved_in_and_rubbed_out() {
    let cases: &[(&str, &[Key], &str, usize)] = &[
        ("ab cd", &[ctrl('w')], "ab ", 3),
        ("ab cd", &[ctrl('a'), ctrl('k')], "", 0),
        ("ab cd", &[ctrl('u')], "", 0),
        ("añ張", &[key(Code::Left), key(Code::Backspace)], "a張", 1),
        ("añ張", &[key(Code::Home), key(Code::Delete)], "ñ張", 0),
        ("one\u{a0}two", &[key(Code::Backspace)], "one\u{a0}tw", 7),
        (
            "ab",
            &[ctrl('j'), key(Code::Char('c')), key(Code::Up)],
            "ab\nc",
            1,
        ),
        (
            "abc",
            &[
                ctrl('j'),
                key(Code::Char('d')),
                key(Code::Up),
                key(Code::Down),
            ],
            "abc\nd",
            5,
        ),
    ];
    for (written, keys, text, at) in cases {
        let mut app = app();
        write(&mut app, written);
        for key in *keys {
            press(&mut app, *key);
        }
        assert_eq!(
            (app.composer.text(), app.composer.at()),
            (*text, *at),
            "{written} {keys:?}"
        );
    }
}

#[test]
fn random_keys_break_nothing() {
    // A small generator with a printed seed; every state is drawn as well.
    let seed = 0x1e6a_7104_u64;
    let mut state = seed;
    let mut app = app();
    works(&mut app, "task_a", Class::Agent);
    app.approvals = vec![waiting("ap1", "approval"), waiting("ap2", "proposal")];
    let codes = [
        Code::Char('a'),
        Code::Char('張'),
        Code::Char('/'),
        Code::Char('y'),
        Code::Char(' '),
        Code::Enter,
        Code::Tab,
        Code::BackTab,
        Code::Backspace,
        Code::Delete,
        Code::Left,
        Code::Right,
        Code::Up,
        Code::Down,
        Code::Home,
        Code::End,
        Code::PageUp,
        Code::PageDown,
        Code::Esc,
        Code::Char('k'),
        Code::Char('u'),
        Code::Char('w'),
        Code::Char('t'),
        Code::Char('o'),
        Code::Char('j'),
        Code::Char('?'),
        Code::Char('r'),
        Code::Char('e'),
    ];
    for step in 0..20_000 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let bits = (state >> 33) as usize;
        let key = Key {
            code: codes[bits % codes.len()],
            ctrl: bits & 0x0100_0000 != 0,
            alt: bits & 0x0200_0000 != 0,
            shift: bits & 0x0400_0000 != 0,
        };
        app.now_ms += 37;
        press(&mut app, key);
        (app.columns, app.rows) = [(80, 24), (40, 10), (8, 4), (1, 1)][step % 4];
        let live = crate::view::live(&app, true);
        let rows = usize::from(app.rows).saturating_sub(1).max(4);
        assert!(
            live.lines.len() <= rows,
            "seed {seed:#x}, step {step}, {key:?}"
        );
    }
}

#[test]
fn a_paste_is_text_and_no_keys() {
    let mut app = app();
    let effects = told(&mut app, Input::Paste("one\r\ntwo\u{1b}[A\n".to_owned()));
    assert_eq!(submitted(&effects), [""; 0]);
    assert_eq!(app.composer.text(), "one\ntwo␛[A\n");
}

#[test]
fn the_queue_is_edited_moved_and_taken_back() {
    let mut app = app();
    works(&mut app, "task_a", Class::Agent);
    for (at, id) in ["task_b", "task_c"].into_iter().enumerate() {
        let mut queued = task(id, Class::Agent, TaskState::Queued);
        queued.queue_position = Some(at);
        news(
            &mut app,
            Event::Task {
                task: Box::new(queued),
            },
        );
    }
    write(&mut app, "held");
    press(&mut app, key(Code::Tab));
    press(&mut app, ctrl('t'));
    press(&mut app, key(Code::Down));
    press(&mut app, key(Code::Down));
    let effects = press(&mut app, key(Code::Char('K')));
    let [Ask::Edit(edit), Ask::Tasks(_)] = asks(&effects)[..] else {
        panic!("{effects:?}");
    };
    assert_eq!(
        (edit.task_id.as_str(), edit.before.as_deref()),
        ("task_c", Some("task_b"))
    );
    press(&mut app, key(Code::Char('e')));
    assert_eq!(app.target, Target::Edit("task_b".to_owned()));
    let effects = enter(&mut app, " now");
    let [Ask::Edit(edit)] = asks(&effects)[..] else {
        panic!("{effects:?}");
    };
    assert_eq!(edit.message.as_deref(), Some("title of task_b now"));
    press(&mut app, ctrl('t'));
    for _ in 0..3 {
        press(&mut app, key(Code::Down));
    }
    assert_eq!(press(&mut app, key(Code::Char('x'))), []);
    assert_eq!(app.queue.held(), 0);
    press(&mut app, key(Code::Esc));
    press(&mut app, key(Code::Up));
    assert_eq!(
        app.composer.text(),
        "held",
        "what was taken back can be had back"
    );
}

#[test]
fn what_the_hub_refuses_comes_back_and_what_is_lost_does_not_go_out_twice() {
    for (is_lost, left) in [(false, "now me"), (true, "")] {
        let mut app = app();
        let effects = enter(&mut app, "now me");
        let [Effect::Ask(ask)] = &effects[..] else {
            panic!("{effects:?}");
        };
        let refusal = Refusal {
            message: "the queue is full".to_owned(),
            hint: Some("cancel something".to_owned()),
            is_lost,
        };
        let answer = Input::Answered(ask.clone(), Box::new(Err(refusal)));
        assert_eq!(told(&mut app, answer), []);
        assert_eq!(app.composer.text(), left);
        assert!(prints(&mut app).contains("the queue is full (cancel something)"));
        press(&mut app, ctrl('u'));
        press(&mut app, key(Code::Up));
        assert_eq!(app.composer.text(), "now me");
    }
}

#[test]
fn two_people_at_one_queue_do_not_undo_each_other() {
    // What the other one changed arrives as news, and an edit of what has begun is refused by the hub.
    let mut app = app();
    let queued = task("task_b", Class::Agent, TaskState::Queued);
    news(
        &mut app,
        Event::Task {
            task: Box::new(queued),
        },
    );
    press(&mut app, ctrl('t'));
    press(&mut app, key(Code::Char('e')));
    works(&mut app, "task_b", Class::Agent);
    let effects = enter(&mut app, " differently");
    let [Effect::Ask(ask)] = &effects[..] else {
        panic!("{effects:?}");
    };
    let refusal = Refusal {
        message: "task_b has begun".to_owned(),
        hint: None,
        is_lost: false,
    };
    told(
        &mut app,
        Input::Answered(ask.clone(), Box::new(Err(refusal))),
    );
    assert_eq!(app.composer.text(), "title of task_b differently");
    let over = task("task_b", Class::Agent, TaskState::Cancelled);
    news(
        &mut app,
        Event::Task {
            task: Box::new(over),
        },
    );
    assert_eq!(app.queue.items(), []);
}

/// Commands, and what of their effect shows that it is the right one.
const COMMANDS_DO: &[(&str, &str)] = &[
    ("/mcp", "Servers(List"),
    ("/mcp list", "Servers(List"),
    ("/mcp show files", "Server(Show { name: \"files\""),
    ("/mcp enable files", "Enable(Enable { name: \"files\""),
    ("/mcp disable files", "Disable(Disable { name: \"files\""),
    ("/mcp reload", "Reload(ReloadServer { name: None"),
    ("/mcp reload x", "Reload(ReloadServer { name: Some(\"x\")"),
    (
        "/mcp add x -- npx 'a b'",
        "Outside([\"mcp\", \"add\", \"x\", \"--\", \"npx\", \"a b\"])",
    ),
    (
        "/mcp search read a file",
        "Tools { words: \"read a file\", request: Tools { server: None",
    ),
    ("/mcp auth x", "Outside([\"mcp\", \"auth\", \"x\"])"),
    ("/mcp delete x", "Outside([\"mcp\", \"remove\", \"x\"])"),
    ("/mcp edit x", "Outside([\"mcp\", \"get\", \"x\"])"),
    (
        "/tasks",
        "Tasks(List { open: false, session: Some(\"ses_1\")",
    ),
    (
        "/tasks undo t1",
        "Undo(Undo { task_id: \"t1\", dry_run: true",
    ),
    (
        "/tasks undo t1 now",
        "Undo(Undo { task_id: \"t1\", dry_run: false",
    ),
    ("/inbox", "mark_consumed: true"),
    ("/audit 5", "Audit(Tail { count: 5 })"),
    ("/session", "Sessions"),
    ("/session new", "new: true"),
    (
        "/session resume ses_2",
        "session: Some(\"ses_2\"), new: false",
    ),
    (
        "/session export ses_2",
        "Outside([\"session\", \"export\", \"ses_2\"])",
    ),
    (
        "/session delete ses_2",
        "Forget(Delete { session: \"ses_2\"",
    ),
    ("/cancel task_9", "Cancel(Cancel { task_id: \"task_9\""),
    ("/quit", "Quit"),
    ("//literally", "message: \"/literally\""),
];

#[test]
fn commands_do_what_they_say() {
    for (line, wanted) in COMMANDS_DO {
        let mut app = app();
        let effects = enter(&mut app, line);
        assert_eq!(effects.len(), 1, "{line}: {effects:?}");
        let done = format!("{effects:?}");
        assert!(done.contains(wanted), "{line}: {done}");
    }
    // The others say why they do nothing.
    let refused = [
        "/nosuch",
        "/mcp show",
        "/mcp auth",
        "/mcp search",
        "/session delete ses_1",
        "/steer",
        "/cancel",
        "/answer x",
    ];
    for line in refused {
        let mut app = app();
        assert_eq!(enter(&mut app, line), [], "{line}");
        assert!(app.notice().is_some(), "{line}");
    }
}

#[test]
fn the_model_of_the_next_messages_is_chosen() {
    let mut app = app();
    enter(&mut app, "/model local/qwen3");
    let effects = enter(&mut app, "hello");
    let [Ask::Submit(submit)] = asks(&effects)[..] else {
        panic!("{effects:?}");
    };
    assert_eq!(submit.task.provider.as_deref(), Some("local"));
    assert_eq!(submit.task.model.as_deref(), Some("qwen3"));
    enter(&mut app, "/model default");
    assert_eq!(app.model, None);
}

#[test]
fn tab_completes_commands() {
    let cases = [
        ("/mo", "/model "),
        ("/a", "/a"),
        ("/ap", "/approvals "),
        ("/mcp sh", "/mcp show "),
        ("/mcp e", "/mcp e"),
        ("/nosuch", "/nosuch"),
    ];
    for (text, completed) in cases {
        let mut app = app();
        write(&mut app, text);
        press(&mut app, key(Code::Tab));
        assert_eq!(app.composer.text(), completed);
    }
}

#[test]
fn pausing_tells_the_hub_as_long_as_it_lasts() {
    let mut app = app();
    works(&mut app, "task_a", Class::Agent);
    let is_typing =
        |effects: &[Effect]| matches!(asks(effects)[..], [Ask::Typing(tasks::Typing { .. })]);
    let effects = press(&mut app, ctrl('p'));
    assert!(is_typing(&effects), "{effects:?}");
    for _ in 0..3 {
        let effects = after(&mut app, 1_000);
        assert!(is_typing(&effects), "{effects:?}");
    }
    assert_eq!(press(&mut app, ctrl('p')), []);
    assert_eq!(after(&mut app, 5_000), []);
}

#[test]
fn a_task_that_asks_is_answered() {
    let mut app = app();
    let mut asking = task("task_a", Class::Agent, TaskState::InputRequired);
    asking.question = Some("did it run? again, skip or failed".to_owned());
    news(
        &mut app,
        Event::Task {
            task: Box::new(asking),
        },
    );
    assert!(
        app.notice()
            .is_some_and(|notice| notice.contains("Ctrl-R answers it"))
    );
    press(&mut app, ctrl('r'));
    let effects = enter(&mut app, "skip");
    assert!(
        matches!(asks(&effects)[..], [Ask::Reply(reply)] if reply.text == "skip"),
        "{effects:?}"
    );
    assert_eq!(app.target, Target::Conversation);
}

#[test]
fn what_is_held_is_not_said_in_another_conversation() {
    let mut app = app();
    works(&mut app, "task_a", Class::Agent);
    write(&mut app, "held");
    press(&mut app, key(Code::Tab));
    assert_eq!(app.queue.held(), 1);
    prints(&mut app);
    told(&mut app, Input::Opened(Box::new(session("ses_2"))));
    let effects = news(&mut app, Event::Live {});
    assert!(submitted(&effects).is_empty(), "{effects:?}");
    assert_eq!(app.queue.held(), 0);
    let said = prints(&mut app);
    assert!(said.contains("was not sent: held"), "{said}");
    press(&mut app, key(Code::Up));
    assert_eq!(app.composer.text(), "held");
}

#[test]
fn all_lines_of_an_own_queued_message_are_edited() {
    let mut app = app();
    works(&mut app, "task_a", Class::Agent);
    write(&mut app, "first");
    press(&mut app, ctrl('j'));
    let effects = enter(&mut app, "second");
    assert_eq!(submitted(&effects), ["first\nsecond"]);
    let mut queued = task("task_b", Class::Human, TaskState::Queued);
    queued.title = "first".to_owned();
    news(
        &mut app,
        Event::Task {
            task: Box::new(queued),
        },
    );
    press(&mut app, ctrl('t'));
    press(&mut app, key(Code::Down));
    press(&mut app, key(Code::Char('e')));
    assert_eq!(app.target, Target::Edit("task_b".to_owned()));
    assert_eq!(app.composer.text(), "first\nsecond");
}
