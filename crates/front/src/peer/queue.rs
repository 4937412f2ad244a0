//! Questions to a modern client that wait for its call to be answered with
//! `input_required`, and the end of that call.

use std::collections::HashSet;
use std::future::poll_fn;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;

use legation_gate::{Outcome, Refusal};
use legation_wire::json::{Object, Raw};
use legation_wire::message::ErrorObject;
use tokio::sync::{Notify, oneshot};

/// How long the next question may be behind the last one to go with it: servers
/// that ask for several things at once send several requests. Whoever answers,
/// a person or a model, takes seconds.
const TOGETHER: Duration = Duration::from_millis(40);
/// Most questions that go together.
const TOGETHER_MAX: usize = 64;

/// One question.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) key: Box<str>,
    pub(crate) method: Box<str>,
    pub(crate) params: Raw,
    pub(crate) answer: oneshot::Sender<Result<Raw, ErrorObject>>,
}

/// What happened to a call.
#[derive(Debug)]
pub(crate) enum Step {
    /// It is over.
    Done(Result<Outcome, Refusal>),
    /// It waits for answers.
    Asked(Vec<Pending>),
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    inner: Mutex<Inner>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct Inner {
    /// Bounded by [`TOGETHER_MAX`]; further questions fail.
    pending: Vec<Pending>,
    keys: HashSet<Box<str>>,
    done: Option<Result<Outcome, Refusal>>,
    /// Who waits for the first question.
    reader: Option<Waker>,
}

// === impl Queue ===

impl Queue {
    /// Adds a question under a key of its own; `None` when there are too many.
    pub(crate) fn ask(
        &self,
        hint: Option<Box<str>>,
        method: Box<str>,
        params: Raw,
    ) -> Option<oneshot::Receiver<Result<Raw, ErrorObject>>> {
        let (answer, waiting) = oneshot::channel();
        let reader = {
            let mut inner = self.lock();
            inner.pending.retain(|pending| !pending.answer.is_closed());
            if inner.pending.len() >= TOGETHER_MAX {
                return None;
            }
            let key = inner.key(hint, &method);
            inner.pending.push(Pending {
                key,
                method,
                params,
                answer,
            });
            inner.reader.take()
        };
        if let Some(reader) = reader {
            reader.wake();
        }
        self.changed.notify_one();
        Some(waiting)
    }

    /// The call that asks is over.
    pub(crate) fn done(&self, end: Result<Outcome, Refusal>) {
        self.lock().done = Some(end);
        self.changed.notify_one();
    }

    /// Waits until a question is there, as a call does until its first, one that asks nothing
    /// included: nobody else waits then.
    pub(crate) async fn asked(&self) {
        poll_fn(|cx| {
            let mut inner = self.lock();
            if !inner.pending.is_empty() {
                return Poll::Ready(());
            }
            inner.reader = Some(cx.waker().clone());
            Poll::Pending
        })
        .await;
    }

    /// Waits until no further question comes along with those that are there.
    pub(crate) async fn settled(&self) {
        let mut seen = 0;
        loop {
            let there = self.lock().pending.len();
            if there == seen {
                return;
            }
            seen = there;
            tokio::time::sleep(TOGETHER).await;
        }
    }

    /// Takes the questions that still want an answer.
    pub(crate) fn take(&self) -> Vec<Pending> {
        let mut pending = std::mem::take(&mut self.lock().pending);
        pending.retain(|pending| !pending.answer.is_closed());
        pending
    }

    /// Waits for what comes next of a call that runs elsewhere.
    pub(crate) async fn next(&self) -> Step {
        loop {
            let (done, asked) = {
                let mut inner = self.lock();
                (inner.done.take(), !inner.pending.is_empty())
            };
            if let Some(end) = done {
                return Step::Done(end);
            }
            if asked {
                self.settled().await;
                let pending = self.take();
                if self.lock().done.is_none() && !pending.is_empty() {
                    return Step::Asked(pending);
                }
                continue;
            }
            self.changed.notified().await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Inner ===

impl Inner {
    /// The hint where it is free, else a word for the method and a number.
    fn key(&mut self, hint: Option<Box<str>>, method: &str) -> Box<str> {
        if let Some(hint) = hint
            && self.keys.insert(hint.clone())
        {
            return hint;
        }
        let word = match method {
            "elicitation/create" => "elicitation",
            "sampling/createMessage" => "sampling",
            "roots/list" => "roots",
            _ => "input",
        };
        let mut number = self.keys.len() + 1;
        loop {
            let key = format!("{word}_{number}").into_boxed_str();
            if self.keys.insert(key.clone()) {
                return key;
            }
            number += 1;
        }
    }
}

/// Whether a client's answer has the shape its method calls for (2026-07-28,
/// `InputResponses`).
pub(crate) fn is_answer(method: &str, answer: &Raw) -> bool {
    let Some(answer) = answer.to_object() else {
        return false;
    };
    let text = |object: &Object, member: &str| {
        object
            .get(member)
            .and_then(|raw| raw.to_str().map(|text| text.into_owned()))
    };
    match method {
        "elicitation/create" => matches!(
            text(&answer, "action").as_deref(),
            Some("accept" | "decline" | "cancel")
        ),
        "sampling/createMessage" => answer.contains("role") && answer.contains("content"),
        "roots/list" => answer
            .get("roots")
            .is_some_and(|roots| roots.to_array().is_some()),
        _ => true,
    }
}
