//! What the native servers see of the hub they live in.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, OnceLock, Weak};

use futures_util::future::BoxFuture;
use legation_config::ExternalSettings;
use legation_core::clock::Wall;
use legation_core::error::chain;
use legation_core::{BootId, Caller, ClientId, EntityId, Home, OpContext, SharedClock, TaskSet};
use legation_engine::{Engine, Turns, WeakEngine};
use legation_entra::Accounts;
use legation_front::Front;
use legation_gate::approval::Bound;
use legation_gate::{Endpoint, Gate, HubEvent, ListKind, Listing, ServerSet};
use legation_host::{Host, Offer};
use legation_inbox::{Inbox, WatchedChats};
use legation_ledger::{Bounds, Evidence, Filter, Ledger, Note};
use legation_models::Models;
use legation_servers::audit::{Audit, AuditView, Event, Query};
use legation_servers::delegate::Delegate;
use legation_servers::hub::{ApprovalInfo, Hub, HubView, Meaning, ServerInfo, ServerText};
use legation_servers::identity::Identity;
use legation_servers::inbox::{ChatList, InboxServer};
use legation_servers::teams::{Activity, Teams};
use legation_servers::{Native, Natives, TaskNews, Views, Waiting};
use legation_store::Store;
use legation_wake::{BoardFile, Talk};
use legation_wire::json::{Limits, Object, Raw};

use super::console::EventLog;
use super::delegate::DelegateWindow;
use super::inbox::InboxWindow;

/// How far back a query reads, in records.
const SCAN_MAX: usize = 100_000;

/// Gate, front and engine stand before the servers and are made after them.
#[derive(Debug, Clone, Default)]
pub(super) struct Windows {
    gate: Arc<OnceLock<Weak<Gate>>>,
    front: Arc<OnceLock<Weak<Front>>>,
    board: Arc<OnceLock<(BoardFile, SharedClock)>>,
    engine: Arc<OnceLock<WeakEngine>>,
    /// Calls that wait for messages.
    waiting: Arc<OnceLock<Waiting>>,
    models: Arc<OnceLock<Weak<Models>>>,
    happened: Arc<OnceLock<Weak<EventLog>>>,
    /// What `find_tools` goes by beside words.
    meaning: Arc<OnceLock<Arc<Meaning>>>,
    /// What the native servers say of themselves.
    texts: Arc<OnceLock<Vec<ServerText>>>,
}

/// The native servers before the host's, and what the hub does with them
/// besides calling them.
#[derive(Debug)]
pub(super) struct Beside {
    pub(super) servers: Arc<dyn ServerSet>,
    pub(super) teams: Option<Teams>,
    /// Those that want to know of turns.
    pub(super) turns: Vec<Arc<dyn Turns>>,
}

#[derive(Debug)]
struct HubWindow {
    host: Arc<Host>,
    gate: Windows,
}

#[derive(Debug)]
struct LedgerWindow {
    ledger: Arc<Ledger>,
}

/// The native servers before the host's.
pub(super) fn beside(
    (host, ledger): (&Arc<Host>, &Arc<Ledger>),
    accounts: &Arc<Accounts>,
    (store, clock): (&Arc<Store>, &SharedClock),
    (inbox, watched): (&Arc<Inbox>, &WatchedChats),
    (windows, tasks, boot): (&Windows, &TaskSet, &BootId),
    (external, more): (&ExternalSettings, Vec<Arc<dyn Native>>),
    is_wanted: &dyn Fn(&str) -> bool,
) -> Beside {
    let hub = Hub::new(Arc::new(HubWindow {
        host: Arc::clone(host),
        gate: windows.clone(),
    }))
    .with_meaning(windows.meaning.get().cloned());
    let audit = Audit::new(Arc::new(LedgerWindow {
        ledger: Arc::clone(ledger),
    }));
    let views = Arc::new(HubWindow {
        host: Arc::clone(host),
        gate: windows.clone(),
    });
    let view = InboxWindow {
        gate: windows.clone(),
    };
    let news = news(host, windows);
    let mut inbox = InboxServer::new(Arc::clone(inbox), Arc::new(view)).with_tasks(
        tasks.clone(),
        news,
        (Arc::clone(clock), boot),
    );
    if !accounts.is_empty() {
        let settings = accounts.settings().iter();
        inbox = inbox.with_chats(ChatList {
            watched: watched.clone(),
            entities: settings
                .map(|account| (account.name.clone(), account.entity.clone()))
                .collect(),
            clock: Arc::clone(clock),
        });
    }
    windows.waiting.get_or_init(|| inbox.waiting().clone());
    let inbox = Arc::new(inbox);
    let mut natives: Vec<Arc<dyn Native>> =
        vec![Arc::new(hub), Arc::new(audit), Arc::clone(&inbox) as _];
    // Without an account these could only refuse.
    let teams = (!accounts.is_empty()).then(|| {
        let identity = Identity::new(Arc::clone(accounts));
        natives.push(Arc::new(identity.with_unread(Arc::clone(&inbox) as _)));
        let activity = Arc::new(windows.clone());
        let (accounts, store) = (Arc::clone(accounts), Arc::clone(store));
        let teams = Teams::new(accounts, store, Arc::clone(clock), activity);
        natives.push(Arc::new(teams.clone()));
        teams
    });
    if external.enabled {
        let view = Arc::new(DelegateWindow {
            windows: windows.clone(),
        });
        let (limit, clock) = (external.rate_limit, Arc::clone(clock));
        natives.push(Arc::new(Delegate::new(view, limit, clock)));
    }
    natives.extend(more);
    natives.retain(|native| is_wanted(native.name()));
    windows.texts.get_or_init(|| {
        let natives = natives.iter();
        let text = |native: &Arc<dyn Native>| ServerText {
            name: native.name().to_owned(),
            title: String::new(),
            instructions: native.instructions().map(str::to_owned),
        };
        natives.map(text).collect()
    });
    let natives = Natives::new(natives, Arc::clone(host) as Arc<dyn ServerSet>, views);
    host.set_offers(
        natives
            .offered()
            .map(|(name, [tools, prompts], instructions)| {
                let offer = Offer {
                    tools: tools.to_vec(),
                    prompts: prompts.to_vec(),
                    instructions,
                };
                (name.clone(), offer)
            }),
    );
    Beside {
        turns: natives.turns(),
        servers: Arc::new(natives.with_unread(inbox)),
        teams,
    }
}

