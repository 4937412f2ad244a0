//! Where results and talk go. The only place of this crate that prints.

use std::io::{self, IsTerminal as _, Write as _};
use std::process::ExitCode;

use serde::Serialize;

use crate::error::{CliError, Exit};

/// Standard output for data, standard error for talk.
#[derive(Debug, Clone, Copy)]
pub struct Output {
    json: bool,
}

#[derive(Serialize)]
struct JsonError<'a> {
    error: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    class: Option<&'a str>,
    exit: u8,
}

// === impl Output ===

impl Output {
    /// Programs read it when `json`, people otherwise.
    #[must_use]
    pub fn new(json: bool) -> Self {
        Self { json }
    }

    /// Whether a program reads it.
    #[must_use]
    pub fn is_json(self) -> bool {
        self.json
    }

    /// Whether progress on standard error is seen by a person.
    #[must_use]
    pub fn is_watched(self) -> bool {
        !self.json && io::stderr().is_terminal()
    }

    /// A result: as JSON, or as the text a person reads.
    ///
    /// # Errors
    /// When it cannot be written as JSON.
    pub fn result<T: Serialize>(
        self,
        value: &T,
        text: impl FnOnce(&T) -> String,
    ) -> Result<(), CliError> {
        let text = if self.json {
            serde_json::to_string_pretty(value).map_err(|error| CliError::failed(&error))?
        } else {
            text(value)
        };
        self.data(&text);
        Ok(())
    }

    /// What a server wrote: as it is for programs, and without anything that
    /// could repaint the screen for people.
    #[must_use]
    pub fn foreign(self, text: &str) -> String {
        if self.json || !io::stdout().is_terminal() {
            return text.to_owned();
        }
        text.split('\n')
            .map(crate::table::printable)
            .collect::<Vec<_>>()
            .join("\n")
    }

    /// Text on standard output, with a line end.
    pub fn data(self, text: &str) {
        let mut out = io::stdout().lock();
        let end = if text.is_empty() || text.ends_with('\n') {
            ""
        } else {
            "\n"
        };
        // A reader that closed the pipe has read enough.
        drop(write!(out, "{text}{end}").and_then(|()| out.flush()));
    }

    /// A part of a text on standard output, as it is.
    pub fn part(self, text: &str) {
        let mut out = io::stdout().lock();
        // A reader that closed the pipe has read enough.
        drop(write!(out, "{text}").and_then(|()| out.flush()));
    }

    /// A line of data, for a command that has no end; whether somebody still reads it.
    #[must_use]
    pub fn line(self, text: &str) -> bool {
        let mut out = io::stdout().lock();
        writeln!(out, "{text}").and_then(|()| out.flush()).is_ok()
    }

    /// How wide the terminal is that a person reads standard output in, if one does.
    #[must_use]
    pub fn columns(self) -> Option<usize> {
        if self.json || !io::stdout().is_terminal() {
            return None;
        }
        let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
        Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
    }

    /// A line of talk on standard error; nothing under `--json`.
    pub fn say(self, text: &str) {
        if !self.json {
            drop(writeln!(io::stderr().lock(), "{text}"));
        }
    }

    /// Talk that is replaced by the next; nothing where nobody watches.
    pub fn progress(self, text: &str) {
        if self.is_watched() {
            let mut err = io::stderr().lock();
            drop(write!(err, "\r\u{1b}[2K{text}").and_then(|()| err.flush()));
        }
    }

    /// Clears the last progress line.
    pub fn progress_done(self) {
        self.progress("");
    }

    /// Asks a yes-or-no question at the terminal; `None` where nobody can answer.
    #[must_use]
    pub fn confirm(self, question: &str) -> Option<bool> {
        if self.json || !io::stdin().is_terminal() {
            return None;
        }
        let mut err = io::stderr().lock();
        drop(write!(err, "{question} [y/N] ").and_then(|()| err.flush()));
        let mut answer = String::new();
        io::stdin().read_line(&mut answer).ok()?;
        Some(matches!(
            answer.trim().to_ascii_lowercase().as_str(),
            "y" | "yes"
        ))
    }

    /// A failure on standard error: words for people, an object for programs.
    pub fn error(self, error: &CliError) {
        let mut err = io::stderr().lock();
        let text = if self.json {
            let object = JsonError {
                error: &error.message,
                hint: error.hint.as_deref(),
                rule: error.rule.as_deref(),
                class: error.class,
                exit: error.exit.code(),
            };
            serde_json::to_string(&object).unwrap_or_default()
        } else {
            let mut text = format!("error: {}", error.message);
            if let Some(class) = error.class {
                text.push_str("\nclass: ");
                text.push_str(class);
            }
            if let Some(rule) = &error.rule {
                text.push_str("\nrule: ");
                text.push_str(rule);
            }
            if let Some(hint) = &error.hint {
                text.push_str("\nhint: ");
                text.push_str(hint);
            }
            text
        };
        drop(writeln!(err, "{text}"));
    }
}

/// Help, version, or what is wrong with the arguments.
pub(crate) fn usage(error: &clap::Error, json: bool) -> ExitCode {
    if !error.use_stderr() {
        drop(error.print());
        return ExitCode::SUCCESS;
    }
    if json {
        Output::new(true).error(&usage_error(&error.to_string()));
    } else {
        drop(error.print());
    }
    ExitCode::from(Exit::Usage.code())
}

/// The parser's words as one failure: the first paragraph says what is wrong,
/// the rest what to write.
fn usage_error(text: &str) -> CliError {
    let (what, rest) = text.split_once("\n\n").unwrap_or((text, ""));
    let what = what.strip_prefix("error: ").unwrap_or(what);
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let error = CliError::new(Exit::Usage, one_line(what));
    if rest.trim().is_empty() {
        error
    } else {
        error.with_hint(one_line(rest))
    }
}

#[cfg(test)]
mod tests;
