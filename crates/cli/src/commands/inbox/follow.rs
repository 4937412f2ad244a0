//! `legation inbox follow` and `wait`: what wakes an agent from outside.
//!
//! Clients that are woken by nothing in the protocol do notice when a command of
//! theirs prints a line or ends. These read the day files and need no hub.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use clap::Args;
use legation_api::inbox::Message;
use legation_core::home::{create_private_dir, write_private};
use legation_core::id::hex;
use legation_core::process::{Kin, line_above};
use legation_core::{EntityId, SharedClock};
use legation_inbox::{Follow, Seq};
use legation_keystore::Keystore;
use notify::{Event, RecursiveMode, Watcher as _};

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
    #[arg(long, value_name = "SEQ", conflicts_with = "place")]
    after: Option<u64>,
    /// Keep a place under this name: the next time under it goes on behind what
    /// was printed. One at a time has it.
    #[arg(long, value_name = "NAME")]
    place: Option<String>,
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
    /// The processes for which this is done; it ends with the first of them.
    above: Vec<Kin>,
    /// Ends with it.
    _watcher: Option<notify::RecommendedWatcher>,
}

/// A place under a name, and the file that keeps it.
struct Place {
    file: PathBuf,
    after: Option<Seq>,
    /// Whoever holds it has the place.
    _lock: File,
}

pub(super) fn cmd_follow(context: &Context, args: &FollowArgs) -> Result<(), CliError> {
    let (mut follower, place) = begin(context, args)?;
    while let Some(messages) = follower.next(None)? {
        if !print(context, &messages)? {
            break;
        }
        keep(place.as_ref(), &follower)?;
    }
    Ok(())
}

pub(super) fn cmd_wait(context: &Context, args: &WaitArgs) -> Result<(), CliError> {
    let (mut follower, place) = begin(context, &args.follow)?;
    let messages = follower.next(args.timeout.map(Duration::from_secs))?;
    let messages = messages.unwrap_or_default();
    if messages.is_empty() {
        return Err(CliError::new(Exit::Failed, "no message came in that time"));
    }
    match print(context, &messages)? {
        true => keep(place.as_ref(), &follower),
        false => Ok(()),
    }
}

/// These two are run by programs, and have no reason to live longer than those.
fn begin(context: &Context, args: &FollowArgs) -> Result<(Follower, Option<Place>), CliError> {
    let place = args.place.as_deref();
    let place = place.map(|name| Place::take(context, name)).transpose()?;
    let kept = place.as_ref().and_then(|place| place.after);
    let after = args.after.map(Seq).or(kept);
    let mut follower = Follower::begin(context, after, args.channel.clone())?;
    follower.above = line_above();
    // From now on there is something to go on behind, also when nothing comes.
    keep(place.as_ref(), &follower)?;
    Ok((follower, place))
}

fn keep(place: Option<&Place>, follower: &Follower) -> Result<(), CliError> {
    let Some(place) = place else { return Ok(()) };
    Ok(write_private(
        &place.file,
        format!("{}\n", follower.last()).as_bytes(),
    )?)
}

