//! A program that talks over its standard input and output with the one that
//! started it, and shares everything else with it.

use std::ffi::OsString;
use std::process::{ChildStdin, ChildStdout, Stdio};

use super::exit::Exit;
use super::find::find_program;
use super::once::RunError;

/// What to run.
#[derive(Debug, Clone)]
pub struct PipedSpec {
    /// A name to look up in the PATH of `env`, or a path.
    pub program: OsString,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Its whole environment.
    pub env: Vec<(OsString, OsString)>,
}

/// A running one. Dropped, it is killed.
#[derive(Debug)]
pub struct Piped {
    child: std::process::Child,
}

// === impl Piped ===

impl Piped {
    /// Starts it in this folder and process group, so that a terminal's Ctrl-C reaches both.
    ///
    /// # Errors
    /// See [`RunError`].
    #[expect(
        clippy::disallowed_methods,
        reason = "the process module is the place that starts programs"
    )]
    pub fn start(spec: &PipedSpec) -> Result<Self, RunError> {
        let path = spec.env.iter().rev().find(|(name, _)| name == "PATH");
        let path = path.map(|(_, value)| value.as_os_str());
        let file =
            find_program(&spec.program, path, None).map_err(|source| RunError::Find { source })?;
        let mut command = std::process::Command::new(file);
        command
            .args(&spec.args)
            .env_clear()
            .envs(spec.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let child = command.spawn().map_err(|source| RunError::System {
            program: spec.program.to_string_lossy().into_owned(),
            source,
        })?;
        Ok(Self { child })
    }

    /// Where it reads from, once.
    pub fn take_stdin(&mut self) -> Option<ChildStdin> {
        self.child.stdin.take()
    }

    /// Where it writes to, once.
    pub fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.child.stdout.take()
    }

    /// Ends it, if it has not ended.
    pub fn kill(&mut self) {
        // One that has ended already is no error.
        drop(self.child.kill());
    }

    /// How it ended, if it has.
    pub fn exited(&mut self) -> Option<Exit> {
        match self.child.try_wait() {
            Ok(status) => status.map(Exit::from_status),
            Err(error) => Some(Exit::unknown(&error.to_string())),
        }
    }
}

impl Drop for Piped {
    fn drop(&mut self) {
        self.kill();
        drop(self.child.wait());
    }
}
