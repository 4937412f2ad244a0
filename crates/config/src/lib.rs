//! Files, layers, provenance, trust and the environment.
//!
//! Everything a person or a repository wrote for Legation is read here and
//! nowhere else, and leaves as plain types: the shapes of the files are
//! private to this crate.
//!
//! Architecture invariant: no other crate reads the process environment, and
//! nothing a folder brings along becomes a server before the owner agreed to
//! exactly that entry. This crate knows neither the rules nor the protocol.

pub mod agents;
pub mod clients;
pub mod edit;
pub mod environment;
mod file;
pub mod first_run;
pub mod foreign;
pub mod governance;
mod json;
pub mod servers;
pub mod settings;
pub mod switches;
pub mod trust;
pub mod watch;

pub use environment::Environment;
pub use file::ReadError;
pub use json::JsonError;
pub use servers::{
    EnvMode, EraChoice, GrantType, Instance, Loaded, NamedBy, OAuthEntry, OidcEntry, Problem,
    ProblemKind, Reach, ResolveError, Resolved, ResolvedHelper, ResolvedHttp, ResolvedOAuth,
    ResolvedProxy, ResolvedReach, ResolvedSandbox, ResolvedStdio, SandboxChoice, SandboxEntry,
    SandboxNetwork, SandboxPolicy, ServerSpec, Severity, Source, Transport,
};
pub use settings::{
    AccountSettings, BashMode, BrokerChoice, DelegateSettings, DeskSettings, ExternalSettings,
    HintChoice, InboxSettings, LedgerSettings, Limits, LogKeeping, SecretsPlace, Settings,
    StoreUrl, TraceSettings, View, WebhookSettings, WorkspaceSettings,
};
pub use watch::Watch;
