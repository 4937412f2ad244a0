//! What goes on while the hub is killed: calls, questions, answers, and crowds that use one answer.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, ScopedJoinHandle};

use anyhow::{Result, bail, ensure};

use super::connection::{Http, Line, Said};
use crate::bench::hub::Home;
use crate::soak::random::Random;

/// The server whose calls are asked about, and its tool.
pub(super) const ASKED: (&str, &str) = ("asked", "echo");
/// The server whose calls change something.
pub(super) const CHANGES: &str = "changes";
/// The same, behind a shell.
pub(super) const SHELL: &str = "shell";
/// The server whose calls only read.
pub(super) const READS: &str = "reads";
/// How many tools the others have: so many calls of a cycle can be told apart in the ledger.
pub(super) const TOOLS: usize = 256;

/// Clients that ask, each with a crowd of its own.
const ASKERS: usize = 2;
/// Connections that use one answer at once.
const CROWD: usize = 3;

/// What the clients of one cycle saw.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Calls that were answered with their result, by server and tool.
    pub(super) answered: Vec<(&'static str, String)>,
    /// Calls that were asked about.
    pub(super) asked: Vec<Asked>,
    /// Calls that were not done for want of something else, the first of them quoted.
    pub(super) not_done: Vec<String>,
}

/// A call that was asked about, whose text no other call has.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) text: String,
    /// The approval it waits under.
    pub(super) id: String,
    pub(super) grant: Sent,
    pub(super) denial: Sent,
    /// How often it was answered with its result.
    pub(super) done: usize,
}

/// How far an answer of the owner's got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sent {
    Never,
    /// The hub was killed before it said.
    Unsure,
    /// The hub said that it took it.
    Taken,
}

/// Numbers for the calls of one cycle.
#[derive(Debug)]
struct Numbers {
    cycle: usize,
    next: AtomicUsize,
}

enum Connection {
    Line(Line),
    Http(Http),
}

/// A running load; it ends with the hub.
pub(super) struct Load<'scope>(Vec<ScopedJoinHandle<'scope, Result<Seen>>>);

/// Starts the clients.
pub(super) fn start<'scope>(
    scope: &'scope thread::Scope<'scope, '_>,
    home: &'scope Home,
    authority: &str,
    cycle: usize,
    random: &mut Random,
) -> Load<'scope> {
    let numbers = std::sync::Arc::new(Numbers {
        cycle,
        next: AtomicUsize::new(0),
    });
    let mut threads = Vec::new();
    for (server, over_http) in [
        (CHANGES, false),
        (CHANGES, true),
        (SHELL, false),
        (READS, true),
    ] {
        let (numbers, authority) = (numbers.clone(), over_http.then(|| authority.to_owned()));
        threads.push(scope.spawn(move || {
            let connection = match authority {
                Some(authority) => Http::open(home, &authority)?.map(Connection::Http),
                None => Line::agent(home)?.map(Connection::Line),
            };
            connection.map_or_else(|| Ok(Seen::default()), |open| call(open, server, &numbers))
        }));
    }
    for _asker in 0..ASKERS {
        let (numbers, mut random) = (numbers.clone(), Random::new(random.next()));
        threads.push(scope.spawn(move || {
            let mut seen = Seen::default();
            ask(home, &numbers, &mut random, &mut seen).map(|_gone| seen)
        }));
    }
    Load(threads)
}

/// Calls until the hub is gone.
fn call(mut connection: Connection, server: &'static str, numbers: &Numbers) -> Result<Seen> {
    let mut seen = Seen::default();
    loop {
        let (number, text) = numbers.take(server);
        let item = format!("tool_{:05}", number % TOOLS);
        let said = connection.call(&format!("{server}-{item}"), &text)?;
        match said {
            None => return Ok(seen),
            Some(Said::Done) => seen.answered.push((server, item)),
            Some(Said::NotDone(why)) => seen.not_done.push(why),
            Some(said) => bail!("{text}, which nobody is asked about, was answered {said:?}"),
        }
    }
}

