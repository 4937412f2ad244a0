//! The stages of `cargo xtask test`, and how each is counted.

use std::fmt;
use std::io::{BufRead, BufReader};
use std::num::NonZero;
use std::ops::AddAssign;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use clap::ValueEnum;
use serde_json::Value;

use crate::soak;
use crate::sys;
use crate::tidy;
use crate::tools::{self, Tool};

/// One stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Stage {
    /// `cargo fmt --check`.
    Fmt,
    /// One build of everything with clippy's driver as the compiler, warnings denied.
    Clippy,
    /// The walls between crates and the house rules.
    Tidy,
    /// Unit and integration tests.
    Unit,
    /// A short form of `cargo xtask soak`: the hub killed under load.
    Crash,
    /// The official conformance suite against the hub as a server.
    Conformance,
    /// The official conformance suite against the hub as a client.
    ConformanceClient,
    /// The SDKs and the Inspector against real servers behind the hub.
    Sdk,
    /// The SDKs where a person is asked.
    Approvals,
    /// A client of the events extension that others wrote.
    Events,
    /// The admin API against its own description, by tools that others wrote.
    Openapi,
    /// Microsoft's client libraries against the development tenant.
    Tenant,
    /// The console in a real browser.
    Console,
    /// A real engine behind the client and the commands for models.
    Engine,
    /// Whole turns of real agents.
    Agents,
}

/// Which build of the hub is tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Build {
    /// The one made while developing.
    Debug,
    /// The one of `--release`.
    Release,
}

/// How many checks passed and failed.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Tally {
    /// Checks that passed.
    pub(super) passed: u64,
    /// Checks that failed.
    pub(super) failed: u64,
}

// === impl Stage ===

impl Stage {
    /// In the order they run.
    pub(super) const ALL: [Self; 15] = [
        Self::Fmt,
        Self::Clippy,
        Self::Tidy,
        Self::Unit,
        Self::Crash,
        Self::Conformance,
        Self::ConformanceClient,
        Self::Sdk,
        Self::Approvals,
        Self::Events,
        Self::Openapi,
        Self::Tenant,
        Self::Console,
        Self::Engine,
        Self::Agents,
    ];

    /// The name on the command line.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Fmt => "fmt",
            Self::Clippy => "clippy",
            Self::Tidy => "tidy",
            Self::Unit => "unit",
            Self::Crash => "crash",
            Self::Conformance => "conformance",
            Self::ConformanceClient => "conformance-client",
            Self::Sdk => "sdk",
            Self::Approvals => "approvals",
            Self::Events => "events",
            Self::Openapi => "openapi",
            Self::Tenant => "tenant",
            Self::Console => "console",
            Self::Engine => "engine",
            Self::Agents => "agents",
        }
    }

    /// What the stage does, for the person watching.
    pub(super) fn about(self) -> &'static str {
        match self {
            Self::Fmt => "formatting",
            Self::Clippy => "lints",
            Self::Tidy => "walls between crates and house rules",
            Self::Unit => "unit and integration tests",
            Self::Crash => "the hub killed under load",
            Self::Conformance => "the official suite against the hub as a server",
            Self::ConformanceClient => "the official suite against the hub as a client",
            Self::Sdk => "SDKs and Inspector against real servers behind the hub",
            Self::Approvals => "SDKs where a person is asked",
            Self::Events => "a client of webhooks that others wrote",
            Self::Openapi => "the admin API against its own description",
            Self::Tenant => "Microsoft's client libraries against the development tenant",
            Self::Console => "the console in a real browser",
            Self::Engine => "a real engine behind the client and commands for models",
            Self::Agents => "whole turns of real agents, idle ones woken, work handed on, offline",
        }
    }

    /// Runs it.
    pub(super) fn run(self, build: Build, filter: Option<&str>) -> Result<Tally> {
        let end_to_end = |driver, needed: &[Tool]| end_to_end(build, driver, needed, filter);
        match self {
            Self::Fmt => one(sys::cargo().args(["fmt", "--all", "--", "--check"])),
            Self::Clippy => lints(),
            Self::Tidy => Ok(Tally::of(tidy::is_clean(false)?)),
            Self::Unit => unit(build),
            Self::Crash => crash(build),
            Self::Conformance => end_to_end("conformance", &[Tool::Conformance]),
            Self::ConformanceClient => end_to_end("conformance-client", &[Tool::Conformance]),
            Self::Sdk => {
                let needed = [
                    Tool::Sdk1,
                    Tool::Sdk2,
                    Tool::Servers,
                    Tool::Inspector,
                    Tool::Python,
                ];
                let mut tally = end_to_end("sdk", &needed)?;
                tally += end_to_end("servers", &[Tool::Servers])?;
                let questions = [Tool::Servers, Tool::Found, Tool::Python, Tool::Embeddings];
                tally += end_to_end("found", &questions)?;
                Ok(tally)
            }
            Self::Approvals => end_to_end("approvals", &[Tool::Sdk1, Tool::Sdk2, Tool::Python]),
            Self::Events => end_to_end("events", &[Tool::AiSdk]),
            Self::Openapi => end_to_end("openapi", &[Tool::OpenApi]),
            Self::Tenant => end_to_end(
                "tenant",
                &[Tool::MicrosoftPython, Tool::MicrosoftNode, Tool::Browser],
            ),
            Self::Console => end_to_end("console", &[Tool::Browser, Tool::Axe]),
            Self::Engine => end_to_end("engine", &[Tool::Engine]),
            Self::Agents => {
                let turns = end_to_end("agents", &[Tool::Claude, Tool::Codex])?;
                tools::debian(&[tools::TMUX])?;
                let needed = [Tool::Claude, Tool::Codex, Tool::Copilot, Tool::Opencode];
                let mut tally = end_to_end("wake", &needed)?;
                tally += turns;
                tally += end_to_end("moving", &needed)?;
                tally += end_to_end("delegate", &[Tool::Claude, Tool::Sdk1, Tool::Sdk2])?;
                Ok(tally)
            }
        }
    }
}

