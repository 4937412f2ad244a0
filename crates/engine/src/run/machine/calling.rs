//! The calls of one turn.

use std::collections::VecDeque;
use std::time::Instant;

use serde_json::Value;

use super::ending::Ending;
use super::saying::Asked;
use super::{Effect, Force, Machine, Phase, Shown};
use crate::run::entry::{CallStatus, Called, Entry, Told};
use crate::run::guard::Repeat;
use crate::run::toolset::{PlannedCall, Toolset};

/// How many calls that change nothing run at once.
const PARALLEL_MAX: usize = 8;

/// The calls of one turn.
#[derive(Debug, Default)]
pub(crate) struct Calling {
    /// In the order of the turn, with what came of each.
    results: Vec<(Called, Option<Told>)>,
    /// What has not begun.
    waiting: VecDeque<PlannedCall>,
    /// What runs.
    running: Vec<PlannedCall>,
    /// What is not made, and why.
    unfit: Vec<(Called, Told)>,
    /// What the model is told about its repetitions, once.
    warning: Option<String>,
}

// === impl Calling ===

impl Calling {
    /// The calls of a turn that just came.
    pub(super) fn of(asked: Vec<Asked>, tools: &Toolset) -> Self {
        let mut calling = Self::default();
        for asked in asked {
            calling.plan(asked.called, asked.value, tools);
        }
        calling
    }

    fn plan(&mut self, called: Called, value: Value, tools: &Toolset) {
        match tools.plan(&called, value) {
            Ok(planned) => self.waiting.push_back(planned),
            Err(unfit) => {
                let told = Told::new(CallStatus::Error, unfit.0);
                self.unfit.push((called.clone(), told));
            }
        }
        self.results.push((called, None));
    }

    /// The calls of a turn that an earlier hub kept: those without a result were not begun.
    pub(super) fn taken_up(calls: Vec<Called>, told: Vec<(String, Told)>, tools: &Toolset) -> Self {
        let mut calling = Self::default();
        for called in calls {
            let result = told.iter().find(|(id, _)| *id == called.id);
            if let Some((_, told)) = result {
                calling.results.push((called, Some(told.clone())));
                continue;
            }
            let value = serde_json::from_str(&called.arguments).unwrap_or_default();
            calling.plan(called, value, tools);
        }
        calling
    }

    /// Notes a result; the call that it is of, if it was waited for.
    fn settle(&mut self, id: &str, told: &Told) -> Option<PlannedCall> {
        let at = self.running.iter().position(|call| call.id == id)?;
        let call = self.running.remove(at);
        self.put(id, told.clone());
        Some(call)
    }

    fn put(&mut self, id: &str, told: Told) {
        if let Some((_, result)) = self.results.iter_mut().find(|(called, _)| called.id == id) {
            *result = Some(told);
        }
    }

    /// The next calls that may run beside each other.
    fn batch(&mut self) -> Vec<PlannedCall> {
        let mut batch = Vec::new();
        while let Some(call) = self.waiting.front() {
            let fits = batch.is_empty() || call.reads;
            if !fits || batch.len() == PARALLEL_MAX {
                break;
            }
            let reads = call.reads;
            batch.extend(self.waiting.pop_front());
            if !reads {
                break;
            }
        }
        batch
    }
}

impl Machine {
    /// Makes the next calls of a turn, or goes on behind the last.
    pub(super) fn call_next(&mut self, now: Instant, out: &mut Vec<Effect>) {
        let Phase::Calling(calling) = &mut self.phase else {
            return;
        };
        for (called, told) in std::mem::take(&mut calling.unfit) {
            calling.put(&called.id, told.clone());
            out.push(Effect::Keep(Entry::Result {
                id: called.id.clone(),
                told: told.clone(),
            }));
            out.push(Effect::Show(Shown::NotCalled {
                id: called.id.clone(),
                name: called.name.clone(),
                told: told.clone(),
            }));
            match self
                .guard
                .result(&called.name, &called.arguments, &told.text)
            {
                Repeat::Tell => calling.warning = Some(warning(&called.name)),
                Repeat::Stop(equal) => return self.repeated(now, equal, out),
                Repeat::No => {}
            }
        }
        if !calling.running.is_empty() {
            return;
        }
        // What somebody wants otherwise is not done first.
        if self.is_steered {
            skip(
                calling,
                "Not called: somebody said something first; see below.",
                out,
            );
        }
        if calling.waiting.is_empty() {
            return self.called(now, out);
        }
        if self.hold == Some(Force::Hard) {
            return self.rest(now, out);
        }
        self.guard.works(now);
        let batch = calling.batch();
        calling.running.clone_from(&batch);
        for call in &batch {
            out.push(Effect::Show(Shown::Calling(call.clone())));
        }
        out.push(Effect::Call(batch));
    }

