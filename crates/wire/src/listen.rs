//! Filters of `subscriptions/listen` (2026-07-28, subscriptions; task ids from the tasks
//! extension).

use crate::json::{Object, Raw};

/// Which notifications a listener wants, or a server agreed to send.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListenFilter {
    /// `notifications/tools/list_changed`.
    pub tools: bool,
    /// `notifications/prompts/list_changed`.
    pub prompts: bool,
    /// `notifications/resources/list_changed`.
    pub resources: bool,
    /// `notifications/resources/updated` for these URIs, in order.
    pub uris: Vec<Box<str>>,
    /// `notifications/tasks` for these task ids, in order.
    pub task_ids: Vec<Box<str>>,
}

// === impl ListenFilter ===

impl ListenFilter {
    /// Reads the `notifications` member of a request or an acknowledgement. What is not known
    /// here, or not of the right kind, is not asked for.
    pub fn from_raw(raw: &Raw) -> Self {
        let filter = raw.to_object().unwrap_or_default();
        let flag = |member| filter.get(member).and_then(Raw::to_bool).unwrap_or(false);
        let texts = |member| -> Vec<Box<str>> {
            let items = filter
                .get(member)
                .and_then(Raw::to_array)
                .unwrap_or_default();
            items
                .iter()
                .filter_map(|item| item.to_str().map(Into::into))
                .collect()
        };
        Self {
            tools: flag("toolsListChanged"),
            prompts: flag("promptsListChanged"),
            resources: flag("resourcesListChanged"),
            uris: texts("resourceSubscriptions"),
            task_ids: texts("taskIds"),
        }
    }

    /// The `notifications` member; what is not wanted is left out.
    pub fn to_raw(&self) -> Raw {
        let mut filter = Object::new();
        let flags = [
            ("toolsListChanged", self.tools),
            ("promptsListChanged", self.prompts),
            ("resourcesListChanged", self.resources),
        ];
        for (member, _) in flags.iter().filter(|(_, on)| *on) {
            filter.set(member, Raw::bool(true));
        }
        for (member, texts) in [
            ("resourceSubscriptions", &self.uris),
            ("taskIds", &self.task_ids),
        ] {
            if !texts.is_empty() {
                filter.set(
                    member,
                    Raw::array(&texts.iter().map(|text| Raw::str(text)).collect::<Vec<_>>()),
                );
            }
        }
        filter.to_raw()
    }

    /// Whether nothing is asked for.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// What both want; the order is this filter's.
    #[must_use]
    pub fn intersect(&self, other: &Self) -> Self {
        let common = |mine: &[Box<str>], theirs: &[Box<str>]| {
            mine.iter()
                .filter(|text| theirs.contains(text))
                .cloned()
                .collect()
        };
        Self {
            tools: self.tools && other.tools,
            prompts: self.prompts && other.prompts,
            resources: self.resources && other.resources,
            uris: common(&self.uris, &other.uris),
            task_ids: common(&self.task_ids, &other.task_ids),
        }
    }
}
