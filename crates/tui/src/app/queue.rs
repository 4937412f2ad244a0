//! The tasks of the session that are not over, and messages that wait here for one of them.

use std::collections::VecDeque;

use legation_api::tasks::{Class, TaskState, TaskView};

/// Messages that may wait here.
const HELD_MAX: usize = 50;
/// Tasks that are remembered after their end: what was asked about one may be answered after it.
const OVER_MAX: usize = 64;

/// A message that is handed in once a task is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) number: u64,
    pub(crate) text: String,
    /// The task it waits for.
    pub(crate) after: String,
}

/// Something that waits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Item<'a> {
    Task(&'a TaskView),
    Held(&'a Held),
}

/// What is worked on and what waits, in its order.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    tasks: Vec<TaskView>,
    held: VecDeque<Held>,
    numbers: u64,
    /// Those that ended last.
    over: VecDeque<String>,
}

// === impl Queue ===

impl Queue {
    /// Puts in how a task is now; whether it was not over before and is now.
    pub(crate) fn put(&mut self, task: TaskView) -> bool {
        let known = self
            .tasks
            .iter()
            .position(|one| one.task_id == task.task_id);
        if task.status.is_final() {
            if self.over.len() == OVER_MAX {
                self.over.pop_front();
            }
            self.over.push_back(task.task_id);
            return known.map(|at| self.tasks.remove(at)).is_some();
        }
        // Answers and what is told come by different ways and may overtake each other.
        match known.and_then(|at| self.tasks.get_mut(at)) {
            Some(known) if known.changed > task.changed => {}
            Some(known) => *known = task,
            None if self.over.contains(&task.task_id) => {}
            None => self.tasks.push(task),
        }
        self.tasks.sort_by_key(|task| {
            let rank = match task.status {
                TaskState::InProgress => 0,
                TaskState::InputRequired => 1,
                TaskState::Preempted
                | TaskState::Queued
                | TaskState::Completed
                | TaskState::Failed
                | TaskState::Cancelled => 2,
            };
            (rank, task.queue_position.unwrap_or(usize::MAX))
        });
        false
    }

    /// What the hub says is there; whatever it does not name is over.
    pub(crate) fn replace(&mut self, tasks: Vec<TaskView>) {
        self.tasks.clear();
        for task in tasks {
            self.put(task);
        }
    }

    pub(crate) fn clear(&mut self) {
        self.tasks.clear();
    }

    pub(crate) fn task(&self, id: &str) -> Option<&TaskView> {
        self.tasks.iter().find(|task| task.task_id == id)
    }

    /// What is worked on.
    pub(crate) fn active(&self) -> Option<&TaskView> {
        self.tasks
            .iter()
            .find(|task| task.status == TaskState::InProgress)
    }

    /// One's own that is worked on.
    pub(crate) fn own_active(&self) -> Option<&TaskView> {
        self.tasks
            .iter()
            .find(|task| task.status == TaskState::InProgress && task.class == Class::Human)
    }

    /// How many of one's own are not over.
    pub(crate) fn own(&self) -> usize {
        let own = self.tasks.iter();
        own.filter(|task| task.class == Class::Human).count()
    }

    /// The first that asks something.
    pub(crate) fn asking(&self) -> Option<&TaskView> {
        self.tasks
            .iter()
            .find(|task| task.status == TaskState::InputRequired)
    }

    /// Everything that can be selected, in its order.
    pub(crate) fn items(&self) -> Vec<Item<'_>> {
        let tasks = self.tasks.iter().map(Item::Task);
        tasks.chain(self.held.iter().map(Item::Held)).collect()
    }

    /// What waits behind what is worked on.
    pub(crate) fn waiting(&self) -> Vec<Item<'_>> {
        let mut items = self.items();
        items.retain(|item| match item {
            Item::Task(task) => task.status != TaskState::InProgress,
            Item::Held(_) => true,
        });
        items
    }

    pub(crate) fn held(&self) -> usize {
        self.held.len()
    }

    /// Keeps a message until a task is over; it comes back where too many are kept.
    pub(crate) fn hold(&mut self, text: String, after: String) -> Result<(), String> {
        if self.held.len() >= HELD_MAX {
            return Err(text);
        }
        self.numbers += 1;
        self.held.push_back(Held {
            number: self.numbers,
            text,
            after,
        });
        Ok(())
    }

    /// Other words for a held message; whether it is still held.
    pub(crate) fn rewrite(&mut self, number: u64, text: &str) -> bool {
        let held = self.held.iter_mut().find(|held| held.number == number);
        held.map(|held| text.clone_into(&mut held.text)).is_some()
    }

    /// Takes all messages that wait here.
    pub(crate) fn take_held(&mut self) -> Vec<String> {
        self.held.drain(..).map(|held| held.text).collect()
    }

    pub(crate) fn unhold(&mut self, number: u64) {
        self.held.retain(|held| held.number != number);
    }

    /// Moves a held message among its like.
    pub(crate) fn move_held(&mut self, number: u64, is_up: bool) {
        let Some(at) = self.held.iter().position(|held| held.number == number) else {
            return;
        };
        let other = match is_up {
            true => at.checked_sub(1),
            false => Some(at + 1).filter(|other| *other < self.held.len()),
        };
        if let Some(other) = other {
            self.held.swap(at, other);
        }
    }

    /// The first held message whose task is over, or asks and will not go on by itself.
    pub(crate) fn ripe(&mut self) -> Option<Held> {
        let first = self.held.front()?;
        let waits = self.task(&first.after).is_some_and(|task| {
            matches!(
                task.status,
                TaskState::Queued | TaskState::InProgress | TaskState::Preempted
            )
        });
        if waits { None } else { self.held.pop_front() }
    }

    /// The request that moves a queued task one place: which task comes before which.
    pub(crate) fn moved(&self, id: &str, is_up: bool) -> Option<(String, String)> {
        let class = self.task(id)?.class;
        let queued: Vec<&TaskView> = self
            .tasks
            .iter()
            .filter(|task| task.status == TaskState::Queued && task.class == class)
            .collect();
        let at = queued.iter().position(|task| task.task_id == id)?;
        let (first, second) = match is_up {
            true => (queued.get(at)?, queued.get(at.checked_sub(1)?)?),
            false => (queued.get(at + 1)?, queued.get(at)?),
        };
        Some((first.task_id.clone(), second.task_id.clone()))
    }
}
