//! Delegated tasks, and the conversation that people, agents and the model share.

use legation_api::conversation::{Body, MessageView, SessionView, Source};
use legation_api::tasks::{BackgroundView, EngineStatusAnswer, TaskState, TaskView, ToolCallView};
use maud::{Markup, html};

use super::ask::Failure;
use super::fields::encoded;
use super::html::{Frame, badge, counted, entity, fact, moment, nothing, span, table};

/// All tasks and sessions.
#[derive(Debug)]
pub(crate) struct Listing {
    pub(crate) engine: Result<EngineStatusAnswer, Failure>,
    pub(crate) tasks: Vec<TaskView>,
    pub(crate) sessions: Vec<SessionView>,
}

/// One session.
#[derive(Debug)]
pub(crate) struct Conversation {
    pub(crate) session: SessionView,
    pub(crate) messages: Vec<MessageView>,
    /// Its tasks that are not over.
    pub(crate) open: Vec<TaskView>,
}

pub(crate) fn list(frame: &Frame, view: &Listing) -> Markup {
    let new = html! {
        label for="message" { "What shall be done?" }
        textarea #message name="message" required {}
        div.actions { button type="submit" { "Hand in" } }
    };
    html! {
        p.status-line #live role="status" {}
        div #engine data-part="quiet" {
            @match &view.engine {
                Err(failure) => { (failure.shown()) }
                Ok(engine) => {
                    p {
                        (badge(&engine.state)) " "
                        (engine.model.as_deref().unwrap_or("no model would have the next task"))
                        ", " (counted(engine.queue_depth, "task")) " in the queue"
                    }
                    @for problem in &engine.problems { p.quiet { (problem) } }
                }
            }
        }
        section.card aria-labelledby="new" {
            header { h2 #new { "A new task" } }
            (frame.form("/tasks", &html! { div.fields { (new) } }))
        }
        h2 { "Tasks" }
        div #tasks data-part="quiet" {
            @if view.tasks.is_empty() { (nothing("There are no tasks.")) } @else { (rows(&view.tasks)) }
        }
        h2 { "Conversations" }
        div #sessions data-part="quiet" {
            @if view.sessions.is_empty() { (nothing("There are no conversations.")) }
            @else { (sessions(&view.sessions)) }
        }
    }
}

fn rows(tasks: &[TaskView]) -> Markup {
    let rows = html! {
        @for task in tasks {
            tr {
                td.wide { a href={ "/tasks/" (encoded(&task.task_id)) } { (title(&task.title)) } }
                td {
                    (badge(task.status.as_str()))
                    @if let Some(place) = task.queue_position { " " span.quiet { (place) " before it" } }
                }
                td { (task.source) }
                td { @for name in &task.entities { (entity(name)) } }
                td { (moment(&task.changed)) }
            }
        }
    };
    table(
        "Tasks",
        &["Task", "State", "From", "Data of", "Changed"],
        &rows,
    )
}

fn sessions(sessions: &[SessionView]) -> Markup {
    let rows = html! {
        @for session in sessions {
            tr {
                td.wide { a href={ "/sessions/" (encoded(&session.id)) } { (title(&session.title)) } }
                td.wide { (session.workspace.as_deref().unwrap_or("")) }
                td.number { (session.messages) }
                td { @for name in &session.entities { (entity(name)) } }
                td { (moment(&session.active)) }
            }
        }
    };
    let heads = ["Conversation", "Folder", "Entries", "Data of", "Last used"];
    table("Conversations", &heads, &rows)
}

fn title(text: &str) -> &str {
    if text.trim().is_empty() {
        "(no title)"
    } else {
        text
    }
}

/// One task, as far as it is.
pub(crate) fn one(frame: &Frame, task: &TaskView) -> Markup {
    html! {
        p.status-line #live role="status" {}
        div #task data-part="told" aria-live="polite" {
            section.card aria-label="The task" {
                dl {
                    (fact("State", &html! {
                        (badge(task.status.as_str()))
                        @if let Some(place) = task.queue_position { " " (counted(place, "task")) " before it" }
                        @if let Some(progress) = &task.progress { " " (progress) }
                    }))
                    (fact("From", &html! { (task.source) }))
                    @if let Some(model) = &task.model { (fact("Model", &html! { (model) })) }
                    (fact("Worked on for", &html! { (span(task.elapsed_seconds * 1_000)) }))
                    @if !task.entities.is_empty() {
                        (fact("Data of", &html! { @for name in &task.entities { (entity(name)) } }))
                    }
                    @if let Some(usage) = &task.token_usage {
                        (fact("Tokens", &html! { (tokens(usage.input)) " read, " (tokens(usage.output)) " written" }))
                    }
                    @if let Some(check) = &task.check {
                        (fact("Check", &html! {
                            (if check.passed { "passed" } else { "did not pass" }) ", tried " (check.tries) " times"
                        }))
                    }
                    (fact("Handed in", &moment(&task.created)))
                    (fact("Changed", &moment(&task.changed)))
                }
            }
            @if let Some(error) = &task.error {
                div.notice.bad {
                    p { (error) }
                    @if let Some(hint) = &task.hint { p.quiet { (hint) } }
                }
            }
            @if let Some(text) = task.response.as_ref().or(task.partial_response.as_ref()) {
                h2 { (if task.response.is_some() { "Answer" } else { "So far" }) }
                div.card { p.prose { (text) } }
            }
            @if !task.tool_calls.is_empty() {
                h2 { "Calls" }
                (calls(&task.tool_calls))
            }
            @if !task.background.is_empty() {
                h2 { "Beside it" }
                (beside(&task.background))
            }
            @if !task.changed_files.is_empty() {
                h2 { "Files it changed" }
                ul { @for file in &task.changed_files { li { code { (file) } } } }
            }
        }
        (acts(frame, task))
        p { a href={ "/sessions/" (encoded(&task.session)) } { "Its conversation" } " · " a href="/tasks" { "All tasks" } }
    }
}

