//! Commands that run to their end, for the command line.

use std::ffi::OsString;
use std::io::Read;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal};

use super::exit::Exit;
use super::find::{FindError, find_program};
use crate::clock::{Clock as _, SystemClock};

const POLL: Duration = Duration::from_millis(5);

/// What to run.
#[derive(Debug, Clone)]
pub struct OnceSpec {
    /// A name to look up in the PATH of `env`, or a path.
    pub program: OsString,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Its whole environment.
    pub env: Vec<(OsString, OsString)>,
    /// Where it runs.
    pub cwd: Option<PathBuf>,
    /// How long it may take; then its process group is killed.
    pub timeout: Duration,
    /// How much of each output is kept, in bytes; the rest is read and dropped.
    pub keep: usize,
}

/// What it left.
#[derive(Debug, Clone)]
pub struct Output {
    /// How it ended.
    pub exit: Exit,
    /// The beginning of its standard output.
    pub stdout: Vec<u8>,
    /// The beginning of its standard error.
    pub stderr: Vec<u8>,
}

/// A command that did not run to its end.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The command means no program.
    #[error("the command was not run")]
    Find {
        /// Which program was looked for, and where.
        #[source]
        source: FindError,
    },
    /// The system refused.
    #[error("`{program}` was not run")]
    System {
        /// The program.
        program: String,
        /// The system's own words.
        #[source]
        source: std::io::Error,
    },
    /// It took too long and was killed.
    #[error("`{program}` was stopped after {} s without an end", timeout.as_secs_f32())]
    Timeout {
        /// The program.
        program: String,
        /// How long it was given.
        timeout: Duration,
    },
}

/// Runs a command with no input and waits for it. Blocks the thread.
#[expect(
    clippy::disallowed_methods,
    reason = "the process module is the place that starts programs"
)]
pub fn run_to_end(spec: &OnceSpec) -> Result<Output, RunError> {
    let path = spec.env.iter().rev().find(|(name, _)| name == "PATH");
    let file = find_program(
        &spec.program,
        path.map(|(_, value)| value.as_os_str()),
        spec.cwd.as_deref(),
    )
    .map_err(|source| RunError::Find { source })?;
    let program = spec.program.to_string_lossy().into_owned();
    let system = |source| RunError::System {
        program: program.clone(),
        source,
    };
    let mut command = std::process::Command::new(file);
    command
        .args(&spec.args)
        .env_clear()
        .envs(spec.env.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    if let Some(cwd) = &spec.cwd {
        command.current_dir(cwd);
    }
    let mut child = command.spawn().map_err(system)?;
    let group = Pid::from_raw(i32::try_from(child.id()).unwrap_or(0));
    let stdout = read_aside(child.stdout.take(), spec.keep);
    let stderr = read_aside(child.stderr.take(), spec.keep);
    let deadline = SystemClock.now() + spec.timeout;
    let kill = || group.map(|group| rustix::process::kill_process_group(group, Signal::KILL));
    let status = loop {
        if let Some(status) = child.try_wait().map_err(system)? {
            break Some(status);
        }
        if SystemClock.now() >= deadline {
            let _gone = kill();
            let _reaped = child.wait();
            break None;
        }
        std::thread::sleep(POLL);
    };
    // Whoever still holds the pipes would hold up the readers.
    let _gone = kill();
    let (stdout, stderr) = (join(stdout), join(stderr));
    let status = status.ok_or(RunError::Timeout {
        program,
        timeout: spec.timeout,
    })?;
    Ok(Output {
        exit: Exit::from_status(status),
        stdout,
        stderr,
    })
}

fn read_aside<R: Read + Send + 'static>(
    pipe: Option<R>,
    keep: usize,
) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        if let Some(mut pipe) = pipe {
            let _broken = pipe.by_ref().take(keep as u64).read_to_end(&mut kept);
            let _broken = std::io::copy(&mut pipe, &mut std::io::sink());
        }
        kept
    })
}

fn join(reader: std::thread::JoinHandle<Vec<u8>>) -> Vec<u8> {
    reader.join().unwrap_or_default()
}
