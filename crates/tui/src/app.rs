//! The terminal's state: what comes in changes it, and what is to be done comes out.
//!
//! There is no IO, clock or thread here. The shell puts in keys, what the hub told, answers and the
//! time, and does what [`Effect`]s say.

mod approvals;
mod asks;
mod commands;
mod composer;
mod keys;
mod listing;
mod queue;
mod stream;
mod transcript;
mod update;

use std::collections::{BTreeSet, VecDeque};

use legation_api::approvals::Waiting;
use legation_api::conversation::{Event, SessionView};
use legation_api::tasks::EngineStatusAnswer;

pub(crate) use approvals::{Card, choices, code};
pub(crate) use asks::{Answer, Ask, Refusal};
pub(crate) use commands::{COMMANDS, CONSUMER, matching};
pub(crate) use composer::Composer;
pub(crate) use listing::{KEYS, facts as listing_facts};
pub(crate) use queue::{Item, Queue};
pub(crate) use stream::Streams;
pub(crate) use transcript::{Cell, Piece, Transcript, Who};

/// How long a remark stands in the status line, in milliseconds.
pub(crate) const NOTICE_MS: u64 = 6_000;
/// How long the second press of a key that ends something may take.
pub(crate) const TWICE_MS: u64 = 2_000;

/// A key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) code: Code,
    pub(crate) ctrl: bool,
    pub(crate) alt: bool,
    pub(crate) shift: bool,
}

/// Which key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Code {
    Char(char),
    Enter,
    Tab,
    BackTab,
    Backspace,
    Delete,
    Left,
    Right,
    Up,
    Down,
    Home,
    End,
    PageUp,
    PageDown,
    Esc,
}

/// What comes in.
#[derive(Debug)]
pub(crate) enum Input {
    Key(Key),
    /// Text that was pasted, whatever it holds.
    Paste(String),
    /// A line, where lines are read and not keys.
    Line(String),
    /// No more lines will come.
    LinesOver,
    Resize {
        columns: u16,
        rows: u16,
    },
    /// A connection is there, and this session is followed.
    Opened(Box<SessionView>),
    /// The hub told something about the session.
    Told(Box<Event>),
    /// The connection is lost, or there is none yet.
    Gone(String),
    /// What came of a request.
    Answered(Box<Ask>, Box<Result<Answer, Refusal>>),
    /// A command that ran outside has ended.
    Outside,
    /// Time passed.
    Tick,
}

/// What is to be done.
#[derive(Debug, PartialEq)]
pub(crate) enum Effect {
    /// Ask the hub.
    Ask(Box<Ask>),
    /// Follow another session.
    Follow(legation_api::conversation::Open),
    /// Run a command of the program outside, on the terminal as it was found.
    Outside(Vec<String>),
    /// Stop the process until its shell continues it.
    Suspend,
    /// Draw everything anew.
    Redraw,
    Quit,
}

/// How the hub is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Link {
    Connecting,
    Live,
    /// Nobody answers, and why.
    Gone(String),
}

/// What keys mean at the moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Words are written.
    Compose,
    /// The queue is gone through.
    Tasks { selected: usize },
    /// An approval is looked at.
    Approval(Card),
    /// The keys are explained.
    Help,
    /// The conversation is read; lines from its end.
    Pager { up: usize, is_unfolded: bool },
}

/// For whom the words are that are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    /// Everybody: a new task, or more for one's own that is worked on.
    Conversation,
    /// A queued task's new words.
    Edit(String),
    /// A message that is held here, by its number.
    EditHeld(u64),
    /// A task between its steps.
    Steer(String),
    /// A task that asks.
    Answer(String),
}

/// Something that is to be shown for good, once.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Print {
    pub(crate) cell: Cell,
    /// Bytes of its words that were shown before.
    pub(crate) from: usize,
    /// Whether it is said who speaks.
    pub(crate) is_named: bool,
}

/// What the person chose when the terminal was started.
#[derive(Debug, Clone, Default)]
pub(crate) struct Choices {
    /// The folder.
    pub(crate) workspace: Option<String>,
    /// The whole screen is used.
    pub(crate) is_full: bool,
    /// Lines for screen readers and pipes.
    pub(crate) is_plain: bool,
}

