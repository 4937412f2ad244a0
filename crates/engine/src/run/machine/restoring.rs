//! Taking a task up where an earlier hub left it.

use legation_api::tasks::CheckView;
use legation_models::Message;

use super::calling::Calling;
use super::saying::Saying;
use super::{Machine, Phase, Setup};
use crate::run::entry::{CallStatus, Called, Entry, Told, turn_message};

/// A turn whose calls are not all told.
struct Open {
    calls: Vec<Called>,
    told: Vec<(String, Told)>,
}

impl Machine {
    /// A task that was worked on before: what it began with, what was kept of it, and what was said
    /// of an answer that was not over. Calls that have no result were not begun; whoever kept the
    /// book answers for those that were.
    #[must_use]
    pub(crate) fn taken_up(setup: Setup, entries: Vec<Entry>, partial: Option<String>) -> Self {
        let mut machine = Self::new(setup);
        let mut open: Option<Open> = None;
        for entry in entries {
            match entry {
                Entry::Turn {
                    step,
                    text,
                    seal,
                    reasoning,
                    calls,
                } => {
                    machine.close(open.take());
                    machine.step = machine.step.max(step);
                    machine.guard.turn();
                    let message = turn_message(&text, &reasoning, seal.as_deref(), &calls);
                    machine.messages.push(message);
                    machine.phase = Phase::Between;
                    open = (!calls.is_empty()).then_some(Open {
                        calls,
                        told: Vec::new(),
                    });
                    if open.is_none() {
                        machine.phase = Phase::Checking { answer: text };
                    }
                }
                Entry::Result { id, told } => machine.result(open.as_mut(), id, told),
                Entry::Brought { id, tool, told } => {
                    machine.close(open.take());
                    machine.phase = Phase::Between;
                    machine.news(&id, &tool, &told);
                }
                Entry::Said { text } => {
                    machine.close(open.take());
                    machine.phase = Phase::Between;
                    machine.messages.push(Message::User(text));
                }
                Entry::Pruned { kept } => {
                    machine.close(open.take());
                    machine.prune(kept);
                }
                Entry::Summary { text, kept } => {
                    machine.close(open.take());
                    machine.summarise(&text, kept);
                }
                Entry::Checked {
                    passed,
                    exit_code,
                    output,
                } => {
                    let tries = machine.check.as_ref().map_or(0, |check| check.tries) + 1;
                    machine.check = Some(CheckView {
                        passed,
                        tries,
                        exit_code,
                        output,
                    });
                }
            }
        }
        if let Some(open) = open {
            if open.told.len() == open.calls.len() {
                machine.close(Some(open));
            } else {
                let calling = Calling::taken_up(open.calls, open.told, &machine.setup.tools);
                machine.phase = Phase::Calling(Box::new(calling));
            }
        } else if let Some(partial) = partial.filter(|partial| !partial.is_empty())
            && matches!(machine.phase, Phase::Between)
        {
            machine.step += 1;
            machine.guard.turn();
            machine.phase = Phase::Broken {
                saying: Box::new(Saying::taken_up(partial)),
                waits: false,
            };
        }
        machine
    }

    fn result(&mut self, open: Option<&mut Open>, id: String, told: Told) {
        let Some(open) = open else { return };
        if told.status == CallStatus::Background
            && let Some(call) = open.calls.iter().find(|call| call.id == id)
        {
            self.begins_beside(&id, &call.name);
        }
        open.told.push((id, told));
    }

    /// The results of a turn, in the order of its calls.
    fn close(&mut self, open: Option<Open>) {
        let Some(open) = open else { return };
        for call in &open.calls {
            let told = open.told.iter().find(|(id, _)| *id == call.id);
            let told = told.map(|(_, told)| told.clone()).unwrap_or_else(|| {
                Told::new(
                    crate::run::entry::CallStatus::Unknown,
                    "What came of this call is not known.",
                )
            });
            self.messages.push(told.to_message(&call.id));
        }
    }
}
