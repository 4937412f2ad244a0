//! What people and clients say to tasks that run, wait or ask.

use std::sync::Arc;

use legation_api::conversation::{Body, Source};
use legation_api::tasks::{TaskState, TaskView};
use legation_core::{EntityLabels, SessionId, TaskId};

use super::{Asker, Core, Engine};
use crate::book::{OpenTask, Verdict};
use crate::queue::Event;
use crate::record::{NewEntry, Question};
use crate::{BookError, TaskError};

// === impl Engine ===

impl Engine {
    /// Answers what a task asks; it then goes on, or asks the next thing.
    ///
    /// # Errors
    /// [`TaskError`].
    pub async fn answer(&self, who: &Asker, id: &str, text: &str) -> Result<TaskView, TaskError> {
        self.answer_with(who, id, text, &EntityLabels::none()).await
    }

    /// As [`Engine::answer`], with words that may hold these entities' data; the task holds it from
    /// then on.
    ///
    /// # Errors
    /// [`TaskError`].
    pub async fn answer_with(
        &self,
        who: &Asker,
        id: &str,
        text: &str,
        labels: &EntityLabels,
    ) -> Result<TaskView, TaskError> {
        let id = self.found(who, id).await?;
        let _answering = self.core.answering.lock().await;
        self.run_gone(&id).await;
        let (task, _) = self.view(&id).await?;
        let question = task.outcome.question.clone();
        let question = question.filter(|_| task.state == TaskState::InputRequired);
        let Some(question) = question else {
            return Err(TaskError::NotNow {
                id,
                state: task.state,
                what: "it asks nothing",
            });
        };
        let book = &self.core.book;
        let next = match question {
            Question::Call { step, place, .. } => {
                // What an agent says is no proof that a person looked.
                if !matches!(who, Asker::Owner) {
                    return Err(TaskError::NotYours {
                        what: "say whether a call ran",
                    });
                }
                let verdict = Verdict::parse(text).ok_or_else(|| TaskError::NoAnswer {
                    id: id.clone(),
                    answer: text.to_owned(),
                })?;
                book.settle(&id, (step, place), verdict).await?
            }
            Question::Run { .. } => {
                book.label(&id, labels);
                self.say(who, &book.task_open(&id)?, text).await?;
                None
            }
        };
        self.core.answered(&id, next).await?;
        Ok(self.view(&id).await?.1)
    }

    /// Says something to a task: it hears it before its next step.
    ///
    /// # Errors
    /// [`TaskError`].
    pub async fn steer(&self, who: &Asker, id: &str, text: &str) -> Result<TaskView, TaskError> {
        let id = self.found(who, id).await?;
        let (task, _) = self.view(&id).await?;
        if task.state.is_final() {
            return Err(TaskError::NotNow {
                id,
                state: task.state,
                what: "nobody can say anything to it",
            });
        }
        self.say(who, &task, text).await?;
        if let Some(control) = self.core.desk().runs.get(&id) {
            control.wake();
        }
        Ok(self.view(&id).await?.1)
    }

    async fn say(&self, who: &Asker, task: &OpenTask, text: &str) -> Result<(), TaskError> {
        let entry = NewEntry {
            session: task.session.clone(),
            task: Some(task.id.clone()),
            source: match who {
                Asker::Owner => Source::Human,
                Asker::Client { client, .. } => Source::Client(client.to_string()),
            },
            labels: task.labels.clone(),
            body: Body::Text {
                text: text.to_owned(),
                partial: false,
            },
        };
        self.core.book.append(entry, true).await?;
        Ok(())
    }

    /// Somebody presses keys: agents' steps that have not begun wait for a moment.
    pub fn typing(&self, session: &SessionId) {
        self.core.dispatch(Event::Typing(session.clone()));
    }

    /// Returns when no run works on a task any more that has just ended.
    pub(super) async fn run_gone(&self, id: &TaskId) {
        loop {
            let changed = self.core.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            let is_ending = self.core.desk().runs.contains_key(id)
                && self
                    .core
                    .book
                    .task_open(id)
                    .is_ok_and(|task| task.state == TaskState::InputRequired);
            if !is_ending {
                return;
            }
            changed.await;
        }
    }
}

// === impl Core ===

impl Core {
    /// A person answered: the task asks the next thing, or goes back into the queue.
    async fn answered(
        self: &Arc<Self>,
        id: &TaskId,
        next: Option<Question>,
    ) -> Result<(), BookError> {
        let (core, id) = (Arc::clone(self), id.clone());
        self.to_end(async move { core.go_on(&id, next).await })
            .await
    }

    async fn go_on(self: &Arc<Self>, id: &TaskId, next: Option<Question>) -> Result<(), BookError> {
        if next.is_some() {
            self.book
                .progress(id, None, |outcome| outcome.question = next);
            self.book.keep(id, None, true).await?;
            self.changed(id);
            return Ok(());
        }
        self.book
            .progress(id, None, |outcome| outcome.question = None);
        self.book.stand(id, TaskState::Queued);
        self.book.keep(id, None, true).await?;
        let task = self.book.task_open(id)?;
        self.take_up(&task);
        self.changed(id);
        Ok(())
    }
}
