//! Asking the person at the machine by the operating system's own means, which
//! a program that runs as that person cannot answer.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use legation_core::process::{OnceSpec, RunError, run_to_end};

use crate::HumanProof;

/// How long a person is given.
const ASK_FOR: Duration = Duration::from_secs(120);

/// A means of the operating system to ask its user.
pub trait Consent: fmt::Debug + Send + Sync {
    /// What people call it.
    fn name(&self) -> &'static str;

    /// Whether it works here.
    ///
    /// # Errors
    /// Why not, in words.
    fn available(&self) -> Result<(), String>;

    /// Asks for agreement to `what`, one short line. Blocks until the person
    /// has answered, two minutes at most.
    ///
    /// # Errors
    /// See [`ConsentError`].
    fn ask(&self, what: &str) -> Result<HumanProof, ConsentError>;
}

/// No agreement.
#[derive(Debug, thiserror::Error)]
pub enum ConsentError {
    /// It does not work on this machine.
    #[error("{name} cannot ask here: {why}; nothing was certified")]
    Unavailable {
        /// Which means.
        name: &'static str,
        /// Why not.
        why: String,
    },
    /// The person said no, or nothing.
    #[error("{name} brought no agreement; nothing was certified")]
    Refused {
        /// Which means.
        name: &'static str,
    },
    /// It could not be run.
    #[error("{name} could not be asked; nothing was certified")]
    Run {
        /// Which means.
        name: &'static str,
        /// What went wrong.
        #[source]
        source: RunError,
    },
}

/// The means of this platform, for a process with this environment.
#[must_use]
pub fn platform(env: Vec<(OsString, OsString)>) -> Box<dyn Consent> {
    if cfg!(target_os = "macos") {
        Box::new(Osascript { env })
    } else if cfg!(target_os = "linux") {
        Box::new(Polkit { env })
    } else {
        Box::new(Nothing)
    }
}

/// polkit: `pkcheck` has the session's agent ask for the user's password.
#[derive(Debug)]
struct Polkit {
    env: Vec<(OsString, OsString)>,
}

/// macOS: `osascript` runs nothing, with administrator privileges, which the
/// system grants after Touch ID or the password.
#[derive(Debug)]
struct Osascript {
    env: Vec<(OsString, OsString)>,
}

/// A platform without such a means.
#[derive(Debug)]
struct Nothing;

/// The action that every polkit knows and that always asks its own user.
const POLKIT_ACTION: &str = "org.freedesktop.policykit.exec";

// === impl Polkit ===

impl Consent for Polkit {
    fn name(&self) -> &'static str {
        "polkit"
    }

    fn available(&self) -> Result<(), String> {
        let session = ["WAYLAND_DISPLAY", "DISPLAY"]
            .iter()
            .any(|name| self.env.iter().any(|(key, _)| key == name));
        if !session {
            return Err("there is no graphical session".to_owned());
        }
        run(&self.env, "pkcheck", &["--version"])
            .map(drop)
            .map_err(|error| legation_core::error::chain(&error))
    }

    fn ask(&self, _what: &str) -> Result<HumanProof, ConsentError> {
        let name = self.name();
        self.available()
            .map_err(|why| ConsentError::Unavailable { name, why })?;
        let process = std::process::id().to_string();
        let arguments = [
            "--action-id",
            POLKIT_ACTION,
            "--process",
            &process,
            "--allow-user-interaction",
        ];
        agreed(name, run(&self.env, "pkcheck", &arguments))
    }
}

// === impl Osascript ===

impl Consent for Osascript {
    fn name(&self) -> &'static str {
        "macOS"
    }

    fn available(&self) -> Result<(), String> {
        run(&self.env, "osascript", &["-e", "return"])
            .map(drop)
            .map_err(|error| legation_core::error::chain(&error))
    }

    fn ask(&self, what: &str) -> Result<HumanProof, ConsentError> {
        let script = format!(
            "do shell script \"true\" with prompt \"{}\" with administrator privileges",
            spoken(what)
        );
        agreed(self.name(), run(&self.env, "osascript", &["-e", &script]))
    }
}

// === impl Nothing ===

impl Consent for Nothing {
    fn name(&self) -> &'static str {
        "this platform"
    }

    fn available(&self) -> Result<(), String> {
        Err("it has no consent prompt that the hub knows; set a PIN with `legation pin`".to_owned())
    }

    fn ask(&self, _what: &str) -> Result<HumanProof, ConsentError> {
        Err(ConsentError::Unavailable {
            name: self.name(),
            why: "it has no consent prompt that the hub knows".to_owned(),
        })
    }
}

/// What may stand in a script's quoted text: nothing that ends it or escapes.
fn spoken(what: &str) -> String {
    let plain = |c: char| !c.is_control() && c != '"' && c != '\\';
    what.chars().filter(|c| plain(*c)).take(200).collect()
}

fn agreed(name: &'static str, asked: Result<bool, RunError>) -> Result<HumanProof, ConsentError> {
    match asked {
        Ok(true) => Ok(HumanProof::of(name)),
        Ok(false) => Err(ConsentError::Refused { name }),
        Err(source) => Err(ConsentError::Run { name, source }),
    }
}

/// Runs a program; says whether it ended well.
fn run(env: &[(OsString, OsString)], program: &str, arguments: &[&str]) -> Result<bool, RunError> {
    let spec = OnceSpec {
        program: program.into(),
        args: arguments.iter().map(Into::into).collect(),
        env: env.to_vec(),
        cwd: Some(PathBuf::from("/")),
        timeout: ASK_FOR,
        keep: 1024,
    };
    run_to_end(&spec).map(|output| output.exit.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_cannot_leave_its_quotes() {
        assert_eq!(
            spoken("pay\" & do shell script \"rm\\\n"),
            "pay & do shell script rm"
        );
    }

    #[test]
    fn without_a_session_nobody_is_asked() {
        let polkit = Polkit { env: Vec::new() };
        let error = polkit.ask("anything").expect_err("nobody agreed");
        assert!(matches!(error, ConsentError::Unavailable { .. }), "{error}");
        assert!(Nothing.ask("anything").is_err());
    }
}
