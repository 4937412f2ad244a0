//! What servers do beside the conversation: their tasks, kept, looked at and called off.

use std::collections::{HashMap, HashSet};

use futures_util::StreamExt as _;
use futures_util::future::{BoxFuture, join_all};
use futures_util::stream::FuturesUnordered;
use legation_core::{Cancel, TaskHandle};
use legation_wire::translate::TaskStatus;

use super::Shell;
use crate::BookError;
use crate::record::{Background, CallEnd, CallRecord, Intent, RunEnd};
use crate::run::entry::{CallStatus, Entry, Told};
use crate::run::hands::{Looked, Stands};
use crate::run::journal;
use crate::run::machine::Input;
use crate::run::toolset::PlannedCall;

/// The tasks of servers that a run follows.
#[derive(Default)]
pub(super) struct Beside {
    /// Those whose call is not kept yet, by the call's id.
    pub(super) begun: HashMap<String, Background>,
    /// Those that are not over, with the call that began each.
    open: HashMap<String, (Intent, CallEnd)>,
    looks: FuturesUnordered<BoxFuture<'static, (String, Looked)>>,
    /// Whether the run gave up the floor until one of them is over.
    gave_floor: bool,
    /// Whether the time it takes does not count as worked.
    rests: bool,
}

/// The calls whose model was told what came of what they began.
pub(super) fn told_of(entries: &[Entry]) -> HashSet<String> {
    let told = entries.iter().filter_map(|entry| match entry {
        Entry::Brought { id, .. } => Some(id.clone()),
        _ => None,
    });
    told.collect()
}

// === impl Beside ===

impl Beside {
    /// What is found of one of them next; never where there is none.
    pub(super) async fn next(&mut self) -> (String, Looked) {
        match self.looks.next().await {
            Some(looked) => looked,
            None => std::future::pending().await,
        }
    }
}

// === impl Shell ===

impl Shell {
    /// A call was answered with a task. It is kept with the call.
    pub(super) async fn begins_beside(
        &mut self,
        call: &PlannedCall,
        (handle, stands): (TaskHandle, Stands),
    ) -> Result<(), BookError> {
        let of = (&*call.server, &*call.name);
        let mut background = self.parts.book.began(&handle, &call.id, of).await?;
        stands.note(&mut background.view);
        self.beside.begun.insert(call.id.clone(), background);
        Ok(())
    }

    /// Follows what a call began and was kept.
    pub(super) async fn follows(&mut self, intent: Intent, end: CallEnd) -> Result<(), BookError> {
        let is_begun = end.background.is_some();
        self.runs_beside(intent, end);
        match is_begun {
            true => self.tell().await,
            false => Ok(()),
        }
    }

    fn runs_beside(&mut self, intent: Intent, end: CallEnd) {
        if let Some(background) = &end.background {
            let last = Stands {
                message: background.view.status_message.clone(),
                poll_ms: background.view.poll_interval_ms,
                ..Stands::new(
                    TaskStatus::parse(&background.view.status).unwrap_or(TaskStatus::Working),
                )
            };
            let id = intent.call_id.clone();
            self.look_again(&id, &background.handle, last);
            self.beside.open.insert(id, (intent, end));
        }
    }

    /// Takes up what an earlier hub followed: what came of it and was not told is told.
    pub(super) fn take_up_beside(&mut self, calls: &[CallRecord], told: &HashSet<String>) {
        let now = self.parts.clock.now();
        for CallRecord { intent, end } in calls {
            let Some(end) = end.as_ref().filter(|_| !told.contains(&intent.call_id)) else {
                continue;
            };
            match journal::brought(end) {
                Some(told) => {
                    let id = intent.call_id.clone();
                    // Before the start this leads to nothing.
                    drop(self.machine.handle(now, Input::Brought { id, told }));
                }
                None => self.runs_beside(intent.clone(), end.clone()),
            }
        }
    }

    fn look_again(&mut self, id: &str, handle: &str, last: Stands) {
        let (hands, id, handle) = (self.hands.clone(), id.to_owned(), TaskHandle::new(handle));
        self.beside.looks.push(Box::pin(async move {
            // Following ends with the run; the task at its server does not.
            let looked = hands.look(handle, last, &Cancel::new()).await;
            (id, looked)
        }));
    }

