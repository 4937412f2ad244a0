//! Commands that sign somebody in: they show a code and wait until it was entered.

use std::process::Stdio;

use anyhow::Context;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::process::Child;

use super::hub::Hub;

/// What a command came to.
#[derive(Debug)]
pub struct Ran {
    /// Its exit code.
    pub code: i32,
    /// Its data.
    pub out: String,
    /// Its talk.
    pub complaint: String,
}

/// Starts a command of `legation identity` under `--json`.
pub fn begin(hub: &Hub, arguments: &[&str]) -> anyhow::Result<Child> {
    let mut command = hub.command(&["--json", "identity"])?;
    let child = command
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    Ok(child)
}

/// The code a command shows, and what else it said until then or until its end.
pub async fn shown(child: &mut Child) -> anyhow::Result<(Option<String>, String)> {
    let pipe = child.stderr.take().context("no stderr")?;
    let mut lines = BufReader::new(pipe).lines();
    let mut said = String::new();
    while let Some(line) = lines.next_line().await? {
        if let Ok(line) = serde_json::from_str::<Value>(&line)
            && line["status"] == "pending"
        {
            let code = line["user_code"].as_str().map(str::to_owned);
            // What it says from here on is read by whoever waits for its end.
            child.stderr = Some(lines.into_inner().into_inner());
            return Ok((code, said));
        }
        said += &line;
        said.push('\n');
    }
    Ok((None, said))
}

/// Waits for its end; `complaint` is what it said before.
pub async fn finish(mut child: Child, complaint: &mut String) -> anyhow::Result<Ran> {
    if let Some(mut pipe) = child.stderr.take() {
        pipe.read_to_string(complaint).await?;
    }
    let output = child.wait_with_output().await?;
    Ok(Ran {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout)?,
        complaint: std::mem::take(complaint),
    })
}
