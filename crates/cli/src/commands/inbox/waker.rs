//! `legation inbox waker`: waits beside one session of an agent until a message
//! is for that session, and wakes it by what its client has for that.
//!
//! What wakes an agent never holds a word of the message: that is read with the
//! inbox's own tool, where the hub's rules decide what the client may see. So
//! what is said here is the id, and from where it came.

mod words;

use std::io::{self, BufRead as _, Write as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use clap::{Args, ValueEnum};
use legation_core::process::{Kin, OnceSpec, become_daemon, line_above, run_to_end};
use legation_inbox::{ConsumerName, Follow, Kind, Message, Seq, has_read};
use legation_keystore::Keystore;
use legation_wake::{CLAIMS_MAX, Notice, SessionKey};
use serde_json::json;

use super::follow::watch;
use super::hook::Hook;
use super::session::{canonical, change, describe};
use crate::{CliError, Context, Exit};

use words::words;

/// How often everything is looked at, should nobody say that it changed.
const LOOK: Duration = Duration::from_secs(1);
/// Records that are read at a time.
const AT_ONCE: usize = 100;
/// How long a client's own command may take.
const QUEUE: Duration = Duration::from_secs(20);

/// Arguments of `legation inbox waker`.
#[derive(Debug, Args)]
pub struct WakerArgs {
    /// Which client.
    #[arg(long, value_name = "CLIENT")]
    client: String,
    /// The client's id of the session, where standard input does not say it.
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// How the session is woken.
    #[arg(long, value_enum, default_value = "exit")]
    by: Way,
    /// The folder the session works in.
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// Where the client takes prompts, for `legation inbox session list` to show.
    #[arg(long, value_name = "URL")]
    endpoint: Option<String>,
}

/// How a session is woken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Way {
    /// What to do is printed, and the command ends well; it fails where nobody is to be woken.
    Exit,
    /// What to do is printed as a line of JSON, again and again. `busy` and `idle`, a line each
    /// on standard input, say what the session does, and its end is the session's.
    Line,
    /// Codex's own command puts what to do into the session's queue.
    Queue,
    /// A prompt of this process begins a turn, again and again.
    #[value(skip)]
    Prompt,
}

/// What happens while a waker waits.
#[derive(Debug)]
pub(crate) enum Signal {
    /// There may be something new.
    Changed,
    /// `busy` or `idle`: what the session does.
    Said(String),
    /// The turn is over that the session was woken for; whether it had the words.
    Settled(bool),
    /// The session is over.
    Over,
}

/// Begins a turn of a session with these words; what becomes of it is a [`Signal`].
pub(crate) type Prompt = Box<dyn Fn(String) + Send>;

/// A waker of one session.
struct Waker<'c> {
    context: &'c Context,
    key: SessionKey,
    own: Kin,
    way: Way,
    prompt: Option<Prompt>,
    /// A turn is under way that the session was woken for.
    is_telling: bool,
    /// The processes without which there is no session.
    above: Vec<Kin>,
    follow: Follow,
}

/// Whether there is somebody to wake.
#[derive(Debug, PartialEq, Eq)]
enum Look {
    Waits,
    Tell(Vec<Notice>),
    Over,
}

pub(super) fn cmd_waker(context: &Context, args: WakerArgs) -> Result<(), CliError> {
    if args.by == Way::Queue {
        become_daemon().map_err(|error| CliError::failed(&error))?;
    }
    let hook = match args.by {
        Way::Exit => Hook::read(args.session.as_deref()),
        Way::Line | Way::Queue | Way::Prompt => Hook::parse(args.session.as_deref(), b""),
    };
    if args.by == Way::Exit && is_one_turn(context) {
        return Err(nobody());
    }
    let key = SessionKey {
        client: args.client,
        id: hook.session(),
    };
    let (tell, signals) = sync_channel(16);
    let folder = context.home.inbox();
    context.home.create()?;
    legation_core::home::create_private_dir(&folder)?;
    let changed = tell.clone();
    // One word that waits says as much as many.
    let _watcher = watch(&folder, move || drop(changed.try_send(Signal::Changed)));
    if args.by == Way::Line {
        std::thread::spawn(move || listen(&tell));
    }
    let mut waker = Waker::begin(context, key, args.by)?;
    let works_in = match (args.folder, args.by) {
        (Some(folder), _) => Some(canonical(&folder)),
        (None, Way::Queue) => None,
        (None, _) => hook.folder(),
    };
    let failed =
        |error: legation_wake::BoardError| CliError::failed(&error).with_hint(error.hint());
    change(context, |board| {
        let now = context.clock.wall();
        let session = board.begin(&waker.key, now);
        if args.by != Way::Queue {
            describe(session, works_in);
        }
        session.endpoint = args.endpoint.or(session.endpoint.take());
        match args.by {
            // The session may be at work, and will say when it is done.
            Way::Queue => session.waker = Some(waker.own),
            Way::Exit | Way::Line | Way::Prompt => {
                board.idle(&waker.key, Some(waker.own), now);
            }
        }
    })
    .map_err(failed)?;
    let woken = waker.run(&signals)?;
    match args.by {
        Way::Exit if !woken => Err(nobody()),
        Way::Exit | Way::Line | Way::Queue | Way::Prompt => Ok(()),
    }
}

