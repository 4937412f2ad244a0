//! The steps of the demo, each told and then done.

use std::path::Path;
use std::time::Duration;

use legation_api::AdminClient;
use legation_api::audit::{Verify, VerifyAnswer};
use legation_api::mcp::{List, Server};
use legation_cli::{CliError, Exit, Output};
use legation_core::{Clock, Home};
use serde_json::{Value, json};

use super::client::DemoClient;
use super::model::{self, ModelStory};
use super::people::{self, People};

/// How long the slowest server may take: it may be downloaded first.
const CONNECT_LIMIT: Duration = Duration::from_secs(150);

/// Walks through everything; the hub is running.
pub(crate) fn run(
    out: Output,
    (home, folder): (&Home, &Path),
    clock: &dyn Clock,
    people: &People,
    model: &ModelStory,
) -> Result<Value, CliError> {
    let mut admin = AdminClient::connect(home, crate::VERSION)?
        .ok_or_else(|| CliError::new(Exit::NotReachable, "the demo's hub does not answer"))?;
    out.say("\n1. Servers: one hub, real MCP servers behind it");
    let servers = wait_for_servers(out, &mut admin, clock)?;
    for server in &servers {
        out.say(&format!(
            "   {:<11} {:<10} {:>8}, {}, {}{}",
            server.name,
            server.status,
            count(server.tools, "tool"),
            count(server.resources + server.templates, "resource"),
            count(server.prompts, "prompt"),
            server
                .revision
                .as_ref()
                .map(|text| format!("   speaks {text}"))
                .unwrap_or_default(),
        ));
    }
    if !is_connected(&servers, "example") {
        return Err(
            CliError::new(Exit::Failed, "the built-in example server does not connect")
                .with_hint(format!("see {}", home.logs().display())),
        );
    }
    let (mut legacy, about) = DemoClient::connect(home, false)?;
    handshake_era(out, &mut legacy, &about, folder, &servers)?;
    let (mut modern, about) = DemoClient::connect(home, true)?;
    stateless_era(out, &mut modern, &about, &servers)?;
    out.say("\n5. A call that the owner's rules forbid");
    refused(out, &mut legacy)?;
    let ready = people::sign_in(out, &mut modern, people, clock)?;
    let chat = people::talk(out, &mut modern, people)?;
    let desk = super::desk::work(out, &mut modern)?;
    let (mut worker, _) = DemoClient::connect_in(home, true, Some(folder))?;
    let task = model::delegate(out, &mut worker, folder, model)?;
    let report = ledger(out, &mut admin)?;
    let records = people::recorded(out, &mut modern, &ready)?;
    Ok(json!({
        "servers": servers.iter().map(|server| &server.name).collect::<Vec<_>>(),
        "identity": ready,
        "chat": chat,
        "desk": desk,
        "task": task,
        "ledger": {"intact": report.intact, "records": report.records, "of_the_agent": records},
    }))
}

/// `1 tool`, `2 tools`.
fn count(number: usize, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {what}{plural}")
}

fn is_connected(servers: &[Server], name: &str) -> bool {
    servers
        .iter()
        .any(|server| server.name == name && server.status == "connected")
}

fn handshake_era(
    out: Output,
    client: &mut DemoClient,
    about: &Value,
    folder: &Path,
    servers: &[Server],
) -> Result<(), CliError> {
    out.say(&format!(
        "\n2. An agent of the handshake era connects (negotiated {})",
        about["protocolVersion"].as_str().unwrap_or("?")
    ));
    let tools = tools(client)?;
    out.say(&format!(
        "   it sees {} tools in one list, such as",
        tools.len()
    ));
    for name in pick(&tools, servers) {
        out.say(&format!("     {name}"));
    }
    out.say("\n3. It calls tools");
    show_call(out, client, "example-add", &json!({"a": 19, "b": 23}))?;
    if is_connected(servers, "files") {
        let path = folder.join("welcome.txt").display().to_string();
        show_call(out, client, "files-read_text_file", &json!({"path": path}))?;
    }
    Ok(())
}

