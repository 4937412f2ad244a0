//! Steps: asking, listening, being broken off, and going on.

use std::time::{Duration, Instant};

use legation_models::{ChatRequest, Delta, Finish, Message, ModelClass, Resumption, Turn};

use super::calling::Calling;
use super::ending::Ending;
use super::saying::Saying;
use super::{Effect, Failure, Force, LATER_MAX, Machine, Phase, Purpose, Shown};
use crate::run::entry::{Entry, turn_message};
use crate::run::guard::Spent;

/// How often an answer that is as long as it may be is gone on with.
const LENGTHS_MAX: u32 = 2;
/// How often a model may have nothing to say.
const EMPTIES_MAX: u32 = 2;
/// The first wait before a model is asked again; each further one is twice as long.
const BACKOFF: Duration = Duration::from_millis(500);
const BACKOFF_MAX: Duration = Duration::from_secs(30);

const NOTHING_SAID: &str =
    "You said nothing. Go on with the task: call a tool, or give the answer.";

impl Machine {
    pub(super) fn start(&mut self, now: Instant, out: &mut Vec<Effect>) {
        match &mut self.phase {
            Phase::Between => self.go(now, out),
            Phase::Broken { waits, .. } => {
                *waits = false;
                self.go_on(now, out);
            }
            Phase::Calling(_) => self.call_next(now, out),
            // An answer that an earlier hub had not checked yet.
            Phase::Checking { answer } => {
                let answer = std::mem::take(answer);
                self.guard.works(now);
                self.answered(now, answer, out);
            }
            _ => {}
        }
    }

    /// Between two steps: what is next.
    pub(super) fn go(&mut self, now: Instant, out: &mut Vec<Effect>) {
        self.phase = Phase::Between;
        if self.hold.is_some() {
            return self.rest(now, out);
        }
        self.guard.works(now);
        if let Some(spent) = self.guard.spent(&self.setup.limits, now) {
            return self.spent(now, spent, out);
        }
        self.hear(out);
        if self.must_compact() {
            return self.compact(now, out);
        }
        self.step += 1;
        self.guard.turn();
        self.ask(Box::default(), out);
    }

    /// What was said meanwhile is said to the model.
    fn hear(&mut self, out: &mut Vec<Effect>) {
        self.is_steered = false;
        for text in std::mem::take(&mut self.later) {
            self.say(text, out);
        }
    }

    pub(super) fn say(&mut self, text: String, out: &mut Vec<Effect>) {
        self.messages.push(Message::User(text.clone()));
        out.push(Effect::Keep(Entry::Said { text }));
    }

    /// Asks for a turn, or for the rest of one.
    fn ask(&mut self, mut saying: Box<Saying>, out: &mut Vec<Effect>) {
        saying.ask();
        let mut messages = merged(&self.messages);
        let given = saying.given();
        if !given.is_empty() {
            match self.setup.resumption {
                Some(Resumption::Exact | Resumption::Prefill) => {
                    messages.push(Message::Assistant(Turn {
                        text: given.to_owned(),
                        ..Turn::default()
                    }));
                }
                Some(Resumption::Restart) | None => {
                    let words = saying.words();
                    if !words.trim().is_empty() {
                        messages.push(turn_message(&words, "", None, &[]));
                        messages.push(Message::User(go_on_note(&words)));
                    }
                }
            }
        }
        self.phase = Phase::Asking(saying);
        out.push(Effect::Ask {
            purpose: Purpose::Step,
            request: Box::new(self.request(messages)),
        });
    }

    fn request(&self, messages: Vec<Message>) -> ChatRequest {
        ChatRequest {
            messages,
            tools: self.setup.tools.told(),
            parallel_calls: true,
            answer: self.answer_schema(),
            tokens_max: self.setup.limits.answer_tokens_max,
            ..ChatRequest::default()
        }
    }

    pub(super) fn began(
        &mut self,
        now: Instant,
        resumption: Resumption,
        window: Option<u64>,
        out: &mut Vec<Effect>,
    ) {
        self.setup.resumption = Some(resumption);
        let known = self.setup.window;
        if window.is_some() {
            self.setup.window = window;
        }
        // A server that cuts what does not fit says nothing of it, so it must not come to that.
        if window.is_some()
            && window != known
            && self.does_not_fit()
            && matches!(self.phase, Phase::Asking(_))
        {
            out.push(Effect::DropStream);
            self.compact(now, out);
        }
    }

    pub(super) fn delta(&mut self, now: Instant, delta: Delta, out: &mut Vec<Effect>) {
        match &mut self.phase {
            Phase::Asking(saying) => {
                let shown = saying.push(delta);
                let is_endless = saying.bytes() > self.setup.limits.answer_bytes_max;
                out.extend(shown.into_iter().map(Effect::Show));
                if is_endless {
                    let message = format!(
                        "the model's answer did not end within {} bytes",
                        self.setup.limits.answer_bytes_max
                    );
                    self.fail(
                        now,
                        "endless",
                        message,
                        "choose another model, or a smaller task",
                        out,
                    );
                }
            }
            Phase::Compacting(compacting) => compacting.push(delta),
            _ => {}
        }
    }

