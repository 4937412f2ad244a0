//! `bash`: commands in the folder.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use legation_core::error::chain;
use legation_core::process::GuardPath;
use legation_core::{Cancel, CancelReason, OpContext};
use legation_gate::Peer;
use legation_sandbox::{Availability, Confinement, HOME, Job, Network, Sandbox, Task};
use legation_wire::json::{Object, Raw};
use tokio::io::AsyncReadExt as _;
use tokio::sync::OnceCell;

use super::answer::Answer;
use super::arguments::{self, BashArguments};
use super::error::WorkspaceError;
use super::root::Root;
use super::undo::{Keeping, tree::Tree};
use super::{Shared, StopWithMe};

mod output;

use output::Output;

/// How long a command runs where nobody says how long.
const TIMEOUT: Duration = Duration::from_mins(2);
/// How many processes and threads it may have.
const PROCESSES: u32 = 1024;
/// How much its `/tmp` may hold.
const SCRATCH_BYTES: u64 = 512 << 20;
/// Longest command, in bytes.
const COMMAND_MAX: usize = 128 << 10;
/// How long what is left of a command's output is waited for once it is killed.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// How often a client hears of a command that runs.
const TOLD_EVERY: Duration = Duration::from_millis(250);
/// Where programs are looked for.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// What of a search path a command sees beyond what it is given.
const SEEN: [&str; 8] = [
    "/usr",
    "/bin",
    "/sbin",
    "/opt",
    "/nix/store",
    "/nix/var",
    "/snap",
    "/run/current-system",
];

/// Whether and how commands are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShellMode {
    /// They are not.
    Off,
    /// Behind walls, or not where there are none.
    Confined,
    /// With all that the hub's user may do.
    Unconfined,
}

/// What the owner set of commands.
#[derive(Clone)]
pub struct BashSettings {
    /// Whether and how they are run.
    pub mode: ShellMode,
    /// Whether they reach what this machine reaches.
    pub network: bool,
    /// Folders that they may read beside their own.
    pub read: Vec<PathBuf>,
    /// Folders that they may change beside their own.
    pub write: Vec<PathBuf>,
    /// Where they look for programs: `PATH` as the hub has it.
    pub path: Option<OsString>,
    /// The home folder of those that are not confined.
    pub home: Option<OsString>,
    /// Further variables.
    pub env: Vec<(OsString, OsString)>,
    /// How long one may run.
    pub timeout_max: Duration,
}

/// The way to run commands.
#[derive(Clone)]
pub struct Shell(Arc<ShellParts>);

struct ShellParts {
    settings: BashSettings,
    sandbox: Sandbox,
    /// Set once a trial succeeded: what a machine can do it still can later. One
    /// that failed may have failed for its folder's sake, or for the moment's.
    available: OnceCell<()>,
}

/// What a command came to.
struct Ran {
    output: Output,
    exit: Option<i32>,
    stopped: Option<Stopped>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stopped {
    Timeout(Duration),
    Cancelled,
}

// === impl BashSettings ===

impl std::fmt::Debug for BashSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Variables may be secrets.
        f.debug_struct("BashSettings")
            .field("mode", &self.mode)
            .field("network", &self.network)
            .field("read", &self.read)
            .field("write", &self.write)
            .finish_non_exhaustive()
    }
}

// === impl Shell ===

impl Shell {
    /// Commands as the owner set them, below this guard.
    #[must_use]
    pub fn new(settings: BashSettings, guard: GuardPath) -> Self {
        Self(Arc::new(ShellParts {
            settings,
            sandbox: Sandbox::new(guard),
            available: OnceCell::new(),
        }))
    }

    /// Whether commands have walls, where they are run at all.
    pub(super) fn is_confined(&self) -> bool {
        self.0.settings.mode != ShellMode::Unconfined
    }

