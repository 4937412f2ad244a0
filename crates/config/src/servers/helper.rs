//! The command that prints headers for a server behind a URL, as it is started.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use super::Source;
use super::resolve::Resolver;

/// What Claude Code calls the variables that it gives such a command; scripts are shared.
const SERVER_NAME: &str = "CLAUDE_CODE_MCP_SERVER_NAME";
const SERVER_URL: &str = "CLAUDE_CODE_MCP_SERVER_URL";
const PLUGIN_ROOT: &str = "CLAUDE_PLUGIN_ROOT";

/// `headersHelper`, ready to be run.
#[derive(Clone, PartialEq, Eq)]
pub struct ResolvedHelper {
    /// A line for the shell, as written.
    pub command: Box<str>,
    /// Where it runs: the folder that brought it along, else the user's home.
    pub cwd: Option<PathBuf>,
    /// Its whole environment: what every child inherits, and which server it is for. The
    /// address may hold a secret.
    pub env: Vec<(OsString, OsString)>,
}

// === impl Resolver ===

impl Resolver<'_> {
    /// The command `helper` for the server at `url`.
    pub(super) fn helper(&self, source: &Source, helper: &str, url: &str) -> ResolvedHelper {
        let environment = self.environment();
        let own = [
            (SERVER_NAME, OsString::from(self.server().as_str())),
            (SERVER_URL, OsString::from(url)),
        ];
        let mut own = own.to_vec();
        if let Source::Plugin { folder, .. } = source {
            own.push((PLUGIN_ROOT, folder.clone().into_os_string()));
        }
        let folder = source.trusted_folder().map(Path::to_path_buf);
        ResolvedHelper {
            command: helper.into(),
            cwd: folder.or_else(|| environment.user_home()),
            env: environment.child(own.into_iter().map(|(name, value)| (name.into(), value))),
        }
    }
}

// === impl ResolvedHelper ===

impl fmt::Debug for ResolvedHelper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResolvedHelper")
            .field("command", &self.command)
            .field("env", &self.env.len())
            .finish_non_exhaustive()
    }
}
