//! The terminal as a screen: lines in its scrollback, or the whole of it.

use std::io::{self, Write as _};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use ratatui_core::layout::Position;
use ratatui_core::style::Color;
use ratatui_core::terminal::Terminal;
use ratatui_crossterm::CrosstermBackend;
use rustix::process::{Signal as Number, getpid, kill_process};

use super::hub::Hub;
use super::inline::{Inline, Leave};
use super::keyboard::Keyboard;
use super::restore::Held;
use super::{Happened, Signal, begin, choices, signals, step};
use crate::app::{App, Cell, Effect, Input, Mode, Print};
use crate::view::{Cache, Live, frame, live, printed};
use crate::{Parts, TuiError};

/// No two frames are nearer than that: sixty a second.
const FRAME: Duration = Duration::from_millis(16);
/// What is taken in before the next frame, however much there is.
const BATCH: usize = 512;

/// The terminal with what stands on it.
struct Screen<'a> {
    parts: Parts<'a>,
    hub: Hub,
    app: App,
    held: Held,
    keyboard: Keyboard,
    inline: Inline,
    cache: Cache,
    /// What is to be shown for good, once the scrollback is seen.
    said: Vec<Print>,
    whole: Option<Terminal<CrosstermBackend<io::Stdout>>>,
    began: Instant,
}

pub(crate) fn run_screen(mut parts: Parts<'_>) -> Result<(), TuiError> {
    let (happened, events) = sync_channel(super::HAPPENED_MAX);
    let (columns, rows) = crossterm::terminal::size().map_err(TuiError::Terminal)?;
    let began = parts.clock.now();
    signals::begin(&happened)?;
    let hub = begin(&mut parts, &happened)?;
    let held = Held::take().map_err(TuiError::Terminal)?;
    let keyboard = Keyboard::begin(&happened)?;
    let mut app = App::new(choices(&parts.options, false), columns, rows);
    let words = format!(
        "Legation {}; ? shows the keys, /help the commands",
        parts.version
    );
    app.show(Cell::note(&words));
    let mut screen = Screen {
        inline: Inline::new(parts.options.has_colours),
        parts,
        hub,
        app,
        held,
        keyboard,
        cache: Cache::default(),
        said: Vec::new(),
        whole: None,
        began,
    };
    let end = screen.run(&events);
    let left = screen.leave(Leave::Clear);
    end.and(left).map_err(TuiError::Terminal)
}

// === impl Screen ===

