//! `delegate`: agents hand work to a model on this machine and look after it.
//!
//! The server is a face of the engine and decides nothing: what a task does is decided call
//! by call at the gate, under the authority of whoever handed it in and of the engine
//! together. A task is its client's: for every other client it does not exist.
//!
//! Whose data a task holds is known only once it runs. A call about a task of one entity is
//! decided as that entity's; what holds data of more is given only to a conversation that
//! holds them already, so that nothing mixes here that the rules keep apart.

mod arguments;
mod calls;
mod news;
mod shapes;
mod tasks;
mod tools;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use legation_api::tasks::{Class, TaskState, TaskView};
use legation_core::{
    Caller, CancelReason, EntityId, EntityLabels, OpContext, ServerName, SharedClock, TaskHandle,
};
use legation_engine::{Asker, Engine, Submitter};
use legation_gate::rate::{RateLimits, Rates};
use legation_gate::{Outcome, Peer, TaskVerb, TaskWish, Unresolved};
use legation_wire::codes;
use legation_wire::json::{Object, Raw};
use legation_wire::message::ErrorObject;

use crate::native::no_resource;
use crate::{Native, OwnTask, Tool, failed, json_result};

pub use news::{Notes, tell};
pub use shapes::Model;
pub(crate) use tools::{TOOLS, output};

use arguments::named;
use shapes::Task;

pub(crate) const NAME: &str = "delegate";

/// The client that the engine's own calls are made as.
const ENGINE: &str = "delegate";
/// Longest wait of one call: clients end calls after a minute.
const WAIT_MAX: Duration = Duration::from_secs(45);
/// How often a call that waits says how far its task is.
const PROGRESS: Duration = Duration::from_secs(2);

const INSTRUCTIONS: &str = "Hands work to a model on this machine, which costs nothing: implementing, boilerplate, tests, refactoring, documentation. Call chat with everything needed to do it, then poll_task. A person shares the conversation and goes first. Look at what comes back: it is a smaller model's work.";

/// What the server asks of the hub it lives in.
pub trait DelegateView: Send + Sync + fmt::Debug {
    /// The engine, once there is one and as long as there is.
    fn engine(&self) -> Option<Engine>;

    /// Whose data a caller's conversation holds; `None` when nobody can say.
    fn held(&self, caller: &Caller) -> Option<EntityLabels>;

    /// The models that would have a task of the caller's, the likeliest first.
    fn models(&self, context: &OpContext) -> BoxFuture<'static, Vec<Model>>;

    /// Whether the likeliest of them answers; `None` when nobody can say.
    fn answers(&self, context: &OpContext) -> BoxFuture<'static, Option<bool>>;

    /// The names of the tools that a task of the caller's has.
    fn tools(&self, context: &OpContext) -> Vec<String>;
}

/// The server.
#[derive(Clone)]
pub struct Delegate {
    shared: Arc<Shared>,
}

struct Shared {
    view: Arc<dyn DelegateView>,
    /// Of `chat` alone: whoever looks after a task must not lose it to a limit.
    rates: Rates,
    limit: u32,
    name: ServerName,
}

// === impl Delegate ===

impl Delegate {
    /// The server. One client hands in at most `limit` tasks a minute; 0 is no
    /// limit.
    ///
    /// # Panics
    /// Never: its name is a server's.
    #[must_use]
    pub fn new(view: Arc<dyn DelegateView>, limit: u32, clock: SharedClock) -> Self {
        let limits = RateLimits {
            client_per_minute: limit,
            // As many at once as in a minute.
            burst_s: 60,
            ..RateLimits::default()
        };
        Self {
            shared: Arc::new(Shared {
                view,
                rates: Rates::new(limits, clock),
                limit,
                name: ServerName::parse(NAME).expect("a constant that is a name"),
            }),
        }
    }

