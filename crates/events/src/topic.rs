//! What can be asked for by name: kinds of the hub's own, and those of servers behind it.

use std::sync::Arc;

use legation_core::ServerName;
use legation_wire::json::{Object, Raw};

use crate::{Family, Kind};

/// Longest name, in bytes.
const NAME_MAX: usize = 256;

/// A name of the list.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Topic {
    /// One of the hub's own.
    Own(Kind),
    /// A server's, as it is named here: `SERVER/NAME`, which no kind of the hub's is.
    OfServer(Arc<str>),
}

/// A kind of event that a server offers, as the list shows it.
#[derive(Debug, Clone)]
pub struct ServerTopic {
    /// Whose it is.
    pub server: ServerName,
    /// The server's own name of it.
    pub name: Box<str>,
    /// What the server says of its data, where it does.
    pub payload_schema: Option<Raw>,
}

/// What servers offer, as far as that is known.
pub trait Topics: Send + Sync + std::fmt::Debug {
    /// Everything.
    fn all(&self) -> Vec<ServerTopic>;

    /// Whether a server offers a kind; `None` where it has not said yet what it offers.
    fn is_offered(&self, server: &ServerName, name: &str) -> Option<bool>;
}

// === impl Topic ===

impl Topic {
    /// A server's kind under the name that it has here.
    #[must_use]
    pub fn of_server(server: &ServerName, name: &str) -> Self {
        Self::OfServer(format!("{server}/{name}").into())
    }

    /// Its name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Own(kind) => kind.as_str(),
            Self::OfServer(name) => name,
        }
    }

    /// What a name means; `None` where it can be nothing's.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        if let Some(kind) = Kind::parse(name) {
            return Some(Self::Own(kind));
        }
        let topic = Self::OfServer(name.into());
        (name.len() <= NAME_MAX && topic.server().is_some()).then_some(topic)
    }

    /// The server whose it is, and the server's own name of it.
    #[must_use]
    pub fn server(&self) -> Option<(ServerName, &str)> {
        match self {
            Self::Own(_) => None,
            Self::OfServer(name) => {
                // No name of a server holds a slash.
                let (server, own) = name.split_once('/')?;
                let server = ServerName::parse(server).ok()?;
                (!own.is_empty()).then_some((server, own))
            }
        }
    }

    /// Its family.
    #[must_use]
    pub fn family(&self) -> Family {
        match self {
            Self::Own(kind) => kind.family(),
            Self::OfServer(_) => Family::Servers,
        }
    }
}

// === impl ServerTopic ===

impl ServerTopic {
    /// Its entry in `events/list`.
    pub(crate) fn definition(&self) -> Raw {
        let topic = Topic::of_server(&self.server, &self.name);
        let description = format!(
            "The event {} of the server {}, as the server tells it. Untrusted text of others.",
            self.name, self.server
        );
        let mut definition = Object::new()
            .with("name", Raw::str(topic.as_str()))
            .with("description", Raw::str(&description))
            .with("delivery", Raw::from_static(r#"["poll","push","webhook"]"#))
            .with("inputSchema", Raw::from_static(crate::kind::OWN_INPUT));
        let schema = self.payload_schema.clone();
        let any = || Raw::from_static(r#"{"type":"object"}"#);
        definition.set("payloadSchema", schema.unwrap_or_else(any));
        definition.to_raw()
    }
}
