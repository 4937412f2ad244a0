//! The gate: the one list of stages that every tool call, resource read,
//! prompt and completion passes, whoever asks.
//!
//! Fronts hand a [`Request`] in; servers are reached through [`ServerSet`],
//! whose methods take a [`legation_policy::Permitted`] that only a decision can
//! make. The vocabulary between fronts and hosts is neutral: it names neither a
//! protocol revision's wire keys nor a transport. The alternative, letting each
//! front talk to each transport, was rejected because the rules would then have
//! to be asked in every pair of them.

pub mod approval;
mod asking;
pub mod call;
pub mod code;
pub mod conversation;
pub mod desk;
pub mod event;
pub mod journal;
pub mod listing;
pub mod model;
pub mod peer;
pub mod pipeline;
pub mod proposal;
pub mod rate;
pub mod redaction;
mod sampler;
pub mod server;
pub mod spill;
pub mod stage;
pub mod watch;

/// The words a decision is made in; whoever holds servers needs them too.
pub use legation_policy as policy;

/// The key and the proof that approvals take.
pub use legation_keystore as keystore;

pub use asking::Asking;
pub use call::{
    Call, CallFailure, Endpoint, InputRequired, Item, Outcome, Request, Retry, TaskWish,
};
pub use event::{Arrival, Audience, Feed, HubEvent, Injection, News, Note};
pub use listing::{Description, Entry, ListKind, Listing};
pub use peer::{Ask, Delivery, Peer};
pub use pipeline::{Gate, NotAskedFor, definition_hash};
pub use sampler::Sampler;
pub use server::{Concern, Resolve, ServerSet, Subscription, TaskVerb, Unresolved};
pub use stage::Refusal;
