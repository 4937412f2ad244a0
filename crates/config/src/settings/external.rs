//! `[external]`: whether agents hand work in, and how much.

use std::path::PathBuf;

use super::layers::{Value, Values};

/// What agents may do with the server `delegate`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternalSettings {
    /// `enabled`: whether it is offered at all.
    pub enabled: bool,
    /// `socket_path`: a second socket that serves nothing else.
    pub socket_path: Option<PathBuf>,
    /// `rate_limit`: tasks a minute that one client may hand in; 0 is no limit.
    pub rate_limit: u32,
}

pub(super) fn read(values: &Values) -> ExternalSettings {
    let socket = match &values["external.socket_path"].value {
        Value::Text(path) if !path.is_empty() => Some(PathBuf::from(path)),
        _ => None,
    };
    ExternalSettings {
        enabled: super::is_on(values, "external.enabled"),
        socket_path: socket,
        rate_limit: super::small(values, "external.rate_limit"),
    }
}
