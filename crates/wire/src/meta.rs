//! Keys of `_meta`, and taking a request's era metadata out of its parameters and back in
//! (2026-07-28, base protocol, `_meta`).

use crate::json::{Object, Raw};
use crate::revision::Revision;

/// The member that holds metadata in parameters and results.
pub const META: &str = "_meta";
/// Prefix of the protocol's own keys.
pub const PROTOCOL_PREFIX: &str = "io.modelcontextprotocol/";
/// Prefix of keys that the hub itself adds.
pub const OWN_PREFIX: &str = "io.legation/";
/// Revision of a request; required in 2026-07-28.
pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// Capabilities of the client for this request; required in 2026-07-28.
pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// Name and version of the client.
pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
/// Least severity of log messages wanted for this request.
pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// Name and version of the server, in a result.
pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// JSON-RPC id of the `subscriptions/listen` that a notification belongs to.
pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
/// Task that a message belongs to (2025-11-25).
pub const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";
/// What the model may be told before a task is done (2025-11-25).
pub const MODEL_IMMEDIATE_RESPONSE: &str = "io.modelcontextprotocol/model-immediate-response";
/// Token under which progress is reported; the same in every revision.
pub const PROGRESS_TOKEN: &str = "progressToken";

/// What a modern request says about its sender; every member as it was sent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EraMeta {
    /// Revision, any string.
    pub protocol_version: Option<Raw>,
    /// Capabilities.
    pub client_capabilities: Option<Raw>,
    /// Name and version.
    pub client_info: Option<Raw>,
    /// Log level.
    pub log_level: Option<Raw>,
}

// === impl EraMeta ===

impl EraMeta {
    /// Looks at a request's era metadata without changing the parameters.
    pub fn read(params: &Object) -> Self {
        let meta = params
            .get(META)
            .and_then(Raw::to_object)
            .unwrap_or_default();
        Self {
            protocol_version: meta.get(PROTOCOL_VERSION).cloned(),
            client_capabilities: meta.get(CLIENT_CAPABILITIES).cloned(),
            client_info: meta.get(CLIENT_INFO).cloned(),
            log_level: meta.get(LOG_LEVEL).cloned(),
        }
    }

    /// Takes a request's era metadata out of its parameters. Other metadata stays; a `_meta`
    /// that becomes empty goes.
    pub fn take(params: &mut Object) -> Self {
        let mut taken = Self::default();
        take_out(params, |meta| taken = Self::take_from(meta));
        taken
    }

    /// As [`EraMeta::take`], from the `_meta` object itself.
    pub fn take_from(meta: &mut Object) -> Self {
        Self {
            protocol_version: meta.remove(PROTOCOL_VERSION),
            client_capabilities: meta.remove(CLIENT_CAPABILITIES),
            client_info: meta.remove(CLIENT_INFO),
            log_level: meta.remove(LOG_LEVEL),
        }
    }

    /// Puts this metadata into a request's parameters.
    pub fn insert(&self, params: &mut Object) {
        edit(params, |meta| self.put_into(meta));
    }

    /// As [`EraMeta::insert`], into the `_meta` object itself.
    pub fn put_into(&self, meta: &mut Object) {
        for (key, value) in self.members() {
            if let Some(value) = value {
                meta.set(key, value.clone());
            }
        }
    }

    /// This metadata as the beginning of a `_meta`, which [`complete`] ends.
    pub(crate) fn begin_meta(&self) -> Vec<u8> {
        let members = self.members();
        let values = members.iter().filter_map(|(_, value)| value.as_ref());
        let size = values.map(|value| value.as_bytes().len()).sum::<usize>();
        let mut out = Vec::with_capacity(size + 256);
        for (key, value) in members {
            if let Some(value) = value {
                write_name(&mut out, key);
                out.extend_from_slice(value.as_bytes());
            }
        }
        out
    }

