//! Calls that wait for a person, looked at one by one.
//!
//! A question that comes up while somebody writes must not be answered by a letter of a word: it
//! takes the keys only where nothing is being written, and counts none of them at first.

use legation_api::approvals::{Answer, Certify, Find, Waiting};
use zeroize::Zeroizing;

use super::{App, Ask, Code, Key, Mode};

/// How long keys count for nothing after a question came up, in milliseconds.
const ARMING_MS: u64 = 700;
/// How long nothing must have been written before a question comes up by itself.
const QUIET_MS: u64 = 1_500;
/// How many signs of a digest name its question.
const CODE: usize = 4;
/// How many questions that were said before are still known by their code.
const SAID_MAX: usize = 64;
/// Lines by which a page moves.
const PAGE: usize = 10;

/// A question that is looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Card {
    pub(crate) waiting: Box<Waiting>,
    /// Lines of it that are above what is seen.
    pub(crate) above: usize,
    /// The PIN as far as it was typed, where one is asked for.
    pub(crate) pin: Option<Zeroizing<String>>,
    since_ms: u64,
}

/// The answers that can be given to a question, in the order of their numbers.
pub(crate) fn choices(waiting: &Waiting) -> Vec<&str> {
    waiting.answers.iter().map(String::as_str).collect()
}

/// What a question is called in the line that answers it: the beginning of its digest, or its id
/// where it has none.
pub(crate) fn code(waiting: &Waiting) -> String {
    let digest = waiting.short_digest.as_ref().or(waiting.digest.as_ref());
    let begin = digest.and_then(|digest| digest.get(..CODE));
    begin.unwrap_or(&waiting.id).to_owned()
}

// === impl Card ===

impl Card {
    pub(crate) fn is_armed(&self, now_ms: u64) -> bool {
        now_ms >= self.since_ms + ARMING_MS
    }

    pub(crate) fn is_proposal(&self) -> bool {
        self.waiting.kind == "proposal"
    }
}

// === impl App ===

impl App {
    /// What waits, as the hub just said.
    pub(crate) fn approvals_are(&mut self, mut waiting: Vec<Waiting>) {
        waiting.retain(|one| one.state == "pending");
        let is_there = |id: &str| waiting.iter().any(|one| one.id == id);
        self.put_off.retain(|id| is_there(id));
        // The rest of a PIN that is being typed must not become words of a message.
        if let Mode::Approval(card) = &self.mode
            && card.pin.is_none()
            && !is_there(&card.waiting.id)
        {
            let id = card.waiting.id.clone();
            self.mode = Mode::Compose;
            self.say(format!("{id} was answered elsewhere, or its time is over"));
        }
        if self.choices.is_plain {
            self.announce(&waiting);
        }
        self.approvals = waiting;
    }

    /// Says each new question in lines.
    fn announce(&mut self, waiting: &[Waiting]) {
        let known: Vec<String> = self.approvals.iter().map(|one| one.id.clone()).collect();
        for one in waiting.iter().filter(|one| !known.contains(&one.id)) {
            let lines = super::listing::question(one);
            self.show(super::Cell::listing(lines));
            if self.said.len() == SAID_MAX {
                self.said.pop_front();
            }
            self.said.push_back(code(one));
        }
    }

    /// Takes a line as the answer to a question that was said in lines; whether it was one. It has to
    /// name its question: else a number that was meant for one would answer another that came up
    /// meanwhile, and a message that is a number would answer anything.
    pub(crate) fn is_answer(&mut self, line: &str) -> bool {
        let mut words = line.split_whitespace();
        let number = words.next().and_then(|word| word.parse::<usize>().ok());
        let (Some(number), named, None) = (number, words.next(), words.next()) else {
            return false;
        };
        let mut open = self
            .approvals
            .iter()
            .filter(|one| one.kind != "proposal" && self.said.contains(&code(one)));
        let Some(named) = named else {
            let Some(first) = open.next().map(code) else {
                return false;
            };
            self.say(format!(
                "nothing was answered and nothing was sent: an answer names its question, as in: {number} {first}"
            ));
            return true;
        };
        let of_name: Vec<Waiting> = open.filter(|one| code(one) == named).cloned().collect();
        match &of_name[..] {
            [] if self.said.iter().any(|code| code == named) => {
                self.say(format!("{named} does not wait any more; nothing was sent"));
            }
            [] => return false,
            [waiting] => match number.checked_sub(1).and_then(|at| waiting.answers.get(at)) {
                Some(answer) => self.answer_approval(waiting, &answer.clone()),
                None => self.say(format!("{named} has no answer {number}; nothing was sent")),
            },
            [waiting, ..] => self.say(format!(
                "several questions are called {named}; nothing was answered: /approvals {} ANSWER",
                waiting.id
            )),
        }
        true
    }

