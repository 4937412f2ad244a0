//! Which token stands for what.
//!
//! A vault is one entity's, within one conversation; who may open it is the caller's to decide. It
//! is plain memory here: callers seal its rows before they store them.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use crate::class::Class;
use crate::token::{Id, Token};

/// Gives tokens for values and values for tokens.
pub trait Vault {
    /// The token for a value; the same value has the same token for as long as the vault lives.
    fn token(&mut self, class: Class, value: &str) -> Token;

    /// The token for a value that is a number in JSON.
    fn number_token(&mut self, class: Class, value: &str) -> Token;

    /// The value of a token of this vault, written as [`Token`] writes it.
    fn value(&self, token: &str) -> Option<String>;

    /// Never gives out this id: it stands in a text already and is not ours.
    fn avoid(&mut self, id: &str);
}

/// One value and its token, as the caller stores it (sealed). `Debug` shows no value.
#[derive(Clone, PartialEq, Eq)]
pub struct VaultRow {
    /// The token as text.
    pub token: String,
    /// What it stands for.
    pub value: String,
}

/// A vault in memory.
#[derive(Default)]
pub struct MemoryVault {
    /// By what the token stands for.
    texts: HashMap<Arc<str>, Token>,
    /// By what the token stands for, where that is a JSON number.
    numbers: HashMap<Arc<str>, Token>,
    /// By the token's id.
    values: HashMap<Id, (Token, Arc<str>), BuildHasherDefault<IdHasher>>,
    /// Foreign ids that stood in a text.
    avoided: HashSet<Id>,
    fresh: Vec<Token>,
    random: crate::token::Random,
}

/// Hashes the ids of our own tokens: they are random already, and nobody else chooses them.
#[derive(Default)]
struct IdHasher(u64);

/// The most values of one vault. Beyond it values still go out of a text, but not back in: a
/// conversation must not fill the hub's memory.
const MAX_VALUES: usize = 200_000;
/// The most foreign ids that are kept from being given out.
const MAX_AVOIDED: usize = 100_000;

// === impl MemoryVault ===

impl MemoryVault {
    /// An empty vault.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The vault that these rows were taken from; rows that hold no token are left out.
    #[must_use]
    pub fn from_rows(rows: impl IntoIterator<Item = VaultRow>) -> Self {
        let mut vault = Self::default();
        for row in rows {
            if let Some(token) = Token::parse(&row.token).filter(|token| !token.is_blank()) {
                vault.keep(token, &row.value);
            }
        }
        vault.fresh.clear();
        vault
    }

    /// All rows, for the caller to seal, in no order.
    #[must_use]
    pub fn to_rows(&self) -> Vec<VaultRow> {
        self.values.values().map(row).collect()
    }

    /// The rows that came since this was last asked.
    pub fn take_fresh(&mut self) -> Vec<VaultRow> {
        let fresh = std::mem::take(&mut self.fresh);
        let rows = fresh.into_iter();
        rows.filter_map(|token| self.values.get(&token.key()).map(row))
            .collect()
    }

    /// How many values it holds.
    #[must_use]
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether it holds nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    fn keep(&mut self, token: Token, value: &str) {
        let value: Arc<str> = value.into();
        let tokens = if token.is_number() {
            &mut self.numbers
        } else {
            &mut self.texts
        };
        tokens.insert(Arc::clone(&value), token.clone());
        self.fresh.push(token.clone());
        self.values.insert(token.key(), (token, value));
    }

    fn given(&mut self, class: Class, number: bool, value: &str) -> Token {
        let tokens = if number { &self.numbers } else { &self.texts };
        if let Some(token) = tokens.get(value) {
            return token.clone();
        }
        if self.values.len() >= MAX_VALUES {
            return Token::blank(class);
        }
        loop {
            let Some(token) = self.random.token(class, number) else {
                return Token::blank(class);
            };
            let free =
                !self.values.contains_key(&token.key()) && !self.avoided.contains(&token.key());
            if !token.is_blank() && free {
                self.keep(token.clone(), value);
                return token;
            }
        }
    }
}

/// A token and its value as a row.
fn row((token, value): &(Token, Arc<str>)) -> VaultRow {
    VaultRow {
        token: token.to_string(),
        value: value.to_string(),
    }
}

impl Vault for MemoryVault {
    fn token(&mut self, class: Class, value: &str) -> Token {
        self.given(class, false, value)
    }

    fn number_token(&mut self, class: Class, value: &str) -> Token {
        self.given(class, true, value)
    }

    fn value(&self, token: &str) -> Option<String> {
        let token = Token::parse(token)?;
        let (known, value) = self.values.get(&token.key())?;
        (*known == token).then(|| value.to_string())
    }

    fn avoid(&mut self, id: &str) {
        let Some(token) = Token::new(Class::Other, false, id) else {
            return;
        };
        if self.avoided.len() < MAX_AVOIDED {
            self.avoided.insert(token.key());
        }
    }
}

impl fmt::Debug for MemoryVault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("MemoryVault")
            .field("values", &self.values.len())
            .finish_non_exhaustive()
    }
}

// === impl IdHasher ===

impl Hasher for IdHasher {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0 << 5 ^ u64::from(*byte);
        }
    }

    fn finish(&self) -> u64 {
        // 2^64 by the golden ratio: the table looks at the upper bits too.
        self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

// === impl VaultRow ===

impl fmt::Debug for VaultRow {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("VaultRow")
            .field("token", &self.token)
            .field("value", &"****")
            .finish()
    }
}