    /// Keeps how one of them stands, and tells the machine what it brought.
    pub(super) async fn looked(
        &mut self,
        id: String,
        looked: Looked,
    ) -> Result<Option<RunEnd>, BookError> {
        let Looked {
            stands,
            told,
            labels,
        } = looked;
        self.hold(&labels);
        let Some(handle) = self.stands(&id, &stands, told.as_ref()).await? else {
            return Ok(None);
        };
        match told {
            Some(told) => {
                self.beside.open.remove(&id);
                self.listen().await?;
                self.feed(Input::Brought { id, told }).await
            }
            None => {
                self.look_again(&id, &handle, stands);
                Ok(None)
            }
        }
    }

    /// Keeps and tells how one of them stands; its handle.
    async fn stands(
        &mut self,
        id: &str,
        stands: &Stands,
        told: Option<&Told>,
    ) -> Result<Option<String>, BookError> {
        let now = self.parts.clock.wall().to_string();
        let labels = self.labels.clone();
        let Some((intent, end)) = self.beside.open.get_mut(id) else {
            return Ok(None);
        };
        let Some(background) = &mut end.background else {
            return Ok(None);
        };
        let view = &mut background.view;
        stands.note(view);
        view.updated = now;
        if let Some(told) = told {
            background.result = Some(told.text.clone());
            end.view = journal::ended(&end.view, told);
        }
        intent.labels = labels;
        let handle = background.handle.clone();
        self.parts.book.result(&self.task, intent, end).await?;
        self.tell().await?;
        Ok(Some(handle))
    }

    /// Tells whoever looks on what runs beside the task by now.
    async fn tell(&mut self) -> Result<(), BookError> {
        let book = &self.parts.book;
        let (_, view) = book.view(&self.task).await?;
        book.tell_task(&self.session, view);
        Ok(())
    }

    /// Calls off what nobody waits for any more.
    pub(super) async fn abandon(&mut self, ids: Vec<String>) -> Result<(), BookError> {
        self.beside.looks = FuturesUnordered::new();
        let of = |id: String| {
            let (_, end) = self.beside.open.get(&id)?;
            let handle = TaskHandle::new(&*end.background.as_ref()?.handle);
            Some((id, handle))
        };
        let left: Vec<(String, TaskHandle)> = ids.into_iter().filter_map(of).collect();
        let hands = &self.hands;
        let called_off = left.into_iter().map(|(id, handle)| async move {
            let done = hands.abandon(&handle).await;
            (id, done)
        });
        for (id, done) in join_all(called_off).await {
            let (status, text) = match done {
                Ok(()) => (
                    TaskStatus::Cancelled,
                    "Called off with the task that waited for it.".to_owned(),
                ),
                Err(error) => (
                    TaskStatus::Failed,
                    format!("Nobody waits for it any more, and it was not called off: {error}."),
                ),
            };
            let stands = Stands {
                message: Some(text.clone()),
                ..Stands::new(status)
            };
            let told = Told::new(CallStatus::Unknown, text);
            self.stands(&id, &stands, Some(&told)).await?;
            self.beside.open.remove(&id);
        }
        Ok(())
    }

    /// Gives up the floor while there is nothing to do but wait for them, and asks for it back
    /// afterwards.
    pub(super) async fn give_floor(&mut self) -> Result<(), BookError> {
        let awaits = self.machine.awaits();
        if awaits == self.beside.gave_floor {
            return Ok(());
        }
        self.beside.gave_floor = awaits;
        if awaits {
            self.telling.ends();
            self.beside.rests = true;
            self.parts.book.rests(&self.task, true).await?;
            let doing = Some("Waiting for what runs in the background".to_owned());
            self.parts.book.progress(&self.task, doing, |_| {});
            self.parts.control.rests();
        } else {
            self.parts.control.is_ready();
        }
        Ok(())
    }

    /// It has the floor again, if it had given it up.
    pub(super) async fn works_again(&mut self) -> Result<(), BookError> {
        match std::mem::take(&mut self.beside.rests) {
            true => self.parts.book.rests(&self.task, false).await,
            false => Ok(()),
        }
    }
}
