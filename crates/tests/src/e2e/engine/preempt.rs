//! A person who says something at any moment: what an agent's task says and does is what it says and
//! does where nobody disturbs it.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use legation_api::AdminClient;
use legation_api::conversation::{Body, Event, Follow, History, Open, Source};
use legation_api::tasks::{NewTask, Submit, TaskState};
use serde_json::{Value, json};

use super::super::report::{Report, say};
use super::relay::{Exchange, Relay};
use super::tasks::{Desk, PATIENCE, called, ended};
use crate::harness::peer::{Peer, PeerEra, friendly};
use crate::harness::process::now;

/// Different tasks that are disturbed in turn.
const SCRIPTS: u64 = 8;
/// Words of each of a task's two turns.
const WORDS: u64 = 40;
/// The most tokens that may be evaluated again when a task goes on.
const AGAIN_MAX: u64 = 64;

/// How often, and at which moments.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// How often a person says something while a task runs.
    pub rounds: u64,
    /// What the moments follow from.
    pub seed: u64,
}

/// What was measured.
#[derive(Debug, Default)]
pub struct Measured {
    rows: Vec<(&'static str, Vec<Duration>)>,
    again: Vec<u64>,
    /// How often an answer was dropped after its first token.
    broken: usize,
}

/// A hub whose model is the engine's, seen from both sides.
struct Scene {
    desk: Desk,
    relay: Relay,
    watch: Watch,
    /// The agent that delegates.
    agent: Peer,
}

/// What everybody is told of the conversations.
struct Watch {
    events: mpsc::Receiver<(Instant, Event)>,
}

/// What a task said and did.
#[derive(Debug, PartialEq, Eq)]
struct Deed {
    /// Each of its turns, by the engine's ids of their tokens.
    turns: Vec<(String, Vec<u64>)>,
    /// Its calls: tool, arguments, how they went.
    calls: Vec<(String, String, String)>,
    response: Option<String>,
    /// What its command left behind.
    log: String,
}

/// One message of the person's.
#[derive(Debug, Clone, Copy)]
struct Said {
    began: Instant,
    /// When the engine was asked.
    asked: Instant,
    /// When its first word was shown.
    first: Instant,
}

/// Where a task stood when it was disturbed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    /// The engine read its prompt.
    Prefill,
    /// The engine wrote.
    Decode,
    /// The engine had nothing to do for it.
    Between,
}

/// Disturbs tasks; `None` where the check is not wanted.
pub(super) async fn run(
    url: &str,
    plan: Plan,
    report: &mut Report,
) -> anyhow::Result<Option<Measured>> {
    let name = "task: a person comes first";
    if !report.wants(name) {
        return Ok(None);
    }
    let scene = Scene::start(url).await?;
    let mut measured = Measured::default();
    report.check(name, scene.disturbed(plan, &mut measured).await);
    measured.say();
    Ok(Some(measured))
}

// === impl Measured ===

impl Measured {
    fn add(&mut self, what: &'static str, time: Duration) {
        match self.rows.iter_mut().find(|(name, _)| *name == what) {
            Some((_, times)) => times.push(time),
            None => self.rows.push((what, vec![time])),
        }
    }

    /// Each measurement: what, how often, and p50, p95, p99 and the longest in milliseconds.
    #[must_use]
    pub fn lines(&self) -> Vec<Value> {
        let mut lines: Vec<Value> = self
            .rows
            .iter()
            .map(|(what, times)| {
                let mut times = times.clone();
                times.sort_unstable();
                let at = |share: usize| {
                    let place = (times.len() * share).div_ceil(100).saturating_sub(1);
                    let time = times.get(place).copied().unwrap_or_default();
                    time.as_secs_f64() * 1e3
                };
                json!({
                    "what": what, "count": times.len(),
                    "p50_ms": at(50), "p95_ms": at(95), "p99_ms": at(99), "max_ms": at(100),
                })
            })
            .collect();
        let most = self.again.iter().max();
        lines.push(json!({
            "what": "tokens evaluated again", "count": self.again.len(),
            "broken_off": self.broken, "max": most,
        }));
        lines
    }

    fn say(&self) {
        for line in self.lines() {
            say(&format!("          {line}"));
        }
    }
}

// === impl Scene ===

