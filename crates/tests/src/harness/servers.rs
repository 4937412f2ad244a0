//! Fixture servers as programs, and the configuration entries that start them.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::Context;
use serde_json::{Value, json};
use tokio::process::Child;

use super::process::{command, environment, program, until};
use crate::fixture::Era;

/// A fixture that serves HTTP until it is dropped.
#[derive(Debug)]
pub struct HttpFixture {
    /// Its port on 127.0.0.1.
    pub port: u16,
    _child: Child,
}

/// The name of an era on the command line.
#[must_use]
pub fn era_name(era: Era) -> &'static str {
    match era {
        Era::Legacy => "legacy",
        Era::Modern => "modern",
        Era::Both => "both",
    }
}

/// The entry of `mcp.json` for a fixture over stdio.
pub fn stdio_entry(era: Era, instance: &str) -> anyhow::Result<Value> {
    Ok(json!({
        "type": "stdio",
        "command": program("fixture-server")?,
        "args": ["--era", era_name(era)],
        "instance": instance,
    }))
}

/// The same of a fixture that speaks through the official Rust SDK.
pub fn sdk_stdio_entry(era: Era, instance: &str) -> anyhow::Result<Value> {
    let mut entry = stdio_entry(era, instance)?;
    entry["args"] = json!(["--sdk", "--era", era_name(era)]);
    Ok(entry)
}

// === impl HttpFixture ===

impl HttpFixture {
    /// Starts one and waits until it listens.
    pub async fn start(era: Era, folder: &Path) -> anyhow::Result<Self> {
        Self::start_with(era, folder, &[]).await
    }

    /// The same of a fixture that speaks through the official Rust SDK.
    pub async fn start_sdk(era: Era, folder: &Path) -> anyhow::Result<Self> {
        Self::start_with(era, folder, &["--sdk"]).await
    }

    async fn start_with(era: Era, folder: &Path, flags: &[&str]) -> anyhow::Result<Self> {
        let port_file: PathBuf = folder.join(format!("fixture-{}.port", era_name(era)));
        let child = command(program("fixture-server")?, &environment(folder, None))
            .args(flags)
            .args(["--transport", "http", "--era", era_name(era), "--port-file"])
            .arg(&port_file)
            .stdin(Stdio::null())
            .spawn()
            .context("cannot start the fixture")?;
        until(
            "the fixture to listen",
            Duration::from_secs(10),
            async || port_file.exists(),
        )
        .await?;
        let port = std::fs::read_to_string(&port_file)?
            .parse()
            .context("the port is no number")?;
        Ok(Self {
            port,
            _child: child,
        })
    }

    /// The entry of `mcp.json` that reaches it.
    #[must_use]
    pub fn entry(&self, instance: &str) -> Value {
        json!({"type": "http", "url": format!("http://127.0.0.1:{}/mcp", self.port), "instance": instance})
    }
}
