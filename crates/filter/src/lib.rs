//! What a result or a definition may carry: hidden characters, links, secrets.
//!
//! Architecture invariant: text in, text out. Nothing here reads a file, asks for the time or
//! knows which server a text came from; what is kept is decided by the text and the rule alone.

pub mod hidden;
pub mod hosts;
pub mod inspect;
pub mod mapping;
pub mod markdown;
pub mod result;
pub mod secret;
pub mod spill;

pub use hosts::Hosts;
pub use inspect::{Check, Finding, inspect};
pub use mapping::{BadMapping, FilterMapping, RESULT_MAX};
pub use result::{Cleaned, Cleaner, Filter};
pub use secret::{Masked, SecretMasker};

#[cfg(test)]
mod tests;
