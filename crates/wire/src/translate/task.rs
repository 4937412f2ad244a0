//! Tasks: the experimental shape of 2025-11-25 and the flat one of the tasks extension.

use super::ShapeError;
use super::input::{InputRequest, parse_requests, requests_to_raw};
use crate::json::{Object, Raw};
use crate::message::ErrorObject;

/// The state of a task, as either shape describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// The server's id.
    pub task_id: Box<str>,
    /// What it is doing.
    pub status: TaskStatus,
    /// For people.
    pub status_message: Option<Box<str>>,
    /// ISO 8601, as the server wrote it.
    pub created_at: Option<Raw>,
    /// ISO 8601, as the server wrote it.
    pub last_updated_at: Option<Raw>,
    /// Milliseconds from creation for which the server keeps it; `None` for ever.
    pub ttl_ms: Option<i64>,
    /// Milliseconds to wait between questions about it.
    pub poll_interval_ms: Option<i64>,
    /// Members that neither shape knows.
    pub rest: Object,
}

/// What a task is doing; the same words in both shapes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskStatus {
    /// Running.
    Working,
    /// Waiting for an answer.
    InputRequired,
    /// Done, with a result, which may say that the tool failed.
    Completed,
    /// Ended with a JSON-RPC error.
    Failed,
    /// Stopped on request.
    Cancelled,
}

/// What a modern `tasks/get` says beyond the state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskOutcome {
    /// Nothing yet, or ever: working or cancelled.
    None,
    /// What the task waits for.
    Input(Vec<(Box<str>, InputRequest)>),
    /// The result of the original request.
    Result(Raw),
    /// The error of the original request.
    Error(ErrorObject),
}

// === impl TaskStatus ===

impl TaskStatus {
    const ALL: [Self; 5] = [
        Self::Working,
        Self::InputRequired,
        Self::Completed,
        Self::Failed,
        Self::Cancelled,
    ];

    /// As written on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Working => "working",
            Self::InputRequired => "input_required",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Reads a status.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == text)
    }

    /// Whether nothing will change any more.
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

// === impl Task ===

impl Task {
    /// Reads either shape: `{"task": {…}}`, the inner object of it (2025-11-25, `tasks/get`
    /// and `notifications/tasks/status`), or the flat one of the extension.
    ///
    /// # Errors
    /// No id, or a status that is none.
    pub fn parse(raw: &Raw) -> Result<Self, ShapeError> {
        let fault = |problem| ShapeError {
            what: "task",
            problem,
        };
        let raw = raw
            .get("task")
            .filter(|task| task.to_object().is_some())
            .unwrap_or_else(|| raw.clone());
        let mut rest = raw.to_object().ok_or_else(|| fault("not an object"))?;
        rest.remove("resultType");
        let text = |raw: Raw| raw.to_str().map(Box::<str>::from);
        let task_id = rest
            .remove("taskId")
            .and_then(text)
            .ok_or_else(|| fault("no taskId"))?;
        let status = rest
            .remove("status")
            .and_then(text)
            .and_then(|status| TaskStatus::parse(&status));
        let number = |raw: Option<Raw>| raw.and_then(|raw| raw.to_i64());
        let (ttl, ttl_ms) = (rest.remove("ttl"), rest.remove("ttlMs"));
        let (poll, poll_ms) = (rest.remove("pollInterval"), rest.remove("pollIntervalMs"));
        Ok(Self {
            task_id,
            status: status.ok_or_else(|| fault("no known status"))?,
            status_message: rest.remove("statusMessage").and_then(text),
            created_at: rest.remove("createdAt"),
            last_updated_at: rest.remove("lastUpdatedAt"),
            ttl_ms: number(ttl_ms.or(ttl)),
            poll_interval_ms: number(poll_ms.or(poll)),
            rest,
        })
    }

    /// The inner object of 2025-11-25: what `tasks/get`, `tasks/cancel` and
    /// `notifications/tasks/status` carry.
    pub fn to_legacy(&self) -> Object {
        self.to_object("ttl", "pollInterval")
    }

    /// The result that starts a task in 2025-11-25.
    pub fn to_legacy_created(&self) -> Raw {
        let mut task = self.to_legacy();
        let meta = task.remove("_meta");
        let mut result = Object::new().with("task", task.to_raw());
        if let Some(meta) = meta {
            result.set("_meta", meta);
        }
        result.to_raw()
    }

    /// The flat members of the extension, without `resultType`: what `notifications/tasks`
    /// carries.
    pub fn to_modern(&self) -> Object {
        self.to_object("ttlMs", "pollIntervalMs")
    }

    /// The result that starts a task in the extension.
    pub fn to_modern_created(&self) -> Raw {
        let mut result = Object::new().with("resultType", Raw::from_static(r#""task""#));
        result.merge(&self.to_modern());
        result.to_raw()
    }

    /// The answer to the extension's `tasks/get`.
    pub fn to_modern_detailed(&self, outcome: &TaskOutcome) -> Raw {
        let mut result = Object::new().with("resultType", Raw::from_static(r#""complete""#));
        result.merge(&self.to_modern());
        match outcome {
            TaskOutcome::None => {}
            TaskOutcome::Input(requests) => result.set("inputRequests", requests_to_raw(requests)),
            TaskOutcome::Result(raw) => result.set("result", raw.clone()),
            TaskOutcome::Error(error) => result.set("error", error.to_object().to_raw()),
        }
        result.to_raw()
    }

    fn to_object(&self, ttl: &str, poll_interval: &str) -> Object {
        let mut object = Object::new();
        object.set("taskId", Raw::str(&self.task_id));
        object.set("status", Raw::str(self.status.as_str()));
        if let Some(message) = &self.status_message {
            object.set("statusMessage", Raw::str(message));
        }
        for (member, value) in [
            ("createdAt", &self.created_at),
            ("lastUpdatedAt", &self.last_updated_at),
        ] {
            if let Some(value) = value {
                object.set(member, value.clone());
            }
        }
        object.set(ttl, self.ttl_ms.map_or_else(Raw::null, Raw::int));
        if let Some(interval) = self.poll_interval_ms {
            object.set(poll_interval, Raw::int(interval));
        }
        object.merge(&self.rest);
        object
    }
}

/// Takes the outcome out of a modern `tasks/get` answer; what is left in `task` is its state.
///
/// # Errors
/// The member that the status calls for is missing or malformed.
pub fn task_outcome(task: &mut Task) -> Result<TaskOutcome, ShapeError> {
    let fault = |problem| ShapeError {
        what: "task",
        problem,
    };
    let (input, result, error) = (
        task.rest.remove("inputRequests"),
        task.rest.remove("result"),
        task.rest.remove("error"),
    );
    match task.status {
        TaskStatus::Working | TaskStatus::Cancelled => Ok(TaskOutcome::None),
        TaskStatus::InputRequired => {
            parse_requests(&input.ok_or_else(|| fault("input_required without inputRequests"))?)
                .map(TaskOutcome::Input)
        }
        TaskStatus::Completed => result
            .map(TaskOutcome::Result)
            .ok_or_else(|| fault("completed without a result")),
        TaskStatus::Failed => {
            let error = error.as_ref().and_then(ErrorObject::from_raw);
            error
                .map(TaskOutcome::Error)
                .ok_or_else(|| fault("failed without an error"))
        }
    }
}
