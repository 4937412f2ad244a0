//! Starting the hub so that it outlives whoever started it.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::process::Stdio;

use super::exit::Exit;

/// What to start detached.
#[derive(Debug, Clone)]
pub struct DetachSpec {
    /// The program's file.
    pub program: PathBuf,
    /// Its arguments; it is expected to call [`become_daemon`] first.
    pub args: Vec<OsString>,
    /// Its whole environment.
    pub env: Vec<(OsString, OsString)>,
    /// Where it runs: a directory that may stay in use, such as `/`.
    pub cwd: PathBuf,
    /// Where its output goes; appended to, created 0600.
    pub log: PathBuf,
}

/// A program that runs on when this handle is dropped.
#[derive(Debug)]
pub struct Detached {
    child: std::process::Child,
}

/// A program that was not detached.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// The log file cannot be written.
    #[error("{} was not started: its log {} cannot be opened", program.display(), log.display())]
    Log {
        /// The program.
        program: PathBuf,
        /// The log file.
        log: PathBuf,
        /// The system's own words.
        #[source]
        source: std::io::Error,
    },
    /// The program cannot be started.
    #[error("{} was not started", program.display())]
    Start {
        /// The program.
        program: PathBuf,
        /// The system's own words.
        #[source]
        source: std::io::Error,
    },
    /// No session of its own.
    #[error("this process could not leave its terminal")]
    Session {
        /// The system's own words.
        #[source]
        source: std::io::Error,
    },
}

/// Starts a program with no input and its output in a log.
#[expect(
    clippy::disallowed_methods,
    reason = "the hub itself is the one program that must outlive its starter"
)]
pub fn detach(spec: &DetachSpec) -> Result<Detached, DaemonError> {
    let log = |source| DaemonError::Log {
        program: spec.program.clone(),
        log: spec.log.clone(),
        source,
    };
    let out = OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(&spec.log)
        .map_err(log)?;
    let err = out.try_clone().map_err(log)?;
    // No process group here: setsid(2) fails for the leader of one.
    let child = std::process::Command::new(&spec.program)
        .args(&spec.args)
        .env_clear()
        .envs(spec.env.iter().map(|(name, value)| (name, value)))
        .current_dir(&spec.cwd)
        .stdin(Stdio::null())
        .stdout(out)
        .stderr(err)
        .spawn()
        .map_err(|source| DaemonError::Start {
            program: spec.program.clone(),
            source,
        })?;
    Ok(Detached { child })
}

/// Puts this process into a session of its own, away from the terminal and the
/// signals of whoever started it. A process that leads a group already, as one
/// that a service manager started does, has been put aside and stays.
pub fn become_daemon() -> Result<(), DaemonError> {
    // Not getsid(2) first: it answers 0 where the session's leader is outside of
    // this process's namespace, and that is no process id.
    match rustix::process::setsid() {
        Ok(_) | Err(rustix::io::Errno::PERM) => Ok(()),
        Err(error) => Err(DaemonError::Session {
            source: error.into(),
        }),
    }
}

// === impl Detached ===

impl Detached {
    /// Its process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// How it ended, if it has; asking also lets the system forget it.
    pub fn exited(&mut self) -> Option<Exit> {
        self.child.try_wait().ok()?.map(Exit::from_status)
    }
}