    pub(super) fn ended(&mut self, now: Instant, out: &mut Vec<Effect>) {
        match std::mem::replace(&mut self.phase, Phase::Between) {
            Phase::Asking(saying) => self.finished(now, saying, out),
            Phase::Compacting(compacting) => self.compacted(now, *compacting, out),
            other => self.phase = other,
        }
    }

    /// A turn is over.
    fn finished(&mut self, now: Instant, mut saying: Box<Saying>, out: &mut Vec<Effect>) {
        let lengths = saying.lengths;
        if saying.is_cut_in_words() && lengths < LENGTHS_MAX {
            saying.break_off();
            saying.lengths += 1;
            self.note_usage(&saying.usage_now(), saying.bytes());
            self.phase = Phase::Broken {
                saying,
                waits: false,
            };
            return self.go_on(now, out);
        }
        let (said, shown) = saying.finish(self.step, &self.setup.tools);
        out.extend(shown.into_iter().map(Effect::Show));
        out.push(Effect::Partial(None));
        self.note_usage(&said.usage, said.bytes);
        self.failures = 0;
        if said.finish == Some(Finish::Filtered) {
            let message = "the provider's filter cut the answer".to_owned();
            return self.fail(now, "filtered", message, ModelClass::Filtered.hint(), out);
        }
        if said.text.is_empty() && said.calls.is_empty() {
            self.empties += 1;
            if self.empties > EMPTIES_MAX {
                let message = "the model said nothing, again and again".to_owned();
                return self.fail(now, "empty", message, "choose another model", out);
            }
            self.say(NOTHING_SAID.to_owned(), out);
            return self.go(now, out);
        }
        self.empties = 0;
        let called: Vec<_> = said.calls.iter().map(|call| call.called.clone()).collect();
        let reasoning = match said.seal {
            Some(_) => said.reasoning,
            None => String::new(),
        };
        let message = turn_message(&said.text, &reasoning, said.seal.as_deref(), &called);
        self.messages.push(message);
        out.push(Effect::Keep(Entry::Turn {
            step: self.step,
            text: said.text.clone(),
            seal: said.seal,
            reasoning,
            calls: called,
        }));
        if !said.text.is_empty() {
            out.push(Effect::Show(Shown::Said(said.text.clone())));
        }
        if said.calls.is_empty() {
            if said.finish == Some(Finish::Length) {
                let message = "the answer was longer than it may be".to_owned();
                return self.fail(now, "endless", message, "ask for less at once", out);
            }
            return self.answered(now, said.text, out);
        }
        let calling = Calling::of(said.calls, &self.setup.tools);
        self.phase = Phase::Calling(Box::new(calling));
        self.call_next(now, out);
    }

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
            Phase::Broken { waits: false, .. } => self.go_on(now, out),
            Phase::Calling(_) => {
                self.guard.works(now);
                self.call_next(now, out);
            }
            _ => self.guard.works(now),
        }
    }

    /// Keeps what was said until the next step.
    pub(super) fn keep_later(&mut self, said: Vec<String>, steers: bool, out: &mut Vec<Effect>) {
        for text in said {
            if self.later.len() == LATER_MAX {
                let note = "too much was said to the task at once; the last was not heard";
                out.push(Effect::Show(Shown::Note(note.to_owned())));
                return;
            }
            self.is_steered |= steers;
            self.later.push(text);
        }
    }

    pub(super) fn tick(&mut self, now: Instant, out: &mut Vec<Effect>) {
        if let Some(spent) = self.guard.late(&self.setup.limits, now)
            && self.hold.is_none()
        {
            return self.spent(now, spent, out);
        }
        if let Phase::Broken { waits, .. } = &mut self.phase {
            *waits = false;
            self.go_on(now, out);
        }
    }

    /// The rest of a turn that was broken off.
    pub(super) fn go_on(&mut self, now: Instant, out: &mut Vec<Effect>) {
        if self.hold.is_some() {
            return self.rest(now, out);
        }
        self.guard.works(now);
        match std::mem::replace(&mut self.phase, Phase::Between) {
            Phase::Broken { saying, .. } => self.ask(saying, out),
            other => self.phase = other,
        }
    }

    fn spent(&mut self, now: Instant, spent: Spent, out: &mut Vec<Effect>) {
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

fn go_on_note(words: &str) -> String {
    let tail: String = words.trim_end().chars().rev().take(80).collect();
    let tail: String = tail.chars().rev().collect();
    format!(
        "You were interrupted in the middle of this answer. Go on with it exactly where it stops, \
         without repeating any of it and without a remark. It stops after: {tail:?}"
    )
}

/// Messages as a model takes them: templates often want people and models to speak in turn.
pub(super) fn merged(messages: &[Message]) -> Vec<Message> {
    let mut merged: Vec<Message> = Vec::with_capacity(messages.len() + 2);
    for message in messages {
        match (merged.last_mut(), message) {
            (Some(Message::User(before)), Message::User(text)) => {
                before.push_str("\n\n");
                before.push_str(text);
            }
            _ => merged.push(message.clone()),
        }
    }
    merged
}
