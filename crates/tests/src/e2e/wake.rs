//! Idle sessions of real agents, woken by messages: two sessions of each agent in
//! terminals, offline before a scripted model, configured by `legation connect` and
//! nothing else. A message in the development tenant's chat, and one that a program
//! leaves for a folder, must each begin one turn, in one of the two sessions, whose
//! request to the model holds the message's id.

mod acp;
mod client;
mod terminal;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use serde_json::{Value, json};
use tokio::time::sleep;

use self::client::Client;
use self::terminal::Terminal;
use super::model::Model;
use super::report::{Report, say};
use super::tools::Tools;
use crate::fixture::lock;
use crate::harness::hub::{Hub, HubOptions};
use crate::harness::peer::{PeerEra, everything, friendly};
use crate::harness::process::{command, environment, marked, now, program};
use crate::harness::tenant::Tenant;

/// How long an agent may take to start and to finish its first turn.
const START: Duration = Duration::from_secs(120);
/// How long a message may take from its sender to the model.
const WAKE: Duration = Duration::from_secs(60);
/// How long nothing more may come of a message.
const QUIET: Duration = Duration::from_secs(3);
/// How often the model is asked what it was asked.
const LOOK: Duration = Duration::from_millis(50);
/// The two sessions, each in a folder of its name.
const SESSIONS: [&str; 2] = ["wake-a", "wake-b"];

/// How long each took, in seconds.
struct Times {
    start: f64,
    teams: f64,
    folder: f64,
}

/// Wakes each agent after its sessions were idle for so long.
pub async fn run(tools: &Tools, report: &mut Report, idle: Duration) -> anyhow::Result<()> {
    let mut table = Vec::new();
    for client in Client::ALL {
        let name = format!("{}: two idle sessions, one wake a message", client.name());
        if !report.wants(&name) {
            continue;
        }
        let outcome = one(tools, client, idle).await;
        if let Ok(times) = &outcome {
            table.push(row(client.name(), times));
        }
        report.check(
            &name,
            outcome.map(drop).map_err(|error| format!("{error:#}")),
        );
    }
    let name = "an editor's agent (ACP): two idle sessions, one wake a message";
    if report.wants(name) {
        let outcome = acp::run(tools, idle).await;
        if let Ok(times) = &outcome {
            table.push(row("acp", times));
        }
        report.check(
            name,
            outcome.map(drop).map_err(|error| format!("{error:#}")),
        );
    }
    if !table.is_empty() {
        say("  seconds       start    Teams   folder");
        table.iter().for_each(|line| say(line));
    }
    Ok(())
}

fn row(name: &str, times: &Times) -> String {
    let Times {
        start,
        teams,
        folder,
    } = times;
    format!("  {name:<10} {start:>8.1} {teams:>8.1} {folder:>8.1}")
}

async fn one(tools: &Tools, client: Client, idle: Duration) -> anyhow::Result<Times> {
    let tenant = Tenant::start(true).await?;
    let hub = Hub::start(options(&tenant, tools)?).await?;
    let chat = chat(&hub).await?;
    // New chats are looked for in minutes, and this one is not to be new.
    let hub = hub.restart().await?;
    let model = Model::start("no tool at all", json!({})).await?;
    let outcome = with(tools, client, idle, (&tenant, &chat), &hub, &model).await;
    // Some agents leave a process behind that outlives their terminals.
    end_agents(&hub);
    outcome.with_context(|| {
        let log = std::fs::read_to_string(hub.home().join("logs/waker.log")).unwrap_or_default();
        let board = std::fs::read_to_string(hub.home().join("wake/board.json"));
        format!(
            "the board is {}; wakers said {log:?}",
            board.unwrap_or_default()
        )
    })
}

