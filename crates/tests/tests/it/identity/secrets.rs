//! No token and no secret lies in clear where another program could find it: in
//! logs, the data directory, a core file, an environment or a command line.

use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::Context;
use legation_tests::fixture::Era;
use legation_tests::harness::hub::Hub;
use legation_tests::harness::peer::{Peer, PeerEra, everything};
use legation_tests::harness::process::{command, marked, program};
use legation_tests::harness::servers::stdio_entry;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::stand::{Kind, Stand, begin, content, finish, shown};

/// How every JSON Web Token begins, and every private key.
const SHAPES: [&str; 3] = ["eyJ0eXAi", "eyJhbGci", "PRIVATE KEY"];

const ACCOUNTS: [&str; 3] = ["work", "agent", "sealed"];

/// Everything that must not be found: what the tenant gave out, and what it was given.
fn needles(stand: &Stand) -> anyhow::Result<Vec<String>> {
    let state = std::fs::read(stand.control().join("tenant/state.json"))?;
    let state: Value = serde_json::from_slice(&state)?;
    let of = |list: &str, name: &str| {
        let all = state[list].as_array().cloned().unwrap_or_default();
        let texts = all
            .into_iter()
            .filter_map(|one| Some(one[name].as_str()?.to_owned()));
        texts.collect::<Vec<_>>()
    };
    let mut needles = of("refresh_tokens", "token");
    anyhow::ensure!(
        needles.len() > 2,
        "the tenant gave out sign-ins: {}",
        needles.len()
    );
    let codes = of("device_codes", "device_code");
    anyhow::ensure!(!codes.is_empty(), "and device codes");
    needles.extend(codes);
    for name in ["API_CLIENT_SECRET", "BLUEPRINT_SECRET"] {
        needles.push(stand.env[name].clone());
    }
    let key = std::fs::read_to_string(&stand.env["BLUEPRINT_KEY_PEM"])?;
    needles.push(key.lines().nth(1).context("no key")?.to_owned());
    needles.extend(SHAPES.map(str::to_owned));
    Ok(needles)
}

fn clean(place: &str, bytes: &[u8], needles: &[String], found: &mut Vec<String>) {
    for needle in needles {
        let at = bytes
            .windows(needle.len())
            .position(|window| window == needle.as_bytes());
        if let Some(at) = at {
            // Where it is, not what it is.
            found.push(format!("{place} holds {needle:.6}… at {at}"));
        }
    }
}

/// Every file below a folder.
fn files(folder: &Path, into: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        match path.is_dir() {
            true => files(&path, into)?,
            false if path.is_file() => into.push(path),
            false => {}
        }
    }
    Ok(())
}

fn search(folder: &Path, needles: &[String], found: &mut Vec<String>) -> anyhow::Result<()> {
    let mut all = Vec::new();
    files(folder, &mut all)?;
    let names: Vec<String> = all.iter().map(|file| file.display().to_string()).collect();
    for wanted in ["hub.log", "state.db", "/secrets", "secrets.key"] {
        let is_there = names.iter().any(|name| name.ends_with(wanted));
        anyhow::ensure!(is_there, "{wanted} is not among {names:?}");
    }
    for file in all {
        let bytes = std::fs::read(&file)?;
        clean(&file.display().to_string(), &bytes, needles, found);
    }
    Ok(())
}

/// A hub and three accounts, that may leave core files and says everything: one on behalf of a
/// person, two that prove themselves by a secret and by a key.
async fn hub(stand: &Stand) -> anyhow::Result<Hub> {
    let mut options = stand.options(&[("work", Kind::Application), ("agent", Kind::Agent)]);
    options.settings += &stand.account("sealed", "personal", Kind::Agent);
    options.settings += &format!("certificate = {}\n", json!(stand.env["BLUEPRINT_CERT_PEM"]));
    options.servers = json!({"fixture": stdio_entry(Era::Modern, "shared")?});
    options.settings.insert_str(0, "log_level = \"trace\"\n");
    // Core files are written into the folder that a program works in.
    let script = "ulimit -c unlimited; cd \"$HOME\"; exec \"$@\"";
    options.under = ["/bin/sh", "-c", script, "sh"].map(str::to_owned).to_vec();
    Hub::start(options).await
}

/// Keeps the private key that one account proves itself by.
async fn keep_key(stand: &Stand, hub: &Hub) -> anyhow::Result<()> {
    let key = std::fs::File::open(&stand.env["BLUEPRINT_KEY_PEM"])?;
    let output = hub
        .command(&[
            "identity",
            "keep",
            "--for",
            "blueprint",
            "--key",
            "--account",
            "sealed",
        ])?
        .stdin(key)
        .output()
        .await?;
    anyhow::ensure!(output.status.success(), "{output:?}");
    Ok(())
}

