//! Tasks: a server's own, known to clients under handles of the hub's.
//!
//! The neutral shape is the one of the tasks extension. A legacy server's task
//! (2025-11-25) asks its questions as requests of its own, on the stream of a
//! `tasks/result`; the hub keeps such a request open for each of them and
//! shows the questions as `inputRequests`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use legation_core::{Caller, ClientId, ServerName, TaskHandle};
use legation_gate::policy::{Permitted, PinState, Target, Verb};
use legation_gate::{HubEvent, ListKind, Outcome, TaskWish, Unresolved};
use legation_store::{Store, Task as Row};
use legation_wire::codes;
use legation_wire::json::{Limits, Object, Raw};
use legation_wire::message::ErrorObject;
use legation_wire::translate::Task;

use crate::call::Conversation;
use crate::common::Common;
use crate::port::AskKey;
use crate::roster::Roster;
use crate::server::Server;

mod carrier;
mod follow;
mod verbs;

pub(crate) use carrier::Carrier;
pub(crate) use verbs::run;

/// How long a handle is kept at most, in milliseconds; servers keep tasks for
/// ever unless they say otherwise.
const KEPT_MS: i64 = 30 * 24 * 60 * 60 * 1_000;

/// Tasks whose server can be asked to report them.
const WATCHED_MAX: usize = 1_000;

/// What is known of tasks in this run, beside what the store holds.
#[derive(Debug, Default)]
pub(crate) struct Tasks {
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// Whose task a server's own id stands for.
    by_upstream: HashMap<(ServerName, Box<str>), Owned>,
    /// The open requests of legacy tasks.
    carriers: HashMap<TaskHandle, Arc<Carrier>>,
}

/// Whose a task is.
#[derive(Debug, Clone)]
struct Owned {
    handle: TaskHandle,
    client: ClientId,
    /// When it is forgotten, in milliseconds since 1970.
    ends_ms: i64,
    /// Whether nothing of it will change any more.
    done: bool,
}

/// A task of the store's.
#[derive(Debug, Clone)]
pub(crate) struct Stored {
    /// The row.
    pub(crate) row: Row,
    /// The tool that was called.
    pub(crate) tool: Box<str>,
    /// Whether it has the shape of 2025-11-25.
    pub(crate) legacy: bool,
}

// === impl Tasks ===

