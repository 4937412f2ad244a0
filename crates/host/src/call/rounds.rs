//! The rounds of one call: a modern server may ask for input and be called
//! again, and may answer with a task.

use futures_util::future::join_all;
use legation_gate::policy::Permitted;
use legation_gate::{Call, CallFailure, InputRequired, Item, Outcome, Retry, TaskWish};
use legation_wire::codes;
use legation_wire::json::{Object, Raw};
use legation_wire::message::ErrorObject;
use legation_wire::translate::{self, InputRequest, ResultKind};

use super::Conversation;
use crate::ask;
use crate::definitions::{TaskSupport, check_skill, same_skill};
use crate::tasks;

/// How often a server may ask for input in one call.
const ROUNDS_MAX: usize = 16;

/// How much a server may ask for at once.
const REQUESTS_MAX: usize = 32;

/// What a round came to.
enum Round {
    Over(Outcome),
    Again(Retry),
}

impl Conversation {
    /// Calls, and calls again while the server asks for input that the hub can
    /// get, until there is an outcome.
    pub(super) async fn run(mut self, permitted: Permitted, mut call: Call) -> Outcome {
        if let Some(error) = self.lacks_tasks(&permitted, &call) {
            return Outcome::Error(error);
        }
        self.set_level().await;
        let mut may_sign_in = true;
        let mut may_reconnect = true;
        for _ in 0..ROUNDS_MAX {
            let order = self.order(&permitted, &call);
            let as_task = order.params.contains("task");
            let answer = match self.exchange(order, false).await {
                Ok(Ok(answer)) => answer,
                Ok(Err(error)) => return Outcome::Error(error),
                // Nothing was done: the server asked who that was first.
                Err(CallFailure::NeedsAuth { .. })
                    if std::mem::take(&mut may_sign_in) && self.sign_in().await =>
                {
                    continue;
                }
                // Nothing was done either: the server did not know the session.
                Err(CallFailure::NotConnected { .. }) if std::mem::take(&mut may_reconnect) => {
                    if let Err(failure) = self.reconnect(&permitted, &call.item).await {
                        return Outcome::Failed(failure);
                    }
                    self.set_level().await;
                    continue;
                }
                Err(failure) => return Outcome::Failed(failure),
            };
            match self.settle(&permitted, &call, answer, as_task).await {
                Round::Over(outcome) => return self.as_asked(&permitted, &call, outcome),
                Round::Again(retry) => call.retry = Some(retry),
            }
        }
        self.broke(format!("it asked for input {ROUNDS_MAX} times in one call"))
    }

    /// The refusal that a modern client without tasks gets for a legacy
    /// server's tool that can only run as one; a modern server says so itself.
    fn lacks_tasks(&self, permitted: &Permitted, call: &Call) -> Option<ErrorObject> {
        let (Item::Tool(_), TaskWish::Never) = (&call.item, call.task) else {
            return None;
        };
        if !self.peer.revision().is_modern() || !self.has_legacy_tasks() {
            return None;
        }
        let published = self.live.published.load();
        let tools = published.definitions.list(legation_gate::ListKind::Tools);
        let tool = tools.get(&permitted.target().item)?;
        if tool.task_support != TaskSupport::Required {
            return None;
        }
        let error = ErrorObject::new(
            codes::MISSING_CAPABILITY,
            "this tool only runs as a task, and the client did not declare the tasks extension",
        );
        let data =
            r#"{"requiredCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}"#;
        Some(error.with_data(Raw::from_static(data)))
    }

    /// The outcome, unless it is to be a skill's entry and is none, or not the one that was
    /// listed and decided on: that one is then read again and set aside like any definition.
    fn as_asked(&self, permitted: &Permitted, call: &Call, outcome: Outcome) -> Outcome {
        let (Item::Skill(_), Outcome::Complete(answer)) = (&call.item, &outcome) else {
            return outcome;
        };
        let uri = &permitted.target().item;
        let entry = answer.get("skill").unwrap_or_else(Raw::empty_object);
        if let Err(bad) = check_skill(uri, &entry.to_object().unwrap_or_default()) {
            return self.broke(format!(
                "its answer is no entry of the skill {uri:?}: {bad}"
            ));
        }
        let published = self.live.published.load();
        let listed = published.definitions.list(legation_gate::ListKind::Skills);
        if listed
            .get(uri)
            .is_none_or(|listed| same_skill(&listed.raw, &entry))
        {
            return outcome;
        }
        self.flight.instance.skills_changed();
        Outcome::Failed(CallFailure::DefinitionChanged {
            server: self.server.spec.name.clone(),
            item: uri.clone(),
        })
    }

