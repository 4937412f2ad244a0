//! The process that confines itself, then starts the command.
//!
//! There are two. The outer one makes the namespaces, because a process does
//! not enter a process namespace that it makes: its child does. The inner one
//! is the first process of that namespace. It builds the file system, puts up
//! the remaining walls, starts the command, takes its orphans, and ends when
//! the command does; the kernel then ends whatever is left.
//!
//! Where hosts are named that the command reaches, the outer process has a second
//! thread, which stays in the network of the machine. The inner process listens in
//! the command's network and hands the sockets out to it (`control`), because a
//! socket stays in the network that it was made in: so no program between the two is
//! needed, and the way out ends with the outer process however that ends.

#[cfg(target_os = "linux")]
mod capabilities;
#[cfg(target_os = "linux")]
mod control;
#[cfg(target_os = "linux")]
mod files;
#[cfg(target_os = "linux")]
mod inner;
#[cfg(target_os = "linux")]
mod loopback;
#[cfg(target_os = "linux")]
mod outer;
#[cfg(target_os = "linux")]
mod processes;
#[cfg(target_os = "linux")]
mod proxy;
#[cfg(target_os = "linux")]
mod rules;
#[cfg(target_os = "linux")]
mod syscalls;

use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;

/// How a line begins that says on standard error whom a command could not reach.
pub const REFUSES: &str = "legation: the sandbox refuses ";

/// The argument of the inner process.
#[cfg(target_os = "linux")]
const INNER: &str = "inner";
/// Nothing was started.
const NOT_STARTED: u8 = 125;

/// A wall that was not put up.
#[derive(Debug, thiserror::Error)]
#[error("{what} failed")]
#[cfg(target_os = "linux")]
struct NoWall {
    what: String,
    #[source]
    source: Box<dyn std::error::Error + Send + Sync>,
}

/// The body of `legation __confined`: everything after that word. Returns the
/// command's exit code, 128 + signal if a signal ended it, 127 if it could not
/// be started, 125 if it was not confined and therefore not started. Must be
/// called before the process has a second thread.
pub fn confined_main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    match run(args.into_iter().next()) {
        Ok(code) => ExitCode::from(code),
        Err(why) => {
            let _unread = writeln!(std::io::stderr(), "confined: {why}");
            ExitCode::from(NOT_STARTED)
        }
    }
}

#[cfg(target_os = "linux")]
fn run(which: Option<OsString>) -> Result<u8, String> {
    let done = match which {
        None => outer::run(),
        Some(word) if word == INNER => inner::run(),
        Some(_) => return Err("this is no command for people".to_owned()),
    };
    done.map_err(|error| legation_core::error::chain(&error))
}

#[cfg(not(target_os = "linux"))]
fn run(_which: Option<OsString>) -> Result<u8, String> {
    Err("commands can be confined on Linux only".to_owned())
}

#[cfg(target_os = "linux")]
#[expect(
    deprecated,
    reason = "what takes its place is unsafe for the sake of a flag that is not used here"
)]
fn unshare(flags: rustix::thread::UnshareFlags) -> rustix::io::Result<()> {
    rustix::thread::unshare(flags)
}

/// The exit code of a process that ended, as shells have it.
#[cfg(target_os = "linux")]
fn code(status: rustix::process::WaitStatus) -> u8 {
    let code = status
        .exit_status()
        .or_else(|| status.terminating_signal().map(|signal| 128 + signal));
    u8::try_from(code.unwrap_or(255)).unwrap_or(255)
}

// === impl NoWall ===

#[cfg(target_os = "linux")]
impl NoWall {
    fn new<E>(what: impl Into<String>) -> impl FnOnce(E) -> Self
    where
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let what = what.into();
        move |source| Self {
            what,
            source: source.into(),
        }
    }
}