impl Tasks {
    /// The tasks an earlier run left.
    pub(crate) fn recall(store: &Store) -> Self {
        let tasks = Self::default();
        match store.task_list(None) {
            Ok(rows) => {
                let mut known = tasks.known();
                for row in rows {
                    let owned = Owned::of(&row);
                    let id = (row.server, row.upstream.into());
                    known.by_upstream.insert(id, owned);
                }
            }
            Err(error) => {
                let error = legation_core::error::chain(&error);
                tracing::warn!(
                    error,
                    "tasks could not be recalled; their changes go unreported"
                );
            }
        }
        tasks
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that nothing of a task will change any more, and lets go of its
    /// open request: what it brought has been read.
    fn done(&self, server: &ServerName, upstream: &str, handle: &TaskHandle) {
        let mut known = self.known();
        let id = (server.clone(), upstream.into());
        if let Some(owned) = known.by_upstream.get_mut(&id) {
            owned.done = true;
        }
        known.carriers.remove(handle);
    }

    /// The open request of a legacy task.
    fn carrier(&self, handle: &TaskHandle) -> Option<Arc<Carrier>> {
        self.known().carriers.get(handle).cloned()
    }

    /// Hands a question that names its task (`_meta`, related task) to that
    /// task. Gives false when there is no such task.
    pub(crate) fn hand_to_task(
        &self,
        server: &ServerName,
        upstream: &str,
        key: &AskKey,
        method: &str,
        params: Option<&Raw>,
    ) -> bool {
        let known = self.known();
        let id = (server.clone(), upstream.into());
        let Some(owned) = known.by_upstream.get(&id) else {
            return false;
        };
        let Some(carrier) = known.carriers.get(&owned.handle) else {
            return false;
        };
        carrier.ask(carrier::To::Connection(key.clone()), method, params);
        true
    }
}

// === impl Known ===

impl Known {
    /// Forgets tasks whose time is over.
    fn forget_ended(&mut self, now_ms: i64) {
        let Self {
            by_upstream,
            carriers,
        } = self;
        by_upstream.retain(|_, owned| {
            let kept = owned.ends_ms > now_ms;
            if !kept {
                carriers.remove(&owned.handle);
            }
            kept
        });
    }
}

// === impl Owned ===

impl Owned {
    fn of(row: &Row) -> Self {
        Self {
            handle: row.handle.clone(),
            client: row.client.clone(),
            ends_ms: row.created_ms.saturating_add(row.ttl_ms.unwrap_or(KEPT_MS)),
            done: false,
        }
    }
}

/// A server answered a call with a task. For a client that takes tasks it gets
/// a handle, stored before the answer; for others it is followed to its end.
pub(crate) async fn begun(
    conversation: &mut Conversation,
    permitted: &Permitted,
    wish: TaskWish,
    answer: &Raw,
    legacy: bool,
) -> Outcome {
    let task = match Task::parse(answer) {
        Ok(task) => task,
        Err(error) => return conversation.broke(error.to_string()),
    };
    if wish == TaskWish::Never {
        return follow::follow(conversation, task, legacy).await;
    }
    match register(conversation, permitted, task, legacy) {
        Ok(task) => Outcome::Task(task),
        Err(reason) => conversation.broke(reason),
    }
}

fn register(
    conversation: &Conversation,
    permitted: &Permitted,
    mut task: Task,
    legacy: bool,
) -> Result<Object, String> {
    let common = &conversation.server.common;
    let handle = TaskHandle::random().map_err(|error| format!("no randomness: {error}"))?;
    let caller = &conversation.context.caller;
    let row = Row {
        handle: handle.clone(),
        client: caller.principal.client.clone(),
        server: conversation.server.spec.name.clone(),
        seat: caller.seat.clone(),
        upstream: task.task_id.to_string(),
        created_ms: common.clock.wall().0,
        ttl_ms: Some(task.ttl_ms.unwrap_or(KEPT_MS).min(KEPT_MS)),
        state: Object::new()
            .with("tool", Raw::str(&permitted.target().item))
            .with("legacy", Raw::bool(legacy))
            .to_raw()
            .as_bytes()
            .to_vec(),
    };
    // A handle that would not survive the hub must not be given out.
    common.store.task_put(&row).map_err(|error| {
        let error = legation_core::error::chain(&error);
        format!("its task could not be stored: {error}")
    })?;
    // Rows whose time is over are of no use to anybody; that they could not be
    // removed is for the next time.
    drop(common.store.task_expire(common.clock.wall().0));
    let mut known = common.tasks.known();
    known.forget_ended(common.clock.wall().0);
    let owned = Owned::of(&row);
    let id = (row.server, std::mem::take(&mut task.task_id));
    if legacy {
        let carrier = Carrier::open(conversation, handle.clone(), id.1.clone());
        known.carriers.insert(handle.clone(), carrier);
    }
    known.by_upstream.insert(id, owned);
    drop(known);
    conversation.flight.instance.nudge.notify_one();
    task.task_id = handle.as_str().into();
    Ok(task.to_modern())
}

/// A server reported a task: tells its client, under its handle.
pub(crate) fn moved(common: &Common, server: &Server, params: &Raw) {
    let Ok(mut task) = Task::parse(params) else {
        server.log.note("it reported a task that is none");
        return;
    };
    let id = (server.spec.name.clone(), task.task_id.clone());
    let found = {
        let mut known = common.tasks.known();
        let found = known.by_upstream.get_mut(&id);
        found.map(|owned| {
            owned.done |= task.status.is_terminal();
            owned.clone()
        })
    };
    let Some(owned) = found else {
        return;
    };
    task.task_id = owned.handle.as_str().into();
    common.tell(HubEvent::TaskChanged {
        client: owned.client,
        task: task.to_modern(),
    });
}

/// The tasks a modern server is asked to report.
pub(crate) fn watched(common: &Common, server: &Server) -> Vec<Box<str>> {
    let known = common.tasks.known();
    let mut ids: Vec<Box<str>> = known
        .by_upstream
        .iter()
        .filter(|((name, _), owned)| *name == server.spec.name && !owned.done)
        .map(|((_, id), _)| id.clone())
        .take(WATCHED_MAX)
        .collect();
    ids.sort();
    ids
}

/// The handles of a caller's tasks, oldest first.
pub(crate) fn list(common: &Common, caller: &Caller) -> Vec<TaskHandle> {
    match common.store.task_list(Some(&caller.principal.client)) {
        Ok(rows) => {
            let now = common.clock.wall().0;
            let kept = rows.into_iter().filter(|row| !is_over(row, now));
            kept.map(|row| row.handle).collect()
        }
        Err(error) => {
            let error = legation_core::error::chain(&error);
            tracing::warn!(error, "tasks could not be listed");
            Vec::new()
        }
    }
}

/// A task of the caller's. Another client's is as unknown as none.
pub(crate) fn find(
    common: &Common,
    caller: &Caller,
    handle: &TaskHandle,
) -> Result<Stored, Unresolved> {
    let unknown = || Unresolved::Unknown {
        what: "task",
        name: handle.as_str().into(),
    };
    let row = match common.store.task_get(handle) {
        Ok(row) => row.ok_or_else(unknown)?,
        Err(error) => {
            let error = legation_core::error::chain(&error);
            tracing::warn!(error, "a task could not be read");
            return Err(unknown());
        }
    };
    if row.client != caller.principal.client || is_over(&row, common.clock.wall().0) {
        return Err(unknown());
    }
    let state = Raw::parse(row.state.clone().into(), &Limits::CLIENT).ok();
    let member = |key: &str| state.as_ref().and_then(|state| state.get(key));
    let tool = member("tool").and_then(|raw| raw.to_str().map(Box::from));
    Ok(Stored {
        tool: tool.ok_or_else(unknown)?,
        legacy: member("legacy").and_then(|raw| raw.to_bool()) == Some(true),
        row,
    })
}

/// What a decision about a task is about: the tool it came from.
pub(crate) fn target(
    common: &Common,
    roster: &Roster,
    caller: &Caller,
    handle: &TaskHandle,
) -> Result<Target, Unresolved> {
    let stored = find(common, caller, handle)?;
    let server = roster.find(caller, &stored.row.server);
    let server = server.ok_or_else(|| Unresolved::Unknown {
        what: "task",
        name: handle.as_str().into(),
    })?;
    let shown = server.shown(caller);
    let tool = shown
        .as_ref()
        .and_then(|shown| shown.definitions.list(ListKind::Tools).get(&stored.tool));
    Ok(Target {
        server: server.spec.name.clone(),
        verb: Verb::TaskUpdate,
        definition: tool.map(|tool| tool.hash),
        read_only_hint: tool.is_some_and(|tool| tool.read_only_hint),
        item: stored.tool,
        trusted: server.spec.trusted,
        origin: server.origin.clone(),
        entity: server.spec.entity.clone(),
        pin: PinState::Approved,
        native: None,
        fingerprint: Some(server.fingerprint),
    })
}

/// The answer to a handle that is nobody's.
pub(crate) fn unknown(handle: &TaskHandle) -> ErrorObject {
    let message = format!("there is no task {handle}");
    ErrorObject::new(codes::INVALID_PARAMS, &message)
}

fn is_over(row: &Row, now_ms: i64) -> bool {
    row.ttl_ms
        .is_some_and(|ttl| now_ms.saturating_sub(row.created_ms) >= ttl)
}
