//! The walls around a server that is a program of this machine.

use std::path::{Path, PathBuf};

use legation_core::net::Destinations;

use super::resolve::{ResolveError, Resolver};
use super::{ServerSpec, Source, Transport};
use crate::environment::{Environment, Template, expand};

/// What an entry's `sandbox` says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SandboxChoice {
    /// Nothing: what the settings say holds.
    #[default]
    Unsaid,
    /// `false`: no walls.
    Off,
    /// These walls.
    On(SandboxEntry),
}

/// What a server reaches behind its walls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxEntry {
    /// `network`.
    pub network: SandboxNetwork,
    /// `read`: files and folders it may read, besides the system's programs and
    /// the folder it starts in.
    pub read: Vec<Template>,
    /// `write`: files and folders it may change.
    pub write: Vec<Template>,
    /// `memory`: bytes that each of its processes may hold.
    pub memory: Option<u64>,
    /// `processes`: how many processes and threads it may have at once.
    pub processes: Option<u32>,
    /// `required`: whether it may run only behind its walls.
    pub required: bool,
}

/// What a server reaches beyond itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SandboxNetwork {
    /// A loopback interface of its own and nothing else.
    #[default]
    None,
    /// These hosts.
    Named {
        /// Which they are; at least one.
        hosts: Destinations,
        /// Who names them.
        by: NamedBy,
    },
    /// What this machine reaches, its loopback addresses among it.
    All,
}

/// Who names the hosts that a server reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedBy {
    /// Its entry.
    Entry,
    /// The owner's settings.
    Settings,
}

/// Which local servers run behind walls although their entries do not say so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SandboxPolicy {
    /// None.
    #[default]
    Asked,
    /// Those that folders and their agents bring along.
    Workspace,
    /// All.
    All,
}

/// The walls of one server, with references followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedSandbox {
    /// As in [`SandboxEntry`].
    pub network: SandboxNetwork,
    /// Absolute paths.
    pub read: Vec<PathBuf>,
    /// Absolute paths.
    pub write: Vec<PathBuf>,
    /// As in [`SandboxEntry`].
    pub memory: Option<u64>,
    /// As in [`SandboxEntry`].
    pub processes: Option<u32>,
    /// As in [`SandboxEntry`].
    pub required: bool,
}

// === impl SandboxEntry ===

impl Default for SandboxEntry {
    fn default() -> Self {
        Self {
            network: SandboxNetwork::None,
            read: Vec::new(),
            write: Vec::new(),
            memory: None,
            processes: None,
            required: true,
        }
    }
}

// === impl SandboxNetwork ===

impl SandboxNetwork {
    /// The word of the field; `named` for a list.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Named { .. } => "named",
            Self::All => "all",
        }
    }

    /// These hosts, or none where there are none.
    #[must_use]
    pub fn named(hosts: Destinations, by: NamedBy) -> Self {
        match hosts.is_empty() {
            true => Self::None,
            false => Self::Named { hosts, by },
        }
    }

    /// The hosts that are named.
    #[must_use]
    pub fn hosts(&self) -> Vec<String> {
        match self {
            Self::Named { hosts, .. } => hosts.iter().map(ToString::to_string).collect(),
            Self::None | Self::All => Vec::new(),
        }
    }
}

// === impl NamedBy ===

impl NamedBy {
    /// Where they are named, for who wants to change it.
    #[must_use]
    pub fn rule(self) -> &'static str {
        match self {
            Self::Entry => "`sandbox.network` of its entry in mcp.json",
            Self::Settings => "`server_sandbox_network` in legation.toml",
        }
    }
}

// === impl SandboxPolicy ===

impl SandboxPolicy {
    /// The word of the setting.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Asked => "asked",
            Self::Workspace => "workspace",
            Self::All => "all",
        }
    }

    /// Whether it speaks of servers from there.
    fn covers(self, source: &Source) -> bool {
        match self {
            Self::Asked => false,
            Self::Workspace => source.trusted_folder().is_some(),
            Self::All => true,
        }
    }
}

// === impl ServerSpec ===

impl ServerSpec {
    /// The walls it runs behind, by its entry and by the owner's settings: which servers run so
    /// without being asked, and which hosts those reach. What a folder's own entry says widens
    /// nothing that the settings ask for.
    #[must_use]
    pub fn sandbox(&self, policy: SandboxPolicy, hosts: &Destinations) -> Option<SandboxEntry> {
        let of_settings = || SandboxEntry {
            network: SandboxNetwork::named(hosts.clone(), NamedBy::Settings),
            ..SandboxEntry::default()
        };
        if !matches!(self.transport, Transport::Stdio { .. }) {
            return None;
        }
        let covered = policy.covers(&self.source);
        let of_folder = self.source.trusted_folder().is_some();
        match &self.sandbox {
            SandboxChoice::On(entry) if covered && of_folder => Some(SandboxEntry {
                memory: entry.memory,
                processes: entry.processes,
                ..of_settings()
            }),
            SandboxChoice::On(entry) => Some(entry.clone()),
            SandboxChoice::Off if covered && of_folder => Some(of_settings()),
            SandboxChoice::Off => None,
            SandboxChoice::Unsaid => covered.then(of_settings),
        }
    }

    /// Whether its `headersHelper` may not run: a folder brought it along, the owner wants what
    /// folders run behind walls, and such a command has none.
    #[must_use]
    pub fn lacks_walls_for_helper(&self, policy: SandboxPolicy) -> bool {
        let of_folder = self.source.trusted_folder().is_some();
        of_folder && policy.covers(&self.source) && self.transport.headers_helper().is_some()
    }

    /// Those of [`ServerSpec::sandbox`], with the references in them followed.
    ///
    /// # Errors
    ///
    /// [`ResolveError`], as for [`ServerSpec::resolve`].
    pub fn resolve_sandbox(
        &self,
        policy: SandboxPolicy,
        hosts: &Destinations,
        environment: &Environment,
    ) -> Result<Option<ResolvedSandbox>, ResolveError> {
        let Some(entry) = self.sandbox(policy, hosts) else {
            return Ok(None);
        };
        let resolver = Resolver::new(self, environment, super::EnvMode::Direct);
        let paths = |field: &str, texts: &[Template]| {
            texts
                .iter()
                .enumerate()
                .map(|(index, text)| {
                    let field = format!("sandbox.{field}[{index}]");
                    resolver.path(&self.source, &field, text)
                })
                .collect::<Result<Vec<_>, _>>()
        };
        Ok(Some(ResolvedSandbox {
            network: entry.network,
            read: paths("read", &entry.read)?,
            write: paths("write", &entry.write)?,
            memory: entry.memory,
            processes: entry.processes,
            required: entry.required,
        }))
    }
}

// === impl Resolver ===

impl Resolver<'_> {
    fn path(&self, source: &Source, field: &str, text: &Template) -> Result<PathBuf, ResolveError> {
        let lookup = |name: &str| self.variable(name);
        let followed =
            expand(text.as_str(), lookup).map_err(|error| self.reference(field, error))?;
        if followed.is_empty() {
            return Err(self.value(field, "is empty"));
        }
        self.absolute(source, field, Path::new(&followed))
    }
}
