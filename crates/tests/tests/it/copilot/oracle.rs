//! GitHub's own library for such agents as a referee: of signatures, and of every byte that is
//! streamed.

use std::path::Path;
use std::process::Stdio;

use legation_copilot::Called;
use legation_tests::e2e::tools::Tools;
use legation_tests::harness::github::Signer;
use legation_tests::harness::process::program;
use serde_json::{Value, json};

use super::{Stage, TOKEN, answered, message, refused};

/// What its library says to a plan; `None` where the suite has not installed it.
async fn library(mut plan: Value, folder: &Path) -> anyhow::Result<Option<Value>> {
    let built = program("legation")?;
    let target = built.ancestors().nth(2).unwrap_or(Path::new("target"));
    let tools = Tools::new(target.join("tools"));
    let sdk = tools.module("copilot-sdk", "@copilot-extensions/preview-sdk/index.js");
    if !sdk.exists() {
        return Ok(None);
    }
    plan["sdk"] = json!(sdk);
    let file = folder.join("plan.json");
    std::fs::write(&file, plan.to_string())?;
    let driver = Path::new(env!("CARGO_MANIFEST_DIR")).join("drivers/copilot.mjs");
    let mut node = tools.node(folder);
    let said = node.arg(driver).arg(file).stderr(Stdio::inherit());
    let said = said.output().await?;
    assert!(said.status.success(), "{said:?}");
    Ok(Some(serde_json::from_slice(&said.stdout)?))
}

#[tokio::test]
async fn its_library_believes_what_is_believed_here() -> anyhow::Result<()> {
    let stage = Stage::set().await?;
    let foreign = Signer::new("key-1")?;
    let good = &stage.signer;
    let mut tried = Vec::new();
    for text in [
        "status",
        "Grüße, 日本 \u{1f600} \u{2028} \\ \" \u{7f}",
        &"long ".repeat(2_000),
    ] {
        let body = message(text);
        let signature = good.sign(body.as_bytes())?;
        tried.push((body.clone(), signature.clone()));
        let mut other = signature.clone();
        let middle = other.len() / 2;
        let turned = if other.as_bytes()[middle] == b'A' {
            "B"
        } else {
            "A"
        };
        other.replace_range(middle..=middle, turned);
        tried.push((body.clone(), other));
        tried.push((body.clone(), foreign.sign(body.as_bytes())?));
        tried.push((format!("{body} "), signature.clone()));
        tried.push((body.replacen("user", "uses", 1), signature.clone()));
        tried.push((body.clone(), signature[..signature.len() - 4].to_owned()));
        tried.push((body, "AAAA".to_owned()));
    }
    let verify = tried
        .iter()
        .map(|(body, signature)| json!({ "body": body, "signature": signature, "key": good.pem }));
    let plan = json!({ "verify": verify.collect::<Vec<_>>(), "events": [] });
    let Some(said) = library(plan, stage.folder.path()).await? else {
        return Ok(());
    };
    let verified = said["verified"].as_array().unwrap();
    assert_eq!(verified.len(), tried.len());
    let mut believed = 0;
    for ((body, signature), verified) in tried.iter().zip(verified) {
        let mut fields = good.fields(body, TOKEN)?;
        fields[1].1.clone_from(signature);
        let status = stage.send(body, &fields).await?.status;
        assert_eq!(
            *verified == json!(true),
            status == 200,
            "{status} {verified} {body}"
        );
        believed += usize::from(status == 200);
    }
    assert_eq!(believed, 3);
    stage.end().await;
    Ok(())
}

/// What is asked, what the hub says, and the events that have to come.
fn exchanges() -> Vec<(&'static str, Called, Vec<Value>)> {
    let done = json!(["createDoneEvent"]);
    let ack = json!(["createAckEvent"]);
    let odd = "Tab\t, quote \", back\\slash, \u{1}\u{8}\u{c}\u{1f}\u{7f}, é, 日本, \u{1f600}, \u{2028}\r\n- line";
    vec![
        (
            "status",
            answered("It is well.", &[]),
            vec![
                ack.clone(),
                json!(["createTextEvent", "It is well."]),
                done.clone(),
            ],
        ),
        (
            "morning brief of harbor",
            answered(odd, &[("sunrise", "Sunrise \"II\" é")]),
            vec![
                ack.clone(),
                json!(["createTextEvent", odd]),
                json!(["createReferencesEvent", [{
                    "type": "legation.deal", "id": "sunrise", "is_implicit": false,
                    "metadata": { "display_name": "Sunrise \"II\" é" },
                }]]),
                done.clone(),
            ],
        ),
        (
            "eod digest of harbor",
            refused(None, "HARD_BAN_VIOLATION", "A ban forbids it."),
            vec![
                ack.clone(),
                json!(["createErrorsEvent", [{
                    "type": "function", "code": "HARD_BAN_VIOLATION",
                    "message": "A ban forbids it. Ask.", "identifier": "desk/eod_digest",
                }]]),
                done.clone(),
            ],
        ),
        (
            "triage of harbor",
            refused(Some("7K2QXM"), "APPROVAL_PENDING", "A person has to agree"),
            vec![
                ack,
                json!(["createConfirmationEvent", {
                    "id": "7K2QXM", "title": "Allow desk/triage_list?",
                    "message": "A person has to agree (7K2QXM)",
                    "metadata": {
                        "tool": "triage_list", "arguments": { "entity_context": "harbor" },
                        "entity": "harbor",
                    },
                }]),
                done,
            ],
        ),
    ]
}

#[tokio::test]
async fn every_event_is_made_as_its_library_makes_it() -> anyhow::Result<()> {
    let stage = Stage::set().await?;
    let exchanges = exchanges();
    let events: Vec<&Value> = exchanges.iter().flat_map(|(.., events)| events).collect();
    let plan = json!({ "verify": [], "events": events });
    let Some(said) = library(plan, stage.folder.path()).await? else {
        return Ok(());
    };
    let mut made = said["events"].as_array().unwrap().iter();
    for (text, called, events) in exchanges {
        stage.hub.answers.lock().unwrap().push(called);
        let body = message(text);
        let answer = stage
            .send(&body, &stage.signer.fields(&body, TOKEN)?)
            .await?;
        let expected: String = events
            .iter()
            .filter_map(|_| made.next()?.as_str())
            .collect();
        assert_eq!(answer.body, expected, "{text}");
    }
    stage.end().await;
    Ok(())
}
