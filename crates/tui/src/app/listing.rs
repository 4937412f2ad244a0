//! Answers of the hub in lines, for everybody who reads: with and without a screen.

use legation_api::approvals::{self, Waiting};
use legation_api::audit::TailAnswer;
use legation_api::conversation::SessionView;
use legation_api::inbox::PullAnswer;
use legation_api::mcp::{self, Server};
use legation_api::tasks::{EngineStatusAnswer, TaskView, Undo, UndoAnswer};

use super::{COMMANDS, choices, code};
use crate::text::one_line;

/// The keys, where there are such.
pub(crate) const KEYS: &[(&str, &str)] = &[
    ("Enter", "send; what an agent has the model do steps aside"),
    (
        "Tab",
        "send once what is worked on is over; completes a command",
    ),
    ("Alt-Enter, Ctrl-J", "new line"),
    ("Esc", "interrupt your answer; twice, an agent's task"),
    (
        "Ctrl-P",
        "hold back the agents' next steps, or let them go on",
    ),
    (
        "Ctrl-T",
        "tasks: Up and Down select, e edits, J and K move, s steers, x cancels",
    ),
    ("Ctrl-R", "answer the task that asks"),
    (
        "Ctrl-Y",
        "approvals: y once, n no, a number another answer, Esc later",
    ),
    (
        "Ctrl-O, PageUp",
        "read the conversation with everything unfolded",
    ),
    ("Up, Down", "messages that you wrote before"),
    ("Ctrl-A E B F W U K", "move and rub out as in a shell"),
    ("Ctrl-C twice", "end; tasks go on in the hub"),
];

/// Most tools that a search shows.
const FOUND_MAX: usize = 20;

pub(crate) fn help() -> Vec<String> {
    let commands = COMMANDS.iter().map(|(name, takes, does)| {
        let gap = if takes.is_empty() { "" } else { " " };
        format!("{name}{gap}{takes}: {does}")
    });
    commands.collect()
}

/// A question with its answers, numbered.
pub(crate) fn question(waiting: &Waiting) -> Vec<String> {
    let mut lines = vec![format!("{} {} waits for you", waiting.kind, waiting.id)];
    lines.extend(
        facts(waiting)
            .into_iter()
            .map(|(name, value)| format!("{name}: {value}")),
    );
    if waiting.kind == "proposal" {
        lines.push(format!(
            "it takes your PIN: legation approve {}",
            waiting.id
        ));
        return lines;
    }
    let answers = choices(waiting);
    let numbered = answers.iter().enumerate();
    lines.extend(numbered.map(|(at, answer)| format!("{} {answer}", at + 1)));
    lines.push(format!(
        "type the number and {}, as in: 1 {0}; or /approvals {} ANSWER",
        code(waiting),
        waiting.id
    ));
    lines
}

/// What is known of a question, without its arguments' changes.
pub(crate) fn facts(waiting: &Waiting) -> Vec<(&'static str, String)> {
    let client = match &waiting.on_behalf_of {
        Some(by) => format!("{} for {}", one_line(&waiting.client), one_line(by)),
        None => one_line(&waiting.client),
    };
    let call = match waiting.server.is_empty() {
        true => format!("{} (its own tool)", one_line(&waiting.item)),
        false => one_line(&format!("{}/{}", waiting.server, waiting.item)),
    };
    let rule = match waiting.rule.is_empty() {
        true => String::new(),
        false => format!(" (rule {})", one_line(&waiting.rule)),
    };
    let mut facts = vec![
        ("who", client),
        ("calls", call),
        ("for", one_line(&waiting.entity)),
        ("because", format!("{}{rule}", one_line(&waiting.reason))),
        ("with", one_line(&waiting.arguments)),
    ];
    if let Some(digest) = waiting.short_digest.as_ref().or(waiting.digest.as_ref()) {
        facts.push(("digest", one_line(digest)));
    }
    facts.push(("until", one_line(&waiting.expires)));
    facts
}

pub(crate) fn answered(id: &str, answer: &str) -> String {
    match answer {
        "deny" => format!("{id} is denied"),
        answer => format!("{id} is approved: {answer}"),
    }
}

