//! Delegated work: sessions, their messages, tasks, and how far each task has come.
//!
//! Rows hold ids, states, numbers and times. What people and models said is in
//! bodies that were sealed before they came here, and whose data it is stands
//! beside them as their owner writes it. A row belongs to one hub, because only
//! that hub has the keys of its bodies.

mod messages;
mod owners;
mod reports;
mod sessions;
mod steps;
mod work;

pub use messages::{MessageNew, MessageRow};
pub use owners::Fence;
pub use reports::ReportRow;
pub use sessions::{SessionRow, SessionUpdate};
pub use steps::{PartialRow, StepRow, StepState};
pub use work::{DelegatedRow, DelegatedState, DelegatedWhich};
