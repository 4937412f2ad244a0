//! Secrets that stand in an entry, taken out of it.

use legation_core::Secret;
use serde_json::Value;

use crate::environment::KEYRING;
use crate::servers::{is_named, is_random, plain};

/// Shorter values are no secrets worth moving, and are part of many words.
const SHORTEST: usize = 8;

/// Puts references in the place of what looks like a secret among the variables, headers and
/// arguments of the entry of `server`; returns what they stand for, by the name of each reference.
pub fn separated(server: &str, entry: &mut Value) -> Vec<(String, Secret)> {
    let mut found = Vec::new();
    for member in ["env", "headers"] {
        let members = entry.get_mut(member).and_then(Value::as_object_mut);
        for (name, value) in members.into_iter().flatten() {
            if let Value::String(text) = value {
                take(server, name, text, &mut found);
            }
        }
    }
    let mut before = String::new();
    let args = entry.get_mut("args").and_then(Value::as_array_mut);
    for arg in args.into_iter().flatten() {
        let Value::String(text) = arg else { continue };
        let mut value = text.clone();
        if let Some((flag, rest)) = text
            .split_once('=')
            .filter(|(flag, _)| flag.starts_with('-'))
        {
            let mut rest = rest.to_owned();
            take(server, flag, &mut rest, &mut found);
            value = format!("{flag}={rest}");
        } else if before.starts_with('-') && !text.starts_with('-') && is_named(&before) {
            take(server, &before, &mut value, &mut found);
        }
        before = std::mem::replace(text, value);
    }
    found
}

/// The name under which a secret of a server's variable, header or flag is kept.
pub fn secret_name(server: &str, name: &str) -> String {
    plain(&format!("{server}.{}", name.trim_start_matches('-')))
}

fn take(server: &str, name: &str, text: &mut String, found: &mut Vec<(String, Secret)>) {
    // What refers to something is no secret itself.
    if text.contains("${") || text.replace("$$", "").contains('$') {
        return;
    }
    let (scheme, value) = match text.split_once(' ') {
        Some((scheme @ ("Bearer" | "Basic" | "Token" | "token"), value)) => (Some(scheme), value),
        _ => (None, text.as_str()),
    };
    let is_secret = value.len() >= SHORTEST && (is_named(name) || is_random(value));
    if !is_secret {
        return;
    }
    let secret = secret_name(server, name);
    found.push((secret.clone(), Secret::new(value.replace("$$", "$"))));
    let reference = format!("${{{KEYRING}{secret}}}");
    *text = match scheme {
        Some(scheme) => format!("{scheme} {reference}"),
        None => reference,
    };
}
