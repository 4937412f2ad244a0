//! One task from its first step to its end, without IO.
//!
//! Everything that happens comes in as an [`Input`] with the time it came, and everything that is
//! to be done goes out as an [`Effect`]. A task of a person and one of an agent are the same
//! machine. The shell around it ([`super::drive`]) asks models, calls tools and keeps the book.

mod beside;
mod calling;
mod compacting;
mod ending;
mod failures;
mod restoring;
mod saying;
mod standing;
mod steps;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use legation_api::tasks::{Check, CheckView, TokenUsage};
use legation_models::{ChatRequest, Delta, Message, ModelClass, Resumption};

use super::entry::{Entry, Told};
use super::guard::{Guard, RunLimits};
use super::toolset::{PlannedCall, Toolset};

use calling::Calling;
use compacting::Compacting;
use saying::Saying;

pub(crate) use ending::Ending;

/// What a run begins with.
#[derive(Debug, Default)]
pub(crate) struct Setup {
    /// What the model is told about itself, the folder and the rules.
    pub(crate) system: String,
    /// The conversation before the task.
    pub(crate) prior: Vec<Message>,
    /// The task.
    pub(crate) task: String,
    /// What it may call.
    pub(crate) tools: Toolset,
    /// Whether its model has to be told of tools in words, and writes its calls in words.
    pub(crate) calls_in_words: bool,
    /// What must hold at the end.
    pub(crate) check: Option<Check>,
    /// Bounds.
    pub(crate) limits: RunLimits,
    /// The model's window in tokens, where it is known.
    pub(crate) window: Option<u64>,
    /// How the model goes on with a turn, where it is known.
    pub(crate) resumption: Option<Resumption>,
}

/// What happened.
#[derive(Debug)]
pub(crate) enum Input {
    /// It begins, or is taken up.
    Start,
    /// A model answers.
    Began {
        /// How it goes on with a turn that was broken off.
        resumption: Resumption,
        /// Its window in tokens.
        window: Option<u64>,
    },
    /// More of the answer.
    Delta(Delta),
    /// The answer is over.
    Ended,
    /// There is no answer, or no more of it.
    Failed(Failure),
    /// A call has its result.
    Told {
        /// Which.
        id: String,
        /// What came of it.
        told: Told,
    },
    /// What a call began that ran beside the conversation is over.
    Brought {
        /// Which call.
        id: String,
        /// What it brought.
        told: Told,
    },
    /// The check was tried.
    Checked(Checked),
    /// Somebody comes first.
    Preempt(Force),
    /// Nobody comes first any more.
    Resume,
    /// Others said something; the next step sees it.
    Heard(Vec<String>),
    /// Somebody says something to the task.
    Steer(String),
    /// It is no longer wanted.
    Cancel(String),
    /// The hub ends; the task does not.
    Stop,
    /// Time passed.
    Tick,
}

/// How somebody comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Force {
    /// They type: no step is begun.
    Soft,
    /// They said something: the model is theirs at once.
    Hard,
}

/// Why a model gave no answer.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    /// What kind.
    pub(crate) class: ModelClass,
    /// Whether rules are against it, so that asking again changes nothing.
    pub(crate) is_refused: bool,
    /// Whether it cannot call tools, and was sent nothing for that.
    pub(crate) lacks_calls: bool,
    /// What happened.
    pub(crate) message: String,
    /// What to do next.
    pub(crate) hint: String,
    /// How long the server wants to be left alone.
    pub(crate) retry_after: Option<Duration>,
}

/// What came of a check.
#[derive(Debug, Clone)]
pub(crate) enum Checked {
    /// It ran.
    Ran {
        /// Whether it passed.
        passed: bool,
        /// The command's exit code.
        exit_code: Option<i64>,
        /// The end of what it said.
        output: String,
    },
    /// It could not be run.
    Refused {
        /// Why.
        message: String,
        /// What to do next.
        hint: String,
    },
}

/// What a model is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A step of the task.
    Step,
    /// A summary of what was said.
    Compact,
}

/// What is to be done. Effects are done in their order; one that keeps something is done before
/// the next begins.
#[derive(Debug)]
pub(crate) enum Effect {
    /// Ask a model. [`Input::Began`], [`Input::Delta`] and [`Input::Ended`] or [`Input::Failed`] follow.
    Ask {
        /// For what.
        purpose: Purpose,
        /// What.
        request: Box<ChatRequest>,
    },
    /// Drop the answer that is under way; nothing more of it may come in.
    DropStream,
    /// Make these calls, all at once. [`Input::Told`] follows for each.
    Call(Vec<PlannedCall>),
    /// Call off the calls that run; their results still come.
    AbortCalls,
    /// Call off what these calls began beside the conversation; nothing more comes of it.
    Abandon(Vec<String>),
    /// Keep this, before anything that follows.
    Keep(Entry),
    /// Keep what was said so far of an answer; nothing when it is over.
    Partial(Option<String>),
    /// Try the check. [`Input::Checked`] follows.
    Check(String),
    /// Send [`Input::Tick`] after this time.
    Wake(Duration),
    /// Show something to whoever looks on.
    Show(Shown),
    /// It is over.
    End(Ending),
}

/// What people see.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Shown {
    /// More of the model's words.
    Text(String),
    /// More of its thoughts.
    Reasoning(String),
    /// The words of a turn, all of them.
    Said(String),
    /// A call that is about to be made.
    Calling(PlannedCall),
    /// A call as the model wrote it, that was not made, and why.
    NotCalled {
        /// Its id.
        id: String,
        /// The tool as the model named it.
        name: String,
        /// Why.
        told: Told,
    },
    /// What came of a call.
    Called {
        /// Its id.
        id: String,
        /// What came of it.
        told: Told,
    },
    /// What was said before was put together.
    Summary(String),
    /// A remark.
    Note(String),
    /// It stands still, with these words said so far.
    Paused(String),
    /// It goes on.
    Resumed,
    /// The check was tried.
    Check(CheckView),
}

