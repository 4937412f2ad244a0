//! A terminal as people have one: a window of a tmux server of the test's own.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use super::process::{command, until};

/// How long something may take to be seen.
const PATIENCE: Duration = Duration::from_secs(120);

/// A window with a shell; its server ends when it is dropped.
#[derive(Debug)]
pub struct Terminal {
    environment: HashMap<String, String>,
    socket: String,
}

// === impl Terminal ===

impl Terminal {
    /// Opens a window in a folder. `place` holds the server's socket.
    pub async fn open(
        environment: HashMap<String, String>,
        place: &Path,
        folder: &Path,
        (columns, rows): (usize, usize),
        style: &str,
    ) -> anyhow::Result<Self> {
        let socket = place.join("tmux").display().to_string();
        let terminal = Self {
            environment,
            socket,
        };
        let (columns, rows) = (columns.to_string(), rows.to_string());
        let folder = folder.display().to_string();
        let size = [
            "new-session",
            "-d",
            "-x",
            &columns,
            "-y",
            &rows,
            "-c",
            &folder,
        ];
        let shell = ["env", "PS1=$ ", "sh"];
        terminal.tmux(&[&size[..], &shell[..]].concat()).await?;
        terminal.tmux(&["set", "-g", "window-style", style]).await?;
        Ok(terminal)
    }

    /// Runs a command of tmux.
    pub async fn tmux(&self, arguments: &[&str]) -> anyhow::Result<String> {
        let output = command("tmux", &self.environment)
            .args(["-u", "-f", "/dev/null", "-S", &self.socket])
            .args(arguments)
            .output()
            .await?;
        let said = String::from_utf8_lossy(&output.stderr);
        anyhow::ensure!(output.status.success(), "tmux {arguments:?}: {said}");
        Ok(String::from_utf8(output.stdout)?)
    }

    /// Types text, as it is.
    pub async fn write(&self, text: &str) -> anyhow::Result<()> {
        self.tmux(&["send-keys", "-l", text]).await.map(drop)
    }

    /// Presses a key, by tmux's name.
    pub async fn press(&self, key: &str) -> anyhow::Result<()> {
        self.tmux(&["send-keys", key]).await.map(drop)
    }

    /// Types a line.
    pub async fn enter(&self, line: &str) -> anyhow::Result<()> {
        self.write(line).await?;
        self.press("Enter").await
    }

    /// The rows of the screen, as text.
    pub async fn rows(&self) -> anyhow::Result<Vec<String>> {
        let screen = self.tmux(&["capture-pane", "-p"]).await?;
        Ok(screen.lines().map(str::to_owned).collect())
    }

    /// Everything that was ever shown: the scrollback, and the screen below it.
    pub async fn all(&self) -> anyhow::Result<String> {
        self.tmux(&["capture-pane", "-p", "-S", "-"]).await
    }

    /// What tmux knows of the window, by one of its formats.
    pub async fn fact(&self, format: &str) -> anyhow::Result<String> {
        let fact = self.tmux(&["display-message", "-p", format]).await?;
        Ok(fact.trim_end().to_owned())
    }

    /// Waits until a row of the screen is as wanted.
    pub async fn until_row(&self, what: &str, so: impl Fn(&str) -> bool) -> anyhow::Result<()> {
        let seen = async || {
            let rows = self.rows().await.unwrap_or_default();
            rows.iter().any(|row| so(row))
        };
        match until(what, PATIENCE, seen).await {
            Ok(()) => Ok(()),
            Err(error) => Err(error.context(self.all().await.unwrap_or_default())),
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        #[expect(
            clippy::disallowed_methods,
            reason = "the test ends the terminal that it opened"
        )]
        let ended = std::process::Command::new("tmux")
            .args(["-S", &self.socket, "kill-server"])
            .status();
        assert!(ended.is_ok_and(|status| status.success()), "tmux stays");
    }
}
