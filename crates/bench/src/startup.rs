//! How long it takes until something just started answers.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use serde::Serialize;

use crate::client::{Client, Dialect, Target, shorten};
use crate::http::Url;
use crate::listing::median;
use crate::sys;

/// A child that has been asked to end and does not is killed after so long.
const PATIENCE: Duration = Duration::from_secs(5);

/// What the starts came to.
#[derive(Debug, Clone, Serialize)]
pub struct Starts {
    /// The median time from spawn to the first list of tools, in milliseconds.
    pub median_ms: f64,
    /// Each time in milliseconds.
    pub all_ms: Vec<f64>,
    /// The length of the last list in bytes, so that an empty one is seen.
    pub bytes: usize,
}

/// Starts a stdio server again and again: spawn, handshake, first `tools/list` answer.
///
/// # Errors
/// The child does not start, or answers with an error.
pub fn bridge(command: &[String], times: usize) -> Result<Starts> {
    let (mut all_ms, mut bytes) = (Vec::new(), 0);
    for _ in 0..times.max(1) {
        let begun = sys::now();
        let mut child = spawn(command, Stdio::piped(), Stdio::inherit())?;
        let mut input = child.stdin.take().context("the child has no input")?;
        let output = child.stdout.take().context("the child has no output")?;
        let mut lines = BufReader::new(output).lines();
        let mut answer = |id: &str| loop {
            let line = lines.next().context("the child ended")??;
            if line.contains(id) && !line.contains(r#""method""#) {
                ensure!(
                    line.contains(r#""result""#),
                    "an error: {}",
                    shorten(line.as_bytes())
                );
                return Ok(line);
            }
        };
        input.write_all(concat!(r#"{"jsonrpc":"2.0","id":"one","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench-load","version":"1"}}}"#, "\n").as_bytes())?;
        answer(r#""one""#)?;
        input.write_all(
            concat!(
                r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
                "\n",
                r#"{"jsonrpc":"2.0","id":"two","method":"tools/list","params":{}}"#,
                "\n"
            )
            .as_bytes(),
        )?;
        bytes = answer(r#""two""#)?.len();
        all_ms.push(begun.elapsed().as_secs_f64() * 1000.0);
        drop(input);
        end(&mut child)?;
    }
    Ok(Starts {
        median_ms: median(&all_ms),
        all_ms,
        bytes,
    })
}

/// Starts an HTTP server again and again: spawn, the line that says where it listens, first
/// `tools/list` answer.
///
/// # Errors
/// The child does not start, or answers with an error.
pub fn server(command: &[String], dialect: &Dialect, path: &str, times: usize) -> Result<Starts> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let (mut all_ms, mut bytes) = (Vec::new(), 0);
    for _ in 0..times.max(1) {
        let begun = sys::now();
        let mut child = spawn(command, Stdio::null(), Stdio::piped())?;
        let mut talk = BufReader::new(child.stderr.take().context("the child has no stderr")?);
        let authority = listening(&mut talk)?;
        // Whoever is not read blocks once the pipe is full.
        let rest = std::thread::spawn(move || std::io::copy(&mut talk, &mut std::io::sink()));
        let target = Target::Http(Url {
            authority,
            path: path.to_owned(),
        });
        bytes = runtime.block_on(async {
            let mut client = Client::open(&target, dialect).await?;
            let body = dialect.body(1, "tools/list", "");
            anyhow::Ok(client.request("tools/list", None, &body).await?.len())
        })?;
        all_ms.push(begun.elapsed().as_secs_f64() * 1000.0);
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM)?;
        end(&mut child)?;
        ensure!(
            rest.join().is_ok(),
            "the reader of the child's talk was lost"
        );
    }
    Ok(Starts {
        median_ms: median(&all_ms),
        all_ms,
        bytes,
    })
}

/// Reads a server's talk until it says where it listens.
fn listening(talk: &mut impl std::io::BufRead) -> Result<String> {
    let mut said = String::new();
    for line in talk.lines() {
        let line = line?;
        if let Some((_, authority)) = line.split_once("listening on http://") {
            return Ok(authority.trim_end_matches('/').to_owned());
        }
        said.push_str(&line);
        said.push('\n');
    }
    bail!("the server ended before it listened: {said}")
}

fn spawn(command: &[String], input: Stdio, talk: Stdio) -> Result<Child> {
    let (program, args) = command.split_first().context("no command is given")?;
    let child = sys::command(program)
        .args(args)
        .stdin(input)
        .stdout(Stdio::piped())
        .stderr(talk)
        .spawn();
    child.with_context(|| format!("cannot start {program}"))
}

/// Waits for a child that has been told to end.
fn end(child: &mut Child) -> Result<()> {
    let deadline = sys::now() + PATIENCE;
    while child.try_wait()?.is_none() {
        if sys::now() > deadline {
            child.kill()?;
            child.wait()?;
            bail!("the child did not end in {PATIENCE:?}");
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}
