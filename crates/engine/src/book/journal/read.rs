//! What the journal says of a task, for whoever goes on with it.

use legation_core::{EntityLabels, TaskId, Wall};
use legation_store::{StepRow, StepState};

use super::{KeptCall, beside, beside_partial};
use crate::BookError;
use crate::book::Book;
use crate::book::open::Listed;
use crate::book::rows::labels_of;
use crate::record::{CallRecord, Intent, Loaded, Partial, TurnRecord};

/// Entries of a conversation that a run is given.
const LOG_MAX: usize = 500;

/// What is known of a task by its journal alone.
#[derive(Debug)]
pub(in crate::book) struct KeptOf {
    pub(in crate::book) labels: EntityLabels,
    pub(in crate::book) last: Option<Wall>,
}

// === impl Book ===

impl Book {
    /// Everything a run needs to begin a task or to go on with it.
    pub(crate) async fn load(&self, task: &TaskId) -> Result<Loaded, BookError> {
        let open = self.task_open(task)?;
        let (turns, calls) = self.steps(task).await?;
        let partial = self.partial(task).await?;
        let log = self.last(Some(&open.session), None, LOG_MAX).await?;
        Ok(Loaded {
            task: open.id,
            session: open.session,
            client: open.client,
            workspace: open.workspace,
            new: open.new,
            worked: open.worked,
            labels: open.labels,
            log,
            turns,
            calls,
            partial,
            outcome: open.outcome,
        })
    }

    /// The turns and calls of a task, in order.
    pub(in crate::book) async fn steps(
        &self,
        task: &TaskId,
    ) -> Result<(Vec<TurnRecord>, Vec<CallRecord>), BookError> {
        let id = task.clone();
        let steps = self
            .with_store(false, move |store| store.step_list(&id))
            .await?;
        let mut turns = Vec::new();
        let mut calls = Vec::new();
        for step in steps {
            if step.place == 0 {
                turns.push(self.turn_of(&step)?);
            } else {
                calls.push(self.call_of(&step)?);
            }
        }
        Ok((turns, calls))
    }

    /// What a task's model was saying, for those who look on.
    pub(in crate::book) async fn said_so_far(&self, task: &TaskId) -> Result<String, BookError> {
        let partial = self.partial(task).await?;
        Ok(partial.map(|partial| partial.text).unwrap_or_default())
    }

    async fn partial(&self, task: &TaskId) -> Result<Option<Partial>, BookError> {
        let id = task.clone();
        let row = self
            .with_store(false, move |store| store.partial_get(&id))
            .await?;
        Ok(row.and_then(|row| {
            let labels = labels_of(&row.labels);
            self.seals
                .open(&labels, &beside_partial(task), &row.body)
                .ok()
        }))
    }

    /// Whose data the steps of a task hold, and what its model was saying, and when the last of it
    /// was kept.
    pub(in crate::book) async fn kept_of(&self, task: &TaskId) -> Result<KeptOf, BookError> {
        let id = task.clone();
        let (steps, partial) = self
            .with_store(false, move |store| {
                Ok((store.step_list(&id)?, store.partial_get(&id)?))
            })
            .await?;
        let mut labels = EntityLabels::none();
        let last = steps.iter().map(|step| step.at_ms);
        let last = last
            .chain(partial.iter().map(|partial| partial.at_ms))
            .max();
        let steps = steps.iter().map(|step| &step.labels);
        for text in steps.chain(partial.iter().map(|partial| &partial.labels)) {
            labels = labels.join(&labels_of(text));
        }
        let last = last.map(Wall);
        Ok(KeptOf { labels, last })
    }

    /// The calls of a task as the journal has them, and the first of them that was about to be
    /// made, changes something, and has no end.
    pub(in crate::book) async fn journalled(
        &self,
        task: &TaskId,
    ) -> Result<(Vec<Listed>, Option<Intent>), BookError> {
        let id = task.clone();
        let steps = self
            .with_store(false, move |store| store.step_list(&id))
            .await?;
        let mut calls = Vec::new();
        let mut unfinished = None;
        for step in steps.iter().filter(|step| step.place > 0) {
            let (at, call) = self.kept_call(step)?;
            calls.push(Listed {
                step: call.intent.step,
                place: call.intent.place,
                seq: step.seq,
                at,
                view: call.intent.view.clone(),
                background: call
                    .end
                    .as_ref()
                    .and_then(|end| Some(end.background.as_ref()?.view.clone())),
            });
            if step.state == StepState::Intent && step.changes && unfinished.is_none() {
                unfinished = Some(call.intent);
            }
        }
        Ok((calls, unfinished))
    }

    fn turn_of(&self, step: &StepRow) -> Result<TurnRecord, BookError> {
        let number = u32::try_from(step.step).unwrap_or(u32::MAX);
        let labels = labels_of(&step.labels);
        let opened = self
            .seals
            .open(&labels, &beside(&step.task, number, 0), &step.body);
        opened.map_err(|_| unreadable(step))
    }

    fn call_of(&self, step: &StepRow) -> Result<CallRecord, BookError> {
        self.kept_call(step).map(|(_, call)| call)
    }

    fn kept_call(&self, step: &StepRow) -> Result<(Wall, CallRecord), BookError> {
        let number = u32::try_from(step.step).unwrap_or(u32::MAX);
        let place = u32::try_from(step.place).unwrap_or(u32::MAX);
        let labels = labels_of(&step.labels);
        let beside = beside(&step.task, number, place);
        let opened = self.seals.open::<KeptCall>(&labels, &beside, &step.body);
        let kept = opened.map_err(|_| unreadable(step))?;
        let intent = Intent {
            step: number,
            place,
            call_id: step.call_id.clone(),
            tool: step.tool.clone(),
            arguments: kept.arguments,
            changes: step.changes,
            view: kept.view,
            labels,
        };
        let end = kept.end;
        Ok((kept.at, CallRecord { intent, end }))
    }
}

fn unreadable(step: &StepRow) -> BookError {
    BookError::Unreadable {
        what: format!("a step of task {}", step.task),
    }
}
