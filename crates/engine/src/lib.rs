//! Delegated work: tasks that people, agents and the hub hand to a model on the owner's machine.
//!
//! A task waits in the [`queue`], is worked on by a [`run`], and is written down in the [`book`]
//! whatever happens to it. Queue and run are machines without clock, sockets or tasks of their own;
//! [`Engine`] is the thin shell around them, and its handle. The alternative, an agent loop that
//! awaits whatever it needs where it needs it, was rejected: a person's message interrupts it
//! anywhere, the hub may end anywhere, and neither could be tried at every place.
//!
//! Architecture invariant: the engine sees neither servers nor host. It reaches tools through the
//! gate and models through `models`, as a client with no authority but its delegator's.

mod beside;
mod book;
mod control;
mod engine;
mod error;
mod live;
mod queue;
mod record;
mod run;
mod seal;
mod settings;
pub mod stage;

pub use beside::{AgentServers, Started, Turn, TurnHandle, Turns};
pub use book::Known;
pub use engine::{
    Asker, Engine, EngineParts, Filter, Finished, Follow, NewReport, Submitter, WAIT_MAX,
    WeakEngine,
};
pub use error::{BookError, EngineError, SessionError, SubmitError, TaskError};
pub use run::CLIENT;
pub use settings::{EngineSettings, HintSettings};