// === impl Windows ===

impl Windows {
    /// Lets the native servers see the catalogue through this gate.
    pub(super) fn open(&self, gate: &Arc<Gate>) {
        self.gate.get_or_init(|| Arc::downgrade(gate));
    }

    /// Lets the native servers see how much is to be done, and say who talks where.
    pub(super) fn open_front(&self, front: &Arc<Front>, home: &Home, clock: &SharedClock) {
        self.front.get_or_init(|| Arc::downgrade(front));
        let board = BoardFile::at(&home.wake());
        self.board.get_or_init(|| (board, clock.clone()));
    }

    /// Lets the native servers hand tasks in.
    pub(super) fn open_engine(&self, engine: &Engine) {
        self.engine.get_or_init(|| engine.downgrade());
    }

    pub(super) fn engine(&self) -> Option<Engine> {
        self.engine.get()?.upgrade()
    }

    /// Lets the server `hub` look for what is meant.
    pub(super) fn open_meaning(&self, meaning: Option<Arc<Meaning>>) {
        if let Some(meaning) = meaning {
            self.meaning.get_or_init(|| meaning);
        }
    }

    /// Why `find_tools` goes by words alone, where it should not.
    pub(super) fn meaning_problem(&self) -> Option<String> {
        self.meaning.get()?.problem()
    }

    /// Lets the server `delegate` say what it knows of models.
    pub(super) fn open_models(&self, models: &Arc<Models>) {
        self.models.get_or_init(|| Arc::downgrade(models));
    }

    pub(super) fn models(&self) -> Option<Arc<Models>> {
        self.models.get()?.upgrade()
    }

    /// Lets the native servers have it told that something happened.
    pub(super) fn open_log(&self, happened: &Arc<EventLog>) {
        self.happened.get_or_init(|| Arc::downgrade(happened));
    }

    pub(super) fn happened(&self) -> Option<Arc<EventLog>> {
        self.happened.get()?.upgrade()
    }

    pub(super) fn gate(&self) -> Option<Arc<Gate>> {
        self.gate.get()?.upgrade()
    }
}

impl Activity for Windows {
    fn calls(&self) -> usize {
        let front = self.front.get().and_then(Weak::upgrade);
        let calls = front.map_or(0, |front| front.calls());
        let waiting = self.waiting.get().map_or(0, Waiting::count);
        let calls = usize::try_from(calls).unwrap_or(usize::MAX);
        calls.saturating_sub(waiting)
    }

    fn talked(&self, caller: &Caller, chat: &str) {
        let Some((board, clock)) = self.board.get().cloned() else {
            return;
        };
        let talk = Talk {
            channel: "teams".to_owned(),
            chat: chat.to_owned(),
            client: caller.principal.client.to_string(),
            folder: caller.workspace.as_deref().map(Path::to_owned),
            at: clock.wall(),
        };
        // Nobody waits for it: without it an answer goes to who was active last.
        drop(tokio::task::spawn_blocking(move || {
            let noted = board.lock().and_then(|mut lock| {
                lock.board.talked(talk);
                lock.save()
            });
            if let Err(error) = noted {
                let error = chain(&error);
                tracing::warn!(error, "who talked in a chat could not be noted");
            }
        }));
    }
}

// === impl HubWindow ===

/// Tells clients of their tasks.
pub(super) fn news(host: &Arc<Host>, windows: &Windows) -> Arc<dyn TaskNews> {
    Arc::new(HubWindow {
        host: Arc::clone(host),
        gate: windows.clone(),
    })
}

