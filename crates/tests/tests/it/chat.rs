//! `legation chat`, as its user sees it: in a terminal, beside an agent, with a scripted model.

mod approval;
mod broken;

use std::path::PathBuf;
use std::time::Duration;

use legation_tests::harness::hub::{Hub, HubOptions, client_token};
use legation_tests::harness::lines::LineWire;
use legation_tests::harness::peer::{Peer, PeerEra, friendly};
use legation_tests::harness::process::{marked, program, until};
use legation_tests::harness::tmux::Terminal;
use legation_tests::harness::worker::Worker;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_secs(120);

/// A hub with a scripted model, an agent in a folder, and a terminal there.
struct Place {
    terminal: Terminal,
    hub: Hub,
    worker: Worker,
}

// === impl Place ===

impl Place {
    async fn new(columns: usize) -> anyhow::Result<Self> {
        Self::with(columns, HubOptions::default()).await
    }

    async fn with(columns: usize, options: HubOptions) -> anyhow::Result<Self> {
        let worker = Worker::start().await?;
        let hub = Hub::start(HubOptions {
            servers: json!({}),
            clients: vec!["claude-code".to_owned()],
            ..options
        })
        .await?;
        let url = format!("http://127.0.0.1:{}", worker.port);
        for arguments in [
            &["models", "set", "enable", "local_model", "--endpoint", &url] as &[&str],
            &["models", "set", "default", "local_model"],
        ] {
            let (code, said, complained) = hub.run(arguments).await?;
            assert_eq!(code, 0, "{said}{complained}");
        }
        let folder = hub.folder().join("chess");
        std::fs::create_dir_all(&folder)?;
        let terminal = Terminal::open(
            hub.environment(),
            hub.folder(),
            &folder,
            (columns, 30),
            "fg=white,bg=black",
        )
        .await?;
        Ok(Self {
            terminal,
            hub,
            worker,
        })
    }

    fn folder(&self) -> PathBuf {
        self.hub.folder().join("chess")
    }

    /// Starts the terminal's program, and waits until it may be written to.
    async fn chat(&self, arguments: &str) -> anyhow::Result<()> {
        let line = format!("{} chat {arguments}", program("legation")?.display());
        self.terminal.enter(&line).await?;
        self.until("? help").await
    }

    async fn until(&self, words: &str) -> anyhow::Result<()> {
        self.terminal
            .until_row(words, |row| row.contains(words))
            .await
    }

    /// Waits until everything that was shown is as wanted, and returns it: an answer's words come one
    /// after the other, and a screen may be read while it is drawn.
    async fn until_all(&self, what: &str, so: impl Fn(&str) -> bool) -> anyhow::Result<String> {
        let mut all = String::new();
        let seen = async || {
            all = self.terminal.all().await.unwrap_or_default();
            so(&all)
        };
        match until(what, PATIENCE, seen).await {
            Ok(()) => Ok(all),
            Err(error) => Err(error.context(all)),
        }
    }

    async fn until_told(&self, order: &[&str]) -> anyhow::Result<String> {
        self.until_all("the whole conversation", |all| is_in_order(all, order))
            .await
    }

    /// An agent that works in the same folder.
    async fn agent(&self) -> anyhow::Result<Peer> {
        let clients = self.hub.home().join("clients");
        std::fs::create_dir_all(&clients)?;
        std::fs::write(
            clients.join("claude-code.token"),
            client_token("claude-code"),
        )?;
        let mut command = self.hub.command(&["bridge", "--client", "claude-code"])?;
        command.current_dir(self.folder());
        let wire = |shared| LineWire::spawn(command, shared);
        Peer::lines(wire, PeerEra::Legacy, json!({}), friendly()).await
    }

    /// Processes of the terminal's program.
    fn programs(&self) -> Vec<u32> {
        let marked = marked(&self.hub.mark).into_iter();
        let is_chat = |line: &str| {
            line.contains("failing-chat") || line.contains("legation") && line.contains(" chat")
        };
        let chats = marked.filter(|(_, line)| is_chat(line));
        chats.map(|(pid, _)| pid).collect()
    }

