//! The hub killed under load, again and again.
//!
//! After each kill no process that it started may be left; at the end the ledger must be intact,
//! hold every call that a client saw answered, and no call without an outcome.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::random::Random;
use crate::bench::hub::Home;
use crate::bench::programs::{Programs, Report, Running};
use crate::sys;

/// The variable by which processes are found.
const MARK: &str = "LEGATION_SOAK";
/// How long processes may take to end after the hub was killed.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often the ledger is verified, in cycles.
const VERIFY_EVERY: usize = 10;

pub(super) fn run(programs: &Programs, seed: u64, cycles: usize, deadline: Instant) -> Result<()> {
    let mut random = Random::new(seed);
    let mark = format!("{seed}-{}", std::process::id());
    let home = Home::new(programs, &servers(programs, &mark))?;
    let mut answered = 0;
    for cycle in 1..=cycles {
        if sys::now() > deadline {
            sys::say(&format!(
                "crash: the time is over after {} cycles",
                cycle - 1
            ));
            break;
        }
        let mut hub = home.serve()?;
        if cycle == 1 {
            home.connected(3)?;
        }
        let loads = loads(programs, &home, &hub)?;
        std::thread::sleep(Duration::from_millis(100 + random.below(1400) as u64));
        let marked = marked(&format!("{MARK}={mark}"))?;
        // Without this the count below would prove nothing.
        ensure!(
            marked.len() >= 3,
            "the servers' processes carry no mark: {marked:?}"
        );
        hub.child.kill()?;
        hub.child.wait()?;
        let mut calls = 0;
        for load in loads {
            calls += finish(load)?;
        }
        answered += calls;
        let left = none_left(&mark)?;
        sys::say(&format!(
            "crash {cycle}/{cycles}: {calls} calls, last process gone after {left:?}"
        ));
        if cycle % VERIFY_EVERY == 0 {
            verify(&home, answered)?;
        }
    }
    verify(&home, answered)?;
    none_left(&mark)?;
    Ok(())
}

/// Starts the hub once more, which closes what was open, stops it, and checks the ledger.
fn verify(home: &Home, answered: u64) -> Result<()> {
    let ledger = home.stop_and_verify(home.serve()?)?;
    ensure!(
        ledger.intents >= answered,
        "clients saw {answered} answers, the ledger holds {} intents",
        ledger.intents
    );
    ensure!(
        ledger.intents == ledger.outcomes,
        "{} intents, but {} outcomes",
        ledger.intents,
        ledger.outcomes
    );
    let records = ledger.records;
    sys::say(&format!(
        "crash: ledger intact, {records} records for {answered} answered calls"
    ));
    Ok(())
}

/// Three servers whose processes carry the mark, one of them behind a shell.
fn servers(programs: &Programs, mark: &str) -> Value {
    let echo = programs.echo.display().to_string();
    let plain = json!({
        "type": "stdio", "command": echo, "args": ["--transport", "stdio"], "env": { MARK: mark },
    });
    // The shell stays, so the server is a grandchild; its companion leaves the process group.
    let script = format!("setsid sleep 1000 & \"{echo}\" --transport stdio; true");
    let shell = json!({
        "type": "stdio", "command": "sh", "args": ["-c", script], "env": { MARK: mark },
    });
    json!({ "one": plain, "two": plain, "shell": shell })
}

/// Clients in both eras, over HTTP and the socket.
fn loads(programs: &Programs, home: &Home, hub: &Running) -> Result<Vec<Child>> {
    let token = home.token().display().to_string();
    let socket = home.socket().display().to_string();
    let url = hub.url("/mcp");
    let mut loads = Vec::new();
    for (era, tool, place) in [
        ("legacy", "one-echo", ["--url", &url]),
        ("modern", "shell-echo", ["--url", &url]),
        ("legacy", "two-echo", ["--socket", &socket]),
    ] {
        let mut command = sys::command(&programs.load);
        command.args(["run", "--tolerant", "--connections", "4", "--seconds", "60"]);
        command.args(["--era", era, "--tool", tool]).args(place);
        if place[0] == "--url" {
            command.args(["--token-file", &token]);
        }
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        loads.push(command.spawn().context("cannot start the load generator")?);
    }
    Ok(loads)
}

/// Waits for a load whose hub is gone; the calls it saw answered.
fn finish(load: Child) -> Result<u64> {
    let output = load.wait_with_output()?;
    if !output.status.success() {
        // The hub was gone before this client had connected.
        return Ok(0);
    }
    let report: Report = serde_json::from_slice(&output.stdout)?;
    // A server that is still starting after the hub's start answers with an error; a wrong answer
    // would be another's.
    let wrong = report.first_wrong.unwrap_or_default();
    ensure!(
        wrong.is_empty() || wrong.contains("rror"),
        "a wrong answer: {wrong}"
    );
    Ok(report.all_calls)
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
