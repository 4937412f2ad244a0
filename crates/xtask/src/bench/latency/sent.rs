//! From the human's chat to the agent's conversation.

use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::lines::{Lines, PATIENCE};
use super::quantile;
use super::surface::handshake;
use crate::bench::hub::{Home, stop};
use crate::bench::programs::{Programs, Running};
use crate::bench::table::{Row, Table, Target};
use crate::sys;

/// How often the hub reads a chat while people talk in it.
const INTERVAL: Duration = Duration::from_secs(5);
/// What may come on top of waiting for the next look, p50.
const ON_TOP_MS: f64 = 50.0;
/// Messages; odd, so that one of the moments is the middle of the interval.
const MESSAGES: usize = 21;

/// The hub, its tenant, and somebody whom it tells.
struct Stand<'a> {
    home: &'a Home,
    chat: String,
    channel: Lines,
}

/// Messages at moments that are spread over the interval.
pub(super) fn measure(programs: &Programs, quick: bool, table: &mut Table) -> Result<()> {
    let count = if quick { 3 } else { MESSAGES };
    let home = Home::new(programs, &json!({}))?;
    let folder = home.path().join("tenant");
    std::fs::create_dir_all(&folder)?;
    let env_file = folder.join("env");
    let mut command = home.legation(&["dev-tenant", "--listen", "127.0.0.1:0", "--dir"]);
    command.arg(&folder).arg("--env-file").arg(&env_file);
    let _tenant = Running::start(command).context("the development tenant")?;
    let settings = settings(&env_file)?;
    std::fs::write(home.path().join("legation.toml"), configuration(&settings)?)?;
    let serve = || -> Result<Running> {
        let mut command = home.legation(&["serve", "--listen", "127.0.0.1:0"]);
        let secret = of(&settings, "BLUEPRINT_SECRET")?;
        command.env("LEGATION_WORK_BLUEPRINT_SECRET", secret);
        Running::start(command)
    };
    // A hub looks for chats when it starts and every other minute: the chat is there before.
    let mut hub = serve()?;
    let chat = connect(&home)?;
    stop(&mut hub)?;
    let mut hub = serve()?;
    let mut stand = Stand {
        home: &home,
        chat,
        channel: channel(&home)?,
    };
    // The first is heard at a look, which is where the reckoning begins.
    let mut last = stand.say("the first")?.1;
    let (mut took, mut on_top) = (Vec::new(), Vec::new());
    for number in 0..count {
        // Two has no divisor in common with an odd count, so every moment comes once.
        let moment = (number * 2) % count;
        let share = (moment as f64 + 0.5) / count as f64;
        let due = last + INTERVAL.mul_f64(share);
        std::thread::sleep(due.saturating_duration_since(sys::now()));
        let (asked, heard) = stand.say(&format!("message {number}."))?;
        let ms = (heard - asked).as_secs_f64() * 1e3;
        let waited = INTERVAL.mul_f64(1.0 - share).as_secs_f64() * 1e3;
        sys::say(&format!(
            "sent {waited:.0} ms before the next look: heard after {ms:.0} ms"
        ));
        took.push(ms);
        on_top.push(ms - waited);
        last = heard;
    }
    drop(stand);
    let half = INTERVAL.as_secs_f64() * 1e3 / 2.0;
    let most = Target::AtMost(half + ON_TOP_MS);
    let row = "sent to channel, read every 5 s, p50".to_owned();
    table.push(Row::new(row, quantile(&took, 0.5), "ms", most));
    let row = "sent to channel, beside waiting for the next look, p50".to_owned();
    table.push(Row::new(row, quantile(&on_top, 0.5), "ms", Target::None));
    stop(&mut hub)
}

fn settings(file: &Path) -> Result<HashMap<String, String>> {
    let text = std::fs::read_to_string(file).context("the tenant wrote no settings")?;
    let pairs = text.lines().filter_map(|line| line.split_once('='));
    Ok(pairs
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect())
}

fn of<'a>(settings: &'a HashMap<String, String>, name: &str) -> Result<&'a str> {
    let value = settings.get(name).map(String::as_str);
    value.with_context(|| format!("the tenant does not say its {name}"))
}

/// An account whose chats come in.
fn configuration(settings: &HashMap<String, String>) -> Result<String> {
    let mut text = "[secrets]\nkeep_in = \"file\"\n\
                    [accounts.work]\ninbox = \"chats\"\nentity = \"personal\"\n"
        .to_owned();
    for (key, name) in [
        ("tenant_id", "TENANT_ID"),
        ("authority", "AUTHORITY_HOST"),
        ("graph", "GRAPH_BASE"),
        ("ca_file", "CA_BUNDLE"),
        ("blueprint_id", "BLUEPRINT_ID"),
        ("agent_id", "AGENT_ID"),
        ("agent_user", "AGENT_USER_UPN"),
        ("human", "HUMAN_ID"),
    ] {
        text.push_str(&format!("{key} = {:?}\n", of(settings, name)?));
    }
    Ok(text)
}

/// Somebody whose conversation takes what is said into it.
fn channel(home: &Home) -> Result<Lines> {
    handshake(home, "claude-code", &["bridge", "--channel"])
}

/// Makes the chat of the agent and its human.
fn connect(home: &Home) -> Result<String> {
    let call = json!({ "name": "teams-connect", "arguments": {} });
    let connected = channel(home)?.ask("tools/call", &call)?.message;
    let chat = &connected["result"]["structuredContent"]["chat_id"];
    let chat = chat.as_str().map(str::to_owned);
    chat.with_context(|| format!("no chat: {connected}"))
}

// === impl Stand ===

impl Stand<'_> {
    /// The human writes; when that was asked for, and when the channel heard it.
    fn say(&mut self, text: &str) -> Result<(Instant, Instant)> {
        let folder = self.home.path().join("tenant");
        let mut command = self.home.legation(&["dev-tenant", "ctl", "--dir"]);
        command.arg(folder).args(["say", &self.chat, text]);
        let asked = sys::now();
        let said = command.output().context("cannot write in the chat")?;
        let complaint = String::from_utf8_lossy(&said.stderr);
        ensure!(said.status.success(), "not written: {complaint}");
        let told = |message: &Value| {
            let content = message["params"]["content"].as_str().unwrap_or_default();
            message["method"] == "notifications/claude/channel" && content.contains(text)
        };
        let heard = self.channel.within(PATIENCE, told)?;
        let heard = heard.with_context(|| format!("`{text}` was not heard"))?;
        self.channel.request("ping", &json!({}))?;
        Ok((asked, heard.at))
    }
}