/// Signs in, renews, is challenged, refused and revoked; what the client was told.
async fn everything_that_handles_secrets(stand: &Stand, peer: &Peer) -> anyhow::Result<String> {
    let mut told = String::new();
    let orders: [&[&str]; 7] = [
        &[],
        &["revoke"],
        &["fault", r#"{"fault":"challenge","left":2}"#],
        &["fault", r#"{"fault":"status","status":503,"left":2}"#],
        &["fault", r#"{"fault":"aadsts","code":7000222}"#],
        &["fault", r#"{"fault":"consent"}"#],
        &["fault", r#"{"fault":"cut","left":1}"#],
    ];
    for order in orders {
        if !order.is_empty() {
            stand.order(order).await?;
        }
        for tool in ["bootstrap", "refresh", "whoami"] {
            for account in ACCOUNTS {
                let name = format!("identity-{tool}");
                let answer = peer.call(&name, json!({"account": account})).await?;
                if order.is_empty() {
                    let content = content(&answer);
                    assert!(content["error"].is_null(), "{tool} {account}: {content}");
                }
                told += &answer.text;
            }
        }
    }
    stand.order(&["clear"]).await?;
    let message = json!({"account": "agent", "text": "Nothing **secret** here."});
    let sent = peer.call("teams-send", message).await?;
    assert!(content(&sent)["message_ids"].is_array(), "{}", sent.text);
    told += &sent.text;
    stand.order(&["revoke", "--sessions"]).await?;
    for account in ACCOUNTS {
        let answer = peer
            .call("identity-refresh", json!({"account": account}))
            .await?;
        told += &answer.text;
    }
    Ok(told)
}

#[tokio::test]
async fn no_secret_lies_in_clear() -> anyhow::Result<()> {
    let stand = Stand::start().await?;
    let hub = hub(&stand).await?;
    let peer = hub
        .http(PeerEra::Modern, everything(), stand.enters())
        .await?;
    hub.wait_for_tool(&peer, "fixture-echo").await?;
    keep_key(&stand, &hub).await?;
    let told = everything_that_handles_secrets(&stand, &peer).await?;
    let needles = needles(&stand)?;
    let mut found = Vec::new();
    clean("an answer", told.as_bytes(), &needles, &mut found);

    // The hub was given secrets in its environment, and every process of it is looked at.
    let given = hub.environment();
    assert_eq!(
        given["LEGATION_WORK_CLIENT_SECRET"],
        stand.env["API_CLIENT_SECRET"]
    );
    let processes = marked(&hub.mark);
    let pid = hub.pid().context("the hub is gone")?;
    assert!(
        processes.iter().any(|(one, _)| *one == pid),
        "{processes:?}"
    );
    assert!(processes.len() > 2, "a guard and a server: {processes:?}");
    for (one, line) in &processes {
        let environment = std::fs::read(format!("/proc/{one}/environ"))?;
        clean(
            &format!("the environment of {line}"),
            &environment,
            &needles,
            &mut found,
        );
        clean("a command line", line.as_bytes(), &needles, &mut found);
    }

    // The records name the agent, and nothing else of its identity.
    let (_, records, _) = hub.run(&["audit", "export", "--format", "jsonl"]).await?;
    assert!(records.contains(&stand.env["AGENT_ID"]), "{records}");
    clean("the ledger", records.as_bytes(), &needles, &mut found);
    clean(
        "what the hub said",
        hub.said().join("\n").as_bytes(),
        &needles,
        &mut found,
    );

    // It crashes.
    let hub_process = Pid::from_raw(i32::try_from(pid)?).context("no process id")?;
    let limits = std::fs::read_to_string(format!("/proc/{pid}/limits"))?;
    let core = limits
        .lines()
        .find(|line| line.starts_with("Max core file size"));
    let core: Vec<&str> = core.context("no limits")?.split_whitespace().collect();
    assert_eq!(core[4..6], ["0", "unlimited"], "{limits}");
    let folder = hub.folder().to_owned();
    kill_process(hub_process, Signal::ABORT)?;
    legation_tests::harness::process::none_left(&hub.mark, std::time::Duration::from_secs(10))
        .await?;
    let log = std::fs::read_to_string(hub.home().join("logs/hub.log"))?;
    assert!(log.contains("the hub runs"), "{log}");
    search(&folder, &needles, &mut found)?;
    assert_eq!(found, Vec::<String>::new());
    let mut left = Vec::new();
    files(&folder, &mut left)?;
    let cores: Vec<&PathBuf> = left
        .iter()
        .filter(|file| {
            file.file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with("core"))
        })
        .collect();
    assert!(cores.is_empty(), "{cores:?}");
    Ok(())
}

#[tokio::test]
async fn a_command_that_crashes_leaves_no_core_file() -> anyhow::Result<()> {
    let stand = Stand::start().await?;
    let hub = stand.hub().await?;
    // What shows that core files are written here at all.
    let script = "ulimit -c unlimited; cd \"$HOME\"; exec \"$@\"";
    let run = |program: PathBuf, arguments: &[&str]| {
        let mut command = command("/bin/sh", &hub.environment());
        command
            .args(["-c", script, "sh"])
            .arg(program)
            .args(arguments);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
    };
    let abort = |pid: Option<u32>| -> anyhow::Result<()> {
        let pid = i32::try_from(pid.context("it is gone")?)?;
        Ok(kill_process(
            Pid::from_raw(pid).context("no process")?,
            Signal::ABORT,
        )?)
    };
    let mut child = run(program("legation")?, &["--json", "identity", "bootstrap"])?;
    let (code, mut said) = shown(&mut child).await?;
    assert!(code.is_some(), "{said}");
    abort(child.id())?;
    let status = child.wait().await?;
    assert_eq!((status.signal(), status.core_dumped()), (Some(6), false));
    said += &finish(begin(&hub, &["whoami"])?, &mut String::new())
        .await?
        .complaint;
    let needles = [stand.env["API_CLIENT_SECRET"].clone()];
    let mut found = Vec::new();
    clean("what it said", said.as_bytes(), &needles, &mut found);
    assert_eq!(found, Vec::<String>::new());
    Ok(())
}