/// Builds everything that is tested, in which no lint may find anything.
fn lints() -> Result<Tally> {
    let mut cargo = linted()?;
    cargo
        .args(["build", "--workspace", "--all-targets"])
        .args(["--message-format", "json"])
        .stdout(Stdio::piped());
    let mut child = cargo.spawn().context("cannot start cargo")?;
    let said = child.stdout.take().context("cargo says nothing")?;
    let mut found = 0;
    for line in BufReader::new(said).lines() {
        let message: Value = serde_json::from_str(&line?).unwrap_or_default();
        if let Some(rendered) = message["message"]["rendered"].as_str() {
            sys::say(rendered);
            found += 1;
        }
    }
    let status = child.wait()?;
    Ok(Tally::of(status.success() && found == 0))
}

/// cargo with the lints in the compiler: what they read is what is run, so that nothing is
/// compiled once for them and once more for the tests. What was found before is said again.
fn linted() -> Result<Command> {
    let mut cargo = sys::cargo();
    let sysroot = sys::command("rustc")
        .args(["--print", "sysroot"])
        .output()?;
    let sysroot = String::from_utf8(sysroot.stdout)?;
    let driver = Path::new(sysroot.trim()).join("bin/clippy-driver");
    cargo.env("RUSTC_WORKSPACE_WRAPPER", driver);
    Ok(cargo)
}

/// A command that is one check.
fn one(command: &mut Command) -> Result<Tally> {
    let status = command.status().context("cannot start the check")?;
    Ok(Tally::of(status.success()))
}

fn unit(build: Build) -> Result<Tally> {
    tools::debian(&[
        tools::POSTGRESQL,
        tools::OPENSSL,
        tools::STRACE,
        tools::TMUX,
        tools::DBUS,
        tools::NOTIFY,
    ])?;
    // The clients that messages are delivered to, and how many messages those are; and who signs
    // people in, for a server and a client of the first generation of the SDK.
    tools::ensure(&[
        Tool::Sdk1,
        Tool::Sdk2,
        Tool::Python,
        Tool::CopilotSdk,
        Tool::OAuth,
    ])?;
    let messages = ("LEGATION_DELIVERY_MESSAGES", "1000");
    if !build.programs()? {
        return Ok(Tally::FAILED);
    }
    let mut tally = match tools::nextest(build.cargo()?)? {
        Some(mut nextest) => {
            let arguments = [
                "nextest",
                "run",
                "--no-fail-fast",
                "--color",
                "never",
                "--status-level",
                "slow",
            ];
            // Many of the tests wait for a process or a clock most of their time.
            let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
            let at_once = (cores + cores.div_ceil(2)).to_string();
            nextest
                .env(messages.0, messages.1)
                .env("NEXTEST_TEST_THREADS", at_once);
            counted(nextest.args(arguments).args(build.tests()), &nextest_tally)?
        }
        None => counted(
            build
                .cargo()?
                .args(["test", "--no-fail-fast"])
                .env(messages.0, messages.1)
                .args(build.tests()),
            &libtest_tally,
        )?,
    };
    if build == Build::Debug {
        tally += documented(build)?;
    }
    Ok(tally)
}

/// The examples in comments. Each crate without any says so at length: only failures are shown.
fn documented(build: Build) -> Result<Tally> {
    let mut cargo = build.cargo()?;
    let done = cargo
        .args(["test", "--workspace", "--doc", "--quiet"])
        .output()?;
    if !done.status.success() {
        sys::say(&String::from_utf8_lossy(&done.stdout));
        sys::say(&String::from_utf8_lossy(&done.stderr));
    }
    Ok(Tally::of(done.status.success()))
}

fn crash(build: Build) -> Result<Tally> {
    if !build.programs()? {
        return Ok(Tally::FAILED);
    }
    soak::crash_shortly(&build.folder())?;
    Ok(Tally::of(true))
}

/// Runs one end-to-end driver with the tools it needs installed.
fn end_to_end(build: Build, driver: &str, needed: &[Tool], filter: Option<&str>) -> Result<Tally> {
    if !build.programs()? {
        return Ok(Tally::FAILED);
    }
    let folder = tools::ensure(needed)?;
    let mut command = sys::command(build.folder().join("e2e"));
    command
        .arg(driver)
        .arg("--tools")
        .arg(&folder)
        .current_dir(sys::root());
    if let Some(filter) = filter {
        command.args(["--filter", filter]);
    }
    counted(&mut command, &driver_tally)
}

