//! The way back: tokens to values, in whole texts and in streams.
//!
//! Models do not copy exactly: they change the case, set a token in bold, escape its brackets or
//! its colons, or send it in pieces. A token is therefore read character by character, with
//! everything that is mere dress left out. What is not a token of the vault stays as it is.

mod spelling;

use crate::json;
use crate::token::Token;
use crate::vault::Vault;
pub(crate) use spelling::next_start;
use spelling::{Read, read};

/// Restores a text that comes in pieces. It holds back no more than one token's length.
#[derive(Debug, Default)]
pub struct Restorer {
    held: String,
}

/// Restores a whole text.
#[must_use]
pub fn restore_text(text: &str, vault: &dyn Vault) -> String {
    let mut restorer = Restorer::new();
    let mut restored = restorer.push(text, vault);
    restored.push_str(&restorer.finish());
    restored
}

/// Restores every string of a JSON document, keys included; a string that is one token of a
/// number becomes that number. What is no JSON is restored as text.
#[must_use]
pub fn restore_json(document: &str, vault: &dyn Vault) -> String {
    let Some(literals) = json::strings(document) else {
        return restore_text(document, vault);
    };
    let mut restored = String::with_capacity(document.len());
    let mut done = 0;
    for literal in literals {
        let Some(text) = json::decode(&document[literal.start..literal.end]) else {
            continue;
        };
        let replaced = match number(&text, literal.key, vault) {
            Some(number) => number,
            None => {
                let plain = restore_text(&text, vault);
                if plain == text {
                    continue;
                }
                json::encode(&plain)
            }
        };
        restored.push_str(&document[done..literal.start]);
        restored.push_str(&replaced);
        done = literal.end;
    }
    restored.push_str(&document[done..]);
    restored
}

/// The token at the very start of a text and its length.
pub(crate) fn token_at(text: &str) -> Option<(Token, usize)> {
    match read(text) {
        Read::Token { token, length } => Some((token, length)),
        Read::Unfinished | Read::Other => None,
    }
}

/// The number that a string stands for, if it is one token of a number and may be one.
fn number(text: &str, key: bool, vault: &dyn Vault) -> Option<String> {
    let trimmed = text.trim();
    let Read::Token { token, length } = read(trimmed) else {
        return None;
    };
    if key || length != trimmed.len() || !token.is_number() {
        return None;
    }
    vault.value(&token.to_string())
}

// === impl Restorer ===

impl Restorer {
    /// A restorer at the start of a text.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next piece; the restored text as far as it is certain.
    #[must_use]
    pub fn push(&mut self, chunk: &str, vault: &dyn Vault) -> String {
        let text = if self.held.is_empty() {
            chunk.to_owned()
        } else {
            std::mem::take(&mut self.held) + chunk
        };
        let mut restored = String::with_capacity(text.len());
        let mut rest = text.as_str();
        while let Some(at) = rest.find(spelling::STARTS) {
            restored.push_str(&rest[..at]);
            rest = &rest[at..];
            match read(rest) {
                Read::Token { token, length } => {
                    match vault.value(&token.to_string()) {
                        Some(value) => restored.push_str(&value),
                        None => restored.push_str(&rest[..length]),
                    }
                    rest = &rest[length..];
                }
                Read::Unfinished => {
                    rest.clone_into(&mut self.held);
                    return restored;
                }
                Read::Other => {
                    let first = rest.chars().next().map_or(1, char::len_utf8);
                    restored.push_str(&rest[..first]);
                    rest = &rest[first..];
                }
            }
        }
        restored.push_str(rest);
        restored
    }

    /// The end of the text: what was held back was no token.
    #[must_use]
    pub fn finish(&mut self) -> String {
        std::mem::take(&mut self.held)
    }
}
