//! The process between the hub and one server.
//!
//! Its standard input is the control socket; the server's standard input comes
//! over that socket, so nothing beyond the three standard descriptors is ever
//! inherited and no other child can hold the socket open by accident. From hub
//! to guard: `T` ends the server politely, `K` at once, end of stream means
//! that the hub is gone. From guard to hub: lines `P<pid>`, `E<errno>`,
//! `X<code>` and `S<signal>`.
//!
//! It owns no runtime and allocates little: one thread waits for children, one
//! for the hub.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{IoSliceMut, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::process::{ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendFlags};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};

/// How long a server may take over SIGTERM once the hub is gone: a hub that
/// starts again must not find the last one's children.
const ORPHAN_GRACE: Duration = Duration::from_millis(500);
const TICK: Duration = Duration::from_millis(5);
/// The longest pause between two rounds of killing what is left.
#[cfg(target_os = "linux")]
const MAX_PAUSE: Duration = Duration::from_millis(50);

/// A message on the control socket's way from the hub.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Terminate,
    Kill,
    HubGone,
}

/// The body of `legation guard`: everything after the word `guard`, which is
/// an optional `--`, the command and its arguments.
///
/// Returns the command's exit code, 128 + signal if a signal ended it, 127 if
/// it could not be started, 125 if the guard itself could not work.
pub fn guard_main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let mut args = args.into_iter().peekable();
    if args.peek().is_some_and(|first| first == "--") {
        args.next();
    }
    let Some(program) = args.next() else {
        return fail(125, "no command was given");
    };
    let Some(stdin) = receive_stdin() else {
        // The hub ended before it had handed anything over: there is nothing
        // to guard and nobody to tell.
        return ExitCode::from(125);
    };
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::set_child_subreaper(Some(rustix::process::getpid())) {
        return fail(125, &format!("orphans cannot be adopted: {error}"));
    }
    let args: Vec<OsString> = args.collect();
    let child = match start(&program, &args, stdin) {
        Ok(child) => child,
        Err(error) => {
            report(&format!("E{}\n", error.raw_os_error().unwrap_or(0)));
            let name = program.to_string_lossy();
            return fail(127, &format!("`{name}` could not be started: {error}"));
        }
    };
    report(&format!("P{}\n", child.as_raw_nonzero()));
    drop_own_output();
    let done = Arc::new(AtomicBool::new(false));
    let listener = {
        let done = Arc::clone(&done);
        std::thread::Builder::new()
            .name("control".into())
            .stack_size(64 * 1024)
            .spawn(move || obey(child, &done))
    };
    if listener.is_err() {
        kill(child, Signal::KILL);
    }
    let status = wait_for(child);
    done.store(true, Ordering::SeqCst);
    kill_rest(child);
    finish(status)
}

/// Starts the server in a process group of its own.
#[expect(
    clippy::disallowed_methods,
    reason = "the guard is how the process module starts a server"
)]
fn start(program: &OsString, args: &[OsString], stdin: OwnedFd) -> std::io::Result<Pid> {
    let mut command = std::process::Command::new(program);
    command
        .args(args)
        .stdin(Stdio::from(stdin))
        .process_group(0);
    let child = command.spawn()?;
    // The handle is let go on purpose: the wait below takes every child.
    Pid::from_raw(i32::try_from(child.id()).unwrap_or(0))
        .ok_or_else(|| std::io::Error::other("the child has no process id"))
}

/// The server's standard input, or `None` if the hub is gone already.
fn receive_stdin() -> Option<OwnedFd> {
    let mut byte = [0_u8; 1];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    #[cfg(target_os = "linux")]
    let flags = RecvFlags::CMSG_CLOEXEC;
    #[cfg(not(target_os = "linux"))]
    let flags = RecvFlags::empty();
    loop {
        let received = rustix::net::recvmsg(
            std::io::stdin(),
            &mut [IoSliceMut::new(&mut byte)],
            &mut ancillary,
            flags,
        );
        match received {
            Err(Errno::INTR) => {}
            Err(_) => return None,
            Ok(message) if message.bytes == 0 => return None,
            Ok(_) => break,
        }
    }
    let stdin = ancillary.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    })?;
    #[cfg(not(target_os = "linux"))]
    rustix::io::fcntl_setfd(&stdin, rustix::io::FdFlags::CLOEXEC).ok()?;
    Some(stdin)
}

