//! `legation watch`, as its user sees it: in a terminal, on a desktop, in a prompt.

mod desktop;
mod terminal;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use legation_tests::harness::process::{
    MARK, command, environment, marked, new_mark, none_left, program,
};
use rustix::process::{Pid, Signal, kill_process};

/// How long something may take to be seen.
const PATIENCE: Duration = Duration::from_secs(120);

/// An installation whose hub does not run.
struct Home {
    folder: tempfile::TempDir,
    mark: String,
    path_first: Option<PathBuf>,
}

// === impl Home ===

impl Home {
    fn new() -> anyhow::Result<Self> {
        Ok(Self {
            folder: tempfile::tempdir()?,
            mark: new_mark(),
            path_first: None,
        })
    }

    fn environment(&self) -> HashMap<String, String> {
        let mut variables = environment(self.folder.path(), self.path_first.as_deref());
        let data = self.data().display().to_string();
        variables.insert("LEGATION_HOME".to_owned(), data);
        variables.insert(MARK.to_owned(), self.mark.clone());
        variables
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("legation")
    }

    /// What a command prints that must succeed.
    async fn run(&self, arguments: &[&str]) -> anyhow::Result<String> {
        let output = command(program("legation")?, &self.environment())
            .args(arguments)
            .stdin(Stdio::null())
            .output()
            .await?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        anyhow::ensure!(
            output.status.success(),
            "{arguments:?}: {}",
            text(&output.stderr)
        );
        Ok(text(&output.stdout))
    }

    async fn post(&self, id: &str, from: &str, text: &str) -> anyhow::Result<()> {
        let post = ["inbox", "post", text, "--id", id, "--from", from];
        self.run(&post).await.map(drop)
    }

    /// Interrupts whoever watches, and waits until nobody does.
    async fn interrupt(&self) -> anyhow::Result<()> {
        let watching = marked(&self.mark);
        let watching = watching.iter().filter(|(_, line)| line.contains("watch "));
        for (pid, _) in watching {
            if let Some(pid) = Pid::from_raw(i32::try_from(*pid)?) {
                // One that has ended by now was to end.
                let _ended = kill_process(pid, Signal::INT);
            }
        }
        none_left(&self.mark, PATIENCE).await
    }

    /// The last record that was shown.
    fn cursor(&self) -> Option<u64> {
        let text = std::fs::read_to_string(self.data().join("watch.cursor")).ok()?;
        text.trim().parse().ok()
    }
}

/// A program in a folder of its own, in front of the system's.
fn script(folder: &Path, name: &str, text: &str) -> anyhow::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::create_dir_all(folder)?;
    let path = folder.join(name);
    std::fs::write(&path, text)?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))?;
    Ok(())
}