    /// Approvals that nobody has put off.
    pub(crate) fn open_approval(&self) -> Option<&Waiting> {
        self.approvals
            .iter()
            .find(|one| !self.put_off.contains(&one.id))
    }

    /// Lets a question come up where nothing is being written.
    pub(crate) fn bring_up(&mut self) {
        let is_quiet = self.composer.is_empty()
            && self.mode == Mode::Compose
            && self.now_ms >= self.last_key_ms + QUIET_MS;
        if is_quiet
            && !self.choices.is_plain
            && let Some(waiting) = self.open_approval().cloned()
        {
            self.look_at(waiting);
        }
    }

    pub(crate) fn look_at(&mut self, waiting: Waiting) {
        self.put_off.remove(&waiting.id);
        self.mode = Mode::Approval(Card {
            waiting: Box::new(waiting),
            above: 0,
            pin: None,
            since_ms: self.now_ms,
        });
    }

    /// Asks for a question by its id, or shows the first.
    pub(crate) fn approval(&mut self, id: Option<&str>) {
        match id {
            Some(id) => self.ask(Ask::Approval(Find { id: id.to_owned() })),
            None => match self.approvals.first().cloned() {
                Some(waiting) => self.look_at(waiting),
                None => self.say("nothing waits for you"),
            },
        }
    }

    pub(crate) fn approval_key(&mut self, key: Key) {
        let Mode::Approval(card) = &mut self.mode else {
            return;
        };
        if key.ctrl {
            return;
        }
        let is_armed = card.is_armed(self.now_ms);
        if let Some(pin) = &mut card.pin {
            match key.code {
                Code::Char(sign) => pin.push(sign),
                Code::Backspace => drop(pin.pop()),
                Code::Esc => card.pin = None,
                Code::Enter => self.certify(),
                _ => {}
            }
            return;
        }
        match key.code {
            Code::Up => card.above = card.above.saturating_sub(1),
            Code::Down => card.above += 1,
            Code::PageUp => card.above = card.above.saturating_sub(PAGE),
            Code::PageDown => card.above += PAGE,
            Code::Esc => {
                self.put_off.insert(card.waiting.id.clone());
                self.mode = Mode::Compose;
                self.say("it still waits: /approvals shows it again");
            }
            Code::Tab => self.next_approval(),
            _ if !is_armed => {}
            Code::Char('y' | 'Y') if card.is_proposal() => card.pin = Some(Zeroizing::default()),
            Code::Char('y' | 'Y') => self.approve("once"),
            Code::Char('n' | 'N') => self.approve("deny"),
            Code::Char(digit @ '1'..='9') if !card.is_proposal() => {
                let at = usize::from(u8::try_from(digit).unwrap_or(b'1') - b'1');
                let answer = choices(&card.waiting)
                    .get(at)
                    .map(|answer| (*answer).to_owned());
                if let Some(answer) = answer {
                    self.approve(&answer);
                }
            }
            _ => {}
        }
    }

    fn next_approval(&mut self) {
        let Mode::Approval(card) = &self.mode else {
            return;
        };
        let at = self
            .approvals
            .iter()
            .position(|one| one.id == card.waiting.id);
        let next = at.map_or(0, |at| at + 1) % self.approvals.len().max(1);
        if let Some(waiting) = self.approvals.get(next).cloned() {
            self.look_at(waiting);
        }
    }

    /// Answers the question that is looked at.
    fn approve(&mut self, answer: &str) {
        let Mode::Approval(card) = &self.mode else {
            return;
        };
        let waiting = (*card.waiting).clone();
        self.mode = Mode::Compose;
        self.answer_approval(&waiting, answer);
    }

    pub(crate) fn answer_approval(&mut self, waiting: &Waiting, answer: &str) {
        // `deny` may always be said; a yes only in a form that the question has.
        if answer != "deny" && !choices(waiting).contains(&answer) {
            let known = choices(waiting).join(", ");
            self.say(format!("{answer} is no answer to {}: {known}", waiting.id));
            return;
        }
        self.approvals.retain(|one| one.id != waiting.id);
        self.ask(Ask::Approve(Answer {
            id: waiting.id.clone(),
            answer: answer.to_owned(),
        }));
    }

    fn certify(&mut self) {
        let Mode::Approval(card) = &mut self.mode else {
            return;
        };
        let pin = card.pin.take().map(|pin| (*pin).clone());
        let request = Certify {
            id: card.waiting.id.clone(),
            digest: card.waiting.digest.clone().unwrap_or_default(),
            pin,
        };
        self.mode = Mode::Compose;
        self.ask(Ask::Certify(request));
    }
}
