//! What runs beside the conversation: tasks that servers began instead of answering a call.
//!
//! The model is told at once that there is one and goes on. What it brings is said to the model
//! before its next step, like anything that others say; where the model has nothing else to do, the
//! run waits for it.

use std::time::Instant;

use super::{Effect, Machine, Phase};
use crate::run::entry::{Entry, Told};

impl Machine {
    /// A call began something.
    pub(super) fn begins_beside(&mut self, id: &str, tool: &str) {
        self.beside.insert(id.to_owned(), tool.to_owned());
    }

    pub(super) fn take_brought(
        &mut self,
        now: Instant,
        id: String,
        told: Told,
        out: &mut Vec<Effect>,
    ) {
        let is_new = !self.brought.iter().any(|(other, _)| *other == id);
        if is_new && self.beside.contains_key(&id) {
            self.brought.push((id, told));
        }
        self.wake(now, out);
    }

    /// Says to the model what was brought meanwhile.
    pub(super) fn tell_brought(&mut self, out: &mut Vec<Effect>) {
        for (id, told) in std::mem::take(&mut self.brought) {
            let Some(tool) = self.beside.get(&id).cloned() else {
                continue;
            };
            self.news(&id, &tool, &told);
            out.push(Effect::Keep(Entry::Brought { id, tool, told }));
        }
    }

    /// The model reads what one of them brought, which is over with that.
    pub(super) fn news(&mut self, id: &str, tool: &str, told: &Told) {
        self.beside.remove(id);
        self.messages.push(told.to_news(id, tool));
    }

    /// Whether it does nothing but wait for what runs beside it.
    #[must_use]
    pub(crate) fn awaits(&self) -> bool {
        matches!(self.phase, Phase::Awaiting) && !self.has_news()
    }

    /// Whether there is something now that it waited for, and nothing holds it.
    #[must_use]
    pub(crate) fn is_woken(&self) -> bool {
        matches!(self.phase, Phase::Awaiting) && self.hold.is_none() && self.has_news()
    }

    pub(super) fn has_news(&self) -> bool {
        !self.brought.is_empty() || self.is_steered
    }

    /// Goes on where it waited for what is there now.
    pub(super) fn wake(&mut self, now: Instant, out: &mut Vec<Effect>) {
        if self.is_woken() {
            self.go(now, out);
        }
    }

    /// The calls whose work nobody waits for once the task is over.
    pub(super) fn left_beside(&mut self) -> Vec<String> {
        let all = std::mem::take(&mut self.beside).into_keys();
        all.filter(|id| !self.brought.iter().any(|(other, _)| other == id))
            .collect()
    }
}
