//! The events extension (`io.modelcontextprotocol/events`, SEP-3415): what there
//! is to be told of, where a client stands, and webhooks.
//!
//! A client is told of things in three ways: it asks again and again, it holds a
//! stream open, or it names an address. All three read the same logs from a
//! place that the client's cursor says, so that nothing is queued for anybody
//! and a client that does not read costs nothing. A queue for each subscriber
//! was rejected: it would have to be bounded, and what it drops is lost.
//!
//! Architecture invariant: nothing here knows a transport of MCP, a source of
//! messages or a rule. Who may be told what is asked of [`Access`] each time
//! something is told, and nothing is sent to an address that was not looked up
//! and checked for that one delivery.

mod access;
mod ask;
mod cursor;
mod entry;
mod error;
mod events;
mod journal;
mod kind;
mod poll;
mod settings;
mod stream;
mod topic;
mod webhook;

pub use access::{Access, Record, What};
pub use entry::{Batch, Entry, Log, LogError, Told};
pub use error::{EventsError, Numbers, Reason};
pub use events::{Counts, Events, EventsParts};
pub use journal::{Journal, Noted, event_id};
pub use kind::{Family, Kind};
pub use settings::EventsSettings;
pub use stream::{Frame, Stream};
pub use topic::{ServerTopic, Topic, Topics};
pub use webhook::{Listed, Lookup, SystemLookup, Unsettled};

#[cfg(test)]
mod tests;
