//! The shell around the machine: it asks models, calls tools, keeps the book, and tells the machine
//! what happens.
//!
//! One future does all of it, so that dropping it drops the answer that is under way and the calls
//! that run.

mod answer;
mod begin;
mod beside;
mod doing;
mod turns;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use legation_api::conversation::Source;
use legation_api::tasks::Failure as Kind;
use legation_core::error::chain;
use legation_core::{Cancel, CancelReason, EntityLabels, SessionId, TaskId};

use super::RunParts;
use super::entry::Called;
use super::hands::{Done, Hands, Looked};
use super::machine::{Checked, Effect, Ending, Force, Input, Machine};
use super::prompt;
use super::toolset::PlannedCall;
use crate::BookError;
use crate::queue::Hold;
use crate::record::{Intent, RunEnd};
use turns::Telling;

use answer::Answer;
use beside::Beside;

/// How long what was said may be kept nowhere but in memory.
const SAVE_AFTER: Duration = Duration::from_millis(250);
/// How much.
const SAVE_BYTES: usize = 2 * 1024;

/// A run at work.
pub(super) struct Shell {
    parts: RunParts,
    task: TaskId,
    session: SessionId,
    machine: Machine,
    hands: Hands,
    /// Which provider and model are wanted.
    provider: Option<String>,
    model: Option<String>,
    may_cost: bool,
    /// Whose data the task holds.
    labels: EntityLabels,
    /// Up to which entry of the conversation it has heard.
    until: u64,
    /// Up to which its model has: from there whoever takes the task up hears it again.
    told: u64,
    /// The last row of its journal.
    row: u32,
    /// The calls of the last turn, and their row.
    calls: (u32, Vec<Called>),
    /// Calls that were about to be made, by id.
    intents: HashMap<String, Intent>,
    answer: Answer,
    running: FuturesUnordered<BoxFuture<'static, (PlannedCall, Done)>>,
    /// What servers do beside the conversation.
    beside: Beside,
    check: Option<BoxFuture<'static, (Checked, EntityLabels)>>,
    /// Calls off the calls that run.
    cancel: Cancel,
    wake: Option<Instant>,
    saved: Saved,
    held: Option<Hold>,
    has_yielded: bool,
    /// Those who want to know of its turns.
    telling: Telling,
    /// What keeps the servers of its agent running.
    lent: Option<Box<dyn Send + Sync>>,
}

/// What was kept of an answer that is under way.
#[derive(Debug, Default)]
struct Saved {
    bytes: usize,
    /// Since when there is more than that.
    since: Option<Instant>,
}

/// What happens next.
enum Next {
    /// Somebody may have said something.
    Look,
    Heard(Input),
    Told(Box<(PlannedCall, Done)>),
    /// What a server does beside the conversation stands otherwise.
    Looked(Box<(String, Looked)>),
    /// What was said has to be kept.
    Save,
}

/// Works on a task until it is over.
pub(crate) async fn drive(parts: RunParts, task: TaskId) -> RunEnd {
    let begun = Box::pin(Shell::begin(parts, task)).await;
    match begun {
        Ok(shell) => Box::pin(shell.run()).await,
        Err(end) => end,
    }
}

// === impl Shell ===

impl Shell {
    async fn run(mut self) -> RunEnd {
        match self.work().await {
            Ok(end) => end,
            Err(error) => RunEnd::Failed {
                failure: Kind::Other,
                error: chain(&error).to_string(),
                hint: Some(error.hint()),
            },
        }
    }

    async fn work(&mut self) -> Result<RunEnd, BookError> {
        // One that was called off before it began must ask no model.
        if let Some(reason) = self.parts.control.cancelled()
            && let Some(end) = self.feed(Input::Cancel(reason)).await?
        {
            return Ok(end);
        }
        if let Some(end) = self.feed(Input::Start).await? {
            return Ok(end);
        }
        loop {
            if let Some(end) = self.look().await? {
                return Ok(end);
            }
            self.give_floor().await?;
            let end = match self.next().await {
                Next::Look => None,
                Next::Heard(input) => {
                    let input = self.before(input).await?;
                    self.feed(input).await?
                }
                Next::Told(told) => {
                    let (call, done) = *told;
                    self.hold(&done.labels);
                    self.listen().await?;
                    if let Some(began) = done.began {
                        self.begins_beside(&call, began).await?;
                    }
                    let (id, told) = (call.id, done.told);
                    self.feed(Input::Told { id, told }).await?
                }
                Next::Looked(looked) => {
                    let (id, looked) = *looked;
                    self.looked(id, looked).await?
                }
                Next::Save => {
                    let text = self.machine.partial().unwrap_or_default().to_owned();
                    self.save(text).await?;
                    None
                }
            };
            if let Some(end) = end {
                return Ok(end);
            }
        }
    }

    /// Waits for whatever happens first.
    async fn next(&mut self) -> Next {
        let now = self.parts.clock.now();
        let wake = earliest([self.wake, self.machine.deadline()]);
        let save = self.saved.since.map(|since| since + SAVE_AFTER);
        tokio::select! {
            biased;
            () = self.parts.control.changed() => Next::Look,
            Some(told) = self.running.next(), if !self.running.is_empty() => {
                Next::Told(Box::new(told))
            }
            looked = self.beside.next() => Next::Looked(Box::new(looked)),
            (checked, labels) = wait(&mut self.check) => {
                self.check = None;
                self.hold(&labels);
                Next::Heard(Input::Checked(checked))
            }
            input = self.answer.next() => Next::Heard(input),
            () = until(wake, now) => {
                self.wake = None;
                Next::Heard(Input::Tick)
            }
            () = until(save, now) => Next::Save,
        }
    }

