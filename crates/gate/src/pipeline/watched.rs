//! A call under somebody's eyes. Where nobody looks, nothing is made for it.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use legation_core::{ClientId, ServerName};
use legation_ledger::{CallId, Status};
use legation_policy::{Permitted, Verb};
use legation_wire::caps::ClientCapabilities;
use legation_wire::json::{Object, Raw};
use legation_wire::message::ErrorObject;
use legation_wire::revision::Revision;

use crate::watch::{Question, Sight, Watched, Watcher};
use crate::{Ask, Delivery, Peer};

/// A call that somebody looks at; over when it is dropped.
#[derive(Debug, Default)]
pub(super) struct Looked {
    subject: Option<Arc<Subject>>,
    /// In a word how it ended, and whether it did what it should.
    ended: Option<(&'static str, bool)>,
}

/// What is told of it.
#[derive(Debug)]
struct Subject {
    watcher: Arc<dyn Watcher>,
    call: Box<str>,
    client: ClientId,
    server: ServerName,
    /// Tools have names that their server lists; what else is read may name its content.
    tool: Option<Box<str>>,
    questions: AtomicU64,
}

/// The client of such a call.
struct Shown {
    subject: Arc<Subject>,
    peer: Arc<dyn Peer>,
}

// === impl Looked ===

impl Looked {
    /// A call that is about to be made.
    pub(super) fn at(
        watcher: Option<&Arc<dyn Watcher>>,
        permitted: &Permitted,
        call: CallId,
    ) -> Self {
        let Some(watcher) = watcher.filter(|watcher| watcher.looks()) else {
            return Self::default();
        };
        let target = permitted.target();
        let subject = Subject {
            watcher: Arc::clone(watcher),
            call: call.to_string().into(),
            client: permitted.principal().client.clone(),
            server: target.server.clone(),
            tool: (target.verb == Verb::CallTool).then(|| target.item.clone()),
            questions: AtomicU64::new(0),
        };
        subject.saw(Sight::Started);
        Self {
            subject: Some(Arc::new(subject)),
            ended: None,
        }
    }

    /// The call's client, whose questions and progress are seen.
    pub(super) fn peer(&self, peer: Arc<dyn Peer>) -> Arc<dyn Peer> {
        match &self.subject {
            None => peer,
            Some(subject) => Arc::new(Shown {
                subject: Arc::clone(subject),
                peer,
            }),
        }
    }

    /// What was recorded of its outcome.
    pub(super) fn recorded(&mut self, status: Status) {
        let is_good = matches!(status, Status::Ok | Status::InputRequired | Status::Task);
        self.ended = Some((status.as_str(), is_good));
    }

    /// It was stopped.
    pub(super) fn refused(&mut self) {
        self.ended = Some(("refused", false));
    }
}

impl Drop for Looked {
    fn drop(&mut self) {
        if let Some(subject) = &self.subject {
            let (word, is_good) = self.ended.unwrap_or(("cancelled", false));
            subject.saw(Sight::Over(word, is_good));
        }
    }
}

// === impl Subject ===

impl Subject {
    fn saw(&self, what: Sight) {
        let call = Watched {
            call: &self.call,
            client: &self.client,
            server: &self.server,
            item: self.tool.as_deref(),
        };
        self.watcher.saw(&call, what);
    }
}

// === impl Shown ===

impl fmt::Debug for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Shown").field(&self.peer).finish()
    }
}

impl Peer for Shown {
    fn revision(&self) -> Revision {
        self.peer.revision()
    }

    fn capabilities(&self) -> &ClientCapabilities {
        self.peer.capabilities()
    }

    fn client_info(&self) -> Option<Raw> {
        self.peer.client_info()
    }

    fn takes_input_required(&self) -> bool {
        self.peer.takes_input_required()
    }

    fn answers_itself(&self, method: &str) -> bool {
        self.peer.answers_itself(method)
    }

    fn log_level(&self) -> Option<Box<str>> {
        self.peer.log_level()
    }

    fn wants_progress(&self) -> bool {
        self.peer.wants_progress()
    }

    fn result_max(&self) -> Option<usize> {
        self.peer.result_max()
    }

    fn progress(&self, params: Object) {
        let number = |member| params.get(member)?.deserialize::<f64>().ok();
        if let Some(progress) = number("progress") {
            let total = number("total");
            self.subject.saw(Sight::Progress { progress, total });
        }
        self.peer.progress(params);
    }

    fn partial(&self, bytes: u64) {
        self.subject.saw(Sight::Partial(bytes));
        self.peer.partial(bytes);
    }

    fn log(&self, params: Raw) {
        self.peer.log(params);
    }

    fn deliver(&self, delivery: Box<dyn Delivery>) {
        self.peer.deliver(delivery);
    }

    fn ask(&self, ask: Ask) -> BoxFuture<'static, Result<Raw, ErrorObject>> {
        let question = match &*ask.method {
            "elicitation/create" => Question::Elicitation,
            "sampling/createMessage" => Question::Sampling,
            _ => Question::Other,
        };
        let number = self.subject.questions.fetch_add(1, Ordering::Relaxed) + 1;
        self.subject.saw(Sight::Asked(question, number));
        let asked = Asked(Arc::clone(&self.subject), question, number);
        let answer = self.peer.ask(ask);
        async move {
            let _asked = asked;
            answer.await
        }
        .boxed()
    }
}

/// A question; answered when it is dropped, be it by a call that ends.
#[derive(Debug)]
struct Asked(Arc<Subject>, Question, u64);

impl Drop for Asked {
    fn drop(&mut self) {
        self.0.saw(Sight::Answered(self.1, self.2));
    }
}
