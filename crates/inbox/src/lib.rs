//! The inbox: what people write to agents, kept until each agent has read it.
//!
//! One JSONL file a day is the truth. Records are appended and synced before
//! anybody hears of them; everything else (the index, `state.json`) can be made
//! again from the day files. A database was rejected for the messages
//! themselves: a person must be able to read, copy and delete them with the
//! tools of the system, and a terminal companion must be able to follow them
//! without the hub.
//!
//! Architecture invariant: no network, no protocol and no client is known here.
//! Nothing is announced that is not on disk, and one consumer's reading never
//! changes what another has unread.

mod clean;
mod consumer;
mod consumers;
mod day;
mod error;
mod follow;
mod footprint;
mod inbox;
mod index;
mod line;
mod lock;
mod message;
mod prune;
mod ranges;
mod repair;
mod scan;
mod seal;
mod watched;
mod writer;

pub use clean::{escape, summary};
pub use consumer::ConsumerName;
pub use consumers::has_read;
pub use error::{AppendError, OpenError, ReadError};
pub use follow::Follow;
pub use footprint::Footprint;
pub use inbox::{Added, Governor, HandedOut, Inbox, Options, Pull, Pulled, Ungoverned, Unread};
pub use message::{BODY_MAX, Channel, EVENT_DATA, Incoming, Kind, Message, Seq};
pub use prune::Pruned;
pub use repair::{Repaired, repair};
pub use watched::{Stamp, WatchedChat, WatchedChats, WatchedError};

#[cfg(test)]
mod tests;