impl Scene {
    async fn start(url: &str) -> anyhow::Result<Self> {
        let relay = Relay::start(url)?;
        let desk = Desk::start(&relay.url).await?;
        let agent = desk
            .hub
            .bridge_in(desk.folder.path(), PeerEra::Modern, json!({}), friendly())
            .await?;
        let watch = Watch::begin(desk.admin()?);
        Ok(Self {
            desk,
            relay,
            watch,
            agent,
        })
    }

    async fn disturbed(&self, plan: Plan, measured: &mut Measured) -> anyhow::Result<()> {
        let mut alone = Vec::new();
        for script in 0..SCRIPTS.min(plan.rounds) {
            let began = now();
            let task = self.delegate(script).await?;
            let deed = self.deed(&task).await?;
            ensure!(deed.log.lines().count() == 1, "{deed:?}");
            alone.push((deed, began.elapsed()));
        }
        ensure!(!alone.is_empty(), "no round is wanted");
        for round in 0..plan.rounds {
            let script = round % SCRIPTS;
            let (deed, whole) = &alone[usize::try_from(script)?];
            let share = random(plan.seed, round);
            self.round(round, deed, whole.mul_f64(share), measured)
                .await
                .with_context(|| {
                    let seed = plan.seed;
                    format!("seed {seed}, round {round}, disturbed after {share:.3} of {whole:?}")
                })?;
        }
        Ok(())
    }

    /// A person with nobody before them, and one who comes after so long into a task.
    async fn round(
        &self,
        round: u64,
        alone: &Deed,
        after: Duration,
        measured: &mut Measured,
    ) -> anyhow::Result<()> {
        // Other words, or the engine would still know the prompt when they are said again.
        let said = self.person(&format!("alone {round}"))?;
        measured.add("first word, nothing runs", said.first - said.began);
        measured.add("engine asked, nothing runs", said.asked - said.began);
        let mark = self.relay.mark();
        let task = self.delegate(round % SCRIPTS).await?;
        // tidy: the moment is what is tried; no outcome depends on how long it is.
        tokio::time::sleep(after).await;
        let said = self.person(&format!("hello {round}"))?;
        let deed = self.deed(&task).await?;
        ensure!(deed == *alone, "undisturbed {alone:?}, disturbed {deed:?}");
        let of_task = format!("a{}x0 ", round % SCRIPTS);
        let steps: Vec<Exchange> = self
            .relay
            .since(mark)
            .into_iter()
            .filter(|exchange| is_asked(exchange, &of_task))
            .collect();
        let moment = Moment::of(&steps, &said);
        let what = match moment {
            Moment::Prefill => "first word, a prompt is read",
            Moment::Decode => "first word, an answer is written",
            Moment::Between => "first word, a tool runs",
        };
        measured.add(what, said.first - said.began);
        if moment != Moment::Prefill {
            measured.add("first word, outside prefill", said.first - said.began);
            measured.add("engine asked, outside prefill", said.asked - said.began);
        }
        for (step, next) in steps.iter().zip(steps.iter().skip(1)) {
            let (false, Some(let_go)) = (step.is_whole(), step.let_go) else {
                continue;
            };
            measured.add(
                "stream dropped",
                let_go.saturating_duration_since(said.began),
            );
            if step.first.is_some() {
                measured.broken += 1;
                let (again, _) = next.evaluated().context("the engine told no timings")?;
                measured.again.push(again);
                ensure!(
                    again <= AGAIN_MAX,
                    "{again} tokens were evaluated again to go on"
                );
            }
        }
        Ok(())
    }

    /// Hands in a task as an agent does.
    async fn delegate(&self, script: u64) -> anyhow::Result<String> {
        // Nothing of the task before is in its prompt.
        self.desk.admin()?.call(&Open {
            workspace: Some(self.desk.folder.path().to_string_lossy().into_owned()),
            session: None,
            new: true,
        })?;
        std::fs::write(self.log(), "")?;
        let words = |part: &str| {
            let words: Vec<String> = (0..WORDS)
                .map(|word| format!("{part}{script}x{word}"))
                .collect();
            words.join(" ")
        };
        let call = called(
            "bash",
            &json!({"command": format!("echo r{script} >> log")}),
        );
        let message = format!("SCRIPT[[{}\n{call}||{}]]SCRIPT", words("a"), words("b"));
        let arguments = json!({"message": message, "hint": "general"});
        let answer = self.agent.call("delegate-chat", arguments).await?;
        let id = answer.value["result"]["structuredContent"]["task_id"].as_str();
        Ok(id.with_context(|| answer.text.clone())?.to_owned())
    }