/// Wakes a session that takes prompts from this very process, until it is over.
pub(crate) fn wake_by_prompt(
    context: &Context,
    key: SessionKey,
    folder: Option<PathBuf>,
    signals: &Receiver<Signal>,
    prompt: Prompt,
) -> Result<(), CliError> {
    context.home.create()?;
    legation_core::home::create_private_dir(&context.home.inbox())?;
    let mut waker = Waker::begin(context, key, Way::Prompt)?;
    waker.prompt = Some(prompt);
    let own = waker.own;
    waker.change(|board, key, now| {
        let session = board.begin(key, now);
        session.folder = folder.as_deref().map(canonical);
        session.process = Some(own);
        board.idle(key, Some(own), now);
    })?;
    waker.run(signals).map(drop)
}

/// Not an error that anybody reads: the hook asks only whether the end is a good one.
fn nobody() -> CliError {
    CliError::new(Exit::Failed, "nobody is to be woken")
}

/// Whether the session ends with its one turn, so that nothing may hold it up.
/// Claude Code waits for its hooks before it ends.
fn is_one_turn(context: &Context) -> bool {
    let entry = context.environment.get("CLAUDE_CODE_ENTRYPOINT");
    let always = context.environment.get("LEGATION_WAKE") == Some("always");
    entry.is_some_and(|entry| entry.starts_with("sdk")) && !always
}

fn listen(tell: &SyncSender<Signal>) {
    for line in io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        if tell.send(Signal::Said(line)).is_err() {
            return;
        }
    }
    drop(tell.send(Signal::Over));
}

// === impl Waker ===

impl<'c> Waker<'c> {
    fn begin(context: &'c Context, key: SessionKey, way: Way) -> Result<Self, CliError> {
        let folder = context.home.inbox();
        let keystore = Keystore::open(&context.home.keys())
            .map_err(|error| CliError::failed(&error).with_hint(error.hint()))?;
        let keystore = Arc::new(keystore);
        let failed = |error: io::Error| CliError::failed(&error);
        let follow = change(context, |board| match board.through {
            Some(seq) => Ok(Follow::after(&folder, keystore, Seq(seq))),
            // What came before anybody could be woken wakes nobody. All begin behind the same
            // message, so that none of them takes one for old that another waits for.
            None => {
                let follow = Follow::from_end(&folder, keystore)?;
                board.through = Some(follow.last().0);
                Ok(follow)
            }
        });
        let follow = follow
            .map_err(|error| CliError::failed(&error).with_hint(error.hint()))?
            .map_err(failed)?;
        Ok(Self {
            context,
            key,
            own: Kin::own(),
            way,
            above: match way {
                Way::Queue | Way::Prompt => Vec::new(),
                Way::Exit | Way::Line => line_above(),
            },
            prompt: None,
            is_telling: false,
            follow,
        })
    }

    /// Waits until the session is over, or was woken where one wake is all there is.
    fn run(&mut self, signals: &Receiver<Signal>) -> Result<bool, CliError> {
        loop {
            match self.look()? {
                Look::Over => return Ok(false),
                Look::Tell(notices) => {
                    if let Some(prompt) = &self.prompt {
                        prompt(words(&notices));
                        self.is_telling = true;
                        continue;
                    }
                    let told = self.tell(&notices);
                    self.settle(told.is_ok())?;
                    if self.way == Way::Exit {
                        return Ok(told.is_ok());
                    }
                    if let Err(why) = told {
                        self.context.output.say(&why);
                    }
                }
                Look::Waits => {}
            }
            match signals.recv_timeout(LOOK) {
                Ok(Signal::Said(line)) => self.hear(line.trim())?,
                Ok(Signal::Settled(told)) => {
                    self.is_telling = false;
                    self.settle(told)?;
                    if told {
                        self.hear("busy")?;
                    }
                }
                Ok(Signal::Over) => {
                    self.change(|board, key, _| board.end(key))?;
                    return Ok(false);
                }
                Ok(Signal::Changed) | Err(_) => {}
            }
        }
    }

    fn change<T>(
        &self,
        with: impl FnOnce(&mut legation_wake::Board, &SessionKey, legation_core::Wall) -> T,
    ) -> Result<T, CliError> {
        let now = self.context.clock.wall();
        change(self.context, |board| with(board, &self.key, now))
            .map_err(|error| CliError::failed(&error).with_hint(error.hint()))
    }

