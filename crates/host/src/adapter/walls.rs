//! Servers that run behind walls of the hub's making.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use legation_config::{Environment, ResolvedSandbox, SandboxNetwork};
use legation_core::error::chain;
use legation_core::process::{GuardPath, find_program};
use legation_sandbox::{Availability, Confinement, HOME, Named, Network, REFUSES, Sandbox, Task};
use tokio::sync::OnceCell;

use crate::log::ServerLog;
use crate::port::DialError;
use crate::transport::StdioSpec;

/// How many processes and threads a server may have where its entry does not say.
const PROCESSES: u32 = 512;
/// How much a server's `/tmp` may hold, which is in memory.
const SCRATCH_BYTES: u64 = 256 << 20;

/// Variables that say which proxies lead out of this machine.
const PROXIES: [&str; 8] = [
    "https_proxy",
    "HTTPS_PROXY",
    "http_proxy",
    "HTTP_PROXY",
    "all_proxy",
    "ALL_PROXY",
    "no_proxy",
    "NO_PROXY",
];

/// Puts walls around servers.
#[derive(Debug, Clone)]
pub(crate) struct Walls {
    sandbox: Sandbox,
    /// The hub's data, which no server sees.
    home: PathBuf,
    environment: Environment,
    /// Whether this machine can; tried until it succeeds once.
    available: Arc<OnceCell<()>>,
}

// === impl Walls ===

impl Walls {
    pub(crate) fn new(guard: GuardPath, home: PathBuf, environment: Environment) -> Self {
        Self {
            sandbox: Sandbox::new(guard),
            home,
            environment,
            available: Arc::default(),
        }
    }

    /// Changes what is to be started so that it starts behind its walls. Where this
    /// machine has none, that is an error unless the entry allows to go without.
    pub(super) async fn put_up(
        &self,
        stdio: &mut StdioSpec,
        wanted: &ResolvedSandbox,
        log: &Arc<ServerLog>,
    ) -> Result<(), DialError> {
        if let Err(why) = self.check().await {
            if wanted.required {
                return Err(DialError::Misconfigured(format!(
                    "it is to run in a sandbox, and this machine has none ({why}); it was not started; \
                     \"required\": false in its `sandbox` lets it run without"
                )));
            }
            log.warn(&format!(
                "it runs without the sandbox that it is to have: this machine has none ({why})"
            ));
            return Ok(());
        }
        let misconfigured = DialError::Misconfigured;
        self.confine(stdio, wanted).map_err(misconfigured)?;
        let log = Arc::clone(log);
        stdio.stderr = Arc::new(move |line: &str| match line.starts_with(REFUSES) {
            // What it wants to reach is for its owner to see while it works, too.
            true => log.warn(line),
            false => log.stderr(line),
        });
        Ok(())
    }

    async fn check(&self) -> Result<(), String> {
        let try_out = || async {
            match self.sandbox.try_out(Path::new(""), self.trial_env()).await {
                Availability::Yes => Ok(()),
                Availability::No { why } => Err(why),
            }
        };
        self.available.get_or_try_init(try_out).await.copied()
    }

    fn trial_env(&self) -> Vec<(std::ffi::OsString, std::ffi::OsString)> {
        self.environment.child(std::iter::empty())
    }

