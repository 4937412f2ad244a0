//! The terminal as it was found, on every way out.

use std::io::{self, Write as _};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use crossterm::execute;
use crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};

// A panic may come from any thread, so what is to be taken back is known to all of them.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);
static IS_ALTERNATE: AtomicBool = AtomicBool::new(false);
static HOOK: Once = Once::new();

/// Holds the terminal; dropping it gives it back.
#[derive(Debug)]
pub(super) struct Held;

// === impl Held ===

impl Held {
    /// Takes the terminal.
    pub(super) fn take() -> io::Result<Self> {
        HOOK.call_once(|| {
            let before = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                // What a panic says is read on a terminal that is one.
                give_back();
                before(panic);
            }));
        });
        let held = Self;
        held.again()?;
        Ok(held)
    }

    /// Takes it once more, after it was given back for a while.
    pub(super) fn again(&self) -> io::Result<()> {
        enable_raw_mode()?;
        IS_TAKEN.store(true, Ordering::SeqCst);
        execute!(io::stdout(), EnableBracketedPaste)
    }

    /// Whether it is still held: a panic of any thread gives it back.
    pub(super) fn is_held(&self) -> bool {
        IS_TAKEN.load(Ordering::SeqCst)
    }

    /// Gives it back for a while.
    pub(super) fn give_back(&self) {
        give_back();
    }

    /// Goes to the other screen, or back from it.
    pub(super) fn alternate(&self, wanted: bool) -> io::Result<()> {
        if IS_ALTERNATE.swap(wanted, Ordering::SeqCst) == wanted {
            return Ok(());
        }
        match wanted {
            true => execute!(io::stdout(), EnterAlternateScreen),
            false => execute!(io::stdout(), LeaveAlternateScreen),
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        give_back();
    }
}

/// Everything back; a second time does nothing. A terminal that is gone needs nothing back.
fn give_back() {
    if !IS_TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    let mut out = io::stdout();
    if IS_ALTERNATE.swap(false, Ordering::SeqCst) {
        drop(execute!(out, LeaveAlternateScreen));
    }
    drop(execute!(
        out,
        DisableBracketedPaste,
        crossterm::cursor::Show
    ));
    // The end of what is shown at once, should it have begun; and no look is left behind.
    drop(
        out.write_all(b"\x1b[?2026l\x1b[0m\r")
            .and_then(|()| out.flush()),
    );
    drop(disable_raw_mode());
}
