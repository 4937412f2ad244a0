//! `config.yaml` of Goose: what stands below `extensions`, and putting one in.
//!
//! The file is the user's own, with comments and other settings, so only the
//! lines of one extension are ever changed. Each is read by itself: one that is
//! written in a way that is not understood hides none of the others.

use serde_json::{Map, Value, json};

use super::codex::{insert, literal_list};
use super::{Found, Taken, pairs};
use crate::agents::yaml_members;
use crate::environment::escaped;

/// The member of the file that holds them.
const MEMBER: &str = "extensions";

pub(super) fn read(text: &str) -> Result<Taken, String> {
    let mut taken = Taken::default();
    for block in blocks(text)? {
        match yaml_members(&without_block_texts(block.body)) {
            Ok(members) => match members.get("type").map(|kind| kind.as_str().unwrap_or("")) {
                Some("stdio") => taken.servers.push(stdio(block.name, &members)),
                Some("streamable_http" | "sse") => taken.servers.push(remote(block.name, &members)),
                // What Goose has built in has no server of its own.
                Some("builtin" | "platform" | "frontend" | "inline_python") => {}
                Some(_) | None => taken
                    .left
                    .push((block.name.to_owned(), "its type is not known".to_owned())),
            },
            Err(why) => taken.left.push((block.name.to_owned(), why)),
        }
    }
    Ok(taken)
}

/// The text with an extension put in, in place of one of the name, or taken out.
///
/// # Errors
/// What is wrong with the file, in words.
pub fn with_extension(text: &str, name: &str, entry: Option<&Value>) -> Result<String, String> {
    let found = blocks(text)?.into_iter().find(|block| block.name == name);
    let new = entry.map(|entry| rendered(name, entry)).unwrap_or_default();
    if let Some(block) = found {
        let (from, to) = block.span;
        return Ok(format!("{}{new}{}", &text[..from], &text[to..]));
    }
    let header = header(text)?;
    let changed = match header {
        Some((from, to, _)) => format!("{}{MEMBER}:\n{new}{}", &text[..from], &text[to..]),
        None if text.is_empty() || text.ends_with('\n') => format!("{text}{MEMBER}:\n{new}"),
        None => format!("{text}\n{MEMBER}:\n{new}"),
    };
    Ok(if new.is_empty() {
        text.to_owned()
    } else {
        changed
    })
}

/// One extension's lines.
struct Block<'t> {
    name: &'t str,
    body: &'t str,
    /// From its name to behind its last line.
    span: (usize, usize),
}

/// The line of `extensions`: from, to, and whether something may stand below it.
fn header(text: &str) -> Result<Option<(usize, usize, bool)>, String> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if let Some(rest) = line
            .strip_prefix(MEMBER)
            .and_then(|rest| rest.strip_prefix(':'))
        {
            let rest = rest.split(" #").next().unwrap_or_default().trim();
            return match rest {
                "" => Ok(Some((at, at + line.len(), true))),
                "{}" | "null" | "~" => Ok(Some((at, at + line.len(), false))),
                _ => Err("its extensions stand on one line, which is not understood".to_owned()),
            };
        }
        at += line.len();
    }
    Ok(None)
}

fn blocks(text: &str) -> Result<Vec<Block<'_>>, String> {
    let Some((_, begin, true)) = header(text)? else {
        return Ok(Vec::new());
    };
    let mut blocks: Vec<Block<'_>> = Vec::new();
    let mut indent = None;
    let mut at = begin;
    for line in text[begin..].split_inclusive('\n') {
        let plain = line.trim();
        let from = at;
        at += line.len();
        if plain.is_empty() || plain.starts_with('#') {
            continue;
        }
        let deep = line.len() - line.trim_start_matches(' ').len();
        if deep == 0 {
            break;
        }
        let own = *indent.get_or_insert(deep);
        if deep > own {
            if let Some(last) = blocks.last_mut() {
                last.span.1 = at;
            }
            continue;
        }
        let name = plain
            .strip_suffix(':')
            .ok_or("an extension stands on one line")?;
        blocks.push(Block {
            name: name.trim_matches(['"', '\'']),
            body: "",
            span: (from, at),
        });
    }
    for block in &mut blocks {
        // The first line is its name.
        let body = &text[block.span.0..block.span.1];
        block.body = body.split_once('\n').map_or("", |(_, body)| body);
    }
    Ok(blocks)
}

