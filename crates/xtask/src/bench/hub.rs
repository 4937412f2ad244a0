//! A hub in a home of its own.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;
use tempfile::TempDir;

use super::programs::{Programs, Running, output_of};
use crate::sys;

/// A data directory, and the environment that leads to it.
#[derive(Debug)]
pub(crate) struct Home {
    folder: TempDir,
    program: PathBuf,
}

/// What the ledger holds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ledger {
    pub(crate) records: u64,
    pub(crate) intents: u64,
    pub(crate) outcomes: u64,
    /// Seconds that verifying took, the program's start included.
    pub(crate) verified: f64,
}

/// A hub that is told to stop may take so long.
const PATIENCE: Duration = Duration::from_secs(20);

// === impl Home ===

impl Home {
    /// A fresh one whose servers are `servers`, as in `mcpServers`.
    pub(crate) fn new(programs: &Programs, servers: &Value) -> Result<Self> {
        Self::within(folder().tempdir()?, programs, servers)
    }

    /// The same in this folder, which decides about the disk.
    pub(crate) fn new_in(parent: &Path, programs: &Programs, servers: &Value) -> Result<Self> {
        Self::within(folder().tempdir_in(parent)?, programs, servers)
    }

    fn within(folder: TempDir, programs: &Programs, servers: &Value) -> Result<Self> {
        let home = Self {
            folder,
            program: programs.legation.clone(),
        };
        std::fs::create_dir(home.path())?;
        let text = serde_json::to_string_pretty(&serde_json::json!({ "mcpServers": servers }))?;
        std::fs::write(home.path().join("mcp.json"), text)?;
        Ok(home)
    }

    /// Lays down the personal rules, and one more: a person is asked about each call of a server.
    pub(crate) fn ask_about(&self, server: &str) -> Result<()> {
        output_of(self.legation(&["governance", "init", "--template", "personal", "--json"]))?;
        let rules = self.path().join("governance").join("permissions.toml");
        let mut text = std::fs::read_to_string(&rules)?;
        text.push_str(&format!(
            "\n[[rule]]\nid = \"asked\"\nrule = 'ask {server}/* because \"somebody answers\"'\n"
        ));
        std::fs::write(&rules, text).context("cannot write the rules")
    }

    /// Leaves the folder where it is, for somebody to look at.
    pub(crate) fn keep(self) -> PathBuf {
        self.folder.keep()
    }

    /// The data directory.
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("legation")
    }

    /// The file with the owner's bearer token.
    pub(crate) fn token(&self) -> PathBuf {
        self.path().join("token")
    }

    /// The hub's socket.
    pub(crate) fn socket(&self) -> PathBuf {
        self.path().join("mcp.sock")
    }

    /// A command in this home's environment, and in no more of this process's than it needs.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = sys::command(program);
        command
            .env_clear()
            .env("HOME", self.folder.path())
            .env("LEGATION_HOME", self.path());
        command.current_dir(self.folder.path());
        if let Some(path) = sys::env("PATH") {
            command.env("PATH", path);
        }
        command
    }

    /// `legation` with these arguments.
    pub(crate) fn legation(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(&self.program);
        command.args(arguments);
        command
    }

    /// Starts the hub.
    pub(crate) fn serve(&self) -> Result<Running> {
        Running::start(self.legation(&["serve", "--listen", "127.0.0.1:0"]))
    }

    /// Tells the hub to stop, waits, and checks the whole ledger.
    pub(crate) fn stop_and_verify(&self, mut hub: Running) -> Result<Ledger> {
        stop(&mut hub)?;
        let start = sys::now();
        let value = output_of(self.legation(&["audit", "verify", "--json"]))?;
        let verified = (sys::now() - start).as_secs_f64();
        ensure!(value["intact"] == true, "the ledger is broken: {value}");
        let number = |name: &str| value[name].as_u64().with_context(|| format!("no {name}"));
        Ok(Ledger {
            records: number("records")?,
            intents: number("intents")?,
            outcomes: number("outcomes")?,
            verified,
        })
    }

    /// Waits until every server is connected.
    pub(crate) fn connected(&self, count: usize) -> Result<()> {
        let deadline = sys::now() + Duration::from_secs(60);
        let mut last = Value::Null;
        while sys::now() < deadline {
            last = output_of(self.legation(&["mcp", "list", "--json"]))?;
            let servers = last["servers"].as_array().map_or(&[][..], Vec::as_slice);
            if servers
                .iter()
                .filter(|s| s["status"] == "connected")
                .count()
                >= count
            {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        bail!("{count} servers did not connect: {last}")
    }
}

fn folder() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix("legation-bench-");
    builder
}

/// Tells a server to stop and waits for it.
pub(crate) fn stop(hub: &mut Running) -> Result<()> {
    let pid = rustix::process::Pid::from_child(&hub.child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM)?;
    let deadline = sys::now() + PATIENCE;
    while hub.child.try_wait()?.is_none() {
        ensure!(sys::now() < deadline, "the hub does not stop");
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}
