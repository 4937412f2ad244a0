//! Settings of the hub, in layers that remember who set what.
//!
//! The defaults are a commented file that is embedded and read like any other
//! layer, so that the documentation of a key and its default cannot disagree.
//! Settings are read whole before anything binds: a hub with half its
//! settings in force is one nobody asked for.

mod accounts;
mod copilot;
mod delegate;
mod desk;
mod discovery;
mod error;
mod external;
mod github;
mod keys;
mod layers;
mod oauth;
mod observed;
mod place;
mod store_url;
mod workspace;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::num::NonZero;
use std::path::PathBuf;
use std::time::Duration;

use legation_core::Home;
use legation_core::net::Destinations;

use crate::environment::Environment;
use crate::file;
use crate::servers::{EnvMode, SandboxPolicy};

pub(crate) use accounts::is_secret_variable;
pub use accounts::{AccountSettings, BrokerChoice, Hidden, InboxSources};
pub use copilot::WebhookSettings;
pub use delegate::{DelegateSettings, HintChoice};
pub use desk::DeskSettings;
pub use discovery::DiscoverySettings;
pub use error::SettingsError;
pub use external::ExternalSettings;
pub use github::{GithubAdded, GithubChoice, GithubSettings, is_github_name};
pub use oauth::FrontOAuth;
pub use observed::{LogKeeping, NoHeaderValue, TraceHeader, TraceSettings};
pub use place::{Layer, Place};
pub use store_url::StoreUrl;
pub use workspace::{BashMode, WorkspaceSettings};

use layers::{Placed, Value, Values};

/// The defaults, with a comment above every key; also what the first start
/// writes, commented out.
pub const DEFAULTS: &str = include_str!("settings/defaults.toml");

/// Settings in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// `listen`: always a loopback address.
    pub listen: SocketAddr,
    /// `idle_exit_ms`: when a hub without clients ends; `None` means never.
    pub idle_exit: Option<Duration>,
    /// `log_level`: `error`, `warn`, `info`, `debug` or `trace`.
    pub log_level: &'static str,
    /// `env_value_mode`.
    pub env_value_mode: EnvMode,
    /// `server_sandbox`.
    pub server_sandbox: SandboxPolicy,
    /// `server_sandbox_network`: what those reach that run in a sandbox because of it.
    pub server_sandbox_network: Destinations,
    /// `load_parallelism`: how many servers start at once, at least one; where it was not set, at
    /// most one more than there are cores.
    pub load_parallelism: usize,
    /// `slow_start_ms`: when a connecting server is warned about.
    pub slow_start: Duration,
    /// `call_timeout_ms`: for calls of servers without a `timeout`.
    pub call_timeout: Duration,
    /// `store.url`: the database server that holds the store; `None` for the
    /// file in the data directory.
    pub store_url: Option<StoreUrl>,
    /// `tls.ca_files`.
    pub ca_files: Vec<PathBuf>,
    /// `secrets.keep_in`.
    pub secrets_keep_in: SecretsPlace,
    /// `[ledger]`.
    pub ledger: LedgerSettings,
    /// `[limits]`.
    pub limits: Limits,
    /// `[rate]`.
    pub rate: Rate,
    /// `[inbox]`.
    pub inbox: InboxSettings,
    /// `[events]`.
    pub events: EventSettings,
    /// `[delegate]`.
    pub delegate: DelegateSettings,
    /// `[desk]`.
    pub desk: DeskSettings,
    /// `[discovery]` and `[instructions]`.
    pub discovery: DiscoverySettings,
    /// `[external]`.
    pub external: ExternalSettings,
    /// `[workspace]`.
    pub workspace: WorkspaceSettings,
    /// `[copilot]`; `None` where it listens nowhere.
    pub copilot: Option<WebhookSettings>,
    /// `[github]`.
    pub github: GithubSettings,
    /// `[oauth]`; `None` where no token but the hub's own opens it.
    pub oauth: Option<FrontOAuth>,
    /// `registry.url`; `None` for none.
    pub registry_url: Option<Box<str>>,
    /// `[log]`.
    pub log: LogKeeping,
    /// `[traces]`; `None` where none are followed.
    pub traces: Option<TraceSettings>,
    /// `[accounts.NAME]`, by name.
    pub accounts: BTreeMap<Box<str>, AccountSettings>,
    /// `[views.NAME]`, by name.
    pub views: BTreeMap<Box<str>, View>,
    values: Values,
}

/// Where the key of the secrets is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretsPlace {
    /// In the system's keystore if there is one.
    Auto,
    /// In the system's keystore or nowhere.
    System,
    /// In a file.
    File,
}

