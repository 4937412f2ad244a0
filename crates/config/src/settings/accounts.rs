//! `[accounts.NAME]`: sign-ins at a directory of people and programs, each of
//! which belongs to an entity.
//!
//! A variable `LEGATION_NAME_KEY` sets a key of the account NAME, and is enough
//! to make the account. Secrets are taken from variables only: a file of
//! settings is copied, shown and put under version control.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use legation_core::{EntityId, Secret};

use super::keys::{Key, Kind};
use super::layers::{Placed, Value, Values};
use super::{Place, SettingsError, layers};
use crate::environment::Environment;

/// One sign-in, as its owner configured it. What the words and addresses mean
/// is known where they are used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountSettings {
    /// The name in `[accounts.NAME]`.
    pub name: Box<str>,
    /// Whose data it reads.
    pub entity: EntityId,
    /// The tenant: an id or a domain.
    pub tenant_id: Box<str>,
    /// `global`, `us-gov`, `us-gov-dod` or `china`.
    pub cloud: Box<str>,
    /// Sign-in host, in place of the cloud's.
    pub authority: Option<Box<str>>,
    /// Base of the data service, in place of the cloud's.
    pub graph: Option<Box<str>>,
    /// The public client that people sign in to.
    pub client_id: Option<Box<str>>,
    /// The middle tier, which acts on behalf of people.
    pub api_client_id: Option<Box<str>>,
    /// The middle tier's own scope, where it is not the usual one.
    pub api_scope: Option<Box<str>>,
    /// The agents' blueprint.
    pub blueprint_id: Option<Box<str>>,
    /// The agent.
    pub agent_id: Option<Box<str>>,
    /// The agent's own user, by id or sign-in name.
    pub agent_user: Option<Box<str>>,
    /// The person it works for, by id or sign-in name.
    pub human: Option<Box<str>>,
    /// Who proves that we are the middle tier or the blueprint.
    pub broker: BrokerChoice,
    /// The certificate that goes with a private key, PEM.
    pub certificate: Option<PathBuf>,
    /// Certificates to trust beside the system's, PEM.
    pub ca_file: Option<PathBuf>,
    /// An HTTP proxy for all its requests.
    pub proxy: Option<Box<str>>,
    /// What of it comes into the inbox.
    pub inbox: InboxSources,
    /// Whether its human is asked in Teams what the hub has a person asked about.
    pub asks_in_teams: bool,
    /// Whether its calendar and inbox are read in the background for the desk.
    pub is_on_desk: bool,
    /// The middle tier's secret, from the environment.
    pub client_secret: Option<Hidden>,
    /// The blueprint's secret, from the environment.
    pub blueprint_secret: Option<Hidden>,
}

/// What of an account comes into the inbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InboxSources {
    /// What is written in its chats.
    pub chats: bool,
    /// What comes into its mailbox.
    pub mail: bool,
    /// How often the mailbox is looked into.
    pub mail_every: Duration,
    /// Which kinds of mail stay out, as the settings name them.
    pub mail_leave_out: Vec<String>,
}

/// Who proves that we are the middle tier or the blueprint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BrokerChoice {
    /// A secret or key in the keystore.
    Keystore,
    /// A program and its arguments.
    Command(Vec<String>),
    /// A service.
    Https(Box<str>),
}

/// A value that is never printed.
#[derive(Clone, Debug)]
pub struct Hidden(pub Secret);

/// A key of an account, and what `config explain` says of it.
pub(super) struct AccountKey {
    pub(super) key: Key,
    pub(super) about: &'static str,
    /// Whether a variable for it makes the account.
    makes: bool,
}

const CLOUDS: &[&str] = &["global", "us-gov", "us-gov-dod", "china"];
const INBOX: &[&str] = &["all", "chats", "mail", "off"];
/// Kinds of mail that no person wrote to be read.
const NOISE: &[&str] = &["auto-replies", "calendar", "bulk", "no-reply"];
const MAIL_SECONDS: i64 = 60;
const APPROVALS: &[&str] = &["off", "teams"];
const DESK: &[&str] = &["off", "on"];
const BROKERS: &[&str] = &["keystore", "command", "https"];

