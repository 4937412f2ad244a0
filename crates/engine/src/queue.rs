//! Who works when: people before the hub, the hub before agents, and nobody for ever last.
//!
//! A machine without clock or tasks: [`Event`]s go in with the time, [`Effect`]s come out. A session
//! is one conversation, so at most one of its tasks has the floor; at most as many tasks as there are
//! workers have it at once. A task that a person's message interrupts keeps its place and goes on by
//! itself. Its run is not waited for longer than [`YIELD_MAX`]: one that cannot stop, because it is
//! inside something, stands no person's answer in the way.

mod event;
mod schedule;
mod task;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::{Duration, Instant};

use legation_api::tasks::Class;
use legation_core::{SessionId, TaskId};

pub(crate) use self::event::{Effect, Event, Hold};
pub(crate) use self::task::{Full, Ticket};
use self::task::{Key, Rank, Stage, Task};

/// So long after a key was pressed nobody but people begins something.
pub(crate) const TYPING: Duration = Duration::from_secs(2);
/// So long a run that was told to stop may take until it is passed over.
pub(crate) const YIELD_MAX: Duration = Duration::from_secs(1);
/// So long a task that waited too long cannot be interrupted.
pub(crate) const SLICE: Duration = Duration::from_secs(20);

/// How the queue is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct QueueSettings {
    /// How many work at once; at least one.
    pub(crate) workers: usize,
    /// How many of one class may be open.
    pub(crate) class_max: usize,
    /// After so long a task that waits comes first; `None` for never.
    pub(crate) age_after: Option<Duration>,
    /// After so many turns of people a task that waits comes first; 0 for never.
    pub(crate) age_turns: u32,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Queue {
    settings: QueueSettings,
    /// Every open task.
    tasks: HashMap<TaskId, Task>,
    /// Those that could have the floor and have not, first ones first.
    order: BTreeMap<Key, TaskId>,
    /// Those that have it.
    active: BTreeSet<TaskId>,
    /// When those that wait have waited too long.
    due: BTreeSet<(Instant, TaskId)>,
    typing: HashMap<SessionId, Instant>,
    /// What was accepted up to this number is called off.
    cancelled: HashMap<SessionId, u64>,
    /// How many of each class are open, or accepted and not stored yet.
    counts: [usize; 3],
    numbers: u64,
    place: i64,
}

// === impl Queue ===

impl Queue {
    /// An empty queue.
    pub(crate) fn new(settings: QueueSettings) -> Self {
        Self {
            settings,
            tasks: HashMap::new(),
            order: BTreeMap::new(),
            active: BTreeSet::new(),
            due: BTreeSet::new(),
            typing: HashMap::new(),
            cancelled: HashMap::new(),
            counts: [0; 3],
            numbers: 0,
            place: 0,
        }
    }

    /// Changes how it is set; what runs goes on.
    pub(crate) fn set(&mut self, settings: QueueSettings) {
        self.settings = settings;
    }

    /// Makes room for a task, which is then stored and handed in by [`Event::Submitted`] or given up
    /// by [`Queue::give_up`]. Its place is the ticket's.
    pub(crate) fn accept(&mut self, session: &SessionId, class: Class) -> Result<Ticket, Full> {
        let most = self.settings.class_max;
        let count = &mut self.counts[class as usize];
        if *count >= most {
            return Err(Full { most });
        }
        *count += 1;
        self.numbers += 1;
        self.place += 1;
        Ok(Ticket {
            session: session.clone(),
            class,
            number: self.numbers,
            place: self.place,
        })
    }

    /// Takes up a task that was stored by an earlier hub, or that waited for a person: nobody can
    /// refuse it any more.
    pub(crate) fn take_up(&mut self, session: &SessionId, class: Class, place: i64) -> Ticket {
        self.counts[class as usize] += 1;
        self.numbers += 1;
        self.place = self.place.max(place);
        Ticket {
            session: session.clone(),
            class,
            number: self.numbers,
            place,
        }
    }

    /// A task that was accepted is none: it could not be stored.
    pub(crate) fn give_up(&mut self, ticket: &Ticket) {
        self.counts[ticket.class as usize] -= 1;
    }

    /// Takes in what happened; what is to be done, in this order.
    pub(crate) fn handle(&mut self, event: Event, now: Instant) -> Vec<Effect> {
        let mut effects = Vec::new();
        match event {
            Event::Submitted(ticket, id) => self.submitted(ticket, id, now, &mut effects),
            Event::Yielded(id) => self.yielded(&id, now),
            Event::Rests(id) => self.rests(&id, &mut effects),
            Event::Ready(id) => self.ready(&id, now),
            Event::Ended(id) => self.remove(&id),
            Event::Typing(session) => {
                self.typing.insert(session, now + TYPING);
            }
            Event::CancelAll(session) => self.cancel_all(&session, &mut effects),
            Event::Tick => {}
        }
        self.schedule(now, &mut effects);
        effects
    }

