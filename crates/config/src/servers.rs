//! MCP servers as their configuration describes them.
//!
//! The files are shared with other clients, so both of their shapes are read:
//! `{"mcpServers": {NAME: …}}` and the bare `{NAME: …}`. An entry that cannot
//! be used becomes a [`Problem`] and never stands in the way of the others.

mod entry;
mod env_file;
pub mod github;
mod helper;
mod load;
mod oauth;
mod plugin;
mod problem;
mod reach;
mod resolve;
mod sandbox;
mod secrets;
mod source;
mod vscode;

use std::time::Duration;

use legation_core::{EntityId, ServerName};
use serde_json::{Map, Value};

use crate::environment::{SecretTemplate, Template};

pub use env_file::EnvFile;
pub use github::GithubToken;
pub use helper::ResolvedHelper;
pub use load::{Hidden, Loaded, additional, defaults, user, workspace};
pub use oauth::{GrantType, IdpEntry, OAuthEntry, ResolvedIdp, ResolvedOAuth};
pub use plugin::plugins;
pub use problem::{Problem, ProblemKind, Severity};
pub use reach::{ProxyChoice, Reach, ResolvedProxy, ResolvedReach};
pub use resolve::{ResolveError, Resolved, ResolvedHttp, ResolvedStdio};
pub use sandbox::{
    NamedBy, ResolvedSandbox, SandboxChoice, SandboxEntry, SandboxNetwork, SandboxPolicy,
};
pub use source::Source;
pub use vscode::Input;

pub(crate) use vscode::{plain, read as vscode_file, translated};

pub(crate) use entry::read_entry;
pub(crate) use env_file::digest as env_file_digest;
pub(crate) use load::{defaults_file, entries, read_workspace_file};
pub(crate) use plugin::{plugin_at, plugin_files};
pub(crate) use reach::is_socket;
pub(crate) use secrets::{is_named, is_random};
pub(crate) use source::{workspace_files, workspace_levels};

/// One server that can be used. Two equal specs need no restart in between.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerSpec {
    /// The key of its entry.
    pub name: ServerName,
    /// The file, or the command line, that it comes from.
    pub source: Source,
    /// Whether the owner reviewed it: always for the owner's own file and the
    /// command line, and for a workspace entry that [`crate::trust`] knows
    /// unchanged; other workspace entries are not loaded at all.
    pub trusted: bool,
    /// How it is reached.
    pub transport: Transport,
    /// `sandbox`: the walls around a program of this machine, as far as the entry
    /// says; see [`ServerSpec::sandbox`].
    pub sandbox: SandboxChoice,
    /// `oauth…`: how the hub signs in at a URL.
    pub oauth: OAuthEntry,
    /// `oidc`: a token that says which machine, or which run of a pipeline, this is.
    pub oidc: Option<OidcEntry>,
    /// `tools`: names of the tools that are offered, with `*` for all of them.
    pub tools: Vec<Box<str>>,
    /// `timeout`: how long a call may take, where the entry says so.
    pub timeout: Option<Duration>,
    /// `displayName`: what people read.
    pub display_name: Option<Box<str>>,
    /// `isDefaultServer`: listed before the others.
    pub is_default: bool,
    /// `era`: which protocol era to speak.
    pub era: EraChoice,
    /// `instance`: who shares a running instance.
    pub instance: Instance,
    /// `prefix`: what its flat names begin with; absent means the server's
    /// name, empty means nothing.
    pub prefix: Option<Box<str>>,
    /// `disabled`: configured, and not started.
    pub disabled: bool,
    /// Why the organisation's policy does not let it start, if so. No entry says it: whoever knows
    /// the policy does.
    pub filtered: Option<Box<str>>,
    /// Why it is `disabled` where neither its entry nor the owner says so.
    pub off_because: Option<Box<str>>,
    /// Whether a token of the owner's stands in for a credential that it lacks.
    pub github: Option<GithubToken>,
    /// `envMode`: how `env` is read, where the entry says so.
    pub env_mode: Option<EnvMode>,
    /// `envFile`: a file of variables beneath `env`.
    pub env_file: Option<EnvFile>,
    /// `entity`: whose data it holds, where the owner says so. An entry that a
    /// folder brought along cannot say it: it would get that entity's data.
    pub entity: Option<EntityId>,
    /// `events`: names of the events that come into the inbox, with `*` for all of
    /// them; none of a workspace entry's.
    pub events: Vec<Box<str>>,
    /// `filterMapping`, as written.
    pub filter_mapping: Option<Value>,
    /// Fields this program does not know, as written.
    pub unknown: Map<String, Value>,
}

/// How a server is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transport {
    /// A child process that speaks on its standard input and output.
    Stdio {
        /// The program.
        command: Template,
        /// Its arguments.
        args: Vec<Template>,
        /// Its working directory.
        cwd: Option<Template>,
        /// What it finds in its environment beside what every child inherits.
        env: Vec<(Box<str>, SecretTemplate)>,
    },
    /// Streamable HTTP, or the older HTTP with SSE.
    Http {
        /// The endpoint.
        url: Template,
        /// Sent with every request.
        headers: Vec<(Box<str>, SecretTemplate)>,
        /// How it is reached.
        reach: Box<Reach>,
    },
    /// `type: memory`: a server of the hub's own, under the name of the entry.
    Memory {
        /// Its own name.
        server: ServerName,
    },
}