/// Runs a command, shows what it says, and reads the tally out of it. Both streams are one pipe:
/// a second one could fill up while the first is read.
fn counted(command: &mut Command, read: &dyn Fn(&str) -> Option<Tally>) -> Result<Tally> {
    let (reader, writer) = std::io::pipe().context("cannot make a pipe")?;
    command
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer);
    let mut child = command.spawn().context("cannot start the tests")?;
    // The command still holds the writing ends; without this the pipe would never end.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut tally = Tally::default();
    for line in BufReader::new(reader).lines() {
        let line = line.unwrap_or_default();
        sys::say(&line);
        if let Some(found) = read(&line) {
            tally += found;
        }
    }
    let status = child.wait()?;
    if !status.success() && tally.failed == 0 {
        tally.failed = 1;
    }
    Ok(tally)
}

/// `Summary [ 0.1s] 6 tests run: 5 passed (1 slow), 1 failed, 0 skipped`
fn nextest_tally(line: &str) -> Option<Tally> {
    let (_, counts) = line
        .trim_start()
        .strip_prefix("Summary [")?
        .split_once(" run: ")?;
    Some(Tally {
        passed: before(counts, "passed"),
        failed: before(counts, "failed")
            + before(counts, "timed out")
            + before(counts, "exec failed"),
    })
}

/// `test result: ok. 5 passed; 0 failed; …`
fn libtest_tally(line: &str) -> Option<Tally> {
    let counts = line.strip_prefix("test result: ")?;
    Some(Tally {
        passed: before(counts, "passed"),
        failed: before(counts, "failed"),
    })
}

/// `5 passed, 0 failed`, alone on its line.
fn driver_tally(line: &str) -> Option<Tally> {
    let (passed, failed) = line.split_once(" passed, ")?;
    let failed = failed.strip_suffix(" failed")?;
    Some(Tally {
        passed: passed.parse().ok()?,
        failed: failed.parse().ok()?,
    })
}

/// The number in front of a word; 0 if the word does not follow a number.
fn before(text: &str, word: &str) -> u64 {
    text.match_indices(word)
        .find_map(|(at, _)| {
            text[..at]
                .trim_end()
                .rsplit(|c: char| !c.is_ascii_digit())
                .next()?
                .parse()
                .ok()
        })
        .unwrap_or(0)
}

// === impl Build ===

impl Build {
    /// Where the programs lie.
    fn folder(self) -> PathBuf {
        sys::target_dir().join(match self {
            Self::Debug => "debug",
            Self::Release => "release",
        })
    }

    /// What builds it: the one of `--release` has never seen a lint's driver.
    fn cargo(self) -> Result<Command> {
        match self {
            Self::Debug => linted(),
            Self::Release => Ok(sys::cargo()),
        }
    }

    /// Builds the hub and what the tests need beside it; whether that went well.
    fn programs(self) -> Result<bool> {
        let arguments: &[&str] = match self {
            Self::Debug => &["--workspace"],
            Self::Release => &[
                "--release",
                "-p",
                "legation",
                "-p",
                "legation-tests",
                "-p",
                "legation-bench",
            ],
        };
        let mut cargo = self.cargo()?;
        let status = cargo.args(["build", "--bins"]).args(arguments).status()?;
        Ok(status.success())
    }

    /// Which tests are run: all, or those that drive the hub from outside, because the crates' own
    /// test the same code whatever the build, and optimising each of them takes long.
    fn tests(self) -> &'static [&'static str] {
        match self {
            Self::Debug => &["--workspace"],
            Self::Release => &["--release", "-p", "legation-tests"],
        }
    }
}

// === impl Tally ===

impl Tally {
    /// One check that failed.
    pub(super) const FAILED: Self = Self {
        passed: 0,
        failed: 1,
    };

    fn of(passed: bool) -> Self {
        Self {
            passed: u64::from(passed),
            failed: u64::from(!passed),
        }
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} passed, {} failed", self.passed, self.failed)
    }
}

#[cfg(test)]
mod tests {
    use super::{before, driver_tally, libtest_tally, nextest_tally};

    #[test]
    fn reads_every_summary() {
        let nextest = nextest_tally("     Summary [   2.5s] 9 tests run: 6 passed (1 slow), 2 failed, 1 timed out, 3 skipped").unwrap();
        assert_eq!((nextest.passed, nextest.failed), (6, 3));
        let libtest = libtest_tally("test result: FAILED. 5 passed; 2 failed; 0 ignored").unwrap();
        assert_eq!((libtest.passed, libtest.failed), (5, 2));
        let driver = driver_tally("83 passed, 0 failed").unwrap();
        assert_eq!((driver.passed, driver.failed), (83, 0));
        assert!(driver_tally("Total: 83 passed, 0 failed").is_none());
        assert_eq!(before("nothing passed", "passed"), 0);
    }
}