const fn key(name: &'static str, kind: Kind, makes: bool, about: &'static str) -> AccountKey {
    AccountKey {
        key: Key { name, kind },
        about,
        makes,
    }
}

pub(super) const ACCOUNT_KEYS: [AccountKey; 25] = [
    key(
        "entity",
        Kind::Name,
        false,
        "The entity whose data this account reads; needed.",
    ),
    key(
        "tenant_id",
        Kind::Name,
        true,
        "The tenant, by its id or a domain of its; needed.",
    ),
    key(
        "cloud",
        Kind::Word(CLOUDS),
        false,
        "The cloud the tenant is in.",
    ),
    key(
        "authority",
        Kind::Https,
        false,
        "The host to sign in at, in place of the cloud's.",
    ),
    key(
        "graph",
        Kind::Https,
        false,
        "The base of Graph, in place of the cloud's.",
    ),
    key(
        "client_id",
        Kind::Name,
        true,
        "The public client that people sign in to.",
    ),
    key(
        "api_client_id",
        Kind::Name,
        true,
        "The application that acts on behalf of people; the public client if not set.",
    ),
    key(
        "api_scope",
        Kind::Name,
        false,
        "That application's own scope, api://ID/access_as_user if not set.",
    ),
    key(
        "blueprint_id",
        Kind::Name,
        true,
        "The blueprint of the agent.",
    ),
    key("agent_id", Kind::Name, true, "The agent's identity."),
    key(
        "agent_user",
        Kind::Name,
        false,
        "The agent's own user, by id or sign-in name.",
    ),
    key(
        "human",
        Kind::Name,
        false,
        "The person the agent works for, by id or sign-in name.",
    ),
    key(
        "broker",
        Kind::Word(BROKERS),
        false,
        "Who proves that we are the application: a secret or key in the keystore, a command, or a service over https.",
    ),
    key(
        "broker_command",
        Kind::Command,
        false,
        "The command that prints a secret or a client assertion, with its arguments.",
    ),
    key(
        "broker_url",
        Kind::Https,
        false,
        "The service that answers with a client assertion.",
    ),
    key(
        "certificate",
        Kind::Folder,
        false,
        "The certificate, PEM, whose private key is in the keystore.",
    ),
    key(
        "ca_file",
        Kind::Folder,
        false,
        "Certificates, PEM, to trust beside the system's.",
    ),
    key(
        "proxy",
        Kind::Proxy,
        false,
        "An HTTP proxy for all requests of this account.",
    ),
    key(
        "inbox",
        Kind::Word(INBOX),
        false,
        "What of this account comes into the inbox: its chats and its mail, one of them, or nothing.",
    ),
    key(
        "mail_seconds",
        Kind::Number { min: 10, max: 3600 },
        false,
        "How often the mailbox is looked into for the inbox, in seconds.",
    ),
    key(
        "mail_leave_out",
        Kind::Words(NOISE),
        false,
        "Which mail stays out of the inbox, a list: automatic replies, what calendars send, lists and bulk, senders nobody can answer.",
    ),
    key(
        "approvals",
        Kind::Word(APPROVALS),
        false,
        "Where its human is asked what the hub has a person asked about, besides the hub itself: nowhere, or in the chat with the agent's own user.",
    ),
    key(
        "desk",
        Kind::Word(DESK),
        false,
        "Whether the desk reads this account's calendar and inbox in the background, for briefs. What its tools are asked for they read in any case.",
    ),
    key(
        "client_secret",
        Kind::Secret,
        true,
        "The application's secret; from a variable only.",
    ),
    key(
        "blueprint_secret",
        Kind::Secret,
        true,
        "The blueprint's secret; from a variable only.",
    ),
];

// === impl AccountKey ===

