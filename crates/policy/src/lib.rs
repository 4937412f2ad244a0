//! Pure decisions: who may call what.
//!
//! This crate does no IO and reads no clock. It turns the owner's governance
//! files into a [`Policy`], and [`Policy::decide`] turns an [`Inquiry`] and a
//! [`Target`] into a [`Permitted`], a question for a person, or a [`Denied`]. The rejected alternative was a boolean
//! check in the gate: a boolean can be forgotten, a value that a server's
//! `call` demands cannot.
//!
//! Architecture invariant: nothing outside this crate can make a
//! [`Permitted`], and no path through it answers "yes" because a rule, a file
//! or an answer is missing.

mod arguments;
mod bans;
mod boundary;
mod cedar;
mod condition;
mod decision;
mod denied;
mod explanation;
mod facts;
mod glob;
pub mod governance;
pub mod grant;
pub mod hipaa;
mod known;
mod permissions;
mod permitted;
mod policy;
pub mod provider;
pub mod registry;
pub mod replay;
mod rule_id;
mod target;

pub use arguments::Arguments;
pub use decision::{AskKind, Asked, Decision, Inquiry, Rung, Scope};
pub use denied::{About, Denied};
pub use explanation::{Explanation, Layer, Step, Verdict};
pub use grant::{Grant, GrantId, GrantIndex, GrantScope};
pub use known::KnownTool;
pub use permissions::{Effect, RuleError};
pub use permitted::{Permitted, Receipt};
pub use policy::{Clearance, Policy, ResultFacts};
pub use rule_id::RuleId;
pub use target::{DefinitionHash, NativeTool, Origin, PinState, Question, Target, Verb};

#[cfg(test)]
mod tests;
