//! Delegated tasks that the engine's model works on, through the hub: with real tools on a real
//! folder, and with a person who comes first.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use legation_api::AdminClient;
use legation_api::conversation::{Event, Follow, Open};
use legation_api::tasks::{NewTask, Show, Submit, TaskState, TaskView, Wait};
use legation_core::Home;
use serde_json::{Value, json};

use super::super::report::{Report, say};
use crate::harness::hub::{Hub, HubOptions};
use crate::harness::peer::{Peer, PeerEra, friendly};
use crate::harness::process::now;

const PATIENCE: Duration = Duration::from_secs(180);
/// How often a person comes first in the suite; a variable asks for more.
const ROUNDS: u64 = 25;
const ROUNDS_VARIABLE: &str = "LEGATION_PREEMPTIONS";
/// How often the person's time alone is measured.
const IDLE: u64 = 5;

const SETTINGS: &str = r#"
[delegate.hints.testing]
tools = ["read_file", "edit"]

[delegate.hints.general]
tools = ["bash"]

[external]
rate_limit = 100000
"#;

/// A hub whose model is the engine's.
struct Desk {
    hub: Hub,
    folder: tempfile::TempDir,
}

/// What was seen of the tasks of a hub.
struct Watch {
    events: mpsc::Receiver<(Instant, Event)>,
}

/// What one person's interruption took.
#[derive(Debug, Clone, Copy)]
struct Times {
    /// From what they said to the moment the other task stands still.
    dropped: Duration,
    /// From what they said to the first word of the answer.
    first: Duration,
}

/// Runs both.
pub(super) async fn run(url: &str, report: &mut Report) -> anyhow::Result<()> {
    let (checked, preempted) = ("task: held by its check", "task: a person comes first");
    if report.wants(checked) {
        let desk = Desk::start(url).await?;
        report.check(checked, desk.checked().await);
    }
    if report.wants(preempted) {
        let desk = Desk::start(url).await?;
        report.check(preempted, desk.preempted().await);
    }
    Ok(())
}

// === impl Desk ===

impl Desk {
    async fn start(url: &str) -> anyhow::Result<Self> {
        let hub = Hub::start(HubOptions {
            servers: json!({}),
            settings: SETTINGS.to_owned(),
            ..HubOptions::default()
        })
        .await?;
        for arguments in [
            &["models", "set", "enable", "local_model", "--endpoint", url] as &[&str],
            &["models", "set", "default", "local_model"],
        ] {
            let (code, said, complained) = hub.run(arguments).await?;
            ensure!(code == 0, "{said}{complained}");
        }
        Ok(Self {
            hub,
            folder: tempfile::tempdir()?,
        })
    }

    fn admin(&self) -> anyhow::Result<AdminClient> {
        let client = AdminClient::connect(&Home::at(self.hub.home()), "test")?;
        client.context("no hub is there")
    }

    /// A change that is wrong at first: the check holds it until it is right.
    async fn checked(&self) -> anyhow::Result<()> {
        let folder = self.folder.path();
        std::fs::write(folder.join("add.sh"), "echo $(( $1 - $2 ))\n")?;
        let check = "test \"$(sh add.sh 2 3)\" = 5 || { echo '2 and 3 are not 5'; exit 7; }";
        std::fs::write(folder.join("check.sh"), check)?;
        let edit = |old: &str, new: &str| {
            let arguments = json!({"path": "add.sh", "old_text": old, "new_text": new});
            called("edit", &arguments)
        };
        let script = [
            called("read_file", &json!({"path": "add.sh"})),
            edit("$1 - $2", "$1 * $2"),
            "The script adds now.".to_owned(),
            edit("$1 * $2", "$1 + $2"),
            "Now it really adds.".to_owned(),
        ];
        let message = format!("Mend add.sh. SCRIPT[[{}]]SCRIPT", script.join("||"));
        let arguments = [
            "run",
            "--json",
            "--hint",
            "testing",
            "--check",
            "sh check.sh",
            &message,
        ];
        let mut run = self.hub.command(&arguments)?;
        let ended = run.current_dir(folder).output();
        let ended = tokio::time::timeout(PATIENCE, ended).await??;
        let said = String::from_utf8_lossy(&ended.stdout);
        let complained = String::from_utf8_lossy(&ended.stderr);
        let view: Value = serde_json::from_str(said.lines().last().unwrap_or_default())
            .or_else(|_| serde_json::from_str(&said))
            .with_context(|| format!("{said}{complained}"))?;
        if !ended.status.success() {
            let session = view["session"].as_str().unwrap_or_default();
            let (_, said, _) = self.hub.run(&["session", "export", session]).await?;
            bail!("{view}{complained}{said}");
        }
        ensure!(view["status"] == "completed", "{view}");
        ensure!(view["response"] == "Now it really adds.", "{view}");
        ensure!(
            view["check"]["passed"] == true && view["check"]["tries"] == 2,
            "{view}"
        );
        let text = std::fs::read_to_string(folder.join("add.sh"))?;
        ensure!(text == "echo $(( $1 + $2 ))\n", "{text}");
        let tools = view["tool_calls"].as_array().context("its calls")?;
        let names: Vec<&str> = tools
            .iter()
            .filter_map(|call| call["tool"].as_str())
            .collect();
        ensure!(names == ["read_file", "edit", "edit"], "{view}");
        ensure!(
            tools.iter().all(|call| call["status"] == "success"),
            "{view}"
        );
        ensure!(view["changed_files"] == json!(["add.sh"]), "{view}");
        ensure!(
            view["token_usage"]["output"]
                .as_u64()
                .is_some_and(|count| count > 50),
            "{view}"
        );
        Ok(())
    }