/// A line for each message, whatever is in it: who waits for lines counts them.
/// Says whether somebody reads them.
fn print(context: &Context, messages: &[Message]) -> Result<bool, CliError> {
    for message in messages {
        let text = match context.output.is_json() {
            true => serde_json::to_string(message).map_err(|error| CliError::failed(&error))?,
            false => crate::table::printable(&told(message)),
        };
        if !context.output.line(&text) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// A line of text is for agents as well, and passes no rule and no clearance: of
/// an entity's data it says that there is some, and the rest is for `pull`.
fn told(message: &Message) -> String {
    let personal = EntityId::personal();
    let entity = message.entity.as_deref();
    match entity.filter(|entity| *entity != personal.as_str()) {
        None => line(message),
        Some(entity) => format!(
            "[{}] a message of {entity}, id {}: read it with the tool `pull`",
            message.channel, message.id
        ),
    }
}

// === impl Place ===

impl Place {
    fn take(context: &Context, name: &str) -> Result<Self, CliError> {
        const NAME_MAX: usize = 100;
        if name.is_empty() || name.len() > NAME_MAX {
            let why = format!("a place has a name of at most {NAME_MAX} bytes");
            return Err(CliError::new(Exit::Usage, why));
        }
        let folder = context.home.wake().join("places");
        create_private_dir(&folder)?;
        let file = folder.join(hex(name.as_bytes()));
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(file.with_extension("lock"))
            .map_err(|error| CliError::failed(&error))?;
        if lock.try_lock().is_err() {
            let why = format!("another command has the place {name:?}; nothing was printed");
            return Err(CliError::new(Exit::Refused, why).with_hint("give this one another name"));
        }
        // Begun anew, a place that cannot be read would pass over messages in silence.
        let unreadable = |why: &dyn std::fmt::Display| {
            let why = format!("the place {name:?} cannot be read: {why}; nothing was printed");
            let hint = format!("remove {} to begin with what comes next", file.display());
            CliError::new(Exit::Failed, why).with_hint(hint)
        };
        let after = match std::fs::read_to_string(&file) {
            Ok(text) => Some(Seq(text.trim().parse().map_err(|error| {
                let error: std::num::ParseIntError = error;
                unreadable(&error)
            })?)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(unreadable(&error)),
        };
        Ok(Self {
            after,
            file,
            _lock: lock,
        })
    }
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
        // One word is as good as many: the files say what is new.
        let (tell, changes) = sync_channel(1);
        let watcher = watch(&folder, move || {
            let _told = tell.try_send(());
        });
        let follow = match after {
            Some(seq) => Ok(Follow::after(&folder, keystore, seq)),
            None => Follow::from_end(&folder, keystore),
        };
        Ok(Self {
            follow: follow.map_err(|error| CliError::failed(&error))?,
            channel,
            changes,
            clock: context.clock.clone(),
            above: Vec::new(),
            _watcher: watcher,
        })
    }

    /// The last record that was read.
    pub(crate) fn last(&self) -> Seq {
        self.follow.last()
    }

    /// What came, oldest first; nothing only when the time is over, and `None` when
    /// nobody is there any more for whom it was read.
    pub(crate) fn next(
        &mut self,
        timeout: Option<Duration>,
    ) -> Result<Option<Vec<Message>>, CliError> {
        // A time that no clock reaches is none.
        let end = timeout.and_then(|timeout| self.clock.now().checked_add(timeout));
        loop {
            let messages = self.now()?;
            if !messages.is_empty() {
                return Ok(Some(messages));
            }
            if self.above.iter().any(|kin| !kin.lives()) {
                return Ok(None);
            }
            // What changes may be somebody's place and no message, so it is the clock that ends this.
            let left = end.map(|end| end.saturating_duration_since(self.clock.now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Ok(Some(Vec::new()));
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

/// Has the system say when something in a folder changes, for as long as what is
/// returned lives.
pub(super) fn watch(
    folder: &Path,
    tell: impl Fn() + Send + 'static,
) -> Option<notify::RecommendedWatcher> {
    let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
        if is_change(&event) {
            tell();
        }
    });
    watcher.ok().and_then(|mut watcher| {
        let watched = watcher.watch(folder, RecursiveMode::NonRecursive);
        watched.is_ok().then_some(watcher)
    })
}

/// Looking at a file is told as well, and whoever looks because of that never stops.
fn is_change(event: &notify::Result<Event>) -> bool {
    event.as_ref().map_or(true, |event| !event.kind.is_access())
}

#[cfg(test)]
mod tests {
    use notify::event::{AccessKind, AccessMode, CreateKind, DataChange, ModifyKind, RemoveKind};
    use notify::{Event, EventKind};

    use super::{Message, is_change, told};

    #[test]
    fn whose_data_belongs_to_an_entity_is_not_told_in_a_line() {
        let message = |entity: Option<&str>| -> Message {
            let all = serde_json::json!({
                "seq": 7, "id": "m7", "version": "1", "kind": "new", "channel": "teams",
                "chat_id": "chat", "from": "Ada Example", "ts": "2026-01-02T03:04:05Z",
                "received_at": "2026-01-02T03:04:05Z", "entity": entity,
                "content_text_sanitized": "The results came.", "meta": {},
            });
            serde_json::from_value(all).unwrap()
        };
        for entity in [None, Some("personal")] {
            let line = told(&message(entity));
            assert_eq!(line, "[teams 03:04] Ada Example: \"The results came.\"");
        }
        assert_eq!(
            told(&message(Some("clinic"))),
            "[teams] a message of clinic, id m7: read it with the tool `pull`"
        );
    }

    #[test]
    fn a_file_that_is_only_looked_at_has_not_changed() {
        for (kind, expected) in [
            (EventKind::Access(AccessKind::Open(AccessMode::Any)), false),
            (
                EventKind::Access(AccessKind::Close(AccessMode::Write)),
                false,
            ),
            (EventKind::Create(CreateKind::File), true),
            (EventKind::Modify(ModifyKind::Data(DataChange::Any)), true),
            (EventKind::Remove(RemoveKind::File), true),
            (EventKind::Other, true),
        ] {
            assert_eq!(is_change(&Ok(Event::new(kind))), expected, "{kind:?}");
        }
        let lost = notify::Error::generic("events were lost");
        assert!(is_change(&Err(lost)));
    }
}