/// Asks, answers and uses answers until the hub is gone, which is the `None`.
fn ask(home: &Home, numbers: &Numbers, random: &mut Random, seen: &mut Seen) -> Result<Option<()>> {
    let mut crowd = Vec::new();
    for _member in 0..CROWD {
        let Some(line) = Line::agent(home)? else {
            return Ok(None);
        };
        crowd.push(line);
    }
    let Some(mut owner) = Line::owner(home)? else {
        return Ok(None);
    };
    loop {
        let (_, text) = numbers.take(ASKED.0);
        let Some(said) = crowd[0].call(&tool(), &text)? else {
            return Ok(None);
        };
        match said {
            Said::Pending(id) => {
                let mut asked = Asked::new(text, id);
                let alive = round(&mut asked, &mut crowd, &mut owner, random)?;
                seen.asked.push(asked);
                if alive.is_none() {
                    return Ok(None);
                }
            }
            Said::NotDone(why) => seen.not_done.push(why),
            Said::Done | Said::Denied => bail!("{text} was answered {said:?} unasked"),
        }
    }
}

/// One question: its answer, and what a crowd makes of it.
fn round(
    asked: &mut Asked,
    crowd: &mut [Line],
    owner: &mut Line,
    random: &mut Random,
) -> Result<Option<()>> {
    let fate = random.below(8);
    if fate == 0 {
        if asked.deny(owner)?.is_none() {
            return Ok(None);
        }
        ensure!(asked.denial == Sent::Taken, "nobody may deny {asked:?}");
        let said = crowd[0].call(&tool(), &asked.text)?;
        ensure!(
            said.as_ref().is_none_or(|said| *said == Said::Denied),
            "{asked:?} was denied, and answered {said:?}"
        );
        return Ok(said.map(|_denied| ()));
    }
    asked.grant = Sent::Unsure;
    match owner.answer(&asked.id, "once")? {
        None => return Ok(None),
        Some(taken) => ensure!(taken, "nobody may grant {asked:?}"),
    }
    asked.grant = Sent::Taken;
    let text = asked.text.clone();
    let (said, denied) = thread::scope(|scope| {
        let uses: Vec<_> = crowd
            .iter_mut()
            .map(|line| scope.spawn(|| line.call(&tool(), &text)))
            .collect();
        // At times the owner has second thoughts while the answer is being used.
        let denied = (fate == 1).then(|| asked.deny(owner)).transpose();
        let said: Vec<_> = uses.into_iter().map(ScopedJoinHandle::join).collect();
        (said, denied)
    });
    let mut alive = denied?.is_none_or(|denied| denied.is_some());
    for said in said {
        match said.map_err(|_panic| anyhow::anyhow!("a client panicked"))?? {
            None => alive = false,
            Some(Said::Done) => asked.done += 1,
            // Who came too late is asked anew; nobody wants to know.
            Some(Said::Pending(id)) if alive => alive = owner.answer(&id, "deny")?.is_some(),
            Some(Said::Pending(_) | Said::Denied | Said::NotDone(_)) => {}
        }
    }
    Ok(alive.then_some(()))
}

/// The asked tool's name among all.
pub(super) fn tool() -> String {
    format!("{}-{}", ASKED.0, ASKED.1)
}

// === impl Load ===

impl Load<'_> {
    /// Waits for the clients of a hub that is gone.
    pub(super) fn finish(self) -> Result<Seen> {
        let mut all = Seen::default();
        for thread in self.0 {
            let seen = thread
                .join()
                .map_err(|_panic| anyhow::anyhow!("a client panicked"))??;
            all.answered.extend(seen.answered);
            all.asked.extend(seen.asked);
            all.not_done.extend(seen.not_done);
        }
        Ok(all)
    }
}

// === impl Asked ===

impl Asked {
    fn new(text: String, id: String) -> Self {
        Self {
            text,
            id,
            grant: Sent::Never,
            denial: Sent::Never,
            done: 0,
        }
    }

    fn deny(&mut self, owner: &mut Line) -> Result<Option<()>> {
        self.denial = Sent::Unsure;
        let taken = owner.answer(&self.id, "deny")?;
        if let Some(taken) = taken {
            self.denial = if taken { Sent::Taken } else { Sent::Never };
        }
        Ok(taken.map(|_taken| ()))
    }
}

// === impl Numbers ===

impl Numbers {
    /// The next call's number, and a text that no other call of the campaign has.
    fn take(&self, server: &str) -> (usize, String) {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        (number, format!("{server}/{}-{number}", self.cycle))
    }
}

// === impl Connection ===

impl Connection {
    fn call(&mut self, tool: &str, text: &str) -> Result<Option<Said>> {
        match self {
            Self::Line(line) => line.call(tool, text),
            Self::Http(http) => http.call(tool, text),
        }
    }
}
