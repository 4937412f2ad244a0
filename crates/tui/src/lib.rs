//! The terminal: the conversation that people, agents and the local model share.
//!
//! [`run`] shows it and takes part in it, through the admin socket of the hub like every other
//! command of the owner's. The state is one machine without IO ([`app`]), what it looks like is a
//! function of it ([`view`]), and the shell around both has the threads: one that follows the
//! conversation, two that ask, one for keys, one for signals. The default is no full screen: what
//! was said belongs to the terminal's own scrollback, where it can be selected and searched.
//!
//! Architecture invariant: no text that anybody wrote reaches the terminal but through
//! [`text::clean`], and nothing here decides anything: the hub does.

mod app;
mod shell;
mod stage;
mod text;
mod view;

pub use stage::Stage;

use std::io::{self, IsTerminal as _};

use legation_core::{Home, SharedClock};

/// Starts a hub that outlives the terminal, and returns once it answers; else says why not.
pub type Starter = Box<dyn Fn() -> Result<(), String> + Send + Sync>;

/// Runs a command of the program, given without its name, on the terminal as it was found.
pub type Outside<'a> = &'a dyn Fn(Vec<String>);

/// What the terminal needs.
pub struct Parts<'a> {
    /// The data directory.
    pub home: Home,
    /// This program's version.
    pub version: &'static str,
    /// The time.
    pub clock: SharedClock,
    /// Who starts a hub where none runs; nobody when not given.
    pub starter: Option<Starter>,
    /// Who runs other commands.
    pub outside: Outside<'a>,
    /// What the person chose.
    pub options: Options,
}

/// What the person chose.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The whole screen is used instead of the terminal's scrollback.
    pub is_full: bool,
    /// Lines for screen readers and pipes; also where there is no terminal.
    pub is_plain: bool,
    /// Whether colours are wanted.
    pub has_colours: bool,
    /// The conversation; the current one of the folder when not given.
    pub session: Option<String>,
    /// The folder, as an absolute path.
    pub workspace: Option<String>,
}

/// The terminal could not be used.
#[derive(Debug, thiserror::Error)]
pub enum TuiError {
    /// The terminal does not do what is asked of it.
    #[error("the terminal cannot be used")]
    Terminal(#[source] io::Error),
    /// No thread could be started, or no signal watched.
    #[error("the terminal's threads could not be started")]
    Threads(#[source] io::Error),
    /// No hub answers, and nobody is there to wait for one.
    #[error("no hub answers: {why}; what was not answered by then was not handed in")]
    NoHub {
        /// What the last attempt came to.
        why: String,
    },
}

// === impl TuiError ===

impl TuiError {
    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Terminal(_) => "try `legation chat --plain`".to_owned(),
            Self::Threads(_) => "see how many processes and files your user may have".to_owned(),
            Self::NoHub { .. } => {
                "run `legation serve` in a terminal and read what it says, or `legation doctor`"
                    .to_owned()
            }
        }
    }
}

// === impl Parts ===

impl std::fmt::Debug for Parts<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Parts")
            .field("home", &self.home)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

/// Whether a person sits at a terminal that can be drawn on.
#[must_use]
pub fn is_terminal() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// Shows the conversation and takes part in it until the person ends it.
///
/// # Errors
/// When the terminal cannot be used, or lines are read and no hub answers. A hub that goes away is
/// waited for.
pub fn run(parts: Parts<'_>) -> Result<(), TuiError> {
    if parts.options.is_plain || !is_terminal() {
        shell::run_lines(parts)
    } else {
        shell::run_screen(parts)
    }
}