    /// Every call of the turn has its result.
    fn called(&mut self, now: Instant, out: &mut Vec<Effect>) {
        let Phase::Calling(calling) = std::mem::replace(&mut self.phase, Phase::Between) else {
            return;
        };
        self.take_results(&calling);
        if let Some(warning) = calling.warning {
            self.say(warning, out);
        }
        self.go(now, out);
    }

    fn take_results(&mut self, calling: &Calling) {
        for (called, told) in &calling.results {
            let told = told.clone().unwrap_or_else(|| {
                Told::new(CallStatus::Unknown, "What came of this call is not known.")
            });
            self.messages.push(told.to_message(&called.id));
        }
    }

    pub(super) fn told(&mut self, now: Instant, id: &str, told: Told, out: &mut Vec<Effect>) {
        let (Phase::Calling(calling) | Phase::Stopping { calling, .. }) = &mut self.phase else {
            return;
        };
        let Some(call) = calling.settle(id, &told) else {
            return;
        };
        if told.status == CallStatus::Background {
            self.begins_beside(id, &call.name);
        }
        out.push(Effect::Keep(Entry::Result {
            id: id.to_owned(),
            told: told.clone(),
        }));
        out.push(Effect::Show(Shown::Called {
            id: id.to_owned(),
            told: told.clone(),
        }));
        let input = call.arguments.to_string();
        let repeat = self.guard.result(&call.name, &input, &told.text);
        if matches!(self.phase, Phase::Stopping { .. }) {
            return self.stop_if_settled(now, out);
        }
        let Phase::Calling(calling) = &mut self.phase else {
            return;
        };
        match repeat {
            Repeat::Tell => calling.warning = Some(warning(&call.name)),
            Repeat::Stop(equal) if calling.running.is_empty() => {
                return self.repeated(now, equal, out);
            }
            Repeat::No | Repeat::Stop(_) => {}
        }
        self.call_next(now, out);
    }

    fn repeated(&mut self, now: Instant, equal: usize, out: &mut Vec<Effect>) {
        let spent = crate::run::guard::Spent::Repeats(equal);
        self.fail(now, spent.class(), spent.message(), spent.hint(), out);
    }

    /// Calls off what runs, and ends when all of it has a result.
    pub(super) fn end_after_calls(
        &mut self,
        now: Instant,
        mut calling: Box<Calling>,
        ending: Ending,
        out: &mut Vec<Effect>,
    ) {
        skip(&mut calling, "Not called: the task ended first.", out);
        if !calling.running.is_empty() {
            out.push(Effect::AbortCalls);
        }
        self.phase = Phase::Stopping { calling, ending };
        self.stop_if_settled(now, out);
    }

    fn stop_if_settled(&mut self, now: Instant, out: &mut Vec<Effect>) {
        match std::mem::replace(&mut self.phase, Phase::Over) {
            Phase::Stopping { calling, ending } if calling.running.is_empty() => {
                self.take_results(&calling);
                self.end(now, ending, out);
            }
            other => self.phase = other,
        }
    }
}

/// Gives every call that has not begun a result that says so.
fn skip(calling: &mut Calling, why: &str, out: &mut Vec<Effect>) {
    let unfit = std::mem::take(&mut calling.unfit);
    let waiting: Vec<String> = calling.waiting.drain(..).map(|call| call.id).collect();
    for id in unfit
        .into_iter()
        .map(|(called, _)| called.id)
        .chain(waiting)
    {
        let told = Told::new(CallStatus::Skipped, why);
        calling.put(&id, told.clone());
        out.push(Effect::Keep(Entry::Result {
            id: id.clone(),
            told: told.clone(),
        }));
        out.push(Effect::Show(Shown::Called { id, told }));
    }
}

fn warning(tool: &str) -> String {
    format!(
        "You called {tool} several times with the same arguments, and the result was the same each \
         time. Do something else: another tool, other arguments, or give the answer."
    )
}