impl TaskNews for HubWindow {
    fn moved(&self, client: &ClientId, task: Object) {
        let client = client.clone();
        self.host.announce(HubEvent::TaskChanged { client, task });
    }
}

impl Views for HubWindow {
    fn includes(&self, view: &str, server: &str) -> bool {
        self.host.view_includes(view, server)
    }
}

impl HubView for HubWindow {
    fn servers(&self, caller: &Caller) -> Vec<ServerInfo> {
        let servers = self.host.status_for(caller);
        servers
            .into_iter()
            .map(|server| ServerInfo {
                name: server.name.to_string(),
                hint: server.hint(),
                status: server.state.as_str(),
                tools: server.tools,
                title: server.title,
            })
            .collect()
    }

    fn tools(&self, context: &OpContext) -> Option<Arc<Listing>> {
        let gate = self.gate.gate()?;
        gate.listing(context, &Endpoint::All, ListKind::Tools).ok()
    }

    fn skills(&self, context: &OpContext) -> Option<Arc<Listing>> {
        let gate = self.gate.gate()?;
        gate.listing(context, &Endpoint::All, ListKind::Skills).ok()
    }

    fn texts(&self, caller: &Caller) -> Vec<ServerText> {
        let mut said: HashMap<_, _> = self.host.instructions(caller).into_iter().collect();
        let servers = self.host.status_for(caller).into_iter();
        let mut texts: Vec<ServerText> = servers
            .map(|server| ServerText {
                instructions: said.remove(&server.name),
                name: server.name.to_string(),
                title: server.title,
            })
            .collect();
        texts.extend_from_slice(self.gate.texts.get().map_or(&[], Vec::as_slice));
        texts
    }

    fn approvals(&self, caller: &Caller) -> Vec<ApprovalInfo> {
        let Some(gate) = self.gate.gate() else {
            return Vec::new();
        };
        let client = &caller.principal.client;
        let asking = gate.asking();
        let info = |id: &str, bound: &Bound, state: &str, expires_ms: i64| ApprovalInfo {
            id: id.to_owned(),
            call: format!("{}/{}", bound.server, bound.item),
            state: state.to_owned(),
            expires: Wall(expires_ms).to_string(),
        };
        let waiting = asking.approvals.open_of(client);
        let mut all: Vec<ApprovalInfo> = waiting
            .iter()
            .map(|open| {
                let state = open.state.as_str();
                info(open.id.as_str(), &open.bound, state, open.expires_ms)
            })
            .collect();
        let proposed = asking.proposals.list();
        all.extend(
            proposed
                .iter()
                .filter(|open| open.bound.client == *client)
                .map(|open| {
                    let state = match open.certified {
                        Some(_) => "granted",
                        None => "pending",
                    };
                    info(open.id.as_str(), &open.bound, state, open.expires_ms)
                }),
        );
        all
    }
}

// === impl LedgerWindow ===

impl AuditView for LedgerWindow {
    fn log(&self, context: &OpContext, event: Event) -> BoxFuture<'static, Result<(), String>> {
        let entity = EntityId::personal();
        let client = &context.caller.principal.client;
        let Event {
            action,
            resource,
            outcome,
        } = event;
        let text = format!("{action}: {resource}: {outcome}");
        let noted = self.ledger.note(&Note {
            client: Some(client),
            ..Note::new(&entity, "agent event", &text)
        });
        Box::pin(async move {
            let failed = |error| format!("{}; nothing was recorded", chain(&error));
            noted.await.map_err(failed)
        })
    }

    fn query(
        &self,
        context: &OpContext,
        query: Query,
    ) -> BoxFuture<'static, Result<Vec<Raw>, String>> {
        let ledger = Arc::clone(&self.ledger);
        let client = context.caller.principal.client.clone();
        Box::pin(async move {
            let filter = Filter {
                client: Some(client.as_str().to_owned()),
                server: query.server,
                item: query.item,
                agent_id: query.agent_id,
                status: query.status,
                ..Filter::default()
            };
            let bounds = Bounds {
                limit: query.limit,
                scan: SCAN_MAX,
            };
            let read = tokio::task::spawn_blocking(move || ledger.query(&filter, None, bounds));
            let page = read
                .await
                .map_err(|error| format!("the record was not read: {error}"))?
                .map_err(|error| chain(&error))?;
            let own = page.entries.into_iter();
            Ok(own
                .filter_map(|entry| Raw::parse(entry.text.into(), &Limits::CLIENT).ok())
                .collect())
        })
    }

    fn verify(&self, _context: &OpContext) -> BoxFuture<'static, Result<Raw, String>> {
        let ledger = Arc::clone(&self.ledger);
        Box::pin(async move {
            let checked = tokio::task::spawn_blocking(move || ledger.verify(&Evidence::default()));
            let report = checked
                .await
                .map_err(|error| format!("the record was not checked: {error}"))?
                .map_err(|error| chain(&error))?;
            let summary = serde_json::json!({
                "whole": report.is_intact(),
                "records": report.records,
            });
            Ok(Raw::from_serialize(&summary))
        })
    }
}
