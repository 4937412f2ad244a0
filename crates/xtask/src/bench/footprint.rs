//! What the hub keeps in memory, how soon it is there, how fast it lists.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Map, Value, json};

use super::Effort;
use super::hub::{Home, stop};
use super::programs::{Programs, output_of};
use super::table::{Row, Table, Target};
use crate::sys;

/// Idle servers behind the hub whose memory is measured.
const IDLE_SERVERS: usize = 10;
/// Idle clients over HTTP.
const IDLE_HTTP: usize = 400;
/// Idle clients on the socket.
const IDLE_SOCKET: usize = 200;
/// Idle clients that are there before the measured ones.
const FIRST: usize = 40;
/// How long a client has done nothing before it counts as idle.
const SETTLED: std::time::Duration = std::time::Duration::from_secs(3);
/// Servers and tools of the long list.
const LONG_LIST: (usize, usize) = (50, 5000);

/// Resident memory with idle servers, and what each idle client adds.
///
/// Each kind of client meets a hub of its own: memory that earlier clients gave back to the
/// allocator would make later ones look free.
pub(super) fn memory(programs: &Programs, table: &mut Table) -> Result<()> {
    for (index, (what, era, count, http)) in [
        ("HTTP, session", "legacy", IDLE_HTTP, true),
        ("HTTP, modern", "modern", IDLE_HTTP, true),
        ("socket", "legacy", IDLE_SOCKET, false),
    ]
    .into_iter()
    .enumerate()
    {
        sys::say(&format!("memory: {what}"));
        let home = Home::new(programs, &many(programs, IDLE_SERVERS, 0))?;
        let mut hub = home.serve()?;
        home.connected(IDLE_SERVERS)?;
        if index == 0 {
            let kib = hub.resident_kib()?;
            let name = format!("resident, {IDLE_SERVERS} idle stdio servers");
            table.push(Row::new(name, mebibytes(kib), "MiB", Target::AtMost(25.0)));
        }
        let (url, token) = (hub.url("/mcp"), home.token().display().to_string());
        let socket = home.socket().display().to_string();
        let mut arguments = vec!["idle", "--era", era, "--tool", "s00-echo"];
        if http {
            arguments.extend(["--url", &url, "--token-file", &token]);
        } else {
            arguments.extend(["--socket", &socket]);
        }
        // What the first clients make the hub set up is not what each further one costs; they stay,
        // so that what they hold is not used again.
        let first = idle(programs, &arguments, FIRST)?;
        std::thread::sleep(SETTLED);
        let before = hub.resident_kib()?;
        let clients = idle(programs, &arguments, count)?;
        std::thread::sleep(SETTLED);
        let after = hub.resident_kib()?;
        release(clients)?;
        release(first)?;
        let each = after.saturating_sub(before) as f64 / count as f64;
        let name = format!("each idle client, {what} ({count})");
        table.push(Row::new(name, each, "KiB", Target::AtMost(8.0)));
        stop(&mut hub)?;
    }
    Ok(())
}

/// Spawn to first list: of a bridge while the hub runs, and of the hub itself.
pub(super) fn starts(programs: &Programs, effort: Effort, table: &mut Table) -> Result<()> {
    sys::say("starts");
    let home = Home::new(programs, &many(programs, IDLE_SERVERS, 0))?;
    let mut hub = home.serve()?;
    home.connected(IDLE_SERVERS)?;
    let legation = programs.legation.display().to_string();
    let times = effort.starts.to_string();
    let mut command = home.command(&programs.load);
    command.args([
        "bridge",
        "--times",
        &times,
        "--",
        &legation,
        "bridge",
        "--no-start",
    ]);
    let bridge = output_of(command)?;
    listed(&bridge)?;
    let name = "bridge, spawn to first tools/list answer".to_owned();
    table.push(Row::new(
        name,
        number(&bridge, "median_ms")?,
        "ms",
        Target::AtMost(15.0),
    ));
    stop(&mut hub)?;
    let token = home.token().display().to_string();
    let mut command = home.command(&programs.load);
    command.args([
        "start",
        "--times",
        &times,
        "--token-file",
        &token,
        "--",
        &legation,
    ]);
    command.args(["serve", "--listen", "127.0.0.1:0"]);
    let start = output_of(command)?;
    listed(&start)?;
    let name = "hub, spawn to first tools/list answer, remembered catalogue".to_owned();
    table.push(Row::new(
        name,
        number(&start, "median_ms")?,
        "ms",
        Target::AtMost(100.0),
    ));
    Ok(())
}

/// All pages of a long list.
pub(super) fn listing(programs: &Programs, effort: Effort, table: &mut Table) -> Result<()> {
    sys::say("listing");
    let (servers, tools) = LONG_LIST;
    // Each server has `echo`, `kib` and `change` besides.
    let home = Home::new(programs, &many(programs, servers, tools / servers - 3))?;
    let mut hub = home.serve()?;
    home.connected(servers)?;
    for era in ["legacy", "modern"] {
        let arguments = [
            "list",
            "--era",
            era,
            "--times",
            &effort.starts.to_string(),
            "--url",
            &hub.url("/mcp"),
            "--token-file",
            &home.token().display().to_string(),
        ];
        let listing = programs.ask(&arguments.map(str::to_owned))?;
        let found = number(&listing, "tools")?;
        ensure!(
            found >= tools as f64,
            "only {found} of {tools} tools are listed"
        );
        let pages = number(&listing, "pages")?;
        let name = format!("{tools} tools of {servers} servers listed, {era} ({pages} pages)");
        table.push(Row::new(
            name,
            number(&listing, "median_ms")?,
            "ms",
            Target::AtMost(15.0),
        ));
    }
    stop(&mut hub)
}

/// `count` echo servers as children, named `s00` and on, each with so many more tools.
fn many(programs: &Programs, count: usize, tools: usize) -> Value {
    let one = json!({
        "type": "stdio",
        "command": programs.echo.display().to_string(),
        "args": ["--transport", "stdio", "--tools", tools.to_string()],
    });
    let named = (0..count).map(|number| (format!("s{number:02}"), one.clone()));
    Value::Object(named.collect::<Map<_, _>>())
}

/// Starts clients that have called once and are idle now.
fn idle(programs: &Programs, arguments: &[&str], count: usize) -> Result<Child> {
    let mut child = sys::command(&programs.load)
        .args(arguments)
        .args(["--count", &count.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start the idle clients")?;
    let mut line = String::new();
    let output = child
        .stdout
        .take()
        .context("the idle clients have no output")?;
    BufReader::new(output).read_line(&mut line)?;
    ensure!(line.trim() == "ready", "the idle clients did not get ready");
    Ok(child)
}

/// Lets idle clients go.
fn release(mut clients: Child) -> Result<()> {
    drop(clients.stdin.take());
    ensure!(clients.wait()?.success(), "the idle clients failed");
    Ok(())
}

/// An empty list would be a fast one.
fn listed(starts: &Value) -> Result<()> {
    let bytes = number(starts, "bytes")?;
    ensure!(
        bytes > 1000.0,
        "the list has only {bytes} bytes: the catalogue is not remembered"
    );
    Ok(())
}

fn number(value: &Value, name: &str) -> Result<f64> {
    value[name]
        .as_f64()
        .with_context(|| format!("there is no number {name} in {value}"))
}

fn mebibytes(kib: u64) -> f64 {
    kib as f64 / 1024.0
}
