//! A hub with the business template, before servers of several companies.

use std::path::PathBuf;

use legation_tests::fixture::Era;
use legation_tests::harness::hub::{Hub, HubOptions};
use legation_tests::harness::peer::{Answer, Answerer, Peer, PeerEra, friendly};
use legation_tests::harness::servers::stdio_entry;
use serde_json::{Value, json};

/// The fixtures, by the name and the entity of each.
const SERVERS: [(&str, Option<&str>); 5] = [
    ("harbor-mail", Some("harbor")),
    ("meadow-notes", Some("meadow")),
    ("quarry-books", Some("quarry")),
    ("broker", None),
    ("lost", Some("nowhere")),
];

/// A rule whose answer may last.
const ASKED: &str = r#"
[[rule]]
id = "test.asked"
rule = 'ask harbor-mail/asked for always because "somebody wants to know"'
"#;

/// A hub, and the file that says what its fixtures offer.
pub(crate) struct Business {
    pub(crate) hub: Hub,
    pub(crate) script: PathBuf,
    /// Holds the script.
    _folder: tempfile::TempDir,
}

/// What every fixture offers beside its usual tools.
fn script() -> Value {
    let tools = [
        "read_note",
        "read",
        "send",
        "execute_trade",
        "free",
        "draft",
        "asked",
        "file",
        "stopped",
        "burn",
    ];
    let tools = tools.map(|name| {
        json!({"name": name, "description": format!("Does {name}"), "inputSchema": {"type": "object", "properties": {}}})
    });
    json!(tools)
}

/// The template's files, with the fixtures in them.
fn files() -> Vec<(&'static str, Value)> {
    let rules: Vec<String> = SERVERS
        .iter()
        .map(|(name, _)| {
            format!(
                "[[rule]]\nid = \"test.{name}\"\nrule = 'allow {name}/* because \"it is tried\"'\n"
            )
        })
        .collect();
    let all = [
        "harbor-mail/*",
        "meadow-notes/*",
        "quarry-books/*",
        "broker/*",
        "lost/*",
    ];
    let of = |tools: &[&str]| -> Vec<String> {
        let of_server = |(server, _): &(&str, _)| {
            tools
                .iter()
                .map(|tool| format!("{server}/{tool}"))
                .collect::<Vec<_>>()
        };
        SERVERS.iter().flat_map(of_server).collect()
    };
    let recipients = json!({
        "id": "test.foreign", "kind": "never_do", "because": "mail stays where it belongs",
        "when": {"tools": ["*/send"], "facts": ["foreign_recipient"]},
        "match": [{"tool": "harbor-mail/send", "arguments": {"profile_id": "harbor", "to": ["intake@meadow.example.com"]}}],
        "no_match": [{"tool": "harbor-mail/send", "arguments": {"profile_id": "harbor", "to": ["jordan@harbor.example.com"]}}],
    });
    vec![
        (
            "permissions.toml",
            format!("{}{ASKED}", rules.concat()).into(),
        ),
        (
            "role_cards.json",
            json!({"roles": {"assistant": {"operations": all}, "care_assistant": {"operations": all}, "reader": {"operations": all}}, "clients": {"desk-agent": "owner", "summer": "owner"}}),
        ),
        (
            "operator_profile.json",
            json!({"client_clearances": {"desk-agent": {"entities": "all", "phi": true}, "summer": {"entities": ["meadow"]}}}),
        ),
        ("hard_bans.json", json!({"bans": [recipients]})),
        (
            "autonomy_ladder.json",
            json!({"action_categories": [
                {"action": "Tried freely", "mode": "autonomous", "tools": of(&["read", "read_note", "send", "execute_trade", "free", "asked", "echo", "stats", "test_trigger_tool_change"])},
                {"action": "Tried as a draft", "mode": "draft_only", "tools": of(&["draft"])},
                {"action": "Tried as a proposal", "mode": "propose_certify_apply", "tools": of(&["file"])},
                {"action": "Tried and stopped", "mode": "blocked", "tools": of(&["stopped"])},
                {"action": "Never tried", "mode": "never", "tools": of(&["burn"])},
            ]}),
        ),
    ]
}

impl Business {
    /// Starts one and waits until its servers are there.
    pub(crate) async fn start() -> anyhow::Result<Self> {
        Self::with(Vec::new()).await
    }

