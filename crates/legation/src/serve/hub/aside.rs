//! What flags add to the servers of a run and leave out of it, and what does not count.

use std::sync::{Mutex, PoisonError};

use legation_config::ServerSpec;
use legation_config::servers::Hidden;
use legation_config::settings::{GithubAdded, GithubChoice, GithubSettings};

use super::HubOptions;

/// What stands beside the files of servers.
#[derive(Debug)]
pub(crate) struct Aside {
    /// `--additional-mcp-config`.
    pub(crate) additional: Vec<String>,
    /// Servers that are off for this run, by name or label.
    off: Vec<String>,
    /// Whether GitHub's server is left out like those of the hub's own.
    no_builtins: bool,
    /// What flags add to it.
    added: GithubAdded,
    /// What the owner wants of it, as the settings last held it in one piece.
    github: Mutex<GithubSettings>,
    /// Entries that do not count, because a stronger one has their name.
    hidden: Mutex<Vec<Hidden>>,
}

// === impl Aside ===

impl Aside {
    pub(super) fn of(options: &HubOptions) -> Self {
        Self {
            additional: options.additional.clone(),
            off: options.off.clone(),
            no_builtins: options.no_builtins,
            added: options.github.clone(),
            github: Mutex::new(options.settings.github.clone()),
            hidden: Mutex::new(Vec::new()),
        }
    }

    /// Remembers what the settings say of GitHub's server.
    pub(crate) fn set_github(&self, settings: &GithubSettings) {
        settings.clone_into(&mut self.github.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// What GitHub's server is to be in this run.
    pub(crate) fn github(&self) -> GithubSettings {
        let settings = self.github.lock().unwrap_or_else(PoisonError::into_inner);
        let mut settings = settings.clone().with(&self.added);
        if self.no_builtins {
            settings.builtin = GithubChoice::Off;
        }
        settings
    }

    /// Whether a flag switched a server off for this run.
    pub(crate) fn is_off(&self, server: &ServerSpec) -> bool {
        let label = server.label();
        let mut off = self.off.iter();
        off.any(|name| *name == *server.name.as_str() || **name == *label)
    }

    /// Remembers which entries do not count.
    pub(crate) fn set_hidden(&self, hidden: Vec<Hidden>) {
        *self.hidden.lock().unwrap_or_else(PoisonError::into_inner) = hidden;
    }

    /// Where the entries stand that do not count because of `server`'s.
    pub(crate) fn hidden_by(&self, server: &ServerSpec) -> Vec<String> {
        let hidden = self.hidden.lock().unwrap_or_else(PoisonError::into_inner);
        let mine = hidden
            .iter()
            .filter(|one| *one.name == *server.name.as_str() && one.by == server.source);
        mine.map(|one| one.source.to_string()).collect()
    }
}
