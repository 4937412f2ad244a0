//! A task as it is told at the terminal: its words on standard output, what it does on
//! standard error.

use std::collections::HashSet;

use legation_api::conversation::{Body, MessageView, Source};
use legation_api::tasks::{TaskView, ToolCallView};

use crate::commands::task::called;
use crate::table::{printable, printable_lines};
use crate::{Context, Output};

const DIM: &str = "\u{1b}[2m";
const PLAIN: &str = "\u{1b}[0m";

/// What was told so far.
pub(super) struct Told {
    output: Output,
    /// Whether a line is replaced while the task works.
    moves: bool,
    colours: bool,
    task: Option<String>,
    /// The last entry of the conversation that was seen.
    last: Option<u64>,
    /// The words of the answer that is being written.
    said: String,
    /// The last answer that was told whole.
    answered: String,
    /// Whether the cursor stands behind words.
    in_line: bool,
    calls: HashSet<String>,
}

// === impl Told ===

impl Told {
    pub(super) fn new(context: &Context, plain: bool) -> Self {
        let output = context.output;
        let moves = !plain && output.is_watched();
        Self {
            output,
            moves,
            colours: moves && context.environment.get("NO_COLOR").is_none(),
            task: None,
            last: None,
            said: String::new(),
            answered: String::new(),
            in_line: false,
            calls: HashSet::new(),
        }
    }

    /// The task, once it is handed in.
    pub(super) fn task(&self) -> Option<&str> {
        self.task.as_deref()
    }

    pub(super) fn last(&self) -> Option<u64> {
        self.last
    }

    pub(super) fn is_about(&self, task: &str) -> bool {
        self.task.as_deref() == Some(task)
    }

    pub(super) fn begin(&mut self, view: &TaskView) {
        self.task = Some(view.task_id.clone());
        self.remark(&format!(
            "{} in {}; Ctrl-C leaves it running, `legation task cancel` ends it",
            view.task_id, view.session
        ));
        self.stands(view);
    }

    /// How it stands, on the line that is replaced.
    pub(super) fn stands(&mut self, view: &TaskView) {
        if !self.moves || self.in_line || view.status.is_final() {
            return;
        }
        let place = view
            .queue_position
            .map(|place| format!("{place} before it"));
        let doing = view.progress.clone().or(place);
        let doing = doing.unwrap_or_else(|| view.status.as_str().to_owned());
        let model = view.model.as_deref().unwrap_or_default();
        let line = format!("{} s  {doing}  {model}", view.elapsed_seconds);
        let width = self.output.columns().unwrap_or(80).saturating_sub(1);
        let line: String = printable(&line).chars().take(width).collect();
        self.output.progress(line.trim_end());
    }

    /// More words of the answer.
    pub(super) fn delta(&mut self, task: &str, text: &str) {
        if !self.is_about(task) || self.output.is_json() {
            return;
        }
        self.said.push_str(text);
        self.words(text);
    }

    /// An entry of the conversation.
    pub(super) fn message(&mut self, message: &MessageView) {
        self.last = self.last.max(Some(message.seq));
        if self.task.is_none() || message.task_id != self.task {
            return;
        }
        match &message.body {
            Body::Text { text, partial } if message.source == Source::Model => {
                if !partial {
                    self.answer(text);
                }
            }
            Body::Tool {
                call_id,
                call,
                result,
                ..
            } => self.call(call_id, call, !result.is_empty()),
            Body::Note { text } => self.remark(text),
            Body::Text { .. } | Body::Summary { .. } => {}
        }
    }

    /// An answer that is whole: what of it was not told yet.
    fn answer(&mut self, text: &str) {
        let said = std::mem::take(&mut self.said);
        text.clone_into(&mut self.answered);
        if self.output.is_json() {
            return;
        }
        match text.strip_prefix(said.as_str()) {
            Some(rest) => self.words(rest),
            // It was written anew, as after a pause on a server that cannot go on.
            None => {
                self.break_line();
                self.words(text);
            }
        }
        self.break_line();
    }

    /// A call, once it is known what came of it.
    fn call(&mut self, id: &str, call: &ToolCallView, is_answered: bool) {
        let is_over = is_answered || !matches!(call.status.as_str(), "running" | "unknown");
        if is_over && self.calls.insert(id.to_owned()) {
            self.remark(&called(call));
        }
    }

    /// The end: an answer that nobody streamed is told now.
    pub(super) fn end(&mut self, view: &TaskView) {
        self.output.progress_done();
        if let Some(response) = &view.response
            && *response != self.answered
        {
            self.answer(response);
        }
        self.break_line();
        if let Some(check) = &view.check {
            let passed = if check.passed {
                "passed"
            } else {
                "did not pass"
            };
            self.remark(&format!("the check {passed}"));
        }
    }

    /// Ends the line of words that the cursor stands in.
    pub(super) fn break_line(&mut self) {
        if std::mem::take(&mut self.in_line) {
            self.output.part("\n");
        }
    }

    fn words(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        if !self.in_line && self.moves {
            self.output.progress_done();
        }
        self.output.part(&self.output.foreign(text));
        self.in_line = !text.ends_with('\n');
    }

    /// What the task does, beside its words.
    fn remark(&mut self, text: &str) {
        self.break_line();
        if self.moves {
            self.output.progress_done();
        }
        let text = printable_lines(text);
        match self.colours {
            true => self.output.say(&format!("{DIM}{text}{PLAIN}")),
            false => self.output.say(&text),
        }
    }
}
