//! Questions that people wrote, put to `find_tools` over real servers with ten thousand other tools around.
//!
//! Half of the questions share no word with what they ask for, which is looked at here. One file of questions was
//! looked at while the table of synonyms was written; the other was not.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Child;

use super::report::{Report, say};
use super::tools::Tools;
use crate::harness::hub::{Hub, HubOptions};
use crate::harness::peer::{Peer, PeerEra, everything, friendly};
use crate::harness::process::{command, environment, now, program, until};

/// A question and the tool, as `server/tool`.
const TUNED: &str = include_str!("../../../find/questions/tuned.tsv");
const HELD_OUT: &str = include_str!("../../../find/questions/held_out.tsv");
const QUESTIONS: usize = 200;
/// How many of them are to have their tool among the first five, and under how many a change has
/// made it worse.
const GOAL: usize = 180;
const FOUND: usize = 178;
const FIRST: usize = 5;

/// How long all of them may take to start, on a busy machine, and a model to read them.
const START: Duration = Duration::from_secs(120);
const READ: Duration = Duration::from_secs(240);

/// The provider and model of embeddings, as their server has them.
const MODEL: &str = "near/l2_supercat_256";

/// Servers of nothing but tools that nobody asks for.
const OTHERS: usize = 5;
const TOOLS_EACH: usize = 2_000;
const VERBS: [&str; 10] = [
    "list", "get", "create", "update", "delete", "search", "export", "archive", "approve", "assign",
];
const THINGS: [&str; 20] = [
    "invoice",
    "shipment",
    "patient",
    "vehicle",
    "recipe",
    "warehouse",
    "policy",
    "claim",
    "course",
    "theatre seat",
    "flight",
    "hotel room",
    "subscription plan",
    "contract",
    "payroll run",
    "lead",
    "campaign",
    "sensor",
    "meter reading",
    "inspection",
];

/// Words too small to be shared.
const SMALL: &[&str] = &[
    "a", "about", "all", "an", "and", "any", "are", "as", "at", "be", "before", "by", "can", "did",
    "do", "does", "for", "from", "has", "have", "he", "how", "i", "if", "in", "into", "is", "it",
    "its", "may", "me", "my", "no", "not", "of", "on", "one", "or", "our", "s", "some", "that",
    "the", "their", "them", "then", "there", "these", "they", "this", "those", "to", "was", "we",
    "were", "what", "when", "where", "which", "who", "whose", "will", "with", "you", "your",
];

/// Asks all questions.
pub async fn run(tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let root = folder.path().join("root");
    std::fs::create_dir(&root)?;
    let mut servers = real(tools, &root);
    for number in 0..OTHERS {
        let script = folder.path().join(format!("tools-{number}.json"));
        std::fs::write(&script, others(number).to_string())?;
        servers[format!("others-{number}")] = json!({
            "command": program("fixture-server")?,
            "args": ["--script", script.display().to_string()],
        });
    }
    let options = || HubOptions {
        servers: servers.clone(),
        path_first: Some(tools.node_bin()),
        ..HubOptions::default()
    };
    let hub = Hub::start(options()).await?;
    let peer = hub.http(PeerEra::Modern, everything(), friendly()).await?;
    let listed = all_listed(&peer).await?;
    let questions: Vec<(&str, &str)> = lines(TUNED).chain(lines(HELD_OUT)).collect();
    report.check(
        "200 questions, half of them in other words than the tools' own",
        half_in_other_words(&questions, &listed),
    );
    let name = format!(
        "the right tool is among the first {FIRST} of {}",
        listed.len()
    );
    report.check(&name, all(&peer, "by words").await.and_then(enough));
    drop((peer, hub));

    let (model, base) = Model::start(tools).await?;
    let name = format!("{name}, with embeddings of a real model");
    report.check(&name, meant(&base, options()).await);
    drop(model);
    Ok(())
}

fn enough(found: usize) -> anyhow::Result<()> {
    ensure!(found >= FOUND, "{found} of {QUESTIONS} questions");
    Ok(())
}

