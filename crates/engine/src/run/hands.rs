//! Tools, through the gate.
//!
//! A call is the built-in client's on behalf of whoever delegated the task, so that the rules judge
//! both. What waits for a person's approval waits here, not in the model: it would otherwise call
//! again and again.

mod beside;
mod told;

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use legation_core::error::chain;
use legation_core::{
    ApprovalId, Caller, Cancel, ClientId, EntityLabels, ForTask, OpContext, Principal, SeatId,
    TaskHandle, TaskId, Via,
};
use legation_gate::stage::Unapproved;
use legation_gate::stage::delegate::ON_BEHALF_OF;
use legation_gate::{
    Ask, Endpoint, Entry, Gate, Item, ListKind, Outcome, Peer, Refusal, Request, TaskWish,
};
use legation_wire::caps::ClientCapabilities;
use legation_wire::codes;
use legation_wire::json::{Object, Raw};
use legation_wire::message::ErrorObject;
use legation_wire::meta::META;
use legation_wire::revision::Revision;

use super::entry::{CallStatus, Told};
use super::toolset::{Offer, PlannedCall};
pub(crate) use beside::{Looked, Stands};
use told::{denied, spilled, told, too_long};

/// The client that the engine is.
pub const CLIENT: &str = "delegate";
/// Larger results are put aside, and the model gets their head and where the rest is.
const RESULT_MAX: usize = 16 * 1024;
/// So long one call may take; beyond it, it is called off.
const CALL_MAX: Duration = Duration::from_secs(30 * 60);
/// So long a call that was called off is waited for.
const ABORT_MAX: Duration = Duration::from_secs(2);
/// How often a call that waits for a person is looked at, beside when something is heard of it.
const LOOK: Duration = Duration::from_secs(5);

/// Told what a call says of its progress, and whose data the task holds by then.
pub(crate) type OnProgress = Arc<dyn Fn(String, &EntityLabels) + Send + Sync>;

/// The way from a task to tools.
#[derive(Clone)]
pub(crate) struct Hands {
    gate: Arc<Gate>,
    caller: Caller,
    task: TaskId,
    delegator: ClientId,
    progress: OnProgress,
}

/// What a call came to, and whose data the task holds then.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) told: Told,
    pub(crate) labels: EntityLabels,
    /// The task that its server began instead of answering, and how it stands.
    pub(crate) began: Option<(TaskHandle, Stands)>,
}

/// What a call came to.
enum Called {
    /// To this.
    Told(Told),
    /// To a task of its server's.
    Began(Object),
}

/// The peer of a task's calls: there is nobody to be asked.
struct TaskPeer {
    capabilities: ClientCapabilities,
    hands: Hands,
}

// === impl Hands ===

impl Hands {
    pub(crate) fn new(
        gate: Arc<Gate>,
        task: &TaskId,
        delegator: &ClientId,
        workspace: Option<&Path>,
        progress: OnProgress,
    ) -> Self {
        Self {
            gate,
            caller: caller(task, workspace),
            task: task.clone(),
            delegator: delegator.clone(),
            progress,
        }
    }

    /// The context of what is done for the task.
    pub(crate) fn context(&self, cancel: &Cancel) -> OpContext {
        let context = OpContext::new(self.caller.clone(), cancel.child());
        let conversations = &self.gate.asking().conversations;
        match conversations.carry(&self.caller, &EntityLabels::none()) {
            Ok(labels) => context.for_task(ForTask {
                id: self.task.clone(),
                labels,
            }),
            // The gate cannot say either, and refuses the call.
            Err(_) => context,
        }
    }

    /// Adds to whose data the task holds, for every call that follows.
    pub(crate) fn carry(&self, labels: &EntityLabels) -> Result<EntityLabels, String> {
        let conversations = &self.gate.asking().conversations;
        let held = conversations.carry(&self.caller, labels);
        held.map_err(|error| chain(&error).to_string())
    }

    /// Tells how a call gets on. It may say something of the data that the call brings, which the
    /// gate has joined by then and whoever reads it must be judged by.
    fn tell(&self, line: String) {
        // Whose it is cannot be said otherwise, and then nobody is told.
        if let Ok(labels) = self.carry(&EntityLabels::none()) {
            (self.progress)(line, &labels);
        }
    }