    /// A person who says something at any moment: what the agent's task says and does is what it
    /// would have said and done.
    async fn preempted(&self) -> anyhow::Result<()> {
        let rounds = rounds();
        let folder = self.folder.path();
        let agent = self
            .hub
            .bridge_in(folder, PeerEra::Modern, json!({}), friendly())
            .await?;
        let watch = Watch::begin(self.admin()?);
        let mut idle = Vec::new();
        for round in 0..IDLE {
            idle.push(self.person(&watch, round, None).await?.first);
        }
        // How long a task takes that nobody disturbs.
        let began = now();
        self.agent(&agent, 90_000).await?.over(self, folder).await?;
        let whole = began.elapsed();
        let mut times = Vec::new();
        for round in 0..rounds {
            let task = self.agent(&agent, round).await?;
            let share = random(round);
            // tidy: the moment is what is tried; no outcome depends on how long it is.
            tokio::time::sleep(whole.mul_f64(share)).await;
            times.push(self.person(&watch, round, Some(&task.id)).await?);
            task.over(self, folder).await.with_context(|| {
                format!("round {round}, disturbed after {share:.3} of {whole:?}")
            })?;
        }
        let told = |what: &str, mut all: Vec<Duration>| {
            all.sort_unstable();
            let at = |share: usize| {
                all.get(all.len() * share / 100)
                    .copied()
                    .unwrap_or_default()
            };
            say(&format!(
                "          {what}: p50 {:?}, p95 {:?}, p99 {:?}",
                at(50),
                at(95),
                at(99)
            ));
        };
        told("first word alone", idle);
        told(
            "first word before a task",
            times.iter().map(|times| times.first).collect(),
        );
        told(
            "task stands still",
            times.iter().map(|times| times.dropped).collect(),
        );
        Ok(())
    }

    /// Hands in a task as an agent does.
    async fn agent(&self, agent: &Peer, round: u64) -> anyhow::Result<Handed> {
        let words = |part: &str| {
            let words: Vec<String> = (0..40)
                .map(|word| format!("{part}{round}x{word}"))
                .collect();
            words.join(" ")
        };
        // Nothing of the last round is in its prompt.
        self.admin()?.call(&Open {
            workspace: Some(self.folder.path().to_string_lossy().into_owned()),
            session: None,
            new: true,
        })?;
        let (first, last) = (words("a"), words("b"));
        let call = called("bash", &json!({"command": format!("echo r{round} >> log")}));
        let message = format!("SCRIPT[[{first}\n{call}||{last}]]SCRIPT");
        let arguments = json!({"message": message, "hint": "general"});
        let answer = agent.call("delegate-chat", arguments).await?;
        let id = answer.value["result"]["structuredContent"]["task_id"].as_str();
        Ok(Handed {
            id: id.with_context(|| answer.text.clone())?.to_owned(),
            round,
            last,
        })
    }

