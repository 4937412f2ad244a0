//! The routes of the desk, before a hub whose owner is signed in to two companies' accounts: there
//! they answer with letters, meetings, deals and suggestions, and not only with refusals.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use super::super::report::{Report, say};
use super::super::tools::Tools;
use super::{Judged, ended};
use crate::harness::hub::HubOptions;
use crate::harness::office::Office;

/// How the paths of the desk begin.
const FAMILIES: [&str; 8] = [
    "status",
    "doctor",
    "deals",
    "graph",
    "triage",
    "filing",
    "reporting",
    "extraction",
];
/// Requests that are made up for each operation, beside those that its schema calls for: each may
/// be several to the tenant.
const EXAMPLES: &str = "10";
/// How often a made-up request names something that is there.
const KNOWN: f64 = 0.8;

/// Things that are there, by the parameter that names them.
type Known = BTreeMap<&'static str, Vec<String>>;

/// Has the desk's routes judged.
pub(super) async fn run(tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
    say("  Schemathesis over the desk with accounts");
    let office = Office::open(None, HubOptions::default())
        .await?
        .read()
        .await?;
    let known = known(&office).await?;
    let judged = Judged {
        tools,
        hub: &office.hub,
    };
    let folder = office.hub.folder();
    let settings = folder.join("schemathesis.toml");
    std::fs::write(&settings, written(&known))?;
    let asked = folder.join("asked.har");
    let mut fuzz = judged.fuzz(Some(&settings), EXAMPLES)?;
    let paths = format!("^/({})(/|$)", FAMILIES.join("|"));
    fuzz.args(["--include-path-regex", &paths])
        .arg("--report-har-path")
        .arg(&asked);
    let outcome = ended(fuzz).await;
    report.check("no request to a linked desk breaks the document", outcome);
    let (tally, total) = tallied(&asked)?;
    for family in FAMILIES {
        let good = tally.get(family).copied().unwrap_or_default();
        let outcome = match good {
            0 => Err(format!(
                "none of {total} requests was answered with 2xx: {tally:?}"
            )),
            _ => Ok(()),
        };
        report.check(&format!("made-up requests are served: /{family}"), outcome);
    }
    report.check("nothing was sent", sent_nothing(&office).await);
    let intact = judged.is_intact().await;
    report.check("the ledger of the desk is intact afterwards", intact);
    Ok(())
}

/// Makes a deal and suggestions at one company; what is there.
async fn known(office: &Office) -> anyhow::Result<Known> {
    let folders = ["/Filed", "/Elsewhere", "/Deals/Closing"];
    let suggestions = office.suggest("harbor", &folders).await?;
    // From here on the owner's conversation is this company's.
    let letters = good(office, "GET /graph/harbor/mail/list?top=20", &Value::Null).await?;
    let deal =
        json!({"entity": "harbor", "deal_name": "Mill Lane", "idempotency_key": "mill-lane"});
    let (status, held) = office.api("POST /deals/create", &deal).await?;
    ensure!(status == 202, "{status} {held}");
    let id = held["approval_id"].as_str().context("an approval")?;
    let answer = format!("POST /api/v1/approvals/{id}/answer");
    good(office, &answer, &json!({"answer": "once"})).await?;
    let deal = good(office, "POST /deals/create", &deal).await?;
    let members = |list: &[Value], member: &str| -> Vec<String> {
        let found = list.iter().filter_map(|one| one[member].as_str());
        found.map(str::to_owned).collect()
    };
    let letters = letters["messages"].as_array().context("no letters")?;
    let deals = members(&[deal], "deal_id");
    let items = members(&suggestions, "item_id");
    let harbor = || vec!["harbor".to_owned()];
    let known = Known::from([
        ("path.profile_id", harbor()),
        ("query.entity_context", harbor()),
        ("query.entity", harbor()),
        ("body.entity", harbor()),
        ("path.message_id", members(letters, "id")),
        ("path.deal_id", deals.clone()),
        ("body.deal_id", deals),
        ("body.item_id", items),
        ("path.suggestion_id", members(&suggestions, "suggestion_id")),
    ]);
    for (name, values) in &known {
        ensure!(!values.is_empty(), "there is nothing for {name}");
    }
    Ok(known)
}

async fn good(office: &Office, line: &str, body: &Value) -> anyhow::Result<Value> {
    let (status, answer) = office.api(line, body).await?;
    ensure!(status == 200, "{line}: {status} {answer}");
    Ok(answer)
}

/// Settings of Schemathesis by which requests name what is there.
fn written(known: &Known) -> String {
    let mut text = String::new();
    for (name, values) in known {
        let dictionary = name.replace('.', "-");
        text.push_str(&format!(
            "[dictionaries.{dictionary}]\nvalues = {}\n\n",
            json!(values)
        ));
    }
    text.push_str("[parameters]\n");
    for name in known.keys() {
        let dictionary = name.replace('.', "-");
        text.push_str(&format!(
            "{name:?} = {{ dictionary = {dictionary:?}, probability = {KNOWN} }}\n"
        ));
    }
    text
}

/// How many requests of each family were answered with 2xx, and how many there were of all.
fn tallied(asked: &Path) -> anyhow::Result<(BTreeMap<String, usize>, usize)> {
    let text = std::fs::read_to_string(asked).context("no record of requests")?;
    let record: Value = serde_json::from_str(&text)?;
    let entries = record["log"]["entries"].as_array().context("no requests")?;
    let mut tally = BTreeMap::new();
    for entry in entries {
        let status = entry["response"]["status"].as_u64().unwrap_or_default();
        // An address of theirs may be none that can be read: `http://HOST/FAMILY/…?…`.
        let url = entry["request"]["url"].as_str().unwrap_or_default();
        let family = url.split(['/', '?']).nth(3).unwrap_or_default();
        if (200..300).contains(&status) {
            *tally.entry(family.to_owned()).or_default() += 1;
        }
    }
    Ok((tally, entries.len()))
}

/// Whatever was asked for, no letter left.
async fn sent_nothing(office: &Office) -> anyhow::Result<()> {
    for tenant in ["first", "second"] {
        let sent = office.letters(tenant, "sentitems").await?;
        ensure!(sent.is_empty(), "{tenant}: {sent:?}");
    }
    Ok(())
}
