//! Child processes that die with the hub.
//!
//! The hub never starts a server itself. It starts its own program again as a
//! small **guard** (`legation guard -- command args…`), and the guard starts
//! the server. The guard holds one end of a socket whose other end only the hub
//! has, so the kernel tells it when the hub is gone, however the hub ended; and
//! it is the reaper of every orphan below it (Linux), so that a grandchild that
//! forked twice or made a session of its own is still found and killed. A
//! process group alone reaches neither, and a parent death signal reaches one
//! generation only.
//!
//! Elsewhere than on Linux the guard kills the server's process group only.

mod child;
mod daemon;
#[cfg(target_os = "linux")]
mod descendants;
mod exit;
mod find;
mod guard;
mod kin;
mod once;
mod piped;
mod private;

#[cfg(test)]
mod tests;

pub use self::child::{Child, ChildSpec, GuardPath, SpawnError};
pub use self::daemon::{DaemonError, DetachSpec, Detached, become_daemon, detach};
pub use self::exit::Exit;
pub use self::find::{FindError, find_program};
pub use self::guard::guard_main;
pub use self::kin::{Kin, line_above};
pub use self::once::{OnceSpec, Output, RunError, run_to_end};
pub use self::piped::{Piped, PipedSpec};
pub use self::private::{
    HANDED_OVER, HandOverError, hand_over, keep_memory_private, take_handed_over,
};
