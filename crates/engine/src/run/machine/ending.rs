//! Checks, and how a task ends.

use std::time::Instant;

use legation_api::tasks::{Check, CheckView};
use legation_models::AnswerSchema;
use serde_json::Value;

use super::{Checked, Effect, Machine, Phase, Shown};
use crate::run::entry::Entry;
use crate::run::lenient;

/// Longest output of a check that is kept and shown to the model.
const OUTPUT_MAX: usize = 4_000;
/// How many errors of an answer are told.
const ERRORS_MAX: usize = 6;

/// How a task ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It is done, and its check passed where it has one.
    Completed {
        /// The answer.
        response: String,
    },
    /// It is not done.
    Failed {
        /// What kind of failure, as a word.
        class: String,
        /// What happened.
        message: String,
        /// What to do next.
        hint: String,
    },
    /// It was called off.
    Cancelled {
        /// Why.
        reason: String,
    },
    /// A person has to say something first.
    Asks {
        /// What it asks.
        question: String,
    },
    /// The hub ends; it goes on with the next one.
    Paused,
}

impl Machine {
    /// The model gave its answer.
    pub(super) fn answered(&mut self, now: Instant, answer: String, out: &mut Vec<Effect>) {
        // What somebody still wants is done first.
        if self.has_news() {
            return self.go(now, out);
        }
        if !self.beside.is_empty() {
            self.guard.rests(now);
            self.phase = Phase::Awaiting;
            return;
        }
        match &self.setup.check {
            None => {
                let ending = Ending::Completed { response: answer };
                self.end(now, ending, out);
            }
            Some(Check::Command { command }) => {
                out.push(Effect::Check(command.clone()));
                self.phase = Phase::Checking { answer };
            }
            Some(Check::JsonSchema { schema }) => {
                let (passed, output) = judged(schema, &answer);
                self.phase = Phase::Checking { answer };
                let checked = Checked::Ran {
                    passed,
                    exit_code: None,
                    output,
                };
                self.checked(now, checked, out);
            }
        }
    }

    pub(super) fn checked(&mut self, now: Instant, checked: Checked, out: &mut Vec<Effect>) {
        let Phase::Checking { answer } = std::mem::replace(&mut self.phase, Phase::Between) else {
            return;
        };
        let (passed, exit_code, output) = match checked {
            // The work may be done: whoever can let the check run decides what becomes of it.
            Checked::Refused { message, hint } => {
                let question = format!(
                    "The work is done as far as the model says, and {message} Hint: {hint}. \
                     Answer when it can be run, or cancel the task."
                );
                return self.end(now, Ending::Asks { question }, out);
            }
            Checked::Ran {
                passed,
                exit_code,
                output,
            } => (passed, exit_code, tail(&output)),
        };
        let tries = self.check.as_ref().map_or(0, |check| check.tries) + 1;
        let view = CheckView {
            passed,
            tries,
            exit_code,
            output: output.clone(),
        };
        self.check = Some(view.clone());
        out.push(Effect::Keep(Entry::Checked {
            passed,
            exit_code,
            output: output.clone(),
        }));
        out.push(Effect::Show(Shown::Check(view)));
        if passed && self.is_steered {
            return self.go(now, out);
        }
        if passed {
            let ending = Ending::Completed { response: answer };
            return self.end(now, ending, out);
        }
        if tries >= self.setup.limits.check_tries.max(1) {
            let message = format!("the check failed {tries} times; it last said: {output}");
            let hint =
                "read what the check says and do the rest, or hand it in again with more said";
            return self.fail(now, "check", message, hint, out);
        }
        let told = self.check_told(exit_code, &output);
        self.say(told, out);
        self.go(now, out);
    }

    fn check_told(&self, exit_code: Option<i64>, output: &str) -> String {
        match &self.setup.check {
            Some(Check::Command { command }) => {
                let code = exit_code.map_or_else(String::new, |code| format!(" with {code}"));
                format!(
                    "The task is not done: its check `{command}` ended{code} and said:\n{output}\n\
                     Find out why, put it right, and then give the answer again."
                )
            }
            Some(Check::JsonSchema { .. }) | None => format!(
                "The task is not done: the answer is not what was asked for. {output}\n\
                 Give the answer again, as nothing but JSON."
            ),
        }
    }