    /// Whether commands are run, or why not. Tries it until it succeeds once, in
    /// an empty folder or any other.
    ///
    /// # Errors
    /// Why not.
    pub async fn check(&self, folder: &Path) -> Result<(), WorkspaceError> {
        match self.0.settings.mode {
            ShellMode::Unconfined => return Ok(()),
            ShellMode::Off => {
                return Err(WorkspaceError::Bash {
                    why: "the owner switched them off".to_owned(),
                    hint: "Use the tools for files.",
                });
            }
            ShellMode::Confined => {}
        }
        let try_out = || async {
            let tried = self.0.sandbox.try_out(folder, self.environment(&[]));
            match tried.await {
                Availability::Yes => Ok(()),
                Availability::No { why } => Err(WorkspaceError::Bash {
                    why: format!("this machine cannot confine them ({why})"),
                    hint: "The owner can allow commands that nothing confines: bash = \"unconfined\" under [workspace] in legation.toml.",
                }),
            }
        };
        self.0.available.get_or_try_init(try_out).await.copied()
    }

    /// Starts a program, confined as commands are.
    pub(super) async fn start(
        &self,
        root: &Root,
        task: Task,
        network: bool,
    ) -> Result<Job, WorkspaceError> {
        self.check(root.path()).await?;
        let settings = &self.0.settings;
        let failed = |error: &dyn std::error::Error| WorkspaceError::Bash {
            why: chain(error),
            hint: "Try again; look into the hub's log if it stays so.",
        };
        if settings.mode == ShellMode::Unconfined {
            let started = self.0.sandbox.start_free(task, self.environment(&[]));
            return started.map_err(|error| failed(&error));
        }
        if !root.linked_from_home().is_empty() {
            return Err(WorkspaceError::Bash {
                why: "a file of the hub's data directory has a second name somewhere, by which a command could reach it".to_owned(),
                hint: "The owner can find it with `find` and -links +1 in the data directory.",
            });
        }
        let canonical = |paths: &[PathBuf]| -> Vec<PathBuf> {
            let there = paths.iter().filter_map(|path| path.canonicalize().ok());
            // The hub's own data is given to nobody, whatever the settings say.
            there
                .filter(|path| !path.starts_with(root.home()))
                .collect()
        };
        let (read, write) = (canonical(&settings.read), canonical(&settings.write));
        let seen: Vec<PathBuf> = read.iter().chain(&write).cloned().collect();
        let confinement = Confinement {
            folder: root.path().to_owned(),
            hidden: vec![root.home().to_owned()],
            read,
            write,
            network: if network {
                Network::Host
            } else {
                Network::None
            },
            processes: PROCESSES,
            scratch_bytes: SCRATCH_BYTES,
            memory_bytes: None,
        };
        let env = self.environment(&seen);
        let started = self.0.sandbox.start(confinement, task, env).await;
        started.map_err(|error| failed(&error))
    }

    /// The whole environment of a command.
    fn environment(&self, seen: &[PathBuf]) -> Vec<(OsString, OsString)> {
        let settings = &self.0.settings;
        let confined = settings.mode != ShellMode::Unconfined;
        let path = settings.path.clone().unwrap_or_else(|| PATH.into());
        let path = if confined {
            let is_seen = |folder: &PathBuf| {
                SEEN.iter().any(|known| folder.starts_with(known))
                    || seen.iter().any(|given| folder.starts_with(given))
            };
            let folders: Vec<PathBuf> = std::env::split_paths(&path).filter(is_seen).collect();
            std::env::join_paths(folders)
                .ok()
                .filter(|path| !path.is_empty())
                .unwrap_or_else(|| PATH.into())
        } else {
            path
        };
        let home = match &settings.home {
            Some(home) if !confined => home.clone(),
            _ => HOME.into(),
        };
        let mut env: Vec<(OsString, OsString)> = vec![
            ("PATH".into(), path),
            ("HOME".into(), home),
            ("LANG".into(), "C.UTF-8".into()),
            ("TERM".into(), "dumb".into()),
            ("PAGER".into(), "cat".into()),
            ("GIT_TERMINAL_PROMPT".into(), "0".into()),
        ];
        env.extend(settings.env.iter().cloned());
        env
    }
}

