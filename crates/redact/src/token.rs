//! Tokens: what stands in a text in the place of a value.
//!
//! A token is `⟦P:class:id⟧`, with `#` behind the class where the value was a JSON number. The id
//! is random (45 CFR 164.514(c): a code must not be derived from information about the person), so
//! a token says nothing to whoever holds no vault.

use std::fmt;

use crate::class::Class;

/// Characters of an id: Crockford's base 32, in which no two look alike.
const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/// Length of an id: 30 bits, far more than the values of a conversation.
pub(crate) const ID_LENGTH: usize = 6;
/// The bracket a token begins with.
pub(crate) const OPEN: char = '⟦';
/// The bracket a token ends with.
pub(crate) const CLOSE: char = '⟧';

/// The random part of a token.
pub(crate) type Id = [u8; ID_LENGTH];

/// A token for one value.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Token {
    class: Class,
    number: bool,
    id: [u8; ID_LENGTH],
}

/// Random numbers of the system, drawn many at once: asking costs more than a token does.
#[derive(Default)]
pub(crate) struct Random {
    left: Vec<u8>,
}

// === impl Random ===

impl Random {
    /// A new random token; `None` where the system has no random numbers.
    pub(crate) fn token(&mut self, class: Class, number: bool) -> Option<Token> {
        if self.left.len() < ID_LENGTH {
            self.left.resize(64 * ID_LENGTH, 0);
            if getrandom::fill(&mut self.left).is_err() {
                self.left.clear();
                return None;
            }
        }
        let mut id = [0_u8; ID_LENGTH];
        for byte in &mut id {
            *byte = ALPHABET[usize::from(self.left.pop()? & 31)];
        }
        Some(Token { class, number, id })
    }
}

// === impl Token ===

impl Token {
    /// A token that stands for nothing and is never restored. It takes a value's place where no
    /// other can be had: the value goes out all the same.
    #[must_use]
    pub fn blank(class: Class) -> Self {
        Self {
            class,
            number: false,
            id: [b'0'; ID_LENGTH],
        }
    }

    /// Reads a token in its own spelling or with its letters in another case.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let inner = text.strip_prefix(OPEN)?.strip_suffix(CLOSE)?;
        let mut parts = inner.split(':');
        let (head, class, id) = (parts.next()?, parts.next()?, parts.next()?);
        if !head.eq_ignore_ascii_case("P") || parts.next().is_some() {
            return None;
        }
        let (class, number) = match class.strip_suffix('#') {
            Some(class) => (class, true),
            None => (class, false),
        };
        Self::new(Class::from_label(class)?, number, id)
    }

    /// A token with a known id.
    pub(crate) fn new(class: Class, number: bool, id: &str) -> Option<Self> {
        let bytes: [u8; ID_LENGTH] = id.as_bytes().try_into().ok()?;
        let mut canonical = [0; ID_LENGTH];
        for (to, from) in canonical.iter_mut().zip(bytes) {
            *to = id_character(from)?;
        }
        Some(Self {
            class,
            number,
            id: canonical,
        })
    }

    /// What kind of value it stands for.
    #[must_use]
    pub fn class(&self) -> Class {
        self.class
    }

    /// Whether the value was a number in JSON, to be restored without quotes.
    #[must_use]
    pub fn is_number(&self) -> bool {
        self.number
    }

    /// Its random part.
    #[must_use]
    pub fn id(&self) -> &str {
        std::str::from_utf8(&self.id).unwrap_or_default()
    }

    /// Its random part, as a key.
    pub(crate) fn key(&self) -> Id {
        self.id
    }

    /// Writes it behind a text; what formatting it would cost is felt where there are many.
    pub(crate) fn write(&self, text: &mut String) {
        text.push(OPEN);
        text.push_str("P:");
        text.push_str(self.class.label());
        text.push_str(if self.number { "#:" } else { ":" });
        text.push_str(self.id());
        text.push(CLOSE);
    }

    /// Whether it stands for nothing.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        self.id == [b'0'; ID_LENGTH]
    }
}

impl fmt::Display for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        self.write(&mut text);
        formatter.write_str(&text)
    }
}

/// A character of an id as the alphabet has it; look-alikes count as what they look like.
pub(crate) fn id_character(byte: u8) -> Option<u8> {
    let upper = byte.to_ascii_uppercase();
    let upper = match upper {
        b'O' => b'0',
        b'I' | b'L' => b'1',
        other => other,
    };
    ALPHABET.contains(&upper).then_some(upper)
}
