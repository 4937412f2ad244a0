//! What may differ between two honest answers to the same call: the time, and
//! what the newer era adds around a result. Everything else must be equal.

use serde_json::Value;

/// Members of a modern result that a legacy one has not.
const ENVELOPE: [&str; 3] = ["resultType", "ttlMs", "cacheScope"];
/// Tools whose lines come in the order the disk happens to have.
const UNORDERED: [&str; 4] = [
    "list_directory",
    "list_directory_with_sizes",
    "directory_tree",
    "search_files",
];

/// Removes from an answer what two roads may not agree on.
#[must_use]
pub(super) fn answer(tool: &str, answer: &Value) -> Value {
    let mut answer = answer.clone();
    if let Some(result) = answer.get_mut("result").and_then(Value::as_object_mut) {
        for member in ENVELOPE {
            result.remove(member);
        }
    }
    meta(&mut answer);
    strings(&mut answer, &|text| without_time(tool, text));
    if tool == "get_current_time" {
        for member in ["datetime", "day_of_week"] {
            if let Some(content) = answer["result"]["structuredContent"].as_object_mut() {
                content.remove(member);
            }
        }
    }
    answer
}

/// Removes the keys an intermediary or an era adds to `_meta`, at any depth.
pub(super) fn meta(value: &mut Value) {
    match value {
        Value::Object(members) => {
            if let Some(Value::Object(keys)) = members.get_mut("_meta") {
                keys.retain(|key, _| {
                    !key.starts_with("io.legation/") && key != "io.modelcontextprotocol/serverInfo"
                });
                if keys.is_empty() {
                    members.remove("_meta");
                }
            }
            members.values_mut().for_each(meta);
        }
        Value::Array(elements) => elements.iter_mut().for_each(meta),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn strings(value: &mut Value, change: &impl Fn(&str) -> String) {
    match value {
        Value::String(text) => *text = change(text),
        Value::Array(elements) => elements
            .iter_mut()
            .for_each(|element| strings(element, change)),
        Value::Object(members) => members
            .values_mut()
            .for_each(|member| strings(member, change)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn without_time(tool: &str, text: &str) -> String {
    if let Some((before, _time)) = text.split_once("created at ") {
        return before.to_owned();
    }
    let kept = |unwanted: &[&str]| {
        let lines = text.lines().filter(|line| {
            !unwanted
                .iter()
                .any(|word| line.trim_start().starts_with(word))
        });
        lines.collect::<Vec<_>>().join("\n")
    };
    match tool {
        "get_file_info" => kept(&["created:", "modified:", "accessed:"]),
        "get_current_time" => kept(&["\"datetime\"", "\"day_of_week\""]),
        // Each road has its own process environment; what was configured must arrive.
        "get-env" => text
            .lines()
            .filter(|line| line.contains("SDK_MATRIX"))
            .collect(),
        _ if UNORDERED.contains(&tool) => {
            let mut lines: Vec<_> = text
                .lines()
                .map(|line| line.trim_end_matches(','))
                .collect();
            lines.sort_unstable();
            lines.join("\n")
        }
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::answer;

    #[test]
    fn keeps_everything_but_time_and_envelope() {
        let modern = json!({"result": {"resultType": "complete", "content": [{"type": "text", "text": "created: now\nsize: 3"}],
            "_meta": {"io.legation/x": 1, "vendor": 2}}});
        let expected = json!({"result": {"content": [{"type": "text", "text": "size: 3"}], "_meta": {"vendor": 2}}});
        assert_eq!(answer("get_file_info", &modern), expected);
        assert_ne!(answer("echo", &modern), expected);
    }
}
