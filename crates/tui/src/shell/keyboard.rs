//! Keys, from a thread that lets go of the keyboard when somebody else needs it.

use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::Duration;

use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{Happened, hub};
use crate::TuiError;
use crate::app::{Code, Input, Key};

/// The thread that reads keys.
#[derive(Debug)]
pub(super) struct Keyboard {
    /// A byte in it wakes the thread.
    wake: UnixStream,
    /// The thread says here that it reads no more.
    rests: Receiver<()>,
    /// And hears here that it may again.
    goes_on: SyncSender<()>,
}

/// How soon it is tried again to hand over what was typed, where there is no room for it.
const AGAIN: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 10_000_000,
};

/// What the thread has.
struct Reader {
    woken: UnixStream,
    happened: SyncSender<Happened>,
    /// What was typed and could not be handed over before the keyboard was wanted.
    left: Option<Input>,
}

// === impl Keyboard ===

impl Keyboard {
    pub(super) fn begin(happened: &SyncSender<Happened>) -> Result<Self, TuiError> {
        let (wake, woken) = UnixStream::pair().map_err(TuiError::Threads)?;
        let (resting, rests) = sync_channel(1);
        let (goes_on, wait) = sync_channel(1);
        let mut reader = Reader {
            woken,
            happened: happened.clone(),
            left: None,
        };
        hub::spawn("keys", move || {
            while let Ok(wants_rest) = reader.read() {
                if wants_rest && (resting.send(()).is_err() || wait.recv().is_err()) {
                    return;
                }
            }
            // A terminal that went away types no more.
            drop(reader.happened.send(Happened::KeyboardGone));
        })?;
        Ok(Self {
            wake,
            rests,
            goes_on,
        })
    }

    /// Leaves the keyboard to somebody else, until what they do is over.
    pub(super) fn rest(&mut self, meanwhile: impl FnOnce()) {
        let is_resting = self.wake.write_all(&[0]).is_ok() && self.rests.recv().is_ok();
        meanwhile();
        if is_resting {
            // A thread that ended meanwhile has said so already.
            self.goes_on.send(()).ok();
        }
    }
}

// === impl Reader ===

impl Reader {
    /// Reads until somebody wants the keyboard (`true`), or what was typed is read.
    fn read(&mut self) -> io::Result<bool> {
        // More may have been read with it that no look at the terminal shows.
        if let Some(left) = self.left.take()
            && !(self.hand(left)? && self.hand_all()?)
        {
            return self.wanted();
        }
        let stdin = io::stdin();
        let mut ends = [
            PollFd::new(&stdin, PollFlags::IN),
            PollFd::new(&self.woken, PollFlags::IN),
        ];
        match poll(&mut ends, None) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return Ok(false),
            Err(error) => return Err(error.into()),
        }
        if ends[1].revents().intersects(PollFlags::IN | PollFlags::HUP) {
            return self.wanted();
        }
        let flags = ends[0].revents();
        if flags.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        match self.hand_all()? {
            true => Ok(false),
            false => self.wanted(),
        }
    }

    /// Hands over everything that was typed; `false` where the keyboard is wanted before.
    fn hand_all(&mut self) -> io::Result<bool> {
        while event::poll(Duration::ZERO)? {
            if let Some(input) = input(event::read()?)
                && !self.hand(input)?
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Hands something over; `false` where the keyboard is wanted before there is room. Whoever wants
    /// it takes in nothing meanwhile, so that waiting for room alone would never end.
    fn hand(&mut self, input: Input) -> io::Result<bool> {
        let mut over = Happened::Input(input);
        loop {
            over = match self.happened.try_send(over) {
                Ok(()) => return Ok(true),
                Err(TrySendError::Full(over)) => over,
                Err(TrySendError::Disconnected(_)) => {
                    return Err(io::ErrorKind::BrokenPipe.into());
                }
            };
            let mut ends = [PollFd::new(&self.woken, PollFlags::IN)];
            let count = match poll(&mut ends, Some(&AGAIN)) {
                Err(rustix::io::Errno::INTR) => 0,
                count => count?,
            };
            if count > 0 {
                if let Happened::Input(input) = over {
                    self.left = Some(input);
                }
                return Ok(false);
            }
        }
    }

    /// Takes the byte that says that the keyboard is wanted.
    fn wanted(&mut self) -> io::Result<bool> {
        match self.woken.read(&mut [0; 1])? {
            0 => Err(io::ErrorKind::BrokenPipe.into()),
            _ => Ok(true),
        }
    }
}

/// What an event of the terminal is to the state. Sizes are asked for when their signal comes.
fn input(event: Event) -> Option<Input> {
    match event {
        Event::Key(event) => key(event).map(Input::Key),
        Event::Paste(text) => Some(Input::Paste(text)),
        Event::FocusGained | Event::FocusLost | Event::Mouse(_) | Event::Resize(..) => None,
    }
}

pub(super) fn key(event: KeyEvent) -> Option<Key> {
    if event.kind == KeyEventKind::Release {
        return None;
    }
    let code = match event.code {
        KeyCode::Char(sign) => Code::Char(sign),
        KeyCode::Enter => Code::Enter,
        KeyCode::Tab => Code::Tab,
        KeyCode::BackTab => Code::BackTab,
        KeyCode::Backspace => Code::Backspace,
        KeyCode::Delete => Code::Delete,
        KeyCode::Left => Code::Left,
        KeyCode::Right => Code::Right,
        KeyCode::Up => Code::Up,
        KeyCode::Down => Code::Down,
        KeyCode::Home => Code::Home,
        KeyCode::End => Code::End,
        KeyCode::PageUp => Code::PageUp,
        KeyCode::PageDown => Code::PageDown,
        KeyCode::Esc => Code::Esc,
        _ => return None,
    };
    let held = |modifier| event.modifiers.contains(modifier);
    let ctrl = held(KeyModifiers::CONTROL);
    let code = match code {
        // What a terminal sends for a control key says nothing of capitals.
        Code::Char(sign) if ctrl => Code::Char(sign.to_ascii_lowercase()),
        code => code,
    };
    Some(Key {
        code,
        ctrl,
        alt: held(KeyModifiers::ALT),
        shift: held(KeyModifiers::SHIFT),
    })
}

#[cfg(test)]
mod tests;
