//! Signals, as things that happen.

use std::sync::mpsc::SyncSender;

use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGWINCH};
use signal_hook::iterator::Signals;

use super::{Happened, hub};
use crate::TuiError;

/// What a signal wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signal {
    /// The process shall end.
    End,
    /// It shall stop until it is continued.
    Suspend,
    /// It goes on; somebody else may have had the terminal.
    GoOn,
    /// The terminal has another size.
    Resize,
}

/// Watches signals from now on.
pub(super) fn begin(happened: &SyncSender<Happened>) -> Result<(), TuiError> {
    let wanted = [SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH];
    let mut signals = Signals::new(wanted).map_err(TuiError::Threads)?;
    let happened = happened.clone();
    hub::spawn("signals", move || {
        for number in signals.forever() {
            let signal = match number {
                SIGTSTP => Signal::Suspend,
                SIGCONT => Signal::GoOn,
                SIGWINCH => Signal::Resize,
                _ => Signal::End,
            };
            if happened.send(Happened::Signal(signal)).is_err() {
                return;
            }
        }
    })
}
