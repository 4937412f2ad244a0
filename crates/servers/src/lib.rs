//! Servers that live in the hub: `hub`, which tells agents what there is, `audit`,
//! which shows them the record, `inbox`, which keeps what people wrote to them,
//! `delegate`, which hands work to a model, and those that act with an account.
//!
//! [`Natives`] stands before the host and adds them to what it offers. The
//! alternative, giving each a connection like a child process has, was
//! rejected: a native server must know who calls, and a message of the
//! protocol cannot say that without an upstream server being able to say it too.
//!
//! Architecture invariant: a native server is called with a `Permitted` like
//! any other, and none of its tools can approve anything.

pub mod accounts;
pub mod audit;
mod catalogue;
pub mod delegate;
pub mod desk;
pub mod feeds;
pub mod hub;
pub mod identity;
pub mod inbox;
mod kept;
pub mod mail;
mod native;
mod natives;
pub mod sources;
pub mod teams;
mod waiting;
pub mod workspace;

pub use catalogue::known_tools;
pub use native::{
    Native, OwnTask, Prompt, Resource, TaskNews, Template, Tool, failed, json_result,
    resource_result,
};
pub use natives::{Natives, Unread, Views};
pub use waiting::Waiting;

#[cfg(test)]
mod tests;
