//! Commands that reach nothing but the folder they were given.
//!
//! A command runs below a guard of the hub's like every other child, in
//! namespaces of its own (user, mount, process, IPC, host name, network), on a
//! file system that holds the system's programs to read, the folder to work in
//! and a `/tmp` that ends with it. Landlock says the same once more, should a
//! mount be wrong, and a seccomp filter takes away the calls with which such
//! walls are usually broken.
//!
//! All of it is done by this very program in the new process, before it starts
//! the command: between `fork` and `exec` nothing of the sort could be done
//! without unsafe code. The alternative, a helper such as bubblewrap, would be
//! one more thing to install and would have to be found out of harm's way.
//!
//! Where hosts are named that a command may reach, a thread outside of its network
//! answers on its loopback interface: an HTTP proxy that leads to those hosts and to no
//! others ([`Named`]).
//!
//! What the walls do not do: they keep no command from using up processor and
//! memory for as long as it is allowed to run, and what a command leaves in its
//! folder is there for whoever opens it later.

mod confined;
mod sandbox;
mod spec;

pub use confined::{REFUSES, confined_main};
pub use sandbox::{Availability, Job, Prepared, Sandbox, StartError};
pub use spec::{Confinement, HOME, Named, Network, Task};

/// The word with which the program is started again to confine itself.
pub const CONFINED: &str = "__confined";
