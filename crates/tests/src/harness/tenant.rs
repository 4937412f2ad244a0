//! A development tenant of one test.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, bail};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Child;
use tokio::runtime::Handle;
use tokio::time::timeout;

use super::process::{command, environment, program};

/// It makes two keys at its first start.
const START: Duration = Duration::from_secs(120);

/// A running tenant in a folder of its own; both end with this.
#[derive(Debug)]
pub struct Tenant {
    _child: Child,
    folder: tempfile::TempDir,
    stderr: Arc<Mutex<Vec<String>>>,
}

// === impl Tenant ===

impl Tenant {
    /// Starts a tenant and waits until it listens. It is its own program or a command of
    /// `legation`, which must be the same.
    pub async fn start(within_legation: bool) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let name = if within_legation {
            "legation"
        } else {
            "legation-devtenant"
        };
        let mut command = command(program(name)?, &environment(folder.path(), None));
        if within_legation {
            command.arg("dev-tenant");
        }
        command.args(["--listen", "127.0.0.1:0", "--dir"]);
        command.arg(folder.path().join("tenant"));
        command.arg("--env-file").arg(folder.path().join("env"));
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .context("cannot start the tenant")?;
        let pipe = child.stderr.take().context("the tenant has no stderr")?;
        let mut lines = BufReader::new(pipe).lines();
        let stderr = Arc::new(Mutex::new(Vec::new()));
        let listening = async {
            while let Some(line) = lines.next_line().await? {
                let found = line.starts_with("listening on https://");
                lock(&stderr).push(line);
                if found {
                    return Ok(());
                }
            }
            bail!("the tenant ended: {:?}", lock(&stderr))
        };
        timeout(START, listening)
            .await
            .context("the tenant does not listen")??;
        let kept = Arc::clone(&stderr);
        Handle::current().spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                lock(&kept).push(line);
            }
        });
        Ok(Self {
            _child: child,
            folder,
            stderr,
        })
    }

    /// The file that says where it is; the second tenant's is beside it.
    #[must_use]
    pub fn env_file(&self) -> PathBuf {
        self.folder.path().join("env")
    }

    /// A folder for what a client needs to keep.
    #[must_use]
    pub fn home(&self) -> &Path {
        self.folder.path()
    }

    /// What the file says, by name.
    pub fn settings(&self) -> anyhow::Result<HashMap<String, String>> {
        let text = std::fs::read_to_string(self.env_file())?;
        let pairs = text.lines().filter_map(|line| line.split_once('='));
        Ok(pairs
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect())
    }

    /// A command of the tenant's; what it prints.
    pub async fn order(&self, arguments: &[&str]) -> anyhow::Result<String> {
        order(self.home(), arguments).await
    }

    /// Everything it said.
    #[must_use]
    pub fn said(&self) -> Vec<String> {
        lock(&self.stderr).clone()
    }
}

/// A command of the tenant whose folder is there; what it prints.
pub async fn order(home: &Path, arguments: &[&str]) -> anyhow::Result<String> {
    let mut command = command(program("legation")?, &environment(home, None));
    command.args(["dev-tenant", "ctl", "--dir"]);
    command.arg(home.join("tenant")).args(arguments);
    let output = command.stdin(Stdio::null()).output().await?;
    anyhow::ensure!(output.status.success(), "{arguments:?}: {output:?}");
    Ok(String::from_utf8(output.stdout)?)
}

fn lock(lines: &Mutex<Vec<String>>) -> std::sync::MutexGuard<'_, Vec<String>> {
    lines.lock().unwrap_or_else(PoisonError::into_inner)
}
