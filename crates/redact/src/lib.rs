//! Redaction of personal and health data, reversible where it may be.
//!
//! A [`Redactor`] finds what identifies a person in text or JSON and puts random tokens in its
//! place; a [`Vault`] remembers which token stands for what; a [`Restorer`] puts the values back,
//! also when a token comes back in pieces or written differently.
//!
//! The finder reads words and numbers once and decides by hand-written rules over neighbours, not
//! by one large regular expression: rules over words see context ("room", "wife", "mg") that an
//! expression cannot afford to, and their cost does not depend on what the text is. In the safe
//! mode it works the other way round from a list of forbidden words: whatever is not known to be
//! harmless is taken out.

mod class;
mod encoded;
mod engine;
mod find;
mod fold;
mod json;
mod lex;
mod restore;
mod roster;
mod spec;
mod token;
mod vault;
mod words;

pub use class::{Certainty, Class, Finding};
pub use engine::{Redacted, RedactedJson, Redactor};
pub use restore::{Restorer, restore_json, restore_text};
pub use spec::{BuildError, NameList, RedactorSpec, RosterEntry};
pub use token::Token;
pub use vault::{MemoryVault, Vault, VaultRow};
