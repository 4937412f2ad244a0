//! The official conformance suite against the hub, with the fixture behind it.
//!
//! Four pairs of eras, each with the fixture as a child process and over HTTP.
//! What a pair cannot do by nature is excused in `conformance/*.yml`, with the
//! clause of the specification next to it; the suite itself fails when an
//! excused check passes, so an excuse cannot outlive its reason. The suite does
//! not judge extensions, so this driver judges them by the same file.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, bail};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::report::{Report, say};
use super::tools::Tools;
use crate::fixture::Era;
use crate::harness::hub::{Hub, HubOptions};
use crate::harness::peer::{PeerEra, friendly};
use crate::harness::servers::{HttpFixture, era_name, sdk_stdio_entry, stdio_entry};

/// The revision whose requirements are run, by the client's era.
const REVISIONS: [(PeerEra, &str); 2] = [
    (PeerEra::Legacy, "2025-11-25"),
    (PeerEra::Modern, "2026-07-28"),
];
/// Scenarios of the extension for skills, which no revision's requirements name.
const SKILLS: [&str; 3] = [
    "sep-2640-skills-enumeration",
    "sep-2640-skills-manifest",
    "sep-2640-skills-directory",
];
/// How the fixture is reached, by hand and through the official Rust SDK.
const TRANSPORTS: [&str; 4] = ["stdio", "http", "rmcp stdio", "rmcp http"];
const PATIENCE: Duration = Duration::from_secs(240);
/// How often a pair of which something was late is run again.
const AGAIN: usize = 2;

/// What one run of the suite came to.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) passed: u64,
    pub(super) excused: Vec<String>,
    pub(super) unexpected: Vec<String>,
}

// === impl Outcome ===

impl Outcome {
    fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.excused.extend(other.excused);
        self.unexpected.extend(other.unexpected);
    }
}

/// Runs every pair over every transport.
pub async fn run(tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
    let mut table = Vec::new();
    for transport in TRANSPORTS {
        for era in [Era::Legacy, Era::Modern] {
            for (client, revision) in REVISIONS {
                let name = format!("{revision} over {} {transport}", era_name(era));
                if !report.wants(&name) {
                    continue;
                }
                let mut outcome = pair(tools, transport, era, client, revision).await;
                // The suite waits for some messages for 0.6 s, in which a machine that others load stands still.
                for _ in 0..AGAIN {
                    let Ok(last) = &outcome else { break };
                    if last.unexpected.is_empty() {
                        break;
                    }
                    for failure in &last.unexpected {
                        say(&format!("  once more {name}: {failure}"));
                    }
                    outcome = pair(tools, transport, era, client, revision).await;
                }
                match outcome {
                    Ok(outcome) => {
                        table.push(format!(
                            "| {revision} | {} over {transport} | {} | {} |",
                            era_name(era),
                            outcome.passed,
                            outcome.excused.len()
                        ));
                        report.add(outcome.passed, outcome.unexpected.len() as u64);
                        for failure in &outcome.unexpected {
                            say(&format!("  FAILED  {name}: {failure}"));
                        }
                        say(&format!(
                            "  {name}: {} checks passed, {} scenarios excused",
                            outcome.passed,
                            outcome.excused.len()
                        ));
                    }
                    Err(error) => report.check(&name, Err(format!("{error:#}"))),
                }
            }
        }
    }
    say(
        "\n| client requirements | upstream | checks passed | scenarios excused |\n|---|---|---|---|",
    );
    table.iter().for_each(|line| say(line));
    Ok(())
}

/// The suite against a fixture directly: what the hub's results are measured by.
pub async fn direct(tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    for (era, (_, revision)) in [Era::Legacy, Era::Modern].into_iter().zip(REVISIONS) {
        let name = format!("direct {revision}");
        if !report.wants(&name) {
            continue;
        }
        let fixture = HttpFixture::start(era, folder.path()).await?;
        let url = format!("http://127.0.0.1:{}/mcp", fixture.port);
        let which = ["--requirements", revision];
        let outcome = suite(tools, folder.path(), &url, which, None).await?;
        report.add(outcome.passed, outcome.unexpected.len() as u64);
        say(&format!("  {name}: {outcome:?}"));
    }
    Ok(())
}