    /// The seat of the task.
    pub(crate) fn seat(&self) -> &SeatId {
        &self.caller.seat
    }

    /// Who delegated it.
    pub(crate) fn delegator(&self) -> &ClientId {
        &self.delegator
    }

    /// Everything there is to call.
    pub(crate) fn offers(&self, cancel: &Cancel) -> Result<Vec<Offer>, Refusal> {
        let context = self.context(cancel);
        let listing = self
            .gate
            .listing(&context, &Endpoint::All, ListKind::Tools)?;
        Ok(listing.entries.iter().filter_map(offer).collect())
    }

    /// Makes a call. It ends when its result is there, or soon after it is called off.
    pub(crate) async fn call(&self, call: &PlannedCall, cancel: &Cancel) -> Done {
        let aborted = async {
            cancel.cancelled().await;
            tokio::time::sleep(ABORT_MAX).await;
        };
        let called = tokio::select! {
            biased;
            called = self.called(call, cancel) => called,
            () = aborted => Called::Told(Told::new(
                CallStatus::Unknown,
                "The call was called off while it ran; whether it took effect is not known.",
            )),
        };
        match called {
            Called::Told(told) => self.done(told),
            Called::Began(task) => self.begun(call, &task).await,
        }
    }

    /// What came of a call, if its task may hold that.
    fn done(&self, told: Told) -> Done {
        match self.carry(&EntityLabels::none()) {
            Ok(labels) => Done {
                told,
                labels,
                began: None,
            },
            // Whose data it is cannot be said, so it goes to no model.
            Err(error) => Done {
                told: Told::new(
                    CallStatus::Error,
                    format!("The result is withheld: whose data it is is not known ({error})."),
                ),
                labels: EntityLabels::none(),
                began: None,
            },
        }
    }

    async fn called(&self, call: &PlannedCall, cancel: &Cancel) -> Called {
        match self.answered(call, cancel).await {
            Ok(Outcome::Task(task)) => Called::Began(task),
            Ok(outcome) => Called::Told(told(call, outcome)),
            Err(told) => Called::Told(told),
        }
    }

    /// What the gate brings of a call, or what is told of one that brought nothing.
    async fn answered(&self, call: &PlannedCall, cancel: &Cancel) -> Result<Outcome, Told> {
        let mut heard = self.gate.asking().approvals.events();
        loop {
            // What was called off before it began, or with the approval, is not begun.
            if let Some(reason) = cancel.reason() {
                return Err(Told::new(
                    CallStatus::Skipped,
                    format!("Not called: {}.", reason.as_str()),
                ));
            }
            let context = self.context(cancel);
            let made = self.gate.call(&context, self.request(call));
            let refusal = match tokio::time::timeout(CALL_MAX, made).await {
                Ok(Ok(outcome)) => return Ok(outcome),
                Ok(Err(refusal)) => refusal,
                Err(_) => return Err(too_long()),
            };
            let Some(id) = pending(&refusal) else {
                return Err(denied(&refusal));
            };
            self.tell(format!("waits for a person: {}", chain(&refusal)));
            loop {
                use legation_gate::approval::State;
                match self.state(&id) {
                    Some(State::Pending) => {}
                    // The same call finds the answer.
                    Some(State::Granted | State::Denied) => break,
                    // It would be asked anew, again and again.
                    None => {
                        return Err(Told::new(
                            CallStatus::Denied,
                            "Not called: it needs a person's approval, and nobody gave it in time.",
                        ));
                    }
                }
                tokio::select! {
                    reason = cancel.cancelled() => {
                        return Err(Told::new(
                            CallStatus::Skipped,
                            format!("Not called: it waited for a person, and {}.", reason.as_str()),
                        ));
                    }
                    event = heard.recv() => drop(event),
                    () = tokio::time::sleep(LOOK) => {}
                }
            }
        }
    }

    /// How a question to a person stands, while it is open.
    fn state(&self, id: &ApprovalId) -> Option<legation_gate::approval::State> {
        let open = self.gate.asking().approvals.get(id);
        open.map(|open| open.state)
    }

