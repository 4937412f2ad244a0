//! Who gets the floor next, and who has to give it up for them.

use std::collections::HashSet;
use std::ops::Bound;
use std::time::Instant;

use legation_core::{SessionId, TaskId};

use super::{Effect, Hold, Key, Queue, Rank, SLICE, Stage, Task, YIELD_MAX};

/// The floor while it is given away.
struct Floor {
    /// Workers that nobody has.
    free: usize,
    /// Workers whose tasks were told to stop and that nobody is to have yet.
    coming: usize,
    /// Sessions one of whose tasks has the floor, or will have it.
    taken: HashSet<SessionId>,
}

// === impl Queue ===

impl Queue {
    /// Brings who has the floor in line with who should have it. Doing it again changes nothing.
    pub(super) fn schedule(&mut self, now: Instant, effects: &mut Vec<Effect>) {
        self.typing.retain(|_, until| *until > now);
        self.age(now);
        self.end_slices(now);
        self.pass_over(now);
        self.give(now, effects);
        self.hold_softly(effects);
    }

    /// Puts those first who have waited too long.
    fn age(&mut self, now: Instant) {
        while let Some((due, id)) = self.due.first().cloned() {
            if due > now {
                return;
            }
            self.due.pop_first();
            self.set_aged(&id);
        }
    }

    fn set_aged(&mut self, id: &TaskId) {
        let Some(task) = self.tasks.get_mut(id) else {
            return;
        };
        if task.is_aged || matches!(task.stage, Stage::Active { .. } | Stage::Resting) {
            return;
        }
        self.order.remove(&task.key());
        task.is_aged = true;
        self.order.insert(task.key(), id.clone());
    }

    /// Those whose safe time is over are like any other: nothing is due because of it any more.
    fn end_slices(&mut self, now: Instant) {
        for id in &self.active {
            if let Some(task) = self.tasks.get_mut(id)
                && let Stage::Active { safe_until, .. } = &mut task.stage
                && safe_until.is_some_and(|until| until <= now)
            {
                *safe_until = None;
            }
        }
    }

    /// Takes the floor from runs that were told to give it up and do not answer.
    fn pass_over(&mut self, now: Instant) {
        let is_late = |task: &Task| {
            matches!(task.stage, Stage::Active { hold: Some((Hold::Hard, told)), .. }
                if told + YIELD_MAX <= now)
        };
        let late = self
            .active
            .iter()
            .filter(|id| self.tasks.get(*id).is_some_and(is_late));
        let late: Vec<TaskId> = late.cloned().collect();
        for id in late {
            self.yielded(&id, now);
        }
    }

    fn give(&mut self, now: Instant, effects: &mut Vec<Effect>) {
        let mut floor = Floor {
            free: self.settings.workers.saturating_sub(self.active.len()),
            coming: self.active.iter().filter(|id| self.gives_way(id)).count(),
            taken: HashSet::new(),
        };
        let mut last: Option<Key> = None;
        loop {
            let from = last.map_or(Bound::Unbounded, Bound::Excluded);
            let next = self.order.range((from, Bound::Unbounded)).next();
            let Some((key, id)) = next.map(|(key, id)| (*key, id.clone())) else {
                return;
            };
            // Nobody from here on could take anything from anybody.
            if key.rank > Rank::Human && floor.free == 0 {
                return;
            }
            last = Some(key);
            self.offer(&id, &mut floor, now, effects);
        }
    }

    /// Gives the floor to one task if it can be had, or sees to it that it can soon.
    fn offer(&mut self, id: &TaskId, floor: &mut Floor, now: Instant, effects: &mut Vec<Effect>) {
        let Some(task) = self.tasks.get(id) else {
            return;
        };
        let session = task.session.clone();
        if floor.taken.contains(&session) {
            return;
        }
        let comes_first = task.key().rank <= Rank::Human;
        if let Some(holder) = self.holder(&session) {
            // Its worker is handed on once it stands still.
            if self.gives_way(&holder) {
                floor.coming = floor.coming.saturating_sub(1);
                floor.taken.insert(session);
            } else if comes_first && self.may_interrupt(id, &holder, now) {
                self.hold(&holder, Hold::Hard, now, effects);
                floor.taken.insert(session);
            } else if !matches!(task.key().rank, Rank::Aged) {
                // Who comes behind could not either.
                floor.taken.insert(session);
            }
            return;
        }
        if floor.free > 0 {
            if comes_first || !self.is_kept_back(&session, floor.free) {
                floor.free -= 1;
                floor.taken.insert(session);
                self.start(id, now, effects);
            }
            return;
        }
        if !comes_first {
            return;
        }
        if floor.coming > 0 {
            floor.coming -= 1;
            floor.taken.insert(session);
        } else if let Some(victim) = self.victim(id, now) {
            self.hold(&victim, Hold::Hard, now, effects);
            floor.taken.insert(session);
        }
    }