    /// Adds to whose data the task holds, and says so before anything of it can be seen.
    fn hold(&mut self, more: &EntityLabels) {
        self.labels = self.labels.join(more);
        self.parts.book.label(&self.task, &self.labels);
    }

    /// What the shell itself has to do with something before the machine hears it.
    async fn before(&mut self, input: Input) -> Result<Input, BookError> {
        match &input {
            Input::Began { .. } => self.note_model(),
            // A step ends: what was said meanwhile is heard in the next.
            Input::Ended | Input::Checked(_) => self.listen().await?,
            _ => {}
        }
        Ok(input)
    }

    /// Looks at what holds now: whether somebody comes first, or it is no longer wanted.
    async fn look(&mut self) -> Result<Option<RunEnd>, BookError> {
        let control = &self.parts.control;
        if control.is_stopping() {
            return self.feed(Input::Stop).await;
        }
        if let Some(reason) = control.cancelled() {
            return self.feed(Input::Cancel(reason)).await;
        }
        let hold = control.hold();
        if hold == self.held {
            self.listen().await?;
            return match self.machine.is_woken() {
                true => self.feed(Input::Tick).await,
                false => Ok(None),
            };
        }
        let before = std::mem::replace(&mut self.held, hold);
        match hold {
            Some(hold) => {
                if before.is_none() {
                    self.has_yielded = false;
                }
                let force = match hold {
                    Hold::Soft => Force::Soft,
                    Hold::Hard => Force::Hard,
                };
                let end = self.feed(Input::Preempt(force)).await?;
                // A tool that runs asks no model, so it holds nobody up.
                if force == Force::Hard {
                    self.stands_still();
                }
                Ok(end)
            }
            None => {
                self.works_again().await?;
                self.listen().await?;
                self.feed(Input::Resume).await
            }
        }
    }

    /// Tells the queue, once each time.
    fn stands_still(&mut self) {
        if !std::mem::replace(&mut self.has_yielded, true) {
            self.parts.control.yielded();
        }
    }

    /// Tells the machine what was said since it last heard.
    async fn listen(&mut self) -> Result<(), BookError> {
        let (said, steers) = self.heard().await?;
        let now = self.parts.clock.now();
        let mut effects = Vec::new();
        if !said.is_empty() {
            effects.extend(self.machine.handle(now, Input::Heard(said)));
        }
        for text in steers {
            effects.extend(self.machine.handle(now, Input::Steer(text)));
        }
        for effect in effects {
            // Hearing does nothing but remark that it heard.
            self.perform(effect).await?;
        }
        Ok(())
    }

    /// What others said since the machine last heard, and what was said to this very task.
    async fn heard(&mut self) -> Result<(Vec<String>, Vec<String>), BookError> {
        let book = &self.parts.book;
        let entries = book.since(Some(&self.session), self.until).await?;
        let (mut said, mut steers) = (Vec::new(), Vec::new());
        for entry in entries {
            self.until = self.until.max(entry.seq);
            let is_own = entry.entry.task.as_ref() == Some(&self.task);
            let is_talk = matches!(entry.entry.source, Source::Human | Source::Client(_));
            // What is another entity's stays with its own task.
            let is_seen = entry
                .entry
                .labels
                .iter()
                .all(|one| self.labels.contains(one));
            match (is_own, is_talk) {
                (true, true) => {
                    self.hold(&entry.entry.labels);
                    steers.extend(prompt::steering(&entry));
                }
                (false, _) if is_seen => said.extend(prompt::meanwhile(&entry)),
                _ => {}
            }
        }
        Ok((said, steers))
    }

    /// Tells the machine something, and does what it says.
    async fn feed(&mut self, input: Input) -> Result<Option<RunEnd>, BookError> {
        let now = self.parts.clock.now();
        let effects = self.machine.handle(now, input);
        let mut end = None;
        for effect in effects {
            if let Effect::End(ending) = effect {
                end = Some(self.ended(ending));
            } else {
                self.perform(effect).await?;
            }
        }
        self.note_partial(now).await?;
        Ok(end)
    }

    fn ended(&mut self, ending: Ending) -> RunEnd {
        self.note_usage(None);
        match ending {
            Ending::Paused => RunEnd::Paused,
            Ending::Asks { question } => RunEnd::InputRequired { question },
            Ending::Completed { response } => RunEnd::Completed { response },
            Ending::Cancelled { .. } => RunEnd::Cancelled,
            Ending::Failed {
                class,
                message,
                hint,
            } => RunEnd::Failed {
                failure: kind(&class),
                error: message,
                hint: Some(hint),
            },
        }
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        // Whatever still runs is nobody's any more.
        self.cancel.cancel(CancelReason::ClientCancelled);
    }
}

/// Which kind of failure a class is.
fn kind(class: &str) -> Kind {
    match class {
        "refused" => Kind::Refused,
        "check" => Kind::Check,
        "turns" | "tokens" | "wall_clock" | "repetition" | "endless" | "empty" | "too_long" => {
            Kind::Limit
        }
        "unreachable" | "slow" | "busy" | "quota" | "credential" | "not_found" | "server"
        | "broken" | "untrue" => Kind::NoModel,
        _ => Kind::Other,
    }
}

fn earliest(times: [Option<Instant>; 2]) -> Option<Instant> {
    times.into_iter().flatten().min()
}

/// Waits until a time; for ever where there is none.
async fn until(time: Option<Instant>, now: Instant) {
    match time {
        Some(time) => tokio::time::sleep(time.saturating_duration_since(now)).await,
        None => std::future::pending().await,
    }
}

async fn wait<T>(work: &mut Option<BoxFuture<'static, T>>) -> T {
    match work {
        Some(work) => work.await,
        None => std::future::pending().await,
    }
}
