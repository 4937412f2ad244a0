//! Steps: asking, listening, being broken off, and going on.

use std::time::Instant;

use legation_models::{ChatRequest, Delta, Finish, Message, ModelClass, Resumption, Turn};

use super::calling::Calling;
use super::saying::Saying;
use super::{Effect, LATER_MAX, Machine, Phase, Purpose, Shown};
use crate::run::entry::{Entry, turn_message};
use crate::run::plain_calls;

/// How often an answer that is as long as it may be is gone on with.
const LENGTHS_MAX: u32 = 2;
/// How often a model may have nothing to say.
const EMPTIES_MAX: u32 = 2;
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
        self.tell_brought(out);
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
    pub(super) fn ask(&mut self, mut saying: Box<Saying>, out: &mut Vec<Effect>) {
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
        let tools = self.setup.tools.told();
        let is_plain = self.setup.calls_in_words && !tools.is_empty();
        let (messages, tools) = match is_plain {
            true => (merged(&plain_calls::told(&messages, &tools)), Vec::new()),
            false => (messages, tools),
        };
        ChatRequest {
            messages,
            tools,
            parallel_calls: !is_plain,
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
                let shown = saying.push(delta, &self.setup.tools);
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
        self.wake(now, out);
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
