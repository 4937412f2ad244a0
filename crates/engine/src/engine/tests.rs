//! The engine on a real store, with runs that do as a test says.

mod asked;
mod beside;
mod bounds;
mod kept;
mod moved;
mod office;
mod shared;

use std::future::Future;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use legation_api::conversation::{Body, Source};
use legation_api::tasks::{Class, NewTask, TaskState, TaskView, ToolCallView};
use legation_core::{ClientId, EntityId, EntityLabels, SeatId, SystemClock, TaskId, TaskSet};
use legation_keystore::Keystore;
use legation_store::{Store, StoreOptions};
use tempfile::TempDir;

use super::office::LEASE;
use super::{Asker, Base, Drive, Engine, Seat, Submitter};
use crate::EngineSettings;
use crate::queue::Hold;
use crate::record::{CallEnd, Intent, NewEntry, RunEnd, Said, TurnRecord};

/// A data directory.
struct Place {
    folder: TempDir,
    settings: EngineSettings,
}

/// An engine that runs.
struct Running {
    engine: Engine,
    store: Arc<Store>,
    tasks: TaskSet,
}

impl Place {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().expect("a folder"),
            settings: EngineSettings::default(),
        }
    }

    fn keystore(&self) -> Arc<Keystore> {
        Arc::new(Keystore::open(&self.folder.path().join("keys")).expect("opened"))
    }

    fn database(&self) -> PathBuf {
        self.folder.path().join("state.db")
    }

    /// Starts an engine whose runs are `run`.
    async fn start<F, R>(&self, run: F) -> Running
    where
        F: Fn(Seat, TaskId) -> R + Send + Sync + 'static,
        R: Future<Output = RunEnd> + Send + 'static,
    {
        let drive: Drive = Box::new(move |seat, task| Box::pin(run(seat, task)));
        let store = Store::open(&self.database(), StoreOptions::default()).expect("opened");
        let store = Arc::new(store);
        let tasks = TaskSet::new();
        let base = Base {
            store: Arc::clone(&store),
            keystore: self.keystore(),
            clock: SystemClock::shared(),
            settings: self.settings.clone(),
            tasks: tasks.clone(),
            runtime: tokio::runtime::Handle::current(),
            let_go: Box::new(|_| {}),
            lease: LEASE,
            open_bytes_max: usize::MAX,
        };
        let engine = Engine::open_with(base, drive).await.expect("opened");
        Running {
            engine,
            store,
            tasks,
        }
    }
}

impl Running {
    /// Ends it as a crash does: nobody is told.
    async fn crash(self) {
        self.tasks.shutdown().await;
        drop(self.engine);
        // A thread that just read for a task lets go of it a moment later.
        let mut store = self.store;
        for _ in 0..1_000 {
            store = match Arc::try_unwrap(store) {
                Ok(_last) => return,
                Err(held) => held,
            };
            // tidy: it looks again until it is so, and time decides nothing.
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("somebody still has the store");
    }

    async fn submit(&self, from: &Submitter, message: &str) -> TaskView {
        let taken = self.engine.submit(from, new(message)).await;
        taken.expect("taken")
    }

    /// Waits until a task is so, and fails after ten seconds.
    async fn until(&self, id: &str, state: TaskState) -> TaskView {
        for _ in 0..1_000 {
            let view = self.engine.task(&Asker::Owner, id).await.expect("there");
            if view.status == state {
                return view;
            }
            // tidy: it looks again until it is so, and time decides nothing.
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let view = self.engine.task(&Asker::Owner, id).await;
        panic!("never {state:?}: {view:?}");
    }
}

fn agent(name: &str) -> Submitter {
    Submitter {
        client: ClientId::new(name),
        seat: SeatId::new(format!("{name}-1")),
        workspace: Some(PathBuf::from("/home/alex/project")),
        class: Class::Agent,
        is_owner: false,
        labels: EntityLabels::none(),
    }
}

fn human() -> Submitter {
    Submitter {
        class: Class::Human,
        is_owner: true,
        ..agent("owner")
    }
}

fn client(name: &str) -> Asker {
    Asker::Client {
        client: ClientId::new(name),
        workspace: None,
    }
}

fn of(entity: &str) -> EntityLabels {
    EntityLabels::of(EntityId::new(entity))
}

fn new(message: &str) -> NewTask {
    NewTask {
        message: message.to_owned(),
        ..NewTask::default()
    }
}

/// Answers with the message of the task, as an entry and a turn.
async fn echo(seat: Seat, task: TaskId) -> RunEnd {
    let loaded = seat.book.load(&task).await.expect("loaded");
    let response = format!("did: {}", loaded.new.message);
    let turn = turn(1, &response);
    let entry = NewEntry {
        session: loaded.session.clone(),
        task: Some(task.clone()),
        source: Source::Model,
        labels: loaded.labels.clone(),
        body: Body::Text {
            text: response.clone(),
            partial: false,
        },
    };
    let kept = seat.book.turn(&task, &turn, &loaded.labels, Some(entry));
    kept.await.expect("kept");
    RunEnd::Completed { response }
}

fn turn(step: u32, text: &str) -> TurnRecord {
    TurnRecord {
        step,
        until: 1,
        said: Said {
            text: text.to_owned(),
            ..Said::default()
        },
        memo: serde_json::json!({ "step": step }),
    }
}

fn intent(step: u32, changes: bool) -> Intent {
    Intent {
        step,
        place: 1,
        call_id: format!("call-{step}"),
        tool: "bash".to_owned(),
        arguments: r#"{"command":"make"}"#.to_owned(),
        changes,
        view: ToolCallView {
            tool: "bash".to_owned(),
            status: "running".to_owned(),
            path: None,
            command: Some("make".to_owned()),
            exit_code: None,
            lines: None,
            result_uri: None,
        },
        labels: EntityLabels::none(),
    }
}

fn ended(intent: &Intent, text: &str) -> CallEnd {
    CallEnd {
        background: None,
        text: text.to_owned(),
        is_error: false,
        view: ToolCallView {
            status: "success".to_owned(),
            ..intent.view.clone()
        },
    }
}

/// Works until it is told to end, and stands still when it is told to.
async fn work_on(seat: Seat, _task: TaskId) -> RunEnd {
    let control = &seat.control;
    let mut stands = false;
    loop {
        if control.cancelled().is_some() {
            return RunEnd::Cancelled;
        }
        if control.is_stopping() {
            return RunEnd::Paused;
        }
        let held = control.hold();
        if held == Some(Hold::Hard) && !stands {
            control.yielded();
        }
        stands = held == Some(Hold::Hard);
        control.changed().await;
    }
}

/// What runs did, in order.
#[derive(Clone, Default)]
struct Notes(Arc<Mutex<Vec<String>>>);

impl Notes {
    fn add(&self, note: impl Into<String>) {
        self.0.lock().expect("no panic").push(note.into());
    }

    fn all(&self) -> Vec<String> {
        self.0.lock().expect("no panic").clone()
    }
}
