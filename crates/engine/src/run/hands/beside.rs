//! Tasks that servers begin instead of answering a call, seen to their end beside the conversation.

use std::time::Duration;

use legation_api::tasks::BackgroundView;
use legation_core::error::chain;
use legation_core::{Cancel, EntityLabels, TaskHandle};
use legation_gate::{CallFailure, Outcome, Refusal};
use legation_wire::json::{Object, Raw};
use legation_wire::translate::{Task, TaskOutcome, TaskStatus, task_outcome};

use super::told::{complete, denied, unread};
use super::{Done, Hands};
use crate::run::entry::{CallStatus, Told};
use crate::run::toolset::PlannedCall;

/// How often a task is asked after when its server does not say, and the bounds of what it may say.
const POLL: Duration = Duration::from_secs(1);
const POLL_MIN: Duration = Duration::from_millis(50);
const POLL_MAX: Duration = Duration::from_secs(30);
/// How often in a row a server may be out of reach before its task is given up: some three minutes.
const MISSES_MAX: u32 = 9;
/// So long calling a task off may take: whoever ends waits for it.
const ABANDON_MAX: Duration = Duration::from_secs(2);

/// How a server's task stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stands {
    /// What it is doing.
    pub(crate) status: TaskStatus,
    /// What its server, or the hub in its place, says of that.
    pub(crate) message: Option<String>,
    /// How often it wants to be asked, in milliseconds.
    pub(crate) poll_ms: Option<u64>,
}

/// What was found when a task was looked at.
#[derive(Debug)]
pub(crate) struct Looked {
    /// How it stands.
    pub(crate) stands: Stands,
    /// What it came to, when it is over.
    pub(crate) told: Option<Told>,
    /// Whose data the task of the engine holds by then.
    pub(crate) labels: EntityLabels,
}

/// What one answer says.
enum Seen {
    Stands(Stands),
    Over(Stands, Told),
    /// Nobody could be asked now.
    Missed(Told),
    Early(Duration),
}

// === impl Hands ===

impl Hands {
    /// What is told of a call that began a task: how it is known, and that nobody need wait for it.
    pub(super) async fn begun(&self, call: &PlannedCall, task: &Object) -> Done {
        let Ok(task) = Task::parse(&task.to_raw()) else {
            return self.done(unread());
        };
        let handle = TaskHandle::new(&*task.task_id);
        let stands = Stands::of(&task);
        let says = match &stands.message {
            Some(message) => format!(" It says: {message}"),
            None => String::new(),
        };
        let told = Told::new(
            CallStatus::Background,
            format!(
                "This runs in the background as task {id}.{says} Its result comes to you as a \
                 message as soon as it is there; do not call again for it. Go on with what does \
                 not need it. If there is nothing, say so in a word: you are asked again when it \
                 is there.",
                id = call.id
            ),
        );
        let mut done = self.done(told);
        match done.told.status {
            CallStatus::Background => done.began = Some((handle, stands)),
            // Nobody may be told of it, so nobody can wait for it.
            _ => drop(self.abandon(&handle).await),
        }
        done
    }

    /// Waits until a task stands otherwise than it did.
    pub(crate) async fn look(&self, handle: TaskHandle, last: Stands, cancel: &Cancel) -> Looked {
        let mut misses = 0;
        let mut pause = last.pause();
        loop {
            tokio::time::sleep(pause).await;
            pause = last.pause();
            let (stands, told) = match self.seen(&handle, cancel).await {
                Seen::Stands(stands) if stands == last => {
                    misses = 0;
                    continue;
                }
                Seen::Stands(stands) => (stands, None),
                Seen::Over(stands, told) => (stands, Some(told)),
                Seen::Early(after) => {
                    pause = after.max(pause);
                    continue;
                }
                Seen::Missed(_) if misses < MISSES_MAX => {
                    misses += 1;
                    pause = (POLL * 2_u32.pow(misses - 1)).min(POLL_MAX);
                    continue;
                }
                Seen::Missed(told) => (Stands::failed(&told), Some(told)),
            };
            return self.looked(stands, told);
        }
    }

    fn looked(&self, mut stands: Stands, told: Option<Told>) -> Looked {
        if let Some(told) = told {
            let Done { told, labels, .. } = self.done(told);
            return Looked {
                stands,
                told: Some(told),
                labels,
            };
        }
        let labels = self.carry(&EntityLabels::none());
        // Whose words they are cannot be said, and then nobody is told.
        stands.message = stands.message.filter(|_| labels.is_ok());
        if let Some(message) = &stands.message {
            self.tell(message.clone());
        }
        Looked {
            stands,
            told: None,
            labels: labels.unwrap_or_default(),
        }
    }