    /// What the answer must look like, for servers that can hold a model to it. Not while it may
    /// call tools: it could then say nothing else.
    pub(super) fn answer_schema(&self) -> Option<AnswerSchema> {
        match &self.setup.check {
            Some(Check::JsonSchema { schema }) if self.setup.tools.is_empty() => {
                Some(AnswerSchema {
                    name: "answer".to_owned(),
                    schema: schema.clone(),
                })
            }
            _ => None,
        }
    }

    pub(super) fn cancel(&mut self, now: Instant, reason: String, out: &mut Vec<Effect>) {
        self.end(now, Ending::Cancelled { reason }, out);
    }

    pub(super) fn stop(&mut self, now: Instant, out: &mut Vec<Effect>) {
        self.end(now, Ending::Paused, out);
    }

    /// Ends, whatever is under way. Calls that run are called off and waited for.
    pub(super) fn end(&mut self, now: Instant, ending: Ending, out: &mut Vec<Effect>) {
        match std::mem::replace(&mut self.phase, Phase::Over) {
            Phase::Asking(mut saying) => {
                out.push(Effect::DropStream);
                saying.break_off();
                out.push(Effect::Partial(Some(saying.raw().to_owned())));
            }
            Phase::Broken { saying, .. } => {
                out.push(Effect::Partial(Some(saying.raw().to_owned())));
            }
            Phase::Compacting(_) => out.push(Effect::DropStream),
            Phase::Calling(calling) => return self.end_after_calls(now, calling, ending, out),
            Phase::Stopping { calling, ending } => {
                // What ended it first counts.
                self.phase = Phase::Stopping { calling, ending };
                return;
            }
            Phase::Checking { .. } => out.push(Effect::AbortCalls),
            Phase::Between | Phase::Awaiting | Phase::Over => {}
        }
        self.guard.rests(now);
        // Whoever goes on with the task waits for it again.
        if ending != Ending::Paused {
            let left = self.left_beside();
            if !left.is_empty() {
                out.push(Effect::Abandon(left));
            }
        }
        out.push(Effect::End(ending));
    }
}

/// Whether an answer is JSON of a schema; what is wrong with it.
fn judged(schema: &Value, answer: &str) -> (bool, String) {
    let validator = match jsonschema::validator_for(schema) {
        Ok(validator) => validator,
        Err(error) => return (false, format!("The schema cannot be used: {error}.")),
    };
    let Some(value) = json_of(answer) else {
        return (false, "It is not JSON.".to_owned());
    };
    let errors: Vec<String> = validator
        .iter_errors(&value)
        .take(ERRORS_MAX)
        .map(|error| {
            let place = error.instance_path().to_string();
            let what: String = error.to_string().chars().take(200).collect();
            format!("{}: {what}", if place.is_empty() { "/" } else { &place })
        })
        .collect();
    match errors.is_empty() {
        true => (true, String::new()),
        false => (false, errors.join("; ")),
    }
}

/// The JSON of an answer, which models like to put into a fence.
fn json_of(answer: &str) -> Option<Value> {
    let whole = answer.trim();
    if let Ok(value) = serde_json::from_str(whole) {
        return Some(value);
    }
    let inner = whole.split("```").nth(1)?;
    let inner = inner.trim_start_matches(char::is_alphanumeric);
    let read = lenient::read(inner.trim())?;
    (!read.is_repaired).then_some(read.value)
}

/// The end of a text, where the reason mostly is.
fn tail(text: &str) -> String {
    let text = text.trim();
    if text.len() <= OUTPUT_MAX {
        return text.to_owned();
    }
    let from = text.ceil_char_boundary(text.len() - OUTPUT_MAX);
    format!("[…]\n{}", &text[from..])
}