impl Screen<'_> {
    fn run(&mut self, events: &Receiver<Happened>) -> io::Result<()> {
        let mut drawn: Option<Instant> = None;
        let mut is_dirty = true;
        loop {
            let now = self.parts.clock.now();
            let due = match drawn {
                Some(drawn) if is_dirty => (drawn + FRAME).saturating_duration_since(now),
                None => Duration::ZERO,
                Some(_) => {
                    let next = self.app.next_ms().saturating_sub(self.now_ms());
                    Duration::from_millis(next)
                }
            };
            match events.recv_timeout(due) {
                Ok(first) => {
                    is_dirty = true;
                    let more = events.try_iter().take(BATCH);
                    let happened: Vec<Happened> = std::iter::once(first).chain(more).collect();
                    for one in happened {
                        if !self.happens(one)? {
                            return Ok(());
                        }
                    }
                }
                Err(RecvTimeoutError::Timeout) if is_dirty => {
                    self.draw()?;
                    drawn = Some(self.parts.clock.now());
                    is_dirty = false;
                }
                Err(RecvTimeoutError::Timeout) => {
                    is_dirty = true;
                    if !self.happens(Happened::Input(Input::Tick))? {
                        return Ok(());
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
        }
    }

    fn now_ms(&self) -> u64 {
        let passed = self.parts.clock.now().saturating_duration_since(self.began);
        u64::try_from(passed.as_millis()).unwrap_or(u64::MAX)
    }

    /// Takes in one thing; whether it goes on.
    fn happens(&mut self, happened: Happened) -> io::Result<bool> {
        let input = match happened {
            Happened::Input(input) => input,
            Happened::Signal(Signal::End) | Happened::KeyboardGone => return Ok(false),
            Happened::Signal(Signal::Suspend) => {
                self.suspend()?;
                return Ok(true);
            }
            Happened::Signal(Signal::Resize | Signal::GoOn) => {
                let (columns, rows) = crossterm::terminal::size()?;
                if columns != self.app.columns && !self.is_whole() {
                    let out = self.inline.resized(usize::from(columns));
                    write(&out)?;
                }
                Input::Resize { columns, rows }
            }
        };
        let now_ms = self.now_ms();
        for effect in step(&mut self.app, &self.hub, now_ms, input) {
            match effect {
                Effect::Quit => return Ok(false),
                Effect::Suspend => self.suspend()?,
                Effect::Redraw => self.redraw()?,
                Effect::Outside(command) => self.outside(command)?,
                // Those are done already.
                Effect::Ask(_) | Effect::Follow(_) => {}
            }
        }
        Ok(true)
    }

    fn is_whole(&self) -> bool {
        self.app.choices.is_full || matches!(self.app.mode, Mode::Pager { .. })
    }

    fn draw(&mut self) -> io::Result<()> {
        if !self.held.is_held() {
            return Err(io::Error::other("a part of it failed, as it said above"));
        }
        self.said.append(&mut self.app.take_prints());
        if self.is_whole() {
            if self.app.choices.is_full {
                self.said.clear();
            }
            return self.draw_whole();
        }
        if self.whole.take().is_some() {
            self.held.alternate(false)?;
        }
        let width = usize::from(self.app.columns).saturating_sub(1).max(8);
        let said = std::mem::take(&mut self.said);
        let lines: Vec<_> = said
            .iter()
            .flat_map(|print| printed(print, width))
            .collect();
        let out = self.inline.draw(&lines, &live(&self.app, true));
        write(&out)
    }

    fn draw_whole(&mut self) -> io::Result<()> {
        let mut terminal = match self.whole.take() {
            Some(terminal) => terminal,
            None => {
                self.held.alternate(true)?;
                let mut terminal = Terminal::new(CrosstermBackend::new(io::stdout()))?;
                terminal.clear()?;
                terminal
            }
        };
        write("\u{1b}[?2026h")?;
        let mut top = None;
        let (app, cache) = (&self.app, &mut self.cache);
        let has_colours = self.parts.options.has_colours;
        terminal.draw(|canvas| {
            let drawn = frame(app, cache, canvas.buffer_mut());
            if !has_colours {
                for cell in &mut canvas.buffer_mut().content {
                    cell.fg = Color::Reset;
                }
            }
            if let Some((column, row)) = drawn.cursor {
                canvas.set_cursor_position(Position::new(column, row));
            }
            top = drawn.top;
        })?;
        write("\u{1b}[?2026l")?;
        if let Some(top) = top {
            self.app.read_to_the_top(top);
        }
        self.whole = Some(terminal);
        Ok(())
    }

    /// Draws everything anew: somebody else may have written on the terminal.
    fn redraw(&mut self) -> io::Result<()> {
        match &mut self.whole {
            Some(terminal) => terminal.clear(),
            None => write(&self.inline.leave(Leave::Clear)),
        }
    }

    /// The terminal as it was found, without the live lines.
    fn leave(&mut self, leave: Leave) -> io::Result<()> {
        // Where a panic gave it back, what it says stands there now.
        if !self.held.is_held() {
            return Ok(());
        }
        if self.whole.take().is_some() {
            self.held.alternate(false)?;
        }
        // What was said since the last frame is not lost.
        self.said.append(&mut self.app.take_prints());
        let width = usize::from(self.app.columns).saturating_sub(1).max(8);
        let said = std::mem::take(&mut self.said);
        let said = said.iter().filter(|_| !self.app.choices.is_full);
        let lines: Vec<_> = said.flat_map(|print| printed(print, width)).collect();
        let mut out = self.inline.draw(&lines, &Live::default());
        out.push_str(&self.inline.leave(leave));
        let end = write(&out);
        self.held.give_back();
        end
    }

    fn suspend(&mut self) -> io::Result<()> {
        self.leave(Leave::Clear)?;
        // Everything stops here until the shell continues it.
        kill_process(getpid(), Number::STOP)?;
        self.held.again()?;
        let (columns, rows) = crossterm::terminal::size()?;
        (self.app.columns, self.app.rows) = (columns, rows);
        self.inline.leave(Leave::Forget);
        Ok(())
    }

    /// Lets a command of the program have the terminal.
    fn outside(&mut self, command: Vec<String>) -> io::Result<()> {
        self.leave(Leave::Clear)?;
        let outside = self.parts.outside;
        self.keyboard.rest(|| outside(command));
        self.held.again()?;
        let now_ms = self.now_ms();
        let effects = step(&mut self.app, &self.hub, now_ms, Input::Outside);
        // Drawing anew is all that it wants, and a frame follows.
        drop(effects);
        Ok(())
    }
}

fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}
