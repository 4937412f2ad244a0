//! How a process ended.

use std::fmt;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

/// How a process ended: a code, a signal, or neither when nobody could say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exit {
    /// The exit code, 0–255.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// A half sentence, such as "exited with code 1".
    pub text: String,
}

// === impl Exit ===

impl Exit {
    pub(super) fn with_code(code: i32) -> Self {
        Self {
            code: Some(code),
            signal: None,
            text: format!("exited with code {code}"),
        }
    }

    pub(super) fn with_signal(signal: i32) -> Self {
        let name = match signal {
            1 => " (SIGHUP)",
            2 => " (SIGINT)",
            3 => " (SIGQUIT)",
            4 => " (SIGILL)",
            6 => " (SIGABRT)",
            8 => " (SIGFPE)",
            9 => " (SIGKILL)",
            11 => " (SIGSEGV)",
            13 => " (SIGPIPE)",
            15 => " (SIGTERM)",
            _ => "",
        };
        Self {
            code: None,
            signal: Some(signal),
            text: format!("was ended by signal {signal}{name}"),
        }
    }

    pub(super) fn unknown(why: &str) -> Self {
        Self {
            code: None,
            signal: None,
            text: format!("ended ({why})"),
        }
    }

    pub(super) fn from_status(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::with_code(code),
            (None, Some(signal)) => Self::with_signal(signal),
            (None, None) => Self::unknown("no status"),
        }
    }

    /// Whether it ended by itself with code 0.
    #[must_use]
    pub fn success(&self) -> bool {
        self.code == Some(0)
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