pub(crate) fn approvals(answer: &approvals::ListAnswer) -> Vec<String> {
    let reported = answer
        .reported
        .iter()
        .map(|text| format!("WARNING: {text}"));
    let mut lines: Vec<String> = reported.collect();
    if answer.waiting.is_empty() {
        lines.push("nothing waits for you".to_owned());
    }
    for waiting in &answer.waiting {
        lines.extend(question(waiting));
    }
    lines
}

pub(crate) fn tasks(tasks: &[TaskView]) -> Vec<String> {
    if tasks.is_empty() {
        return vec!["no tasks in this conversation".to_owned()];
    }
    let lines = tasks.iter().map(|task| {
        format!(
            "{} {}: {} ({}, {} s)",
            task.task_id,
            one_line(&task.source),
            one_line(&task.title),
            task.status.as_str(),
            task.elapsed_seconds
        )
    });
    lines.collect()
}

pub(crate) fn task(task: &TaskView) -> Vec<String> {
    let mut lines = tasks(std::slice::from_ref(task));
    let mut add = |name: &str, value: Option<&String>| {
        lines.extend(value.map(|value| format!("{name}: {}", one_line(value))));
    };
    add("does", task.progress.as_ref());
    add("model", task.model.as_ref());
    add("asks", task.question.as_ref());
    add("error", task.error.as_ref());
    add("next", task.hint.as_ref());
    lines.extend(task.background.iter().map(|one| {
        let says = one.status_message.iter();
        let says: String = says.map(|says| format!(", {}", one_line(says))).collect();
        let (tool, server) = (one_line(&one.tool), one_line(&one.server));
        format!(
            "beside: {tool} at {server}: {}{says}",
            one_line(&one.status)
        )
    }));
    if !task.changed_files.is_empty() {
        lines.push(format!("changed: {}", task.changed_files.join(", ")));
    }
    if !task.entities.is_empty() {
        lines.push(format!("holds data of: {}", task.entities.join(", ")));
    }
    lines
}

pub(crate) fn undone(undo: &Undo, answer: &UndoAnswer) -> Vec<String> {
    let mut lines = Vec::new();
    let (back, away) = match undo.dry_run {
        true => ("would be put back", "would be taken away"),
        false => ("put back", "taken away"),
    };
    lines.extend(answer.restored.iter().map(|path| format!("{back}: {path}")));
    lines.extend(answer.removed.iter().map(|path| format!("{away}: {path}")));
    let kept = answer.kept.iter();
    lines.extend(kept.map(|(path, why)| format!("left alone: {path}: {why}")));
    match (lines.is_empty(), undo.dry_run) {
        (true, _) => lines.push("it changed no file".to_owned()),
        (false, true) => lines.push(format!("/tasks undo {} now does it", undo.task_id)),
        (false, false) => {}
    }
    lines
}

pub(crate) fn engine(
    engine: &EngineStatusAnswer,
    chosen: Option<&(String, Option<String>)>,
) -> Vec<String> {
    let mut lines = vec![match &engine.model {
        Some(model) => format!("the next task goes to {}", one_line(model)),
        None => "there is no model for tasks: see `legation models list`".to_owned(),
    }];
    if let Some((provider, model)) = chosen {
        let model = model.as_ref().map(|model| format!("/{model}"));
        let model = model.unwrap_or_default();
        lines.push(format!(
            "your messages go to {provider}{model}, where the rules allow it"
        ));
    }
    if engine.model_loaded == Some(false) {
        lines.push("it does not answer".to_owned());
    }
    lines.extend(engine.problems.iter().map(|problem| one_line(problem)));
    lines
}

pub(crate) fn servers(answer: &mcp::ListAnswer) -> Vec<String> {
    let mut lines: Vec<String> = answer.servers.iter().map(server_line).collect();
    if lines.is_empty() {
        lines.push("no servers: /mcp add NAME -- COMMAND adds one".to_owned());
    }
    for problem in &answer.problems {
        let server = problem.server.as_deref().unwrap_or("entry");
        lines.push(format!(
            "{}: {server} cannot be used: {} ({})",
            problem.source, problem.message, problem.hint
        ));
    }
    lines
}

fn server_line(server: &Server) -> String {
    let name = match server.label.is_empty() {
        true => &server.name,
        false => &server.label,
    };
    let reason = server
        .reason
        .as_ref()
        .map(|reason| format!(": {}", one_line(reason)));
    format!(
        "{}: {}, {} tools, {}{}",
        one_line(name),
        server.status,
        server.tools,
        server.transport,
        reason.unwrap_or_default()
    )
}