    async fn chat(
        self,
        context: OpContext,
        arguments: Object,
        wish: TaskWish,
        peer: Arc<dyn Peer>,
    ) -> Outcome {
        let caller = &context.caller;
        let client = &caller.principal.client;
        if client.as_str() == ENGINE {
            return failed("a delegated task hands in no tasks; nothing was handed in");
        }
        let (new, waits) = match arguments::task(&arguments) {
            Ok(task) => task,
            Err(why) => return failed(&why),
        };
        if let Err(too_many) = self.shared.rates.call(client, &self.shared.name, "chat") {
            let (limit, after) = (self.shared.limit, too_many.after.as_millis() / 1000 + 1);
            return failed(&format!(
                "you may hand in {limit} tasks a minute, and that is how many you have; nothing was handed in. Call chat again in {after} s; poll_task is not limited"
            ));
        }
        let (Some(engine), Some(labels)) =
            (self.shared.view.engine(), self.shared.view.held(caller))
        else {
            return gone();
        };
        let from = Submitter {
            client: client.clone(),
            seat: caller.seat.clone(),
            workspace: caller.workspace.as_deref().map(Into::into),
            class: Class::Agent,
            is_owner: false,
            labels,
        };
        let task = match engine.submit(&from, new).await {
            Ok(task) => task,
            Err(error) => return refused(&error, error.hint()),
        };
        if !matches!(wish, TaskWish::Never | TaskWish::Needed) {
            return Outcome::Task(tasks::created(&task));
        }
        let task = match waits {
            true => self.wait(&engine, &context, task, &peer).await,
            false => task,
        };
        self.shown(caller, &task)
    }

    /// Waits for the end of a task, and says how far it is to a client that wants to know.
    async fn wait(
        &self,
        engine: &Engine,
        context: &OpContext,
        mut task: TaskView,
        peer: &Arc<dyn Peer>,
    ) -> TaskView {
        let asker = asker(&context.caller);
        let start = tokio::time::Instant::now();
        loop {
            let left = WAIT_MAX.saturating_sub(start.elapsed());
            if left.is_zero() || stands(&task) {
                return task;
            }
            let step = match peer.wants_progress() {
                true => left.min(PROGRESS),
                false => left,
            };
            let waited = engine.wait(&asker, &task.task_id, step);
            tokio::select! {
                waited = waited => match waited {
                    Ok(now) => task = now,
                    Err(_) => return task,
                },
                reason = context.cancel.cancelled() => {
                    // Nobody was told the task's id, so nobody else can end it.
                    if reason == CancelReason::ClientCancelled {
                        let why = "the call that handed it in was called off";
                        let ended = engine.cancel(&asker, &task.task_id, Some(why)).await;
                        return ended.unwrap_or(task);
                    }
                    return task;
                }
            }
            if peer.wants_progress() && !stands(&task) {
                // What it does may name data that it has read since the call was decided.
                let may = self.holds(&context.caller, &task.entities);
                let doing = task.progress.as_deref().filter(|_| may);
                let doing = doing.unwrap_or(task.status.as_str());
                let passed = start.elapsed().as_secs_f64();
                let progress = Object::new().with("progress", Raw::from_serialize(&passed));
                peer.progress(progress.with("message", Raw::str(doing)));
            }
        }
    }

    /// A task as its client may see it. What its conversation holds is what the call was
    /// decided for, so the gate redacts what has to be.
    fn shown(&self, caller: &Caller, task: &TaskView) -> Outcome {
        match self.holds(caller, &task.entities) {
            true => json_result(&Task::whole(task)),
            false => json_result(&Task::bare(task)),
        }
    }

    /// Whether a caller's conversation holds data of all these entities.
    fn holds(&self, caller: &Caller, entities: &[String]) -> bool {
        let held = self.shared.view.held(caller);
        held.is_some_and(|held| {
            let mut entities = entities.iter();
            entities.all(|entity| held.contains(&EntityId::new(entity.as_str())))
        })
    }

