//! Starting programs for tests, and counting the processes that outlive them.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use tokio::process::Command;

/// The environment variable that marks every process of one test.
pub const MARK: &str = "LEGATION_TEST_MARK";

/// A value for [`MARK`] that no other test has.
#[must_use]
pub fn new_mark() -> String {
    let random = RandomState::new();
    format!("{:016x}{:016x}", random.hash_one(1), random.hash_one(2))
}

/// A command with an empty environment except what is named.
#[expect(
    clippy::disallowed_methods,
    reason = "tests start the programs under test from outside"
)]
pub fn command(program: impl AsRef<Path>, environment: &HashMap<String, String>) -> Command {
    let mut command = Command::new(program.as_ref());
    command.env_clear().envs(environment).kill_on_drop(true);
    command
}

/// The environment of a hermetic test: a home of its own, a usual PATH.
#[must_use]
pub fn environment(home: &Path, path_first: Option<&Path>) -> HashMap<String, String> {
    let mut path = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin".to_owned();
    if let Some(first) = path_first {
        path = format!("{}:{path}", first.display());
    }
    HashMap::from([
        ("HOME".to_owned(), home.display().to_string()),
        ("PATH".to_owned(), path),
        ("LANG".to_owned(), "C.UTF-8".to_owned()),
        ("TERM".to_owned(), "dumb".to_owned()),
    ])
}

/// Processes whose environment holds the mark: (process id, command line).
#[must_use]
pub fn marked(mark: &str) -> Vec<(u32, String)> {
    let needle = format!("{MARK}={mark}");
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .filter_map(Result::ok)
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .filter_map(|pid| {
            let environment = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
            let found = environment
                .split(|byte| *byte == 0)
                .any(|entry| entry == needle.as_bytes());
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            // A zombie has an empty command line and holds nothing any more.
            (found && !line.is_empty()).then_some((pid, line))
        })
        .collect()
}

/// Waits until no marked process is left; the error names those that stay.
pub async fn none_left(mark: &str, patience: Duration) -> anyhow::Result<()> {
    let begun = now();
    loop {
        let left = marked(mark);
        if left.is_empty() {
            return Ok(());
        }
        if begun.elapsed() > patience {
            bail!("{} processes are left: {left:?}", left.len());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Nobody waits less before giving up: a busy machine stands still for half a minute, and what
/// never happens is told from what is late by nothing else.
const LEAST_PATIENCE: Duration = Duration::from_secs(120);

/// Waits until something is so; the error says what was waited for.
pub async fn until<F>(what: &str, patience: Duration, mut so: F) -> anyhow::Result<()>
where
    F: AsyncFnMut() -> bool,
{
    let (begun, patience) = (now(), patience.max(LEAST_PATIENCE));
    while !so().await {
        if begun.elapsed() > patience {
            bail!("waited {patience:?} in vain for {what}");
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Ok(())
}

/// The time, for patience and for measurements.
#[expect(
    clippy::disallowed_methods,
    reason = "a test from outside has no clock to be handed"
)]
#[must_use]
pub fn now() -> Instant {
    Instant::now()
}

/// A program of this workspace, next to the running one.
pub fn program(name: &str) -> anyhow::Result<PathBuf> {
    let own = std::env::current_exe().context("cannot find the running program")?;
    own.ancestors()
        .skip(1)
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())
        .with_context(|| format!("{name} is not built; run `cargo build --workspace --bins` first"))
}