impl std::fmt::Debug for Shell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Shell").field(&self.0.settings).finish()
    }
}

// === impl Shared ===

impl Shared {
    pub(super) async fn bash(
        self: &Arc<Self>,
        context: &OpContext,
        arguments: &Object,
        peer: &dyn Peer,
    ) -> Result<Answer, WorkspaceError> {
        let arguments: BashArguments = arguments::read(arguments)?;
        if arguments.command.len() > COMMAND_MAX || arguments.command.contains('\0') {
            return Err(WorkspaceError::arguments(
                "`command` is none that can be run",
            ));
        }
        let cancel = context.cancel.child();
        let _stop = StopWithMe(cancel.clone());
        let (shared, looking) = (Arc::clone(self), context.clone());
        let below = arguments.cwd.clone();
        let find = move || -> Result<(Root, PathBuf), WorkspaceError> {
            let root = shared.root(&looking)?;
            let below = root.relative(below.as_deref().unwrap_or("."))?;
            drop(root.folder(&below)?);
            let cwd = root.path().join(below);
            root.linked_from_home();
            Ok((root, cwd))
        };
        let found = tokio::task::spawn_blocking(find).await;
        let (root, cwd) = found.unwrap_or(Err(WorkspaceError::Cancelled))?;
        // Nothing is looked at for a command that is not run.
        self.shell.check(root.path()).await?;
        let (root, tree) = self.before_command(root, context, &cancel).await?;
        let task = Task {
            program: shell_program(),
            args: shell_arguments(&self.shell.0.settings, &arguments.command),
            cwd,
            input: false,
            merged: true,
        };
        let job = self
            .shell
            .start(&root, task, self.shell.0.settings.network)
            .await?;
        let limit = arguments.timeout_ms.map_or(TIMEOUT, Duration::from_millis);
        let limit = limit.min(self.shell.0.settings.timeout_max);
        // What it changed is noted whatever it came to.
        let ran = run(job, limit, context, peer).await;
        let changed = match tree {
            None => None,
            Some(tree) => {
                let (shared, context) = (Arc::clone(self), context.clone());
                let compare = move || {
                    let keeping = Keeping::new(shared.undo.as_deref(), context.task.as_ref());
                    // What was done is noted even for a call that was called off.
                    keeping.after_command(&root, &tree, &Cancel::new())
                };
                Some(
                    tokio::task::spawn_blocking(compare)
                        .await
                        .unwrap_or_default(),
                )
            }
        };
        let ran = ran?;
        if ran.stopped == Some(Stopped::Cancelled) {
            return Err(WorkspaceError::Cancelled);
        }
        Ok(answer(&arguments.command, &ran, changed.as_deref()))
    }

    /// Keeps what a command may change, if it is run for a task.
    async fn before_command(
        self: &Arc<Self>,
        root: Root,
        context: &OpContext,
        cancel: &Cancel,
    ) -> Result<(Root, Option<Tree>), WorkspaceError> {
        let (shared, context) = (Arc::clone(self), context.clone());
        let cancel = cancel.clone();
        let keep = move || {
            let keeping = Keeping::new(shared.undo.as_deref(), context.task.as_ref());
            let tree = keeping.before_command(&root, &cancel)?;
            Ok((root, tree))
        };
        let kept = tokio::task::spawn_blocking(keep).await;
        kept.unwrap_or(Err(WorkspaceError::Cancelled))
    }
}

