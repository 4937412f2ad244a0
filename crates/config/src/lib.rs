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
pub mod file;
pub mod first_run;
pub mod json;
pub mod servers;
pub mod settings;
pub mod trust;
pub mod watch;

pub use environment::Environment;
pub use settings::Settings;
