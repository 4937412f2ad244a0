//! Several hubs with the same keys, at one PostgreSQL.

use std::sync::atomic::{AtomicUsize, Ordering};

use legation_store::DatabaseUrl;

use super::*;

#[path = "../../../../store/tests/contract/server.rs"]
#[expect(dead_code, reason = "the store's own tests use all of it")]
mod server;

use server::Server;

/// So long a hub that is not heard of keeps its tasks.
const SHORT: Duration = Duration::from_millis(1_500);

struct Shared<'a> {
    server: &'a Server,
    database: String,
    keystore: Arc<Keystore>,
}

impl Shared<'_> {
    /// A hub whose runs count, and end when `ends` says so.
    async fn hub(&self, runs: &Arc<AtomicUsize>, ends: bool) -> Running {
        let counted = Arc::clone(runs);
        let drive: Drive = Box::new(move |seat, task| {
            counted.fetch_add(1, Ordering::SeqCst);
            Box::pin(async move {
                if ends {
                    let response = format!("{task} is done");
                    return RunEnd::Completed { response };
                }
                while !seat.control.is_stopping() && seat.control.cancelled().is_none() {
                    seat.control.changed().await;
                }
                RunEnd::Paused
            })
        });
        let url = self.server.url(&self.database);
        let opened = tokio::task::spawn_blocking(move || {
            let url = DatabaseUrl::parse(&url, |_| None).expect("an address");
            Store::connect(&url).expect("connected")
        });
        let store = Arc::new(opened.await.expect("opened"));
        let tasks = TaskSet::new();
        let base = Base {
            store: Arc::clone(&store),
            keystore: Arc::clone(&self.keystore),
            clock: SystemClock::shared(),
            settings: EngineSettings::default(),
            tasks: tasks.clone(),
            runtime: tokio::runtime::Handle::current(),
            let_go: Box::new(|_| {}),
            lease: SHORT,
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

#[tokio::test(flavor = "multi_thread")]
async fn one_hub_works_on_a_task_and_another_when_it_is_gone() {
    let server = tokio::task::spawn_blocking(Server::start)
        .await
        .expect("a server");
    let (server, database) = tokio::task::spawn_blocking(move || {
        let database = server.database();
        (server, database)
    })
    .await
    .expect("a database");
    let folder = tempfile::tempdir().expect("a folder");
    let keystore = Keystore::open(&folder.path().join("keys")).expect("opened");
    let shared = Shared {
        server: &server,
        database,
        keystore: Arc::new(keystore),
    };
    let (at_first, at_second) = (Arc::default(), Arc::default());
    let first = shared.hub(&at_first, false).await;
    let task = first.submit(&agent("claude"), "work").await.task_id;
    first.until(&task, TaskState::InProgress).await;
    let second = shared.hub(&at_second, true).await;
    // A second hub works on its own, and leaves alone what the first is at: it has looked more
    // than once by the time the first would have lost it.
    let began = SystemClock::shared().now();
    while SystemClock::shared().now().duration_since(began) < SHORT * 2 {
        let own = second.submit(&agent("codex"), "more").await.task_id;
        second.until(&own, TaskState::Completed).await;
    }
    let own = at_second.load(Ordering::SeqCst);
    let view = second
        .engine
        .task(&Asker::Owner, &task)
        .await
        .expect("there");
    assert_eq!(view.status, TaskState::InProgress);
    assert_eq!(at_first.load(Ordering::SeqCst), 1);

    // The first is gone without a word.
    let Running {
        engine,
        store,
        tasks,
    } = first;
    tasks.shutdown().await;
    second.until(&task, TaskState::Completed).await;
    assert_eq!(at_second.load(Ordering::SeqCst), own + 1, "it went on once");

    // It was only asleep: what it wants to store now is not its own any more.
    let id = TaskId::new(&*task);
    let late = engine.core.book.finish(&id, TaskState::Failed, |_| {});
    let late = late.await.expect_err("refused");
    assert!(late.is_taken_over(), "{late:?}");
    let view = second
        .engine
        .task(&Asker::Owner, &task)
        .await
        .expect("there");
    assert_eq!(view.status, TaskState::Completed);
    drop((engine, store));
    second.tasks.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_that_leaves_in_order_is_followed_at_once() {
    let (server, database) = tokio::task::spawn_blocking(|| {
        let server = Server::start();
        let database = server.database();
        (server, database)
    })
    .await
    .expect("a server");
    let folder = tempfile::tempdir().expect("a folder");
    let keystore = Keystore::open(&folder.path().join("keys")).expect("opened");
    let shared = Shared {
        server: &server,
        database,
        keystore: Arc::new(keystore),
    };
    let runs: Arc<AtomicUsize> = Arc::default();
    let first = shared.hub(&runs, false).await;
    let task = first.submit(&agent("claude"), "work").await.task_id;
    first.until(&task, TaskState::InProgress).await;
    first.engine.stop().await;
    let leases = {
        let store = Arc::clone(&first.store);
        move || store.lease_expired("engine/", Duration::from_secs(3_600), 9)
    };
    // What was given back is over since for ever; what only ran out is left alone for an hour.
    let left = tokio::task::spawn_blocking(leases.clone()).await;
    assert_eq!(left.expect("asked").expect("listed").len(), 1);
    let second = shared.hub(&runs, true).await;
    second.until(&task, TaskState::Completed).await;
    let left = tokio::task::spawn_blocking(leases).await;
    assert_eq!(
        left.expect("asked").expect("listed"),
        [""; 0],
        "it is removed with its last task"
    );
    assert_eq!(runs.load(Ordering::SeqCst), 2);
    first.tasks.shutdown().await;
    second.tasks.shutdown().await;
}
