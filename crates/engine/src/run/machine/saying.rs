//! An answer while it is said, over all the times it was broken off.

use legation_models::{Delta, Finish, ToolCall, Usage};
use serde_json::Value;

use super::Shown;
use crate::run::entry::Called;
use crate::run::lenient;
use crate::run::repair;
use crate::run::seam::Seam;
use crate::run::think::{self, Piece, Think};
use crate::run::toolset::Toolset;
use crate::run::veil::{MARKS, Veil};

/// An answer while it is said.
#[derive(Debug, Default)]
pub(crate) struct Saying {
    /// Its text as it came, thoughts within marks included; what is given back to the model.
    raw: String,
    /// Thoughts that the server told apart.
    reasoning: String,
    seal: Option<String>,
    think: Think,
    /// Between words and those who look on.
    veil: Veil,
    seam: Option<Seam>,
    calls: Vec<ToolCall>,
    usage: Usage,
    finish: Option<Finish>,
    /// How often it was gone on with because it was too long.
    pub(crate) lengths: u32,
    /// Something came since it was last asked for.
    pub(crate) has_come: bool,
}

/// An answer that is over.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) text: String,
    pub(crate) reasoning: String,
    pub(crate) seal: Option<String>,
    pub(crate) calls: Vec<Asked>,
    pub(crate) usage: Usage,
    pub(crate) finish: Option<Finish>,
    /// Bytes that were said.
    pub(crate) bytes: usize,
}

/// A call as it was asked for: what the model is shown of it, and its arguments as they were read.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) called: Called,
    pub(crate) value: Value,
}

// === impl Saying ===

impl Saying {
    /// One that was broken off by the end of an earlier hub.
    pub(crate) fn taken_up(raw: String) -> Self {
        let mut think = Think::default();
        drop(think.push(&raw));
        let mut saying = Self {
            veil: Veil::behind(&raw),
            raw,
            think,
            ..Self::default()
        };
        saying.break_off();
        saying
    }

    /// The text so far, for whoever keeps it.
    pub(crate) fn raw(&self) -> &str {
        &self.raw
    }

    /// The words so far, for people.
    pub(crate) fn words(&self) -> String {
        think::split(&self.raw).0
    }

    /// How much it holds.
    pub(crate) fn bytes(&self) -> usize {
        let calls: usize = self.calls.iter().map(|call| call.arguments.len()).sum();
        self.raw.len() + self.reasoning.len() + calls
    }

    /// It is asked for, or gone on with. What is given back is [`Saying::given`].
    pub(crate) fn ask(&mut self) {
        self.seam = (!self.raw.is_empty()).then(|| Seam::behind(&self.raw));
        self.finish = None;
        self.has_come = false;
    }

    /// The beginning of the turn that the model goes on from; empty where there is none.
    pub(crate) fn given(&self) -> &str {
        self.seam.as_ref().map_or("", Seam::given)
    }

    /// Takes a step; what people see of it.
    pub(crate) fn push(&mut self, delta: Delta, tools: &Toolset) -> Vec<Shown> {
        self.has_come |= delta.is_content();
        match delta {
            Delta::Text(text) => {
                let text = match &mut self.seam {
                    Some(seam) => seam.push(&text),
                    None => text,
                };
                self.say(&text, tools)
            }
            Delta::Reasoning(text) => {
                self.reasoning.push_str(&text);
                vec![Shown::Reasoning(text)]
            }
            Delta::ReasoningSeal(seal) => {
                self.seal = Some(seal);
                Vec::new()
            }
            Delta::Call { id, name, .. } => {
                self.calls.push(ToolCall {
                    id,
                    name,
                    arguments: String::new(),
                });
                Vec::new()
            }
            Delta::Arguments { index, text } => {
                if let Some(call) = self.calls.get_mut(index) {
                    call.arguments.push_str(&text);
                }
                Vec::new()
            }
            Delta::Usage(usage) => {
                self.usage.update(usage);
                Vec::new()
            }
            Delta::Done(finish) => {
                self.finish = Some(finish);
                Vec::new()
            }
        }
    }

    fn say(&mut self, text: &str, tools: &Toolset) -> Vec<Shown> {
        self.raw.push_str(text);
        let pieces = self.think.push(text).into_iter();
        pieces
            .filter_map(|piece| veiled(&mut self.veil, piece, tools))
            .collect()
    }

