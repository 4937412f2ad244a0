//! Telling whoever wants to know of turns.

use std::path::PathBuf;
use std::sync::Arc;

use legation_core::{ClientId, EntityLabels, SessionId, TaskId};

use crate::book::Book;
use crate::control::Control;
use crate::{Turn, TurnHandle, Turns};

/// The turns of one run, for those who want to know of them.
pub(super) struct Telling {
    who: Arc<[Arc<dyn Turns>]>,
    of: Of,
    handle: Arc<dyn TurnHandle>,
    /// The turn that is under way.
    turn: Option<Turn>,
}

/// Whose turns they are.
#[derive(Debug)]
pub(super) struct Of {
    pub(super) task: TaskId,
    pub(super) session: SessionId,
    pub(super) client: ClientId,
    pub(super) workspace: Option<PathBuf>,
}

/// What those who hear of turns can do to a run.
pub(super) struct Reach {
    pub(super) task: TaskId,
    pub(super) control: Control,
    pub(super) book: Arc<Book>,
}

// === impl Telling ===

impl Telling {
    pub(super) fn new(who: Arc<[Arc<dyn Turns>]>, of: Of, handle: Arc<dyn TurnHandle>) -> Self {
        Self {
            who,
            of,
            handle,
            turn: None,
        }
    }

    /// A model is about to be asked for a turn, or for the rest of the one that is under way.
    pub(super) fn begins(&mut self, number: u32, labels: &EntityLabels) {
        let is_same = self.turn.as_ref().is_some_and(|turn| turn.number == number);
        if self.who.is_empty() || is_same {
            return;
        }
        self.ends();
        let turn = Turn {
            task: self.of.task.clone(),
            session: self.of.session.clone(),
            client: self.of.client.clone(),
            workspace: self.of.workspace.clone(),
            labels: labels.clone(),
            number,
            handle: Arc::clone(&self.handle),
        };
        for one in self.who.iter() {
            one.began(&turn);
        }
        self.turn = Some(turn);
    }

    /// The turn is over, or stands still for somebody.
    pub(super) fn ends(&mut self) {
        if let Some(turn) = self.turn.take() {
            for one in self.who.iter() {
                one.ended(&turn);
            }
        }
    }
}

impl Drop for Telling {
    fn drop(&mut self) {
        // Whatever ended the run ended its turn.
        self.ends();
    }
}

// === impl Reach ===

impl TurnHandle for Reach {
    fn abort(&self, reason: &str) {
        self.control.set_cancelled(reason);
    }

    fn changed(&self, files: Vec<String>) {
        self.book.changed_files(&self.task, files);
    }
}

#[cfg(test)]
mod tests;
