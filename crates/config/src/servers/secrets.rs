//! What of a server's configuration must not come back in its results.
//!
//! A server prints what it was started with sooner or later. Not every value is a
//! secret, and masking a folder's name wherever it stands would make results
//! useless; so a value counts as one by the name it stands under, or because it
//! looks drawn at random.

use std::collections::BTreeSet;

use legation_core::Secret;

use super::resolve::Resolver;
use super::{EnvMode, ServerSpec, Transport};
use crate::environment::{Environment, KEYRING, Template, expand, keyring_names};

/// Shortest value that is masked: a shorter one is part of any text.
const SHORTEST: usize = 8;
/// Shortest value that can look drawn at random.
const RANDOM: usize = 20;
/// Parts of names under which secrets stand.
const NAMES: [&str; 13] = [
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "key",
    "auth",
    "authorization",
    "credential",
    "cookie",
    "session",
    "dsn",
    "pat",
];

impl ServerSpec {
    /// The secrets that its program or endpoint is given, with the references in
    /// them followed. What cannot be followed is left out: the server does not
    /// start then.
    #[must_use]
    pub fn secrets(&self, environment: &Environment, env_mode: EnvMode) -> Vec<Secret> {
        let resolver = Resolver::new(self, environment, env_mode);
        let mut found = Vec::new();
        match &self.transport {
            Transport::Stdio { env, .. } => {
                // That it cannot be read fails the start.
                for (name, value) in resolver
                    .env_file(self.env_file.as_ref())
                    .unwrap_or_default()
                {
                    add(&name, &value, &mut found);
                }
                for (name, value) in env {
                    if let Ok(value) = resolver.env_value(name, value) {
                        add(name, &value, &mut found);
                    }
                }
            }
            Transport::Http {
                url,
                headers,
                reach,
            } => {
                let lookup = |name: &str| environment.lookup(name);
                if let Ok(url) = expand(url.as_str(), lookup) {
                    add("url", &url, &mut found);
                }
                for (name, value) in headers {
                    if let Ok(value) = expand(value.reveal(), lookup) {
                        add(name, &value, &mut found);
                    }
                }
                for (name, value) in self.oauth.secrets().chain(reach.secrets()) {
                    if let Ok(value) = expand(value.reveal(), lookup) {
                        add(name, &value, &mut found);
                    }
                }
            }
            Transport::Memory { .. } => {}
        }
        // Whatever is kept in the keystore is a secret, wherever it stands.
        for name in self.keyring_names() {
            let value = environment.lookup(&format!("{KEYRING}{name}"));
            found.extend(
                value
                    .filter(|value| value.len() >= SHORTEST)
                    .map(|value| Secret::new(&*value)),
            );
        }
        found
    }

    /// The names of the secrets of the keystore that its entry refers to, each once.
    #[must_use]
    pub fn keyring_names(&self) -> BTreeSet<&str> {
        let mut texts: Vec<&str> = Vec::new();
        match &self.transport {
            Transport::Stdio {
                command,
                args,
                cwd,
                env,
            } => {
                texts.extend(
                    std::iter::once(command)
                        .chain(args)
                        .chain(cwd)
                        .map(Template::as_str),
                );
                texts.extend(env.iter().map(|(_, value)| value.reveal()));
            }
            Transport::Http {
                url,
                headers,
                reach,
            } => {
                texts.push(url.as_str());
                texts.extend(reach.secrets().map(|(_, value)| value.reveal()));
                texts.extend(headers.iter().map(|(_, value)| value.reveal()));
            }
            Transport::Memory { .. } => {}
        }
        texts.extend(self.oauth.secrets().map(|(_, value)| value.reveal()));
        texts.into_iter().flat_map(keyring_names).collect()
    }
}

fn add(name: &str, value: &str, found: &mut Vec<Secret>) {
    // `scheme://user:password@host`
    let password = value
        .split_once("://")
        .and_then(|(_, rest)| rest.split('/').next()?.rsplit_once('@'))
        .and_then(|(user, _)| user.split_once(':'))
        .map(|(_, password)| password);
    // `Bearer …`, `Basic …`
    let word = value.rsplit_once(' ').map(|(_, word)| word);
    let whole = (is_named(name) || is_random(value)).then_some(value);
    let parts = [whole, password, word.filter(|_| is_named(name))];
    for part in parts.into_iter().flatten() {
        if part.len() >= SHORTEST {
            found.push(Secret::new(part));
        }
    }
}

pub(crate) fn is_named(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let mut words = name.split(|letter: char| !letter.is_ascii_alphanumeric());
    words.any(|word| {
        NAMES
            .iter()
            .any(|secret| word == *secret || long(secret) && word.ends_with(secret))
    })
}

/// Whether a word says it even at the end of another (`apikey`, `authtoken`).
fn long(word: &str) -> bool {
    word.len() > 2 && word != "pat" && word != "dsn"
}

pub(crate) fn is_random(value: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_=+.~".contains(&byte);
    value.len() >= RANDOM
        && value.bytes().all(plain)
        && value.bytes().any(|byte| byte.is_ascii_digit())
        && value.bytes().any(|byte| byte.is_ascii_lowercase())
        && value.bytes().filter(u8::is_ascii_digit).count() * 8 >= value.len()
}

#[cfg(test)]
mod tests;
