//! `[copilot]`: the webhook of GitHub Copilot's agents.

use std::net::SocketAddr;
use std::path::PathBuf;

use super::layers::{Value, Values};

/// Where the webhook listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookSettings {
    /// `listen`.
    pub listen: SocketAddr,
    /// `certificate_file`; without one it does not listen.
    pub certificate_file: Option<PathBuf>,
    /// `key_file`.
    pub key_file: Option<PathBuf>,
    /// `github`: GitHub's API.
    pub github: Box<str>,
    /// `github_ca_file`.
    pub github_ca_file: Option<PathBuf>,
}

pub(super) fn read(values: &Values) -> Option<WebhookSettings> {
    let text = |key: &str| match &values[key].value {
        Value::Text(text) if !text.is_empty() => Some(text.as_str()),
        _ => None,
    };
    Some(WebhookSettings {
        listen: text("copilot.listen")?.parse().ok()?,
        certificate_file: text("copilot.certificate_file").map(PathBuf::from),
        key_file: text("copilot.key_file").map(PathBuf::from),
        github: text("copilot.github").unwrap_or_default().into(),
        github_ca_file: text("copilot.github_ca_file").map(PathBuf::from),
    })
}