/// Checkpoints of the ledger, and where they are exported to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerSettings {
    /// `checkpoint_records`: one after so many records.
    pub checkpoint_records: u32,
    /// `checkpoint_ms`: one after so long, when there is something new.
    pub checkpoint: Duration,
    /// `export_folder`.
    pub export_folder: Option<PathBuf>,
    /// `export_git`: a remote.
    pub export_git: Option<Box<str>>,
    /// `export_command`: a program and its arguments; empty for none.
    pub export_command: Vec<String>,
}

/// Bounds on what others may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// `client_message_bytes`.
    pub client_message_bytes: usize,
    /// `upstream_message_bytes`.
    pub upstream_message_bytes: usize,
    /// `connections` open at once.
    pub connections: usize,
    /// `request_read_ms`: for one request's headers and body.
    pub request_read: Duration,
    /// `tools_per_server`.
    pub tools_per_server: usize,
}

/// How often a client may call; zero is no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// `client_per_minute`.
    pub client_per_minute: u32,
    /// `server_per_minute`.
    pub server_per_minute: u32,
    /// `tool_per_minute`.
    pub tool_per_minute: u32,
    /// `poll_per_minute`.
    pub poll_per_minute: u32,
    /// `burst_s`.
    pub burst_s: u32,
}

/// What the inbox forgets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InboxSettings {
    /// `retention_days`; `None` keeps messages.
    pub retention_days: Option<u32>,
    /// `retention_unread` is `take`.
    pub takes_unread: bool,
    /// `reader_days`; `None` keeps readers.
    pub reader_days: Option<u32>,
}

/// How events are told, and where webhooks may go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventSettings {
    /// `error_numbers`: `sep` or `draft`.
    pub error_numbers: Box<str>,
    /// `heartbeat_ms`.
    pub heartbeat: Duration,
    /// `webhook_allow`: hosts, or hosts with ports.
    pub webhook_allow: Vec<Box<str>>,
    /// `webhook_ca_file`.
    pub webhook_ca_file: Option<PathBuf>,
    /// `webhook_retry_ms`.
    pub webhook_retry: Duration,
}

/// A subset of the catalogue. Names may use `*` and `?`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// Which servers.
    pub servers: Vec<Box<str>>,
    /// Which of their tools, by the upstreams' own names.
    pub tools: Vec<Box<str>>,
}

/// One setting and who set it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explained {
    /// The key.
    pub key: String,
    /// Its value as TOML.
    pub value: String,
    /// Who set it.
    pub place: Place,
    /// What it means, from the embedded defaults.
    pub about: String,
    /// The variable that would set it; views have none.
    pub variable: Option<String>,
}

/// Whether `name` can be the name of a view: it stands in addresses.
pub fn is_view_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}

/// Variables that look like misspelt settings, each with the name that was
/// probably meant. They have no effect, which its owner should hear.
pub fn misspelt_variables(environment: &Environment) -> Vec<(String, String)> {
    layers::misspelt_variables(environment)
}

/// The text of `legation.toml` that the first start writes: every key and its
/// comment, nothing set.
pub fn commented_defaults() -> String {
    DEFAULTS
        .lines()
        .map(|line| match line {
            "" => "\n".to_owned(),
            line if line.starts_with('#') => format!("{line}\n"),
            line => format!("# {line}\n"),
        })
        .collect()
}

// === impl Settings ===

impl Settings {
    /// Reads all layers. `flags` holds keys and texts, such as
    /// `("listen", "127.0.0.1:0")`.
    ///
    /// # Errors
    ///
    /// [`SettingsError`] for the first thing, in the weakest layer that has
    /// one, which is not understood.
    pub fn load(
        home: &Home,
        environment: &Environment,
        flags: &[(&str, String)],
    ) -> Result<Self, SettingsError> {
        let path = home.settings();
        let text = file::read(&path).map_err(SettingsError::Read)?;
        let mut values = Values::new();
        layers::add_toml(&mut values, DEFAULTS, None)?;
        if let Some(text) = &text {
            layers::add_toml(&mut values, text, Some(&path))?;
        }
        layers::add_environment(&mut values, environment)?;
        layers::add_flags(&mut values, flags)?;
        Self::from_values(values)
    }

    /// The settings of a hub nobody configured.
    pub fn defaults() -> Self {
        let mut values = Values::new();
        layers::add_toml(&mut values, DEFAULTS, None)
            .and_then(|()| Self::from_values(values))
            .expect("the embedded defaults are read by a test")
    }