pub(crate) fn server(answer: &mcp::ShowAnswer) -> Vec<String> {
    let server = &answer.server;
    let mut lines = vec![
        server_line(server),
        format!("runs: {}", one_line(&server.target)),
        format!("from: {}", one_line(&server.source)),
    ];
    lines.extend(
        server
            .hint
            .iter()
            .map(|hint| format!("next: {}", one_line(hint))),
    );
    lines.extend(
        server
            .warnings
            .iter()
            .map(|text| format!("warning: {}", one_line(text))),
    );
    lines.extend(
        answer
            .log
            .iter()
            .map(|line| format!("log: {}", one_line(line))),
    );
    lines
}

/// The tools that have to do with all of the words, by their names or what they say of themselves.
pub(crate) fn tools(words: &str, answer: &mcp::ToolsAnswer) -> Vec<String> {
    let wanted: Vec<String> = words.split_whitespace().map(str::to_lowercase).collect();
    let mut found = answer.tools.iter().filter_map(|tool| {
        let definition: serde_json::Value =
            serde_json::from_str(tool.definition.get()).unwrap_or_default();
        let said = definition.get("description");
        let said = said.and_then(serde_json::Value::as_str).unwrap_or_default();
        let name = format!("{}/{}", tool.server, tool.tool);
        let text = format!("{name} {} {said}", tool.name).to_lowercase();
        let is_wanted = wanted.iter().all(|word| text.contains(word));
        is_wanted.then(|| {
            let first = said.lines().find(|line| !line.trim().is_empty());
            one_line(&format!("{name}: {}", first.unwrap_or_default().trim()))
        })
    });
    let mut lines: Vec<String> = found.by_ref().take(FOUND_MAX).collect();
    match (lines.len(), found.count()) {
        (0, _) => lines.push(format!("no tool has to do with {}", one_line(words))),
        (_, 0) => {}
        (_, more) => lines.push(format!("and {more} more: say more of what it should do")),
    }
    lines
}

pub(crate) fn inbox(answer: &PullAnswer) -> Vec<String> {
    let mut lines = Vec::new();
    for message in &answer.messages {
        let text = unescaped(&message.content_text_sanitized);
        lines.push(format!(
            "{} {} {}: {}",
            message.channel,
            message.received_at,
            one_line(&unescaped(&message.from)),
            one_line(&text)
        ));
    }
    match (lines.is_empty(), answer.unread_remaining) {
        (true, _) => lines.push("nothing that you have not read".to_owned()),
        (false, 0) => {}
        (false, more) => lines.push(format!("{more} more: /inbox shows them")),
    }
    lines
}

/// The inbox escapes what a model might take for a tag.
fn unescaped(text: &str) -> String {
    text.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&")
}

pub(crate) fn audit(answer: &TailAnswer) -> Vec<String> {
    let mut lines = Vec::new();
    for record in &answer.records {
        let stored: serde_json::Value =
            serde_json::from_str(record.record.get()).unwrap_or_default();
        let word = |name: &str| stored.get(name).and_then(serde_json::Value::as_str);
        let words = [
            "kind", "client", "server", "item", "topic", "status", "rule",
        ];
        let words: Vec<String> = words.into_iter().filter_map(word).map(one_line).collect();
        let digest = record.hash.get(..12).unwrap_or(&record.hash);
        lines.push(format!(
            "{} {} {} {digest}",
            record.entity,
            record.seq,
            words.join(" ")
        ));
    }
    if lines.is_empty() {
        lines.push("no records".to_owned());
    }
    lines
}

pub(crate) fn sessions(sessions: &[SessionView]) -> Vec<String> {
    if sessions.is_empty() {
        return vec!["no conversations".to_owned()];
    }
    let lines = sessions.iter().map(|session| {
        let mark = if session.current { "current, " } else { "" };
        let folder = session.workspace.as_deref().unwrap_or("no folder");
        format!(
            "{} {} ({mark}{} entries, {}, {})",
            session.id,
            one_line(&session.title),
            session.messages,
            one_line(folder),
            session.active
        )
    });
    lines.collect()
}