/// The state.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) choices: Choices,
    /// Milliseconds of the shell's clock.
    pub(crate) now_ms: u64,
    pub(crate) columns: u16,
    pub(crate) rows: u16,
    pub(crate) link: Link,
    pub(crate) session: Option<SessionView>,
    /// Whether everything that was said before has been told.
    pub(crate) is_live: bool,
    pub(crate) transcript: Transcript,
    pub(crate) streams: Streams,
    pub(crate) queue: Queue,
    pub(crate) mode: Mode,
    pub(crate) target: Target,
    pub(crate) composer: Composer,
    pub(crate) approvals: Vec<Waiting>,
    /// Approvals that were put off.
    put_off: BTreeSet<String>,
    /// What the questions are called that were said in lines; the newest are kept.
    said: VecDeque<String>,
    pub(crate) unread: u64,
    pub(crate) engine: Option<EngineStatusAnswer>,
    /// The model that the person chose, as `PROVIDER` or `PROVIDER/MODEL`.
    pub(crate) model: Option<(String, Option<String>)>,
    /// Whether the agents' next steps are held back.
    pub(crate) is_held: bool,
    notice: Option<(String, u64)>,
    /// The key whose second press counts, and until when.
    armed: Option<(char, u64)>,
    last_key_ms: u64,
    last_typing_ms: Option<u64>,
    due: update::Due,
    /// Own tasks that were handed in and are not over; counted where lines are read.
    pub(crate) outstanding: usize,
    /// Those of them that the hub has not answered yet.
    submitting: usize,
    lines_over: bool,
    /// The task whose answer was shown last, where nothing else came after it.
    speaker: Option<String>,
    prints: Vec<Print>,
    effects: VecDeque<Effect>,
}

// === impl App ===

impl App {
    pub(crate) fn new(choices: Choices, columns: u16, rows: u16) -> Self {
        Self {
            choices,
            now_ms: 0,
            columns,
            rows,
            link: Link::Connecting,
            session: None,
            is_live: false,
            transcript: Transcript::default(),
            streams: Streams::default(),
            queue: Queue::default(),
            mode: Mode::Compose,
            target: Target::Conversation,
            composer: Composer::default(),
            approvals: Vec::new(),
            put_off: BTreeSet::new(),
            said: VecDeque::new(),
            unread: 0,
            engine: None,
            model: None,
            is_held: false,
            notice: None,
            armed: None,
            last_key_ms: 0,
            last_typing_ms: None,
            due: update::Due::default(),
            outstanding: 0,
            submitting: 0,
            lines_over: false,
            speaker: None,
            prints: Vec::new(),
            effects: VecDeque::new(),
        }
    }

    /// Takes in what happened at a time, and says what is to be done.
    pub(crate) fn update(&mut self, now_ms: u64, input: Input) -> Vec<Effect> {
        self.now_ms = now_ms;
        match input {
            Input::Key(key) => self.key(key),
            Input::Paste(text) => self.paste(&text),
            Input::Line(line) => self.line(&line),
            Input::LinesOver => self.lines_over = true,
            Input::Resize { columns, rows } => (self.columns, self.rows) = (columns, rows),
            Input::Opened(session) => self.opened(*session),
            Input::Told(event) => self.told(*event),
            Input::Gone(why) => self.gone(why),
            Input::Answered(ask, answer) => self.answered(*ask, *answer),
            Input::Outside => self.effects.push_back(Effect::Redraw),
            Input::Tick => {}
        }
        self.settle();
        self.effects.drain(..).collect()
    }

    /// What is to be shown for good.
    pub(crate) fn take_prints(&mut self) -> Vec<Print> {
        std::mem::take(&mut self.prints)
    }

    /// The first line of the conversation is seen; there is nothing further up.
    pub(crate) fn read_to_the_top(&mut self, top: usize) {
        if let Mode::Pager { up, .. } = &mut self.mode {
            *up = (*up).min(top);
        }
    }

    /// The remark that stands at the moment.
    pub(crate) fn notice(&self) -> Option<&str> {
        let (text, until) = self.notice.as_ref()?;
        (self.now_ms < *until).then_some(text.as_str())
    }

    /// When something changes without anybody doing anything, in milliseconds of the shell's clock.
    pub(crate) fn next_ms(&self) -> u64 {
        self.due.next_ms(self.now_ms)
    }

    pub(crate) fn say(&mut self, text: impl Into<String>) {
        let text = text.into();
        if self.choices.is_plain {
            self.show(Cell::note(&text));
        } else {
            self.notice = Some((text, self.now_ms + NOTICE_MS));
        }
    }

    pub(crate) fn ask(&mut self, ask: Ask) {
        self.effects.push_back(Effect::Ask(Box::new(ask)));
    }

    /// Shows something of the terminal's own in the conversation.
    pub(crate) fn show(&mut self, cell: Cell) {
        self.print(Print::whole(cell.clone()));
        self.transcript.add(cell);
    }

    /// Has something shown for good. Who speaks is said where somebody else spoke before.
    pub(crate) fn print(&mut self, mut print: Print) {
        let speaker = print.cell.speaker();
        print.is_named = speaker.is_none() || self.speaker != speaker;
        self.speaker = speaker;
        self.prints.push(print);
    }

    /// Whether the answer of a task goes on below its own words.
    pub(crate) fn is_speaking(&self, task: &str) -> bool {
        self.speaker.as_deref() == Some(task)
    }

    /// Whether the key was pressed a moment ago too; from now on it was.
    fn twice(&mut self, key: char) -> bool {
        let is_second = self
            .armed
            .is_some_and(|(armed, until)| armed == key && self.now_ms < until);
        self.armed = (!is_second).then_some((key, self.now_ms + TWICE_MS));
        is_second
    }
}

// === impl Print ===

impl Print {
    pub(crate) fn whole(cell: Cell) -> Self {
        Self {
            cell,
            from: 0,
            is_named: true,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
