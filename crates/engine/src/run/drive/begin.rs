//! What a run begins with: tools, prompt, bounds, and what an earlier hub left.

use std::collections::HashMap;
use std::error::Error;
use std::sync::Arc;

use futures_util::stream::FuturesUnordered;
use legation_api::conversation::Body;
use legation_api::tasks::{Check, Failure as Kind};
use legation_core::error::chain;
use legation_core::{Cancel, EntityLabels, TaskId};
use legation_models::{ChatRequest, ModelAsk, Resumption};

use super::beside::{Beside, told_of};
use super::turns::{Of, Reach, Telling};
use super::{Answer, Saved, Shell};
use crate::HintSettings;
use crate::record::{Loaded, RunEnd};
use crate::run::RunParts;
use crate::run::guard::RunLimits;
use crate::run::hands::{Hands, OnProgress};
use crate::run::machine::{Input, Machine, Setup};
use crate::run::toolset::{ToolChoice, Toolset};
use crate::run::{journal, prompt};
use legation_config::agents::Agent;

/// The job of a step, as `per_job_overrides` names it.
pub(super) const JOB: &str = "delegate.task";
/// How much of the window definitions of tools may take.
const TOOLS_SHARE: u64 = 4;
/// Bytes of definitions where the window is not known.
const TOOLS_BYTES: usize = 24 * 1024;
/// Bytes of a token of JSON, roughly.
const TOKEN_BYTES: u64 = 3;

/// What is wanted of a task beside its message.
struct Wishes {
    provider: Option<String>,
    model: Option<String>,
    /// Which tools, where anybody says.
    tools: Option<Vec<String>>,
    check: Option<Check>,
    agent: Option<Agent>,
}

/// What is known of the model that would have a task.
#[derive(Debug, Default)]
struct Ahead {
    window: Option<u64>,
    resumption: Option<Resumption>,
    /// It cannot call tools by itself.
    calls_in_words: bool,
}

impl Shell {
    /// Puts together what a run needs.
    pub(super) async fn begin(parts: RunParts, task: TaskId) -> Result<Self, RunEnd> {
        let loaded = parts.book.load(&task).await;
        let loaded = loaded.map_err(|error| failed(&error, error.hint()))?;
        let wishes = Wishes::of(&parts, &loaded)?;
        let hands = hands(&parts, &loaded);
        let begun = began_at(&loaded);
        let (prior, labels) = prompt::prior(&loaded.log, &task, begun, &loaded.labels);
        let labels = hands.carry(&labels).map_err(|error| RunEnd::Failed {
            failure: Kind::Other,
            error: format!("whose data the task holds is not known: {error}"),
            hint: None,
        })?;
        // Before a word of it can be seen.
        parts.book.label(&task, &labels);
        let last = loaded.turns.last();
        let telling = telling(&parts, &loaded, &hands);
        let mut shell = Self {
            session: loaded.session.clone(),
            machine: Machine::new(Setup::default()),
            provider: wishes.provider.clone(),
            model: wishes.model.clone(),
            may_cost: loaded.new.may_cost,
            labels,
            until: last.map_or(begun, |turn| turn.until),
            told: last.map_or(begun, |turn| turn.until),
            row: last.map_or(0, |turn| turn.step),
            calls: (0, Vec::new()),
            intents: HashMap::new(),
            answer: Answer::None,
            running: FuturesUnordered::new(),
            beside: Beside::default(),
            check: None,
            cancel: Cancel::new(),
            wake: None,
            saved: Saved::default(),
            held: None,
            has_yielded: false,
            telling,
            lent: None,
            hands,
            parts,
            task,
        };
        shell.lend(wishes.agent.as_ref()).await?;
        let ahead = shell.prospect().await;
        let own = wishes.agent.as_ref().map(own_servers);
        let tools = shell.toolset(wishes.tools, own.unwrap_or_default(), ahead.window)?;
        let check = wishes.check;
        let workspace = loaded.workspace.as_deref();
        let instructions = workspace.and_then(|folder| shell.parts.agents.instructions(folder));
        let words = wishes.agent.as_ref().map(|agent| agent.prompt.as_str());
        let setup = Setup {
            system: prompt::system(&tools, workspace, words, instructions.as_deref()),
            prior,
            task: prompt::task(&loaded.new, check.as_ref()),
            tools,
            check,
            limits: shell.limits(),
            window: ahead.window,
            resumption: ahead.resumption,
            calls_in_words: ahead.calls_in_words,
        };
        shell.take_up(setup, &loaded);
        Ok(shell)
    }