    fn from_values(values: Values) -> Result<Self, SettingsError> {
        let text = |key: &str| match &values[key].value {
            Value::Text(text) => text.as_str(),
            Value::Number(_)
            | Value::Switch(_)
            | Value::Texts(_)
            | Value::Database(_)
            | Value::Hidden(_) => "",
        };
        let listen: SocketAddr = text("listen")
            .parse()
            .expect("the layer checked that it is an address");
        if !listen.ip().is_loopback() {
            return Err(SettingsError::BeyondLoopback {
                place: values["listen"].place.clone(),
                address: listen,
            });
        }
        let level = keys::LOG_LEVELS
            .iter()
            .find(|level| **level == text("log_level"));
        Ok(Self {
            listen,
            idle_exit: Some(millis(&values, "idle_exit_ms")).filter(|after| !after.is_zero()),
            log_level: level.expect("the layer checked that it is a level"),
            env_value_mode: match text("env_value_mode") {
                "indirect" => EnvMode::Indirect,
                _ => EnvMode::Direct,
            },
            server_sandbox: match text("server_sandbox") {
                "workspace" => SandboxPolicy::Workspace,
                "all" => SandboxPolicy::All,
                _ => SandboxPolicy::Asked,
            },
            server_sandbox_network: destinations(&values["server_sandbox_network"]),
            load_parallelism: load_parallelism(&values),
            slow_start: millis(&values, "slow_start_ms"),
            call_timeout: millis(&values, "call_timeout_ms"),
            store_url: match &values["store.url"].value {
                Value::Database(url) if !url.is_empty() => Some(url.clone()),
                _ => None,
            },
            ca_files: match &values["tls.ca_files"].value {
                Value::Texts(paths) => paths.iter().map(PathBuf::from).collect(),
                _ => Vec::new(),
            },
            secrets_keep_in: match text("secrets.keep_in") {
                "system" => SecretsPlace::System,
                "file" => SecretsPlace::File,
                _ => SecretsPlace::Auto,
            },
            ledger: ledger(&values),
            limits: Limits {
                client_message_bytes: count(&values, "limits.client_message_bytes"),
                upstream_message_bytes: count(&values, "limits.upstream_message_bytes"),
                connections: count(&values, "limits.connections"),
                request_read: millis(&values, "limits.request_read_ms"),
                tools_per_server: count(&values, "limits.tools_per_server"),
            },
            rate: rate(&values),
            inbox: inbox(&values),
            events: events(&values),
            delegate: delegate::read(&values),
            desk: desk::read(&values),
            discovery: discovery::read(&values),
            external: external::read(&values),
            workspace: workspace::read(&values),
            copilot: copilot::read(&values),
            github: github::read(&values),
            oauth: oauth::read(&values),
            registry_url: Some(text("registry.url"))
                .filter(|url| !url.is_empty())
                .map(Into::into),
            log: observed::read_log(&values),
            traces: observed::read_traces(&values),
            accounts: accounts::read(&values)?,
            views: views(&values),
            values,
        })
    }

    /// Every key in force, views included, in order.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.values.keys().map(String::as_str)
    }

    /// Who set `key`, and what it means.
    ///
    /// # Errors
    ///
    /// The key that was probably meant, if one is close.
    pub fn explain(&self, key: &str) -> Result<Explained, Option<&str>> {
        let Some(Placed { value, place }) = self.values.get(key) else {
            return Err(keys::nearest(key, self.keys()));
        };
        let account = accounts::explain(key);
        let known = keys::Key::find(key);
        Ok(Explained {
            key: key.to_owned(),
            value: value.to_string(),
            place: place.clone(),
            about: match (&account, known) {
                (Some((about, _)), _) => (*about).to_owned(),
                (None, Some(_)) => about(key),
                (None, None) if key.starts_with("delegate.") => delegate::HINT_ABOUT.to_owned(),
                (None, None) => about("views"),
            },
            variable: match account {
                Some((_, variable)) => Some(variable),
                None => known.map(keys::Key::variable),
            },
        })
    }
}

fn destinations(placed: &Placed) -> Destinations {
    match &placed.value {
        // The layer checked each.
        Value::Texts(hosts) => hosts.iter().flat_map(|host| host.parse()).collect(),
        _ => Destinations::default(),
    }
}

fn ledger(values: &Values) -> LedgerSettings {
    let text = |key: &str| match &values[key].value {
        Value::Text(text) => text.as_str(),
        _ => "",
    };
    LedgerSettings {
        checkpoint_records: u32::try_from(number(values, "ledger.checkpoint_records"))
            .unwrap_or(u32::MAX),
        checkpoint: millis(values, "ledger.checkpoint_ms"),
        export_folder: Some(text("ledger.export_folder"))
            .filter(|path| !path.is_empty())
            .map(PathBuf::from),
        export_git: Some(text("ledger.export_git"))
            .filter(|remote| !remote.is_empty())
            .map(Into::into),
        export_command: match &values["ledger.export_command"].value {
            Value::Texts(words) => words.clone(),
            _ => Vec::new(),
        },
    }
}