impl AccountKey {
    pub(super) fn find(name: &str) -> Option<&'static Self> {
        ACCOUNT_KEYS.iter().find(|known| known.key.name == name)
    }
}

// === impl Hidden ===

impl PartialEq for Hidden {
    fn eq(&self, other: &Self) -> bool {
        self.0.reveal() == other.0.reveal()
    }
}

impl Eq for Hidden {}

/// Whether `name` can be an account's: it stands in variables, in records and
/// in the names of secrets.
pub(super) fn is_account_name(name: &str) -> bool {
    (1..=32).contains(&name.len())
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

/// `LEGATION_WORK_TENANT_ID`.
pub(super) fn variable(account: &str, key: &str) -> String {
    let text = format!("LEGATION_{account}_{key}");
    text.replace('-', "_").to_uppercase()
}

/// Makes the account, with the keys that have a value even when nobody set it.
pub(super) fn begin(values: &mut Values, name: &str, place: &Place) {
    let text = |text: &str| Value::Text(text.to_owned());
    let noise = NOISE.iter().map(|kind| (*kind).to_owned());
    for (key, value) in [
        ("cloud", text("global")),
        ("broker", text("keystore")),
        ("inbox", text("all")),
        ("approvals", text("off")),
        ("desk", text("off")),
        ("mail_seconds", Value::Number(MAIL_SECONDS)),
        ("mail_leave_out", Value::Texts(noise.collect())),
    ] {
        let placed = Placed {
            value,
            place: place.clone(),
        };
        values.entry(full(name, key)).or_insert(placed);
    }
}

pub(super) fn add_environment(
    values: &mut Values,
    environment: &Environment,
) -> Result<(), SettingsError> {
    for (variable, _) in environment.iter() {
        let Some(variable) = variable.to_str() else {
            continue;
        };
        let Some((name, key)) = split(variable) else {
            continue;
        };
        if key.makes && is_account_name(&name) {
            let variable = variable.to_owned();
            begin(values, &name, &Place::Environment { variable });
        }
    }
    for name in names(values) {
        for known in &ACCOUNT_KEYS {
            let variable = variable(&name, known.key.name);
            let Some(text) = environment.get(&variable) else {
                continue;
            };
            let place = Place::Environment { variable };
            let at = full(&name, known.key.name);
            layers::add_text(values, &known.key, &at, text, place)?;
        }
    }
    Ok(())
}

/// The account's name and its key in a variable. Of several keys the longest is
/// meant: `API_CLIENT_ID` ends like `CLIENT_ID`.
pub(super) fn split(variable: &str) -> Option<(String, &'static AccountKey)> {
    let rest = variable.strip_prefix("LEGATION_")?;
    let fits = ACCOUNT_KEYS.iter().filter_map(|known| {
        let name = rest.strip_suffix(&known.key.name.to_uppercase())?;
        let name = name.strip_suffix('_').filter(|name| !name.is_empty())?;
        Some((name.to_lowercase().replace('_', "-"), known))
    });
    fits.max_by_key(|(_, known)| known.key.name.len())
}

/// Whether a variable holds the secret of an account.
pub(crate) fn is_secret_variable(variable: &str) -> bool {
    split(variable)
        .is_some_and(|(name, key)| is_account_name(&name) && matches!(key.key.kind, Kind::Secret))
}

/// What a key of an account means, and the variable that sets it.
pub(super) fn explain(key: &str) -> Option<(&'static str, String)> {
    let (name, key) = key.strip_prefix("accounts.")?.rsplit_once('.')?;
    let known = AccountKey::find(key)?;
    Some((known.about, variable(name, key)))
}

/// The accounts there are, sorted.
fn names(values: &Values) -> BTreeSet<String> {
    let of = |key: &String| {
        let name = key.strip_prefix("accounts.")?.strip_suffix(".cloud")?;
        Some(name.to_owned())
    };
    values.keys().filter_map(of).collect()
}

fn full(name: &str, key: &str) -> String {
    format!("accounts.{name}.{key}")
}

/// All accounts, each with what it cannot be without.
pub(super) fn read(values: &Values) -> Result<BTreeMap<Box<str>, AccountSettings>, SettingsError> {
    let accounts = names(values).into_iter().map(|name| {
        let account = Reader {
            values,
            name: &name,
        }
        .account()?;
        Ok((name.into(), account))
    });
    accounts.collect()
}

struct Reader<'a> {
    values: &'a Values,
    name: &'a str,
}