    /// Moves a task that has not begun before another of its class, or to the end; the new places
    /// of all that moved. `None` when there is nothing to move.
    pub(crate) fn reorder(
        &mut self,
        id: &TaskId,
        before: Option<&TaskId>,
    ) -> Option<Vec<(TaskId, i64)>> {
        let class = self.tasks.get(id).filter(|task| task.stage == Stage::New)?;
        let class = class.class;
        if let Some(before) = before {
            let other = self.tasks.get(before)?;
            if other.class != class || other.stage != Stage::New || before == id {
                return None;
            }
        }
        let of_class = |task: &Task| task.class == class && task.stage == Stage::New;
        let mut line: Vec<(i64, TaskId)> = self
            .tasks
            .iter()
            .filter(|(_, task)| of_class(task))
            .map(|(id, task)| (task.place, id.clone()))
            .collect();
        line.sort_unstable();
        let places: Vec<i64> = line.iter().map(|(place, _)| *place).collect();
        let mut ids: Vec<TaskId> = line.into_iter().map(|(_, id)| id).collect();
        ids.retain(|other| other != id);
        let at = before.map_or(ids.len(), |before| {
            ids.iter().position(|other| other == before).unwrap_or(0)
        });
        ids.insert(at, id.clone());
        let mut moved = Vec::new();
        for (id, place) in ids.into_iter().zip(places) {
            let Some(task) = self.tasks.get_mut(&id) else {
                continue;
            };
            if task.place == place {
                continue;
            }
            self.order.remove(&task.key());
            task.place = place;
            self.order.insert(task.key(), id.clone());
            moved.push((id, place));
        }
        Some(moved)
    }

    /// How many come before a task that waits; `None` when it has the floor or is not here.
    pub(crate) fn position(&self, id: &TaskId) -> Option<usize> {
        let task = self.tasks.get(id)?;
        if self.active.contains(id) {
            return None;
        }
        let before = self.order.range(..task.key()).count();
        // One who is to give way comes later, however much it still has the floor.
        Some(before + self.active.iter().filter(|id| !self.gives_way(id)).count())
    }

    /// When [`Event::Tick`] is due.
    pub(crate) fn next_tick(&self) -> Option<Instant> {
        let typing = self.typing.values().copied();
        let aged = self.due.first().map(|(due, _)| *due);
        let active = self.active.iter().filter_map(|id| self.tasks.get(id));
        let runs = active.filter_map(|task| match task.stage {
            Stage::Active {
                hold: Some((Hold::Hard, told)),
                ..
            } => Some(told + YIELD_MAX),
            Stage::Active { safe_until, .. } => safe_until,
            Stage::New | Stage::Standing | Stage::Resting => None,
        });
        typing.chain(aged).chain(runs).min()
    }

    fn submitted(&mut self, ticket: Ticket, id: TaskId, now: Instant, effects: &mut Vec<Effect>) {
        let mark = self.cancelled.get(&ticket.session).copied();
        if mark.is_some_and(|mark| ticket.number <= mark) {
            self.give_up(&ticket);
            effects.push(Effect::Drop(id));
            return;
        }
        let task = Task {
            session: ticket.session,
            class: ticket.class,
            number: ticket.number,
            place: ticket.place,
            stage: Stage::New,
            waits_since: now,
            turns: 0,
            is_aged: false,
        };
        self.order.insert(task.key(), id.clone());
        self.waits(&task, &id);
        self.tasks.insert(id, task);
    }

    fn yielded(&mut self, id: &TaskId, now: Instant) {
        let Some(mut task) = self.tasks.remove(id) else {
            return;
        };
        if matches!(task.stage, Stage::Active { hold: Some(_), .. }) {
            self.active.remove(id);
            task.stage = Stage::Standing;
            task.waits_since = now;
            self.order.insert(task.key(), id.clone());
            self.waits(&task, id);
        }
        self.tasks.insert(id.clone(), task);
    }

    fn rests(&mut self, id: &TaskId, effects: &mut Vec<Effect>) {
        let Some(task) = self.tasks.get_mut(id) else {
            return;
        };
        if matches!(task.stage, Stage::New | Stage::Resting) {
            return;
        }
        self.order.remove(&task.key());
        self.active.remove(id);
        self.due.retain(|(_, other)| other != id);
        task.stage = Stage::Resting;
        task.is_aged = false;
        effects.push(Effect::Rest(id.clone()));
    }

    fn ready(&mut self, id: &TaskId, now: Instant) {
        let Some(mut task) = self.tasks.remove(id) else {
            return;
        };
        if task.stage == Stage::Resting {
            task.stage = Stage::Standing;
            task.waits_since = now;
            task.turns = 0;
            self.order.insert(task.key(), id.clone());
            self.waits(&task, id);
        }
        self.tasks.insert(id.clone(), task);
    }

    fn waits(&mut self, task: &Task, id: &TaskId) {
        if let Some(after) = self.settings.age_after.filter(|_| !task.is_human()) {
            self.due.insert((task.waits_since + after, id.clone()));
        }
    }

    fn remove(&mut self, id: &TaskId) {
        let Some(task) = self.tasks.remove(id) else {
            return;
        };
        self.counts[task.class as usize] -= 1;
        self.order.remove(&task.key());
        self.active.remove(id);
        self.due.retain(|(_, other)| other != id);
    }

    fn cancel(&mut self, id: &TaskId, effects: &mut Vec<Effect>) {
        let Some(task) = self.tasks.get(id) else {
            return;
        };
        if task.stage == Stage::New {
            self.remove(id);
            effects.push(Effect::Drop(id.clone()));
        } else {
            effects.push(Effect::Cancel(id.clone()));
        }
    }

    fn cancel_all(&mut self, session: &SessionId, effects: &mut Vec<Effect>) {
        self.cancelled.insert(session.clone(), self.numbers);
        let of_session = self
            .tasks
            .iter()
            .filter(|(_, task)| task.session == *session);
        let mut ids: Vec<(u64, TaskId)> = of_session
            .map(|(id, task)| (task.number, id.clone()))
            .collect();
        ids.sort_unstable();
        for (_, id) in ids {
            self.cancel(&id, effects);
        }
    }
}
