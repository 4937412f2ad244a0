//! Random input against the HTTP and socket faces.
//!
//! Valid exchanges are bent: bytes flipped, cut, doubled, strewn in, lengths and nesting made absurd.
//! Whatever comes, the hub must go on answering others, must not panic, and its ledger stays intact.

#[cfg(test)]
mod tests;

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::json;

use super::random::Random;
use crate::bench::Effort;
use crate::bench::hub::Home;
use crate::bench::programs::{Load, Programs, Running};
use crate::sys;

/// Inputs between two looks at the hub's health.
const BATCH: usize = 200;
/// How long an answer is waited for; most inputs deserve none.
const ANSWER: Duration = Duration::from_millis(20);

pub(super) fn run(programs: &Programs, seed: u64, deadline: Instant) -> Result<()> {
    let mut random = Random::new(seed);
    let echo = programs.echo.display().to_string();
    let servers = json!({ "echo": { "type": "stdio", "command": echo } });
    let home = Home::new(programs, &servers)?;
    let mut hub = home.serve()?;
    home.connected(1)?;
    let token = std::fs::read_to_string(home.token())?;
    let exchanges = exchanges(&hub.authority, token.trim());
    let (mut batches, mut calls) = (0_usize, 0);
    while sys::now() < deadline {
        batches += 1;
        for _ in 0..BATCH {
            let (socket, text) = random.pick(&exchanges);
            let input = bend(&mut random, text.as_bytes());
            // The hub may close, refuse or answer; only what it is afterwards counts.
            drop(if *socket {
                to_socket(&home, &input)
            } else {
                to_http(&hub, &input)
            });
        }
        calls += healthy(programs, &home, &mut hub)
            .with_context(|| format!("batch {batches} of {BATCH}"))?;
        if batches.is_multiple_of(20) {
            sys::say(&format!("fuzz: {} inputs", batches * BATCH));
        }
    }
    let ledger = home.stop_and_verify(hub)?;
    ensure!(ledger.intents >= calls, "the ledger has lost calls");
    sys::say(&format!("fuzz: {} inputs, ledger intact", batches * BATCH));
    Ok(())
}

/// Valid exchanges to start from, and whether they go to the socket.
fn exchanges(authority: &str, token: &str) -> Vec<(bool, String)> {
    let initialize = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"f","version":"1"}}}"#;
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    let discover =
        format!(r#"{{"jsonrpc":"2.0","id":"d","method":"server/discover","params":{{{meta}}}}}"#);
    let call = format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"echo-echo","arguments":{{"text":"é"}},{meta}}}}}"#
    );
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#;
    let post = |headers: &str, body: &str| {
        format!(
            "POST /mcp HTTP/1.1\r\nhost: {authority}\r\nauthorization: Bearer {token}\r\n\
             content-type: application/json\r\naccept: application/json, text/event-stream\r\n\
             {headers}content-length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    let modern = |method: &str, name: &str| {
        format!("mcp-protocol-version: 2026-07-28\r\nmcp-method: {method}\r\n{name}")
    };
    let hello = |mode: &str| {
        format!(r#"{{"legation":1,"hello":{{"mode":"{mode}","seat":"fuzz","version":"1"}}}}"#)
    };
    let get = |path: &str| {
        format!("GET {path} HTTP/1.1\r\nhost: {authority}\r\nauthorization: Bearer {token}\r\n\r\n")
    };
    vec![
        (false, post("", initialize)),
        (false, post(&modern("server/discover", ""), &discover)),
        (
            false,
            post(&modern("tools/call", "mcp-name: echo-echo\r\n"), &call),
        ),
        (false, post("mcp-session-id: 0\r\n", cancel)),
        (false, get("/mcp")),
        (false, get("/sse")),
        (false, get("/metrics")),
        (true, format!("{}\n{initialize}\n{cancel}\n", hello("mcp"))),
        (true, format!("{}\n{discover}\n{call}\n", hello("mcp"))),
        (
            true,
            format!(
                "{}\n{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"status\"}}\n",
                hello("admin")
            ),
        ),
    ]
}

/// A valid input made invalid, or not quite.
fn bend(random: &mut Random, text: &[u8]) -> Vec<u8> {
    const LENGTHS: &[&str] = &[
        "0",
        "-1",
        "4",
        "4194305",
        "18446744073709551616",
        "0x10",
        "1e3",
        " 5",
        "5, 5",
    ];
    let mut input = text.to_vec();
    for _ in 0..=random.below(4) {
        let at = random.below(input.len());
        match random.below(9) {
            0 => input[at] ^= 1 << random.below(8),
            1 => input.truncate(at.max(1)),
            2 => {
                let end = (at + 1 + random.below(40)).min(input.len());
                input.drain(at..end);
            }
            3 => {
                let end = (at + 1 + random.below(40)).min(input.len());
                let again = input[at..end].to_vec();
                input.splice(at..at, again);
            }
            4 => {
                let count = 1 + random.below(16);
                let strewn = random.bytes(count);
                input.splice(at..at, strewn);
            }
            5 => {
                let depth = 1 << random.below(17);
                let nest = random.pick(&["[", "{\"a\":", "[{\"b\":["]).repeat(depth);
                input.splice(at..at, nest.into_bytes());
            }
            6 => {
                let lossy = String::from_utf8_lossy(&input).into_owned();
                let length = format!("content-length: {}\r\n", random.pick(LENGTHS));
                input = lossy
                    .replacen("content-length: ", &format!("{length}x: "), 1)
                    .into_bytes();
            }
            7 => {
                let odd = random.pick(&[
                    "\\ud800",
                    "\\u0000",
                    "9223372036854775808",
                    "null",
                    "-0",
                    "1.5",
                ]);
                input.splice(at..at, odd.bytes());
            }
            _ => {
                let doubled = input.clone();
                input.extend(doubled);
            }
        }
        if input.is_empty() {
            input.push(b'\n');
        }
    }
    input
}

fn to_http(hub: &Running, input: &[u8]) -> Result<usize> {
    let mut stream = TcpStream::connect(&hub.authority)?;
    stream.set_read_timeout(Some(ANSWER))?;
    stream.set_write_timeout(Some(Duration::from_secs(1)))?;
    stream.write_all(input)?;
    Ok(stream.read(&mut [0; 4096])?)
}

fn to_socket(home: &Home, input: &[u8]) -> Result<usize> {
    let mut stream = UnixStream::connect(home.socket())?;
    stream.set_read_timeout(Some(ANSWER))?;
    stream.set_write_timeout(Some(Duration::from_secs(1)))?;
    stream.write_all(input)?;
    let first = stream.read(&mut [0; 4096])?;
    Ok(first + stream.read(&mut [0; 4096])?)
}

/// The hub is the same process, has not panicked, and answers calls in both eras.
fn healthy(programs: &Programs, home: &Home, hub: &mut Running) -> Result<u64> {
    ensure!(
        hub.child.try_wait()?.is_none(),
        "the hub ended: {}",
        hub.said()
    );
    let said = hub.said();
    ensure!(!said.contains("panicked"), "the hub panicked: {said}");
    let effort = Effort {
        rounds: 1,
        seconds: 0.05,
        warm_up: 0.0,
        starts: 1,
    };
    let token = home.token();
    let mut calls = 0;
    for era in ["legacy", "modern"] {
        let load = Load {
            url: Some(hub.url("/mcp")),
            era,
            tool: "echo-echo".to_owned(),
            connections: 1,
            token: Some(&token),
            more: Vec::new(),
        };
        calls += programs.load(&load, effort)?.all_calls;
    }
    Ok(calls)
}