fn rate(values: &Values) -> Rate {
    Rate {
        client_per_minute: small(values, "rate.client_per_minute"),
        server_per_minute: small(values, "rate.server_per_minute"),
        tool_per_minute: small(values, "rate.tool_per_minute"),
        poll_per_minute: small(values, "rate.poll_per_minute"),
        burst_s: small(values, "rate.burst_s"),
    }
}

fn inbox(values: &Values) -> InboxSettings {
    let days = |key: &str| Some(small(values, key)).filter(|days| *days > 0);
    let unread = &values["inbox.retention_unread"].value;
    InboxSettings {
        retention_days: days("inbox.retention_days"),
        takes_unread: matches!(unread, Value::Text(word) if word == "take"),
        reader_days: days("inbox.reader_days"),
    }
}

fn events(values: &Values) -> EventSettings {
    let text = |key: &str| match &values[key].value {
        Value::Text(text) => text.as_str(),
        Value::Number(_)
        | Value::Switch(_)
        | Value::Texts(_)
        | Value::Database(_)
        | Value::Hidden(_) => "",
    };
    EventSettings {
        error_numbers: text("events.error_numbers").into(),
        heartbeat: millis(values, "events.heartbeat_ms"),
        webhook_allow: match &values["events.webhook_allow"].value {
            Value::Texts(hosts) => hosts.iter().map(|host| host.as_str().into()).collect(),
            _ => Vec::new(),
        },
        webhook_ca_file: Some(text("events.webhook_ca_file"))
            .filter(|path| !path.is_empty())
            .map(PathBuf::from),
        webhook_retry: millis(values, "events.webhook_retry_ms"),
    }
}

fn number(values: &Values, key: &str) -> u64 {
    match values[key].value {
        Value::Number(number) => u64::try_from(number).unwrap_or(0),
        Value::Text(_)
        | Value::Switch(_)
        | Value::Texts(_)
        | Value::Database(_)
        | Value::Hidden(_) => 0,
    }
}

fn is_on(values: &Values, key: &str) -> bool {
    matches!(values[key].value, Value::Switch(true))
}

fn small(values: &Values, key: &str) -> u32 {
    u32::try_from(count(values, key)).unwrap_or(u32::MAX)
}

fn count(values: &Values, key: &str) -> usize {
    usize::try_from(number(values, key)).unwrap_or(usize::MAX)
}

/// Servers that start take turns on the cores: beside more of them each has its first call later.
fn load_parallelism(values: &Values) -> usize {
    const KEY: &str = "load_parallelism";
    let wanted = count(values, KEY);
    if matches!(values[KEY].place, Place::Default { .. }) {
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        wanted.min(cores + 1)
    } else {
        wanted
    }
}

fn millis(values: &Values, key: &str) -> Duration {
    Duration::from_millis(number(values, key))
}

fn views(values: &Values) -> BTreeMap<Box<str>, View> {
    let mut views = BTreeMap::new();
    for (key, placed) in values {
        let Some((name, field)) = key
            .strip_prefix("views.")
            .and_then(|rest| rest.rsplit_once('.'))
        else {
            continue;
        };
        let Value::Texts(texts) = &placed.value else {
            continue;
        };
        let texts = texts.iter().map(|text| text.as_str().into()).collect();
        let view = views.entry(name.into()).or_insert(View {
            servers: Vec::new(),
            tools: Vec::new(),
        });
        if field == "servers" {
            view.servers = texts;
        } else {
            view.tools = texts;
        }
    }
    views
}

/// The comment above `key` in the embedded defaults.
fn about(key: &str) -> String {
    let (table, name) = key.rsplit_once('.').unwrap_or(("", key));
    let mut comment: Vec<&str> = Vec::new();
    let mut here = "";
    for line in DEFAULTS.lines() {
        if let Some(text) = line.strip_prefix('#') {
            if key == "views" && text.trim_start().starts_with("[views.") {
                break;
            }
            comment.push(text.trim());
            continue;
        }
        if let Some(begun) = line.strip_prefix('[') {
            here = begun.trim_end_matches(']');
        }
        let rest = line.strip_prefix(name).filter(|_| here == table);
        if rest.is_some_and(|rest| rest.starts_with(" =")) {
            break;
        }
        comment.clear();
    }
    comment.join(" ").trim().to_owned()
}

#[cfg(test)]
mod tests;