async fn with(
    tools: &Tools,
    client: Client,
    idle: Duration,
    (tenant, chat): (&Tenant, &str),
    hub: &Hub,
    model: &Model,
) -> anyhow::Result<Times> {
    let folders = SESSIONS.map(|name| hub.folder().join(name));
    for folder in &folders {
        std::fs::create_dir_all(folder)?;
    }
    client.prepare(hub.folder(), &folders, model.port)?;
    let (code, said, complained) = hub.run(&["connect", client.name()]).await?;
    ensure!(
        code == 0,
        "`legation connect` ended with {code}: {said}{complained}"
    );
    let begun = now();
    let mut terminals = Vec::new();
    for (name, folder) in SESSIONS.iter().zip(&folders) {
        let mut environment = hub.environment();
        client.environment(&mut environment, model.port);
        let socket = hub.folder().join(format!("{name}.tmux"));
        let words = client.words(tools, &format!("{name} please"));
        let terminal = Terminal::start(socket, &environment, folder, &words).await?;
        terminals.push(terminal);
        let terminal = &terminals[terminals.len() - 1];
        armed(client, hub, model, name, terminal).await?;
    }
    let start = begun.elapsed().as_secs_f64();
    // tidy: the session is idle for as long as was asked for
    sleep(idle).await;

    let words = "Please look at the numbers of today.";
    let said = now();
    control(tenant, &["say", chat, words]).await?;
    let id = recorded(hub, words).await?;
    let (_, teams) = woken(model, &id, said).await?;

    // Whichever of them that was, the other one is meant now.
    waits(client, hub).await?;
    let said = now();
    let folder = format!("folder={}", folders[0].display());
    let id = "left-for-a-folder";
    let arguments = [
        "inbox",
        "post",
        "The build is green.",
        "--id",
        id,
        "--meta",
        &folder,
    ];
    let (code, _, complained) = hub.run(&arguments).await?;
    ensure!(
        code == 0,
        "`legation inbox post` ended with {code}: {complained}"
    );
    let (session, by_folder) = woken(model, id, said).await?;
    ensure!(
        session == SESSIONS[0],
        "the folder's message woke {session}"
    );
    Ok(Times {
        start,
        teams,
        folder: by_folder,
    })
}

/// The human's chat with the agent.
async fn chat(hub: &Hub) -> anyhow::Result<String> {
    let peer = hub.http(PeerEra::Modern, everything(), friendly()).await?;
    hub.wait_for_tool(&peer, "teams-connect").await?;
    let answer = peer.call("teams-connect", json!({})).await?;
    let chat = &answer.value["result"]["structuredContent"]["chat_id"];
    let chat = chat.as_str().with_context(|| answer.text.clone())?;
    Ok(chat.to_owned())
}

/// Waits for a session's first turn to end, and answers what its program asks first.
async fn armed(
    client: Client,
    hub: &Hub,
    model: &Model,
    session: &str,
    terminal: &Terminal,
) -> anyhow::Result<()> {
    let begun = now();
    let (mut stands, mut answered) = (false, false);
    loop {
        if !turns(model, session, session).is_empty()
            && waiting(hub, client).await? > index(session)
        {
            return Ok(());
        }
        let screen = terminal.screen().await?;
        if let Some((question, keys)) = client.question()
            && !answered
            && screen.contains(question)
        {
            // It is drawn before it is listened to: the answer to one that has only just come may be lost in part.
            answered = stands;
            stands = true;
            if answered {
                terminal.press(keys).await?;
            }
        }
        if begun.elapsed() > START {
            bail!("{session} does not wait after {START:?}; its screen is {screen:?}");
        }
        // tidy: programs of others tell nobody what they do, so they are looked at
        sleep(LOOK * 4).await;
    }
}

fn index(session: &str) -> usize {
    SESSIONS
        .iter()
        .position(|name| *name == session)
        .unwrap_or(0)
}

/// How many sessions of the client wait to be woken.
async fn waiting(hub: &Hub, client: Client) -> anyhow::Result<usize> {
    let (_, said, _) = hub.run(&["inbox", "session", "list", "--json"]).await?;
    let sessions: Vec<Value> = serde_json::from_str(&said).unwrap_or_default();
    let waits = |one: &&Value| one["client"] == client.name() && one["state"] == "waits";
    Ok(sessions.iter().filter(waits).count())
}

async fn waits(client: Client, hub: &Hub) -> anyhow::Result<()> {
    let begun = now();
    while waiting(hub, client).await? < SESSIONS.len() {
        ensure!(
            begun.elapsed() < START,
            "the woken session does not wait again"
        );
        // tidy: programs of others tell nobody what they do, so they are looked at
        sleep(LOOK).await;
    }
    Ok(())
}