/// The lines without texts that go on over several of them, which nothing here needs.
fn without_block_texts(body: &str) -> String {
    let mut out = String::new();
    let mut within = None;
    for line in body.lines() {
        let deep = line.len() - line.trim_start_matches(' ').len();
        if within.is_some_and(|outer| deep > outer || line.trim().is_empty()) {
            continue;
        }
        within = None;
        let mark = line.split_once(": ").map(|(_, value)| value.trim());
        if let Some((name, _)) = line.split_once(": ")
            && mark.is_some_and(|mark| matches!(mark, "|" | "|-" | "|+" | ">" | ">-" | ">+"))
        {
            within = Some(deep);
            out.push_str(&format!("{name}: \"\"\n"));
            continue;
        }
        out.push_str(line);
        out.push('\n');
    }
    out
}

fn common(entry: &Map<String, Value>, ours: &mut Map<String, Value>) {
    if entry.get("enabled") == Some(&json!(false)) {
        ours.insert("disabled".to_owned(), json!(true));
    }
    let seconds = entry.get("timeout").and_then(|value| match value {
        Value::String(text) => text.parse::<u64>().ok(),
        other => other.as_u64(),
    });
    if let Some(seconds) = seconds.filter(|seconds| (1..1_000_000).contains(seconds)) {
        ours.insert("timeout".to_owned(), json!(seconds * 1000));
    }
    let tools = entry.get("available_tools").and_then(Value::as_array);
    if let Some(tools) = tools.filter(|tools| !tools.is_empty()) {
        ours.insert("tools".to_owned(), json!(tools));
    }
}

fn stdio(name: &str, entry: &Map<String, Value>) -> Found {
    let text = |key: &str| entry.get(key).and_then(Value::as_str);
    let mut ours = Map::new();
    let mut notes = Vec::new();
    ours.insert("type".to_owned(), json!("stdio"));
    ours.insert(
        "command".to_owned(),
        json!(escaped(text("cmd").unwrap_or_default())),
    );
    ours.insert("args".to_owned(), literal_list(entry.get("args")));
    let mut env: Map<String, Value> = pairs(entry.get("envs"))
        .into_iter()
        .map(|(name, value)| (name, json!(escaped(value.as_str().unwrap_or_default()))))
        .collect();
    let keys = entry.get("env_keys").and_then(Value::as_array);
    for key in keys.into_iter().flatten().filter_map(Value::as_str) {
        let secret = crate::servers::plain(&format!("{name}.{key}"));
        env.insert(key.to_owned(), json!(format!("${{keyring:{secret}}}")));
        notes.push(format!(
            "the value of {key} is in Goose's own keystore: `legation secret set {secret}`"
        ));
    }
    insert(&mut ours, "env", env);
    common(entry, &mut ours);
    Found {
        name: name.to_owned(),
        entry: Value::Object(ours),
        notes,
    }
}

fn remote(name: &str, entry: &Map<String, Value>) -> Found {
    let kind = match entry.get("type").and_then(Value::as_str) {
        Some("sse") => "sse",
        _ => "http",
    };
    let mut ours = Map::new();
    ours.insert("type".to_owned(), json!(kind));
    let uri = entry.get("uri").and_then(Value::as_str).unwrap_or_default();
    ours.insert("url".to_owned(), json!(escaped(uri)));
    // Goose follows variables in headers as here.
    insert(&mut ours, "headers", pairs(entry.get("headers")));
    common(entry, &mut ours);
    Found {
        name: name.to_owned(),
        entry: Value::Object(ours),
        notes: Vec::new(),
    }
}

/// An extension's lines. Texts stand in quotes, which are the same in JSON.
fn rendered(name: &str, entry: &Value) -> String {
    let mut out = format!("  {}:\n", json!(name));
    for (key, value) in entry.as_object().into_iter().flatten() {
        match value {
            Value::Object(members) if !members.is_empty() => {
                out.push_str(&format!("    {key}:\n"));
                for (name, value) in members {
                    out.push_str(&format!("      {}: {value}\n", json!(name)));
                }
            }
            Value::Array(items) if !items.is_empty() => {
                out.push_str(&format!("    {key}:\n"));
                for item in items {
                    out.push_str(&format!("    - {item}\n"));
                }
            }
            other => out.push_str(&format!("    {key}: {other}\n")),
        }
    }
    out
}
