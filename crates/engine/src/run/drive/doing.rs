//! What the machine wants done.

use std::time::Instant;

use legation_api::conversation::{Body, Source};
use legation_api::tasks::ToolCallView;
use legation_core::{Cancel, CancelReason, EntityLabels};
use legation_models::ChatRequest;
use serde_json::{Value, json};

use super::begin::JOB;
use super::{Answer, SAVE_BYTES, Saved, Shell};
use crate::BookError;
use crate::queue::Hold;
use crate::record::{Intent, NewEntry, Partial};
use crate::run::entry::{CallStatus, Entry, Told};
use crate::run::hands::{Done, Hands};
use crate::run::journal;
use crate::run::machine::{Checked, Effect, Purpose, Shown};
use crate::run::toolset::{PlannedCall, WORKSPACE};

/// The job of a summary.
const COMPACT: &str = "delegate.compact";
/// The workspace's tool that runs a command.
const SHELL: &str = "bash";

impl Shell {
    pub(super) async fn perform(&mut self, effect: Effect) -> Result<(), BookError> {
        match effect {
            Effect::Ask { purpose, request } => self.ask(purpose, *request),
            Effect::DropStream => {
                self.answer = Answer::None;
                // The model is free: whoever comes first waits for nothing that is still to be kept.
                if self.gives_way() {
                    self.stands_still();
                }
            }
            Effect::Call(calls) => self.call(calls).await?,
            Effect::AbortCalls => {
                self.cancel.cancel(CancelReason::ClientCancelled);
                self.cancel = Cancel::new();
            }
            Effect::Abandon(ids) => self.abandon(ids).await?,
            Effect::Keep(entry) => self.keep(entry).await?,
            // It is kept when its time has come, and not while a person's message is put on disk.
            Effect::Partial(Some(_)) if self.gives_way() => {
                self.saved.since.get_or_insert(self.parts.clock.now());
            }
            Effect::Partial(Some(text)) => self.save(text).await?,
            Effect::Partial(None) => self.saved = Saved::default(),
            Effect::Check(command) => self.try_check(command),
            Effect::Wake(after) => self.wake = Some(self.parts.clock.now() + after),
            Effect::Show(shown) => self.show(shown).await?,
            Effect::End(_) => {}
        }
        Ok(())
    }

    /// Whether it does what it does because a person comes first, and goes on afterwards.
    fn gives_way(&self) -> bool {
        let control = &self.parts.control;
        let is_ending = control.is_stopping() || control.cancelled().is_some();
        self.held == Some(Hold::Hard) && !is_ending
    }

    fn ask(&mut self, purpose: Purpose, request: ChatRequest) {
        let job = match purpose {
            Purpose::Step => JOB,
            Purpose::Compact => COMPACT,
        };
        if purpose == Purpose::Step {
            self.telling.begins(self.row + 1, &self.labels);
        }
        self.doing(match purpose {
            Purpose::Step => "Thinking",
            Purpose::Compact => "Putting together what was said",
        });
        self.saved = Saved::default();
        let ask = self.model_ask(job, request);
        let context = self.hands.context(&self.cancel);
        let models = self.parts.models.clone();
        self.answer = Answer::Asked(Box::pin(async move { models.ask(&context, ask).await }));
    }

    /// That a call is about to be made is kept before it is.
    async fn call(&mut self, calls: Vec<PlannedCall>) -> Result<(), BookError> {
        for call in calls {
            self.doing(&format!("Executing tool: {}", call.name));
            let intent = self.intent(&call.id, Some(&call));
            self.parts.book.intent(&self.task, &intent).await?;
            self.intents.insert(call.id.clone(), intent);
            let (hands, cancel) = (self.hands.clone(), self.cancel.clone());
            self.running.push(Box::pin(async move {
                let done = hands.call(&call, &cancel).await;
                (call, done)
            }));
        }
        Ok(())
    }

