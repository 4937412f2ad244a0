//! `legation inbox follow` and `wait`: what wakes an agent from outside.
//!
//! Clients that are woken by nothing in the protocol do notice when a command of
//! theirs prints a line or ends. These read the day files and need no hub.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use clap::Args;
use legation_api::inbox::Message;
use legation_core::SharedClock;
use legation_core::home::create_private_dir;
use legation_inbox::{Follow, Seq};
use legation_keystore::Keystore;
use notify::{RecursiveMode, Watcher as _};

use super::{answers, line};
use crate::{CliError, Context, Exit};

/// How often the files are looked at, should the system not say that they changed.
const LOOK: Duration = Duration::from_secs(1);
/// Messages that are printed together.
const AT_ONCE: usize = 100;

/// Arguments of `legation inbox follow`.
#[derive(Debug, Args)]
pub struct FollowArgs {
    /// Only of this channel.
    #[arg(long, value_name = "NAME")]
    channel: Option<String>,
    /// Begin behind this place (`seq`) and not with what comes next.
    #[arg(long, value_name = "SEQ")]
    after: Option<u64>,
}

/// Arguments of `legation inbox wait`.
#[derive(Debug, Args)]
pub struct WaitArgs {
    #[command(flatten)]
    follow: FollowArgs,
    /// Give up after so many seconds.
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,
}

/// Reads what comes in, and sleeps in between.
pub(crate) struct Follower {
    follow: Follow,
    channel: Option<String>,
    changes: Receiver<()>,
    clock: SharedClock,
    /// Ends with it.
    _watcher: Option<notify::RecommendedWatcher>,
}

pub(super) fn cmd_follow(context: &Context, args: &FollowArgs) -> Result<(), CliError> {
    let mut follower = Follower::begin(context, args.after.map(Seq), args.channel.clone())?;
    loop {
        print(context, &follower.next(None)?)?;
    }
}

pub(super) fn cmd_wait(context: &Context, args: &WaitArgs) -> Result<(), CliError> {
    let (after, channel) = (args.follow.after, args.follow.channel.clone());
    let mut follower = Follower::begin(context, after.map(Seq), channel)?;
    let messages = follower.next(args.timeout.map(Duration::from_secs))?;
    if messages.is_empty() {
        return Err(CliError::new(Exit::Failed, "no message came in that time"));
    }
    print(context, &messages)
}

fn print(context: &Context, messages: &[Message]) -> Result<(), CliError> {
    for message in messages {
        let text = match context.output.is_json() {
            true => serde_json::to_string(message).map_err(|error| CliError::failed(&error))?,
            false => context.output.foreign(&line(message)),
        };
        context.output.data(&text);
    }
    Ok(())
}

// === impl Follower ===

impl Follower {
    /// Begins behind a record, or behind the last there is.
    pub(crate) fn begin(
        context: &Context,
        after: Option<Seq>,
        channel: Option<String>,
    ) -> Result<Self, CliError> {
        let folder = context.home.inbox();
        context.home.create()?;
        create_private_dir(&folder)?;
        let keystore = Keystore::open(&context.home.keys())
            .map_err(|error| CliError::failed(&error).with_hint(error.hint()))?;
        let keystore = Arc::new(keystore);
        // Watched first: what comes between the two is read then.
        let (watcher, changes) = watch(&folder);
        let follow = match after {
            Some(seq) => Ok(Follow::after(&folder, keystore, seq)),
            None => Follow::from_end(&folder, keystore),
        };
        Ok(Self {
            follow: follow.map_err(|error| CliError::failed(&error))?,
            channel,
            changes,
            clock: context.clock.clone(),
            _watcher: watcher,
        })
    }

    /// The last record that was read.
    pub(crate) fn last(&self) -> Seq {
        self.follow.last()
    }

    /// What came, oldest first; nothing only when the time is over.
    pub(crate) fn next(&mut self, timeout: Option<Duration>) -> Result<Vec<Message>, CliError> {
        let end = timeout.map(|timeout| self.clock.now() + timeout);
        loop {
            let messages = self.now()?;
            if !messages.is_empty() {
                return Ok(messages);
            }
            // What changes may be somebody's place and no message, so it is the clock that ends this.
            let left = end.map(|end| end.saturating_duration_since(self.clock.now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Ok(Vec::new());
            }
            let look = left.map_or(LOOK, |left| left.min(LOOK));
            // The system watches nothing here; the files are looked at in turns.
            if self.changes.recv_timeout(look) == Err(RecvTimeoutError::Disconnected) {
                std::thread::sleep(look);
            }
        }
    }

    /// What is there and was not read yet.
    pub(crate) fn now(&mut self) -> Result<Vec<Message>, CliError> {
        loop {
            let read = self.follow.read(AT_ONCE);
            let read = read.map_err(|error| CliError::failed(&error))?;
            if read.is_empty() {
                return Ok(Vec::new());
            }
            let channel = self.channel.as_deref();
            let messages: Vec<Message> = read
                .into_iter()
                .filter(|one| channel.is_none_or(|name| one.channel.as_str() == name))
                .map(answers::message)
                .collect();
            if !messages.is_empty() {
                return Ok(messages);
            }
        }
    }
}

fn watch(folder: &Path) -> (Option<notify::RecommendedWatcher>, Receiver<()>) {
    // One word is as good as many: the files say what is new.
    let (tell, changes) = sync_channel(1);
    let watcher = notify::recommended_watcher(move |_event| {
        // A word that still waits says the same.
        let _told = tell.try_send(());
    });
    let watcher = watcher.ok().and_then(|mut watcher| {
        let watched = watcher.watch(folder, RecursiveMode::NonRecursive);
        watched.is_ok().then_some(watcher)
    });
    (watcher, changes)
}
