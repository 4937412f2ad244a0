//! The development tenant of the demo: a stand-in for Entra ID and Teams, so
//! that nobody needs an account anywhere to see an agent with an identity.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use legation_cli::{CliError, Exit};
use legation_config::Environment;
use legation_core::SharedClock;
use legation_devtenant::human::Human;
use legation_devtenant::server::{Options, Server};
use serde_json::{Value, json};

/// The account that the agent of the demo signs in with.
pub(crate) const ACCOUNT: &str = "demo";

/// A running tenant, in a folder of the demo's.
#[derive(Debug)]
pub(crate) struct DemoTenant {
    server: Server,
    folder: PathBuf,
    settings: Vec<(OsString, OsString)>,
}

/// What of the tenant's own settings is which of the account's.
const KEYS: [(&str, &str); 10] = [
    ("TENANT_ID", "TENANT_ID"),
    ("AUTHORITY_HOST", "AUTHORITY"),
    ("GRAPH_BASE", "GRAPH"),
    ("CA_BUNDLE", "CA_FILE"),
    ("CLIENT_ID", "CLIENT_ID"),
    ("API_CLIENT_ID", "API_CLIENT_ID"),
    ("API_CLIENT_SECRET", "CLIENT_SECRET"),
    ("BLUEPRINT_ID", "BLUEPRINT_ID"),
    ("BLUEPRINT_SECRET", "BLUEPRINT_SECRET"),
    ("AGENT_ID", "AGENT_ID"),
];

// === impl DemoTenant ===

impl DemoTenant {
    /// Starts one; it makes two keys first.
    pub(crate) async fn start(root: &Path, clock: SharedClock) -> Result<Self, CliError> {
        let folder = root.join("tenant");
        let env_file = root.join("tenant.env");
        let free = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
        let options = Options {
            listen: free,
            proxy: free,
            dir: folder.clone(),
            env_file: Some(env_file.clone()),
            control_command: Vec::new(),
            with_desk: true,
        };
        let failed = |error: &dyn std::fmt::Display| {
            let message = format!("the development tenant did not start: {error:#}");
            CliError::new(Exit::Failed, message)
        };
        let started = Server::start(options, clock).await;
        let server = started.map_err(|error| failed(&error))?;
        let text = std::fs::read_to_string(&env_file).map_err(|error| failed(&error))?;
        let mut tenant = Self {
            server,
            folder,
            settings: settings(&text),
        };
        let colleague = tenant.colleague_id().await?;
        tenant.set("ENTITY", "personal");
        tenant.set("DESK", "on");
        tenant.set("HUMAN", &colleague);
        Ok(tenant)
    }

    /// The environment of a hub whose agent signs in here. Whoever runs the
    /// demo may have settings and accounts of their own; they are not the demo's.
    pub(crate) fn environment(&self, own: &Environment) -> Environment {
        let own = own.iter().filter(|(name, _)| {
            let name = name.to_string_lossy();
            !name.starts_with("LEGATION_")
        });
        let own = own.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Environment::from_pairs(own).with(self.settings.clone())
    }

    /// Who lets the agent act for them.
    pub(crate) fn owner(&self) -> Human {
        Human::at(&self.folder)
    }

    /// Whom the agent writes to.
    pub(crate) fn colleague(&self) -> Human {
        Human::named(&self.folder, "blake.sample@first.example.com")
    }

    pub(crate) async fn stop(self) {
        if let Err(error) = self.server.stop().await {
            tracing::warn!(%error, "the development tenant did not end well");
        }
    }

    fn set(&mut self, key: &str, value: &str) {
        let name = format!("LEGATION_{}_{key}", ACCOUNT.to_uppercase());
        self.settings.push((name.into(), value.into()));
    }

    async fn colleague_id(&self) -> Result<String, CliError> {
        let tenants = self.owner().order("tenants", json!({})).await;
        let tenants = tenants.map_err(|error| CliError::new(Exit::Failed, format!("{error:#}")))?;
        let users = tenants[0]["users"].as_array().cloned().unwrap_or_default();
        let blake = users.iter().find(|user| {
            user["userPrincipalName"]
                .as_str()
                .is_some_and(|name| name.starts_with("blake"))
        });
        let id = blake.and_then(|user| user["id"].as_str().map(str::to_owned));
        id.ok_or_else(|| {
            CliError::new(
                Exit::Failed,
                "the development tenant has nobody to write to",
            )
        })
    }
}

/// The account's settings, out of what the tenant says to its clients.
fn settings(text: &str) -> Vec<(OsString, OsString)> {
    let value = |wanted: &str| {
        let mut pairs = text.lines().filter_map(|line| line.split_once('='));
        pairs
            .find(|(name, _)| *name == wanted)
            .map(|(_, value)| value)
    };
    let account = ACCOUNT.to_uppercase();
    let pairs = KEYS.iter().filter_map(|(theirs, ours)| {
        Some((
            format!("LEGATION_{account}_{ours}").into(),
            value(theirs)?.into(),
        ))
    });
    pairs.collect()
}

/// A member of an answer, as text.
pub(super) fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or("?")
}
