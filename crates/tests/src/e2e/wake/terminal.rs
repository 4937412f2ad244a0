//! A terminal of its own for each session: agents draw their screens only where
//! something answers as a terminal does.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::ensure;
use tokio::process::Command;

use crate::harness::process::command;

/// A server of tmux with one window; it ends with this.
#[derive(Debug)]
pub(super) struct Terminal {
    socket: PathBuf,
}

// === impl Terminal ===

impl Terminal {
    /// Starts a program in a folder.
    pub(super) async fn start(
        socket: PathBuf,
        environment: &HashMap<String, String>,
        folder: &Path,
        words: &[String],
    ) -> anyhow::Result<Self> {
        let terminal = Self { socket };
        let mut environment = environment.clone();
        environment.insert("TERM".to_owned(), "xterm-256color".to_owned());
        let mut start = terminal.tmux(&environment);
        start.args([
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-x",
            "140",
            "-y",
            "45",
            "--",
        ]);
        let output = start.args(words).current_dir(folder).output().await?;
        let complained = String::from_utf8_lossy(&output.stderr).into_owned();
        ensure!(output.status.success(), "tmux did not start: {complained}");
        Ok(terminal)
    }

    /// What stands on the screen.
    pub(super) async fn screen(&self) -> anyhow::Result<String> {
        let mut show = self.tmux(&HashMap::new());
        let output = show.args(["capture-pane", "-p"]).output().await?;
        let text = String::from_utf8_lossy(&output.stdout);
        let lines = text
            .lines()
            .map(str::trim_end)
            .filter(|line| !line.is_empty());
        Ok(lines.collect::<Vec<_>>().join("\n"))
    }

    /// Presses keys, one after the other.
    pub(super) async fn press(&self, keys: &[&str]) -> anyhow::Result<()> {
        for key in keys {
            let mut press = self.tmux(&HashMap::new());
            press.args(["send-keys", key]).output().await?;
            // tidy: a program that draws anew after a key would take the next for an old one
            tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        }
        Ok(())
    }

    fn tmux(&self, environment: &HashMap<String, String>) -> Command {
        let mut tmux = command("tmux", environment);
        if environment.is_empty() {
            tmux.env("PATH", "/usr/local/bin:/usr/bin:/bin");
        }
        tmux.arg("-S").arg(&self.socket);
        tmux
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let mut end = self.tmux(&HashMap::new());
        // It is gone already where the program has ended.
        drop(end.arg("kill-server").as_std_mut().output());
    }
}
