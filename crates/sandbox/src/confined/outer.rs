//! The outer process: namespaces.

use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::Stdio;

use rustix::process::{getgid, getuid};
use rustix::thread::UnshareFlags;

use super::{INNER, NoWall, capabilities, code, control, proxy, unshare};
use crate::CONFINED;
use crate::spec::{Network, Spec};

/// Rather this than the hub, when memory runs out.
const EXPENDABLE: &str = "1000";

pub(super) fn run() -> Result<u8, NoWall> {
    let spec = Spec::read(unbuffered_stdin()).map_err(NoWall::new("reading the description"))?;
    let _not_where_there_is_none = fs::write("/proc/self/oom_score_adj", EXPENDABLE);
    let (user, group) = (getuid().as_raw(), getgid().as_raw());
    let flags = UnshareFlags::NEWUSER
        | UnshareFlags::NEWNS
        | UnshareFlags::NEWIPC
        | UnshareFlags::NEWUTS
        | UnshareFlags::NEWCGROUP;
    unshare(flags).map_err(NoWall::new("making namespaces"))?;
    // It stays who it is, so that files belong to whom they belonged.
    let write = |file: &str, text: String| {
        fs::write(format!("/proc/self/{file}"), text)
            .map_err(NoWall::new(format!("writing {file}")))
    };
    write("setgroups", "deny".to_owned())?;
    write("uid_map", format!("{user} {user} 1"))?;
    write("gid_map", format!("{group} {group} 1"))?;
    capabilities::keep_over_exec().map_err(NoWall::new("keeping capabilities"))?;
    let pair = UnixStream::pair().map_err(NoWall::new("making a socket"))?;
    let (own, theirs) = (OwnedFd::from(pair.0), OwnedFd::from(pair.1));
    control::send(&own, &[rustix::stdio::stdin()])
        .map_err(NoWall::new("handing over the input"))?;
    match spec.confinement.network {
        // Once it has a new process namespace, it can have no further thread.
        Network::Named(named) => proxy::start(own, named)?,
        Network::None | Network::Host => {}
    }
    unshare(UnshareFlags::NEWPID).map_err(NoWall::new("making a process namespace"))?;
    start(theirs)
}

/// Reads without a buffer: what follows the description is not this process's.
pub(super) fn unbuffered_stdin() -> impl std::io::Read {
    struct Stdin;
    impl std::io::Read for Stdin {
        fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
            Ok(rustix::io::read(rustix::stdio::stdin(), to)?)
        }
    }
    Stdin
}

#[expect(
    clippy::disallowed_methods,
    reason = "this process stands below a guard already, and ends with it"
)]
fn start(control: OwnedFd) -> Result<u8, NoWall> {
    let mut command = std::process::Command::new("/proc/self/exe");
    command
        .arg0("legation")
        .args([CONFINED, INNER])
        .stdin(Stdio::from(control));
    let child = command.spawn().map_err(NoWall::new("starting itself"))?;
    // It holds the other end of the socket.
    drop(command);
    let pid = i32::try_from(child.id())
        .ok()
        .and_then(rustix::process::Pid::from_raw);
    loop {
        let waited = rustix::process::waitpid(pid, rustix::process::WaitOptions::empty());
        match waited {
            Ok(Some((_, status))) => return Ok(code(status)),
            Ok(None) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(NoWall::new("waiting")(error)),
        }
    }
}
