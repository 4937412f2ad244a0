//! What the tools take. Names that models know from elsewhere are understood.

use legation_wire::json::Object;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::error::WorkspaceError;

#[derive(Debug, Deserialize)]
pub(super) struct ReadArguments {
    #[serde(alias = "file_path", alias = "filename")]
    pub(super) path: String,
    /// The first line, counted from 1.
    #[serde(default, alias = "start_line")]
    pub(super) offset: Option<u64>,
    /// How many lines.
    #[serde(default, alias = "max_lines")]
    pub(super) limit: Option<u64>,
}

#[derive(Debug, Deserialize)]
pub(super) struct WriteArguments {
    #[serde(alias = "file_path", alias = "filename")]
    pub(super) path: String,
    #[serde(alias = "text", alias = "contents")]
    pub(super) content: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct EditArguments {
    #[serde(alias = "file_path", alias = "filename")]
    pub(super) path: String,
    #[serde(default)]
    pub(super) edits: Vec<Edit>,
    /// One edit without a list.
    #[serde(flatten)]
    pub(super) one: Option<Edit>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Edit {
    #[serde(alias = "old_string", alias = "old", alias = "search")]
    pub(super) old_text: String,
    #[serde(alias = "new_string", alias = "new", alias = "replace")]
    pub(super) new_text: String,
    /// Everywhere it stands, not once.
    #[serde(default, alias = "all")]
    pub(super) replace_all: bool,
}

#[derive(Debug, Deserialize)]
pub(super) struct GlobArguments {
    pub(super) pattern: String,
    #[serde(default)]
    pub(super) path: Option<String>,
    #[serde(default)]
    pub(super) limit: Option<usize>,
    /// Also what ignore files leave out.
    #[serde(default)]
    pub(super) ignored: bool,
}

#[derive(Debug, Deserialize)]
pub(super) struct GrepArguments {
    #[serde(alias = "query", alias = "regex")]
    pub(super) pattern: String,
    #[serde(default)]
    pub(super) path: Option<String>,
    #[serde(default, alias = "include")]
    pub(super) glob: Option<String>,
    #[serde(default)]
    pub(super) ignore_case: bool,
    /// The pattern is a text and no regular expression.
    #[serde(default)]
    pub(super) literal: bool,
    /// Lines shown around each match.
    #[serde(default)]
    pub(super) context: usize,
    #[serde(default)]
    pub(super) limit: Option<usize>,
    #[serde(default)]
    pub(super) output: GrepOutput,
    #[serde(default)]
    pub(super) ignored: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum GrepOutput {
    #[default]
    Lines,
    Files,
    Count,
}

#[derive(Debug, Deserialize)]
pub(super) struct BashArguments {
    #[serde(alias = "cmd")]
    pub(super) command: String,
    /// A folder below to run it in.
    #[serde(default, alias = "path")]
    pub(super) cwd: Option<String>,
    #[serde(default, alias = "timeout")]
    pub(super) timeout_ms: Option<u64>,
}

#[derive(Debug, Deserialize)]
pub(super) struct DiagnosticsArguments {
    #[serde(alias = "file_path", alias = "filename")]
    pub(super) path: String,
}

/// The arguments of a call.
pub(super) fn read<T: DeserializeOwned>(arguments: &Object) -> Result<T, WorkspaceError> {
    let raw = arguments.to_raw();
    serde_json::from_str(raw.as_text())
        .map_err(|error| WorkspaceError::arguments(format!("the arguments do not fit: {error}")))
}