fn stateless_era(
    out: Output,
    client: &mut DemoClient,
    about: &Value,
    servers: &[Server],
) -> Result<(), CliError> {
    let versions = about["supportedVersions"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    out.say(&format!(
        "\n4. An agent of the stateless era ({}) uses the same servers at the same time",
        versions
            .iter()
            .filter_map(Value::as_str)
            .max()
            .unwrap_or("?")
    ));
    show_call(
        out,
        client,
        "example-echo",
        &json!({"text": "either era, any server"}),
    )?;
    if is_connected(servers, "everything") {
        show_call(
            out,
            client,
            "everything-echo",
            &json!({"message": "hello from 2026-07-28"}),
        )?;
    }
    if is_connected(servers, "time") {
        show_call(
            out,
            client,
            "time-get_current_time",
            &json!({"timezone": "Europe/Vienna"}),
        )?;
    }
    Ok(())
}

fn ledger(out: Output, admin: &mut AdminClient) -> Result<VerifyAnswer, CliError> {
    out.say("\n10. The ledger: an intent before every call, an outcome after it, each chained to the last");
    let report = admin.call(&Verify::default())?;
    out.say(&format!(
        "   {}: {} records, {} intents, {} outcomes, {} refused; head {}…",
        if report.intact { "intact" } else { "BROKEN" },
        report.records,
        report.intents,
        report.outcomes,
        report.refused,
        report
            .chains
            .first()
            .map_or("-", |chain| &chain.hash)
            .chars()
            .take(16)
            .collect::<String>(),
    ));
    if report.intact && report.refused == 1 {
        return Ok(report);
    }
    Err(CliError::new(
        Exit::Failed,
        "the ledger does not say what the demo did",
    ))
}

/// Waits until no server is starting any more, showing how far they are.
fn wait_for_servers(
    out: Output,
    admin: &mut AdminClient,
    clock: &dyn Clock,
) -> Result<Vec<Server>, CliError> {
    let until = clock.now() + CONNECT_LIMIT;
    loop {
        let list = admin.call(&List::default())?;
        let starting: Vec<&str> = list
            .servers
            .iter()
            .filter(|server| server.status == "starting")
            .map(|server| server.name.as_str())
            .collect();
        if (starting.is_empty() && !list.servers.is_empty()) || clock.now() > until {
            out.progress_done();
            return Ok(list.servers);
        }
        out.progress(&format!(
            "   {} of {} connected; starting {} (the first time they are downloaded) …",
            list.servers.len() - starting.len(),
            list.servers.len(),
            starting.join(", ")
        ));
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn tools(client: &mut DemoClient) -> Result<Vec<String>, CliError> {
    let mut names = Vec::new();
    let mut params = json!({});
    loop {
        let page = client
            .call("tools/list", params)?
            .map_err(|error| hub_error(&error))?;
        let tools = page["tools"].as_array().cloned().unwrap_or_default();
        names.extend(
            tools
                .iter()
                .filter_map(|tool| tool["name"].as_str().map(str::to_owned)),
        );
        match page["nextCursor"].as_str() {
            Some(cursor) => params = json!({"cursor": cursor}),
            None => return Ok(names),
        }
    }
}

/// One tool of each server.
fn pick<'a>(tools: &'a [String], servers: &[Server]) -> Vec<&'a String> {
    servers
        .iter()
        .filter_map(|server| {
            let prefix = format!("{}-", server.name);
            tools.iter().find(|name| name.starts_with(&prefix))
        })
        .collect()
}

fn show_call(
    out: Output,
    client: &mut DemoClient,
    name: &str,
    arguments: &Value,
) -> Result<(), CliError> {
    let params = json!({"name": name, "arguments": arguments});
    let result = client
        .call("tools/call", params)?
        .map_err(|error| hub_error(&error))?;
    let text = result["content"][0]["text"].as_str().unwrap_or("(no text)");
    let line: String = text
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .chars()
        .take(90)
        .collect();
    out.say(&format!("   {name} {arguments}\n     → {line}"));
    Ok(())
}

fn refused(out: Output, client: &mut DemoClient) -> Result<(), CliError> {
    let params = json!({"name": "example-erase", "arguments": {}});
    let answer = client
        .call("tools/call", params)?
        .map_err(|error| hub_error(&error))?;
    let told = &answer["structuredContent"];
    if told["blocked"] != json!(true) {
        return Err(CliError::new(Exit::Failed, "a forbidden call went through"));
    }
    let text = answer["content"][0]["text"].as_str().unwrap_or("?");
    out.say(&format!(
        "   example-erase {{}}\n     ✗ refused: {}\n       {}, rule {}; {}",
        text.lines().next().unwrap_or("?"),
        told["reason_code"].as_str().unwrap_or("?"),
        told["rule"].as_str().unwrap_or("?"),
        told["next_safe_step"].as_str().unwrap_or("")
    ));
    Ok(())
}

pub(super) fn hub_error(error: &Value) -> CliError {
    CliError::new(
        Exit::Failed,
        error["message"]
            .as_str()
            .unwrap_or("the hub said no")
            .to_owned(),
    )
}
