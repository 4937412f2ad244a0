//! The hub's side of one guarded server.

use std::ffi::{OsStr, OsString};
use std::io::{IoSlice, Read as _, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags};
use rustix::process::{Pid, Signal};
use tokio::net::unix::pipe;
use tokio::process::{ChildStderr, ChildStdout};

use super::exit::Exit;
use super::find::{FindError, find_program};

/// The program that becomes the guard.
#[derive(Debug, Clone)]
pub struct GuardPath {
    /// The program's file.
    pub program: PathBuf,
    /// What comes before `-- command args…`.
    pub args: Vec<OsString>,
}

/// What to start.
#[derive(Clone)]
pub struct ChildSpec {
    /// For messages: the server's name.
    pub name: String,
    /// A name to look up in the PATH of `env`, or a path.
    pub program: OsString,
    /// Its arguments, without the program.
    pub args: Vec<OsString>,
    /// Where it starts; the hub's own directory if absent.
    pub cwd: Option<PathBuf>,
    /// Its whole environment; nothing of the hub's own is added.
    pub env: Vec<(OsString, OsString)>,
    /// The program that becomes its guard.
    pub guard: GuardPath,
}

/// A server under its guard. Dropped, it is killed with all it started.
#[derive(Debug)]
pub struct Child {
    guard: tokio::process::Child,
    control: UnixStream,
    stdin: Option<pipe::Sender>,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    reports: String,
    exit: Option<Exit>,
}

/// A server that was not started.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// The command means no program.
    #[error("server {name} was not started")]
    Find {
        /// The server.
        name: String,
        /// Which program was looked for, and where.
        #[source]
        source: FindError,
    },
    /// The working directory is not there.
    #[error("server {name} was not started: its directory {} is not there", cwd.display())]
    Cwd {
        /// The server.
        name: String,
        /// The directory it should start in.
        cwd: PathBuf,
    },
    /// The system refused a process, a pipe or a socket.
    #[error("server {name} was not started: {what} failed")]
    System {
        /// The server.
        name: String,
        /// The step that failed.
        what: &'static str,
        /// The system's own words.
        #[source]
        source: std::io::Error,
    },
}

// === impl GuardPath ===

impl GuardPath {
    /// This very program with the argument `guard`. On Linux it is named by the
    /// running image, so replacing the file during an upgrade changes nothing.
    pub fn this_program() -> std::io::Result<Self> {
        #[cfg(target_os = "linux")]
        let program = running_image();
        #[cfg(not(target_os = "linux"))]
        let program = std::env::current_exe()?;
        Ok(Self {
            program,
            args: vec!["guard".into()],
        })
    }
}

/// Under a profiler or an emulator the running image is that one's, and the link names the program
/// that it runs. A program that was replaced has no file of the name any more.
#[cfg(target_os = "linux")]
fn running_image() -> PathBuf {
    use std::os::unix::fs::MetadataExt as _;

    let image = PathBuf::from("/proc/self/exe");
    let file = |path: &PathBuf| std::fs::metadata(path).ok();
    let named = std::env::current_exe().ok();
    let (Some(own), Some(named)) = (file(&image), named) else {
        return image;
    };
    match file(&named) {
        Some(other) if (other.dev(), other.ino()) != (own.dev(), own.ino()) => named,
        _ => image,
    }
}

// === impl ChildSpec ===

impl std::fmt::Debug for ChildSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Values of the environment and arguments may be secrets.
        let names: Vec<_> = self.env.iter().map(|(name, _)| name).collect();
        f.debug_struct("ChildSpec")
            .field("name", &self.name)
            .field("program", &self.program)
            .field("args", &self.args.len())
            .field("cwd", &self.cwd)
            .field("env", &names)
            .finish_non_exhaustive()
    }
}

// === impl SpawnError ===

impl SpawnError {
    /// What the user can do about it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Find { source, .. } => source.hint(),
            Self::Cwd { .. } => "create the directory, or correct cwd in the configuration",
            Self::System { .. } => {
                "check the limits on processes and open files (ulimit -u, ulimit -n)"
            }
        }
    }
}

// === impl Child ===

impl Child {
    /// Starts a server. Must run inside a tokio runtime with IO enabled, whose
    /// reactor then serves the three pipes.
    pub fn spawn(spec: &ChildSpec) -> Result<Self, SpawnError> {
        let system = |what| {
            move |source| SpawnError::System {
                name: spec.name.clone(),
                what,
                source,
            }
        };
        if let Some(cwd) = spec.cwd.as_ref().filter(|cwd| !cwd.is_dir()) {
            return Err(SpawnError::Cwd {
                name: spec.name.clone(),
                cwd: cwd.clone(),
            });
        }
        let path = spec
            .env
            .iter()
            .rev()
            .find(|(name, _)| name == "PATH")
            .map(|(_, value)| value.as_os_str());
        let program = find_program(&spec.program, path, spec.cwd.as_deref()).map_err(|source| {
            SpawnError::Find {
                name: spec.name.clone(),
                source,
            }
        })?;
        let (control, theirs) = UnixStream::pair().map_err(system("a socket"))?;
        control.set_nonblocking(true).map_err(system("a socket"))?;
        let (stdin, write) = stdin_pipe().map_err(system("a pipe"))?;
        let mut guard =
            start_guard(spec, program.as_os_str(), theirs).map_err(system("the guard process"))?;
        hand_over(&control, &stdin).map_err(system("handing over the pipe"))?;
        Ok(Self {
            stdin: Some(pipe::Sender::from_owned_fd(write).map_err(system("a pipe"))?),
            stdout: guard.stdout.take(),
            stderr: guard.stderr.take(),
            guard,
            control,
            reports: String::new(),
            exit: None,
        })
    }