    /// A call as the book keeps it; one that is not made changes nothing.
    fn intent(&self, id: &str, planned: Option<&PlannedCall>) -> Intent {
        let (row, calls) = &self.calls;
        let place = calls
            .iter()
            .position(|call| call.id == id)
            .unwrap_or(calls.len());
        let written = calls.get(place);
        let arguments = match planned {
            Some(call) => call.arguments.clone(),
            None => written
                .and_then(|call| serde_json::from_str(&call.arguments).ok())
                .unwrap_or_default(),
        };
        let tool = match planned {
            Some(call) => call.name.clone(),
            None => written.map(|call| call.name.clone()).unwrap_or_default(),
        };
        let word = |member: &str| {
            arguments
                .get(member)
                .and_then(Value::as_str)
                .map(str::to_owned)
        };
        Intent {
            step: *row,
            place: u32::try_from(place + 1).unwrap_or(u32::MAX),
            call_id: id.to_owned(),
            view: ToolCallView {
                tool: tool.clone(),
                status: "running".to_owned(),
                path: word("path"),
                command: word("command"),
                exit_code: None,
                lines: None,
                result_uri: None,
            },
            tool,
            changes: planned.is_some_and(|call| !call.reads),
            arguments: arguments.to_string(),
            labels: self.labels.clone(),
        }
    }

    async fn keep(&mut self, entry: Entry) -> Result<(), BookError> {
        if let Entry::Result { id, told } = &entry {
            return self.keep_result(id, told).await;
        }
        self.row += 1;
        // What waits to be said to the model is in memory alone.
        if !self.machine.has_unheard() {
            self.told = self.until;
        }
        let Some(record) = journal::row(self.row, self.told, &entry) else {
            return Ok(());
        };
        let shown = match &entry {
            Entry::Turn { text, calls, .. } => {
                self.calls = (self.row, calls.clone());
                (!text.is_empty()).then(|| self.entry(Source::Model, text_body(text)))
            }
            Entry::Summary { text, .. } => Some(self.entry(
                Source::Model,
                Body::Summary {
                    text: text.clone(),
                    until: self.until,
                },
            )),
            Entry::Checked { passed, output, .. } => {
                let text = match passed {
                    true => "The check passed.".to_owned(),
                    false => format!("The check failed: {output}"),
                };
                Some(self.entry(Source::System, Body::Note { text }))
            }
            Entry::Said { .. }
            | Entry::Brought { .. }
            | Entry::Pruned { .. }
            | Entry::Result { .. } => None,
        };
        self.note_usage(None);
        let book = &self.parts.book;
        book.turn(&self.task, &record, &self.labels, shown).await
    }

    async fn keep_result(&mut self, id: &str, told: &Told) -> Result<(), BookError> {
        let mut intent = match self.intents.remove(id) {
            Some(intent) => intent,
            // It was not made; so that it stands in its place, it is kept as one that was.
            None => {
                let intent = self.intent(id, None);
                self.parts.book.intent(&self.task, &intent).await?;
                intent
            }
        };
        intent.labels = self.labels.clone();
        let background = self.beside.begun.remove(id);
        let end = journal::end(&intent.view, told, background);
        self.parts.book.result(&self.task, &intent, &end).await?;
        self.follows(intent, end).await
    }

    async fn show(&mut self, shown: Shown) -> Result<(), BookError> {
        match shown {
            Shown::Text(text) => self.parts.book.delta(&self.task, text, false),
            Shown::Reasoning(text) => self.parts.book.delta(&self.task, text, true),
            Shown::Note(text) => self.remark(text).await?,
            Shown::Paused(_) => {
                self.telling.ends();
                self.doing("Paused");
                if self.held.is_some() {
                    self.stands_still();
                }
            }
            Shown::Resumed => self.doing("Going on"),
            Shown::Check(check) => self.parts.book.progress(&self.task, None, |outcome| {
                outcome.check = Some(check);
            }),
            // What is kept is shown by being kept.
            Shown::Said(_)
            | Shown::Calling(_)
            | Shown::NotCalled { .. }
            | Shown::Called { .. }
            | Shown::Summary(_) => {}
        }
        Ok(())
    }

    /// Says something to people that no model reads.
    pub(super) async fn remark(&mut self, text: String) -> Result<(), BookError> {
        let entry = self.entry(Source::System, Body::Note { text });
        self.parts.book.append(entry, false).await?;
        Ok(())
    }