fn tokens(count: Option<u64>) -> String {
    count.map_or_else(|| "?".to_owned(), |count| count.to_string())
}

fn calls(calls: &[ToolCallView]) -> Markup {
    let rows = html! {
        @for call in calls {
            tr {
                td { code { (call.tool) } }
                td { (badge(&call.status)) }
                td.wide { (call.path.as_deref().or(call.command.as_deref()).unwrap_or("")) }
                td.number { @if let Some(code) = call.exit_code { (code) } }
            }
        }
    };
    table("Calls", &["Tool", "State", "About", "Exit code"], &rows)
}

/// What runs, or ran, beside a task.
fn beside(all: &[BackgroundView]) -> Markup {
    let rows = html! {
        @for one in all {
            tr {
                td { code { (one.tool) } " at " (one.server) }
                td { (badge(&one.status)) }
                td.wide { (one.status_message.as_deref().unwrap_or("")) }
                td { (moment(&one.updated)) }
            }
        }
    };
    table("Beside it", &["Tool", "State", "It says", "Changed"], &rows)
}

/// What a person can do with a task now.
fn acts(frame: &Frame, task: &TaskView) -> Markup {
    let path = |verb: &str| format!("/tasks/{}/{verb}", encoded(&task.task_id));
    let words = |name: &str, label: &Markup, button: &str, act: &str| {
        let fields = html! {
            div.fields {
                label for=(name) { (label) }
                textarea #(name) name="text" required {}
                div.actions { button type="submit" { (button) } }
            }
        };
        frame.form(&path(act), &fields)
    };
    html! {
        @if let (TaskState::InputRequired, Some(question)) = (task.status, &task.question) {
            section.card aria-labelledby="question" {
                header { h2 #question { "It asks you" } }
                p.prose { (question) }
                (words("answer", &html! { "Your answer" }, "Answer", "answer"))
            }
        }
        @if !task.status.is_final() {
            section.card aria-labelledby="steering" {
                header { h2 #steering { "Say something to it" } }
                (words("steer", &html! { "It is heard between two steps" }, "Say it", "steer"))
                div.actions { (frame.button(&path("cancel"), &[], &html! { "Call it off" })) }
            }
        }
    }
}

/// One session with its entries; what comes is added by the script.
pub(crate) fn conversation(frame: &Frame, view: &Conversation) -> Markup {
    let say = html! {
        input type="hidden" name="session" value=(view.session.id);
        div.fields {
            label for="message" { "Say something" }
            textarea #message name="message" required {}
            div.actions { button type="submit" { "Send" } }
        }
    };
    html! {
        p.status-line #live role="status" {}
        div #open-tasks data-part="told" {
            @if !view.open.is_empty() { (rows(&view.open)) }
        }
        div role="log" aria-label="Conversation" {
            ol.log #conversation { @for message in &view.messages { (entry(message)) } }
        }
        div.log aria-hidden="true" #writing hidden { div.card { p.prose {} } }
        section.card { (frame.form("/tasks", &say)) }
        p { a href="/tasks" { "All tasks and conversations" } }
    }
}

/// One entry of a conversation, as it stands in the page and comes over the stream.
pub(crate) fn entry(message: &MessageView) -> Markup {
    let class = match (&message.source, &message.body) {
        (_, Body::Note { .. } | Body::Summary { .. }) => "aside",
        (Source::Human, _) => "mine",
        _ => "",
    };
    html! {
        li #{ "entry-" (message.seq) } class=(class) data-task=[message.task_id.as_deref()] {
            p.who {
                strong { (who(&message.source)) }
                (moment(&message.at))
                @for name in &message.entities { (entity(name)) }
            }
            @match &message.body {
                Body::Text { text, partial } => {
                    p.prose { (text) @if *partial { span.quiet { " …" } } }
                }
                Body::Tool { call, arguments, result, .. } => {
                    p { code { (call.tool) } " " (badge(&call.status)) }
                    details #{ "call-" (message.seq) } {
                        summary { "Arguments and result" }
                        pre tabindex="0" { (arguments) }
                        @if !result.is_empty() { pre tabindex="0" { (result) } }
                    }
                }
                Body::Summary { text, .. } => {
                    details #{ "summary-" (message.seq) } {
                        summary { "What came before, put together for the model" }
                        p.prose { (text) }
                    }
                }
                Body::Note { text } => { p { (text) } }
            }
        }
    }
}

fn who(source: &Source) -> &str {
    match source {
        Source::Human => "You",
        Source::Client(name) => name,
        Source::Model => "Model",
        Source::System => "Legation",
    }
}