    fn members(&self) -> [(&'static str, &Option<Raw>); 4] {
        [
            (PROTOCOL_VERSION, &self.protocol_version),
            (CLIENT_CAPABILITIES, &self.client_capabilities),
            (CLIENT_INFO, &self.client_info),
            (LOG_LEVEL, &self.log_level),
        ]
    }

    /// The revision, if it is one that is spoken here.
    pub fn revision(&self) -> Option<Revision> {
        self.protocol_version
            .as_ref()?
            .to_str()
            .and_then(|text| Revision::parse(&text))
    }

    /// Whether the request claims the modern era at all.
    pub fn is_modern(&self) -> bool {
        self.protocol_version.is_some()
    }
}

/// Ends what [`EraMeta::begin_meta`] began with what differs from call to call.
pub(crate) fn complete(begun: &[u8], log_level: Option<&str>, token: Option<i64>) -> Raw {
    // Without room to spare the text needs no second allocation to be shared.
    let level = log_level.map_or(0, |level| level.len() + 64);
    let more = level + token.map_or(0, |_| 64);
    let mut out = Vec::with_capacity(begun.len().max(1) + more + 1);
    out.extend_from_slice(begun);
    if let Some(level) = log_level {
        write_name(&mut out, LOG_LEVEL);
        crate::json::write_string(&mut out, level);
    }
    if let Some(token) = token {
        write_name(&mut out, PROGRESS_TOKEN);
        crate::json::write_int(&mut out, token);
    }
    if out.is_empty() {
        out.push(b'{');
    }
    out.push(b'}');
    Raw::from_checked(out.into())
}

/// Begins a member of an object that nothing is in but members begun here. These names have
/// nothing to escape.
fn write_name(out: &mut Vec<u8>, name: &str) {
    out.push(if out.is_empty() { b'{' } else { b',' });
    out.push(b'"');
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":");
}

/// Reads one key of `_meta`.
pub fn get(object: &Object, key: &str) -> Option<Raw> {
    object.get(META)?.get(key)
}

/// Sets one key of `_meta`, creating it where needed.
pub fn set(object: &mut Object, key: &str, value: Raw) {
    edit(object, |meta| meta.set(key, value));
}

/// Changes `_meta` as a whole; one that ends up empty is left out. What is there and not an
/// object is replaced.
pub fn edit(object: &mut Object, change: impl FnOnce(&mut Object)) {
    let mut meta = object
        .get(META)
        .and_then(Raw::to_object)
        .unwrap_or_default();
    change(&mut meta);
    put_meta(object, &meta);
}

/// Takes something out of `_meta`; one that becomes empty goes, one of which nothing is taken
/// stays as it was written.
pub fn take_out(object: &mut Object, take: impl FnOnce(&mut Object)) {
    let Some(mut meta) = object.get(META).and_then(Raw::to_object) else {
        return;
    };
    let before = meta.len();
    take(&mut meta);
    if meta.len() != before {
        put_meta(object, &meta);
    }
}

/// Takes one key out of `_meta`; a `_meta` that becomes empty goes.
pub fn remove(object: &mut Object, key: &str) -> Option<Raw> {
    let mut meta = object.get(META).and_then(Raw::to_object)?;
    let value = meta.remove(key)?;
    put_meta(object, &meta);
    Some(value)
}

/// Keeps the keys of `_meta` for which `keep` says so; a `_meta` that becomes empty goes.
pub fn retain(object: &mut Object, mut keep: impl FnMut(&str) -> bool) {
    let Some(mut meta) = object.get(META).and_then(Raw::to_object) else {
        return;
    };
    let before = meta.len();
    meta.retain(|key, _| keep(key));
    if meta.len() != before {
        put_meta(object, &meta);
    }
}

fn put_meta(object: &mut Object, meta: &Object) {
    if meta.is_empty() {
        object.remove(META);
    } else {
        object.set(META, meta.to_raw());
    }
}
