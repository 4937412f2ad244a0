//! How a command fails: what happened, what to do next, and the exit code.

use std::error::Error;

use legation_api::AdminError;
use legation_core::error::chain;
use legation_core::home::HomeError;

/// Exit codes, as scripts may rely on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// It was tried and failed.
    Failed,
    /// The command line or a file is wrong.
    Usage,
    /// A rule refused it.
    Refused,
    /// The hub, or what lies behind it, cannot be reached.
    NotReachable,
}

/// A command's failure, for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CliError {
    /// What happened and what was not done.
    pub message: String,
    /// What to do next.
    pub hint: Option<String>,
    /// The rule that refused, when one did.
    pub rule: Option<String>,
    /// The class of a directory's or a chat's failure.
    pub class: Option<&'static str>,
    /// How the process ends.
    pub exit: Exit,
}

// === impl Exit ===

impl Exit {
    /// The number.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Refused => 3,
            Self::NotReachable => 4,
        }
    }
}

// === impl CliError ===

impl CliError {
    /// A failure with its causes.
    #[must_use]
    pub fn failed(error: &dyn Error) -> Self {
        Self::new(Exit::Failed, chain(error))
    }

    /// A mistake in the arguments or a file.
    #[must_use]
    pub fn usage(error: &dyn Error) -> Self {
        Self::new(Exit::Usage, chain(error))
    }

    /// A failure in words.
    #[must_use]
    pub fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: None,
            rule: None,
            class: None,
            exit,
        }
    }

    /// No hub runs.
    #[must_use]
    pub fn no_hub(home: &legation_core::Home) -> Self {
        Self::new(
            Exit::NotReachable,
            format!(
                "no hub runs for {}; nothing was done",
                home.root().display()
            ),
        )
        .with_hint("start it with `legation serve`, or let an agent's bridge start it")
    }

    /// Adds what to do next.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl From<HomeError> for CliError {
    fn from(error: HomeError) -> Self {
        let hint = format!(
            "check that {} is yours and can be written",
            error.path.display()
        );
        Self::failed(&error).with_hint(hint)
    }
}

impl From<AdminError> for CliError {
    fn from(error: AdminError) -> Self {
        let rule = match &error {
            AdminError::Remote(remote) => remote.rule(),
            AdminError::Socket { .. }
            | AdminError::Rejected(_)
            | AdminError::Gone
            | AdminError::Unreadable(_) => None,
        };
        let exit = match &error {
            AdminError::Socket { .. } | AdminError::Rejected(_) | AdminError::Gone => {
                Exit::NotReachable
            }
            // A name that leads nowhere is refused too, but by no rule of the owner's.
            AdminError::Remote(_)
                if rule
                    .as_deref()
                    .is_some_and(|rule| !rule.starts_with("resolve.")) =>
            {
                Exit::Refused
            }
            AdminError::Remote(_) | AdminError::Unreadable(_) => Exit::Failed,
        };
        Self {
            message: chain(&error),
            hint: error.hint(),
            rule,
            class: None,
            exit,
        }
    }
}

#[cfg(test)]
mod tests;
