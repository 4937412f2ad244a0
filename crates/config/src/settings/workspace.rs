//! `[workspace]`: commands in the folders that clients work in.

use std::path::PathBuf;
use std::time::Duration;

use super::layers::{Value, Values};

/// What the tool `bash` may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkspaceSettings {
    /// `bash`.
    pub bash: BashMode,
    /// `bash_network` is `host`.
    pub bash_network: bool,
    /// `bash_read`.
    pub bash_read: Vec<PathBuf>,
    /// `bash_write`.
    pub bash_write: Vec<PathBuf>,
    /// `bash_env`: names of variables.
    pub bash_env: Vec<Box<str>>,
    /// `bash_timeout_ms`.
    pub bash_timeout: Duration,
    /// `language_servers`: patterns of files, a colon, and a command.
    pub language_servers: Vec<Box<str>>,
}

/// Whether and how commands are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BashMode {
    /// Behind walls, or not at all.
    Confined,
    /// With all that the hub's user may do.
    Unconfined,
    /// Never.
    Off,
}

pub(super) fn read(values: &Values) -> WorkspaceSettings {
    let word = |key: &str, word: &str| matches!(&values[key].value, Value::Text(is) if is == word);
    let texts = |key: &str| match &values[key].value {
        Value::Texts(texts) => texts.as_slice(),
        _ => &[],
    };
    let folders = |key: &str| texts(key).iter().map(PathBuf::from).collect();
    let words = |key: &str| texts(key).iter().map(|text| text.as_str().into()).collect();
    let bash = match () {
        () if word("workspace.bash", "unconfined") => BashMode::Unconfined,
        () if word("workspace.bash", "confined") => BashMode::Confined,
        () => BashMode::Off,
    };
    WorkspaceSettings {
        bash,
        bash_network: word("workspace.bash_network", "host"),
        bash_read: folders("workspace.bash_read"),
        bash_write: folders("workspace.bash_write"),
        bash_env: words("workspace.bash_env"),
        bash_timeout: super::millis(values, "workspace.bash_timeout_ms"),
        language_servers: words("workspace.language_servers"),
    }
}
