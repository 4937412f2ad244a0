//! Every id is a type of its own, registered here, so that a signature says
//! which one it takes and the compiler holds callers to it. Most are short and lie where they are used: a text that
//! is shared has a count of its holders, which every call would write to from whichever processor it runs on.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use smol_str::SmolStr;

/// Longest accepted server name, in bytes.
pub const SERVER_NAME_MAX: usize = 128;

/// Why a server name was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ServerNameError {
    /// Nothing, or only white space.
    #[error("a server name cannot be empty")]
    Empty,
    /// Longer than [`SERVER_NAME_MAX`].
    #[error("a server name has at most {SERVER_NAME_MAX} bytes, this one has {len}")]
    TooLong {
        /// Bytes given.
        len: usize,
    },
    /// White space at either end, which no one can see in a listing.
    #[error("server name {name:?} starts or ends with white space")]
    Padded {
        /// The name as given.
        name: String,
    },
    /// A control character.
    #[error("server name {name:?} has a control character")]
    Control {
        /// The name as given.
        name: String,
    },
    /// A slash at either end or two in a row: `server/tool` could not be read back.
    #[error("server name {name:?} has a leading, trailing or doubled slash")]
    Slash {
        /// The name as given.
        name: String,
    },
}

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(SmolStr);

        impl $name {
            /// The id as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", stringify!($name), self.0)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }
    };
}

macro_rules! free_id {
    ($(#[$doc:meta])* $name:ident) => {
        text_id!($(#[$doc])* $name);

        impl $name {
            /// Wraps text that is already known to be an id of this kind.
            #[must_use]
            pub fn new(text: impl Into<SmolStr>) -> Self {
                Self(text.into())
            }

            /// A fresh id: 128 random bits in hexadecimal.
            ///
            /// # Errors
            /// When the operating system has no randomness to give.
            pub fn random() -> Result<Self, getrandom::Error> {
                random_hex().map(Self::new)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer).map(Self::new)
            }
        }
    };
}

text_id!(
    /// The name of a server as the owner wrote it in a configuration.
    ServerName
);
free_id!(
    /// An agent with a credential of its own (`claude`, `codex`, …).
    ClientId
);

impl ClientId {
    /// Somebody whom a client of several people acts for. A credential's name has no slash, so
    /// nobody can be called so otherwise.
    #[must_use]
    pub fn member(family: &str, name: &str) -> Self {
        Self::new(format!("{family}/{name}"))
    }

    /// The name that rules speak of: of a client of several people the one they have in common.
    #[must_use]
    pub fn family(&self) -> &str {
        let text = self.as_str();
        text.split_once('/').map_or(text, |(family, _)| family)
    }

    /// For which of its people a client acts, where it is of several.
    #[must_use]
    pub fn acts_for(&self) -> Option<&str> {
        self.as_str().split_once('/').map(|(_, name)| name)
    }
}

free_id!(
    /// One running instance of a client: a bridge, a legacy HTTP session, or a
    /// credential with a set of capabilities. `instance: client` keys on it.
    SeatId
);
free_id!(
    /// A business whose data must not mix with another's.
    EntityId
);
free_id!(
    /// One start of the hub; it tells a bridge that the hub was restarted.
    BootId
);
free_id!(
    /// The hub's own name for an upstream's task.
    TaskHandle
);
free_id!(
    /// A shared conversation (`ses_…`).
    SessionId
);
free_id!(
    /// A piece of work that somebody delegated (`task_…`).
    TaskId
);
free_id!(
    /// A call that waits for a person, as people say it (`7K2QXM`).
    ApprovalId
);
free_id!(
    /// A change that was proposed, as people say it (`P-7K2QXM`).
    ProposalId
);

// === impl ServerName ===

impl ServerName {
    /// Checks a name and takes it.
    ///
    /// # Errors
    /// See [`ServerNameError`].
    pub fn parse(name: &str) -> Result<Self, ServerNameError> {
        if name.trim().is_empty() {
            return Err(ServerNameError::Empty);
        }
        if name.len() > SERVER_NAME_MAX {
            return Err(ServerNameError::TooLong { len: name.len() });
        }
        if name.trim() != name {
            return Err(ServerNameError::Padded {
                name: name.to_owned(),
            });
        }
        if name.chars().any(char::is_control) {
            return Err(ServerNameError::Control {
                name: name.to_owned(),
            });
        }
        if name.starts_with('/') || name.ends_with('/') || name.contains("//") {
            return Err(ServerNameError::Slash {
                name: name.to_owned(),
            });
        }
        Ok(Self(name.into()))
    }
}

impl<'de> Deserialize<'de> for ServerName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

// === impl EntityId ===

impl EntityId {
    /// The only entity of an installation that has declared no other.
    #[must_use]
    pub fn personal() -> Self {
        Self::new("personal")
    }
}

/// 128 random bits as 32 hexadecimal digits.
///
/// # Errors
/// When the operating system has no randomness to give.
pub fn random_hex() -> Result<String, getrandom::Error> {
    let mut bytes = [0u8; 16];
    getrandom::fill(&mut bytes)?;
    Ok(hex(&bytes))
}

/// Lower-case hexadecimal.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    text
}

#[cfg(test)]
mod tests;
