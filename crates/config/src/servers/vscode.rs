//! `.vscode/mcp.json`: the shape and the references of Visual Studio Code.
//!
//! An entry is translated before anything else sees it, so that trust, the
//! checks and the references are those of every other entry. An `input` is
//! asked for once and kept in the keystore, as a secret of that folder alone.

use std::path::Path;

use legation_core::id::hex;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::load::Entries;
use crate::environment::{KEYRING, escaped, is_secret_name};
use crate::json;

/// Something that a folder's entries want to be asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// The name in the file.
    pub id: String,
    /// What the file says of it.
    pub description: String,
    /// Whether it is not to be shown while it is typed.
    pub hidden: bool,
    /// What it may be, where it is one of several.
    pub options: Vec<String>,
    /// The name of the secret that it is kept as.
    pub secret: String,
}

/// The entries and the inputs of a file of `folder`, or of the user's own.
///
/// # Errors
/// What is wrong with the file, in words.
pub(crate) fn read(text: &str, folder: Option<&Path>) -> Result<(Entries, Vec<Input>), String> {
    let root = json::parse_lenient(text).map_err(|error| error.to_string())?;
    let Value::Object(mut root) = root else {
        return Err("it does not hold a JSON object".to_owned());
    };
    let wanted = match root.shift_remove("inputs") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(inputs)) => inputs,
        Some(_) => return Err("inputs is not a list".to_owned()),
    };
    let scope = format!("{}-", scope(folder));
    let inputs: Vec<(Input, Option<String>)> = wanted
        .iter()
        .filter_map(|input| input_of(input, &scope))
        .collect();
    let servers = match root.shift_remove("servers") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(servers)) => servers,
        Some(_) => return Err("servers is not an object".to_owned()),
    };
    let folder = folder.map(|folder| folder.to_string_lossy());
    let reference = |reference: &str| followed(reference, folder.as_deref(), &inputs);
    let servers = servers
        .into_iter()
        .map(|(name, entry)| (name, translated(entry, &reference)))
        .collect();
    Ok((
        servers,
        inputs.into_iter().map(|(input, _)| input).collect(),
    ))
}

/// An entry with the references of another program as ours; `reference` says what one without its
/// braces stands for, `None` to leave it as it is, which fails the entry. Numbers among the
/// variables become text, and `null` takes one away.
pub(crate) fn translated(entry: Value, reference: &dyn Fn(&str) -> Option<String>) -> Value {
    match entry {
        Value::String(text) => Value::String(rewritten(&text, reference)),
        Value::Array(items) => items
            .into_iter()
            .map(|item| translated(item, reference))
            .collect(),
        Value::Object(mut members) => {
            if let Some(Value::Object(variables)) = members.get_mut("env") {
                variables.retain(|_, value| !value.is_null());
                for value in variables.values_mut().filter(|value| value.is_number()) {
                    *value = Value::String(value.to_string());
                }
            }
            members
                .into_iter()
                .map(|(name, value)| (name, translated(value, reference)))
                .collect::<Map<String, Value>>()
                .into()
        }
        other @ (Value::Null | Value::Bool(_) | Value::Number(_)) => other,
    }
}

/// The text with each `${…}` as `reference` has it, and every other `$` as itself.
fn rewritten(text: &str, reference: &dyn Fn(&str) -> Option<String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        out.push_str(&escaped(&rest[..at]));
        let Some(end) = rest[at..].find('}') else {
            rest = &rest[at..];
            break;
        };
        let whole = &rest[at..=at + end];
        match reference(&whole[2..whole.len() - 1]) {
            Some(ours) => out.push_str(&ours),
            None => out.push_str(whole),
        }
        rest = &rest[at + end + 1..];
    }
    out.push_str(&escaped(rest));
    out
}

fn followed(
    reference: &str,
    folder: Option<&str>,
    inputs: &[(Input, Option<String>)],
) -> Option<String> {
    if let Some(id) = reference.strip_prefix("input:") {
        let (input, default) = inputs.iter().find(|(input, _)| input.id == id)?;
        // A default ends at the first brace.
        let default = default.as_ref().filter(|text| !text.contains('}'));
        let default = default.map(|text| format!(":-{text}")).unwrap_or_default();
        return Some(format!("${{{KEYRING}{}{default}}}", input.secret));
    }
    match reference {
        "workspaceFolder" | "cwd" => folder.map(escaped),
        "userHome" => Some("${HOME}".to_owned()),
        "pathSeparator" | "/" => Some("/".to_owned()),
        _ => reference
            .strip_prefix("env:")
            .map(|name| format!("${{{name}}}")),
    }
}

fn input_of(input: &Value, scope: &str) -> Option<(Input, Option<String>)> {
    let text = |key: &str| input.get(key).and_then(Value::as_str);
    let id = text("id")?;
    let secret = format!("{scope}{}", plain(id));
    if !is_secret_name(&secret) {
        return None;
    }
    let options = input.get("options").and_then(Value::as_array);
    let options = options.into_iter().flatten().filter_map(|option| {
        let value = option.get("value").unwrap_or(option);
        value.as_str().map(str::to_owned)
    });
    let input_of = Input {
        id: id.to_owned(),
        description: text("description").unwrap_or(id).to_owned(),
        hidden: input.get("password").and_then(Value::as_bool) == Some(true),
        options: options.collect(),
        secret,
    };
    Some((input_of, text("default").map(str::to_owned)))
}

/// What the secrets of a folder begin with, so that no folder is given another's.
fn scope(folder: Option<&Path>) -> String {
    let Some(folder) = folder else {
        return "vscode".to_owned();
    };
    let digest = Sha256::digest(folder.as_os_str().as_encoded_bytes());
    format!("input-{}", &hex(&digest)[..12])
}

/// `text` with what the name of a secret cannot hold replaced.
pub(crate) fn plain(text: &str) -> String {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
    text.chars()
        .map(|letter| if fits(letter) { letter } else { '_' })
        .collect()
}
