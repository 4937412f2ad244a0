//! Who a request comes from, in either era.

use std::sync::Arc;

use legation_wire::caps::ClientCapabilities;
use legation_wire::codes;
use legation_wire::json::{Kind, Object, Raw};
use legation_wire::message::ErrorObject;
use legation_wire::meta::EraMeta;
use legation_wire::revision::Revision;

use crate::level::Level;
use crate::session::Session;

/// A client as one request of it shows it.
#[derive(Debug, Clone)]
pub(crate) enum Speaker {
    /// It shook hands before.
    Legacy(Arc<Session>),
    /// It said everything in the request.
    Modern(Arc<Modern>),
}

/// What a modern request says about its sender.
#[derive(Debug, Clone)]
pub(crate) struct Modern {
    pub(crate) revision: Revision,
    pub(crate) capabilities: Arc<ClientCapabilities>,
    pub(crate) info: Option<Raw>,
    pub(crate) level: Option<Level>,
}

/// The metadata of a modern request, checked for presence and kind; the
/// revision may still be one that is not spoken here.
#[derive(Debug, Clone)]
pub(crate) struct Claim {
    pub(crate) version: Box<str>,
    pub(crate) capabilities: Raw,
    pub(crate) info: Option<Raw>,
    level: Option<Raw>,
}

// === impl Claim ===

impl Claim {
    /// Reads what a modern request must say (2026-07-28, basic, `_meta`).
    ///
    /// # Errors
    /// `-32602` when a required member is missing or of the wrong kind.
    pub(crate) fn read(params: &Object) -> Result<Self, ErrorObject> {
        Self::of(EraMeta::read(params))
    }

    /// As [`Claim::read`], of metadata that was taken out of the params.
    ///
    /// # Errors
    /// As there.
    pub(crate) fn of(era: EraMeta) -> Result<Self, ErrorObject> {
        let missing = |what: &str| {
            ErrorObject::new(
                codes::INVALID_PARAMS,
                &format!(
                    "_meta lacks {what}, or it is of the wrong kind; send it with every request"
                ),
            )
        };
        let version = era
            .protocol_version
            .as_ref()
            .and_then(|raw| raw.to_str().map(Box::<str>::from))
            .ok_or_else(|| missing("io.modelcontextprotocol/protocolVersion"))?;
        let capabilities = era
            .client_capabilities
            .filter(|raw| raw.kind() == Kind::Object)
            .ok_or_else(|| missing("io.modelcontextprotocol/clientCapabilities"))?;
        Ok(Self {
            version,
            capabilities,
            info: era.client_info,
            level: era.log_level,
        })
    }

    /// The revision, if it is one that works without a handshake here.
    ///
    /// # Errors
    /// `-32022` with what is supported.
    pub(crate) fn revision(&self) -> Result<Revision, ErrorObject> {
        match Revision::parse(&self.version) {
            Some(revision) if revision.is_modern() => Ok(revision),
            _ => Err(unsupported(&self.version)),
        }
    }

    /// The sender, its capabilities read already.
    pub(crate) fn modern(
        &self,
        revision: Revision,
        capabilities: Arc<ClientCapabilities>,
    ) -> Modern {
        Modern {
            revision,
            capabilities,
            info: self.info.clone(),
            level: self.level.as_ref().and_then(Level::from_raw),
        }
    }
}

/// The revisions that work without a handshake, as an array.
pub(crate) fn supported_versions() -> Raw {
    let versions: Vec<Raw> = Revision::ALL
        .into_iter()
        .filter(|revision| revision.is_modern())
        .map(|revision| Raw::str(revision.as_str()))
        .collect();
    Raw::array(&versions)
}

fn unsupported(requested: &str) -> ErrorObject {
    let data = Object::new()
        .with("supported", supported_versions())
        .with("requested", Raw::str(requested));
    ErrorObject::new(
        codes::UNSUPPORTED_VERSION,
        "this protocol version is not spoken here",
    )
    .with_data(data.to_raw())
}

/// The error for a client that did not declare what a request needs:
/// `required` is an object of capabilities.
pub(crate) fn missing_capability(what: &str, required: Raw) -> ErrorObject {
    ErrorObject::new(
        codes::MISSING_CAPABILITY,
        &format!("this needs a client that declares {what}"),
    )
    .with_data(
        Object::new()
            .with("requiredCapabilities", required)
            .to_raw(),
    )
}

// === impl Speaker ===

impl Speaker {
    pub(crate) fn revision(&self) -> Revision {
        match self {
            Self::Legacy(session) => session.revision(),
            Self::Modern(modern) => modern.revision,
        }
    }
}
