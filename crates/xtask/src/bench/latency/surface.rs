//! The ways in which a message reaches somebody.

use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::{Value, json};

use super::lines::Lines;
use crate::bench::hub::Home;

/// One way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Surface {
    /// A call of `pull` that is made once the message is there.
    Pull,
    /// A call of `wait` that was made before.
    Wait,
    /// `notifications/resources/updated` after `resources/subscribe`.
    Subscribed,
    /// The same within `subscriptions/listen`.
    Listening,
    /// `notifications/message`.
    Logged,
    /// `notifications/claude/channel`.
    Channel,
    /// `notifications/events/event` within `events/stream`.
    Events,
    /// A line of `legation watch --json`.
    Watch,
    /// A line of `legation inbox follow --json`.
    Follow,
}

/// Somebody whom messages reach so.
pub(super) struct Listener {
    pub(super) surface: Surface,
    lines: Lines,
    /// The call that waits.
    waiting: Option<u64>,
}

/// What changes with every message.
const INBOX: &str = "legation://inbox";

// === impl Surface ===

impl Surface {
    pub(super) const ALL: [Self; 9] = [
        Self::Pull,
        Self::Wait,
        Self::Subscribed,
        Self::Listening,
        Self::Logged,
        Self::Channel,
        Self::Events,
        Self::Watch,
        Self::Follow,
    ];

    /// How the table calls it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Pull => "pull",
            Self::Wait => "wait",
            Self::Subscribed => "resources/updated, subscribed",
            Self::Listening => "resources/updated, listening",
            Self::Logged => "notifications/message",
            Self::Channel => "channel",
            Self::Events => "events stream",
            Self::Watch => "watch",
            Self::Follow => "inbox follow",
        }
    }

    /// Which messages a line is about, by their ids. Who is only told that something is new is
    /// told the inbox's URI.
    pub(super) fn told(self, line: &Value) -> Vec<&str> {
        let params = &line["params"];
        let (method, ids) = match self {
            Self::Pull | Self::Wait => {
                let messages = line["result"]["structuredContent"]["messages"].as_array();
                let messages = messages.into_iter().flatten();
                return messages.filter_map(|one| one["id"].as_str()).collect();
            }
            Self::Watch | Self::Follow => return line["id"].as_str().into_iter().collect(),
            Self::Subscribed | Self::Listening => (
                "resources/updated",
                params["uri"].as_str().filter(|uri| *uri == INBOX),
            ),
            Self::Logged => ("message", params["data"]["id"].as_str()),
            Self::Channel => ("claude/channel", params["meta"]["message_id"].as_str()),
            Self::Events => ("events/event", params["data"]["id"].as_str()),
        };
        let said = line["method"].as_str().unwrap_or_default();
        let said = said.strip_prefix("notifications/");
        ids.filter(|_| said == Some(method)).into_iter().collect()
    }
}

// === impl Listener ===

impl Listener {
    /// Starts the program, and says what is wanted.
    pub(super) fn start(home: &Home, surface: Surface) -> Result<Self> {
        let lines = match surface {
            Surface::Watch => Lines::start(home.legation(&["watch", "--json", "--no-desktop"]))?,
            Surface::Follow => Lines::start(home.legation(&["inbox", "follow", "--json"]))?,
            Surface::Channel => handshake(home, "claude-code", &["bridge", "--channel"])?,
            Surface::Subscribed => {
                let mut lines = handshake(home, "bench", &["bridge"])?;
                lines.ask("resources/subscribe", &json!({ "uri": INBOX }))?;
                lines
            }
            Surface::Logged => {
                let mut lines = handshake(home, "bench", &["bridge"])?;
                lines.ask("logging/setLevel", &json!({ "level": "info" }))?;
                lines
            }
            Surface::Listening => {
                let wanted = json!({ "resourceSubscriptions": [INBOX] });
                let mut lines = modern(home)?;
                lines.request(
                    "subscriptions/listen",
                    &with_meta(json!({ "notifications": wanted })),
                )?;
                lines
            }
            Surface::Events => {
                let mut lines = modern(home)?;
                lines.request(
                    "events/stream",
                    &with_meta(json!({ "name": "message.received" })),
                )?;
                lines
            }
            Surface::Pull | Surface::Wait => modern(home)?,
        };
        Ok(Self {
            surface,
            lines,
            waiting: None,
        })
    }

    /// Before a message: whoever waits with a call makes it.
    pub(super) fn get_ready(&mut self) -> Result<()> {
        if self.surface == Surface::Wait && self.waiting.is_none() {
            self.waiting = Some(self.call("inbox-wait", &json!({ "timeout_s": 50 }))?);
        }
        Ok(())
    }

    /// When it was heard that a message came in, if it was within this time.
    pub(super) fn heard(&mut self, id: &str, within: Duration) -> Result<Option<Instant>> {
        let surface = self.surface;
        if surface == Surface::Pull {
            self.call("inbox-pull", &json!({ "limit": 100 }))?;
        }
        let tells = |line: &Value| {
            surface
                .told(line)
                .iter()
                .any(|told| [id, INBOX].contains(told))
        };
        let heard = self.lines.within(within, tells)?;
        if heard.is_some() {
            self.waiting = None;
        }
        if surface == Surface::Channel {
            // What was said to it has arrived only once it shows that it is alive.
            self.lines.request("ping", &json!({}))?;
        }
        Ok(heard.map(|heard| heard.at))
    }

    /// Whether it says anything of a message for so long.
    pub(super) fn is_quiet(&mut self, time: Duration) -> Result<bool> {
        let surface = self.surface;
        let about = |line: &Value| !surface.told(line).is_empty();
        Ok(self.lines.within(time, about)?.is_none())
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Result<u64> {
        let params = json!({ "name": tool, "arguments": arguments });
        self.lines.request("tools/call", &with_meta(params))
    }
}

/// A client of the handshake era.
pub(super) fn handshake(home: &Home, client: &str, arguments: &[&str]) -> Result<Lines> {
    let mut lines = Lines::start(home.legation(arguments))?;
    let info = json!({ "name": client, "version": "1" });
    let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info });
    lines.ask("initialize", &hello)?;
    lines.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
    // Once it has answered something the session is ready.
    lines.ask("ping", &json!({}))?;
    Ok(lines)
}

/// A client of the newest revision.
fn modern(home: &Home) -> Result<Lines> {
    let mut lines = Lines::start(home.legation(&["bridge"]))?;
    lines.ask("server/discover", &with_meta(json!({})))?;
    Ok(lines)
}

/// The parameters of a request of the newest revision.
fn with_meta(mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "bench", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    params
}
