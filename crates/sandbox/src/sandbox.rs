//! The hub's side.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::time::Duration;

use legation_core::process::{Child, ChildSpec, Exit, GuardPath, SpawnError};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::pipe;
use tokio::process::{ChildStderr, ChildStdout};

use crate::CONFINED;
use crate::spec::{Confinement, Network, Spec, Task};

/// How long the trial at the start may take.
const TRIAL: Duration = Duration::from_secs(10);
/// What the trial must print.
const TRIAL_SAYS: &[u8] = b"confined\n";
/// Most bytes of what a process says that could not confine itself.
const COMPLAINT_MAX: u64 = 4096;

/// The way to run confined commands.
#[derive(Debug, Clone)]
pub struct Sandbox {
    guard: GuardPath,
}

/// Whether commands can be confined on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Availability {
    /// One was, a moment ago.
    Yes,
    /// They cannot, and why.
    No {
        /// What the system said.
        why: String,
    },
}

/// A confined command that runs. Dropped, it ends with everything it started.
#[derive(Debug)]
pub struct Job {
    child: Child,
    stdin: Option<pipe::Sender>,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
}

/// How a confined command is started by somebody else than [`Sandbox::start`].
#[derive(Clone, PartialEq, Eq)]
pub struct Prepared {
    /// The program to start in its place, in the folder `/`.
    pub program: OsString,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// What it has to read first. What is written behind that is the command's.
    pub description: Vec<u8>,
}

/// A command was not started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// There is no process for it.
    #[error("no confined process was started")]
    Spawn {
        /// Why.
        #[source]
        source: SpawnError,
    },
    /// The new process went away before it knew what to do.
    #[error("the confined process did not take its description")]
    Describe {
        /// The system's own words.
        #[source]
        source: io::Error,
    },
}

// === impl Sandbox ===

impl Sandbox {
    /// Commands below this guard, whose program answers to [`CONFINED`] too.
    #[must_use]
    pub fn new(guard: GuardPath) -> Self {
        Self { guard }
    }

    /// Starts a command. Must run inside a tokio runtime with IO enabled. `env`
    /// is the command's whole environment.
    ///
    /// # Errors
    /// See [`StartError`]; a process that cannot confine itself starts nothing,
    /// says so on its standard error and exits with 125.
    pub async fn start(
        &self,
        confinement: Confinement,
        task: Task,
        env: Vec<(OsString, OsString)>,
    ) -> Result<Job, StartError> {
        let input = task.input;
        let Prepared {
            program,
            args,
            description,
        } = self.prepare(confinement, task)?;
        let spec = ChildSpec {
            name: "a command".to_owned(),
            program,
            args,
            // The folder itself is entered only behind the walls.
            cwd: Some("/".into()),
            env,
            guard: self.guard.clone(),
        };
        let mut child = Child::spawn(&spec).map_err(|source| StartError::Spawn { source })?;
        let mut stdin = child.take_stdin();
        if let Some(stdin) = &mut stdin {
            let written = stdin.write_all(&description).await;
            // A process that is gone already has said why.
            if let Err(source) = written
                && source.kind() != io::ErrorKind::BrokenPipe
            {
                return Err(StartError::Describe { source });
            }
        }
        Ok(Job {
            stdin: stdin.filter(|_| input),
            stdout: child.take_stdout(),
            stderr: child.take_stderr(),
            child,
        })
    }

    /// What to start for a command, and what to tell it first.
    ///
    /// # Errors
    /// [`StartError::Describe`], for paths that are no text.
    pub fn prepare(&self, confinement: Confinement, task: Task) -> Result<Prepared, StartError> {
        let description = Spec { confinement, task }.into_bytes();
        Ok(Prepared {
            program: self.guard.program.clone().into_os_string(),
            args: vec![CONFINED.into()],
            description: description.map_err(|source| StartError::Describe { source })?,
        })
    }