    /// Whether a task that is nobody's message waits because somebody types: in its session, or
    /// anywhere if it would take the last worker.
    fn is_kept_back(&self, session: &SessionId, free: usize) -> bool {
        self.typing.contains_key(session) || (free <= 1 && !self.typing.is_empty())
    }

    fn start(&mut self, id: &TaskId, now: Instant, effects: &mut Vec<Effect>) {
        let Some(task) = self.tasks.get_mut(id) else {
            return;
        };
        self.order.remove(&task.key());
        effects.push(if task.stage == Stage::New {
            Effect::Start(id.clone())
        } else {
            Effect::Resume(id.clone())
        });
        task.stage = Stage::Active {
            since: now,
            hold: None,
            safe_until: task.is_aged.then(|| now + SLICE),
        };
        task.is_aged = false;
        task.turns = 0;
        let due = self
            .settings
            .age_after
            .map(|after| task.waits_since + after);
        let is_human = task.is_human();
        self.active.insert(id.clone());
        if let Some(due) = due {
            self.due.remove(&(due, id.clone()));
        }
        if is_human {
            self.count_turn();
        }
    }

    /// A person has the floor: those who wait have let another turn pass.
    fn count_turn(&mut self) {
        let most = self.settings.age_turns;
        let mut aged = Vec::new();
        for (id, task) in &mut self.tasks {
            if task.is_human() || matches!(task.stage, Stage::Active { .. }) {
                continue;
            }
            task.turns += 1;
            if most > 0 && task.turns >= most {
                aged.push(id.clone());
            }
        }
        for id in aged {
            self.set_aged(&id);
        }
    }

    /// The task of a session that has the floor.
    fn holder(&self, session: &SessionId) -> Option<TaskId> {
        let mut active = self.active.iter();
        active
            .find(|id| {
                self.tasks
                    .get(*id)
                    .is_some_and(|task| task.session == *session)
            })
            .cloned()
    }

    pub(super) fn gives_way(&self, id: &TaskId) -> bool {
        let stage = self.tasks.get(id).map(|task| task.stage);
        matches!(
            stage,
            Some(Stage::Active {
                hold: Some((Hold::Hard, _)),
                ..
            })
        )
    }

    /// Only people interrupt, and nobody interrupts a person; one who waited too long is safe for a
    /// while.
    fn may_interrupt(&self, id: &TaskId, holder: &TaskId, now: Instant) -> bool {
        let (Some(task), Some(other)) = (self.tasks.get(id), self.tasks.get(holder)) else {
            return false;
        };
        let is_safe = matches!(other.stage, Stage::Active { safe_until: Some(until), .. }
            if until > now);
        task.is_human() && !other.is_human() && !is_safe
    }

    /// Who gives way where no worker is free: the last in rank, and of those who began last.
    fn victim(&self, id: &TaskId, now: Instant) -> Option<TaskId> {
        let active = self
            .active
            .iter()
            .filter(|other| !self.gives_way(other) && self.may_interrupt(id, other, now));
        let began = |id: &TaskId| match self.tasks.get(id).map(|task| (task.class, task.stage)) {
            Some((class, Stage::Active { since, .. })) => Some((class, since)),
            _ => None,
        };
        active.max_by_key(|other| began(other)).cloned()
    }

    fn hold(&mut self, id: &TaskId, how: Hold, now: Instant, effects: &mut Vec<Effect>) {
        let Some(task) = self.tasks.get_mut(id) else {
            return;
        };
        if let Stage::Active { hold, .. } = &mut task.stage {
            *hold = Some((how, now));
            effects.push(Effect::Hold(id.clone(), how));
        }
    }

    /// While somebody types, tasks that are nobody's message begin no step; then they go on.
    fn hold_softly(&mut self, effects: &mut Vec<Effect>) {
        let free = self.settings.workers.saturating_sub(self.active.len());
        let is_anyone = !self.typing.is_empty();
        for id in &self.active {
            let Some(task) = self.tasks.get_mut(id) else {
                continue;
            };
            let is_human = task.is_human();
            let wanted =
                !is_human && (self.typing.contains_key(&task.session) || (is_anyone && free == 0));
            let Stage::Active {
                hold,
                since,
                safe_until,
            } = &mut task.stage
            else {
                continue;
            };
            match (wanted && safe_until.is_none(), *hold) {
                (true, None) => {
                    *hold = Some((Hold::Soft, *since));
                    effects.push(Effect::Hold(id.clone(), Hold::Soft));
                }
                (false, Some((Hold::Soft, _))) => {
                    *hold = None;
                    effects.push(Effect::Resume(id.clone()));
                }
                _ => {}
            }
        }
    }
}