/// Lets a command run, and keeps what it says.
async fn run(
    mut job: Job,
    limit: Duration,
    context: &OpContext,
    peer: &dyn Peer,
) -> Result<Ran, WorkspaceError> {
    let (stdout, stderr) = (job.take_output(), job.take_errors());
    let (Some(mut stdout), Some(mut stderr)) = (stdout, stderr) else {
        return Err(WorkspaceError::Cancelled);
    };
    let mut output = Output::default();
    let mut complaint = Vec::new();
    let complaining = async {
        let mut first = (&mut stderr).take(4096);
        drop(first.read_to_end(&mut complaint).await);
        // A pipe that is full would hold it up.
        drop(tokio::io::copy(&mut stderr, &mut tokio::io::sink()).await);
    };
    let reading = read_on(&mut stdout, &mut output, peer);
    let both = async {
        tokio::join!(complaining, reading);
    };
    let mut both = Box::pin(both.fuse());
    let ended = async {
        (&mut both).await;
        // One that closes its outputs may go on for long.
        job.wait().await
    };
    let stopped = tokio::select! {
        _exit = ended => None,
        () = tokio::time::sleep(limit) => Some(Stopped::Timeout(limit)),
        _reason = called_off(context) => Some(Stopped::Cancelled),
    };
    if stopped.is_some() {
        job.kill();
        drop(tokio::time::timeout(LAST_WORDS, &mut both).await);
    }
    drop(both);
    let exit = job.wait().await;
    if stopped.is_none() && !complaint.is_empty() {
        let said = String::from_utf8_lossy(&complaint);
        return Err(WorkspaceError::Bash {
            why: said.trim().trim_start_matches("confined: ").to_owned(),
            hint: "The owner can run `legation doctor`, which says what is missing.",
        });
    }
    Ok(Ran {
        output,
        exit: exit.code.or(exit.signal.map(|signal| 128 + signal)),
        stopped,
    })
}

async fn called_off(context: &OpContext) -> CancelReason {
    context.cancel.cancelled().await
}

async fn read_on(stdout: &mut tokio::process::ChildStdout, output: &mut Output, peer: &dyn Peer) {
    let mut chunk = vec![0; 16 << 10];
    let tells = peer.wants_progress();
    let mut told = tokio::time::Instant::now();
    while let Ok(read @ 1..) = stdout.read(&mut chunk).await {
        output.add(&chunk[..read]);
        if told.elapsed() < TOLD_EVERY {
            continue;
        }
        told = tokio::time::Instant::now();
        peer.partial(output.bytes());
        if tells {
            let progress = Object::new()
                .with("progress", Raw::from_serialize(&output.bytes()))
                .with("message", Raw::str(&output.last_line()));
            peer.progress(progress);
        }
    }
}

fn answer(command: &str, ran: &Ran, changed: Option<&[String]>) -> Answer {
    let mut text = ran.output.text();
    let exit = ran.exit.filter(|_| ran.stopped.is_none());
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    match (ran.stopped, exit) {
        (Some(Stopped::Timeout(limit)), _) => {
            text += &format!("[stopped after {} s without an end]", limit.as_secs_f32());
        }
        (_, Some(0)) if text.is_empty() => text += "[done, and it said nothing]",
        (_, Some(0)) => {}
        (_, Some(code)) => text += &format!("[exit code {code}]"),
        (_, None) => text += "[nobody knows how it ended]",
    }
    let mut facts = Object::new()
        .with("command", Raw::str(command))
        .with("exit_code", Raw::from_serialize(&exit))
        .with("timed_out", Raw::bool(ran.stopped.is_some()))
        .with("lines", Raw::from_serialize(&ran.output.lines()))
        .with("truncated", Raw::bool(ran.output.is_cut()));
    if let Some(changed) = changed {
        facts.set("changed_files", Raw::from_serialize(&changed));
    }
    Answer { text, facts }
}

/// The shell: `bash` where there is one.
fn shell_program() -> PathBuf {
    let known = [
        "/bin/bash",
        "/usr/bin/bash",
        "/run/current-system/sw/bin/bash",
    ];
    let found = known.iter().map(Path::new).find(|path| path.exists());
    found.unwrap_or(Path::new("/bin/sh")).to_owned()
}

fn shell_arguments(settings: &BashSettings, command: &str) -> Vec<OsString> {
    // A confined command's outputs are one already.
    let command = match settings.mode {
        ShellMode::Unconfined => format!("exec 2>&1\n{command}"),
        ShellMode::Off | ShellMode::Confined => command.to_owned(),
    };
    vec!["-c".into(), command.into()]
}
