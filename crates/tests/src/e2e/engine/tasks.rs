//! A delegated task that the engine's model works on, through the hub, with real tools on a real
//! folder.

use std::time::Duration;

use anyhow::{Context, bail, ensure};
use legation_api::AdminClient;
use legation_api::tasks::{Show, TaskView, Wait};
use legation_core::Home;
use serde_json::{Value, json};

use super::super::report::Report;
use crate::harness::hub::{Hub, HubOptions};

/// How long a task may take.
pub(super) const PATIENCE: Duration = Duration::from_secs(180);

const SETTINGS: &str = r#"
[delegate.hints.testing]
tools = ["read_file", "edit"]

[delegate.hints.general]
tools = ["bash"]

[external]
rate_limit = 100000
"#;

/// A hub whose model is the engine's.
pub(super) struct Desk {
    pub(super) hub: Hub,
    /// What tasks work in.
    pub(super) folder: tempfile::TempDir,
}

/// Runs it.
pub(super) async fn run(url: &str, report: &mut Report) -> anyhow::Result<()> {
    let name = "task: held by its check";
    if report.wants(name) {
        let desk = Desk::start(url).await?;
        report.check(name, desk.checked().await);
    }
    Ok(())
}

// === impl Desk ===

impl Desk {
    pub(super) async fn start(url: &str) -> anyhow::Result<Self> {
        let hub = Hub::start(HubOptions {
            servers: json!({}),
            settings: SETTINGS.to_owned(),
            ..HubOptions::default()
        })
        .await?;
        for arguments in [
            &["models", "set", "enable", "local_model", "--endpoint", url] as &[&str],
            &["models", "set", "default", "local_model"],
        ] {
            let (code, said, complained) = hub.run(arguments).await?;
            ensure!(code == 0, "{said}{complained}");
        }
        Ok(Self {
            hub,
            folder: tempfile::tempdir()?,
        })
    }

    pub(super) fn admin(&self) -> anyhow::Result<AdminClient> {
        let client = AdminClient::connect(&Home::at(self.hub.home()), "test")?;
        client.context("no hub is there")
    }

    /// A change that is wrong at first: the check holds it until it is right.
    async fn checked(&self) -> anyhow::Result<()> {
        let folder = self.folder.path();
        std::fs::write(folder.join("add.sh"), "echo $(( $1 - $2 ))\n")?;
        let check = "test \"$(sh add.sh 2 3)\" = 5 || { echo '2 and 3 are not 5'; exit 7; }";
        std::fs::write(folder.join("check.sh"), check)?;
        let edit = |old: &str, new: &str| {
            let arguments = json!({"path": "add.sh", "old_text": old, "new_text": new});
            called("edit", &arguments)
        };
        let script = [
            called("read_file", &json!({"path": "add.sh"})),
            edit("$1 - $2", "$1 * $2"),
            "The script adds now.".to_owned(),
            edit("$1 * $2", "$1 + $2"),
            "Now it really adds.".to_owned(),
        ];
        let message = format!("Mend add.sh. SCRIPT[[{}]]SCRIPT", script.join("||"));
        let arguments = [
            "run",
            "--json",
            "--hint",
            "testing",
            "--check",
            "sh check.sh",
            &message,
        ];
        let mut run = self.hub.command(&arguments)?;
        let ended = run.current_dir(folder).output();
        let ended = tokio::time::timeout(PATIENCE, ended).await??;
        let said = String::from_utf8_lossy(&ended.stdout);
        let complained = String::from_utf8_lossy(&ended.stderr);
        let view: Value = serde_json::from_str(said.lines().last().unwrap_or_default())
            .or_else(|_| serde_json::from_str(&said))
            .with_context(|| format!("{said}{complained}"))?;
        if !ended.status.success() {
            let session = view["session"].as_str().unwrap_or_default();
            let (_, said, _) = self.hub.run(&["session", "export", session]).await?;
            bail!("{view}{complained}{said}");
        }
        ensure!(view["status"] == "completed", "{view}");
        ensure!(view["response"] == "Now it really adds.", "{view}");
        ensure!(
            view["check"]["passed"] == true && view["check"]["tries"] == 2,
            "{view}"
        );
        let text = std::fs::read_to_string(folder.join("add.sh"))?;
        ensure!(text == "echo $(( $1 + $2 ))\n", "{text}");
        let tools = view["tool_calls"].as_array().context("its calls")?;
        let names: Vec<&str> = tools
            .iter()
            .filter_map(|call| call["tool"].as_str())
            .collect();
        ensure!(names == ["read_file", "edit", "edit"], "{view}");
        ensure!(
            tools.iter().all(|call| call["status"] == "success"),
            "{view}"
        );
        ensure!(view["changed_files"] == json!(["add.sh"]), "{view}");
        ensure!(
            view["token_usage"]["output"]
                .as_u64()
                .is_some_and(|count| count > 50),
            "{view}"
        );
        Ok(())
    }
}

/// Waits until a task is over.
pub(super) fn ended(admin: &mut AdminClient, id: &str) -> anyhow::Result<TaskView> {
    let timeout_ms = u64::try_from(PATIENCE.as_millis())?;
    let task_id = id.to_owned();
    let view = admin.call(&Wait {
        task_id: task_id.clone(),
        timeout_ms,
    })?;
    if view.status.is_final() {
        return Ok(view);
    }
    let view = admin.call(&Show { task_id })?;
    bail!("it is not over: {view:?}")
}

/// A call as the model writes it.
pub(super) fn called(name: &str, arguments: &Value) -> String {
    format!("<tool_call>\n{{\"name\": \"{name}\", \"arguments\": {arguments}}}\n</tool_call>")
}
