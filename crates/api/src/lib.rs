//! What can be asked of a running hub by its owner: requests, answers, and the
//! client that carries them over the Unix socket as JSON-RPC, one message a
//! line.
//!
//! The types here are the wire: commands print them under `--json`, and other
//! programs may rely on them.

pub mod approvals;
pub mod audit;
pub mod client;
pub mod console;
pub mod conversation;
pub mod desk;
pub mod events;
pub mod governance;
pub mod hub;
pub mod inbox;
pub mod mcp;
pub mod models;
pub mod tasks;

use serde::Serialize;
use serde::de::DeserializeOwned;

pub use client::{AdminClient, AdminError, RemoteError};

/// A request the hub answers.
pub trait Request: Serialize + DeserializeOwned {
    /// The JSON-RPC method.
    const METHOD: &'static str;
    /// What comes back.
    type Answer: Serialize + DeserializeOwned;
}

/// An answer with nothing in it.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
pub struct Done {}

macro_rules! request {
    ($request:ty, $method:literal, $answer:ty) => {
        impl crate::Request for $request {
            const METHOD: &'static str = $method;
            type Answer = $answer;
        }
    };
}
pub(crate) use request;
