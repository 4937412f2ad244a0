//! The hub killed under load, again and again.
//!
//! Clients call, ask, and use what the owner answers, several at once, until the hub is killed; now
//! and then it is killed while it starts. After each kill no process that it started may be left,
//! and what the next hub has kept is held against what was seen outside ([`outside::Outside`]):
//! nothing that was acknowledged is lost, no approval is used twice, no call is left open.

mod connection;
mod load;
mod outside;

use std::fmt;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use self::connection::Line;
use self::load::{ASKED, CHANGES, READS, SHELL, TOOLS};
use self::outside::Outside;
use super::random::Random;
use crate::bench::hub::{Home, Ledger};
use crate::bench::programs::Programs;
use crate::sys;

/// The variable by which processes are found.
const MARK: &str = "LEGATION_SOAK";
/// How long processes may take to end after the hub was killed.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often every chain is verified from its beginning, in cycles.
const VERIFY_EVERY: usize = 50;
/// The hub is killed within so many milliseconds of load, or of its start.
const UNDER_LOAD_MS: usize = 500;
const STARTING_MS: usize = 150;
/// One kill of so many hits a hub that starts.
const STARTING: usize = 10;

/// A campaign under way.
struct Campaign {
    home: Home,
    outside: Outside,
    random: Random,
    mark: String,
    kills: usize,
    starting: usize,
    /// The longest time until the last process was gone.
    slowest: Duration,
}

pub(super) fn run(programs: &Programs, seed: u64, cycles: usize, deadline: Instant) -> Result<()> {
    let mark = format!("{seed}-{}", std::process::id());
    let folder = tempfile::tempdir()?;
    let journal = folder.path().join("journal");
    let home = Home::new(programs, &servers(programs, &journal, &mark))?;
    home.ask_about(ASKED.0)?;
    let mut campaign = Campaign {
        outside: Outside::new(&journal),
        random: Random::new(seed),
        mark,
        home,
        kills: 0,
        starting: 0,
        slowest: Duration::ZERO,
    };
    let begun = sys::now();
    match campaign.cycles(cycles, deadline) {
        Ok(ledger) => {
            let took = begun.elapsed().as_secs();
            sys::put(&format!(
                "{campaign} in {took} s, chain whole over {} records, verified in {:.2} s, seed {seed}",
                ledger.records, ledger.verified
            ));
            Ok(())
        }
        Err(error) => {
            drop(folder.keep());
            let place = campaign.home.keep();
            Err(error.context(format!("what is left lies in {}", place.display())))
        }
    }
}

// === impl Campaign ===

impl Campaign {
    /// Kills so often, or until the time is over; what the ledger holds then.
    fn cycles(&mut self, cycles: usize, deadline: Instant) -> Result<Ledger> {
        for cycle in 1..=cycles {
            if sys::now() > deadline {
                sys::say(&format!("crash: the time is over after {}", self.kills));
                break;
            }
            if cycle > 1 && self.random.below(STARTING) == 0 {
                self.kill_starting()?;
                self.starting += 1;
            } else {
                self.kill_under_load(cycle)
                    .with_context(|| format!("cycle {cycle}"))?;
            }
            self.kills += 1;
            self.slowest = self.slowest.max(none_left(&self.mark)?);
            if cycle % VERIFY_EVERY == 0 {
                self.verify()?;
                sys::say(&format!("{self}"));
            }
        }
        let ledger = self.verify()?;
        none_left(&self.mark)?;
        let totals = self.outside.totals;
        ensure!(
            self.kills < VERIFY_EVERY || (totals.used > 0 && totals.denied > 0),
            "no approval was used or none denied, so nothing is proved: {totals}"
        );
        Ok(ledger)
    }

    /// One hub: what the last one left is checked, then it is killed under load.
    fn kill_under_load(&mut self, cycle: usize) -> Result<()> {
        let mut hub = self.home.serve()?;
        if cycle == 1 {
            self.home.connected(4)?;
        }
        self.look()
            .with_context(|| format!("the hub said {}", hub.said()))?;
        let wait = self.random.below(UNDER_LOAD_MS) as u64;
        let authority = hub.authority.clone();
        let seen = std::thread::scope(|scope| {
            let load = load::start(scope, &self.home, &authority, cycle, &mut self.random);
            std::thread::sleep(Duration::from_millis(wait));
            hub.child.kill()?;
            hub.child.wait()?;
            load.finish()
        })?;
        if let Some(why) = seen.not_done.first() {
            ensure!(why.contains("rror"), "a wrong answer: {why}");
        }
        self.outside.take(seen);
        Ok(())
    }