    /// Says something as the person, and waits for the answer.
    async fn person(
        &self,
        watch: &Watch,
        round: u64,
        other: Option<&str>,
    ) -> anyhow::Result<Times> {
        watch.drain();
        let said = format!("hello {round}");
        let mut admin = self.admin()?;
        // The model would else read the other's script as well.
        let elsewhere = self.hub.folder().to_string_lossy().into_owned();
        let session = admin.call(&Open {
            workspace: Some(elsewhere.clone()),
            session: None,
            new: true,
        })?;
        let began = now();
        let view = admin.call(&Submit {
            task: NewTask {
                session: Some(session.id),
                message: format!("SCRIPT[[{said}]]SCRIPT"),
                hint: Some("testing".to_owned()),
                ..NewTask::default()
            },
            workspace: Some(elsewhere),
        })?;
        let times = watch.times(began, &view.task_id, other)?;
        let view = ended(&mut admin, &view.task_id)?;
        ensure!(view.response.as_deref() == Some(said.as_str()), "{view:?}");
        Ok(times)
    }
}

/// A task that was handed in.
struct Handed {
    id: String,
    round: u64,
    last: String,
}

// === impl Handed ===

impl Handed {
    /// Waits until it is over; it said and did everything, once.
    async fn over(self, desk: &Desk, folder: &Path) -> anyhow::Result<()> {
        let mut admin = desk.admin()?;
        let id = self.id.clone();
        let view = tokio::task::spawn_blocking(move || ended(&mut admin, &id)).await??;
        ensure!(view.status == TaskState::Completed, "{view:?}");
        ensure!(
            view.response.as_deref() == Some(self.last.as_str()),
            "{view:?}"
        );
        let log = std::fs::read_to_string(folder.join("log"))?;
        let mark = format!("r{}", self.round);
        let times = log.lines().filter(|line| *line == mark).count();
        ensure!(times == 1, "{mark} was done {times} times");
        Ok(())
    }
}

// === impl Watch ===

impl Watch {
    /// Follows every conversation, on a thread of its own.
    fn begin(admin: AdminClient) -> Self {
        // Bounded by what the tasks of one test say.
        let (sender, events) = mpsc::channel();
        std::thread::spawn(move || {
            let told = admin.follow(&Follow::default(), |event| {
                match sender.send((now(), event)) {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(_) => ControlFlow::Break(()),
                }
            });
            // The hub ended first, or the test did.
            drop(told);
        });
        Self { events }
    }

    fn drain(&self) {
        while self.events.try_recv().is_ok() {}
    }

    /// When a task says its first word, and when the other stands still.
    fn times(&self, began: Instant, id: &str, other: Option<&str>) -> anyhow::Result<Times> {
        let mut dropped = None;
        let mut states: HashMap<String, TaskState> = HashMap::new();
        loop {
            let (at, event) = self
                .events
                .recv_timeout(PATIENCE)
                .with_context(|| format!("nothing more is told: {states:?}"))?;
            match event {
                Event::Task { task } => {
                    let is_other = other == Some(task.task_id.as_str());
                    // Over before it could stand still counts as well.
                    if is_other && task.status != TaskState::InProgress {
                        dropped.get_or_insert(at);
                    }
                    if task.task_id == id && task.status.is_final() {
                        bail!("it said nothing: {task:?}");
                    }
                    states.insert(task.task_id.clone(), task.status);
                }
                Event::Delta { task_id, .. } if task_id == id => {
                    return Ok(Times {
                        dropped: dropped.unwrap_or(began).saturating_duration_since(began),
                        first: at.saturating_duration_since(began),
                    });
                }
                Event::Lagged {} => bail!("the test reads too slowly"),
                _ => {}
            }
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "how long a test may take is said by whoever runs it"
)]
fn rounds() -> u64 {
    let wanted = std::env::var(ROUNDS_VARIABLE);
    wanted
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(ROUNDS)
}

fn ended(admin: &mut AdminClient, id: &str) -> anyhow::Result<TaskView> {
    let timeout_ms = u64::try_from(PATIENCE.as_millis())?;
    let task_id = id.to_owned();
    let view = admin.call(&Wait {
        task_id: task_id.clone(),
        timeout_ms,
    })?;
    if view.status.is_final() {
        return Ok(view);
    }
    let view = admin.call(&Show { task_id })?;
    bail!("it is not over: {view:?}")
}

/// A call as the model writes it.
fn called(name: &str, arguments: &Value) -> String {
    format!("<tool_call>\n{{\"name\": \"{name}\", \"arguments\": {arguments}}}\n</tool_call>")
}

/// A share of a whole, another one each round and the same in every run.
fn random(round: u64) -> f64 {
    let mut state = round.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    state ^= state >> 29;
    state = state.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    state ^= state >> 32;
    f64::from(u32::try_from(state >> 32).unwrap_or(0)) / f64::from(u32::MAX)
}