    /// Runs the check with the workspace's own shell, through the gate like any call.
    fn try_check(&mut self, command: String) {
        self.doing("Checking");
        let (hands, cancel) = (self.hands.clone(), self.cancel.clone());
        self.check = Some(Box::pin(
            async move { checked(&hands, &cancel, &command).await },
        ));
    }

    pub(super) fn note_model(&self) {
        if let Answer::Comes(stream) = &self.answer {
            let model = format!("{}/{}", stream.provider(), stream.model());
            let doing = Some("Writing".to_owned());
            self.parts
                .book
                .progress(&self.task, doing, |outcome| outcome.model = Some(model));
        }
    }

    pub(super) fn note_usage(&self, doing: Option<String>) {
        if let Some(usage) = self.machine.usage() {
            self.parts
                .book
                .progress(&self.task, doing, |outcome| outcome.usage = usage);
        }
    }

    /// Keeps what was said so far, if it is much or some time ago.
    pub(super) async fn note_partial(&mut self, now: Instant) -> Result<(), BookError> {
        let said = self.machine.partial().map_or(0, str::len);
        if said <= self.saved.bytes {
            return Ok(());
        }
        let since = *self.saved.since.get_or_insert(now);
        let is_due = now.saturating_duration_since(since) >= super::SAVE_AFTER;
        if is_due || said - self.saved.bytes >= SAVE_BYTES {
            let text = self.machine.partial().unwrap_or_default().to_owned();
            return self.save(text).await;
        }
        Ok(())
    }

    pub(super) async fn save(&mut self, text: String) -> Result<(), BookError> {
        self.saved = Saved {
            bytes: text.len(),
            since: None,
        };
        let partial = Partial {
            step: self.row + 1,
            until: self.told,
            text,
            reasoning: String::new(),
        };
        let book = &self.parts.book;
        book.save_partial(&self.task, &partial, &self.labels).await
    }

    fn entry(&self, source: Source, body: Body) -> NewEntry {
        NewEntry {
            session: self.session.clone(),
            task: Some(self.task.clone()),
            source,
            labels: self.labels.clone(),
            body,
        }
    }

    fn doing(&self, what: &str) {
        self.parts
            .book
            .progress(&self.task, Some(what.to_owned()), |_| {});
    }
}

fn text_body(text: &str) -> Body {
    Body::Text {
        text: text.to_owned(),
        partial: false,
    }
}

/// Tries a check; what came of it, and whose data the task holds then.
async fn checked(hands: &Hands, cancel: &Cancel, command: &str) -> (Checked, EntityLabels) {
    let refused = |message: String, hint: &str| {
        let hint = hint.to_owned();
        (Checked::Refused { message, hint }, EntityLabels::none())
    };
    let offers = match hands.offers(cancel) {
        Ok(offers) => offers,
        Err(refusal) => {
            let message = format!("its check cannot be run: {refusal}.");
            return refused(message, &refusal.hint());
        }
    };
    let found = offers
        .into_iter()
        .find(|offer| &*offer.server == WORKSPACE && &*offer.item == SHELL);
    let Some(offer) = found else {
        return refused(
            "its check cannot be run, because there is no shell to run it in.".to_owned(),
            "`legation doctor` says why `workspace/bash` is off",
        );
    };
    let call = PlannedCall {
        id: String::new(),
        name: SHELL.to_owned(),
        flat: offer.flat,
        server: offer.server,
        arguments: json!({ "command": command }),
        reads: false,
    };
    let Done { told, labels, .. } = hands.call(&call, cancel).await;
    let checked = match (told.status, told.exit_code) {
        (CallStatus::Denied | CallStatus::Skipped, _) => {
            return refused(
                format!("its check was not run: {}", told.text),
                "allow `workspace/bash` for the client that delegates, or give the task another check",
            );
        }
        (_, Some(exit_code)) => Checked::Ran {
            passed: exit_code == 0,
            exit_code: Some(exit_code),
            output: told.text,
        },
        (status, None) => Checked::Ran {
            passed: status == CallStatus::Success,
            exit_code: None,
            output: told.text,
        },
    };
    (checked, labels)
}