/// The control thread: waits for the hub's orders and ends the server.
fn obey(child: Pid, done: &AtomicBool) {
    loop {
        match next_order() {
            Order::Terminate => kill(child, Signal::TERM),
            Order::Kill => break,
            Order::HubGone => {
                kill(child, Signal::TERM);
                let mut waited = Duration::ZERO;
                while waited < ORPHAN_GRACE && !done.load(Ordering::SeqCst) {
                    std::thread::sleep(TICK);
                    waited += TICK;
                }
                break;
            }
        }
    }
    // The main thread sees the server end and kills what is left. Asking
    // `done` first narrows the window in which the number could belong to a
    // new process to the few instructions between reaping and storing.
    if !done.load(Ordering::SeqCst) {
        kill(child, Signal::KILL);
    }
}

fn next_order() -> Order {
    let mut byte = [0_u8; 1];
    loop {
        match rustix::io::read(std::io::stdin(), &mut byte) {
            Ok(0) => return Order::HubGone,
            Ok(_) if byte == *b"T" => return Order::Terminate,
            Ok(_) if byte == *b"K" => return Order::Kill,
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return Order::HubGone,
        }
    }
}

/// Signals the server and its group; one that is gone already is no error.
fn kill(child: Pid, signal: Signal) {
    let _gone = rustix::process::kill_process_group(child, signal);
    if signal == Signal::KILL {
        // The server may have moved itself to another group.
        let _gone = rustix::process::kill_process(child, signal);
    }
}

/// Reaps whatever ends until the server itself has.
fn wait_for(child: Pid) -> Option<WaitStatus> {
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == child => return Some(status),
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return None,
        }
    }
}

/// Kills and reaps until no descendant is left.
fn kill_rest(child: Pid) {
    let _gone = rustix::process::kill_process_group(child, Signal::KILL);
    #[cfg(target_os = "linux")]
    {
        let mut pause = Duration::from_millis(1);
        // Without a process table there is nothing more to find.
        while super::descendants::kill_all() {
            loop {
                match rustix::process::wait(WaitOptions::NOHANG) {
                    Ok(Some(_)) | Err(Errno::INTR) => {}
                    Ok(None) => break,
                    Err(_) => return,
                }
            }
            // A killed process takes a moment to become reapable, and one that
            // the kernel holds takes longer; a process that forks as fast as
            // it can is met again in the next round.
            std::thread::sleep(pause);
            pause = (pause * 3 / 2).min(MAX_PAUSE);
        }
    }
}

fn finish(status: Option<WaitStatus>) -> ExitCode {
    let code = status.and_then(WaitStatus::exit_status);
    let signal = status.and_then(WaitStatus::terminating_signal);
    let (line, code) = match (code, signal) {
        (Some(code), _) => (format!("X{code}\n"), code),
        (None, Some(signal)) => (format!("S{signal}\n"), 128 + signal),
        (None, None) => ("S0\n".to_owned(), 125),
    };
    report(&line);
    ExitCode::from(u8::try_from(code).unwrap_or(255))
}

/// Lets go of the server's pipes, so that their ends follow the server alone.
fn drop_own_output() {
    if let Ok(null) = OpenOptions::new().write(true).open("/dev/null") {
        let _kept = rustix::stdio::dup2_stdout(&null);
        let _kept = rustix::stdio::dup2_stderr(&null);
    }
}

fn report(line: &str) {
    // A hub that is gone has no use for the report.
    #[cfg(target_os = "linux")]
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    #[cfg(not(target_os = "linux"))]
    let flags = SendFlags::DONTWAIT;
    let _unread = rustix::net::send(std::io::stdin(), line.as_bytes(), flags);
}

fn fail(code: u8, why: &str) -> ExitCode {
    let _unread = writeln!(std::io::stderr(), "legation guard: {why}");
    ExitCode::from(code)
}
