//! The address of the store's database, which may hold a password.

use std::fmt;

/// An address as its owner wrote it. Printing leaves out everything that could
/// be a secret: a password that is not a reference to a variable, and whatever
/// stands after a question mark.
#[derive(Clone, PartialEq, Eq)]
pub struct StoreUrl(Box<str>);

// === impl StoreUrl ===

impl StoreUrl {
    pub(super) fn new(text: String) -> Self {
        Self(text.into())
    }

    /// The address itself, for the one place that connects to it.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn is_postgres(&self) -> bool {
        self.0.starts_with("postgres://") || self.0.starts_with("postgresql://")
    }
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return Ok(());
        }
        let Some((scheme, rest)) = self.0.split_once("://").filter(|_| self.is_postgres()) else {
            return f.write_str("****");
        };
        let (rest, more) = match rest.split_once('?') {
            Some((rest, _)) => (rest, "?****"),
            None => (rest, ""),
        };
        let (user, place) = match rest.rsplit_once('@') {
            Some((user, place)) => (user, format!("@{place}")),
            None => ("", rest.to_owned()),
        };
        let shown = match user.split_once(':') {
            Some((name, password)) if is_reference(password) => format!("{name}:{password}"),
            Some((name, _)) => format!("{name}:****"),
            None => user.to_owned(),
        };
        write!(f, "{scheme}://{shown}{place}{more}")
    }
}

impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_string())
    }
}

fn is_reference(text: &str) -> bool {
    let name = text
        .strip_prefix("${")
        .and_then(|text| text.strip_suffix('}'));
    name.is_some_and(|name| {
        let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        !name.is_empty() && name.bytes().all(word)
    })
}