async fn pair(
    tools: &Tools,
    transport: &str,
    era: Era,
    client: PeerEra,
    revision: &str,
) -> anyhow::Result<Outcome> {
    let folder = tempfile::tempdir()?;
    let http;
    let mut entry = match transport {
        "stdio" => stdio_entry(era, "client")?,
        "rmcp stdio" => sdk_stdio_entry(era, "client")?,
        _ => {
            http = if transport == "http" {
                HttpFixture::start(era, folder.path()).await?
            } else {
                HttpFixture::start_sdk(era, folder.path()).await?
            };
            http.entry("client")
        }
    };
    entry["prefix"] = "".into();
    let servers = json!({"fixture": entry});
    let hub = Hub::start(HubOptions {
        servers,
        no_auth: true,
        ..HubOptions::default()
    })
    .await?;
    let peer = hub.http(client, json!({}), friendly()).await?;
    hub.wait_for_tool(&peer, "test_simple_text").await?;
    let by_sdk = transport.starts_with("rmcp");
    let excuses = excuses(revision, era, by_sdk);
    let url = hub.url();
    let run = async |which, excuses| {
        let outcome = suite(tools, folder.path(), &url, which, excuses).await;
        outcome.with_context(|| format!("{which:?}; the hub said {:?}", hub.said()))
    };
    let mut sum = run(["--requirements", revision], Some(&*excuses)).await?;
    // The SDK's fixture has no skills.
    if !by_sdk && client == PeerEra::Modern {
        for scenario in SKILLS {
            sum.add(run(["--scenario", scenario], None).await?);
        }
    }
    Ok(sum)
}

/// The committed file of a pair.
fn excuses(revision: &str, era: Era, by_sdk: bool) -> PathBuf {
    let by = if by_sdk { "-rmcp" } else { "" };
    let name = format!("{revision}-over-{}{by}.yml", era_name(era));
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("conformance")
        .join(name)
}

async fn suite(
    tools: &Tools,
    folder: &Path,
    url: &str,
    which: [&str; 2],
    excuses: Option<&Path>,
) -> anyhow::Result<Outcome> {
    let results = folder.join(format!("results-{}", which[1]));
    let mut command = tools.conformance(folder);
    command
        .args(["server", "--url", url, which[0], which[1], "--output-dir"])
        .arg(&results);
    let excused = match excuses {
        None => Vec::new(),
        Some(file) => {
            command.arg("--expected-failures").arg(file);
            let text = std::fs::read_to_string(file)
                .with_context(|| format!("cannot read {}", file.display()))?;
            listed(&text)
        }
    };
    let output = timeout(PATIENCE, command.stdin(Stdio::null()).output())
        .await
        .context("the suite does not end")??;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut outcome = judge(&results, &excused)?;
    if !output.status.success() && outcome.unexpected.is_empty() {
        let tail: Vec<_> = said.lines().rev().take(30).collect();
        outcome.unexpected.push(format!(
            "the suite failed: {}",
            tail.into_iter().rev().collect::<Vec<_>>().join("\n")
        ));
    }
    if outcome.passed == 0 {
        bail!("nothing passed: {said}");
    }
    Ok(outcome)
}

/// Every `- name` of the file, whichever list it is in.
fn listed(text: &str) -> Vec<String> {
    text.lines()
        .filter_map(|line| line.trim_start().strip_prefix("- "))
        .map(|entry| {
            entry
                .split('#')
                .next()
                .unwrap_or_default()
                .trim()
                .to_owned()
        })
        .collect()
}

/// Reads the results the suite left, one folder per scenario.
pub(super) fn judge(results: &Path, excused: &[String]) -> anyhow::Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut folders: Vec<_> = std::fs::read_dir(results)?.collect::<Result<_, _>>()?;
    folders.sort_by_key(std::fs::DirEntry::file_name);
    for folder in folders {
        let name = folder.file_name().to_string_lossy().into_owned();
        let scenario = scenario(&name);
        let checks: Value =
            serde_json::from_slice(&std::fs::read(folder.path().join("checks.json"))?)?;
        for check in checks.as_array().into_iter().flatten() {
            let id = check["id"].as_str().unwrap_or_default();
            match check["status"].as_str().unwrap_or_default() {
                "SUCCESS" => outcome.passed += 1,
                "FAILURE" | "WARNING" => {
                    let full = format!("{scenario}:{id}");
                    if excused
                        .iter()
                        .any(|entry| *entry == full || *entry == scenario)
                    {
                        outcome.excused.push(full);
                    } else {
                        let why = check["errorMessage"].as_str().unwrap_or_default();
                        outcome.unexpected.push(format!("{full}: {why}"));
                    }
                }
                _ => {}
            }
        }
    }
    Ok(outcome)
}

/// `server-NAME-TIMESTAMP` to `NAME`.
fn scenario(folder: &str) -> String {
    let name = folder.strip_prefix("server-").unwrap_or(folder);
    let stamp = "-2026-11-21T02-00-57-733Z".len();
    name.get(..name.len().saturating_sub(stamp))
        .unwrap_or(name)
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::{listed, scenario};

    #[test]
    fn reads_names() {
        assert_eq!(
            scenario("server-tools-list-2026-11-21T02-00-57-733Z"),
            "tools-list"
        );
        let text = "# why\nserver:\n  - a # clause 1\n  - b:c\nextensions:\n  - d\n";
        assert_eq!(listed(text), ["a", "b:c", "d"]);
    }
}
