//! A hub that asks about every call of one server, which writes down what it is
//! called with: what was executed, whatever the hub believes.

use std::path::PathBuf;

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use super::hub::{Hub, HubOptions};
use super::peer::{Answer, PeerEra, friendly};
use super::servers::stdio_entry;
use crate::fixture::Era;

/// The tool that is asked about, as clients know it.
pub const ASKED: &str = "asked-echo";
/// A tool of another server, which nobody is asked about, which may change
/// something, and whose calls are written down as well.
pub const FREE: &str = "free-wait";

/// The hub and the record beside it.
#[derive(Debug)]
pub struct AskedHub {
    /// The hub.
    pub hub: Hub,
    journal: PathBuf,
    _folder: tempfile::TempDir,
}

// === impl AskedHub ===

impl AskedHub {
    /// Starts one, with the personal rules and one more.
    pub async fn start(options: HubOptions) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let journal = folder.path().join("journal");
        std::fs::write(&journal, "")?;
        let mut entry = stdio_entry(Era::Both, "shared")?;
        let arguments = entry["args"].as_array_mut().context("no arguments")?;
        arguments.extend([json!("--journal"), json!(journal)]);
        let rule = "[[rule]]\nid = \"asked\"\nrule = 'ask asked/* because \"somebody answers\"'";
        let mut governance = options.governance.clone();
        governance.push(("permissions.toml", rule.into()));
        let hub = Hub::start(HubOptions {
            servers: json!({ "asked": entry, "free": entry }),
            template: Some("personal"),
            governance,
            ..options
        })
        .await?;
        let asked = Self {
            hub,
            journal,
            _folder: folder,
        };
        asked.ready().await?;
        Ok(asked)
    }

    /// Waits until both servers are there.
    pub async fn ready(&self) -> anyhow::Result<()> {
        let peer = self
            .hub
            .http(PeerEra::Legacy, json!({}), friendly())
            .await?;
        for tool in [ASKED, FREE] {
            self.hub.wait_for_tool(&peer, tool).await?;
        }
        Ok(())
    }

    /// Runs a command of the owner's that must succeed; what it prints.
    pub async fn tell(&self, arguments: &[&str]) -> anyhow::Result<String> {
        let (code, out, complaint) = self.hub.run(arguments).await?;
        ensure!(
            code == 0,
            "{arguments:?} ended with {code}: {out}{complaint}"
        );
        Ok(out)
    }

    /// How often a server was called with these arguments, by any tool.
    pub fn executed(&self, arguments: &Value) -> anyhow::Result<usize> {
        let wanted = arguments.to_string();
        let journal = std::fs::read_to_string(&self.journal)?;
        let calls = journal.lines().filter_map(|line| line.split_once(' '));
        Ok(calls.filter(|(_, found)| *found == wanted).count())
    }

    /// The records of calls that used an approval.
    pub async fn uses(&self, approval: &str) -> anyhow::Result<Vec<Value>> {
        let text = self
            .tell(&["audit", "query", "--kind", "intent", "--json"])
            .await?;
        let found: Value = serde_json::from_str(&text)?;
        let records = found["records"].as_array().context("no records")?;
        let used = |record: &&Value| record["record"]["approval"] == approval;
        Ok(records.iter().filter(used).cloned().collect())
    }
}

/// The id of the approval that a call waits under, if it waits.
#[must_use]
pub fn pending(answer: &Answer) -> Option<String> {
    let data = &answer.value["result"]["structuredContent"];
    let id = data["approval_id"].as_str()?;
    (data["reason_code"] == "APPROVAL_PENDING").then(|| id.to_owned())
}