/// The requests of a session's turns that hold a word: how often each has it.
fn turns(model: &Model, session: &str, word: &str) -> Vec<usize> {
    let requests = lock(&model.requests);
    let texts = requests.iter().filter(|body| {
        // What has no tools is no turn but a title, or a count of tokens.
        body["tools"]
            .as_array()
            .is_some_and(|tools| !tools.is_empty())
    });
    texts
        .map(Value::to_string)
        .filter(|text| text.contains(&format!("{session} please")))
        .map(|text| text.matches(word).count())
        .filter(|count| *count > 0)
        .collect()
}

/// Which session's turn began with the message, and after how many seconds. It is one
/// turn of one session.
async fn woken(model: &Model, id: &str, said: Instant) -> anyhow::Result<(&'static str, f64)> {
    let all = || SESSIONS.map(|session| (session, turns(model, session, id)));
    let seconds = loop {
        if all().iter().any(|(_, turns)| !turns.is_empty()) {
            break said.elapsed().as_secs_f64();
        }
        ensure!(said.elapsed() < WAKE, "{id} woke nobody in {WAKE:?}");
        // tidy: programs of others tell nobody what they do, so they are looked at
        sleep(LOOK).await;
    };
    // tidy: nothing more may come, and only time shows that
    sleep(QUIET).await;
    let all = all();
    let woken: Vec<_> = all.iter().filter(|(_, turns)| !turns.is_empty()).collect();
    match woken.as_slice() {
        [(session, turns)] if turns.as_slice() == [1] => Ok((session, seconds)),
        _ => bail!("{id} is in more than one turn: {all:?}"),
    }
}

/// The id under which the inbox has a text.
async fn recorded(hub: &Hub, text: &str) -> anyhow::Result<String> {
    let begun = now();
    loop {
        let (_, said, _) = hub.run(&["inbox", "list", "--json"]).await?;
        let list: Value = serde_json::from_str(&said).unwrap_or_default();
        let mut messages = list["messages"].as_array().into_iter().flatten();
        let found = messages.find(|one| {
            let words = one["content_text_sanitized"].as_str();
            words.is_some_and(|words| words.contains(text))
        });
        if let Some(id) = found.and_then(|one| one["id"].as_str()) {
            return Ok(id.to_owned());
        }
        ensure!(
            begun.elapsed() < WAKE,
            "the message does not come in: {said}"
        );
        // tidy: programs of others tell nobody what they do, so they are looked at
        sleep(LOOK).await;
    }
}

/// Acts as the human of the tenant.
async fn control(tenant: &Tenant, words: &[&str]) -> anyhow::Result<()> {
    let mut control = command(program("legation")?, &environment(tenant.home(), None));
    control.args(["dev-tenant", "ctl", "--dir"]);
    control.arg(tenant.home().join("tenant")).args(words);
    let output = control.output().await?;
    let complained = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "the tenant refused: {complained}");
    Ok(())
}

/// A hub whose one account reads the chats of the agent's user.
fn options(tenant: &Tenant, tools: &Tools) -> anyhow::Result<HubOptions> {
    let env = tenant.settings()?;
    let of = |name: &str| env.get(name).cloned().unwrap_or_default();
    let settings = format!(
        "[secrets]\nkeep_in = \"file\"\n\
         [accounts.work]\ninbox = \"chats\"\nentity = \"personal\"\ntenant_id = {:?}\n\
         authority = {:?}\ngraph = {:?}\nca_file = {:?}\nblueprint_id = {:?}\nagent_id = {:?}\n\
         agent_user = {:?}\nhuman = {:?}\n",
        of("TENANT_ID"),
        of("AUTHORITY_HOST"),
        of("GRAPH_BASE"),
        of("CA_BUNDLE"),
        of("BLUEPRINT_ID"),
        of("AGENT_ID"),
        of("AGENT_USER_UPN"),
        of("HUMAN_ID"),
    );
    let secret = (
        "LEGATION_WORK_BLUEPRINT_SECRET".to_owned(),
        of("BLUEPRINT_SECRET"),
    );
    Ok(HubOptions {
        settings,
        path_first: Some(tools.node_bin()),
        environment: HashMap::from([secret]),
        ..HubOptions::default()
    })
}

fn end_agents(hub: &Hub) {
    for (pid, line) in marked(&hub.mark) {
        let pid = i32::try_from(pid)
            .ok()
            .and_then(rustix::process::Pid::from_raw);
        if let Some(pid) = pid
            && !line.contains("legation")
        {
            let _gone = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
    }
}