    /// It is over, and the shell has its terminal back as it was.
    async fn until_sane(&self) -> anyhow::Result<()> {
        until("it is over", PATIENCE, async || self.programs().is_empty()).await?;
        self.until_usable().await
    }

    async fn until_usable(&self) -> anyhow::Result<()> {
        let asked = "stty -a | tr ' ;' '\\n\\n' | grep -xE -e '-?(icanon|echo|isig|opost)' | tr '\\n' ' '; echo back at $((6 * 7))";
        self.terminal.enter(asked).await?;
        self.until("back at 42").await?;
        let rows = self.terminal.rows().await?;
        let modes = rows.iter().find(|row| row.contains("back at 42"));
        let modes = modes.map(String::as_str).unwrap_or_default();
        for mode in ["isig", "icanon", "echo", "opost"] {
            let is_on = modes.split(' ').any(|word| word == mode);
            assert!(is_on, "{mode}: {modes}: {rows:#?}");
        }
        assert_eq!(
            self.terminal.fact("#{alternate_on} #{cursor_flag}").await?,
            "0 1"
        );
        Ok(())
    }
}

async fn delegated(peer: &Peer, message: &str) -> anyhow::Result<Value> {
    let answer = peer
        .call("delegate-chat", json!({"message": message}))
        .await?;
    let result = &answer.value["result"];
    anyhow::ensure!(result["isError"] != true, "{}", answer.text);
    Ok(result["structuredContent"].clone())
}

/// Whether the words stand in this order, wherever lines were broken.
fn is_in_order(text: &str, words: &[&str]) -> bool {
    let text: Vec<&str> = text.split_whitespace().collect();
    let text = text.join(" ");
    let mut rest = text.as_str();
    words.iter().all(|words| match rest.find(words) {
        Some(at) => {
            rest = &rest[at + words.len()..];
            true
        }
        None => false,
    })
}

async fn example(columns: usize) -> anyhow::Result<()> {
    let place = Place::new(columns).await?;
    let terminal = &place.terminal;
    place.chat("").await?;
    terminal
        .enter("Help me build a chess application SAY I will help you design a chess application")
        .await?;
    place.until("[legation] I will help").await?;
    let agent = place.agent().await?;
    let call = r#"Implement the Board class CALL write_file {"path":"board.py","content":"class Board: pass\n"}"#;
    delegated(&agent, call).await?;
    place.until("[claude-code] Implement the").await?;
    place.until("DONE[").await?;
    terminal
        .enter("What did Claude Code ask for? SAY Claude Code asked for a Board class")
        .await?;
    let order = [
        "[you] Help me build a chess application",
        "[legation] I will help you design a chess application",
        "[claude-code] Implement the Board class",
        "[legation]",
        "board.py",
        "DONE[",
        "[you] What did Claude Code ask for?",
        "[legation] Claude Code asked for a Board class",
    ];
    let all = place.until_told(&order).await?;
    assert!(
        all.lines().all(|row| row.chars().count() <= columns),
        "{all}"
    );
    terminal.press("C-c").await?;
    terminal.press("C-c").await?;
    place.until_sane().await
}

#[tokio::test]
async fn two_share_a_conversation_with_a_model_in_40_columns() -> anyhow::Result<()> {
    example(40).await
}

#[tokio::test]
async fn two_share_a_conversation_with_a_model_in_120_columns() -> anyhow::Result<()> {
    example(120).await
}