    /// It is broken off. A call that was begun is dropped: half of one is none, and a whole one is
    /// made again. The words before it stay.
    pub(crate) fn break_off(&mut self) {
        if let Some(mut seam) = self.seam.take() {
            let rest = seam.finish();
            drop(self.say(&rest, &Toolset::none()));
        }
        self.calls.clear();
        self.seal = None;
        let call = MARKS.iter().filter_map(|mark| self.raw.find(mark)).min();
        if let Some(at) = call {
            self.raw.truncate(at);
            self.veil.forget_call();
        }
    }

    /// Whether it ended because it was as long as it may be, and not in a call.
    pub(crate) fn is_cut_in_words(&self) -> bool {
        self.finish == Some(Finish::Length)
            && self.calls.is_empty()
            && !self.raw.trim().is_empty()
            && !MARKS.iter().any(|mark| self.raw.contains(mark))
    }

    /// What it cost so far.
    pub(crate) fn usage_now(&self) -> Usage {
        self.usage
    }

    /// It is over.
    pub(crate) fn finish(mut self, step: u32, tools: &Toolset) -> (Said, Vec<Shown>) {
        let mut shown = Vec::new();
        if let Some(mut seam) = self.seam.take() {
            let rest = seam.finish();
            shown = self.say(&rest, tools);
        }
        let last = self.think.finish();
        shown.extend(last.and_then(|piece| veiled(&mut self.veil, piece, tools)));
        let bytes = self.bytes();
        let (mut text, thoughts) = match self.reasoning.is_empty() {
            true => think::split(&self.raw),
            false => (self.raw, self.reasoning),
        };
        let mut calls: Vec<Asked> = self.calls.into_iter().map(Asked::native).collect();
        let mut is_written = false;
        if calls.is_empty() && !tools.is_empty() {
            let found = repair::find(&text, &|name| tools.knows(name));
            if !found.calls.is_empty() {
                text = found.words;
                calls = found.calls.into_iter().map(Asked::written).collect();
                is_written = true;
            }
        }
        let rest = self.veil.finish(is_written, tools);
        shown.extend((!rest.is_empty()).then_some(Shown::Text(rest)));
        for (number, call) in calls.iter_mut().enumerate() {
            call.called.id = call_id(step, number);
        }
        let said = Said {
            text: text.trim().to_owned(),
            reasoning: thoughts,
            seal: self.seal,
            calls,
            usage: self.usage,
            finish: self.finish,
            bytes,
        };
        (said, shown)
    }
}

// === impl Asked ===

impl Asked {
    fn native(call: ToolCall) -> Self {
        let read = match call.arguments.trim() {
            "" => lenient::read("{}"),
            text => lenient::read(text),
        };
        match read {
            Some(read) => Self::of(call.name, read.value, read.is_cut),
            None => Self::of(call.name, Value::String(call.arguments), false),
        }
    }

    fn written(call: repair::Written) -> Self {
        Self::of(call.name, call.arguments, call.is_cut)
    }

    fn of(name: String, value: Value, is_cut: bool) -> Self {
        let value = match &value {
            // An object within a string.
            Value::String(text) => match lenient::read(text) {
                Some(read) if read.value.is_object() && !read.is_cut => read.value,
                _ => value,
            },
            _ => value,
        };
        let is_cut = is_cut || !value.is_object();
        let arguments = match is_cut {
            true => "{}".to_owned(),
            false => value.to_string(),
        };
        Self {
            called: Called {
                id: String::new(),
                name,
                arguments,
                is_cut,
            },
            value,
        }
    }
}

/// A call's id: nine letters and digits, which every family of models takes, and no two in a task.
/// What a server gave is not kept: some begin anew with every answer.
fn call_id(step: u32, number: usize) -> String {
    format!("c{:04}{:04}", step % 10_000, number % 10_000)
}

/// What of a piece people see by now.
fn veiled(veil: &mut Veil, piece: Piece, tools: &Toolset) -> Option<Shown> {
    match piece {
        Piece::Text(text) => {
            let text = veil.push(&text, tools);
            (!text.is_empty()).then_some(Shown::Text(text))
        }
        Piece::Reasoning(text) => Some(Shown::Reasoning(text)),
    }
}
