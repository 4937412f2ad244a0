//! Calls of `wait` that go on as tasks.
//!
//! They are kept in memory: the messages are durable, and a wait that ended with
//! its hub is begun again with nothing lost. Their handles name the hub that began
//! them, so that the next one can say what became of them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use legation_core::{
    BootId, Caller, Cancel, CancelReason, ClientId, EntityId, SharedClock, TaskHandle, TaskSet,
};
use legation_gate::{Delivery, Outcome, Peer, TaskVerb, TaskWish};
use legation_inbox::HandedOut;
use legation_wire::codes;
use legation_wire::json::{Object, Raw};
use legation_wire::message::ErrorObject;
use legation_wire::translate::{Task, TaskOutcome, TaskStatus};
use tokio::task::AbortHandle;

use super::arguments::Wanted;
use super::{InboxServer, unreadable, waits};
use crate::native::no_task;
use crate::{OwnTask, TaskNews, json_result};

/// What handles begin with.
const PREFIX: &str = "wait-";
/// Characters of a hub's id that are in a handle.
const BOOT: usize = 12;
/// Longest wait of a task.
const WAIT_MAX: Duration = Duration::from_secs(60 * 60);
/// How long what it brought is kept after it.
const KEPT: Duration = Duration::from_secs(10 * 60);
/// How often a client should look, in milliseconds.
const POLL_MS: i64 = 1_000;
/// Most tasks of one client, and of all.
const OWN_MAX: usize = 32;
const ALL_MAX: usize = 1_024;

/// The waits of a hub.
#[derive(Debug)]
pub(super) struct WaitTasks {
    tasks: TaskSet,
    news: Arc<dyn TaskNews>,
    clock: SharedClock,
    /// What the handles of this hub begin with.
    prefix: String,
    known: Mutex<Known>,
}

/// Those that were begun and are not forgotten, by the number of their beginning.
#[derive(Debug, Default)]
struct Known {
    last: u64,
    waits: BTreeMap<u64, Wait>,
}

/// One wait.
#[derive(Debug)]
struct Wait {
    handle: TaskHandle,
    client: ClientId,
    entity: Option<EntityId>,
    created: Raw,
    changed: Raw,
    ttl: Duration,
    end: End,
    /// Ends the waiting, but not the keeping.
    call_off: Cancel,
    running: Option<AbortHandle>,
}

/// How far a wait has come.
#[derive(Debug)]
enum End {
    /// It waits.
    None,
    /// It ended with a result, and messages in it that no client is known to have.
    Done(Raw, Option<HandedOut>),
    /// It was called off.
    Cancelled,
}

/// The result of a task on its way to its client.
#[derive(Debug)]
struct Carried {
    tasks: Arc<WaitTasks>,
    number: u64,
}

// === impl WaitTasks ===

