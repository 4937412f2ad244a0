//! `legation acp`: stands between an editor and an agent that speak the Agent Client
//! Protocol over standard input and output, and wakes the agent's idle sessions.
//!
//! An agent of that protocol begins a turn when it is sent a prompt, and only its
//! editor is connected to it. So this goes between the two, passes on everything as it
//! is, and sends a prompt of its own when a message is for a session that has nothing
//! to do.

mod relay;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use clap::Args;
use legation_core::BootId;
use legation_core::process::{Piped, PipedSpec};
use legation_wake::SessionKey;

use self::relay::{Out, Relay};
use super::inbox::{Signal, wake_by_prompt};
use crate::{CliError, Context, Exit};

/// How often agents are looked at that do not stop.
const TICK: Duration = Duration::from_secs(1);
/// How long an agent may take to end once its editor is gone.
const GRACE: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(20);

/// Arguments of `legation acp`.
#[derive(Debug, Args)]
pub struct AcpArgs {
    /// The client as `legation connect` names it [default: the command's own name].
    #[arg(long, value_name = "CLIENT")]
    client: Option<String>,
    /// The agent's command, as the editor would start it.
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "COMMAND"
    )]
    command: Vec<OsString>,
}

/// What the threads share.
struct Between {
    context: Context,
    client: String,
    relay: Mutex<Relay>,
    /// Lines for the agent, written by a thread of their own: the threads that read must
    /// not wait for each other. Unbounded, because it is what a person types and what the
    /// agent itself asked for. `None` once the editor is gone.
    to_agent: Mutex<Option<Sender<Vec<u8>>>>,
    /// Those who wait for messages, by session.
    wakers: Mutex<HashMap<String, Waker>>,
    agent: Mutex<Piped>,
}

/// One who waits for messages.
struct Waker {
    /// Unbounded: two or three words for each turn of the session, which it takes each second.
    tell: Sender<Signal>,
    thread: thread::JoinHandle<()>,
}

pub(super) fn cmd_acp(context: &Context, args: AcpArgs) -> Result<(), CliError> {
    let mut command = args.command.into_iter();
    let program = command.next().unwrap_or_default();
    let client = args.client.or_else(|| name(&program));
    let client = client.ok_or_else(|| {
        let why = "the command has no name; the agent was not started";
        CliError::new(Exit::Usage, why).with_hint("say which client it is with --client")
    })?;
    let secret = BootId::random().map_err(|error| CliError::failed(&error))?;
    // The secrets of accounts are the hub's, and none of an agent's.
    let (environment, _hubs) = context.environment.split_secrets(|_| false);
    let variables = environment.iter();
    let mut agent = Piped::start(&PipedSpec {
        program,
        args: command.collect(),
        env: variables
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect(),
    })
    .map_err(|error| CliError::failed(&error))?;
    let (Some(input), Some(output)) = (agent.take_stdin(), agent.take_stdout()) else {
        return Err(CliError::new(Exit::Failed, "the agent has no pipes"));
    };
    let (to_agent, lines) = channel();
    let between = Arc::new(Between {
        context: context.clone(),
        client,
        relay: Mutex::new(Relay::new(secret.as_str())),
        to_agent: Mutex::new(Some(to_agent)),
        wakers: Mutex::default(),
        agent: Mutex::new(agent),
    });
    thread::spawn(move || write_all(input, &lines));
    let from_editor = Arc::clone(&between);
    thread::spawn(move || from_editor.read_editor());
    let ticking = Arc::clone(&between);
    thread::spawn(move || {
        loop {
            thread::sleep(TICK);
            ticking.pass(|relay, now| relay.tick(now));
        }
    });
    between.read_agent(output);
    between.close();
    between.ended()
}

/// What a client is called whose program has this path.
fn name(program: &std::ffi::OsStr) -> Option<String> {
    let name = Path::new(program).file_stem()?.to_str()?;
    Some(name.to_owned()).filter(|name| !name.is_empty())
}

