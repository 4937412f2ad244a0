//! Whether two roads gave the same, and what differs if not.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::normal;

/// The one tool of the matrix that runs as a task only.
pub(super) const TASK_ONLY: &str = "simulate-research-query";

/// Removes the task support from a list of tools.
pub(super) fn without_execution(lists: &mut Value) {
    for tool in lists["tools"].as_array_mut().into_iter().flatten() {
        if let Some(members) = tool.as_object_mut() {
            members.remove("execution");
        }
    }
}

/// Whether the task-only tool came to its result.
pub(super) fn reported(said: &Value) -> Result<(), String> {
    let text = said["result"]["content"][0]["text"]
        .as_str()
        .unwrap_or_default();
    if text.starts_with("# Research Report") {
        return Ok(());
    }
    Err(format!("no report: {said}"))
}

/// The entries of one server, in both lists, by what identifies them.
pub(super) fn same_list(
    list: &str,
    key: &str,
    server: &str,
    said: &Value,
    direct: &Value,
) -> Result<(), String> {
    let prefix = if key == "name" && !server.is_empty() {
        format!("{server}-")
    } else {
        String::new()
    };
    let entries = |all: &Value| -> HashMap<String, Value> {
        let all = all[list].as_array().cloned().unwrap_or_default();
        all.into_iter()
            .filter_map(|entry| Some((entry[key].as_str()?.to_owned(), entry)))
            .collect()
    };
    let through = entries(said);
    for (name, mut expected) in entries(direct) {
        let Some(mut found) = through.get(&format!("{prefix}{name}")).cloned() else {
            return Err(format!("{name} is not listed"));
        };
        found[key] = name.clone().into();
        normal::meta(&mut found);
        normal::meta(&mut expected);
        equal(&found, &expected).map_err(|why| format!("{name}: {why}"))?;
    }
    if !prefix.is_empty() {
        let count = through
            .keys()
            .filter(|name| name.starts_with(&prefix))
            .count();
        equal(&json!(count), &json!(entries(direct).len()))
            .map_err(|why| format!("entries: {why}"))?;
    }
    Ok(())
}

pub(super) fn same_answer(
    tool: &str,
    era: &str,
    said: &Value,
    direct: &Value,
) -> Result<(), String> {
    // This tool runs as a task only. A modern client that declared no tasks is
    // refused by −32021 (2026-07-28, tasks extension), where 2025-11-25 has −32601.
    if tool == TASK_ONLY && era == "modern" {
        return equal(&said["error"]["code"], &json!(-32021));
    }
    equal(&normal::answer(tool, said), &normal::answer(tool, direct))
}

/// Equal, or both in short.
pub(super) fn equal(found: &Value, expected: &Value) -> Result<(), String> {
    if found == expected {
        return Ok(());
    }
    let short = |value: &Value| -> String { value.to_string().chars().take(600).collect() };
    Err(format!(
        "got {} instead of {}",
        short(found),
        short(expected)
    ))
}