/// One task at work.
#[derive(Debug)]
pub(crate) struct Machine {
    setup: Setup,
    /// Everything the model reads, as it is now.
    messages: Vec<Message>,
    /// Where the task itself stands among them.
    task_at: usize,
    phase: Phase,
    /// Somebody comes first.
    hold: Option<Force>,
    /// Whether that was shown.
    is_shown_held: bool,
    /// What is said to the model before its next step. Bounded by [`LATER_MAX`].
    later: Vec<String>,
    /// Whether some of it is from somebody who wants to change what is done.
    is_steered: bool,
    /// The calls whose work goes on beside the conversation, and the tools as the model named them.
    beside: BTreeMap<String, String>,
    /// What came of some of them, that the model was not told yet.
    brought: Vec<(String, Told)>,
    guard: Guard,
    step: u32,
    failures: u32,
    /// How often a model had nothing to say, one after the other.
    empties: u32,
    /// Bytes that are a token of this model's, once it counted some.
    token_bytes: f64,
    compactions: u32,
    /// The server said that it was too long, and nothing was put together since.
    is_too_long: bool,
    check: Option<CheckView>,
}

#[derive(Debug)]
enum Phase {
    /// Between two steps.
    Between,
    /// A model answers.
    Asking(Box<Saying>),
    /// An answer was broken off, or did not come. `waits` until a [`Input::Tick`].
    Broken { saying: Box<Saying>, waits: bool },
    /// Calls are made.
    Calling(Box<Calling>),
    /// A summary is made.
    Compacting(Box<Compacting>),
    /// The model has nothing more to do until something that runs beside the conversation is over.
    Awaiting,
    /// The check runs on this answer.
    Checking { answer: String },
    /// Calls are called off, and then it ends so.
    Stopping {
        calling: Box<Calling>,
        ending: Ending,
    },
    /// It is over.
    Over,
}

/// Most things that are said to a task before it hears them.
const LATER_MAX: usize = 64;
/// Bytes of a token of a model that counted none yet. Fewer than of most, so that a prompt is
/// rather thought too long than too short.
const TOKEN_BYTES: f64 = 3.2;

// === impl Machine ===

impl Machine {
    /// A task that has not begun.
    #[must_use]
    pub(crate) fn new(setup: Setup) -> Self {
        let mut messages = Vec::with_capacity(setup.prior.len() + 2);
        if !setup.system.is_empty() {
            messages.push(Message::System(setup.system.clone()));
        }
        messages.extend(setup.prior.iter().cloned());
        let task_at = messages.len();
        messages.push(Message::User(setup.task.clone()));
        Self {
            setup,
            messages,
            task_at,
            phase: Phase::Between,
            hold: None,
            is_shown_held: false,
            later: Vec::new(),
            is_steered: false,
            beside: BTreeMap::new(),
            brought: Vec::new(),
            guard: Guard::new(),
            step: 0,
            failures: 0,
            empties: 0,
            token_bytes: TOKEN_BYTES,
            compactions: 0,
            is_too_long: false,
            check: None,
        }
    }

    /// Takes what happened; says what is to be done.
    pub(crate) fn handle(&mut self, now: Instant, input: Input) -> Vec<Effect> {
        let mut out = Vec::new();
        if matches!(self.phase, Phase::Over) {
            return out;
        }
        match input {
            Input::Start => self.start(now, &mut out),
            Input::Began { resumption, window } => self.began(now, resumption, window, &mut out),
            Input::Delta(delta) => self.delta(now, delta, &mut out),
            Input::Ended => self.ended(now, &mut out),
            Input::Failed(failure) => self.failed(now, failure, &mut out),
            Input::Told { id, told } => self.told(now, &id, told, &mut out),
            Input::Brought { id, told } => self.take_brought(now, id, told, &mut out),
            Input::Checked(checked) => self.checked(now, checked, &mut out),
            Input::Preempt(force) => self.preempt(now, force, &mut out),
            Input::Resume => self.resume(now, &mut out),
            Input::Heard(said) => self.keep_later(said, false, &mut out),
            Input::Steer(text) => self.keep_later(vec![text], true, &mut out),
            Input::Cancel(reason) => self.cancel(now, reason, &mut out),
            Input::Stop => self.stop(now, &mut out),
            Input::Tick => self.tick(now, &mut out),
        }
        out
    }

    /// What was said so far of an answer that is under way or broken off.
    #[must_use]
    pub(crate) fn partial(&self) -> Option<&str> {
        match &self.phase {
            Phase::Asking(saying) | Phase::Broken { saying, .. } => Some(saying.raw()),
            _ => None,
        }
        .filter(|partial| !partial.is_empty())
    }

    /// Tokens so far, as far as a server counted them.
    #[must_use]
    pub(crate) fn usage(&self) -> Option<TokenUsage> {
        self.guard.usage()
    }

    /// How long an earlier run worked on it.
    pub(crate) fn has_worked(&mut self, worked: Duration) {
        self.guard.has_worked(worked);
    }

    /// What an earlier hub had counted.
    pub(crate) fn has_used(&mut self, usage: TokenUsage) {
        self.guard.has_used(usage);
    }

    /// Whether something was said to it that its model was not told yet.
    #[must_use]
    pub(crate) fn has_unheard(&self) -> bool {
        !self.later.is_empty()
    }

    /// When it must be told the time, at the latest.
    #[must_use]
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.guard.deadline(&self.setup.limits)
    }
}
