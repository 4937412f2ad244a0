//! Standing still for somebody, and going on.

use std::time::Instant;

use super::{Effect, Force, Machine, Phase, Shown};

impl Machine {
    pub(super) fn preempt(&mut self, now: Instant, force: Force, out: &mut Vec<Effect>) {
        if self.hold != Some(Force::Hard) {
            self.hold = Some(force);
        }
        if force == Force::Soft {
            return;
        }
        match std::mem::replace(&mut self.phase, Phase::Between) {
            Phase::Asking(mut saying) => {
                out.push(Effect::DropStream);
                saying.break_off();
                self.note_usage(&saying.usage_now(), saying.bytes());
                out.push(Effect::Partial(Some(saying.raw().to_owned())));
                self.phase = Phase::Broken {
                    saying,
                    waits: false,
                };
                self.rest(now, out);
            }
            // A summary is made again; nobody has seen it.
            Phase::Compacting(_) => {
                out.push(Effect::DropStream);
                self.rest(now, out);
            }
            other => self.phase = other,
        }
    }

    /// It stands still.
    pub(super) fn rest(&mut self, now: Instant, out: &mut Vec<Effect>) {
        self.guard.rests(now);
        if !self.is_shown_held {
            self.is_shown_held = true;
            let words = match &self.phase {
                Phase::Broken { saying, .. } => saying.words(),
                _ => String::new(),
            };
            out.push(Effect::Show(Shown::Paused(words)));
        }
    }

    pub(super) fn resume(&mut self, now: Instant, out: &mut Vec<Effect>) {
        if self.hold.take().is_none() {
            return;
        }
        if std::mem::take(&mut self.is_shown_held) {
            out.push(Effect::Show(Shown::Resumed));
        }
        match &self.phase {
            Phase::Between => self.go(now, out),
            Phase::Awaiting => self.wake(now, out),
            Phase::Broken { waits: false, .. } => self.go_on(now, out),
            Phase::Calling(_) => {
                self.guard.works(now);
                self.call_next(now, out);
            }
            _ => self.guard.works(now),
        }
    }
}