    /// The entity that a call about a task is decided for: that of its data, where it is
    /// one alone.
    fn entity_of(&self, id: &str) -> Option<EntityId> {
        let known = self.shared.view.engine()?.known(id)?;
        match known.labels.as_slice() {
            [one] => Some(one.clone()),
            _ => None,
        }
    }
}

impl fmt::Debug for Delegate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Delegate").finish_non_exhaustive()
    }
}

impl Native for Delegate {
    fn name(&self) -> &'static str {
        NAME
    }

    fn instructions(&self) -> Option<&'static str> {
        Some(INSTRUCTIONS)
    }

    fn tools(&self) -> &[Tool] {
        TOOLS
    }

    fn output(&self, tool: &str) -> Option<&'static str> {
        output(tool)
    }

    fn entity(&self, tool: &str, arguments: &Object) -> Result<Option<EntityId>, Unresolved> {
        Ok(match tool {
            "poll_task" | "cancel" => {
                let id = arguments.get("task_id").and_then(Raw::to_str);
                id.and_then(|id| self.entity_of(&id))
            }
            "get_history" => named(arguments),
            _ => None,
        })
    }

    fn call(
        &self,
        context: OpContext,
        tool: &'static str,
        arguments: Object,
        wish: TaskWish,
        peer: Arc<dyn Peer>,
    ) -> BoxFuture<'static, Outcome> {
        let this = self.clone();
        let caller = context.caller.clone();
        match tool {
            "chat" => Box::pin(this.chat(context, arguments, wish, peer)),
            "poll_task" => Box::pin(this.poll(caller, arguments)),
            "cancel" => Box::pin(this.cancel(caller, arguments)),
            "get_history" => Box::pin(this.history(caller, arguments)),
            "get_capabilities" => Box::pin(this.capabilities(context)),
            "report_issue" => Box::pin(this.report(caller, arguments)),
            _ => Box::pin(this.status(context)),
        }
    }

    fn takes_tasks(&self, tool: &str) -> bool {
        tool == "chat"
    }

    fn owns(&self, caller: &Caller, handle: &TaskHandle) -> Option<OwnTask> {
        let known = self.shared.view.engine()?.known(handle.as_str())?;
        (known.client == caller.principal.client).then(|| OwnTask {
            tool: "chat",
            entity: match known.labels.as_slice() {
                [one] => Some(one.clone()),
                _ => None,
            },
        })
    }

    fn tasks(&self, caller: &Caller) -> Vec<TaskHandle> {
        let engine = self.shared.view.engine();
        let ids = engine.map(|engine| engine.ids_of(&caller.principal.client));
        let ids = ids.unwrap_or_default();
        ids.iter().map(|id| TaskHandle::new(id.as_str())).collect()
    }

    fn task(
        &self,
        context: OpContext,
        handle: TaskHandle,
        verb: TaskVerb,
        _peer: Arc<dyn Peer>,
    ) -> BoxFuture<'static, Outcome> {
        Box::pin(self.clone().act(context.caller, handle, verb))
    }

    fn read(&self, _context: OpContext, uri: &'static str) -> BoxFuture<'static, Outcome> {
        let error = ErrorObject::new(codes::INVALID_PARAMS, &no_resource(uri).to_string());
        Box::pin(std::future::ready(Outcome::Error(error)))
    }
}

/// Whether there is nothing to wait for.
fn stands(task: &TaskView) -> bool {
    task.status.is_final() || task.status == TaskState::InputRequired
}

fn asker(caller: &Caller) -> Asker {
    Asker::Client {
        client: caller.principal.client.clone(),
        workspace: caller.workspace.as_deref().map(Into::into),
    }
}

/// There is no engine at the moment.
fn gone() -> Outcome {
    failed("the hub is starting or stopping; nothing was done. Try again in a moment")
}

/// What the engine refused, with what can be done.
fn refused(error: &dyn std::error::Error, hint: String) -> Outcome {
    let what = legation_core::error::chain(error);
    failed(&format!("{what}; {hint}"))
}

#[cfg(test)]
mod tests;
