//! The process environment, read in this one place.
//!
//! Everything else takes an [`Environment`], so a test states the environment
//! it runs in and `clippy.toml` can ban `std::env` everywhere else.

mod child;
mod dotenv;
mod expand;
mod keyring;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use legation_core::Home;
use thiserror::Error;

pub use expand::{SecretTemplate, Template, TemplateError};
pub use keyring::{Keyring, is_secret_name};

pub(crate) use dotenv::dotenv;
pub(crate) use expand::{escaped, expand, first_problem, keyring_names, respelled};
pub(crate) use keyring::KEYRING;

use keyring::Kept;

/// Names and values as they were when the process started. `Debug` prints the
/// names only: values are where people keep their tokens.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Environment {
    vars: BTreeMap<OsString, OsString>,
    /// Where `${keyring:NAME}` leads.
    keyring: Kept,
}

/// There is no place for the data directory.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("neither LEGATION_HOME nor HOME is an absolute path, so there is no data directory")]
pub struct NoHome;

// === impl Environment ===

impl Environment {
    /// The environment of this process.
    pub fn from_process() -> Self {
        Self {
            vars: std::env::vars_os().collect(),
            keyring: Kept::default(),
        }
    }

    /// An environment made of these pairs and nothing else.
    pub fn from_pairs<N: Into<OsString>, V: Into<OsString>>(
        pairs: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        Self {
            vars: pairs
                .into_iter()
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
            keyring: Kept::default(),
        }
    }

    /// The same, with a place where `${keyring:NAME}` leads.
    #[must_use]
    pub fn with_keyring(mut self, keyring: Arc<dyn Keyring>) -> Self {
        self.keyring = Kept::of(keyring);
        self
    }

    /// What a reference stands for: a variable, or for `keyring:NAME` a secret.
    pub(crate) fn lookup(&self, name: &str) -> Option<Cow<'_, str>> {
        match name.strip_prefix(KEYRING) {
            Some(secret) => self.keyring.get(secret).map(Cow::Owned),
            None => self.get(name).map(Cow::Borrowed),
        }
    }

    /// The value of `name`, if it is set and is Unicode.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.get_os(name)?.to_str()
    }

    /// The value of `name` as the system holds it.
    pub fn get_os(&self, name: &str) -> Option<&OsStr> {
        self.vars.get(OsStr::new(name)).map(OsString::as_os_str)
    }

    /// The rest, and the variables that hold an account's secret or are `others`.
    #[must_use]
    pub fn split_secrets(
        &self,
        others: impl Fn(&str) -> bool,
    ) -> (Self, Vec<(OsString, OsString)>) {
        let mut rest = self.clone();
        let secrets = rest.vars.extract_if(.., |name, _| {
            let name = name.to_str();
            name.is_some_and(|name| crate::settings::is_secret_variable(name) || others(name))
        });
        let secrets = secrets.collect();
        (rest, secrets)
    }

    /// The same without one variable.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        drop(self.vars.remove(OsStr::new(name)));
        self
    }

    /// The same with more variables.
    #[must_use]
    pub fn with(mut self, pairs: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        self.vars.extend(pairs);
        self
    }

    /// Every pair, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.vars
            .iter()
            .map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }

    /// `$LEGATION_HOME`, else `.legation` in the user's home directory.
    ///
    /// # Errors
    ///
    /// [`NoHome`] when neither is set to an absolute path. A relative one is
    /// refused rather than resolved, because two commands run from two
    /// folders would then own two data directories.
    pub fn legation_home(&self) -> Result<Home, NoHome> {
        if let Some(home) = self.get_os("LEGATION_HOME").filter(|home| !home.is_empty()) {
            let home = PathBuf::from(home);
            return if home.is_absolute() {
                Ok(Home::at(home))
            } else {
                Err(NoHome)
            };
        }
        self.user_home()
            .map(|home| Home::at(home.join(".legation")))
            .ok_or(NoHome)
    }

    /// The user's own home directory.
    pub fn user_home(&self) -> Option<PathBuf> {
        let name = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
        self.get_os(name)
            .map(PathBuf::from)
            .filter(|home| home.is_absolute())
    }

    /// What a child process inherits: the variables a program needs to run at
    /// all, and none that could hold somebody's secret. See
    /// [`Environment::child`] for what is configured on top.
    pub fn inherited_by_children(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.iter()
            .filter(|(name, value)| child::inherits(name, value))
    }

    /// The whole environment of a child: what it inherits, overlaid with
    /// `configured`.
    pub fn child(
        &self,
        configured: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Vec<(OsString, OsString)> {
        let mut all: BTreeMap<OsString, OsString> = self
            .inherited_by_children()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        all.extend(configured);
        all.into_iter().collect()
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.vars.keys()).finish()
    }
}

// === impl NoHome ===

impl NoHome {
    /// What to do next.
    pub fn hint(&self) -> &'static str {
        "Set LEGATION_HOME to an absolute path."
    }
}

#[cfg(test)]
mod tests;
