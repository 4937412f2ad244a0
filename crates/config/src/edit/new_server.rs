//! A new entry, from plain values to what the file holds.

use std::fmt;

use serde_json::{Map, Value, json};

use crate::servers::{EnvMode, EraChoice, Instance};

/// The content of a new entry. Texts may hold references.
#[derive(Clone, Debug, Default)]
pub struct NewServer {
    /// How it is reached.
    pub transport: NewTransport,
    /// Its tools; empty means all.
    pub tools: Vec<String>,
    /// How long a call may take.
    pub timeout_ms: Option<u64>,
    /// What people read.
    pub display_name: Option<String>,
    /// Which era to speak, where it is not to be asked.
    pub era: Option<EraChoice>,
    /// Who shares an instance, where it is not the default.
    pub instance: Option<Instance>,
    /// What flat names begin with, where it is not the name.
    pub prefix: Option<String>,
    /// How `env` is read, where it is not the hub's setting.
    pub env_mode: Option<EnvMode>,
}

/// How a new server is reached.
#[derive(Clone)]
pub enum NewTransport {
    /// A child process.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Its working directory.
        cwd: Option<String>,
        /// Its variables, in order.
        env: Vec<(String, String)>,
    },
    /// Streamable HTTP.
    Http {
        /// The endpoint.
        url: String,
        /// Its headers, in order.
        headers: Vec<(String, String)>,
    },
}

// === impl NewServer ===

impl NewServer {
    pub(super) fn to_wire(&self) -> Value {
        let mut entry = Map::new();
        match &self.transport {
            NewTransport::Stdio {
                command,
                args,
                cwd,
                env,
            } => {
                entry.insert("type".to_owned(), json!("stdio"));
                entry.insert("command".to_owned(), json!(command));
                entry.insert("args".to_owned(), json!(args));
                if let Some(cwd) = cwd {
                    entry.insert("cwd".to_owned(), json!(cwd));
                }
                insert_pairs(&mut entry, "env", env);
            }
            NewTransport::Http { url, headers } => {
                entry.insert("type".to_owned(), json!("http"));
                entry.insert("url".to_owned(), json!(url));
                insert_pairs(&mut entry, "headers", headers);
            }
        }
        // Some of the clients that read this file want it spelled out.
        let tools = if self.tools.is_empty() {
            json!(["*"])
        } else {
            json!(self.tools)
        };
        entry.insert("tools".to_owned(), tools);
        let optional = [
            ("timeout", self.timeout_ms.map(|ms| json!(ms))),
            (
                "displayName",
                self.display_name.as_ref().map(|name| json!(name)),
            ),
            ("era", self.era.map(|era| json!(era.as_str()))),
            (
                "instance",
                self.instance.map(|instance| json!(instance.as_str())),
            ),
            ("prefix", self.prefix.as_ref().map(|prefix| json!(prefix))),
            ("envMode", self.env_mode.map(|mode| json!(mode.as_str()))),
        ];
        for (key, value) in optional {
            if let Some(value) = value {
                entry.insert(key.to_owned(), value);
            }
        }
        Value::Object(entry)
    }
}

fn insert_pairs(entry: &mut Map<String, Value>, key: &str, pairs: &[(String, String)]) {
    if !pairs.is_empty() {
        let pairs = pairs
            .iter()
            .map(|(name, value)| (name.clone(), json!(value)));
        entry.insert(key.to_owned(), Value::Object(pairs.collect()));
    }
}

// === impl NewTransport ===

impl Default for NewTransport {
    fn default() -> Self {
        Self::Stdio {
            command: String::new(),
            args: Vec::new(),
            cwd: None,
            env: Vec::new(),
        }
    }
}

impl fmt::Debug for NewTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdio { command, .. } => f
                .debug_struct("Stdio")
                .field("command", command)
                .finish_non_exhaustive(),
            Self::Http { .. } => f.debug_struct("Http").finish_non_exhaustive(),
        }
    }
}
