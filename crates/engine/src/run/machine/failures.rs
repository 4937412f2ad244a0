//! Models that fail, and bounds that are reached.

use std::time::{Duration, Instant};

use legation_models::{ModelClass, Resumption};

use super::ending::Ending;
use super::saying::Saying;
use super::{Effect, Failure, Machine, Phase, Shown};
use crate::run::guard::Spent;

/// The first wait before a model is asked again; each further one is twice as long.
const BACKOFF: Duration = Duration::from_millis(500);
const BACKOFF_MAX: Duration = Duration::from_secs(30);

impl Machine {
    pub(super) fn failed(&mut self, now: Instant, failure: Failure, out: &mut Vec<Effect>) {
        match std::mem::replace(&mut self.phase, Phase::Between) {
            Phase::Asking(saying) => self.ask_failed(now, saying, failure, out),
            Phase::Compacting(compacting) => {
                self.compact_failed(now, *compacting, &failure, out);
            }
            other => self.phase = other,
        }
    }

    fn ask_failed(
        &mut self,
        now: Instant,
        mut saying: Box<Saying>,
        failure: Failure,
        out: &mut Vec<Effect>,
    ) {
        if saying.has_come {
            self.failures = 0;
        }
        let was_given = !saying.given().is_empty();
        saying.break_off();
        if failure.is_refused {
            self.phase = Phase::Broken {
                saying,
                waits: false,
            };
            return self.fail(now, "refused", failure.message, &failure.hint, out);
        }
        if failure.class == ModelClass::TooLong && !self.is_too_long {
            self.is_too_long = true;
            self.phase = Phase::Between;
            return self.compact(now, out);
        }
        // Whoever was asked turned out to call no tools; nothing was sent.
        if failure.lacks_calls && !self.setup.calls_in_words {
            self.setup.calls_in_words = true;
            return self.ask(saying, out);
        }
        // Another server may have taken over, which cannot go on with a turn.
        if failure.class == ModelClass::Request
            && was_given
            && self.setup.resumption != Some(Resumption::Restart)
        {
            self.setup.resumption = Some(Resumption::Restart);
            return self.ask(saying, out);
        }
        let wait = self.wait_after(&failure);
        self.phase = Phase::Broken {
            saying,
            waits: wait.is_some(),
        };
        let Some(wait) = wait else {
            return self.fail(
                now,
                failure.class.as_str(),
                failure.message,
                &failure.hint,
                out,
            );
        };
        self.failures += 1;
        out.push(Effect::Partial(self.partial().map(str::to_owned)));
        out.push(Effect::Show(Shown::Note(format!(
            "{}; asked again in {:.1} s ({} of {})",
            failure.message,
            wait.as_secs_f32(),
            self.failures,
            self.setup.limits.retries
        ))));
        out.push(Effect::Wake(wait));
    }

    /// How long to wait before the model is asked again; `None` where that is no use.
    pub(super) fn wait_after(&self, failure: &Failure) -> Option<Duration> {
        let may = matches!(
            failure.class,
            ModelClass::Unreachable
                | ModelClass::Slow
                | ModelClass::Busy
                | ModelClass::Server
                | ModelClass::Broken
        );
        if !may || self.failures >= self.setup.limits.retries {
            return None;
        }
        let own = BACKOFF
            .saturating_mul(1 << self.failures.min(8))
            .min(BACKOFF_MAX);
        match failure.retry_after {
            Some(wanted) if wanted > self.setup.limits.retry_after_max => None,
            Some(wanted) => Some(wanted.max(own)),
            None => Some(own),
        }
    }

    pub(super) fn spent(&mut self, now: Instant, spent: Spent, out: &mut Vec<Effect>) {
        self.fail(now, spent.class(), spent.message(), spent.hint(), out);
    }

    /// Ends the task as failed.
    pub(super) fn fail(
        &mut self,
        now: Instant,
        class: &str,
        message: String,
        hint: &str,
        out: &mut Vec<Effect>,
    ) {
        let ending = Ending::Failed {
            class: class.to_owned(),
            message,
            hint: hint.to_owned(),
        };
        self.end(now, ending, out);
    }
}