    /// The machine, where it stood.
    fn take_up(&mut self, setup: Setup, loaded: &Loaded) {
        let entries = journal::entries(&loaded.turns, &loaded.calls);
        if let Some(turn) = loaded
            .turns
            .iter()
            .rfind(|turn| !turn.said.calls.is_empty())
        {
            let calls = entries.iter().rev().find_map(|entry| match entry {
                crate::run::entry::Entry::Turn { calls, .. } if !calls.is_empty() => {
                    Some(calls.clone())
                }
                _ => None,
            });
            self.calls = (turn.step, calls.unwrap_or_default());
        }
        for call in &loaded.calls {
            self.intents
                .insert(call.intent.call_id.clone(), call.intent.clone());
        }
        let brought = told_of(&entries);
        let partial = loaded
            .partial
            .as_ref()
            .filter(|partial| partial.step > self.row);
        let used = loaded.outcome.usage;
        self.machine = match entries.is_empty() && partial.is_none() {
            true => Machine::new(setup),
            false => Machine::taken_up(setup, entries, partial.map(|partial| partial.text.clone())),
        };
        self.machine.has_used(used);
        self.machine.has_worked(loaded.worked);
        let now = self.parts.clock.now();
        self.take_up_beside(&loaded.calls, &brought);
        for text in said_before(loaded, self.until) {
            // Hearing leads to nothing before the start.
            drop(self.machine.handle(now, Input::Steer(text)));
        }
    }

    /// What is known of the model that would have the task. Takes the
    /// shell for itself, because what it holds may move between threads and not be shared by them.
    async fn prospect(&mut self) -> Ahead {
        let ask = self.model_ask(JOB, ChatRequest::default());
        let context = self.hands.context(&self.cancel);
        match self.parts.models.prospect(&context, &ask).await {
            Ok(prospect) => Ahead {
                window: prospect.context_tokens,
                resumption: Some(prospect.resumption),
                calls_in_words: prospect.tools == Some(false),
            },
            // Whoever asks is told why.
            Err(_) => Ahead::default(),
        }
    }

    /// Starts the servers that an agent brings along; the task goes on without those that do not
    /// start.
    async fn lend(&mut self, agent: Option<&Agent>) -> Result<(), RunEnd> {
        let Some(agent) = agent.filter(|agent| !agent.servers.is_empty()) else {
            return Ok(());
        };
        self.parts
            .book
            .progress(&self.task, Some("Starting its servers".to_owned()), |_| {});
        let starting = self.parts.servers.start(self.hands.seat(), agent);
        let started = tokio::select! {
            started = starting => started,
            _ = self.parts.control.cancel_token().cancelled() => return Ok(()),
        };
        self.lent = Some(started.held);
        for problem in started.problems {
            let text = format!("A server of the agent does not run. {problem}");
            self.remark(text)
                .await
                .map_err(|error| failed(&error, error.hint()))?;
        }
        Ok(())
    }

    fn toolset(
        &self,
        patterns: Option<Vec<String>>,
        own: Vec<String>,
        window: Option<u64>,
    ) -> Result<Toolset, RunEnd> {
        let offers = self
            .hands
            .offers(&self.cancel)
            .map_err(|refusal| RunEnd::Failed {
                failure: Kind::Refused,
                error: format!("tools cannot be listed: {}", chain(&refusal)),
                hint: Some(refusal.hint()),
            })?;
        let budget_bytes = window.map_or(TOOLS_BYTES, |window| {
            usize::try_from(window / TOOLS_SHARE * TOKEN_BYTES).unwrap_or(TOOLS_BYTES)
        });
        let choice = ToolChoice {
            patterns,
            own,
            budget_bytes,
        };
        Ok(Toolset::choose(offers, &choice))
    }

    fn limits(&self) -> RunLimits {
        let settings = &self.parts.settings;
        RunLimits {
            turns_max: settings.turns_max,
            tokens_max: Some(settings.tokens_max),
            wall_clock: Some(settings.wall_clock),
            check_tries: settings.check_tries,
            ..RunLimits::default()
        }
    }