    /// Starts a command that nothing confines, with the rights of this process.
    /// It ends like a confined one.
    ///
    /// # Errors
    /// See [`StartError`].
    pub fn start_free(
        &self,
        task: Task,
        env: Vec<(OsString, OsString)>,
    ) -> Result<Job, StartError> {
        let spec = ChildSpec {
            name: "a command".to_owned(),
            program: task.program.into_os_string(),
            args: task.args,
            cwd: Some(task.cwd),
            env,
            guard: self.guard.clone(),
        };
        let mut child = Child::spawn(&spec).map_err(|source| StartError::Spawn { source })?;
        Ok(Job {
            stdin: child.take_stdin().filter(|_| task.input),
            stdout: child.take_stdout(),
            stderr: child.take_stderr(),
            child,
        })
    }

    /// Tries it: runs a command that does nothing in an empty folder, or in none. Reading
    /// what the kernel says of itself proves less, because whatever confines
    /// this process may forbid what the kernel could do.
    pub async fn try_out(&self, folder: &Path, env: Vec<(OsString, OsString)>) -> Availability {
        let no = |why: String| Availability::No { why };
        let confinement = Confinement {
            folder: folder.to_owned(),
            hidden: Vec::new(),
            read: Vec::new(),
            write: Vec::new(),
            network: Network::None,
            processes: 64,
            scratch_bytes: 1 << 20,
            memory_bytes: None,
        };
        let task = Task {
            program: "/bin/sh".into(),
            args: vec!["-c".into(), "echo confined".into()],
            cwd: if folder.as_os_str().is_empty() {
                "/".into()
            } else {
                folder.to_owned()
            },
            input: false,
            merged: false,
        };
        let mut job = match self.start(confinement, task, env).await {
            Ok(job) => job,
            Err(error) => return no(legation_core::error::chain(&error)),
        };
        let mut said = Vec::new();
        let run = async {
            if let Some(stdout) = &mut job.stdout {
                let read = stdout.take(TRIAL_SAYS.len() as u64 + 1);
                drop({ read }.read_to_end(&mut said).await);
            }
            let complaint = complaint(job.stderr.as_mut()).await;
            (job.child.wait().await, complaint)
        };
        match tokio::time::timeout(TRIAL, run).await {
            Err(_) => no("a confined command did not end".to_owned()),
            Ok(_) if said == TRIAL_SAYS => Availability::Yes,
            Ok((exit, complaint)) if complaint.is_empty() => {
                no(format!("a confined command {}", exit.text))
            }
            Ok((_, complaint)) => no(complaint),
        }
    }
}

// === impl Prepared ===

impl std::fmt::Debug for Prepared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The description holds the command.
        f.debug_struct("Prepared")
            .field("program", &self.program)
            .finish_non_exhaustive()
    }
}

// === impl Job ===

impl Job {
    /// What the command reads, where it reads anything; dropping it closes it.
    pub fn take_input(&mut self) -> Option<pipe::Sender> {
        self.stdin.take()
    }

    /// What it says.
    pub fn take_output(&mut self) -> Option<ChildStdout> {
        self.stdout.take()
    }

    /// What it complains about, where that is not put between what it says; and
    /// why it was not started.
    pub fn take_errors(&mut self) -> Option<ChildStderr> {
        self.stderr.take()
    }

    /// Waits until it is gone, with everything it started. May be dropped and
    /// called again.
    pub async fn wait(&mut self) -> Exit {
        self.child.wait().await
    }

    /// Ends it, with everything it started; [`Job::wait`] says when that is done.
    pub fn kill(&mut self) {
        self.child.kill();
    }
}

async fn complaint(errors: Option<&mut ChildStderr>) -> String {
    let mut said = Vec::new();
    if let Some(errors) = errors {
        drop(errors.take(COMPLAINT_MAX).read_to_end(&mut said).await);
    }
    let text = String::from_utf8_lossy(&said);
    text.trim().trim_start_matches("confined: ").to_owned()
}
