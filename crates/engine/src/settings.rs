//! How the engine is set.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::queue::QueueSettings;

/// `[delegate]` of the settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineSettings {
    /// Whether anything is delegated at all.
    pub enabled: bool,
    /// The provider that has tasks, where one is wanted; rules still decide.
    pub provider: Option<String>,
    /// The model that has tasks, where one is wanted.
    pub model: Option<String>,
    /// How many tasks are worked on at once; at least one.
    pub max_concurrent_tasks: usize,
    /// How many tasks of one class may be open.
    pub queue_max: usize,
    /// After how many requests to its model a task fails.
    pub turns_max: u32,
    /// After how many tokens, read and written, a task fails.
    pub tokens_max: u64,
    /// After how much work a task fails.
    pub wall_clock: Duration,
    /// How often a check may fail.
    pub check_tries: u32,
    /// After so long in the queue a task comes before people's messages; `None` for never.
    pub age_after: Option<Duration>,
    /// After so many messages of people a task in the queue comes before them; 0 for never.
    pub age_turns: u32,
    /// How long tasks that are over are kept; `None` for ever.
    pub keep: Option<Duration>,
    /// What a hint chooses, by hint.
    pub hints: BTreeMap<String, HintSettings>,
}

/// `[delegate.hints.NAME]`: what a hint chooses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HintSettings {
    /// The provider.
    pub provider: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// Which tools are offered, as patterns of `server/tool` or a workspace tool's name; all when
    /// empty.
    pub tools: Vec<String>,
    /// The command that must succeed before a task is completed.
    pub check_command: Option<String>,
    /// The custom agent.
    pub agent: Option<String>,
}

// === impl EngineSettings ===

impl Default for EngineSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            provider: None,
            model: None,
            max_concurrent_tasks: 1,
            queue_max: 1_000,
            turns_max: 50,
            tokens_max: 2_000_000,
            wall_clock: Duration::from_secs(60 * 60),
            check_tries: 3,
            age_after: Some(Duration::from_secs(10 * 60)),
            age_turns: 8,
            keep: Some(Duration::from_secs(30 * 24 * 60 * 60)),
            hints: BTreeMap::new(),
        }
    }
}

impl EngineSettings {
    pub(crate) fn queue(&self) -> QueueSettings {
        QueueSettings {
            workers: self.max_concurrent_tasks.max(1),
            class_max: self.queue_max.max(1),
            age_after: self.age_after,
            age_turns: self.age_turns,
        }
    }
}
