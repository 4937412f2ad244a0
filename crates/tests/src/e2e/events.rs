//! The events extension with a client that others wrote: `@ai-sdk/mcp` as a
//! client of webhooks, whose receiver has a certificate of the test's own
//! authority.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, bail};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::time::timeout;

use super::report::{Report, say};
use super::tools::Tools;
use crate::harness::hub::{Hub, HubOptions};
use crate::harness::process::program;

const PATIENCE: Duration = Duration::from_secs(300);
/// Where the program is, from the root of the sources.
const PROGRAM: &str = "crates/tests/clients/events/ai_sdk.mjs";

/// A receiver's certificate, its key, and the authority that vouches for it.
struct Certificates {
    certificate: PathBuf,
    key: PathBuf,
    authority: PathBuf,
}

/// Runs the program.
pub async fn run(tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
    say("  @ai-sdk/mcp as a receiver of webhooks");
    let folder = tempfile::tempdir()?;
    let certificates = Certificates::make(folder.path())?;
    let hub = Hub::start(HubOptions {
        servers: json!({}),
        settings: format!(
            "[events]\nwebhook_allow = [\"localhost\"]\nwebhook_ca_file = {:?}\nwebhook_retry_ms = 100\n",
            certificates.authority
        ),
        ..HubOptions::default()
    })
    .await?;
    let before = report.total();
    let outcome = converse(tools, hub, &certificates, report).await;
    if let Err(error) = outcome {
        report.check("@ai-sdk/mcp", Err(format!("{error:#}")));
    }
    if report.total() == before {
        report.check("@ai-sdk/mcp", Err("nothing was checked"));
    }
    Ok(())
}

async fn converse(
    tools: &Tools,
    mut hub: Hub,
    certificates: &Certificates,
    report: &mut Report,
) -> anyhow::Result<()> {
    let plan = json!({
        "modules": tools.group("ai-sdk"), "url": hub.url(), "token": hub.token()?,
        "legation": program("legation")?, "key": certificates.key,
        "certificate": certificates.certificate, "authority": certificates.authority,
    });
    let mut command = tools.node(hub.folder());
    command.envs(hub.environment());
    let mut child = command
        .arg(PROGRAM)
        .arg(plan.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start the program")?;
    let mut to = child.stdin.take().context("it reads nothing")?;
    let mut lines = BufReader::new(child.stdout.take().context("it says nothing")?).lines();
    loop {
        let line = timeout(PATIENCE, lines.next_line()).await;
        let Some(line) = line.context("the program did not end")?? else {
            break;
        };
        let said: Value =
            serde_json::from_str(&line).with_context(|| format!("not a check: {line}"))?;
        if said["ask"] == "restart" {
            hub = hub.restart().await?;
            to.write_all(format!("{}\n", hub.url()).as_bytes()).await?;
            continue;
        }
        let name = said["check"].as_str().context("a check has no name")?;
        let outcome = match said["ok"] == true {
            true => Ok(()),
            false => Err(format!(
                "{}; the hub said {:?}",
                said["why"].as_str().unwrap_or("no reason"),
                hub.said()
            )),
        };
        report.check(&format!("@ai-sdk/mcp: {name}"), outcome);
    }
    let status = child.wait().await?;
    if !status.success() {
        bail!("the program ended with {status}");
    }
    Ok(())
}

// === impl Certificates ===

impl Certificates {
    fn make(folder: &Path) -> anyhow::Result<Self> {
        let ca_key = KeyPair::generate()?;
        let mut ca = CertificateParams::new(Vec::new())?;
        ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        // Of another name than what it vouches for, which would otherwise look self-signed.
        let name = "Authority of the test";
        ca.distinguished_name.push(DnType::CommonName, name);
        let authority = ca.self_signed(&ca_key)?.pem();
        let issuer = Issuer::new(ca, ca_key);
        let key = KeyPair::generate()?;
        let own = CertificateParams::new(vec!["localhost".to_owned()])?;
        let own = own.signed_by(&key, &issuer)?;
        let write = |name: &str, text: String| {
            let path = folder.join(name);
            std::fs::write(&path, text).map(|()| path)
        };
        Ok(Self {
            certificate: write("receiver.pem", own.pem())?,
            key: write("receiver.key", key.serialize_pem())?,
            authority: write("authority.pem", authority)?,
        })
    }
}
