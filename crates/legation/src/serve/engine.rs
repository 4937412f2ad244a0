//! Delegated tasks in the hub.

use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::future::BoxFuture;
use legation_cli::CliError;
use legation_config::agents::{self, Agent, AgentFiles};
use legation_config::{Problem, Settings};
use legation_core::{EntityId, Home, SeatId, TaskSet};
use legation_engine::{
    AgentServers, Engine, EngineParts, EngineSettings, Finished, HintSettings, Started,
};
use legation_events::{Journal, Kind, Noted};
use legation_store::Store;
use legation_wire::json::{Object, Raw};
use tokio::sync::broadcast::error::RecvError;

use super::hub::Inner;
use super::{delegate, natives};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The engine of a hub that starts: it goes on with what the last one left, so the rules must be in
/// force by now.
pub(super) async fn open(
    inner: &Arc<Inner>,
    settings: &Settings,
    (store, tasks): (&Arc<Store>, &TaskSet),
    journal: &Arc<Journal>,
) -> Result<(), CliError> {
    let engine = Engine::open(EngineParts {
        store: Arc::clone(store),
        keystore: Arc::clone(&inner.keystore),
        clock: inner.clock.clone(),
        gate: Arc::clone(&inner.gate),
        models: Arc::clone(&inner.models),
        agents: agent_files(&inner.home),
        servers: Arc::new(HostServers {
            inner: Arc::downgrade(inner),
        }),
        turns: inner.turns.clone(),
        settings: settings_of(settings),
        tasks: tasks.clone(),
        runtime: tokio::runtime::Handle::current(),
    });
    let engine = engine
        .await
        .map_err(|error| CliError::failed(&error).with_hint(error.hint()))?;
    tell(tasks, &engine, journal);
    let news = natives::news(&inner.host, &inner.windows);
    delegate::run(tasks, &engine, &inner.host, news);
    inner.windows.open_engine(&engine);
    inner.engine.get_or_init(|| engine);
    Ok(())
}

/// Servers of agents, run by the host.
#[derive(Debug)]
struct HostServers {
    inner: Weak<Inner>,
}

impl AgentServers for HostServers {
    fn start(&self, seat: &SeatId, agent: &Agent) -> BoxFuture<'static, Started> {
        let (inner, seat, agent) = (self.inner.clone(), seat.clone(), agent.clone());
        Box::pin(async move {
            let Some(inner) = inner.upgrade() else {
                return Started {
                    held: Box::new(()),
                    problems: vec!["the hub stops".to_owned()],
                };
            };
            let home = inner.home.clone();
            let loaded = tokio::task::spawn_blocking(move || agents::servers(&home, &agent)).await;
            let mut loaded = loaded.unwrap_or_default();
            legation_cli::withhold(&inner.gate.rules(), &mut loaded.servers);
            let problems = loaded.problems.iter();
            let mut problems: Vec<String> = problems.map(said).collect();
            let (lent, failed) = inner.host.lend(&seat, loaded.servers).await;
            // What rules may speak of, and which secrets are masked, follows.
            inner.reload();
            problems.extend(failed);
            Started {
                held: Box::new(lent),
                problems,
            }
        })
    }
}

fn said(problem: &Problem) -> String {
    let server = problem.server.as_deref().unwrap_or("its file");
    format!("{server}: {} ({})", problem.message, problem.hint)
}

/// Custom agents and the wishes of folders; those of a folder are believed where the owner trusts
/// what it brings along.
fn agent_files(home: &Home) -> AgentFiles {
    let place = home.clone();
    AgentFiles::new(home.root(), move |folder| {
        let trust = legation_config::trust::Trust::load(&place);
        trust.folders().any(|trusted| trusted == folder)
    })
}

/// Tells those who follow events of tasks that are over.
fn tell(tasks: &TaskSet, engine: &Engine, journal: &Arc<Journal>) {
    let mut finished = engine.finished();
    let journal = Arc::clone(journal);
    tasks.spawn("events of delegated tasks", async move {
        loop {
            match finished.recv().await {
                Ok(task) => journal.note(noted(task)),
                Err(RecvError::Lagged(missed)) => {
                    tracing::warn!(missed, "tasks ended faster than they were told");
                }
                Err(RecvError::Closed) => return,
            }
        }
    });
}

fn noted(finished: Finished) -> Noted {
    let id = finished.task.as_str();
    // An event has one entity. Of several the first stands for all: what is told says nothing of
    // any but that the task is over, and only to its own client.
    let entity = finished.labels.iter().next().cloned();
    Noted {
        kind: Kind::TaskCompleted,
        // The id is unique.
        of: id.to_owned(),
        at: finished.at,
        entity: entity.filter(|entity| *entity != EntityId::personal()),
        data: Object::new()
            .with("taskId", Raw::str(id))
            .with("status", Raw::str(finished.state.as_str())),
        client: finished.client,
    }
}

/// `[delegate]` as the engine has it.
pub(super) fn settings_of(settings: &Settings) -> EngineSettings {
    let text = |text: &Option<Box<str>>| text.as_deref().map(str::to_owned);
    let delegate = &settings.delegate;
    let hints = delegate.hints.iter().map(|(name, hint)| {
        let choice = HintSettings {
            provider: text(&hint.provider),
            model: text(&hint.model),
            tools: hint.tools.iter().map(ToString::to_string).collect(),
            check_command: text(&hint.check_command),
            agent: text(&hint.agent),
        };
        (name.to_string(), choice)
    });
    EngineSettings {
        enabled: delegate.enabled,
        provider: text(&delegate.provider),
        model: text(&delegate.model),
        max_concurrent_tasks: delegate.max_concurrent_tasks,
        queue_max: delegate.queue_max,
        turns_max: delegate.turns_max,
        tokens_max: delegate.tokens_max,
        wall_clock: delegate.wall_clock,
        check_tries: delegate.check_tries,
        age_after: delegate.age_after,
        age_turns: delegate.age_turns,
        keep: delegate.keep_days.map(|days| DAY * days),
        hints: hints.collect(),
    }
}