fn write_all(mut input: ChildStdin, lines: &Receiver<Vec<u8>>) {
    for line in lines {
        if input.write_all(&line).and_then(|()| input.flush()).is_err() {
            // It reads no more; that it ends is seen where it writes.
            return;
        }
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

// === impl Between ===

impl Between {
    fn read_editor(self: &Arc<Self>) {
        let mut input = io::stdin().lock();
        loop {
            let mut line = Vec::new();
            match input.read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => break,
                Ok(_) => self.pass(|relay, now| relay.editor_said(line, now)),
            }
        }
        // The agent sees the end of its input, as it would of the editor's.
        lock(&self.to_agent).take();
        thread::sleep(GRACE);
        lock(&self.agent).kill();
    }

    fn read_agent(self: &Arc<Self>, output: ChildStdout) {
        let mut output = BufReader::new(output);
        loop {
            let mut line = Vec::new();
            match output.read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) => self.pass(|relay, now| relay.agent_said(line, now)),
            }
        }
    }

    /// Lets something happen, and does what follows from it. Under one lock, so that
    /// lines leave in the order in which they were decided.
    fn pass(self: &Arc<Self>, happens: impl FnOnce(&mut Relay, std::time::Instant) -> Vec<Out>) {
        let mut relay = lock(&self.relay);
        for out in happens(&mut relay, self.context.clock.now()) {
            match out {
                Out::Agent(line) => {
                    if let Some(to_agent) = lock(&self.to_agent).as_ref() {
                        // An agent that is gone is seen where it writes.
                        drop(to_agent.send(line));
                    }
                }
                Out::Editor(line) => {
                    let mut editor = io::stdout().lock();
                    // An editor that is gone is seen where it writes, too.
                    drop(editor.write_all(&line).and_then(|()| editor.flush()));
                }
                Out::Began { session, folder } => self.begin(session, folder),
                Out::Busy(session) => self.tell(&session, Signal::Said("busy".to_owned())),
                Out::Idle(session) => self.tell(&session, Signal::Said("idle".to_owned())),
                Out::Settled(session, arrived) => self.tell(&session, Signal::Settled(arrived)),
                Out::Ended(session) => {
                    self.tell(&session, Signal::Over);
                    lock(&self.wakers).remove(&session);
                }
            }
        }
    }

    fn tell(&self, session: &str, signal: Signal) {
        if let Some(waker) = lock(&self.wakers).get(session) {
            // One that failed has said why.
            drop(waker.tell.send(signal));
        }
    }

    /// Waits for messages for a session.
    fn begin(self: &Arc<Self>, session: String, folder: Option<PathBuf>) {
        let mut wakers = lock(&self.wakers);
        if wakers.contains_key(&session) {
            return;
        }
        let (tell, signals) = channel();
        let key = SessionKey {
            client: self.client.clone(),
            id: session.clone(),
        };
        let this = Arc::clone(self);
        let id = session.clone();
        let thread = thread::spawn(move || {
            let between = Arc::clone(&this);
            let wake = Box::new(move |words: String| {
                between.pass(|relay, _| relay.wake(&id, &words));
            });
            if let Err(error) = wake_by_prompt(&this.context, key, folder, &signals, wake) {
                let output = this.context.output;
                output.say(&format!("nothing wakes this session: {}", error.message));
            }
        });
        wakers.insert(session, Waker { tell, thread });
    }

    /// The agent has closed its output, so it ends, or is ended.
    fn ended(&self) -> Result<(), CliError> {
        let clock = &self.context.clock;
        let begun = clock.now();
        loop {
            let exited = lock(&self.agent).exited();
            match exited {
                Some(exit) if exit.success() => return Ok(()),
                Some(exit) => {
                    let why = format!("the agent {exit}");
                    return Err(CliError::new(Exit::Failed, why));
                }
                None if clock.now().duration_since(begun) > GRACE => lock(&self.agent).kill(),
                None => {}
            }
            thread::sleep(LOOK);
        }
    }

    /// Takes the sessions off the board.
    fn close(&self) {
        let wakers = std::mem::take(&mut *lock(&self.wakers));
        for waker in wakers.values() {
            drop(waker.tell.send(Signal::Over));
        }
        for (session, waker) in wakers {
            if waker.thread.join().is_err() {
                self.context
                    .output
                    .say(&format!("waiting for session {session} broke off"));
            }
        }
    }
}