    fn confine(&self, stdio: &mut StdioSpec, wanted: &ResolvedSandbox) -> Result<(), String> {
        let mut confinement = Confinement {
            folder: PathBuf::new(),
            hidden: self.home.canonicalize().into_iter().collect(),
            read: self.places("read", &wanted.read)?,
            write: self.places("write", &wanted.write)?,
            network: self.network(&wanted.network),
            processes: wanted.processes.unwrap_or(PROCESSES),
            scratch_bytes: SCRATCH_BYTES,
            memory_bytes: wanted.memory,
        };
        let child = &mut stdio.child;
        let cwd = match &child.cwd {
            Some(cwd) => {
                let cwd = cwd
                    .canonicalize()
                    .map_err(|error| format!("cwd cannot be entered: {error}"))?;
                if !confinement.shows(&cwd) {
                    confinement.read.push(self.visible("cwd", cwd.clone())?);
                }
                cwd
            }
            None => HOME.into(),
        };
        let path = child.env.iter().find(|(name, _)| name == "PATH");
        let path = path.map(|(_, path)| path.as_os_str());
        let found = find_program(&child.program, path, child.cwd.as_deref());
        let mut program = found.map_err(|error| format!("{error}; {}", error.hint()))?;
        if !confinement.shows(&program) {
            // What stands beside it, it has to be given by name.
            program = program
                .canonicalize()
                .map_err(|error| format!("command cannot be read: {error}"))?;
            if !confinement.shows(&program) {
                let program = self.visible("command", program.clone())?;
                confinement.read.push(program);
            }
        }
        let task = Task {
            program,
            args: std::mem::take(&mut child.args),
            cwd,
            input: true,
            merged: false,
        };
        let prepared = self.sandbox.prepare(confinement, task);
        let prepared = prepared.map_err(|error| chain(&error))?;
        child.program = prepared.program;
        child.args = prepared.args;
        child.cwd = Some("/".into());
        stdio.preamble = prepared.description;
        self.leave_out_places(stdio);
        if let SandboxNetwork::Named { .. } = wanted.network {
            // Its proxy is the sandbox's, and the hub's has a password perhaps.
            let env = &mut stdio.child.env;
            env.retain(|(name, _)| !PROXIES.iter().any(|proxy| name == proxy));
        }
        Ok(())
    }

    fn network(&self, wanted: &SandboxNetwork) -> Network {
        match wanted {
            SandboxNetwork::None => Network::None,
            SandboxNetwork::All => Network::Host,
            SandboxNetwork::Named { hosts, by } => Network::Named(Named {
                hosts: hosts.clone(),
                rule: by.rule().to_owned(),
                proxies: PROXIES
                    .iter()
                    .filter_map(|name| {
                        let value = self.environment.get(name)?;
                        Some(((*name).to_owned(), value.to_owned()))
                    })
                    .collect(),
            }),
        }
    }

    fn places(&self, field: &str, paths: &[PathBuf]) -> Result<Vec<PathBuf>, String> {
        let place = |path: &PathBuf| {
            let field = format!("sandbox.{field}: {}", path.display());
            let path = path
                .canonicalize()
                .map_err(|error| format!("{field} cannot be opened: {error}"))?;
            self.visible(&field, path)
        };
        paths.iter().map(place).collect()
    }

    /// The hub's own data is given to nobody, whatever an entry says.
    fn visible(&self, field: &str, path: PathBuf) -> Result<PathBuf, String> {
        let home = self.home.canonicalize().ok();
        match home.is_some_and(|home| path.starts_with(home)) {
            true => Err(format!("{field} lies in the hub's own data")),
            false => Ok(path),
        }
    }

    /// Variables that the server has of the hub's and that name places which are not
    /// there for it.
    fn leave_out_places(&self, stdio: &mut StdioSpec) {
        let env = &mut stdio.child.env;
        let of_hub = |name: &std::ffi::OsStr, value: &std::ffi::OsStr| {
            name.to_str()
                .and_then(|name| self.environment.get_os(name))
                .is_some_and(|own| own == value)
        };
        for (name, value) in env.iter_mut() {
            if name == "HOME" && of_hub(name, value) {
                *value = HOME.into();
            }
        }
        env.retain(|(name, value)| {
            let name = name.as_os_str();
            let is_place = name.as_encoded_bytes().starts_with(b"XDG_")
                || ["TMPDIR", "TMP", "TEMP"].iter().any(|place| name == *place);
            !(is_place && of_hub(name, value))
        });
    }
}
