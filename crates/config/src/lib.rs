//! Files, layers, provenance, trust and the environment.
//!
//! Everything a person or a repository wrote for Legation is read here and
//! nowhere else, and leaves as plain types: the shapes of the files are
//! private to this crate.
//!
//! Architecture invariant: no other crate reads the process environment, and
//! nothing a folder brings along becomes a server before the owner agreed to
//! exactly that entry. This crate knows neither the rules nor the protocol.

pub mod clients;
pub mod edit;
pub mod environment;
mod file;
pub mod first_run;
pub mod governance;
mod json;
pub mod servers;
pub mod settings;
pub mod trust;
pub mod watch;

pub use environment::Environment;
pub use file::ReadError;
pub use json::JsonError;
pub use servers::{
    EnvMode, EraChoice, Instance, Loaded, Problem, ProblemKind, ResolveError, Resolved,
    ResolvedHttp, ResolvedStdio, ServerSpec, Severity, Source, Transport,
};
pub use settings::{
    AccountSettings, BashMode, BrokerChoice, DelegateSettings, ExternalSettings, HintChoice,
    InboxSettings, LedgerSettings, Limits, SecretsPlace, Settings, StoreUrl, View,
    WorkspaceSettings,
};
pub use watch::Watch;
