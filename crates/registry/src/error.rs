//! Why nothing comes of what a registry says.

use legation_oauth::BadUrl;
use legation_oauth::fetch::FetchError;

/// A registry, or what it led to, that cannot be used.
#[derive(Debug, Clone, thiserror::Error)]
pub enum RegistryError {
    /// It could not be asked, or must not be.
    #[error("the registry was not read")]
    Fetch(#[source] FetchError),
    /// A bundle could not be had.
    #[error("the bundle was not read")]
    Download(#[source] FetchError),
    /// An address that is none.
    #[error("{what} {why}")]
    Address {
        /// Which.
        what: String,
        /// What is wrong with it.
        #[source]
        why: BadUrl,
    },
    /// It answered with another status than 200.
    #[error("{host} answered with status {status}")]
    Status {
        /// Which host.
        host: String,
        /// Its answer.
        status: u16,
    },
    /// It does not know the server or the version.
    #[error("the registry knows no {name}")]
    Unknown {
        /// What was asked for.
        name: String,
    },
    /// Its answer is none of a registry.
    #[error("the registry's answer cannot be read: {why}")]
    Unreadable {
        /// Why not.
        why: String,
    },
    /// It answered about something else.
    #[error("the registry was asked for {asked} and answered with {answered}")]
    Another {
        /// What was asked for.
        asked: String,
        /// What came.
        answered: String,
    },
    /// Its list does not end.
    #[error("the registry's list does not end: {why}")]
    Endless {
        /// Why that is known.
        why: &'static str,
    },
    /// A file that is not the one that was described.
    #[error("the bundle's SHA-256 is {found}, and should be {wanted}")]
    Hash {
        /// What it should be.
        wanted: String,
        /// What it is.
        found: String,
    },
    /// A hash that is none.
    #[error("that is no SHA-256")]
    NoHash,
    /// Something is needed first.
    #[error("{key} has to be answered first")]
    Unanswered {
        /// What.
        key: String,
    },
    /// A name that no registry could know.
    #[error("{name} is no name of a registry's server")]
    Name {
        /// The name.
        name: String,
    },
}

// === impl RegistryError ===

impl RegistryError {
    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Fetch(FetchError::Private { .. } | FetchError::Plain { .. })
            | Self::Download(FetchError::Private { .. } | FetchError::Plain { .. }) => {
                "if the host is yours, name its address yourself: `legation mcp add NAME --url URL`, or `mcp install URL --sha256 HASH`"
            }
            Self::Fetch(FetchError::TooLarge { .. } | FetchError::Redirect { .. })
            | Self::Unreadable { .. }
            | Self::Another { .. }
            | Self::Endless { .. } => {
                "ask who runs the registry, or use another with --registry URL"
            }
            Self::Download(FetchError::TooLarge { .. } | FetchError::Redirect { .. })
            | Self::Hash { .. } => "do not use it; tell who publishes the server",
            Self::Fetch(_) | Self::Download(_) | Self::Status { .. } => {
                "check the network and `registry.url`, and try again"
            }
            Self::Address { .. } => "write it as https://HOST/PATH",
            Self::Unknown { .. } => "`legation mcp search WORDS` finds servers",
            Self::NoHash => "a SHA-256 has 64 hexadecimal digits; who publishes the bundle says it",
            Self::Unanswered { .. } => "say it with --set KEY=VALUE",
            Self::Name { .. } => {
                "a name is like io.github.owner/server; `legation mcp search WORDS` finds it"
            }
        }
    }
}
