//! The inner process: the first of its namespace.

use std::ffi::OsStr;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use rustix::io::Errno;
use rustix::process::{DumpableBehavior, Pid, Signal, WaitOptions};
use rustix::thread::UnshareFlags;

use super::outer::unbuffered_stdin;
use super::{
    NoWall, capabilities, code, control, files, loopback, processes, proxy, rules, syscalls,
    unshare,
};
use crate::spec::{Network, Spec, Task};

const HOST_NAME: &[u8] = b"sandbox";
/// The command could not be started.
const NO_COMMAND: u8 = 127;

pub(super) fn run() -> Result<u8, NoWall> {
    let control = control::take().map_err(NoWall::new("taking its input"))?;
    let spec = Spec::read(unbuffered_stdin()).map_err(NoWall::new("reading the description"))?;
    let Spec { confinement, task } = spec;
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(NoWall::new("binding itself to its parent"))?;
    // Away from the hub's terminal, if it has one.
    rustix::process::setsid().map_err(NoWall::new("beginning a session"))?;
    rustix::system::sethostname(HOST_NAME).map_err(NoWall::new("naming the host"))?;
    let places = files::build(&confinement)?;
    let way_out = network(&confinement.network, &control)?;
    drop(control);
    let counted = processes::bound_ids(confinement.processes);
    files::close_proc()?;
    let start = if task.cwd.as_os_str().is_empty() {
        &confinement.folder
    } else {
        &task.cwd
    };
    std::env::set_current_dir(start)
        .map_err(NoWall::new(format!("entering {}", start.display())))?;
    processes::set_limits(&confinement).map_err(NoWall::new("setting limits"))?;
    capabilities::give_up().map_err(NoWall::new("giving up capabilities"))?;
    rules::enforce(&places)?;
    syscalls::forbid()?;
    // `/proc/1/exe` would be the program outside of the walls, whose mode its
    // owner could change: Landlock says nothing of modes.
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(NoWall::new("closing itself"))?;
    let child = match start_command(&task, way_out) {
        Ok(child) => child,
        Err(error) => {
            let program = task.program.display();
            let why = format!("`{program}` could not be started: {error}");
            let _unread = rustix::io::write(rustix::stdio::stderr(), why.as_bytes());
            return Ok(NO_COMMAND);
        }
    };
    if !counted {
        processes::watch(confinement.processes);
    }
    Ok(wait_for(child))
}

/// A network of the command's own, where it has one. The address in it that leads out is
/// given back, where there is one.
fn network(network: &Network, control: &OwnedFd) -> Result<Option<SocketAddr>, NoWall> {
    let named = match network {
        Network::Host => return Ok(None),
        Network::None => None,
        Network::Named(named) => Some(named),
    };
    unshare(UnshareFlags::NEWNET).map_err(NoWall::new("making a network namespace"))?;
    loopback::up().map_err(NoWall::new("starting the loopback interface"))?;
    named
        .map(|named| proxy::listen(control, named))
        .transpose()
        .map_err(NoWall::new("listening for the hosts that are named"))
}

#[expect(
    clippy::disallowed_methods,
    reason = "this process is the first of a namespace: what it starts ends with it"
)]
fn start_command(task: &Task, way_out: Option<SocketAddr>) -> std::io::Result<Option<Pid>> {
    let mut command = Command::new(&task.program);
    command
        .arg0(task.program.file_name().unwrap_or(OsStr::new("sh")))
        .args(&task.args)
        .process_group(0);
    if let Some(address) = way_out {
        command.envs(proxy::variables(address));
    }
    if !task.input {
        command.stdin(Stdio::null());
    }
    if task.merged {
        let output = rustix::io::dup(rustix::stdio::stdout())?;
        command.stderr(Stdio::from(output));
    }
    let child = command.spawn()?;
    Ok(i32::try_from(child.id()).ok().and_then(Pid::from_raw))
}

/// Takes whatever ends until the command itself has; the kernel ends the rest
/// when this process does.
fn wait_for(command: Option<Pid>) -> u8 {
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if Some(pid) == command => return code(status),
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return 255,
        }
    }
}
