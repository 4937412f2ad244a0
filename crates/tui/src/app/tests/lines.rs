//! Without a screen: what keys do elsewhere, lines do.

use legation_api::mcp::{Tool, ToolsAnswer};
use legation_api::tasks::{BackgroundKind, BackgroundView, Class, TaskState, TaskView};

use super::*;

/// A terminal that reads lines, in a conversation.
pub(super) fn reader() -> App {
    let choices = Choices {
        is_plain: true,
        ..Choices::default()
    };
    let mut app = App::new(choices, 80, 24);
    told(&mut app, Input::Opened(Box::new(session("ses_1"))));
    news(&mut app, Event::Live {});
    prints(&mut app);
    app
}

pub(super) fn line(app: &mut App, line: &str) -> Vec<Effect> {
    told(app, Input::Line(line.to_owned()))
}

fn over(app: &mut App, id: &str) -> Vec<Effect> {
    let over = task(id, Class::Agent, TaskState::Completed);
    let task = Box::new(over);
    news(app, Event::Task { task })
}

/// The one request that there is, without what stands in it beside `wanted`.
fn asks(effects: &[Effect], wanted: &str) {
    let [Effect::Ask(ask)] = effects else {
        panic!("{wanted}: {effects:?}");
    };
    let asked = format!("{ask:?}");
    assert!(asked.contains(wanted), "{wanted}: {asked}");
}

#[test]
fn a_line_steps_in_and_commands_queue_steer_hold_and_call_off() {
    let mut app = reader();
    works(&mut app, "task_a", Class::Agent);
    // A message is the person's turn, as Enter is.
    asks(&line(&mut app, "what does it do?"), "Submit(");
    asks(
        &line(&mut app, "/steer only the first file"),
        "Steer { task_id: \"task_a\", text: \"only the first file\"",
    );
    assert_eq!(line(&mut app, "/queue and then its tests"), []);
    assert_eq!(app.queue.held(), 1);
    asks(&line(&mut app, "/pause"), "Typing(");
    assert_eq!(line(&mut app, "/pause"), [], "they go on");
    asks(&line(&mut app, "/cancel"), "Cancel { task_id: \"task_a\"");
    asks(&over(&mut app, "task_a"), "and then its tests");
    assert_eq!(app.queue.held(), 0);
    // Once nothing is worked on there is nothing to steer or to call off, and what was to wait goes.
    let mut app = reader();
    prints(&mut app);
    for (words, why) in [
        ("/steer on", "nothing is worked on"),
        ("/cancel", "nothing is worked on"),
    ] {
        assert_eq!(line(&mut app, words), []);
        assert_eq!(prints(&mut app), format!("note: {why}"), "{words}");
    }
    asks(&line(&mut app, "/queue at once"), "at once");
}

#[test]
fn an_own_answer_is_told_more_and_interrupted_by_lines() {
    let mut app = reader();
    works(&mut app, "task_h", Class::Human);
    asks(
        &line(&mut app, "and in short"),
        "Steer { task_id: \"task_h\"",
    );
    asks(&line(&mut app, "/cancel"), "Cancel { task_id: \"task_h\"");
}

fn tool(server: &str, tool: &str, description: &str) -> Tool {
    let definition = serde_json::json!({"name": tool, "description": description});
    Tool {
        name: format!("{server}-{tool}"),
        server: server.to_owned(),
        tool: tool.to_owned(),
        definition: serde_json::value::to_raw_value(&definition).expect("JSON"),
    }
}

#[test]
fn tools_are_found_by_what_they_say_of_themselves() {
    let mut tools = vec![
        tool("files", "read", "\nReads a file.\nAnd more."),
        tool("files", "write", "Writes a FILE."),
        tool("time", "now", "Says \u{1b}[31mwhen."),
    ];
    tools.extend((0..25).map(|index| tool("many", &format!("t{index}"), "One of them.")));
    let answer = ToolsAnswer { tools };
    let found = |words: &str| {
        let mut app = reader();
        let effects = line(&mut app, &format!("/mcp search {words}"));
        let [Effect::Ask(ask)] = &effects[..] else {
            panic!("{effects:?}");
        };
        let answer = Box::new(Ok(Answer::Tools(answer.clone())));
        told(&mut app, Input::Answered(ask.clone(), answer));
        prints(&mut app)
    };
    assert_eq!(
        found("File"),
        "  files/read: Reads a file.\n  files/write: Writes a FILE."
    );
    assert_eq!(found("reads FILES"), "  files/read: Reads a file.");
    assert!(!found("time").contains('\u{1b}'));
    assert_eq!(
        found("nothing such"),
        "  no tool has to do with nothing such"
    );
    let many = found("many");
    assert_eq!(many.lines().count(), 21, "{many}");
    assert!(
        many.ends_with("and 5 more: say more of what it should do"),
        "{many}"
    );
}

#[test]
fn a_task_shows_what_runs_beside_it_and_cannot_repaint_the_terminal() {
    let task = TaskView {
        background: vec![BackgroundView {
            kind: BackgroundKind::McpTask,
            id: "call_1".to_owned(),
            server: "build".to_owned(),
            tool: "build-deploy".to_owned(),
            server_task_id: "t-1".to_owned(),
            status: "working".to_owned(),
            status_message: Some("half\u{1b}[2J\nway".to_owned()),
            created: "2026-01-28T10:00:00Z".to_owned(),
            updated: "2026-01-28T10:00:01Z".to_owned(),
            poll_interval_ms: None,
        }],
        ..task("task_a", Class::Agent, TaskState::InProgress)
    };
    let lines = crate::app::listing::task(&task);
    let last = lines.last().expect("a line");
    assert!(
        last.starts_with("beside: build-deploy at build: working, half"),
        "{last}"
    );
    assert!(!last.contains(['\u{1b}', '\n']), "{last:?}");
}
