//! Who is told of what servers do unasked: each event to those it is for, and
//! to nobody else.

mod listen;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use legation_core::{Caller, ServerName};
use legation_events::Events;
use legation_gate::{Audience, Endpoint, HubEvent, ListKind, Note};
use legation_wire::caps::ClientCapabilities;
use legation_wire::json::{Object, Raw};
use legation_wire::message::Message;
use legation_wire::translate::{Task, task_outcome};
use tokio::sync::broadcast::error::RecvError;

pub(crate) use self::listen::{Listen, listen, require_tasks, resource_owner};
use crate::outbox::{Outbox, Weight};
use crate::session::Session;
use crate::shared::{Held, Shared};

/// How long list changes are gathered: servers that start together change the
/// lists together, and a client reads a list again for every word of it.
const GATHER: Duration = Duration::from_millis(50);

/// Someone who may be told things.
#[derive(Debug)]
pub(crate) struct Watcher {
    pub(crate) caller: Caller,
    pub(crate) endpoint: Endpoint,
    pub(crate) outbox: Arc<Outbox>,
    pub(crate) interest: Interest,
}

/// What they want to hear.
#[derive(Debug)]
pub(crate) enum Interest {
    /// A handshake session: changes of lists, what it subscribed to, its logs
    /// and tasks.
    Session(Arc<Session>),
    /// `subscriptions/listen`: what its filter names.
    Listen(Listen),
}

/// Everyone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Watchers {
    table: Arc<Mutex<Table>>,
}

#[derive(Debug, Default)]
struct Table {
    last: u64,
    by_number: BTreeMap<u64, Arc<Watcher>>,
}

/// A place among the watchers, until dropped.
#[derive(Debug)]
pub(crate) struct WatchGuard {
    watchers: Watchers,
    number: u64,
}

/// A change of a list that was not told yet.
#[derive(Debug)]
struct Change {
    server: ServerName,
    kind: ListKind,
    audience: Audience,
    /// The last who was there when it happened: whoever came later has nothing
    /// to read again.
    witness: u64,
}

// === impl Watchers ===

impl Watchers {
    pub(crate) fn add(&self, watcher: Watcher) -> WatchGuard {
        let mut table = self.lock();
        table.last += 1;
        let number = table.last;
        table.by_number.insert(number, Arc::new(watcher));
        WatchGuard {
            watchers: self.clone(),
            number,
        }
    }

    fn all(&self) -> Vec<(u64, Arc<Watcher>)> {
        let table = self.lock();
        let all = table.by_number.iter();
        all.map(|(number, watcher)| (*number, Arc::clone(watcher)))
            .collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.lock().by_number.len()
    }