/// The same questions once a model has read all definitions.
async fn meant(base: &str, options: HubOptions) -> anyhow::Result<()> {
    let provider = json!({
        "enabled": true, "kind": "local_model", "endpoint": base, "hipaa_cleared": false,
    });
    let hub = Hub::start(HubOptions {
        template: Some("personal"),
        governance: vec![(
            "llm_provider.json",
            json!({"providers": {"near": provider}}),
        )],
        settings: format!("[discovery]\nembeddings = \"{MODEL}\"\n"),
        ..options
    })
    .await?;
    let peer = hub.http(PeerEra::Modern, everything(), friendly()).await?;
    all_listed(&peer).await?;
    let begun = now();
    // The first search has them read.
    peer.call("hub-find_tools", json!({"query": "anything"}))
        .await?;
    let model = MODEL.rsplit('/').next().unwrap_or(MODEL);
    let mut status = Value::Null;
    let read = until("the model to have read everything", READ, async || {
        let asked = said(&hub, &["audit", "query", "--tool", model, "--json"]).await;
        status = said(&hub, &["status", "--json"]).await;
        let was_asked = asked["records"]
            .as_array()
            .is_some_and(|all| !all.is_empty());
        was_asked && !status["problems"].to_string().contains(MODEL)
    })
    .await;
    read.with_context(|| status["problems"].to_string())?;
    say(&format!("  read in {:.1} s", begun.elapsed().as_secs_f64()));
    let begun = now();
    let found = all(&peer, "by words and meaning").await?;
    let each = begun.elapsed().as_secs_f64() * 1e3 / QUESTIONS as f64;
    say(&format!("  {each:.1} ms for a question and its answer"));
    enough(found)
}

/// What a command says, as JSON.
async fn said(hub: &Hub, arguments: &[&str]) -> Value {
    let said = hub.run(arguments).await.map(|(_, said, _)| said);
    serde_json::from_str(&said.unwrap_or_default()).unwrap_or_default()
}

/// Every tool, once all servers have said what they have.
async fn all_listed(peer: &Peer) -> anyhow::Result<Vec<Value>> {
    let asked = lines(TUNED).chain(lines(HELD_OUT));
    let mut wanted: BTreeSet<String> = asked.map(|(_, tool)| flat(tool)).collect();
    wanted.extend((0..OTHERS).map(|number| {
        let last = name(number, TOOLS_EACH - 1);
        format!("others-{number}-{last}")
    }));
    let (mut listed, mut missing) = (Vec::new(), Vec::new());
    let all = until("every tool", START, async || {
        listed = peer.list("tools/list", "tools").await.unwrap_or_default();
        let names = listed.iter().filter_map(|tool| tool["name"].as_str());
        let names: BTreeSet<&str> = names.collect();
        missing = wanted
            .iter()
            .filter(|one| !names.contains(&***one))
            .cloned()
            .collect();
        missing.is_empty()
    })
    .await;
    all.with_context(|| format!("of {} tools these are missing: {missing:?}", listed.len()))?;
    ensure!(listed.len() > OTHERS * TOOLS_EACH, "too few tools around");
    Ok(listed)
}

/// How many of all questions have their tool among the first.
async fn all(peer: &Peer, how: &str) -> anyhow::Result<usize> {
    let mut found = 0;
    for (file, text) in [("looked at", TUNED), ("held out", HELD_OUT)] {
        let (right, missed) = ask(peer, text).await?;
        say(&format!(
            "  {how}: {right} of {} questions {file} have their tool among the first {FIRST}",
            lines(text).count()
        ));
        if text == TUNED {
            missed
                .iter()
                .for_each(|missed| say(&format!("    {missed}")));
        }
        found += right;
    }
    say(&format!(
        "  {how}: {found} of {QUESTIONS} in all; the goal is {GOAL}"
    ));
    Ok(found)
}

/// A server of embeddings.
struct Model(#[expect(dead_code, reason = "it ends with this")] Child);

impl Model {
    /// The server, and its address.
    async fn start(tools: &Tools) -> anyhow::Result<(Self, String)> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("drivers/embeddings.py");
        let installed = tools.group("embeddings");
        let python = installed.join("bin/python");
        let mut command = command(python, &environment(&installed, None));
        command.arg(script);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let said = child.stdout.take().context("it has an output")?;
        let mut line = String::new();
        BufReader::new(said).read_line(&mut line).await?;
        let base = line.trim().to_owned();
        ensure!(base.starts_with("http://"), "no address: {base}");
        Ok((Self(child), base))
    }
}

