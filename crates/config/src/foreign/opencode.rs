//! Entries of opencode: one list for the command, `{env:NAME}` for variables.

use serde_json::{Map, Value, json};

use super::codex::insert;
use super::{Found, pairs};
use crate::environment::escaped;

pub(super) fn entry(name: &str, entry: &Value) -> Result<Found, String> {
    let mut ours = Map::new();
    let mut notes = Vec::new();
    match entry.get("type").and_then(Value::as_str) {
        Some("local") => {
            let command = entry.get("command").and_then(Value::as_array);
            let words: Option<Vec<String>> = command
                .into_iter()
                .flatten()
                .map(|word| followed(word.as_str()?))
                .collect();
            let words = words.ok_or("its command refers to a file")?;
            let (program, args) = words.split_first().ok_or("its command is empty")?;
            ours.insert("type".to_owned(), json!("stdio"));
            ours.insert("command".to_owned(), json!(program));
            ours.insert("args".to_owned(), json!(args));
            if let Some(cwd) = entry.get("cwd").and_then(Value::as_str) {
                ours.insert("cwd".to_owned(), json!(followed(cwd)));
            }
            insert(&mut ours, "env", followed_pairs(entry.get("environment"))?);
        }
        Some("remote") => {
            let url = entry.get("url").and_then(Value::as_str).and_then(followed);
            ours.insert("type".to_owned(), json!("http"));
            ours.insert("url".to_owned(), json!(url.ok_or("it has no url")?));
            insert(&mut ours, "headers", followed_pairs(entry.get("headers"))?);
            if let Some(Value::Object(oauth)) = entry.get("oauth") {
                let client_id = oauth
                    .get("clientId")
                    .and_then(Value::as_str)
                    .and_then(followed);
                ours.extend(client_id.map(|id| ("oauthClientId".to_owned(), json!(id))));
                if oauth.contains_key("clientSecret") {
                    let why = "`oauth.clientSecret` is left out: keep it and refer to it as oauth.clientSecret";
                    notes.push(why.to_owned());
                }
            }
        }
        // Such an entry only switches what another file has.
        None => return Err("it says only whether a server of another file is on".to_owned()),
        Some(_) => return Err("its type is neither `local` nor `remote`".to_owned()),
    }
    if entry.get("enabled") == Some(&json!(false)) {
        ours.insert("disabled".to_owned(), json!(true));
    }
    Ok(Found {
        name: name.to_owned(),
        entry: Value::Object(ours),
        notes,
    })
}

fn followed_pairs(value: Option<&Value>) -> Result<Map<String, Value>, String> {
    let pairs = pairs(value).into_iter().map(|(name, value)| {
        let text = followed(value.as_str().unwrap_or_default());
        match text {
            Some(text) => Ok((name, Value::String(text))),
            None => Err(format!("{name} refers to a file")),
        }
    });
    pairs.collect()
}

/// The text with `{env:NAME}` our way; `None` where it refers to a file.
fn followed(text: &str) -> Option<String> {
    if text.contains("{file:") {
        return None;
    }
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("{env:") {
        let Some(end) = rest[at..].find('}') else {
            break;
        };
        out.push_str(&escaped(&rest[..at]));
        out.push_str(&format!("${{{}}}", &rest[at + "{env:".len()..at + end]));
        rest = &rest[at + end + 1..];
    }
    out.push_str(&escaped(rest));
    Some(out)
}