impl WaitTasks {
    /// None yet, for a hub that starts.
    pub(super) fn new(
        tasks: TaskSet,
        news: Arc<dyn TaskNews>,
        clock: SharedClock,
        boot: &BootId,
    ) -> Self {
        let boot = boot.as_str().get(..BOOT).unwrap_or_default();
        Self {
            tasks,
            news,
            clock,
            prefix: format!("{PREFIX}{boot}-"),
            known: Mutex::default(),
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Raw {
        Raw::str(&self.clock.wall().to_string())
    }

    /// Begins a wait, if the client takes a task for it and there is room.
    pub(super) fn begin(
        self: &Arc<Self>,
        server: &InboxServer,
        caller: &Caller,
        wanted: &Wanted,
        (timeout, wish): (Option<Duration>, TaskWish),
    ) -> Option<Object> {
        let ttl = match wish {
            TaskWish::Never | TaskWish::Needed => return None,
            TaskWish::Accepts => None,
            TaskWish::Requested { ttl } => ttl,
        };
        let timeout = timeout.or(ttl).unwrap_or(WAIT_MAX).min(WAIT_MAX);
        // Without randomness there is no handle that nobody guesses.
        let handle = TaskHandle::random().ok()?;
        let handle = TaskHandle::new(format!("{}{handle}", self.prefix));
        let mut known = self.known();
        if !known.has_room(&caller.principal.client) {
            return None;
        }
        known.last += 1;
        let number = known.last;
        let ttl = timeout + KEPT;
        let created = self.now();
        let mut wait = Wait {
            handle,
            client: caller.principal.client.clone(),
            entity: wanted.pull.entity.clone(),
            changed: created.clone(),
            created,
            ttl,
            end: End::None,
            call_off: Cancel::new(),
            running: None,
        };
        let task = wait.task().to_modern();
        let (this, server) = (Arc::clone(self), server.clone());
        let (caller, wanted) = (caller.clone(), wanted.clone());
        let call_off = wait.call_off.clone();
        let run = async move {
            tokio::select! {
                () = this.run(&server, &caller, wanted, (number, timeout)) => {}
                _ = call_off.cancelled() => {}
            }
            tokio::time::sleep(KEPT).await;
            this.known().waits.remove(&number);
        };
        let runtime = tokio::runtime::Handle::current();
        wait.running = self.tasks.spawn_on(&runtime, "wait", run);
        wait.running.as_ref()?;
        known.waits.insert(number, wait);
        Some(task)
    }

    /// Waits, and keeps what came.
    async fn run(
        self: &Arc<Self>,
        server: &InboxServer,
        caller: &Caller,
        mut wanted: Wanted,
        (number, timeout): (u64, Duration),
    ) {
        let (outcome, handed) = match server.found(&mut wanted.pull, timeout, None).await {
            Ok(mut pulled) => {
                let handed = pulled.handed.take();
                (json_result(&server.shown(caller, &wanted, &pulled)), handed)
            }
            Err(error) => (unreadable(&error), None),
        };
        if let Outcome::Complete(result) = outcome {
            self.end(number, End::Done(result, handed));
        }
    }

    /// Notes an end, and tells the client.
    fn end(&self, number: u64, end: End) {
        let changed = self.now();
        let mut known = self.known();
        let Some(wait) = known.waits.get_mut(&number) else {
            return;
        };
        if !matches!(wait.end, End::None) {
            return;
        }
        wait.end = end;
        wait.changed = changed;
        let (client, mut task) = (wait.client.clone(), wait.task().to_modern());
        if let End::Done(result, _) = &wait.end {
            task.set("result", result.clone());
        }
        drop(known);
        self.news.moved(&client, task);
    }

    /// What is known of a handle, if it is the caller's, or was some hub's.
    pub(super) fn owns(&self, caller: &Caller, handle: &TaskHandle) -> Option<OwnTask> {
        let entity = if self.is_of_another_hub(handle) {
            None
        } else {
            let known = self.known();
            let (_, wait) = known.find(caller, handle)?;
            wait.entity.clone()
        };
        Some(OwnTask {
            tool: waits::NAME,
            entity,
        })
    }

    fn is_of_another_hub(&self, handle: &TaskHandle) -> bool {
        let handle = handle.as_str();
        let length = self.prefix.len() + 32;
        handle.starts_with(PREFIX) && handle.len() == length && !handle.starts_with(&self.prefix)
    }

    /// The handles of a caller's waits, oldest first.
    pub(super) fn list(&self, caller: &Caller) -> Vec<TaskHandle> {
        let known = self.known();
        let own = known.waits.values();
        own.filter(|wait| wait.client == caller.principal.client)
            .map(|wait| wait.handle.clone())
            .collect()
    }

    /// One act on a wait.
    pub(super) fn act(
        self: &Arc<Self>,
        caller: &Caller,
        handle: &TaskHandle,
        verb: TaskVerb,
        peer: &Arc<dyn Peer>,
    ) -> Outcome {
        if self.is_of_another_hub(handle) {
            return match verb {
                TaskVerb::Get => self.lost(handle),
                TaskVerb::Update(_) | TaskVerb::Cancel => Outcome::Complete(Raw::empty_object()),
            };
        }
        let known = self.known();
        let Some((number, wait)) = known.find(caller, handle) else {
            return no_task(handle);
        };
        match verb {
            TaskVerb::Get => {
                let (task, outcome) = (wait.task(), wait.outcome());
                drop(known);
                if matches!(outcome, TaskOutcome::Result(_)) {
                    peer.deliver(Box::new(Carried {
                        tasks: Arc::clone(self),
                        number,
                    }));
                }
                Outcome::Complete(task.to_modern_detailed(&outcome))
            }
            // It asks nothing.
            TaskVerb::Update(_) => Outcome::Complete(Raw::empty_object()),
            TaskVerb::Cancel => {
                let call_off = wait.call_off.clone();
                drop(known);
                self.end(number, End::Cancelled);
                call_off.cancel(CancelReason::ClientCancelled);
                Outcome::Complete(Raw::empty_object())
            }
        }
    }

    /// What is said of a wait of an earlier hub.
    fn lost(&self, handle: &TaskHandle) -> Outcome {
        let now = self.now();
        let task = Task {
            task_id: handle.as_str().into(),
            status: TaskStatus::Failed,
            status_message: None,
            created_at: Some(now.clone()),
            last_updated_at: Some(now),
            ttl_ms: Some(0),
            poll_interval_ms: None,
            rest: Object::new(),
        };
        let error = ErrorObject::new(
            codes::SERVER_UNAVAILABLE,
            "the wait ended with the hub that began it; no message was lost, call wait again",
        );
        Outcome::Complete(task.to_modern_detailed(&TaskOutcome::Error(error)))
    }

    /// The result has gone out to the client whose task it was.
    fn written(&self, number: u64) {
        let mut known = self.known();
        let wait = known.waits.get_mut(&number);
        let handed = wait.and_then(|wait| match &mut wait.end {
            End::Done(_, handed) => handed.take(),
            End::None | End::Cancelled => None,
        });
        drop(known);
        if let Some(handed) = handed {
            handed.written();
        }
    }
}

// === impl Known ===

impl Known {
    fn find(&self, caller: &Caller, handle: &TaskHandle) -> Option<(u64, &Wait)> {
        let mut waits = self.waits.iter();
        let is_own = |wait: &Wait| wait.client == caller.principal.client && wait.handle == *handle;
        let (number, wait) = waits.find(|(_, wait)| is_own(wait))?;
        Some((*number, wait))
    }

    /// Whether a client may have one more, for which what it has read or called off
    /// makes room.
    fn has_room(&mut self, client: &ClientId) -> bool {
        let own = |wait: &Wait| wait.client == *client;
        let count = self.waits.values().filter(|wait| own(wait)).count();
        if count < OWN_MAX && self.waits.len() < ALL_MAX {
            return true;
        }
        let mut waits = self.waits.iter();
        let over = waits.find(|(_, wait)| own(wait) && wait.is_over());
        let Some(number) = over.map(|(number, _)| *number) else {
            return false;
        };
        if let Some(running) = self.waits.remove(&number).and_then(|wait| wait.running) {
            running.abort();
        }
        true
    }
}

// === impl Wait ===

impl Wait {
    /// Whether nobody misses it: it was called off, or what it brought has gone out.
    fn is_over(&self) -> bool {
        match &self.end {
            End::None => false,
            End::Done(_, handed) => handed.is_none(),
            End::Cancelled => true,
        }
    }

    fn task(&self) -> Task {
        let status = match self.end {
            End::None => TaskStatus::Working,
            End::Done(..) => TaskStatus::Completed,
            End::Cancelled => TaskStatus::Cancelled,
        };
        Task {
            task_id: self.handle.as_str().into(),
            status,
            status_message: None,
            created_at: Some(self.created.clone()),
            last_updated_at: Some(self.changed.clone()),
            ttl_ms: i64::try_from(self.ttl.as_millis()).ok(),
            poll_interval_ms: Some(POLL_MS),
            rest: Object::new(),
        }
    }

    fn outcome(&self) -> TaskOutcome {
        match &self.end {
            End::None | End::Cancelled => TaskOutcome::None,
            End::Done(result, _) => TaskOutcome::Result(result.clone()),
        }
    }
}

// === impl Carried ===

impl Delivery for Carried {
    fn written(self: Box<Self>) {
        self.tasks.written(self.number);
    }
}
