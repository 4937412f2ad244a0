//! The state under keys, news and time.

mod approvals;
mod keys;
mod lines;
mod said;

use legation_api::approvals::Waiting;
use legation_api::conversation::{Body, Event, MessageView, SessionView, Source};
use legation_api::tasks::{Class, TaskState, TaskView, ToolCallView};

use super::*;

/// A state with a hub, in the session `ses_1`.
pub(crate) fn app() -> App {
    let mut app = App::new(Choices::default(), 80, 24);
    told(&mut app, Input::Opened(Box::new(session("ses_1"))));
    told(&mut app, Input::Told(Box::new(Event::Live {})));
    app.take_prints();
    app
}

pub(crate) fn session(id: &str) -> SessionView {
    SessionView {
        id: id.to_owned(),
        workspace: Some("/home/ada/chess".to_owned()),
        title: "chess".to_owned(),
        created: "2026-01-28T10:00:00Z".to_owned(),
        active: "2026-01-28T10:00:00Z".to_owned(),
        messages: 0,
        entities: Vec::new(),
        current: true,
    }
}

pub(crate) fn task(id: &str, class: Class, status: TaskState) -> TaskView {
    let bare = TaskView::new(id.to_owned(), "ses_1".to_owned(), class, status);
    TaskView {
        source: match class {
            Class::Human => "you",
            Class::System => "hub",
            Class::Agent => "claude-code",
        }
        .to_owned(),
        title: format!("title of {id}"),
        elapsed_seconds: 12,
        created: "2026-01-28T10:00:00Z".to_owned(),
        changed: "2026-01-28T10:00:00Z".to_owned(),
        ..bare
    }
}

pub(crate) fn message(seq: u64, task: &str, source: Source, body: Body) -> Event {
    Event::Message {
        message: Box::new(MessageView {
            seq,
            session: "ses_1".to_owned(),
            task_id: Some(task.to_owned()),
            source,
            at: "2026-01-28T10:00:00Z".to_owned(),
            entities: Vec::new(),
            body,
        }),
    }
}

pub(crate) fn text(seq: u64, task: &str, source: Source, text: &str) -> Event {
    let body = Body::Text {
        text: text.to_owned(),
        partial: false,
    };
    message(seq, task, source, body)
}

pub(crate) fn call(seq: u64, task: &str, status: &str, result: &str) -> Event {
    let call = ToolCallView {
        tool: "write_file".to_owned(),
        status: status.to_owned(),
        path: Some("src/board.py".to_owned()),
        command: None,
        exit_code: None,
        lines: (status == "success").then_some(145),
        result_uri: None,
    };
    let body = Body::Tool {
        call_id: "call_1".to_owned(),
        call,
        arguments: r#"{"path":"src/board.py"}"#.to_owned(),
        result: result.to_owned(),
    };
    message(seq, task, Source::Model, body)
}

pub(crate) fn delta(task: &str, text: &str) -> Event {
    Event::Delta {
        task_id: task.to_owned(),
        text: text.to_owned(),
    }
}

pub(crate) fn waiting(id: &str, kind: &str) -> Waiting {
    Waiting {
        id: id.to_owned(),
        kind: kind.to_owned(),
        state: "pending".to_owned(),
        client: "delegate".to_owned(),
        on_behalf_of: Some("claude-code".to_owned()),
        server: "workspace".to_owned(),
        item: "edit".to_owned(),
        entity: "personal".to_owned(),
        rule: "rungs.edit".to_owned(),
        reason: "it changes a file".to_owned(),
        arguments:
            r#"{"path":"src/board.py","old_string":"a = 1\nb = 2\n","new_string":"a = 1\nb = 3\n"}"#
                .to_owned(),
        answers: ["once", "session", "deny"].map(str::to_owned).to_vec(),
        digest: Some("ab".repeat(32)),
        short_digest: Some("abab-abab".to_owned()),
        posted: None,
        created: "2026-01-28T10:00:00Z".to_owned(),
        expires: "2026-01-28T10:10:00Z".to_owned(),
    }
}

/// What is to be done, without what the clock asks for.
pub(crate) fn told(app: &mut App, input: Input) -> Vec<Effect> {
    let now = app.now_ms;
    let effects = app.update(now, input).into_iter();
    let by_the_clock = |effect: &Effect| matches!(effect, Effect::Ask(ask) if ask.is_quiet() && !matches!(**ask, Ask::Typing(_)));
    effects.filter(|effect| !by_the_clock(effect)).collect()
}

pub(crate) fn after(app: &mut App, ms: u64) -> Vec<Effect> {
    app.now_ms += ms;
    told(app, Input::Tick)
}

pub(crate) fn news(app: &mut App, event: Event) -> Vec<Effect> {
    told(app, Input::Told(Box::new(event)))
}

pub(crate) fn key(code: Code) -> Key {
    Key {
        code,
        ctrl: false,
        alt: false,
        shift: false,
    }
}

pub(crate) fn ctrl(letter: char) -> Key {
    Key {
        ctrl: true,
        ..key(Code::Char(letter))
    }
}

pub(crate) fn press(app: &mut App, pressed: Key) -> Vec<Effect> {
    told(app, Input::Key(pressed))
}

pub(crate) fn write(app: &mut App, text: &str) -> Vec<Effect> {
    let keys = text.chars().map(|sign| key(Code::Char(sign)));
    keys.flat_map(|key| press(app, key)).collect()
}

/// Words and Enter; what is to be done but telling that somebody types.
pub(crate) fn enter(app: &mut App, text: &str) -> Vec<Effect> {
    write(app, text);
    press(app, key(Code::Enter))
}

pub(crate) fn works(app: &mut App, id: &str, class: Class) {
    let task = task(id, class, TaskState::InProgress);
    news(
        app,
        Event::Task {
            task: Box::new(task),
        },
    );
}

/// What was shown for good, in lines.
pub(crate) fn prints(app: &mut App) -> String {
    let prints = app.take_prints();
    let lines: Vec<String> = prints.iter().flat_map(crate::view::plain).collect();
    lines.join("\n")
}