    /// The server's own process id, which is also its group, once its guard
    /// has started it.
    pub fn pid(&mut self) -> Option<u32> {
        self.read_reports();
        self.reported('P').and_then(|pid| u32::try_from(pid).ok())
    }

    /// The guard's process id, until it has been waited for.
    #[must_use]
    pub fn guard_pid(&self) -> Option<u32> {
        self.guard.id()
    }

    /// The pipe to the server; dropping it closes the server's input.
    pub fn take_stdin(&mut self) -> Option<pipe::Sender> {
        self.stdin.take()
    }

    /// What the server writes.
    pub fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.stdout.take()
    }

    /// What the server complains about.
    pub fn take_stderr(&mut self) -> Option<ChildStderr> {
        self.stderr.take()
    }

    /// Waits until the server and everything it started are gone. May be
    /// dropped and called again.
    pub async fn wait(&mut self) -> Exit {
        if let Some(exit) = &self.exit {
            return exit.clone();
        }
        let guard = self.guard.wait().await;
        self.read_reports();
        let exit = if let Some(code) = self.reported('X') {
            Exit::with_code(code)
        } else if let Some(signal) = self.reported('S') {
            Exit::with_signal(signal)
        } else if self.reported('E').is_some() {
            Exit::with_code(127)
        } else {
            // Somebody killed the guard: its group is what can still be reached.
            self.kill_group();
            match guard {
                Ok(status) => Exit {
                    text: format!("lost its guard, which {}", Exit::from_status(status)),
                    ..Exit::from_status(status)
                },
                Err(error) => Exit::unknown(&error.to_string()),
            }
        };
        self.exit = Some(exit.clone());
        exit
    }

    /// Ends the server as MCP asks on stdio (2026-07-28, transports/stdio):
    /// its input is closed (drop the taken one first), after half of `grace`
    /// it gets SIGTERM, after all of it SIGKILL. Returns when all is gone.
    pub async fn stop(&mut self, grace: Duration) -> Exit {
        drop(self.stdin.take());
        if let Ok(exit) = tokio::time::timeout(grace / 2, self.wait()).await {
            return exit;
        }
        self.order(b'T');
        if let Ok(exit) = tokio::time::timeout(grace / 2, self.wait()).await {
            return exit;
        }
        self.order(b'K');
        self.wait().await
    }

    /// Kills the server and all it started; [`wait`](Self::wait) says when it
    /// is done.
    pub fn kill(&mut self) {
        self.order(b'K');
    }

    fn order(&mut self, order: u8) {
        // One byte fits, or the guard is gone and there is nothing to order.
        let _gone = self.control.write(&[order]);
    }

    fn read_reports(&mut self) {
        let mut chunk = [0_u8; 64];
        while let Ok(read @ 1..) = self.control.read(&mut chunk) {
            // The guard writes four short lines at most.
            if self.reports.len() < 256 {
                self.reports
                    .push_str(&String::from_utf8_lossy(&chunk[..read]));
            }
        }
    }

    fn reported(&self, kind: char) -> Option<i32> {
        self.reports
            .lines()
            .find_map(|line| line.strip_prefix(kind)?.parse().ok())
    }

    fn kill_group(&self) {
        if let Some(group) = self.reported('P').and_then(Pid::from_raw) {
            let _gone = rustix::process::kill_process_group(group, Signal::KILL);
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if self.exit.is_none() {
            self.order(b'K');
        }
    }
}

fn stdin_pipe() -> std::io::Result<(OwnedFd, OwnedFd)> {
    #[cfg(target_os = "linux")]
    let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    #[cfg(not(target_os = "linux"))]
    let (read, write) = {
        let (read, write) = rustix::pipe::pipe()?;
        rustix::io::fcntl_setfd(&read, rustix::io::FdFlags::CLOEXEC)?;
        rustix::io::fcntl_setfd(&write, rustix::io::FdFlags::CLOEXEC)?;
        (read, write)
    };
    // Non-blocking on the hub's side only: the server gets a plain pipe.
    rustix::io::ioctl_fionbio(&write, true)?;
    Ok((read, write))
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is the place that starts servers, through their guard"
)]
fn start_guard(
    spec: &ChildSpec,
    program: &OsStr,
    control: UnixStream,
) -> std::io::Result<tokio::process::Child> {
    let mut command = tokio::process::Command::new(&spec.guard.program);
    command
        .arg0("legation")
        .args(&spec.guard.args)
        .arg("--")
        .arg(program)
        .args(&spec.args)
        .env_clear()
        .envs(spec.env.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::from(OwnedFd::from(control)))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // A group of its own: Ctrl-C in the hub's terminal is the hub's to
        // handle, and the guard must outlive it to clean up.
        .process_group(0)
        .kill_on_drop(false);
    if let Some(cwd) = &spec.cwd {
        command.current_dir(cwd);
    }
    command.spawn()
}

fn hand_over(control: &UnixStream, stdin: &OwnedFd) -> std::io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let descriptors = [stdin.as_fd()];
    ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
    rustix::net::sendmsg(
        control,
        &[IoSlice::new(b"I")],
        &mut ancillary,
        SendFlags::empty(),
    )?;
    Ok(())
}