    fn log(&self) -> std::path::PathBuf {
        Path::new(self.desk.folder.path()).join("log")
    }

    /// Waits until a task is over, and reads what it said and did.
    async fn deed(&self, id: &str) -> anyhow::Result<Deed> {
        let (mut admin, task) = (self.desk.admin()?, id.to_owned());
        let (view, history) = tokio::task::spawn_blocking(move || {
            let view = ended(&mut admin, &task)?;
            let history = admin.call(&History {
                session: view.session.clone(),
                limit: 1000,
                before: None,
            })?;
            anyhow::Ok((view, history))
        })
        .await??;
        ensure!(view.status == TaskState::Completed, "{view:?}");
        let mut deed = Deed {
            turns: Vec::new(),
            calls: Vec::new(),
            response: view.response,
            log: std::fs::read_to_string(self.log())?,
        };
        for message in history.messages {
            match (message.source, message.body) {
                (Source::Model, Body::Text { text, partial }) => {
                    ensure!(!partial, "a turn ends in its middle: {text}");
                    let tokens = self.relay.tokens(&text)?;
                    deed.turns.push((text, tokens));
                }
                (
                    _,
                    Body::Tool {
                        call, arguments, ..
                    },
                ) => {
                    deed.calls.push((call.tool, arguments, call.status));
                }
                _ => {}
            }
        }
        Ok(deed)
    }

    /// Says something as the person, and waits for the answer.
    fn person(&self, words: &str) -> anyhow::Result<Said> {
        self.watch.drain();
        let mut admin = self.desk.admin()?;
        // The model would else read the other's script as well.
        let elsewhere = self.desk.hub.folder().to_string_lossy().into_owned();
        let session = admin.call(&Open {
            workspace: Some(elsewhere.clone()),
            session: None,
            new: true,
        })?;
        let mark = self.relay.place();
        let began = now();
        let view = admin.call(&Submit {
            task: NewTask {
                session: Some(session.id),
                message: format!("SCRIPT[[{words}]]SCRIPT"),
                hint: Some("testing".to_owned()),
                ..NewTask::default()
            },
            workspace: Some(elsewhere),
        })?;
        let first = self.watch.first_word(&view.task_id)?;
        let view = ended(&mut admin, &view.task_id)?;
        ensure!(view.response.as_deref() == Some(words), "{view:?}");
        let passed = self.relay.since(mark);
        let asked = passed.iter().find(|exchange| is_asked(exchange, words));
        let asked = asked.context("the engine was not asked")?.began;
        Ok(Said {
            began,
            asked,
            first,
        })
    }
}

// === impl Moment ===

impl Moment {
    /// Where the task stood between what was said and its answer's first word.
    fn of(steps: &[Exchange], said: &Said) -> Self {
        let open = |step: &&Exchange| {
            let gone = step.let_go.is_none_or(|let_go| let_go >= said.began);
            step.began <= said.first && gone && !(step.is_whole() && step.began < said.began)
        };
        match steps.iter().find(open) {
            Some(step) if step.first.is_some_and(|first| first <= said.began) => Self::Decode,
            Some(step) if !step.is_whole() => Self::Prefill,
            _ => Self::Between,
        }
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

    /// When a task says its first word.
    fn first_word(&self, id: &str) -> anyhow::Result<Instant> {
        loop {
            let (at, event) = self
                .events
                .recv_timeout(PATIENCE)
                .context("nothing more is told")?;
            match event {
                Event::Task { task } if task.task_id == id && task.status.is_final() => {
                    bail!("it said nothing: {task:?}");
                }
                Event::Delta { task_id, .. } if task_id == id => return Ok(at),
                Event::Lagged {} => bail!("the test reads too slowly"),
                _ => {}
            }
        }
    }
}

/// Whether a request is for a task, by words that only its message has.
fn is_asked(exchange: &Exchange, words: &str) -> bool {
    let Some(asked) = exchange.asked() else {
        return false;
    };
    let messages = asked["messages"].as_array();
    messages.is_some_and(|messages| {
        messages
            .iter()
            .filter_map(|message| message["content"].as_str())
            .any(|content| content.contains(words))
    })
}

/// A share of a whole, another one each round and the same for the same seed.
fn random(seed: u64, round: u64) -> f64 {
    let mut state = (seed ^ round.wrapping_add(1)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    state ^= state >> 29;
    state = state.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    state ^= state >> 32;
    f64::from(u32::try_from(state >> 32).unwrap_or(0)) / f64::from(u32::MAX)
}
