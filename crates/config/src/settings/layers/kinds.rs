//! What each kind of setting takes.

use std::path::Path;

use legation_core::net::Destination;

use super::super::keys::Kind;
use super::super::{TraceHeader, is_github_name, oauth};
use super::Value;

/// Whether a variable of the environment can be called so.
pub(in crate::settings) fn is_variable(text: &str) -> bool {
    let starts = text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    starts && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// An address of a host with nothing secret in it.
fn is_address(text: &str, schemes: &[&str]) -> bool {
    let rest = schemes.iter().find_map(|scheme| text.strip_prefix(scheme));
    rest.is_some_and(|rest| {
        let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let plain = |c: char| c.is_ascii_graphic() && c != '@' && c != '\\';
        !host.is_empty() && text.chars().all(plain) && !text.contains(['?', '#'])
    })
}

/// Whether an address has a password before its host.
fn has_password(remote: &str) -> bool {
    let rest = remote.split_once("://").map_or("", |(_, rest)| rest);
    let host = rest.split('/').next().unwrap_or_default();
    host.rsplit_once('@')
        .is_some_and(|(user, _)| user.contains(':'))
}

// === impl Kind ===

impl Kind {
    /// Whether a value is one that it takes.
    pub(super) fn takes(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Database, Value::Database(url)) => url.is_empty() || url.is_postgres(),
            (Self::Number { min, max }, Value::Number(number)) => (min..=max).contains(&number),
            (Self::Switch, Value::Switch(_)) => true,
            (Self::Word(words), Value::Text(text)) => words.contains(&text.as_str()),
            (Self::Address, Value::Text(text)) => text.parse::<std::net::SocketAddr>().is_ok(),
            (Self::AddressOrNone, Value::Text(text)) => {
                text.is_empty() || text.parse::<std::net::SocketAddr>().is_ok()
            }
            (Self::Folder, Value::Text(text)) => text.is_empty() || Path::new(text).is_absolute(),
            (Self::Remote, Value::Text(text)) => !text.starts_with('-') && !has_password(text),
            (Self::Command | Self::Hosts | Self::Patterns, Value::Texts(_)) => true,
            (Self::Line, Value::Text(text)) => !text.contains(char::is_control),
            (Self::Model, Value::Text(text)) => {
                let named = text.split_once('/');
                let named =
                    named.is_some_and(|(name, model)| !name.is_empty() && !model.is_empty());
                !text.contains(char::is_control) && (named || text.is_empty())
            }
            (Self::Folders, Value::Texts(texts)) => {
                texts.iter().all(|text| Path::new(text).is_absolute())
            }
            (Self::Servers, Value::Texts(texts)) => texts.iter().all(|text| text.contains(": ")),
            (Self::Headers, Value::Texts(texts)) => {
                texts.iter().all(|text| TraceHeader::parse(text).is_some())
            }
            (Self::Destinations, Value::Texts(texts)) => {
                texts.iter().all(|text| text.parse::<Destination>().is_ok())
            }
            (Self::Names, Value::Texts(texts)) => texts.iter().all(|text| is_variable(text)),
            (Self::Words(words), Value::Texts(texts)) => {
                texts.iter().all(|text| words.contains(&text.as_str()))
            }
            (Self::Name, Value::Text(text)) => {
                !text.contains(|c: char| c.is_whitespace() || c.is_control())
            }
            (Self::Https, Value::Text(text)) => text.is_empty() || is_address(text, &["https://"]),
            (Self::Proxy, Value::Text(text)) => {
                text.is_empty() || is_address(text, &["https://", "http://"])
            }
            (Self::Scopes, Value::Texts(texts)) => {
                texts.iter().all(|text| oauth::scope(text).is_some())
            }
            (Self::Subjects, Value::Texts(texts)) => {
                texts.iter().all(|text| oauth::is_subject(text))
            }
            (Self::Plain, Value::Texts(texts)) => texts.iter().all(|text| is_github_name(text)),
            (Self::Secret, Value::Hidden(_)) => true,
            _ => false,
        }
    }

    /// What it takes, in words.
    pub(super) fn wanted(self) -> String {
        match self {
            Self::Number { min, max } => format!("a whole number from {min} to {max}"),
            Self::Switch => "true or false".to_owned(),
            Self::Word(words) => format!("one of {}", words.join(", ")),
            Self::Words(words) => format!("a list of any of {}", words.join(", ")),
            Self::Address => "an address and a port, like 127.0.0.1:48080".to_owned(),
            Self::AddressOrNone => {
                "an address and a port, like 0.0.0.0:48443, or nothing".to_owned()
            }
            Self::Folder => "an absolute path, or nothing".to_owned(),
            Self::Folders => "a list of absolute paths".to_owned(),
            Self::Servers => {
                "a list like \"*.ts *.tsx: typescript-language-server --stdio\"".to_owned()
            }
            Self::Headers => {
                "a list like \"authorization: Bearer ${COLLECTOR_TOKEN}\", each value in a variable"
                    .to_owned()
            }
            Self::Names => "a list of names of variables".to_owned(),
            Self::Remote => {
                "a Git remote without a password in it: use a key or a credential helper".to_owned()
            }
            Self::Command => "a list: a program and its arguments".to_owned(),
            Self::Hosts => "a list of hosts, each with its port or without".to_owned(),
            Self::Destinations => "a list of hosts and ports, like \"api.example.com:443\", \
                \"*.example.org:443\" or \"127.0.0.1:5432\""
                .to_owned(),
            Self::Patterns => "a list of names, with * and ?".to_owned(),
            Self::Line => "a text in one line".to_owned(),
            Self::Model => "the name of a provider, a slash, and a model, or nothing".to_owned(),
            Self::Name => "one word".to_owned(),
            Self::Https => {
                "an https address of a host, without user name, password and query".to_owned()
            }
            Self::Proxy => {
                "an http or https address, without user name, password and query".to_owned()
            }
            Self::Scopes => {
                "a list like \"mcp:read: reader\": a scope, and the client whose rules hold"
                    .to_owned()
            }
            Self::Subjects => "a list of names, each one word".to_owned(),
            Self::Plain => "a list of names of letters, digits, _ and -".to_owned(),
            Self::Secret => "a secret".to_owned(),
            Self::Database => {
                "empty, or an address like postgres://legation@db.example.com/legation".to_owned()
            }
        }
    }
}
