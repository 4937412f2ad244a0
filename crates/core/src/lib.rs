//! What every other crate stands on: ids, the operation context, secrets,
//! time, cancellation, boxed futures, joined tasks and child processes.
//!
//! Nothing here knows MCP, JSON-RPC, a configuration file or a policy.

mod boxed;
pub mod cancel;
pub mod clock;
pub mod context;
pub mod error;
pub mod hello;
pub mod home;
pub mod id;
pub mod identity;
pub mod json;
pub mod labels;
pub mod map;
pub mod net;
pub mod observe;
mod parts;
pub mod process;
pub mod secret;
pub mod task;
pub mod unseen;

pub use cancel::{Cancel, CancelReason};
pub use clock::{Clock, SharedClock, SystemClock, Wall};
pub use context::{COPILOT, Caller, ForTask, Moment, OpContext, Principal, Via};
pub use home::Home;
pub use id::{
    ApprovalId, BootId, ClientId, EntityId, ProposalId, SeatId, ServerName, SessionId, TaskHandle,
    TaskId,
};
pub use identity::{Attribution, Identity};
pub use labels::EntityLabels;
pub use map::{QuickMap, QuickState};
pub use parts::Parts;
pub use secret::Secret;
pub use task::TaskSet;
