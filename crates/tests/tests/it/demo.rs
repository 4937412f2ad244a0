//! `legation demo`: shows what it says it shows, and Ctrl-C leaves nothing.

use std::collections::HashSet;
use std::process::Stdio;
use std::time::Duration;

use anyhow::Context;
use legation_tests::harness::process::{command, environment, program, until};
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::TcpStream;

/// A process and everything below it.
fn family(root: u32) -> HashSet<u32> {
    let parents: Vec<(u32, u32)> = std::fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(|pid: u32| {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
            // The name in parentheses may hold anything; the state and the parent follow it.
            let parent = stat
                .rsplit_once(')')?
                .1
                .split_whitespace()
                .nth(1)?
                .parse()
                .ok()?;
            Some((pid, parent))
        })
        .collect();
    let mut family = HashSet::from([root]);
    loop {
        let below: Vec<_> = parents
            .iter()
            .filter(|(pid, parent)| family.contains(parent) && !family.contains(pid))
            .collect();
        if below.is_empty() {
            return family;
        }
        family.extend(below.into_iter().map(|(pid, _)| pid));
    }
}

#[tokio::test]
async fn ctrl_c_leaves_no_process_and_no_port() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let mut demo = command(program("legation")?, &environment(folder.path(), None))
        .args(["demo"])
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let pid = demo.id().context("the demo ended at once")?;
    let mut said = Vec::new();
    let mut lines = BufReader::new(demo.stdout.take().context("no stdout")?).lines();
    let mut errors = BufReader::new(demo.stderr.take().context("no stderr")?).lines();
    let address = tokio::time::timeout(Duration::from_secs(120), async {
        loop {
            let line = tokio::select! {
                Ok(Some(line)) = lines.next_line() => line,
                Ok(Some(line)) = errors.next_line() => line,
                else => anyhow::bail!("the demo ended: {said:#?}"),
            };
            said.push(line.clone());
            // It is done when it says how to stop it.
            if line.contains("Ctrl-C") {
                let all = said.join("\n");
                let address = all.split("http://127.0.0.1:").nth(1).unwrap_or_default();
                let port: String = address.chars().take_while(char::is_ascii_digit).collect();
                return Ok(format!("127.0.0.1:{port}"));
            }
        }
    })
    .await??;
    let story = said.join("\n").to_lowercase();
    for word in ["2025-11-25", "2026-07-28", "refused", "ledger"] {
        assert!(
            story.contains(word),
            "the demo does not speak of {word}: {said:#?}"
        );
    }
    TcpStream::connect(&address)
        .await
        .with_context(|| format!("nobody listens on {address}"))?;
    let before = family(pid);
    kill_process(
        Pid::from_raw(i32::try_from(pid)?).context("no process id")?,
        Signal::INT,
    )?;
    let status = tokio::time::timeout(Duration::from_secs(20), demo.wait()).await??;
    assert_eq!(status.code(), Some(0), "{said:#?}");
    until("everything to end", Duration::from_secs(10), async || {
        before
            .iter()
            .all(|pid| !std::path::Path::new(&format!("/proc/{pid}")).exists())
    })
    .await?;
    assert!(
        TcpStream::connect(&address).await.is_err(),
        "somebody still listens on {address}"
    );
    Ok(())
}