    async fn settle(
        &mut self,
        permitted: &Permitted,
        call: &Call,
        answer: Raw,
        as_task: bool,
    ) -> Round {
        if !self.live.about.revision.is_modern() {
            if as_task && answer.get("task").is_some() {
                return Round::Over(tasks::begun(self, permitted, call.task, &answer, true).await);
            }
            return Round::Over(Outcome::Complete(answer));
        }
        match translate::result_kind(&answer) {
            ResultKind::Complete => Round::Over(Outcome::Complete(answer)),
            ResultKind::InputRequired => self.input_required(&answer).await,
            ResultKind::Task => {
                Round::Over(tasks::begun(self, permitted, call.task, &answer, false).await)
            }
            ResultKind::Unknown(kind) => {
                Round::Over(self.broke(format!("its result is of the unknown type {kind}")))
            }
        }
    }

    async fn input_required(&mut self, answer: &Raw) -> Round {
        let asked = match translate::InputRequired::parse(answer) {
            Ok(asked) => asked,
            Err(error) => return Round::Over(self.broke(error.to_string())),
        };
        let count = asked.requests.len();
        if count > REQUESTS_MAX {
            return Round::Over(self.broke(format!(
                "it asked for input {count} times at once; at most {REQUESTS_MAX} are passed on"
            )));
        }
        let state = asked.request_state.as_deref().map(Raw::str);
        // What the hub answers in the client's stead is asked live, and the rest of it with it.
        let is_own =
            |(_, request): &(Box<str>, InputRequest)| self.peer.answers_itself(&request.method);
        if self.peer.takes_input_required() && !asked.requests.iter().any(is_own) {
            let mut result = answer.to_object().unwrap_or_default();
            result.remove("resultType");
            result.remove("requestState");
            let asked = InputRequired { result, state };
            return Round::Over(Outcome::InputRequired(asked));
        }
        match self.ask_all(&asked.requests).await {
            Ok(responses) => Round::Again(Retry { responses, state }),
            Err(outcome) => Round::Over(outcome),
        }
    }

    /// Puts a modern server's questions to a client that is asked live, all at
    /// once, and gathers the answers by their keys.
    pub(crate) async fn ask_all(
        &self,
        requests: &[(Box<str>, InputRequest)],
    ) -> Result<Object, Outcome> {
        for (_, request) in requests {
            let url_mode = ask::is_url_mode(&request.method, request.params.as_ref());
            if !self.peer.capabilities().allows(&request.method, url_mode) {
                return Err(Outcome::Failed(CallFailure::MissingCapability {
                    server: self.server.spec.name.clone(),
                    needed: needed(&request.method).into(),
                }));
            }
        }
        let asks = requests.iter().map(|(key, request)| {
            let answer = ask::ask(&self.peer, request.method.clone(), request.params.clone());
            async move { (key, &request.method, answer.await) }
        });
        let answers = tokio::select! {
            answers = join_all(asks) => answers,
            reason = self.context.cancel.cancelled() => {
                return Err(Outcome::Failed(CallFailure::Cancelled(reason)));
            }
        };
        let mut responses = Object::new();
        for (key, method, answer) in answers {
            match answer {
                Ok(answer) => responses.set(key, answer),
                // A person who cannot be asked has not answered; that has a
                // form of its own, other refusals do not.
                Err(_) if &**method == "elicitation/create" => {
                    responses.set(key, Raw::from_static(r#"{"action":"cancel"}"#));
                }
                Err(error) => return Err(Outcome::Error(error)),
            }
        }
        Ok(responses)
    }

    /// The outcome of a call whose server broke the protocol.
    pub(crate) fn broke(&self, reason: String) -> Outcome {
        Outcome::Failed(CallFailure::Protocol {
            server: self.server.spec.name.clone(),
            reason,
        })
    }
}

/// The capability that a method of a server's question stands for.
fn needed(method: &str) -> &'static str {
    match method {
        "roots/list" => "roots",
        "sampling/createMessage" => "sampling",
        _ => "elicitation",
    }
}
