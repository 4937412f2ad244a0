//! Personal data and credentials where they have no business: in logs, metrics, spans,
//! records, errors and in anything else that the hub keeps.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use http::{Request, Uri};
use http_body_util::Full;
use legation_tests::harness::http::whole;
use legation_tests::harness::hub::{HubOptions, client_token};
use legation_tests::harness::peer::{Answer, PeerEra};
use legation_tests::harness::served::Collector;
use serde_json::{Value, json};

use crate::business::{Business, code};

/// What must not be found, however it is cut.
const SECRETS: [&str; 4] = [
    "219-09-9999",
    "219099999",
    "Avery Placeholder",
    "avery.placeholder",
];

/// What the collector knows the hub by.
const COLLECTOR: &str = "canary-collector-91d2";

fn clean(place: &str, text: &[u8]) {
    none_of(&SECRETS, place, text);
}

fn none_of(secrets: &[&str], place: &str, text: &[u8]) {
    for secret in secrets {
        let found = text
            .windows(secret.len())
            .position(|window| window.eq_ignore_ascii_case(secret.as_bytes()));
        if let Some(at) = found {
            let from = at.saturating_sub(200);
            let around = String::from_utf8_lossy(&text[from..text.len().min(at + 100)]);
            panic!("{secret} is in {place}: {around}");
        }
    }
}

/// Every file below, but what servers say themselves and what the owner wrote.
fn files(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() && name == "governance" {
            continue;
        }
        if path.is_dir() {
            files(&path, into);
        } else if path.is_file() && !name.starts_with("server-") {
            into.push(path);
        }
    }
}

/// Calls of every end with personal data in their arguments; the answers.
async fn calls(business: &Business) -> anyhow::Result<Vec<Answer>> {
    let person = json!({
        "name": "Avery Placeholder", "ssn": "219-09-9999", "mail": "avery.placeholder@example.com",
        "note": "Avery Placeholder, SSN 219-09-9999",
    });
    let with = |more: Value| {
        let mut whole = person.clone();
        let more = more.as_object().cloned().unwrap_or_default();
        whole
            .as_object_mut()
            .into_iter()
            .for_each(|all| all.extend(more.clone()));
        whole
    };
    let mut answers = Vec::new();
    for era in [PeerEra::Legacy, PeerEra::Modern] {
        for client in ["meadow-agent", "summer", "claude"] {
            let peer = business.client(client, era).await?;
            for (tool, arguments) in [
                ("meadow-notes-read_note", person.clone()),
                ("meadow-notes-free", person.clone()),
                // Held for a person, proposed, stopped.
                ("meadow-notes-draft", person.clone()),
                ("meadow-notes-file", person.clone()),
                ("meadow-notes-stopped", person.clone()),
                (
                    "meadow-notes-send",
                    with(json!({"to": ["intake@meadow.example.com"]})),
                ),
                // Another company's, and nobody's.
                ("harbor-mail-free", with(json!({"entity": "meadow"}))),
                ("meadow-notes-free", with(json!({"entity": "all"}))),
                ("meadow-notes-nothing", person.clone()),
                ("meadow-notes-test_error_handling", person.clone()),
                ("meadow-notes-protocol_error_job", person.clone()),
            ] {
                answers.push(peer.call(tool, arguments).await?);
            }
            // What is no call at all.
            for params in [
                json!({"name": "meadow-notes-free", "arguments": "219-09-9999"}),
                json!({"name": 5, "arguments": person}),
                json!({"arguments": person}),
            ] {
                answers.push(peer.once("tools/call", params).await?);
            }
        }
    }
    Ok(answers)
}

#[tokio::test]
async fn personal_data_is_in_no_log_metric_record_or_error() -> anyhow::Result<()> {
    let collector = Collector::start(None).await?;
    let settings = format!(
        "log_level = \"trace\"\n[traces]\nendpoint = {:?}\nheaders = [\"x-key: ${{COLLECTOR_KEY}}\"]\n",
        collector.base()
    );
    let mut business = Business::under(
        Vec::new(),
        HubOptions {
            settings,
            environment: HashMap::from([("COLLECTOR_KEY".to_owned(), COLLECTOR.to_owned())]),
            ..HubOptions::default()
        },
    )
    .await?;
    let note = "Resident Avery Placeholder, SSN 219-09-9999, avery.placeholder@example.com";
    std::fs::write(business.script.with_extension("note"), note)?;
    let answers = calls(&business).await?;
    let refused: Vec<&Answer> = answers
        .iter()
        .filter(|answer| !answer.value["error"].is_null() || !code(answer).is_empty())
        .collect();
    // Otherwise nothing was tried.
    assert!(refused.len() > 40, "{} refusals", refused.len());
    for answer in refused {
        clean("a refusal", answer.text.as_bytes());
    }
    let uri: Uri = format!("{}/metrics", business.hub.base).parse()?;
    let bearer = format!("Bearer {}", business.hub.token()?);
    let request = Request::get(uri.path())
        .header("host", business.hub.base.trim_start_matches("http://"))
        .header("authorization", bearer);
    let metrics = whole(&uri, request.body(Full::default())?).await?.body;
    assert!(metrics.contains("legation"), "{metrics}");
    clean("the metrics", metrics.as_bytes());
    for format in ["jsonl", "ocsf", "otel"] {
        let (code, out, complaint) = business
            .hub
            .run(&["audit", "export", "--format", format])
            .await?;
        assert!(code == 0 && out.len() > 1000, "{code} {complaint}");
        clean(format, out.as_bytes());
    }
    clean(
        "what the hub said",
        business.hub.said().join("\n").as_bytes(),
    );
    let owner = business.hub.token()?;
    business.hub.stop().await?;
    let spans = collector.spans();
    assert!(spans.len() > 100, "{} spans", spans.len());
    let spans = Value::from(spans).to_string();
    clean("the spans", spans.as_bytes());
    // Credentials have files of their own, and no place in what the hub says.
    let tokens = ["meadow-agent", "summer", "claude"].map(client_token);
    let mut credentials = vec![COLLECTOR, owner.as_str()];
    credentials.extend(tokens.iter().map(String::as_str));
    let log = std::fs::read_to_string(business.hub.home().join("logs/hub.log"))?;
    for (place, text) in [
        ("the spans", spans),
        ("the metrics", metrics),
        ("the log", log),
        ("what the hub said", business.hub.said().join("\n")),
    ] {
        none_of(&credentials, place, text.as_bytes());
    }
    let mut all = Vec::new();
    files(&business.hub.home(), &mut all);
    assert!(all.iter().any(|file| file.ends_with("hub.log")), "{all:?}");
    assert!(all.iter().any(|file| file.ends_with("state.db")), "{all:?}");
    for file in all {
        clean(&file.display().to_string(), &std::fs::read(&file)?);
    }
    Ok(())
}