    fn last(&self) -> u64 {
        self.lock().last
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl WatchGuard ===

impl Drop for WatchGuard {
    fn drop(&mut self) {
        let gone = self.watchers.lock().by_number.remove(&self.number);
        drop(gone);
    }
}

/// Tells everyone, until the servers are gone or the hub stops.
pub(crate) async fn run(shared: Held) {
    let mut events = shared.servers().events();
    // Bounded by the number of servers, lists and seats: equal changes are one.
    let mut changes: Vec<Change> = Vec::new();
    let mut due: Option<tokio::time::Instant> = None;
    let mut event_types = shared.events.as_ref().map(Events::list_changed);
    loop {
        let gathered = async {
            match due {
                Some(due) => tokio::time::sleep_until(due).await,
                None => std::future::pending().await,
            }
        };
        let rules = async {
            if let Some(types) = &mut event_types
                && types.changed().await.is_ok()
            {
                return;
            }
            std::future::pending().await
        };
        tokio::select! {
            _ = shared.cancel.cancelled() => return,
            () = rules => {
                for (_, watcher) in shared.watchers.all() {
                    watcher.event_types_changed();
                }
            }
            () = gathered => {
                due = None;
                tell_changes(&shared, &std::mem::take(&mut changes));
            }
            event = events.recv() => match event {
                Ok(HubEvent::ListChanged { server, kind, audience }) => {
                    let witness = shared.watchers.last();
                    gather(&mut changes, Change { server, kind, audience, witness });
                    due = due.or_else(|| tokio::time::Instant::now().checked_add(GATHER));
                }
                Ok(event) => tell(&shared, &event),
                Err(RecvError::Lagged(missed)) => {
                    tracing::warn!(missed, "events came faster than they were told; every client is told to read its lists again");
                    for (_, watcher) in shared.watchers.all() {
                        ListKind::ALL.into_iter().for_each(|kind| watcher.list_changed(kind));
                    }
                }
                Err(RecvError::Closed) => return,
            },
        }
    }
}

fn gather(changes: &mut Vec<Change>, change: Change) {
    let same = changes.iter_mut().find(|known| {
        known.server == change.server
            && known.kind == change.kind
            && known.audience == change.audience
    });
    match same {
        Some(known) => known.witness = change.witness,
        None => changes.push(change),
    }
}

fn tell_changes(shared: &Shared, changes: &[Change]) {
    for (number, watcher) in shared.watchers.all() {
        for kind in [ListKind::Tools, ListKind::Resources, ListKind::Prompts] {
            let concerned = changes.iter().any(|change| {
                told_as(change.kind) == kind
                    && number <= change.witness
                    && watcher.sees(shared, &change.server, &change.audience)
            });
            if concerned {
                watcher.list_changed(kind);
            }
        }
    }
}

/// The list whose notification stands for a change of this one: templates and skills have none
/// of their own.
fn told_as(kind: ListKind) -> ListKind {
    match kind {
        ListKind::Resources | ListKind::Templates | ListKind::Skills => ListKind::Resources,
        ListKind::Tools | ListKind::Prompts => kind,
    }
}

fn tell(shared: &Shared, event: &HubEvent) {
    match event {
        HubEvent::ResourceUpdated {
            server,
            uri,
            params,
            audience,
        } => {
            for (_, watcher) in shared.watchers.all() {
                if watcher.sees(shared, server, audience) {
                    watcher.resource_updated(shared, (server, uri), params);
                }
            }
        }
        HubEvent::Logged {
            server,
            params,
            audience,
        } => {
            for (_, watcher) in shared.watchers.all() {
                // What a server logs is redacted for nobody.
                if watcher.sees(shared, server, audience)
                    && shared.gate.may_hear(&watcher.caller, server)
                {
                    watcher.logged(params);
                }
            }
        }
        HubEvent::TaskChanged { client, task } => {
            for (_, watcher) in shared.watchers.all() {
                if watcher.caller.principal.client == *client {
                    watcher.task_changed(shared, task);
                }
            }
        }
        HubEvent::Noted(note) => {
            let mut wanting = shared.watchers.all();
            wanting.retain(|(_, watcher)| {
                watcher.caller.principal.client == note.client
                    && watcher.wants(note)
                    && watcher.sees(shared, &note.server, &Audience::All)
            });
            let is_own = |watcher: &Watcher| note.seat.as_ref() == Some(&watcher.caller.seat);
            let is_there = wanting.iter().any(|(_, watcher)| is_own(watcher));
            for (_, watcher) in &wanting {
                if !is_there || is_own(watcher) {
                    watcher.noted(shared, note);
                }
            }
        }
        HubEvent::ListChanged { .. } | HubEvent::StatusChanged { .. } => {}
    }
}

/// Whether a client declared an experimental capability.
fn declares(capabilities: &ClientCapabilities, name: &str) -> bool {
    let experimental = capabilities.raw.get("experimental");
    experimental.is_some_and(|declared| declared.get(name).is_some())
}

// === impl Watcher ===

impl Watcher {
    fn sees(&self, shared: &Shared, server: &ServerName, audience: &Audience) -> bool {
        let meant = match audience {
            Audience::All => true,
            Audience::Seat(seat) => self.caller.seat == *seat,
            Audience::Workspace(folder) => self.caller.workspace.as_ref() == Some(folder),
        };
        meant
            && shared
                .servers()
                .covers(&self.caller, &self.endpoint, server)
    }

    fn list_changed(&self, kind: ListKind) {
        let method = match kind {
            ListKind::Tools => "notifications/tools/list_changed",
            ListKind::Resources | ListKind::Templates | ListKind::Skills => {
                "notifications/resources/list_changed"
            }
            ListKind::Prompts => "notifications/prompts/list_changed",
        };
        match &self.interest {
            Interest::Session(session) if session.is_ready() => self.send(method, None),
            Interest::Listen(listen) if listen.wants_list(kind) => {
                self.send(method, Some(listen.tag(Object::new())));
            }
            Interest::Session(_) | Interest::Listen(_) => {}
        }
    }

    fn event_types_changed(&self) {
        const METHOD: &str = "notifications/events/list_changed";
        match &self.interest {
            Interest::Listen(listen) if listen.wants_events() => {
                self.send(METHOD, Some(listen.tag(Object::new())));
            }
            Interest::Session(_) | Interest::Listen(_) => {}
        }
    }

    fn resource_updated(
        &self,
        shared: &Shared,
        (server, uri): (&ServerName, &str),
        params: &Object,
    ) {
        const METHOD: &str = "notifications/resources/updated";
        let params = || shared.gate.resource_pushed(&self.caller, server, params);
        match &self.interest {
            Interest::Session(session) if session.subscribes(uri, server) => {
                self.send(METHOD, Some(params().to_raw()));
            }
            Interest::Listen(listen) if listen.wants_resource(uri, server) => {
                self.send(METHOD, Some(listen.tag(params())));
            }
            Interest::Session(_) | Interest::Listen(_) => {}
        }
    }

    /// Listeners hear no logs (2026-07-28): those belong to requests.
    fn logged(&self, params: &Raw) {
        if let Interest::Session(session) = &self.interest
            && session.is_ready()
            && session.level().is_some_and(|level| level.lets(params))
        {
            self.send("notifications/message", Some(params.clone()));
        }
    }

    fn task_changed(&self, shared: &Shared, task: &Object) {
        let handle = task
            .get("taskId")
            .and_then(|id| id.to_str().map(|id| id.into_owned()));
        let Some(handle) = handle else { return };
        let task = || shared.gate.task_pushed(&self.caller, task);
        match &self.interest {
            Interest::Session(session) if session.knows_task(&handle) => {
                let Ok(mut task) = Task::parse(&task().to_raw()) else {
                    return;
                };
                // The result is fetched with tasks/result; here is only the state.
                drop(task_outcome(&mut task));
                self.send(
                    "notifications/tasks/status",
                    Some(task.to_legacy().to_raw()),
                );
            }
            Interest::Listen(listen) if listen.wants_task(&handle) => {
                self.send("notifications/tasks", Some(listen.tag(task())));
            }
            Interest::Session(_) | Interest::Listen(_) => {}
        }
    }

    /// Only a client that declared to understand such a note gets it, and over a listener
    /// only where its filter names it.
    fn wants(&self, note: &Note) -> bool {
        match &self.interest {
            Interest::Session(session) => {
                session.is_ready() && declares(&session.capabilities(), note.capability)
            }
            Interest::Listen(listen) => listen.wants_notes(note.capability),
        }
    }

    /// Tells whoever [wants](Self::wants) it.
    fn noted(&self, shared: &Shared, note: &Note) {
        let params = match shared.gate.may_hear_of(&self.caller, &note.entities) {
            true => note.params.clone(),
            false => note.bare.clone(),
        };
        let params = match &self.interest {
            Interest::Session(_) => params.to_raw(),
            Interest::Listen(listen) => listen.tag(params),
        };
        self.send(note.method, Some(params));
    }

    fn send(&self, method: &str, params: Option<Raw>) {
        self.outbox.push(
            Message::notification(method, params).to_bytes(),
            Weight::Droppable,
        );
    }
}
