//! `legation inbox session`: what an agent's hooks say of its sessions.
//!
//! It is written into the data directory and needs no hub. A client waits for
//! its hooks, and some take a failure of theirs for a reason to stop, so a hook
//! of the hub's never fails: what went wrong is said aside.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use legation_core::process::{DetachSpec, Kin, detach, line_above};
use legation_wake::{Board, BoardError, BoardFile, Session, SessionKey};
use serde::Serialize;

use super::hook::Hook;
use crate::table::{Table, printable};
use crate::{CliError, Context};

/// The commands of `legation inbox session`.
#[derive(Debug, Subcommand)]
pub enum SessionCommand {
    /// A session begins.
    Start(SessionArgs),
    /// A session works on something.
    Busy(SessionArgs),
    /// A session has nothing to do.
    Idle(SessionArgs),
    /// A session has ended.
    End(SessionArgs),
    /// Print the sessions that run.
    List,
}

/// Arguments of the commands that a client's hooks run; what the client says of
/// its session is read from standard input.
#[derive(Debug, Args)]
pub struct SessionArgs {
    /// Which client.
    #[arg(long, value_name = "CLIENT")]
    client: String,
    /// Its id of the session, where standard input does not say it.
    #[arg(long, value_name = "ID")]
    session: Option<String>,
}

/// The client that is told of messages by a command of its own, for which a
/// waker has to run beside it.
pub(super) const QUEUES: &str = "codex";

#[derive(Serialize)]
struct Shown {
    client: String,
    session: String,
    folder: Option<PathBuf>,
    state: &'static str,
    active: String,
}

pub(super) fn cmd_session(context: &Context, command: &SessionCommand) -> Result<(), CliError> {
    let (args, note): (_, fn(&mut Board, &SessionKey, legation_core::Wall)) = match command {
        SessionCommand::List => return cmd_list(context),
        SessionCommand::Start(args) => (args, |board, key, now| {
            board.begin(key, now).busy = false;
        }),
        SessionCommand::Busy(args) => (args, Board::busy),
        SessionCommand::Idle(args) => (args, |board, key, now| board.idle(key, None, now)),
        SessionCommand::End(args) => (args, |board, key, _| board.end(key)),
    };
    let hook = Hook::read(args.session.as_deref());
    let key = SessionKey {
        client: args.client.clone(),
        id: hook.session(),
    };
    let noted = change(context, |board| {
        note(board, &key, context.clock.wall());
        if let Some(at) = board.sessions.iter().position(|one| one.key == key) {
            describe(&mut board.sessions[at], hook.folder());
            return board.sessions[at].waker.is_none_or(|waker| !waker.lives());
        }
        false
    });
    match noted {
        Ok(unwatched) if unwatched && key.client == QUEUES => start_waker(context, &key),
        Ok(_) => {}
        Err(error) => context.output.say(&format!(
            "the session was not noted: {}",
            legation_core::error::chain(&error)
        )),
    }
    Ok(())
}

/// Changes the board.
pub(super) fn change<T>(
    context: &Context,
    change: impl FnOnce(&mut Board) -> T,
) -> Result<T, BoardError> {
    let mut lock = BoardFile::at(&context.home.wake()).lock()?;
    let result = change(&mut lock.board);
    lock.save()?;
    Ok(result)
}

/// Notes where a session works and which process it is.
pub(super) fn describe(session: &mut Session, folder: Option<PathBuf>) {
    if let Some(folder) = folder {
        session.folder = Some(folder);
    }
    // Where the system does not say what a process is, the last one known is a hook's shell,
    // and the session does not end with that.
    let process = line_above().last().copied();
    let process = process.filter(|kin| kin.started.is_some());
    session.process = process.or(session.process);
}

/// The folder as the hub names it as well, behind every link.
pub(super) fn canonical(folder: &Path) -> PathBuf {
    folder.canonicalize().unwrap_or_else(|_| folder.to_owned())
}

/// A waker that outlives the hook; it ends with the session.
fn start_waker(context: &Context, key: &SessionKey) {
    let started = std::env::current_exe().map(|program| {
        let args = [
            "--home".into(),
            context.home.root().into(),
            "inbox".into(),
            "waker".into(),
            "--by".into(),
            "queue".into(),
            "--client".into(),
            key.client.clone().into(),
            "--session".into(),
            key.id.clone().into(),
        ];
        let variables = context.environment.iter();
        detach(&DetachSpec {
            program,
            args: args.to_vec(),
            env: variables
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
            cwd: "/".into(),
            log: context.home.logs().join("waker.log"),
        })
    });
    let problem = match started {
        Ok(Ok(_running)) => return,
        Ok(Err(error)) => legation_core::error::chain(&error),
        Err(error) => error.to_string(),
    };
    context
        .output
        .say(&format!("nothing wakes this session: {problem}"));
}

fn cmd_list(context: &Context) -> Result<(), CliError> {
    let sessions = change(context, |board| {
        board.sweep(context.clock.wall());
        board.sessions.clone()
    });
    let sessions = sessions.map_err(|error| CliError::failed(&error).with_hint(error.hint()))?;
    let shown: Vec<Shown> = sessions.into_iter().map(shown).collect();
    context.output.result(&shown, |shown| {
        let mut table = Table::new(&["CLIENT", "STATE", "ACTIVE", "FOLDER", "SESSION"]);
        for one in shown {
            let folder = one.folder.as_ref().map(|path| path.display().to_string());
            table.row([
                printable(&one.client),
                one.state.to_owned(),
                one.active.clone(),
                printable(&folder.unwrap_or_default()),
                printable(&one.session),
            ]);
        }
        table.render()
    })
}

fn shown(session: Session) -> Shown {
    Shown {
        state: match (session.busy, session.waker.is_some_and(Kin::lives)) {
            (true, _) => "busy",
            (false, true) => "waits",
            (false, false) => "cannot be woken",
        },
        client: session.key.client,
        session: session.key.id,
        folder: session.folder,
        active: session.active.to_string(),
    }
}
