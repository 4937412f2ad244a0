//! `[delegate]`: how delegated tasks are worked on.

use std::collections::BTreeMap;
use std::time::Duration;

use super::keys::{Key, Kind};
use super::layers::{Value, Values};

/// How delegated tasks are worked on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DelegateSettings {
    /// `enabled`: whether anything is.
    pub enabled: bool,
    /// `provider`, where one is wanted.
    pub provider: Option<Box<str>>,
    /// `model`, where one is wanted.
    pub model: Option<Box<str>>,
    /// `max_concurrent_tasks`, at least one.
    pub max_concurrent_tasks: usize,
    /// `queue_max`: of each class.
    pub queue_max: usize,
    /// `turns_max`.
    pub turns_max: u32,
    /// `tokens_max`.
    pub tokens_max: u64,
    /// `wall_clock_ms`.
    pub wall_clock: Duration,
    /// `check_tries`.
    pub check_tries: u32,
    /// `age_ms`; `None` for never.
    pub age_after: Option<Duration>,
    /// `age_turns`; 0 for never.
    pub age_turns: u32,
    /// `keep_days`; `None` keeps tasks.
    pub keep_days: Option<u32>,
    /// `[delegate.hints.NAME]`, by name.
    pub hints: BTreeMap<Box<str>, HintChoice>,
}

/// `[delegate.hints.NAME]`: what a hint chooses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HintChoice {
    /// `provider`.
    pub provider: Option<Box<str>>,
    /// `model`.
    pub model: Option<Box<str>>,
    /// `tools`: names, with `*` and `?`; all when empty.
    pub tools: Vec<Box<str>>,
    /// `check_command`.
    pub check_command: Option<Box<str>>,
    /// `agent`.
    pub agent: Option<Box<str>>,
}

const fn key(name: &'static str, kind: Kind) -> Key {
    Key { name, kind }
}

/// The keys of one hint.
pub(super) const HINT_KEYS: [Key; 5] = [
    key("provider", Kind::Name),
    key("model", Kind::Line),
    key("tools", Kind::Patterns),
    key("check_command", Kind::Line),
    key("agent", Kind::Name),
];

/// What `config explain` says of them.
pub(super) const HINT_ABOUT: &str = "What a hint chooses for tasks that carry it: provider, model, tools, the command that must succeed before a task is completed, and the custom agent.";

pub(super) fn read(values: &Values) -> DelegateSettings {
    let text = |key: &str| match &values[key].value {
        Value::Text(text) if !text.is_empty() => Some(text.as_str().into()),
        _ => None,
    };
    let age = super::millis(values, "delegate.age_ms");
    DelegateSettings {
        enabled: super::is_on(values, "delegate.enabled"),
        provider: text("delegate.provider"),
        model: text("delegate.model"),
        max_concurrent_tasks: super::count(values, "delegate.max_concurrent_tasks"),
        queue_max: super::count(values, "delegate.queue_max"),
        turns_max: super::small(values, "delegate.turns_max"),
        tokens_max: super::number(values, "delegate.tokens_max"),
        wall_clock: super::millis(values, "delegate.wall_clock_ms"),
        check_tries: super::small(values, "delegate.check_tries"),
        age_after: Some(age).filter(|age| !age.is_zero()),
        age_turns: super::small(values, "delegate.age_turns"),
        keep_days: Some(super::small(values, "delegate.keep_days")).filter(|days| *days > 0),
        hints: hints(values),
    }
}

fn hints(values: &Values) -> BTreeMap<Box<str>, HintChoice> {
    let mut hints: BTreeMap<Box<str>, HintChoice> = BTreeMap::new();
    for (key, placed) in values {
        let Some((name, field)) = key
            .strip_prefix("delegate.hints.")
            .and_then(|rest| rest.rsplit_once('.'))
        else {
            continue;
        };
        let hint = hints.entry(name.into()).or_default();
        let text = match &placed.value {
            Value::Text(text) if !text.is_empty() => Some(text.as_str().into()),
            _ => None,
        };
        match (field, &placed.value) {
            ("tools", Value::Texts(tools)) => {
                hint.tools = tools.iter().map(|tool| tool.as_str().into()).collect();
            }
            ("provider", _) => hint.provider = text,
            ("model", _) => hint.model = text,
            ("check_command", _) => hint.check_command = text,
            ("agent", _) => hint.agent = text,
            _ => {}
        }
    }
    hints
}