async fn preemption(columns: usize) -> anyhow::Result<()> {
    let place = Place::new(columns).await?;
    place.chat("").await?;
    let agent = place.agent().await?;
    delegated(&agent, "HOLD Working on the long task").await?;
    until("the answer begins", PATIENCE, async || {
        place.worker.held() == 1
    })
    .await?;
    place.until("* [claude-code]").await?;
    place.terminal.enter("SAY you come first").await?;
    place.until("[legation] you come first").await?;
    until("the agent's answer is broken off", PATIENCE, async || {
        place.worker.dropped() >= 1
    })
    .await?;
    place.worker.let_go();
    let over = async || {
        let rows = place.terminal.rows().await.unwrap_or_default();
        let is_open =
            |row: &String| row.starts_with("* [claude-code]") || row.contains("(steps aside)");
        !rows.iter().any(is_open)
    };
    until("the task is over", PATIENCE, over).await?;
    let order = [
        "[claude-code] HOLD Working",
        "[you] SAY you come first",
        "[legation] you come first",
        "on the long task",
    ];
    let all = place.until_told(&order).await?;
    assert!(
        all.lines().all(|row| row.chars().count() <= columns),
        "{all}"
    );
    Ok(())
}

#[tokio::test]
async fn a_person_is_answered_first_and_the_task_goes_on_in_40_columns() -> anyhow::Result<()> {
    preemption(40).await
}

#[tokio::test]
async fn a_person_is_answered_first_and_the_task_goes_on_in_120_columns() -> anyhow::Result<()> {
    preemption(120).await
}

#[tokio::test]
async fn the_terminal_is_given_back_on_every_way_out() -> anyhow::Result<()> {
    let place = Place::new(80).await?;
    for arguments in ["", "--fullscreen"] {
        for signal in [Signal::TERM, Signal::HUP, Signal::INT] {
            place.chat(arguments).await?;
            place.terminal.write("half a sentence").await?;
            place.until("> half a sentence").await?;
            for pid in place.programs() {
                let pid = Pid::from_raw(i32::try_from(pid)?);
                if let Some(pid) = pid {
                    kill_process(pid, signal)?;
                }
            }
            place.until_sane().await?;
            place.terminal.enter("clear").await?;
        }
        // Stopped and continued, it is there again with what was written.
        place.chat(arguments).await?;
        place.terminal.write("kept").await?;
        place.until("> kept").await?;
        place.terminal.press("C-z").await?;
        place.until("Stopped").await?;
        place.until_usable().await?;
        place.terminal.enter("clear; fg").await?;
        place.until("> kept").await?;
        place.terminal.press("C-c").await?;
        place.terminal.press("C-c").await?;
        place.until_sane().await?;
        place.terminal.enter("clear").await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_hub_that_is_killed_is_waited_for() -> anyhow::Result<()> {
    let mut place = Place::new(80).await?;
    place.chat("").await?;
    place.terminal.enter("SAY before").await?;
    place.until("[legation] before").await?;
    // What is on the screen is not yet kept: the end of the turn is.
    let idle = |row: &str| row.trim_start().starts_with("? help");
    place.terminal.until_row("the turn's end", idle).await?;
    place.hub.kill().await?;
    place.until("NO HUB").await?;
    let Place {
        terminal,
        hub,
        worker,
    } = place;
    let place = Place {
        terminal,
        hub: hub.restart().await?,
        worker,
    };
    place.until("the hub answers again").await?;
    place.terminal.enter("SAY after").await?;
    place.until("[legation] after").await?;
    let is_once = |all: &str| all.matches("[legation] before").count() == 1;
    place
        .until_all("what was said before, once", is_once)
        .await?;
    Ok(())
}

#[tokio::test]
async fn lines_are_read_where_there_is_no_terminal() -> anyhow::Result<()> {
    use tokio::io::AsyncWriteExt as _;
    let place = Place::new(80).await?;
    let mut command = place.hub.command(&["chat"])?;
    command
        .current_dir(place.folder())
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped());
    let mut chat = command.spawn()?;
    let mut stdin = chat.stdin.take().expect("piped");
    stdin.write_all(b"SAY all is well\n").await?;
    drop(stdin);
    let output = tokio::time::timeout(PATIENCE, chat.wait_with_output()).await??;
    let said = String::from_utf8(output.stdout)?;
    assert!(output.status.success(), "{said}");
    assert!(
        is_in_order(&said, &["you: SAY all is well", "legation: all is well"]),
        "{said}"
    );
    assert!(!said.contains('\u{1b}'), "{said}");
    Ok(())
}