/// `oidc`: which token of this machine's identity a server is given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OidcEntry {
    /// `oidc.audience`: whom the token is for; whom its issuer means by default if absent.
    pub audience: Option<Box<str>>,
}

/// Which protocol era to speak with a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum EraChoice {
    /// Ask the server.
    #[default]
    Auto,
    /// `initialize` and sessions, up to 2025-11-25.
    Legacy,
    /// `server/discover` and per-request metadata, from 2026-07-28.
    Modern,
}

/// Who shares a running instance of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Instance {
    /// All clients. The default, except for workspace servers.
    Shared,
    /// Each running client has its own.
    Client,
    /// All clients that work in one folder. The default of workspace servers.
    Workspace,
}

/// How the values of `env` are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum EnvMode {
    /// They are the values, after references are followed.
    #[default]
    Direct,
    /// They are names of variables that hold the values.
    Indirect,
}

// === impl ServerSpec ===

impl ServerSpec {
    /// What flat names of this server begin with, before it is sanitised.
    pub fn flat_prefix(&self) -> &str {
        self.prefix.as_deref().unwrap_or(self.name.as_str())
    }

    /// What people read.
    pub fn title(&self) -> &str {
        self.display_name.as_deref().unwrap_or(self.name.as_str())
    }

    /// What tells it from every other: its name, and the folder that a workspace server belongs to
    /// or the file of its agent, because two of them may each have one of a name.
    pub fn label(&self) -> Box<str> {
        match &self.source {
            Source::Agent { file, .. } => format!("{}@{}", self.name, file.display()).into(),
            Source::Workspace { folder, .. } => {
                format!("{}@{}", self.name, folder.display()).into()
            }
            Source::Builtin
            | Source::Default { .. }
            | Source::User { .. }
            | Source::Plugin { .. }
            | Source::Additional { .. } => self.name.as_str().into(),
        }
    }

    /// Why it waits for a token and is not contacted, if it does.
    pub fn waits_for_token(&self) -> Option<&str> {
        match &self.github {
            Some(GithubToken::Missing(why)) => Some(why),
            Some(GithubToken::Given) | None => None,
        }
    }

    /// Whether the allow-list names `tool`, the upstream's own name.
    pub fn offers(&self, tool: &str) -> bool {
        self.tools
            .iter()
            .any(|name| **name == *"*" || **name == *tool)
    }
}

// === impl Transport ===

impl Transport {
    /// The word of the `type` field.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Stdio { .. } => "stdio",
            Self::Http { reach, .. } if reach.sse => "sse",
            Self::Http { .. } => "http",
            Self::Memory { .. } => "memory",
        }
    }

    /// Whether messages come on one stream that does not say which call they are
    /// about.
    pub fn is_one_stream(&self) -> bool {
        match self {
            Self::Stdio { .. } => true,
            Self::Http { reach, .. } => reach.sse,
            Self::Memory { .. } => false,
        }
    }

    /// The server of the hub's own that it stands for.
    pub fn memory(&self) -> Option<&ServerName> {
        match self {
            Self::Memory { server } => Some(server),
            Self::Stdio { .. } | Self::Http { .. } => None,
        }
    }

    /// Whether it is a URL that names a Unix socket.
    pub fn is_socket(&self) -> bool {
        matches!(self, Self::Http { url, .. } if is_socket(url.as_str()))
    }

    /// The command that prints further headers, as written.
    pub fn headers_helper(&self) -> Option<&str> {
        match self {
            Self::Stdio { .. } | Self::Memory { .. } => None,
            Self::Http { reach, .. } => reach.headers_helper.as_deref(),
        }
    }

    /// The command line or the address on one line, as written.
    pub fn shown(&self) -> String {
        match self {
            Self::Stdio { command, args, .. } => std::iter::once(command)
                .chain(args)
                .map(|word| quoted(word.as_str()))
                .collect::<Vec<_>>()
                .join(" "),
            Self::Http { url, .. } => quoted(url.as_str()),
            Self::Memory { server } => server.to_string(),
        }
    }
}

/// A word that keeps its limits on a line and cannot repaint a terminal.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |letter: char| !letter.is_control() && !letter.is_whitespace() && letter != '"';
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("{word:?}")
    }
}

// === impl EraChoice ===

impl EraChoice {
    /// The word of the `era` field.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Legacy => "legacy",
            Self::Modern => "modern",
        }
    }
}

// === impl Instance ===

impl Instance {
    /// The word of the `instance` field.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Shared => "shared",
            Self::Client => "client",
            Self::Workspace => "workspace",
        }
    }
}

// === impl EnvMode ===

impl EnvMode {
    /// The word of the `envMode` field and of `env_value_mode`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Indirect => "indirect",
        }
    }
}

#[cfg(test)]
mod tests;