    async fn seen(&self, handle: &TaskHandle, cancel: &Cancel) -> Seen {
        let context = self.context(cancel);
        let asked = self
            .gate
            .follow(&context, handle.clone(), &self.delegator, self.peer());
        match asked.await {
            Ok(Outcome::Complete(raw)) => match read(&raw) {
                Some((task, outcome)) => self.stands(handle, &task, outcome).await,
                None => over(unread()),
            },
            Ok(Outcome::Error(error)) => over(Told::new(
                CallStatus::Error,
                format!(
                    "Its server no longer answers for the task: {}",
                    error.message
                ),
            )),
            Ok(Outcome::Failed(failure)) => {
                let told = Told::new(
                    CallStatus::Unknown,
                    format!("{failure}\n{}", failure.hint()),
                );
                match failure {
                    CallFailure::NotConnected { .. }
                    | CallFailure::Lost { .. }
                    | CallFailure::TimedOut { .. }
                    | CallFailure::NeedsAuth { .. } => Seen::Missed(told),
                    _ => over(told),
                }
            }
            Ok(Outcome::Task(_) | Outcome::InputRequired(_)) => over(unread()),
            Err(Refusal::TooMany(early)) => Seen::Early(early.after),
            // A server that is just being configured again is there in a moment.
            Err(refusal @ Refusal::Unresolved(_)) => Seen::Missed(denied(&refusal)),
            Err(refusal) => {
                drop(self.abandon(handle).await);
                over(denied(&refusal))
            }
        }
    }

    async fn stands(&self, handle: &TaskHandle, task: &Task, outcome: TaskOutcome) -> Seen {
        let stands = Stands::of(task);
        match outcome {
            TaskOutcome::Result(result) => Seen::Over(stands, complete(&result)),
            TaskOutcome::Error(error) => {
                let told = Told::new(CallStatus::Error, error.message.to_string());
                Seen::Over(stands, told)
            }
            TaskOutcome::None if task.status == TaskStatus::Cancelled => Seen::Over(
                stands,
                Told::new(CallStatus::Error, "Its server called the task off."),
            ),
            TaskOutcome::None => Seen::Stands(stands),
            TaskOutcome::Input(_) => {
                drop(self.abandon(handle).await);
                over(Told::new(
                    CallStatus::Error,
                    "The tool asks a person something, and a delegated task cannot pass that on; \
                     its task was called off.",
                ))
            }
        }
    }

    /// Calls a task off at its server; why that could not be done.
    pub(crate) async fn abandon(&self, handle: &TaskHandle) -> Result<(), String> {
        let context = self.context(&Cancel::new());
        let asked = self
            .gate
            .abandon(&context, handle.clone(), &self.delegator, self.peer());
        match tokio::time::timeout(ABANDON_MAX, asked).await {
            Ok(Ok(Outcome::Error(error))) => Err(error.message.to_string()),
            Ok(Ok(Outcome::Failed(failure))) => Err(failure.to_string()),
            Ok(Ok(_)) => Ok(()),
            Ok(Err(refusal)) => Err(chain(&refusal)),
            Err(_) => Err("its server did not answer in time".to_owned()),
        }
    }
}

// === impl Stands ===

impl Stands {
    /// How a task stands of which no more is known.
    pub(crate) fn new(status: TaskStatus) -> Self {
        Self {
            status,
            message: None,
            poll_ms: None,
        }
    }

    fn of(task: &Task) -> Self {
        Self {
            status: task.status,
            message: task.status_message.as_deref().map(line),
            poll_ms: task.poll_interval_ms.and_then(|ms| u64::try_from(ms).ok()),
        }
    }

    /// As others see it.
    pub(crate) fn note(&self, view: &mut BackgroundView) {
        self.status.as_str().clone_into(&mut view.status);
        view.status_message.clone_from(&self.message);
        view.poll_interval_ms = self.poll_ms;
    }

    fn failed(told: &Told) -> Self {
        Self {
            message: told.text.lines().next().map(line),
            ..Self::new(TaskStatus::Failed)
        }
    }

    fn pause(&self) -> Duration {
        self.poll_ms
            .map_or(POLL, Duration::from_millis)
            .clamp(POLL_MIN, POLL_MAX)
    }
}

fn over(told: Told) -> Seen {
    Seen::Over(Stands::failed(&told), told)
}

fn read(raw: &Raw) -> Option<(Task, TaskOutcome)> {
    let mut task = Task::parse(raw).ok()?;
    let outcome = task_outcome(&mut task).ok()?;
    Some((task, outcome))
}

/// The first line of what a server says, cut.
fn line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    line.chars()
        .filter(|letter| !letter.is_control())
        .take(200)
        .collect()
}