    /// A request for the task.
    pub(super) fn model_ask(&self, job: &'static str, request: ChatRequest) -> ModelAsk {
        ModelAsk {
            labels: self.labels.clone(),
            provider: self.provider.clone(),
            model: self.model.clone(),
            may_cost: self.may_cost,
            ..ModelAsk::new(job, self.task.to_string(), request)
        }
    }
}

/// The names of the servers that an agent brings along.
fn own_servers(agent: &Agent) -> Vec<String> {
    agent.servers.keys().cloned().collect()
}

fn hands(parts: &RunParts, loaded: &Loaded) -> Hands {
    let (book, task) = (Arc::clone(&parts.book), loaded.task.clone());
    let progress: OnProgress = Arc::new(move |line: String, labels: &EntityLabels| {
        book.label(&task, labels);
        book.progress(&task, Some(line), |_| {});
    });
    Hands::new(
        Arc::clone(&parts.gate),
        &loaded.task,
        &loaded.client,
        loaded.workspace.as_deref(),
        progress,
    )
}

fn telling(parts: &RunParts, loaded: &Loaded, hands: &Hands) -> Telling {
    let reach = Reach {
        task: loaded.task.clone(),
        control: parts.control.clone(),
        book: Arc::clone(&parts.book),
    };
    let of = Of {
        task: loaded.task.clone(),
        session: loaded.session.clone(),
        client: hands.delegator().clone(),
        workspace: loaded.workspace.clone(),
    };
    Telling::new(Arc::clone(&parts.turns), of, Arc::new(reach))
}

/// Up to which entry of the conversation the first prompt went, or goes.
fn began_at(loaded: &Loaded) -> u64 {
    let first = loaded.turns.first().map(|turn| turn.until);
    let partial = loaded.partial.as_ref().map(|partial| partial.until);
    let last = loaded.log.last().map(|entry| entry.seq);
    first.or(partial).or(last).unwrap_or(0)
}

/// What was said to a task before its first step, while it waited for its turn. Its message, which
/// is told by itself, stands among it.
fn said_before(loaded: &Loaded, until: u64) -> Vec<String> {
    if !loaded.turns.is_empty() {
        return Vec::new();
    }
    let mut is_told = false;
    let mut said = Vec::new();
    for entry in &loaded.log {
        // What came later is heard like everything else.
        if entry.seq > until || entry.entry.task.as_ref() != Some(&loaded.task) {
            continue;
        }
        let is_message = !is_told
            && matches!(&entry.entry.body, Body::Text { text, .. } if *text == loaded.new.message);
        is_told |= is_message;
        if !is_message {
            said.extend(prompt::steering(entry));
        }
    }
    said
}

fn failed(error: &dyn Error, hint: String) -> RunEnd {
    RunEnd::Failed {
        failure: Kind::Other,
        error: chain(error).to_string(),
        hint: Some(hint),
    }
}

// === impl Wishes ===

impl Wishes {
    /// The task's own wishes come first, then its agent's, its hint's and the settings'.
    fn of(parts: &RunParts, loaded: &Loaded) -> Result<Self, RunEnd> {
        let (new, settings) = (&loaded.new, &parts.settings);
        let none = HintSettings::default();
        let hint = new.hint.as_ref().and_then(|hint| settings.hints.get(hint));
        let hint = hint.unwrap_or(&none);
        let agent = match new.agent.as_ref().or(hint.agent.as_ref()) {
            Some(name) => {
                let workspace = loaded.workspace.as_deref();
                let found = parts.agents.agent(workspace, name);
                Some(found.map_err(|error| failed(&error, error.hint()))?)
            }
            None => None,
        };
        let of_agent = agent.as_ref().and_then(|agent| agent.tools.clone());
        let of_hint = || (!hint.tools.is_empty()).then(|| hint.tools.clone());
        let command = || hint.check_command.clone();
        Ok(Self {
            provider: pick([
                new.provider.as_ref(),
                hint.provider.as_ref(),
                settings.provider.as_ref(),
            ]),
            model: pick([
                new.model.as_ref(),
                agent.as_ref().and_then(|agent| agent.model.as_ref()),
                hint.model.as_ref(),
                settings.model.as_ref(),
            ]),
            tools: of_agent.or_else(of_hint),
            check: new.check.clone().or_else(|| {
                let command = command()?;
                Some(Check::Command { command })
            }),
            agent,
        })
    }
}

/// The first that somebody wants.
fn pick<const N: usize>(wishes: [Option<&String>; N]) -> Option<String> {
    wishes.into_iter().flatten().next().cloned()
}
