//! The operations desk: what it knows of deals, letters, meetings and deadlines, and what it says
//! about them.
//!
//! Everything here is a function of what it is given: rules first, a model's words only where they
//! were checked against what they rest on. The alternative, letting a model compose from raw mail,
//! was rejected because nobody could tell afterwards which line has which source.
//!
//! Architecture invariant: there is no socket, no store and no clock in it, and no line without a
//! source.

pub mod brief;
pub mod checked;
mod day;
pub mod deadline;
pub mod deal;
pub mod draft;
pub mod filing;
pub mod post;
pub mod source;
pub mod text;
pub mod triage;

pub use post::{Event, Letter, Person};
pub use source::{SourceId, SourceKind};

#[cfg(test)]
mod tests;
