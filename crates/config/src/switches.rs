//! Which servers are switched off, or on again, that the owner did not write.
//!
//! A server of `mcp.json` has `disabled` in its entry. One of a folder, a
//! plugin or the machine has no entry that is the owner's to change, so the
//! owner's word is kept here, by its label.

use std::collections::BTreeSet;
use std::path::PathBuf;

use legation_core::Home;
use legation_core::home::{HomeError, write_private};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::file::{self, ReadError, Turn};
use crate::json::{self, JsonError};
use crate::servers::{Problem, ProblemKind, ServerSpec, Source};

/// The owner's word about servers, by label.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Switches {
    off: BTreeSet<String>,
    on: BTreeSet<String>,
}

/// The owner's word could not be read or kept.
#[derive(Debug, Error)]
pub enum SwitchError {
    /// The file cannot be read.
    #[error("which servers are switched off cannot be read")]
    Read(#[source] ReadError),
    /// The file is not what this program writes.
    #[error("{} cannot be used", file.display())]
    Malformed {
        /// The file.
        file: PathBuf,
        /// Why.
        #[source]
        source: JsonError,
    },
    /// The file cannot be written.
    #[error("the server was not switched")]
    Write(#[source] HomeError),
}

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WireSwitches {
    version: u32,
    #[serde(default)]
    disabled: BTreeSet<String>,
    #[serde(default)]
    enabled: BTreeSet<String>,
}

/// Where it is kept.
pub(crate) fn path(home: &Home) -> PathBuf {
    home.root().join("switches.json")
}

/// Keeps the owner's word about the server of a label.
///
/// # Errors
/// [`SwitchError`]; nothing was changed then.
pub fn set(home: &Home, label: &str, on: bool) -> Result<(), SwitchError> {
    let _turn = Turn::take(home).map_err(SwitchError::Read)?;
    let mut switches = Switches::load(home)?;
    let (to, from) = if on {
        (&mut switches.on, &mut switches.off)
    } else {
        (&mut switches.off, &mut switches.on)
    };
    from.remove(label);
    to.insert(label.to_owned());
    let wire = WireSwitches {
        version: 1,
        disabled: switches.off,
        enabled: switches.on,
    };
    let mut text = serde_json::to_string_pretty(&wire).expect("sets of texts always serialise");
    text.push('\n');
    write_private(&path(home), text.as_bytes()).map_err(SwitchError::Write)
}

/// Puts the owner's word in force. When it cannot be read, no server that it may be about runs.
pub fn apply(home: &Home, servers: &mut [ServerSpec], problems: &mut Vec<Problem>) {
    let switches = Switches::load(home);
    for server in &mut *servers {
        // Their own entries say it.
        if matches!(
            server.source,
            Source::User { .. } | Source::Additional { .. } | Source::Agent { .. }
        ) {
            continue;
        }
        let label = server.label();
        match &switches {
            Ok(switches) => {
                if let Some(on) = switches.of(&label) {
                    server.disabled = !on;
                    server.off_because = None;
                }
            }
            Err(_) => server.disabled = true,
        }
    }
    if let Err(error) = switches {
        problems.push(Problem {
            source: Source::User { file: path(home) },
            server: None,
            kind: ProblemKind::Entry,
            message: format!(
                "{}, so no server of folders, plugins or the machine is started",
                legation_core::error::chain(&error)
            ),
            hint: error.hint(),
        });
    }
}

// === impl Switches ===

impl Switches {
    /// Reads it; no file says nothing.
    ///
    /// # Errors
    /// [`SwitchError`].
    pub fn load(home: &Home) -> Result<Self, SwitchError> {
        let Some(text) = file::read(&path(home)).map_err(SwitchError::Read)? else {
            return Ok(Self::default());
        };
        let malformed = |source| SwitchError::Malformed {
            file: path(home),
            source,
        };
        json::parse(&text).map_err(malformed)?;
        let wire: WireSwitches = serde_json::from_str(json::without_mark(&text))
            .map_err(|error| malformed(error.into()))?;
        if wire.version != 1 {
            return Err(malformed(JsonError {
                line: 1,
                column: 1,
                message: format!("version {} is not known", wire.version),
            }));
        }
        Ok(Self {
            off: wire.disabled,
            on: wire.enabled,
        })
    }

    /// Whether the owner switched the server of a label on or off; `None` where they said nothing.
    pub fn of(&self, label: &str) -> Option<bool> {
        if self.off.contains(label) {
            return Some(false);
        }
        self.on.contains(label).then_some(true)
    }
}

// === impl SwitchError ===

impl SwitchError {
    /// What to do next.
    pub fn hint(&self) -> String {
        match self {
            Self::Read(error) => format!("Check that you may read {}.", error.path.display()),
            Self::Malformed { file, .. } => format!(
                "Repair {0}, or remove it: what you switched off would run again.",
                file.display()
            ),
            Self::Write(error) => format!("Check that you may write {}.", error.path.display()),
        }
    }
}