    fn request(&self, call: &PlannedCall) -> Request {
        let meta = Object::new().with(ON_BEHALF_OF, Raw::str(self.delegator.as_str()));
        let (item, params) = match spilled(call) {
            Some(uri) => (
                Item::Resource(uri.into()),
                Object::new().with("uri", Raw::str(uri)),
            ),
            None => (
                Item::Tool(call.flat.clone()),
                Object::new()
                    .with("name", Raw::str(&call.flat))
                    .with("arguments", Raw::from_serialize(&call.arguments)),
            ),
        };
        Request {
            endpoint: Endpoint::All,
            item,
            params: params.with(META, meta.to_raw()),
            retry: None,
            task: TaskWish::Needed,
            peer: self.peer(),
        }
    }

    fn peer(&self) -> Arc<dyn Peer> {
        Arc::new(TaskPeer {
            capabilities: ClientCapabilities::default(),
            hands: self.clone(),
        })
    }
}

impl fmt::Debug for Hands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hands")
            .field("task", &self.task)
            .finish_non_exhaustive()
    }
}

// === impl TaskPeer ===

impl Peer for TaskPeer {
    fn revision(&self) -> Revision {
        Revision::V2026_07_28
    }

    fn capabilities(&self) -> &ClientCapabilities {
        &self.capabilities
    }

    fn wants_progress(&self) -> bool {
        true
    }

    fn result_max(&self) -> Option<usize> {
        Some(RESULT_MAX)
    }

    fn progress(&self, params: Object) {
        if let Some(message) = params.get("message").and_then(|raw| raw.to_str()) {
            let line: String = message
                .lines()
                .last()
                .unwrap_or_default()
                .chars()
                .take(200)
                .collect();
            self.hands.tell(line);
        }
    }

    fn ask(&self, ask: Ask) -> BoxFuture<'static, Result<Raw, ErrorObject>> {
        let message = format!("{} cannot be answered by a delegated task", ask.method);
        let refused = ErrorObject::new(codes::METHOD_NOT_FOUND, &message);
        Box::pin(std::future::ready(Err(refused)))
    }
}

impl fmt::Debug for TaskPeer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TaskPeer")
    }
}

/// A task as the gate knows it.
fn caller(task: &TaskId, workspace: Option<&Path>) -> Caller {
    Caller {
        principal: Principal {
            client: ClientId::new(CLIENT),
            via: Via::Socket,
        },
        // A task is a conversation of its own: what it holds taints no other.
        seat: SeatId::new(task.as_str()),
        workspace: workspace.map(Arc::from),
    }
}

/// Forgets whose data a task held; it is over.
pub(crate) fn let_go(gate: &Gate, task: &TaskId) {
    let caller = caller(task, None);
    let conversations = &gate.asking().conversations;
    let held = conversations.carry(&caller, &EntityLabels::none());
    // Forgetting waits for the disk, and most tasks hold nobody's data.
    if held.is_ok_and(|held| held.is_empty()) {
        return;
    }
    let holder = legation_gate::conversation::holder(&caller);
    if let Err(error) = conversations.reset(holder) {
        let error = chain(&error);
        tracing::debug!(%task, error, "labels of a task that is over were kept");
    }
}

fn offer(entry: &Entry) -> Option<Offer> {
    let text = |member: &str| {
        entry
            .raw
            .get(member)?
            .to_str()
            .map(|text| text.into_owned())
    };
    let schema = entry.raw.get("inputSchema")?;
    Some(Offer {
        flat: text("name")?.into(),
        server: entry.server.as_str().into(),
        item: entry.item.clone(),
        description: text("description").unwrap_or_default(),
        schema: serde_json::from_str(schema.as_text()).ok()?,
        // Only a server that the owner trusts is believed.
        reads: entry.read_only_hint && (entry.trusted || entry.native.is_some()),
    })
}

fn pending(refusal: &Refusal) -> Option<ApprovalId> {
    let Refusal::Unapproved(unapproved) = refusal else {
        return None;
    };
    match &**unapproved {
        Unapproved::Pending { id, .. } => Some(id.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
