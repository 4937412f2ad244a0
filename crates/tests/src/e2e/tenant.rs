//! Microsoft's own client libraries against the development tenant.
//!
//! The programs in `clients/entra` use the libraries unchanged but for the address and the
//! authority to trust. Each says one line of JSON a check.

use std::process::Stdio;
use std::time::Duration;

use anyhow::Context;
use serde_json::Value;
use tokio::process::Command;
use tokio::time::timeout;

use super::report::{Report, say};
use super::tools::Tools;
use crate::harness::process::command;
use crate::harness::tenant::Tenant;

const PATIENCE: Duration = Duration::from_secs(600);
/// Where the programs are, from the root of the sources.
const PROGRAMS: &str = "crates/tests/clients/entra";

/// Which libraries a program uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Language {
    Python,
    Node,
    /// Node, which drives a browser.
    Browser,
}

/// The programs, each with a tenant of its own; whether that is a command of `legation`.
const RUNS: [(Language, &str, bool); 7] = [
    (Language::Python, "sign_in", false),
    (Language::Python, "graph", false),
    (Language::Python, "agents", true),
    (Language::Python, "real_names", false),
    (Language::Node, "sign_in", true),
    (Language::Node, "graph", false),
    (Language::Browser, "browser", true),
];

/// Runs them all.
pub async fn run(tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
    for (language, program, within) in RUNS {
        let name = format!("{language:?} {program}");
        say(&format!("  {name}"));
        let tenant = Tenant::start(within).await?;
        let before = report.total();
        if let Err(error) = one(tools, &tenant, language, program, report).await {
            let said = tenant.said();
            report.check(&name, Err(format!("{error:#}; the tenant said {said:?}")));
        }
        if report.total() == before && report.wants(&name) {
            report.check(&name, Err("nothing was checked"));
        }
    }
    Ok(())
}

async fn one(
    tools: &Tools,
    tenant: &Tenant,
    language: Language,
    program: &str,
    report: &mut Report,
) -> anyhow::Result<()> {
    let mut command = match language {
        Language::Python => {
            let mut python = command(tools.microsoft_python(), &tools.environment(tenant.home()));
            python.env("PYTHONDONTWRITEBYTECODE", "1");
            python.arg(format!("{PROGRAMS}/python/{program}.py"));
            python
        }
        Language::Node | Language::Browser => {
            let mut node = tools.node(tenant.home());
            let group = match language {
                Language::Browser => tools.group("browser"),
                Language::Python | Language::Node => tools.group("microsoft-node"),
            };
            // The browser unpacks itself there, once.
            node.env("TMPDIR", &group).env("MODULES_ROOT", group);
            // Node reads this once, when it starts.
            let settings = tenant.settings()?;
            let authority = settings.get("CA_BUNDLE").context("no CA_BUNDLE")?;
            node.env("NODE_EXTRA_CA_CERTS", authority);
            node.arg(format!("{PROGRAMS}/node/{program}.mjs"));
            node
        }
    };
    command.arg(tenant.env_file());
    for line in lines(command).await? {
        let check: Value =
            serde_json::from_str(&line).with_context(|| format!("not a check: {line}"))?;
        let name = check["check"].as_str().context("a check has no name")?;
        let outcome = if check["ok"] == true {
            Ok(())
        } else {
            Err(check["why"].as_str().unwrap_or("no reason").to_owned())
        };
        let name = format!("{language:?} {program}: {name}");
        // A later check may need an earlier one, so all run and some are told.
        if report.wants(&name) {
            report.check(&name, outcome);
        }
    }
    Ok(())
}

/// What a program says on standard output; an end other than good is an error.
async fn lines(mut command: Command) -> anyhow::Result<Vec<String>> {
    let output = timeout(
        PATIENCE,
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .output(),
    )
    .await
    .context("the program did not end")??;
    let said = String::from_utf8_lossy(&output.stdout);
    anyhow::ensure!(
        output.status.success(),
        "{}: {}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(said.lines().map(str::to_owned).collect())
}
