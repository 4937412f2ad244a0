//! `config.toml` of Codex: tables below `mcp_servers`, every text literal.

use serde_json::{Map, Value, json};

use super::{Found, Taken, pairs};
use crate::environment::escaped;

/// Members that say how Codex treats a server and nothing of the server.
const ITS_OWN: [&str; 4] = [
    "startup_timeout_sec",
    "startup_timeout_ms",
    "required",
    "experimental_environment",
];

pub(super) fn read(text: &str) -> Result<Taken, String> {
    let root: toml::Table = text
        .parse()
        .map_err(|error: toml::de::Error| error.message().to_owned())?;
    let mut taken = Taken::default();
    let Some(servers) = root.get("mcp_servers") else {
        return Ok(taken);
    };
    let servers = serde_json::to_value(servers).map_err(|error| error.to_string())?;
    let Value::Object(servers) = servers else {
        return Err("its member `mcp_servers` is no table".to_owned());
    };
    for (name, entry) in servers {
        match entry.as_object().and_then(|entry| server(&name, entry)) {
            Some(found) => taken.servers.push(found),
            None => {
                let why = "it has neither `command` nor `url`".to_owned();
                taken.left.push((name, why));
            }
        }
    }
    Ok(taken)
}

fn server(name: &str, entry: &Map<String, Value>) -> Option<Found> {
    let text = |key: &str| entry.get(key).and_then(Value::as_str);
    let mut ours = Map::new();
    let mut notes = Vec::new();
    if let Some(command) = text("command") {
        ours.insert("type".to_owned(), json!("stdio"));
        ours.insert("command".to_owned(), json!(escaped(command)));
        ours.insert("args".to_owned(), literal_list(entry.get("args")));
        if let Some(cwd) = text("cwd") {
            ours.insert("cwd".to_owned(), json!(escaped(cwd)));
        }
        let mut env = Map::new();
        // Variables that it passes on.
        let passed = entry.get("env_vars").and_then(Value::as_array);
        for variable in passed.into_iter().flatten() {
            let name = variable.get("name").unwrap_or(variable).as_str();
            env.extend(name.map(|name| (name.to_owned(), json!(format!("${{{name}}}")))));
        }
        env.extend(literal_pairs(entry.get("env")));
        insert(&mut ours, "env", env);
    } else {
        let url = text("url")?;
        ours.insert("type".to_owned(), json!("http"));
        ours.insert("url".to_owned(), json!(escaped(url)));
        let mut headers = literal_pairs(entry.get("http_headers"));
        for (header, variable) in pairs(entry.get("env_http_headers")) {
            let variable = variable.as_str().unwrap_or_default();
            headers.insert(header, json!(format!("${{{variable}}}")));
        }
        if let Some(variable) = text("bearer_token_env_var") {
            headers.insert(
                "Authorization".to_owned(),
                json!(format!("Bearer ${{{variable}}}")),
            );
        }
        insert(&mut ours, "headers", headers);
    }
    if entry.get("enabled") == Some(&json!(false)) {
        ours.insert("disabled".to_owned(), json!(true));
    }
    if let Some(tools) = entry.get("enabled_tools").filter(|tools| tools.is_array()) {
        ours.insert("tools".to_owned(), tools.clone());
    }
    let seconds = entry.get("tool_timeout_sec").and_then(Value::as_f64);
    if let Some(seconds) = seconds.filter(|seconds| *seconds > 0.0 && *seconds < 1e6) {
        let ms = std::time::Duration::from_secs_f64(seconds).as_millis();
        ours.insert(
            "timeout".to_owned(),
            json!(u64::try_from(ms).unwrap_or(u64::MAX)),
        );
    }
    const READ: [&str; 12] = [
        "command",
        "args",
        "cwd",
        "env",
        "env_vars",
        "url",
        "http_headers",
        "env_http_headers",
        "bearer_token_env_var",
        "enabled",
        "enabled_tools",
        "tool_timeout_sec",
    ];
    let others = entry.keys().map(String::as_str);
    for other in others.filter(|key| !READ.contains(key) && !ITS_OWN.contains(key)) {
        notes.push(format!("`{other}` has no equivalent and is left out"));
    }
    Some(Found {
        name: name.to_owned(),
        entry: Value::Object(ours),
        notes,
    })
}

pub(super) fn insert(entry: &mut Map<String, Value>, key: &str, members: Map<String, Value>) {
    if !members.is_empty() {
        entry.insert(key.to_owned(), Value::Object(members));
    }
}

pub(super) fn literal_list(value: Option<&Value>) -> Value {
    let items = value.and_then(Value::as_array).into_iter().flatten();
    items.filter_map(Value::as_str).map(escaped).collect()
}

fn literal_pairs(value: Option<&Value>) -> Map<String, Value> {
    let pairs = pairs(value).into_iter();
    pairs
        .map(|(name, value)| {
            let text = value.as_str().unwrap_or_default();
            (name, Value::String(escaped(text)))
        })
        .collect()
}
