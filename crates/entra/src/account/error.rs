//! Settings that make no account.

use std::io;
use std::path::PathBuf;

use crate::http::{HttpError, UrlError};

/// Settings that make no account; nothing was asked of anybody.
#[derive(Debug, thiserror::Error)]
pub enum AccountError {
    /// A cloud that is none.
    #[error("the account `{account}` is in the cloud {word:?}, which is none")]
    Cloud {
        /// The account.
        account: Box<str>,
        /// The word.
        word: Box<str>,
    },
    /// A tenant that cannot be one.
    #[error(
        "the account `{account}` has the tenant {tenant:?}, which is neither an id nor a domain"
    )]
    Tenant {
        /// The account.
        account: Box<str>,
        /// The tenant.
        tenant: Box<str>,
    },
    /// An address that is none.
    #[error("`{key}` of the account `{account}` cannot be used")]
    Address {
        /// The account.
        account: Box<str>,
        /// The key.
        key: &'static str,
        /// Why.
        #[source]
        source: UrlError,
    },
    /// The certificates cannot be read.
    #[error("`ca_file` of the account `{account}`, {}, cannot be read", path.display())]
    CaFile {
        /// The account.
        account: Box<str>,
        /// The file.
        path: PathBuf,
        /// The system's own words.
        #[source]
        source: io::Error,
    },
    /// TLS cannot be used.
    #[error("the account `{account}` cannot be used")]
    Tls {
        /// The account.
        account: Box<str>,
        /// Why.
        #[source]
        source: HttpError,
    },
}

// === impl AccountError ===

impl AccountError {
    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Cloud { .. } => {
                let words = super::Cloud::ALL.map(super::Cloud::as_str);
                format!("write one of {}", words.join(", "))
            }
            Self::Tenant { .. } => "write the tenant's id or one of its domains".to_owned(),
            Self::Address { .. } => "write an https address of a host".to_owned(),
            Self::CaFile { .. } => "see that the file is there and can be read".to_owned(),
            Self::Tls { source, .. } => source.hint().to_owned(),
        }
    }
}
