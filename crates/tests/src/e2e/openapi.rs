//! The admin API's own description, judged by others: a validator of OpenAPI documents, and
//! Schemathesis, which makes up requests from the document and compares the answers with it.

mod linked;

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, ensure};
use bytes::Bytes;
use http::{Request, Uri};
use http_body_util::Full;
use serde_json::json;
use tokio::process::Command;
use tokio::time::timeout;

use super::report::{Report, say};
use super::tools::Tools;
use crate::harness::http::whole;
use crate::harness::hub::{Hub, HubOptions};
use crate::harness::process::command;

/// All requests together may take so long.
const PATIENCE: Duration = Duration::from_secs(1200);
/// Requests that are made up for each operation, beside those that its schema calls for.
const EXAMPLES: &str = "25";
/// Always the same requests.
const SEED: &str = "7";
/// What a request must not come to: a fault of the hub's, an answer that the document does not show, a
/// request taken that it does not allow, a method or a stranger let in.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,\
response_headers_conformance,response_schema_conformance,negative_data_rejection,\
missing_required_header,unsupported_method,allow_header_conformance,ignored_auth";
/// It never ends; a test of its own reads it.
const ENDLESS: &str = "/api/v1/events";
/// Lines of Schemathesis that are shown where it found something.
const SHOWN: usize = 400;

/// A hub whose API is judged.
struct Judged<'a> {
    tools: &'a Tools,
    hub: &'a Hub,
}

/// Has the document and the API behind it judged: of a hub whose desk has accounts, and of one
/// without any.
pub async fn run(tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
    linked::run(tools, report).await?;
    say("  Schemathesis over the admin API");
    let hub = Hub::start(HubOptions {
        servers: json!({}),
        template: Some("business"),
        ..HubOptions::default()
    })
    .await?;
    let judged = Judged { tools, hub: &hub };
    let file = judged.document().await?;
    let mut validate = judged.program("openapi-spec-validator");
    validate.arg(&file);
    report.check("the document is valid", ended(validate).await);
    let mut fuzz = judged.fuzz(None, EXAMPLES)?;
    fuzz.args(["--exclude-path", ENDLESS]);
    report.check("no request breaks the document", ended(fuzz).await);
    // Whatever was asked for, the hub is whole.
    report.check("the ledger is intact afterwards", judged.is_intact().await);
    Ok(())
}

// === impl Judged ===

impl Judged<'_> {
    /// Keeps the document in a file.
    async fn document(&self) -> anyhow::Result<PathBuf> {
        let uri: Uri = self.address().parse()?;
        let request = Request::builder()
            .uri("/openapi.json")
            .header("host", self.hub.base.trim_start_matches("http://"))
            .header("authorization", format!("Bearer {}", self.hub.token()?))
            .body(Full::new(Bytes::new()))?;
        let got = whole(&uri, request).await?;
        ensure!(got.status == 200, "the document: {}", got.body);
        let file = self.hub.folder().join("openapi.json");
        std::fs::write(&file, &got.body)?;
        Ok(file)
    }

    fn address(&self) -> String {
        format!("{}/openapi.json", self.hub.base)
    }

    fn program(&self, name: &str) -> Command {
        let programs = self.tools.group("openapi").join("bin");
        let environment = self.tools.environment(self.hub.folder());
        // By name of its interpreter, for a folder that was moved.
        let mut command = command(programs.join("python"), &environment);
        command
            .arg(programs.join(name))
            .current_dir(self.hub.folder());
        command
    }

    /// Requests that are made up, by these settings of Schemathesis where there are any.
    fn fuzz(&self, settings: Option<&PathBuf>, examples: &str) -> anyhow::Result<Command> {
        let mut fuzz = self.program("schemathesis");
        if let Some(settings) = settings {
            fuzz.arg("--config-file").arg(settings);
        }
        fuzz.args(["run", &self.address(), "--checks", CHECKS, "--seed", SEED])
            .args(["--max-examples", examples])
            .args(["--phases", "examples,coverage,fuzzing"])
            .args(["--workers", "1", "--continue-on-failure", "--no-color"])
            .args(["--suppress-health-check", "all"])
            .args([
                "--header",
                &format!("Authorization: Bearer {}", self.hub.token()?),
            ]);
        Ok(fuzz)
    }

    async fn is_intact(&self) -> anyhow::Result<()> {
        let (code, _, complaint) = self.hub.run(&["audit", "verify"]).await?;
        ensure!(code == 0, "audit verify ended with {code}: {complaint}");
        Ok(())
    }
}

/// Whether a program ends well; what it said, if not.
async fn ended(mut command: Command) -> anyhow::Result<()> {
    let child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .context("it cannot be started")?;
    let output = timeout(PATIENCE, child.wait_with_output()).await;
    let output = output.context("it did not end")??;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stdout);
    let lines: Vec<&str> = said.lines().collect();
    let shown = lines[lines.len().saturating_sub(SHOWN)..].join("\n");
    let complaint = String::from_utf8_lossy(&output.stderr);
    anyhow::bail!("{}\n{shown}\n{complaint}", output.status)
}