    /// What the session does.
    fn hear(&self, word: &str) -> Result<(), CliError> {
        let own = self.own;
        self.change(|board, key, now| match word {
            "busy" => board.busy(key, now),
            "idle" => board.idle(key, Some(own), now),
            _ => {}
        })
    }

    /// Puts what came in on the board, and takes what is for this session.
    fn look(&mut self) -> Result<Look, CliError> {
        if self.above.iter().any(|kin| !kin.lives()) {
            return Ok(Look::Over);
        }
        let (mut came, mut is_new) = (Vec::new(), false);
        loop {
            let read = self.follow.read(AT_ONCE);
            let read = read.map_err(|error| CliError::failed(&error))?;
            if read.is_empty() {
                break;
            }
            is_new = true;
            // Other words for the same, or none, are no reason to begin a turn.
            let new = read.iter().filter(|message| message.kind == Kind::New);
            came.extend(new.map(notice));
            // The board takes no more than the latest of them.
            came.drain(..came.len().saturating_sub(CLAIMS_MAX));
        }
        let through = self.follow.last().0;
        let anew = self.follow.found_anew();
        let inbox = self.context.home.inbox();
        let consumer = ConsumerName::new(&self.key.client, None);
        let is_read =
            |one: &Notice| has_read(&inbox, &consumer, &one.lane, Seq(one.seq)).unwrap_or(false);
        let (own, way, is_telling) = (self.own, self.way, self.is_telling);
        self.change(|board, key, now| {
            if let Some(newest) = anew {
                board.begun_anew(newest.0);
            }
            // Who read nothing may not have noticed yet that the numbers begin anew.
            if is_new {
                board.came(came, through, now);
            }
            board.sweep(now);
            match board.session(key) {
                // Another one waits for the session now, as after each turn.
                Some(session) if session.waker != Some(own) => return Look::Over,
                // It was forgotten for others, and is still there.
                None if matches!(way, Way::Line | Way::Prompt) => board.idle(key, Some(own), now),
                None => return Look::Over,
                Some(_) if is_telling => return Look::Waits,
                Some(_) => {}
            }
            match board.take(key, own, now, &is_read) {
                taken if taken.is_empty() => Look::Waits,
                taken => Look::Tell(taken),
            }
        })
    }

    /// Says it; an error says why it could not be.
    fn tell(&self, notices: &[Notice]) -> Result<(), String> {
        let words = words(notices);
        let line = match self.way {
            Way::Exit | Way::Prompt => words,
            Way::Line => {
                let ids: Vec<&str> = notices.iter().map(|one| one.id.as_str()).collect();
                json!({"text": words, "ids": ids}).to_string()
            }
            Way::Queue => return self.queue(words),
        };
        let mut out = io::stdout().lock();
        let written = writeln!(out, "{line}").and_then(|()| out.flush());
        written.map_err(|error| format!("the session was not woken: {error}"))
    }

    fn queue(&self, words: String) -> Result<(), String> {
        let process = self.change(|board, key, _| board.session(key).and_then(|one| one.process));
        let program = process.ok().flatten().and_then(Kin::program);
        // The very program that the session runs in, whatever is first in PATH.
        let program = program
            .filter(|path| path.file_name().is_some_and(|name| name == "codex"))
            .map_or_else(|| "codex".into(), PathBuf::into_os_string);
        let variables = self.context.environment.iter();
        let spec = OnceSpec {
            program,
            args: vec![
                "queue".into(),
                "--thread".into(),
                self.key.id.clone().into(),
                "--message".into(),
                words.into(),
            ],
            env: variables
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
            cwd: None,
            timeout: QUEUE,
            keep: 2_000,
        };
        let output = run_to_end(&spec).map_err(|error| legation_core::error::chain(&error))?;
        match output.exit.success() {
            true => Ok(()),
            false => Err(format!(
                "`codex queue` failed: {}",
                String::from_utf8_lossy(&output.stderr).trim()
            )),
        }
    }

    fn settle(&self, told: bool) -> Result<(), CliError> {
        let own = self.own;
        self.change(|board, key, now| match told {
            true => board.told(key, own, now),
            false => board.give_back(key, own),
        })
    }
}

fn notice(message: &Message) -> Notice {
    let folder = message.meta.get("folder").map(|folder| {
        let folder = folder.replace("&lt;", "<").replace("&gt;", ">");
        PathBuf::from(folder.replace("&amp;", "&"))
    });
    // Each waker is in another folder, so that one which is not absolute means nothing.
    let folder = folder.filter(|folder| folder.is_absolute());
    Notice {
        seq: message.seq.0,
        id: message.id.clone(),
        channel: message.channel.to_string(),
        chat: message.chat_id.clone(),
        folder: folder.as_deref().map(canonical),
        lane: message.lane(),
    }
}
