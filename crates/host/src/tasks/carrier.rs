//! The open `tasks/result` of a legacy server's task.
//!
//! It brings the task's questions, and in the end its result. It runs beside
//! the client's calls, because a client of the extension only polls.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use legation_core::TaskHandle;
use legation_wire::codes;
use legation_wire::json::{Object, Raw};
use legation_wire::message::ErrorObject;
use legation_wire::meta;
use legation_wire::translate::{InputRequest, elicit_for_modern};
use tokio::sync::{Notify, mpsc};

use crate::call::Conversation;
use crate::common::Common;
use crate::port::{AskKey, CallEvent, Order, Port};

/// A server may name the key under which its question is shown to clients that
/// get all questions at once; a legacy revision has no place for one.
const INPUT_KEY: &str = "io.legation/inputKey";
/// Most questions of one task open at once.
const ASKS_MAX: usize = 64;
/// Answers waiting to be written; more than there can be questions.
const ANSWERS_WAITING: usize = 2 * ASKS_MAX;

/// Where the answer to a question goes.
#[derive(Debug, Clone)]
pub(crate) enum To {
    /// To the open request.
    Exchange(AskKey),
    /// To the connection.
    Connection(AskKey),
}

/// An open request.
#[derive(Debug)]
pub(crate) struct Carrier {
    state: Mutex<State>,
    changed: Notify,
    port: Arc<dyn Port>,
    answers: mpsc::Sender<(AskKey, Result<Raw, ErrorObject>)>,
}

#[derive(Debug, Default)]
struct State {
    asked: BTreeMap<Box<str>, (InputRequest, To)>,
    count: u64,
    result: Option<Result<Raw, ErrorObject>>,
    over: bool,
}

impl Carrier {
    /// Opens the request and keeps it open until the task or the connection
    /// ends.
    pub(crate) fn open(
        conversation: &Conversation,
        handle: TaskHandle,
        upstream: Box<str>,
    ) -> Arc<Self> {
        let (answers, to_write) = mpsc::channel(ANSWERS_WAITING);
        let carrier = Arc::new(Self {
            state: Mutex::new(State::default()),
            changed: Notify::new(),
            port: Arc::clone(&conversation.live.port),
            answers,
        });
        let common = Arc::clone(&conversation.server.common);
        let carried = carry(
            Arc::clone(&common),
            Arc::clone(&carrier),
            handle,
            upstream,
            to_write,
        );
        common.background.spawn_on(&common.runtime, "task", carried);
        carrier
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a question of the task's.
    pub(crate) fn ask(&self, to: To, method: &str, params: Option<&Raw>) {
        let mut state = self.state();
        if state.asked.len() >= ASKS_MAX || state.over {
            drop(state);
            self.send(to, Err(crate::ask::unsupported()));
            return;
        }
        let mut params = params.and_then(Raw::to_object).unwrap_or_default();
        let hint = meta::remove(&mut params, INPUT_KEY);
        meta::remove(&mut params, meta::RELATED_TASK);
        let hint = hint.as_ref().and_then(Raw::to_str).map(Box::<str>::from);
        state.count += 1;
        let own = || format!("input-{}", state.count).into_boxed_str();
        let key = hint
            .filter(|key| !state.asked.contains_key(key))
            .unwrap_or_else(own);
        let mut params = Some(params.to_raw());
        if method == "elicitation/create" {
            params = elicit_for_modern(params.as_ref()).0;
        }
        let request = InputRequest {
            method: method.into(),
            params,
        };
        state.asked.insert(key, (request, to));
        drop(state);
        self.changed.notify_waiters();
    }

    /// The questions that are open.
    pub(super) fn asked(&self) -> Vec<(Box<str>, InputRequest)> {
        let state = self.state();
        let asked = state.asked.iter();
        asked
            .map(|(key, (request, _))| (key.clone(), request.clone()))
            .collect()
    }

    /// Waits a little for a question that the server says it has.
    pub(super) async fn await_question(&self, limit: Duration) {
        let waited = async {
            loop {
                let changed = self.changed.notified();
                {
                    let state = self.state();
                    if !state.asked.is_empty() || state.over {
                        return;
                    }
                }
                changed.await;
            }
        };
        // Without a question the task reads as waiting for nothing yet.
        drop(tokio::time::timeout(limit, waited).await);
    }

    /// Passes a client's answers on; keys nobody asked under are ignored.
    pub(super) fn answer(&self, responses: &Object) {
        for (key, response) in responses.iter() {
            let taken = self.state().asked.remove(key);
            if let Some((_, to)) = taken {
                self.send(to, Ok(response.clone()));
            }
        }
    }

    /// The result, if it has come.
    pub(super) fn result(&self) -> Option<Result<Raw, ErrorObject>> {
        self.state().result.clone()
    }

    fn withdraw(&self, withdrawn: &AskKey) {
        let mut state = self.state();
        state.asked.retain(|_, (_, to)| match to {
            To::Exchange(key) | To::Connection(key) => key != withdrawn,
        });
    }

    fn send(&self, to: To, answer: Result<Raw, ErrorObject>) {
        match to {
            To::Connection(key) => self.port.answer(key, answer),
            // Full or closed: the request has ended, and with it the question.
            To::Exchange(key) => drop(self.answers.try_send((key, answer))),
        }
    }

    fn end(&self, result: Option<Result<Raw, ErrorObject>>) {
        let mut state = self.state();
        state.over = true;
        state.result = result;
        let left = std::mem::take(&mut state.asked);
        drop(state);
        for (_, (_, to)) in left {
            let gone = ErrorObject::new(codes::CANCELLED, "the task has ended");
            self.send(to, Err(gone));
        }
        self.changed.notify_waiters();
    }
}

async fn carry(
    common: Arc<Common>,
    carrier: Arc<Carrier>,
    handle: TaskHandle,
    upstream: Box<str>,
    mut to_write: mpsc::Receiver<(AskKey, Result<Raw, ErrorObject>)>,
) {
    let params = Object::new().with("taskId", Raw::str(&upstream));
    let mut exchange = carrier.port.open(Order::own("tasks/result", params));
    let result = loop {
        tokio::select! {
            biased;
            event = exchange.next() => match event {
                CallEvent::Done(result) => break Some(result),
                CallEvent::Ask { key, method, params } => {
                    carrier.ask(To::Exchange(key), &method, params.as_ref());
                }
                CallEvent::AskWithdrawn(key) => carrier.withdraw(&key),
                CallEvent::Progress(_) | CallEvent::Log(_) => {}
                CallEvent::Lost(_) | CallEvent::NotMade(_) | CallEvent::NeedsAuth => break None,
            },
            Some((key, answer)) = to_write.recv() => exchange.answer(key, answer),
        }
    };
    let keep = result.is_some();
    carrier.end(result);
    if !keep {
        // The server can be asked again once it is back.
        common.tasks.known().carriers.remove(&handle);
    }
}
