//! What can go wrong, in the words of the people who have to act on it.
//!
//! Every failure has a *class*, one of a short tree of names, and a hint. What
//! Entra ID means by its numbers is one table ([`Meaning`]); how Graph says the
//! same things is another ([`GraphRefusal`]).

mod class;
mod graph;
mod meaning;
mod refusal;
mod sign_in;

pub use class::Class;
pub use graph::{GraphError, GraphMeaning, GraphRefusal};
pub use meaning::Meaning;
pub use refusal::{Refusal, Step};
pub use sign_in::SignInError;

#[cfg(test)]
mod tests;