/// How many questions of a file have their tool among the first, and those that have not.
async fn ask(peer: &Peer, text: &str) -> anyhow::Result<(usize, Vec<String>)> {
    let mut right = 0;
    let mut missed = Vec::new();
    for (question, tool) in lines(text) {
        let wish = json!({"query": question, "limit": FIRST});
        let answer = peer.call("hub-find_tools", wish).await?;
        let found = &answer.result()?["structuredContent"]["tools"];
        let found = found.as_array().context("no list of tools")?;
        match found.iter().any(|found| found["name"] == flat(tool)) {
            true => right += 1,
            false => {
                let names: Vec<&str> = found
                    .iter()
                    .filter_map(|one| one["name"].as_str())
                    .collect();
                missed.push(format!("{question} -> {tool}: {names:?}"));
            }
        }
    }
    Ok((right, missed))
}

fn half_in_other_words(questions: &[(&str, &str)], listed: &[Value]) -> anyhow::Result<()> {
    let by_name: HashMap<&str, &Value> = listed
        .iter()
        .filter_map(|tool| Some((tool["name"].as_str()?, tool)))
        .collect();
    let mut other = 0;
    for (question, tool) in questions {
        let definition = by_name.get(&*flat(tool)).context("a tool is gone")?;
        let (_, own) = tool.split_once('/').context("no server")?;
        let said = |key: &str| definition[key].as_str().unwrap_or_default().to_owned();
        let said = words(&format!("{own} {} {}", said("title"), said("description")));
        let shared = words(question).intersection(&said).count();
        other += usize::from(shared == 0);
    }
    let distinct: BTreeSet<_> = questions.iter().collect();
    ensure!(distinct.len() == QUESTIONS, "{} questions", distinct.len());
    ensure!(other * 2 >= QUESTIONS, "only {other} in other words");
    Ok(())
}

/// The words of a text that are no small ones.
fn words(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    let words = words.map(str::to_lowercase);
    words
        .filter(|word| !word.is_empty() && !SMALL.contains(&word.as_str()))
        .collect()
}

fn lines(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines().filter_map(|line| line.split_once('\t'))
}

/// The name that clients have of `server/tool`.
fn flat(tool: &str) -> String {
    tool.replacen('/', "-", 1)
}

fn name(server: usize, at: usize) -> String {
    let (verb, thing) = (VERBS[at % 10], THINGS[at / 10 % 20].replace(' ', "_"));
    format!("{verb}_{thing}_{server}_{}", at / 200)
}

fn others(server: usize) -> Value {
    let tool = |at: usize| {
        let (verb, thing, system) = (VERBS[at % 10], THINGS[at / 10 % 20], at / 200);
        json!({
            "name": name(server, at),
            "description": format!(
                "{verb} one or several {thing} records in the application {server}.{system}. \
                 Returns the {thing} with its identifier, status and the time it was changed."
            ),
            "inputSchema": {"type": "object", "properties": {
                "id": {"type": "string", "description": format!("The identifier of the {thing}")},
                "limit": {"type": "integer", "description": "Most results"},
            }},
        })
    };
    (0..TOOLS_EACH).map(tool).collect()
}

/// The real servers, by name.
fn real(tools: &Tools, root: &Path) -> Value {
    let node = tools.node_bin().join("node");
    let module = |group: &str, path: &str, more: &[&str]| {
        let script = tools.module(group, path).display().to_string();
        let mut args = vec![script];
        args.extend(more.iter().map(|one| (*one).to_owned()));
        json!({"command": node, "args": args})
    };
    let own = |group: &str, name: &str, more: &[&str]| {
        let path = format!("@modelcontextprotocol/server-{name}/dist/index.js");
        module(group, &path, more)
    };
    let root = root.display().to_string();
    let mut slack = own("found", "slack", &[]);
    // It wants to be configured, and is never called.
    slack["env"] = json!({"SLACK_BOT_TOKEN": "none", "SLACK_TEAM_ID": "T0"});
    json!({
        "everything": own("servers", "everything", &[]),
        "filesystem": own("servers", "filesystem", &[&root]),
        "memory": own("servers", "memory", &[]),
        "thinking": own("found", "sequential-thinking", &[]),
        "github": own("found", "github", &[]),
        "slack": slack,
        "playwright": module("found", "@playwright/mcp/cli.js", &[]),
        "git": {"command": tools.python("mcp-server-git")},
        "time": {"command": tools.python("mcp-server-time")},
        "fetch": {"command": tools.python("mcp-server-fetch")},
    })
}
