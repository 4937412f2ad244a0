//! Making room before the window is full.
//!
//! First, long results that are not the last ones are cut to their beginning; where that is not
//! enough, everything but the task and the last steps is put together by the model. A turn and the
//! results of its calls are never parted: what follows a summary begins with a turn or with
//! somebody's words.

use std::time::Instant;

use legation_models::{ChatRequest, Delta, Message};

use super::saying::Saying;
use super::{Effect, Failure, Machine, Phase, Purpose, Shown};
use crate::run::entry::Entry;
use crate::run::toolset::Toolset;

/// The smallest and largest room that is kept for an answer, in tokens.
const RESERVE_MIN: u64 = 256;
const RESERVE_MAX: u64 = 8_192;
/// What is left of a long result that is cut.
const CUT: usize = 300;
/// How often a run is put together without a step between that was.
const COMPACTIONS_MAX: u32 = 40;
/// How often a summary is asked for before it is done without.
const TRIES: u32 = 2;
const LEFT_OUT: &str =
    "\n[The rest of this result was left out to make room. Call again if it is needed.]";

const ASK: &str = "You put together the work of an assistant so that it can go on with its task without reading \
what was said so far. Keep: what was found out, with names of files, functions and numbers as they are; what was changed \
and where; what was tried and failed, and why; what is still to be done; what people asked for. Leave out what no longer \
matters. Write plain sentences and lists, no introduction.";

/// A summary while it is made.
#[derive(Debug)]
pub(crate) struct Compacting {
    saying: Saying,
    /// How many messages at the end stay.
    kept: usize,
    tries: u32,
}

impl Compacting {
    pub(super) fn push(&mut self, delta: Delta) {
        drop(self.saying.push(delta, &Toolset::none()));
    }
}