    /// The same with more changes of the files.
    pub(crate) async fn with(more: Vec<(&'static str, Value)>) -> anyhow::Result<Self> {
        Self::under(more, HubOptions::default()).await
    }

    /// The same with other options.
    pub(crate) async fn under(
        more: Vec<(&'static str, Value)>,
        options: HubOptions,
    ) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("script.json");
        std::fs::write(&path, script().to_string())?;
        let mut servers = json!({});
        for (name, entity) in SERVERS {
            let mut entry = stdio_entry(Era::Both, "shared")?;
            if let Some(args) = entry["args"].as_array_mut() {
                args.extend([json!("--script"), json!(path)]);
            }
            if let Some(entity) = entity {
                entry["entity"] = entity.into();
            }
            servers[name] = entry;
        }
        let clients = [
            "claude",
            "codex",
            "copilot",
            "meadow-agent",
            "desk-agent",
            "summer",
        ];
        let hub = Hub::start(HubOptions {
            servers,
            template: Some("business"),
            governance: files().into_iter().chain(more).collect(),
            clients: clients.map(str::to_owned).into(),
            ..options
        })
        .await?;
        let business = Self {
            hub,
            script: path,
            _folder: folder,
        };
        let peer = business.owner().await?;
        for (name, _) in SERVERS.iter().filter(|(name, _)| *name != "lost") {
            business
                .hub
                .wait_for_tool(&peer, &format!("{name}-free"))
                .await?;
        }
        Ok(business)
    }

    /// The owner over HTTP, who cannot be asked.
    pub(crate) async fn owner(&self) -> anyhow::Result<Peer> {
        self.hub.http(PeerEra::Modern, json!({}), friendly()).await
    }

    /// A client over HTTP, who cannot be asked.
    pub(crate) async fn client(&self, id: &str, era: PeerEra) -> anyhow::Result<Peer> {
        self.asked(id, era, json!({}), friendly()).await
    }

    /// A client over stdio, who cannot be asked.
    pub(crate) async fn bridge(&self, id: &str, era: PeerEra) -> anyhow::Result<Peer> {
        self.hub.bridge_as(id, era, json!({}), friendly()).await
    }

    /// A client over HTTP.
    pub(crate) async fn asked(
        &self,
        id: &str,
        era: PeerEra,
        capabilities: Value,
        answerer: Answerer,
    ) -> anyhow::Result<Peer> {
        self.hub.http_as(id, era, capabilities, answerer).await
    }

    /// Has a tool say something else of itself, and its server say that its
    /// list has changed.
    pub(crate) async fn redefine(
        &self,
        server: &str,
        tool: &str,
        about: &str,
    ) -> anyhow::Result<()> {
        let mut tools: Value = serde_json::from_slice(&std::fs::read(&self.script)?)?;
        for one in tools.as_array_mut().into_iter().flatten() {
            if one["name"] == tool {
                one["description"] = about.into();
            }
        }
        std::fs::write(&self.script, tools.to_string())?;
        self.tell(server).await
    }

    /// Adds a tool.
    pub(crate) async fn add(&self, server: &str, tool: &str, about: &str) -> anyhow::Result<()> {
        let mut tools: Value = serde_json::from_slice(&std::fs::read(&self.script)?)?;
        let schema = json!({"type": "object", "properties": {}});
        let definition = json!({"name": tool, "description": about, "inputSchema": schema});
        tools
            .as_array_mut()
            .into_iter()
            .for_each(|all| all.push(definition.clone()));
        std::fs::write(&self.script, tools.to_string())?;
        self.tell(server).await
    }

    /// Has a server say that its list has changed.
    pub(crate) async fn tell(&self, server: &str) -> anyhow::Result<()> {
        let name = format!("{server}-test_trigger_tool_change");
        let (code, out, complaint) = self.hub.run(&["mcp", "call", &name]).await?;
        anyhow::ensure!(code == 0, "{out}{complaint}");
        Ok(())
    }

    /// How many calls a fixture has had, the asking itself not counted.
    pub(crate) async fn calls(&self, server: &str) -> anyhow::Result<i64> {
        let (code, out, complaint) = self
            .hub
            .run(&["mcp", "call", &format!("{server}-stats"), "--json"])
            .await?;
        anyhow::ensure!(code == 0, "{out}{complaint}");
        let text: Value = serde_json::from_str(&out)?;
        let found = find(&text, "calls").and_then(Value::as_i64);
        found
            .map(|calls| calls - 1)
            .ok_or_else(|| anyhow::anyhow!("{out}"))
    }
}

fn find<'v>(value: &'v Value, key: &str) -> Option<&'v Value> {
    match value {
        Value::Object(members) => members
            .get(key)
            .or_else(|| members.values().find_map(|value| find(value, key))),
        Value::Array(items) => items.iter().find_map(|value| find(value, key)),
        _ => None,
    }
}

/// The reason code of a refusal, whose shape is checked; empty for a result.
pub(crate) fn code(answer: &Answer) -> String {
    let result = &answer.value["result"];
    let data = if result["isError"] == true {
        &result["structuredContent"]
    } else {
        &answer.value["error"]["data"]
    };
    if data["blocked"] != true {
        assert!(
            answer.value.get("error").is_none() && result["isError"] != true,
            "{}",
            answer.text
        );
        return String::new();
    }
    for member in ["reason_code", "blocked_action", "next_safe_step", "rule"] {
        assert!(
            data[member].as_str().is_some_and(|text| !text.is_empty()),
            "{member}: {}",
            answer.text
        );
    }
    data["reason_code"].as_str().unwrap_or_default().to_owned()
}
