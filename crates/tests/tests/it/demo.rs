//! `legation demo`: shows what it says it shows, and Ctrl-C leaves nothing.

use std::collections::HashSet;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use anyhow::Context;
use legation_tests::harness::process::{command, environment, program, until};
use legation_tests::harness::worker::Worker;
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::Child;

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

/// A running demo and what it has said.
struct Demo {
    child: Child,
    said: Vec<String>,
    /// Where temporary folders are made.
    temporary: PathBuf,
    _folder: tempfile::TempDir,
}

impl Demo {
    /// Starts one and reads until it says `word`.
    async fn until(word: &str) -> anyhow::Result<Self> {
        Self::until_with(word, &[]).await
    }

    /// Starts one with arguments and reads until it says `word`.
    async fn until_with(word: &str, arguments: &[&str]) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let temporary = folder.path().join("tmp");
        std::fs::create_dir(&temporary)?;
        let mut environment = environment(folder.path(), None);
        environment.insert("TMPDIR".to_owned(), temporary.display().to_string());
        let mut child = command(program("legation")?, &environment)
            .arg("demo")
            .args(arguments)
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        let pipe = child.stderr.take().context("no stderr")?;
        let mut lines = BufReader::new(pipe).lines();
        let mut said = Vec::new();
        let reading = async {
            while let Some(line) = lines.next_line().await? {
                let found = line.contains(word);
                said.push(line);
                if found {
                    return Ok(());
                }
            }
            anyhow::bail!("the demo ended: {said:#?}")
        };
        tokio::time::timeout(Duration::from_secs(300), reading).await??;
        // What it says from here on must not stop it.
        tokio::runtime::Handle::current()
            .spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        Ok(Self {
            child,
            said,
            temporary,
            _folder: folder,
        })
    }

    /// Every address on loopback that it named.
    fn addresses(&self) -> Vec<String> {
        let all = self.said.join("\n");
        let named = all.split("://127.0.0.1:").skip(1);
        let ports = named.map(|rest| rest.chars().take_while(char::is_ascii_digit));
        ports
            .map(|port| format!("127.0.0.1:{}", port.collect::<String>()))
            .collect()
    }

    /// Sends Ctrl-C; its exit code once nothing of it is left.
    async fn interrupt(mut self) -> anyhow::Result<Option<i32>> {
        let pid = self.child.id().context("the demo ended at once")?;
        let addresses = self.addresses();
        for address in &addresses {
            TcpStream::connect(address)
                .await
                .with_context(|| format!("nobody listens on {address}"))?;
        }
        let before = family(pid);
        kill_process(
            Pid::from_raw(i32::try_from(pid)?).context("no process id")?,
            Signal::INT,
        )?;
        let status = tokio::time::timeout(Duration::from_secs(120), self.child.wait()).await??;
        until("everything to end", Duration::from_secs(10), async || {
            before
                .iter()
                .all(|pid| !std::path::Path::new(&format!("/proc/{pid}")).exists())
        })
        .await?;
        for address in &addresses {
            let answer = TcpStream::connect(address).await;
            assert!(answer.is_err(), "somebody still listens on {address}");
        }
        let left: Vec<_> = std::fs::read_dir(&self.temporary)?
            .filter_map(|entry| Some(entry.ok()?.file_name()))
            .filter(|name| name.to_string_lossy().starts_with("legation"))
            .collect();
        assert!(left.is_empty(), "{left:?}");
        Ok(status.code())
    }
}

#[tokio::test]
async fn it_shows_what_it_says_and_ctrl_c_leaves_nothing() -> anyhow::Result<()> {
    // It is done when it says how to stop it.
    let demo = Demo::until("Ctrl-C").await?;
    let story = demo.said.join("\n");
    for word in [
        "2025-11-25",
        "2026-07-28",
        "✗ refused",
        "1 resource, 1 prompt ",
        "and approves",
        "→ signed in: agent ",
        "→ a chat with Blake Sample",
        "marked untrusted",
        "→ answered: Yes, now",
        "desk-calendar_list\n     20",
        "Sam Investor: Re: Participation in Orchard Row",
        "waits in the folder drafts",
        "   intact: ",
        "teams/ask      ok  agent_for_human of ",
    ] {
        assert!(story.contains(word), "no {word:?} in {story}");
    }
    // The hub and the tenant.
    assert!(demo.addresses().len() >= 2, "{story}");
    assert_eq!(demo.interrupt().await?, Some(0), "{story}");
    Ok(())
}

#[tokio::test]
async fn ctrl_c_while_a_person_is_asked_leaves_nothing_either() -> anyhow::Result<()> {
    let demo = Demo::until("and enter").await?;
    assert_eq!(demo.interrupt().await?, Some(1));
    Ok(())
}

#[tokio::test]
async fn work_goes_to_a_model_server_that_is_there() -> anyhow::Result<()> {
    let call = r#"CALL write_file {"path":"handed-on.txt","content":"By a model of its own.\n"}"#;
    let worker = Worker::start_with(call).await?;
    let place = format!("http://127.0.0.1:{}", worker.port);
    let mut demo = Demo::until_with("Ctrl-C", &["--model-server", &place]).await?;
    let story = demo.said.join("\n");
    for word in [
        "the model: worker at ",
        "it calls write_file handed-on.txt: success",
        "completed: DONE[",
        r#"handed-on.txt holds "By a model of its own.""#,
    ] {
        assert!(story.contains(word), "no {word:?} in {story}");
    }
    assert!(!story.contains("stand-in"), "{story}");
    assert!(!worker.requests().is_empty());
    // It is not the demo's, and stays.
    demo.said.retain(|line| !line.contains(&place));
    assert_eq!(demo.interrupt().await?, Some(0), "{story}");
    Ok(())
}