// === impl Reader ===

impl Reader<'_> {
    fn account(&self) -> Result<AccountSettings, SettingsError> {
        let path = |key| self.text(key).map(|text| PathBuf::from(&*text));
        Ok(AccountSettings {
            name: self.name.into(),
            entity: EntityId::new(&*self.needed("entity")?),
            tenant_id: self.needed("tenant_id")?,
            cloud: self.needed("cloud")?,
            authority: self.text("authority"),
            graph: self.text("graph"),
            client_id: self.text("client_id"),
            api_client_id: self.text("api_client_id"),
            api_scope: self.text("api_scope"),
            blueprint_id: self.text("blueprint_id"),
            agent_id: self.text("agent_id"),
            agent_user: self.text("agent_user"),
            human: self.text("human"),
            broker: self.broker()?,
            certificate: path("certificate"),
            ca_file: path("ca_file"),
            proxy: self.text("proxy"),
            inbox: self.inbox(),
            asks_in_teams: self.text("approvals").as_deref() == Some("teams"),
            is_on_desk: self.text("desk").as_deref() == Some("on"),
            client_secret: self.hidden("client_secret"),
            blueprint_secret: self.hidden("blueprint_secret"),
        })
    }

    fn inbox(&self) -> InboxSources {
        let what = self.text("inbox");
        let has = |word: &str| matches!(what.as_deref(), Some(set) if set == "all" || set == word);
        let seconds = match self.value("mail_seconds") {
            Some(Value::Number(seconds)) => *seconds,
            _ => MAIL_SECONDS,
        };
        InboxSources {
            chats: has("chats"),
            mail: has("mail"),
            mail_every: Duration::from_secs(seconds.unsigned_abs()),
            mail_leave_out: match self.value("mail_leave_out") {
                Some(Value::Texts(kinds)) => kinds.clone(),
                _ => Vec::new(),
            },
        }
    }

    fn broker(&self) -> Result<BrokerChoice, SettingsError> {
        match self.text("broker").as_deref() {
            Some("command") => match self.value("broker_command") {
                Some(Value::Texts(words)) if !words.is_empty() => {
                    Ok(BrokerChoice::Command(words.clone()))
                }
                _ => Err(self.missing("broker_command")),
            },
            Some("https") => self.needed("broker_url").map(BrokerChoice::Https),
            _ => Ok(BrokerChoice::Keystore),
        }
    }

    fn value(&self, key: &str) -> Option<&Value> {
        let placed = self.values.get(&full(self.name, key));
        placed.map(|placed| &placed.value)
    }

    fn text(&self, key: &str) -> Option<Box<str>> {
        match self.value(key) {
            Some(Value::Text(text)) if !text.is_empty() => Some(text.as_str().into()),
            _ => None,
        }
    }

    fn hidden(&self, key: &str) -> Option<Hidden> {
        match self.value(key) {
            Some(Value::Hidden(secret)) => Some(secret.clone()),
            _ => None,
        }
    }

    fn needed(&self, key: &str) -> Result<Box<str>, SettingsError> {
        self.text(key).ok_or_else(|| self.missing(key))
    }

    fn missing(&self, key: &str) -> SettingsError {
        let place = self.values[&full(self.name, "cloud")].place.clone();
        SettingsError::MissingKey {
            place,
            key: full(self.name, key),
            variable: variable(self.name, key),
        }
    }
}

#[cfg(test)]
mod tests;
