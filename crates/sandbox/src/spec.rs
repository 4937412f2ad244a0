//! What a command is given, as the hub writes it and the new process reads it.

use std::ffi::OsString;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use legation_core::net::Destinations;
use serde::{Deserialize, Serialize};

/// The command's home folder: in memory, empty at its start.
pub const HOME: &str = "/tmp/home";

/// Where programs and what they need are: everybody may read there.
pub(crate) const SYSTEM: [&str; 14] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc",
    "/opt",
    "/nix/store",
    "/nix/var/nix/profiles",
    "/run/current-system",
    "/snap",
    "/gnu/store",
];

/// Longest description: paths and one command.
const SPEC_MAX: usize = 4 << 20;

/// What a command reaches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confinement {
    /// The folder that it works in and may change, canonical; empty where there is
    /// none.
    pub folder: PathBuf,
    /// What it must not see though it lies in what it sees, canonical.
    pub hidden: Vec<PathBuf>,
    /// Further folders and files that it may read, canonical.
    pub read: Vec<PathBuf>,
    /// Further folders and files that it may change, canonical.
    pub write: Vec<PathBuf>,
    /// What it reaches beyond the machine.
    pub network: Network,
    /// How many processes and threads it may have at once.
    pub processes: u32,
    /// How many bytes its `/tmp` may hold.
    pub scratch_bytes: u64,
    /// How many bytes of memory each of its processes may fill.
    pub memory_bytes: Option<u64>,
}

/// What a command reaches beyond itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// A loopback interface of its own and nothing else.
    None,
    /// A loopback interface of its own, and on it a proxy that leads to these hosts.
    Named(Named),
    /// What this machine reaches, its loopback addresses among it.
    Host,
}

/// The hosts that a command reaches, and how.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Named {
    /// Which they are.
    pub hosts: Destinations,
    /// What names them, for who reads a refusal: a sentence's subject.
    pub rule: String,
    /// Variables that name the proxies on the way there, as an environment has them. They may hold
    /// passwords.
    pub proxies: Vec<(String, String)>,
}

/// What is run.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// The program, by its path in the sandbox.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Where it starts.
    pub cwd: PathBuf,
    /// Whether it gets what is written to the job; otherwise it reads nothing.
    pub input: bool,
    /// Whether what it complains about is put between what it says.
    pub merged: bool,
}

/// All of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Spec {
    pub(crate) confinement: Confinement,
    pub(crate) task: Task,
}

// === impl Named ===

impl std::fmt::Debug for Named {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Named")
            .field("hosts", &self.hosts)
            .field("rule", &self.rule)
            .finish_non_exhaustive()
    }
}

// === impl Confinement ===

impl Confinement {
    /// Whether a path can be seen from inside, if it is there at all.
    #[must_use]
    pub fn shows(&self, path: &Path) -> bool {
        let system = SYSTEM.iter().map(Path::new);
        let given = self.read.iter().chain(&self.write).map(PathBuf::as_path);
        let folder = Some(self.folder.as_path()).filter(|path| !path.as_os_str().is_empty());
        let mut seen = system.chain(given).chain(folder);
        let hidden = self.hidden.iter().any(|hidden| path.starts_with(hidden));
        !hidden && seen.any(|place| path.starts_with(place))
    }
}

// === impl Task ===

impl std::fmt::Debug for Task {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // A command may hold what somebody typed.
        f.debug_struct("Task")
            .field("program", &self.program)
            .field("args", &self.args.len())
            .field("cwd", &self.cwd)
            .finish_non_exhaustive()
    }
}

// === impl Spec ===

impl Spec {
    /// Twice, each with its length before it: two processes read it, one after
    /// the other, and what follows is the command's own. The second stands next to
    /// the command and is told of no proxy's password.
    /// A path that is no text cannot be written.
    pub(crate) fn into_bytes(mut self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.append(&mut bytes)?;
        if let Network::Named(named) = &mut self.confinement.network {
            named.proxies.clear();
        }
        self.append(&mut bytes)?;
        Ok(bytes)
    }

    fn append(&self, bytes: &mut Vec<u8>) -> io::Result<()> {
        let text = serde_json::to_vec(self).map_err(io::Error::other)?;
        let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
        bytes.extend(length.to_le_bytes());
        bytes.extend(text);
        Ok(())
    }

    /// Reads one of the two, and not a byte more.
    pub(crate) fn read(mut from: impl Read) -> io::Result<Self> {
        let mut length = [0_u8; 4];
        from.read_exact(&mut length)?;
        let length = usize::try_from(u32::from_le_bytes(length)).unwrap_or(usize::MAX);
        if length > SPEC_MAX {
            return Err(io::Error::other("the description is too long"));
        }
        let mut text = vec![0; length];
        from.read_exact(&mut text)?;
        serde_json::from_slice(&text).map_err(io::Error::other)
    }
}