    /// Checks what a hub that was just started has kept, and finishes what was cut off.
    fn look(&mut self) -> Result<()> {
        let gone = "the hub went away by itself";
        let mut owner = Line::owner(&self.home)?.context(gone)?;
        self.outside.check(&mut owner)?;
        let mut agent = Line::agent(&self.home)?.context(gone)?;
        self.outside.settle(&mut agent, &mut owner)?;
        // Without this the count of what is left after the kill would prove nothing.
        let marked = marked(&format!("{MARK}={}", self.mark))?;
        ensure!(!marked.is_empty(), "the servers' processes carry no mark");
        Ok(())
    }

    /// Kills a hub that is starting, maybe while it closes what was open.
    fn kill_starting(&mut self) -> Result<()> {
        let mut command = self.home.legation(&["serve", "--listen", "127.0.0.1:0"]);
        let quiet = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut hub = quiet.spawn().context("cannot start the hub")?;
        let wait = self.random.below(STARTING_MS) as u64;
        std::thread::sleep(Duration::from_millis(wait));
        hub.kill()?;
        hub.wait()?;
        Ok(())
    }

    /// Starts the hub once more, stops it, and checks the whole ledger.
    fn verify(&mut self) -> Result<Ledger> {
        let hub = self.home.serve()?;
        self.look()?;
        let ledger = self.home.stop_and_verify(hub)?;
        ensure!(
            ledger.intents == ledger.outcomes,
            "{} intents, but {} outcomes",
            ledger.intents,
            ledger.outcomes
        );
        let read = self.outside.totals.intents;
        ensure!(
            ledger.intents >= read,
            "{read} intents were read, {} are left",
            ledger.intents
        );
        Ok(ledger)
    }
}

impl fmt::Display for Campaign {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "crash: {} kills ({} of them of a hub that started), {}; nothing acknowledged lost, \
             no approval used twice, every call closed, no process left after {:?}",
            self.kills, self.starting, self.outside.totals, self.slowest
        )
    }
}

/// Four servers whose processes carry the mark, one of them behind a shell.
fn servers(programs: &Programs, journal: &std::path::Path, mark: &str) -> Value {
    let echo = programs.echo.display().to_string();
    let tools = TOOLS.to_string();
    let plain = |arguments: &[&str]| json!({ "type": "stdio", "command": echo, "args": arguments, "env": { MARK: mark } });
    let written = journal.display().to_string();
    // The shell stays, so the server is a grandchild; its companion leaves the process group.
    let script =
        format!("setsid sleep 1000 & \"{echo}\" --tools {tools} --journal \"{written}\"; true");
    let shell = json!({
        "type": "stdio", "command": "sh", "args": ["-c", script], "env": { MARK: mark },
    });
    json!({
        ASKED.0: plain(&["--journal", &written]),
        CHANGES: plain(&["--tools", &tools, "--journal", &written]),
        READS: plain(&["--tools", &tools]),
        SHELL: shell,
    })
}

/// Waits until no process carries the mark.
fn none_left(mark: &str) -> Result<Duration> {
    let needle = format!("{MARK}={mark}");
    let begun = sys::now();
    loop {
        let left = marked(&needle)?;
        if left.is_empty() {
            return Ok(begun.elapsed());
        }
        ensure!(begun.elapsed() < PATIENCE, "processes are left: {left:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The processes whose environment holds the needle.
fn marked(needle: &str) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").context("processes are found in /proc")? {
        let path = entry?.path();
        let Ok(environment) = std::fs::read(path.join("environ")) else {
            continue;
        };
        if environment
            .split(|byte| *byte == 0)
            .any(|variable| variable == needle.as_bytes())
        {
            found.push(path.display().to_string());
        }
    }
    Ok(found)
}