impl Machine {
    /// Tokens that the next request holds, as far as can be said.
    fn estimate(&self) -> u64 {
        let bytes: usize = self.messages.iter().map(size).sum();
        let tools = self.setup.tools.bytes();
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "an estimate of far fewer bytes than a double can count"
        )]
        let tokens = ((bytes + tools) as f64 / self.token_bytes) as u64;
        tokens
    }

    /// Room that an answer needs.
    fn reserve(&self) -> u64 {
        let window = self.setup.window.unwrap_or(u64::MAX);
        (window / 5).clamp(RESERVE_MIN, RESERVE_MAX)
    }

    pub(super) fn must_compact(&self) -> bool {
        self.is_too_long || self.does_not_fit()
    }

    pub(super) fn does_not_fit(&self) -> bool {
        let window = self.setup.window;
        window.is_some_and(|window| self.estimate().saturating_add(self.reserve()) > window)
    }

    /// Learns from what a server counted how much a token of its model is.
    pub(super) fn note_usage(&mut self, usage: &legation_models::Usage, said: usize) {
        let bytes: usize = self.messages.iter().map(size).sum();
        let asked = bytes + self.setup.tools.bytes();
        let estimate = self.estimate();
        #[expect(
            clippy::cast_precision_loss,
            reason = "an estimate of far fewer bytes than a double can count"
        )]
        if let Some(tokens) = usage.input.filter(|tokens| *tokens > 16) {
            self.token_bytes = (asked as f64 / tokens as f64).clamp(0.5, 8.0);
        }
        self.guard.used(usage, estimate, said as u64 / 4);
    }

    /// Makes room, or ends where there is none to be made.
    pub(super) fn compact(&mut self, now: Instant, out: &mut Vec<Effect>) {
        self.phase = Phase::Between;
        self.is_too_long = false;
        self.compactions += 1;
        let limit = self
            .setup
            .window
            .map(|window| window.saturating_sub(self.reserve()));
        let budget = self.tail_budget();
        let kept = self.kept_within(budget);
        if self.compactions > COMPACTIONS_MAX {
            return self.no_room(now, out);
        }
        if self.prune(kept) {
            out.push(Effect::Keep(Entry::Pruned { kept }));
            if limit.is_some_and(|limit| self.estimate() <= limit) {
                return self.go(now, out);
            }
        }
        if self.middle(kept).is_empty() {
            return self.no_room(now, out);
        }
        self.ask_summary(kept, 0, out);
    }

    fn no_room(&mut self, now: Instant, out: &mut Vec<Effect>) {
        let window = self.setup.window.map_or_else(
            || "its model's window".to_owned(),
            |window| format!("the {window} tokens of its model's window"),
        );
        let message = format!("the task does not fit into {window}; nothing more was asked");
        let hint = "hand over less context, or choose a model with a larger window";
        self.fail(now, "too_long", message, hint, out);
    }

    fn ask_summary(&mut self, kept: usize, tries: u32, out: &mut Vec<Effect>) {
        let transcript = self.transcript(kept);
        out.push(Effect::Ask {
            purpose: Purpose::Compact,
            request: Box::new(ChatRequest {
                messages: vec![
                    Message::System(ASK.to_owned()),
                    Message::User(format!("What was said so far:\n\n{transcript}")),
                ],
                tokens_max: self.setup.limits.answer_tokens_max,
                ..ChatRequest::default()
            }),
        });
        self.phase = Phase::Compacting(Box::new(Compacting {
            saying: Saying::default(),
            kept,
            tries,
        }));
    }

    pub(super) fn compacted(&mut self, now: Instant, done: Compacting, out: &mut Vec<Effect>) {
        let (said, _) = done.saying.finish(self.step, &Toolset::none());
        self.guard.used(&said.usage, 0, said.bytes as u64 / 4);
        let text = match said.text.is_empty() {
            true => self.left_out(done.kept),
            false => said.text,
        };
        self.put_together(now, text, done.kept, out);
    }

    pub(super) fn compact_failed(
        &mut self,
        now: Instant,
        failed: Compacting,
        failure: &Failure,
        out: &mut Vec<Effect>,
    ) {
        if failed.tries < TRIES && self.wait_after(failure).is_some() {
            return self.ask_summary(failed.kept, failed.tries + 1, out);
        }
        let text = self.left_out(failed.kept);
        self.put_together(now, text, failed.kept, out);
    }

    fn left_out(&self, kept: usize) -> String {
        let count = self.middle(kept).len();
        format!("{count} earlier messages were left out to make room; nobody put them together.")
    }

    fn put_together(&mut self, now: Instant, text: String, kept: usize, out: &mut Vec<Effect>) {
        self.summarise(&text, kept);
        out.push(Effect::Keep(Entry::Summary {
            text: text.clone(),
            kept,
        }));
        out.push(Effect::Show(Shown::Summary(text)));
        if self.does_not_fit() {
            // The last steps alone are too much; with none of them there may be room.
            return match kept {
                0 => self.no_room(now, out),
                _ => self.compact(now, out),
            };
        }
        self.go(now, out);
    }

    /// Bytes of the last steps that stay as they are. Less each time it was not enough.
    fn tail_budget(&self) -> usize {
        let window = self.setup.window.unwrap_or(16_384);
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of a window"
        )]
        let bytes = (window as f64 * 0.3 * self.token_bytes) as usize;
        bytes
    }

    /// How many messages at the end fit into so many bytes, without parting a turn from its results.
    fn kept_within(&self, budget: usize) -> usize {
        let steps = &self.messages[self.task_at + 1..];
        let (mut kept, mut bytes) = (0, 0_usize);
        for (number, message) in steps.iter().rev().enumerate() {
            bytes += size(message);
            if bytes > budget {
                break;
            }
            if !matches!(message, Message::Result(_)) {
                kept = number + 1;
            }
        }
        kept
    }

    /// What is put together when so many messages at the end stay: everything but the first words
    /// and the task.
    fn middle(&self, kept: usize) -> Vec<&Message> {
        let end = self.messages.len().saturating_sub(kept);
        let head = usize::from(matches!(self.messages.first(), Some(Message::System(_))));
        (head..end)
            .filter(|at| *at != self.task_at)
            .map(|at| &self.messages[at])
            .collect()
    }

    /// Cuts long results before the last messages; whether there were any.
    pub(super) fn prune(&mut self, kept: usize) -> bool {
        let end = self.messages.len().saturating_sub(kept);
        let mut is_cut = false;
        for message in &mut self.messages[..end] {
            if let Message::Result(result) = message
                && result.text.len() > 2 * CUT
            {
                let head = result.text.floor_char_boundary(CUT);
                result.text.truncate(head);
                result.text.push_str(LEFT_OUT);
                is_cut = true;
            }
        }
        is_cut
    }

    /// Puts a summary in the place of what it is of.
    pub(super) fn summarise(&mut self, text: &str, kept: usize) {
        let end = self.messages.len().saturating_sub(kept);
        let tail = self.messages.split_off(end.max(self.task_at + 1));
        let task = self.messages.swap_remove(self.task_at);
        let head = usize::from(matches!(self.messages.first(), Some(Message::System(_))));
        self.messages.truncate(head);
        let summary = format!("[What was said before, put together]\n{text}");
        self.messages.push(Message::User(summary));
        self.task_at = self.messages.len();
        self.messages.push(task);
        self.messages.extend(tail);
    }

    /// What is put together, in words, as long as fits.
    fn transcript(&self, kept: usize) -> String {
        let mut lines: Vec<String> = self.middle(kept).into_iter().map(line).collect();
        let window = self.setup.window.unwrap_or(16_384);
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of a window"
        )]
        let most = (window as f64 * 0.6 * self.token_bytes) as usize;
        let mut total: usize = lines.iter().map(String::len).sum();
        let mut left_out = 0;
        // The oldest matter least, but for the very first.
        while total > most && lines.len() > 2 {
            total -= lines.remove(1).len();
            left_out += 1;
        }
        if left_out > 0 {
            lines.insert(1, format!("[{left_out} messages are left out here]"));
        }
        for line in &mut lines {
            let room = line.floor_char_boundary(most / 2);
            line.truncate(room.max(1));
        }
        lines.join("\n\n")
    }
}

fn line(message: &Message) -> String {
    match message {
        Message::System(text) => format!("Host: {text}"),
        Message::User(text) => format!("User: {text}"),
        Message::Result(result) => format!("Result: {}", result.text),
        Message::Assistant(turn) => {
            let calls = turn
                .calls
                .iter()
                .map(|call| format!("\n  called {} {}", call.name, call.arguments));
            format!("Assistant: {}{}", turn.text, calls.collect::<String>())
        }
    }
}

/// Bytes of a message, with what a template adds.
fn size(message: &Message) -> usize {
    const MARKS: usize = 16;
    MARKS
        + match message {
            Message::System(text) | Message::User(text) => text.len(),
            Message::Result(result) => result.text.len(),
            Message::Assistant(turn) => {
                let calls = turn.calls.iter();
                let calls: usize = calls
                    .map(|call| call.name.len() + call.arguments.len() + 2 * MARKS)
                    .sum();
                turn.text.len() + calls
            }
        }
}
