//! `legation task show`.

use legation_api::tasks::{BackgroundView, Show, TaskView, ToolCallView};

use super::words;
use crate::commands::running_hub;
use crate::table::{counted, printable, printable_lines};
use crate::{CliError, Context};

pub(super) fn cmd_show(context: &Context, id: String) -> Result<(), CliError> {
    let task = running_hub(context)?.call(&Show { task_id: id })?;
    context
        .output
        .result(&task, |task| context.output.foreign(&describe(task)))
}

/// A task with all that is known of it.
pub(crate) fn describe(task: &TaskView) -> String {
    let mut text = format!("{}  {}\n", printable(&task.task_id), printable(&task.title));
    let mut line = |name: &str, value: &str| {
        let value = printable_lines(value).replace('\n', "\n            ");
        text.push_str(&format!("  {name:<9} {value}\n"));
    };
    line("status", words(task.status));
    if let Some(place) = task.queue_position {
        line("before it", &place.to_string());
    }
    if let Some(progress) = &task.progress {
        line("does", progress);
    }
    line("from", &task.source);
    line("session", &task.session);
    line("created", &task.created);
    line("changed", &task.changed);
    line("worked", &format!("{} s", task.elapsed_seconds));
    if let Some(model) = &task.model {
        line("model", model);
    }
    if let Some(usage) = &task.token_usage {
        let count = |tokens: Option<u64>| tokens.map_or("?".to_owned(), |count| count.to_string());
        let (input, output) = (count(usage.input), count(usage.output));
        line("tokens", &format!("{input} read, {output} written"));
    }
    if !task.entities.is_empty() {
        line("data of", &task.entities.join(", "));
    }
    if let Some(check) = &task.check {
        let passed = if check.passed {
            "passed"
        } else {
            "did not pass"
        };
        line("check", &format!("{passed}, tried {} times", check.tries));
    }
    for (name, value) in [
        ("asks", &task.question),
        ("error", &task.error),
        ("hint", &task.hint),
    ] {
        if let Some(value) = value {
            line(name, value);
        }
    }
    for file in &task.changed_files {
        line("changed", file);
    }
    for call in &task.tool_calls {
        line("call", &called(call));
    }
    for one in &task.background {
        line("beside", &beside(one));
    }
    let said = task.response.as_ref().or(task.partial_response.as_ref());
    if let Some(said) = said {
        text.push_str(&format!("\n{}\n", said.trim_end()));
    }
    text
}

/// What runs beside a task in one line.
fn beside(one: &BackgroundView) -> String {
    let mut text = format!("{} at {}: {}", one.tool, one.server, one.status);
    if let Some(message) = &one.status_message {
        text.push_str(&format!(", {message}"));
    }
    text
}

/// A call in one line.
pub(crate) fn called(call: &ToolCallView) -> String {
    let mut text = call.tool.clone();
    for about in [&call.path, &call.command].into_iter().flatten() {
        text.push(' ');
        text.push_str(about);
    }
    text.push_str(": ");
    text.push_str(&call.status);
    if let Some(code) = call.exit_code {
        text.push_str(&format!(", exit code {code}"));
    }
    if let Some(lines) = call.lines {
        let lines = usize::try_from(lines).unwrap_or(usize::MAX);
        text.push_str(", ");
        text.push_str(&counted(lines, "line"));
    }
    text
}
