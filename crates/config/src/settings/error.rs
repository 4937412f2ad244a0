//! Why settings are refused. Nothing binds or starts before they are read.

use thiserror::Error;

use super::Place;
use crate::file::ReadError;

/// Settings that cannot be used; no layer of them is in force.
#[derive(Debug, Error)]
pub enum SettingsError {
    /// The file cannot be read.
    #[error("the settings cannot be read")]
    Read(#[source] ReadError),
    /// Not TOML.
    #[error("{place}: {message}")]
    Syntax {
        /// Where.
        place: Place,
        /// What the reader says.
        message: String,
    },
    /// A key that does not exist.
    #[error("{place}: there is no setting `{key}`")]
    UnknownKey {
        /// Where.
        place: Place,
        /// The key.
        key: String,
        /// The key it is most likely meant to be.
        nearest: Option<String>,
    },
    /// A value that the key does not take.
    #[error("{place}: {key} is {found}, which is not {wanted}")]
    BadValue {
        /// Where.
        place: Place,
        /// The key.
        key: String,
        /// The value.
        found: String,
        /// What the key takes.
        wanted: String,
    },
    /// A view whose name cannot stand in an address.
    #[error("{place}: {name:?} cannot be the name of a view")]
    BadViewName {
        /// Where.
        place: Place,
        /// The name.
        name: String,
    },
    /// An account whose name cannot stand in a variable.
    #[error("{place}: {name:?} cannot be the name of an account")]
    BadAccountName {
        /// Where.
        place: Place,
        /// The name.
        name: String,
    },
    /// An account without what every account has.
    #[error("{place}: the account has no `{key}`")]
    MissingKey {
        /// Where the account begins.
        place: Place,
        /// The key.
        key: String,
        /// The variable that would set it.
        variable: String,
    },
    /// A secret in a file that is copied and shown.
    #[error("{place}: {key} is a secret, which does not belong in this file; it was not read")]
    SecretInFile {
        /// Where.
        place: Place,
        /// The key.
        key: String,
        /// The variable that may hold it.
        variable: String,
    },
    /// An address that other machines can reach.
    #[error(
        "{place}: listening on {address} is refused, other machines could reach it without TLS and OAuth"
    )]
    BeyondLoopback {
        /// Where.
        place: Place,
        /// The address.
        address: std::net::SocketAddr,
    },
}

// === impl SettingsError ===

impl SettingsError {
    /// What to do next.
    pub fn hint(&self) -> String {
        match self {
            Self::Read(error) => format!("Check that you may read {}.", error.path.display()),
            Self::Syntax { .. } => "Correct that line.".to_owned(),
            Self::UnknownKey {
                nearest: Some(nearest),
                ..
            } => format!("Did you mean `{nearest}`?"),
            Self::UnknownKey { nearest: None, .. } => {
                "`legation config list` names all settings.".to_owned()
            }
            Self::BadValue { wanted, .. } => format!("Write {wanted}."),
            Self::BadViewName { .. } => {
                "Use 1 to 64 letters, digits, dashes and underscores.".to_owned()
            }
            Self::BadAccountName { .. } => {
                "Use 1 to 32 small letters, digits and dashes, a letter first.".to_owned()
            }
            Self::MissingKey { key, variable, .. } if key.ends_with(".entity") => format!(
                "Say whose data the account reads: write `entity` or set {variable}. \
                 An installation that has declared no entities has one, `personal`."
            ),
            Self::MissingKey { variable, .. } => format!("Write it, or set {variable}."),
            Self::SecretInFile { variable, .. } => format!(
                "Remove it there, and renew it if others could read it; keep it in the keystore or set {variable}."
            ),
            Self::BeyondLoopback { .. } => {
                "Listen on 127.0.0.1 or [::1], and reach it from elsewhere through a tunnel."
                    .to_owned()
            }
        }
    }
}
