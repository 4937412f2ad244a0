//! What those who listen to the hub's events cost in memory.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::json;

use super::hub::{Home, stop};
use super::programs::Programs;
use super::table::{Row, Table, Target};
use crate::sys;

/// Listeners that are there before the measured ones, so that what the first make the hub set up is
/// not counted.
const FIRST: usize = 20;
const LISTENERS: usize = 1000;
/// How long nothing has happened before memory is read.
const SETTLED: Duration = Duration::from_secs(2);
const PATIENCE: Duration = Duration::from_secs(20);

/// Resident memory of a hub with many listeners, less that with a few; then each hears one event.
pub(super) fn measure(programs: &Programs, table: &mut Table) -> Result<()> {
    sys::say("listeners");
    let home = Home::new(programs, &json!({}))?;
    let mut hub = home.serve()?;
    let token = std::fs::read_to_string(home.token())?;
    let address = hub.url("");
    let address = address.trim_start_matches("http://").to_owned();
    let first = listen(&address, token.trim(), FIRST)?;
    std::thread::sleep(SETTLED);
    let before = hub.resident_kib()?;
    let mut listeners = listen(&address, token.trim(), LISTENERS)?;
    std::thread::sleep(SETTLED);
    let after = hub.resident_kib()?;
    let grown = after.saturating_sub(before) as f64 / 1024.0;
    let name = format!("{LISTENERS} listeners to events");
    table.push(Row::new(name, grown, "MiB", Target::AtMost(50.0)));
    let start = sys::now();
    post(&address, token.trim())?;
    for listener in &mut listeners {
        until(listener, "inbox.received")?;
    }
    let taken = (sys::now() - start).as_secs_f64() * 1000.0;
    let name = format!("one event until all {LISTENERS} have read it");
    table.push(Row::new(name, taken, "ms", Target::None));
    drop((first, listeners));
    stop(&mut hub)
}

fn listen(address: &str, token: &str, count: usize) -> Result<Vec<TcpStream>> {
    (0..count)
        .map(|_| {
            let mut stream = TcpStream::connect(address).context("a listener is not let in")?;
            stream.set_read_timeout(Some(PATIENCE))?;
            write!(
                stream,
                "GET /api/v1/events HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\r\n"
            )?;
            until(&mut stream, ": legation")?;
            Ok(stream)
        })
        .collect()
}

/// Has something happen.
fn post(address: &str, token: &str) -> Result<()> {
    let message = json!({ "channel": "local", "chat_id": "bench", "version": "1",
        "from": "bench", "text": "something happened" })
    .to_string();
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    write!(
        stream,
        "POST /api/v1/inbox HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{message}",
        message.len()
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    ensure!(
        answer.starts_with("HTTP/1.1 200"),
        "the message was not kept: {answer}"
    );
    Ok(())
}

/// Reads until something was said.
fn until(stream: &mut TcpStream, wanted: &str) -> Result<()> {
    let mut said = Vec::new();
    let mut piece = [0; 4096];
    while !String::from_utf8_lossy(&said).contains(wanted) {
        let length = stream
            .read(&mut piece)
            .context("a listener hears nothing")?;
        ensure!(
            length > 0,
            "a listener was sent away: {}",
            String::from_utf8_lossy(&said)
        );
        said.extend_from_slice(&piece[..length]);
    }
    Ok(())
}
