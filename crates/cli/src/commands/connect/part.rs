//! The kinds of changes `connect` makes to a file of an agent's, each with the
//! way back: what somebody else put into the file since stays.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::client::Client;
use super::file::{self, FileError};
use super::jsonc;

/// What every file that is the hub's own says of itself, so that it is known again.
pub(super) const OWN: &str = "Written by `legation connect";
const BLOCK_BEGIN: &str = "<!-- legation: begin -->";
const BLOCK_END: &str = "<!-- legation: end -->";
/// The member of an agent's file that holds hooks.
const HOOKS: &str = "hooks";
/// What every command of the hub's in a hook has one of, whatever the program's path.
const COMMANDS: [&str; 5] = [
    " inbox session start --client ",
    " inbox session busy --client ",
    " inbox session idle --client ",
    " inbox session end --client ",
    " inbox waker --client ",
];

/// One kind.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Part {
    /// The hub's entry among the MCP servers.
    #[default]
    Entry,
    /// A file of the hub's own.
    Own,
    /// Commands in hooks, by the name of the event.
    Hooks(Vec<(String, Value)>),
    /// A member of the file that is on.
    On(String),
    /// A marked block in a text for models.
    Block,
}

/// The text with the hub's commands in its hooks; those that were there before
/// are replaced.
pub(super) fn with_hooks(text: &str, hooks: &[(String, Value)]) -> Result<String, FileError> {
    let mut text = text.to_owned();
    for (event, ours) in hooks {
        let mut all = others(&text, event)?;
        all.push(ours.clone());
        text = jsonc::with_entry(&text, HOOKS, event, Some(&Value::Array(all)))?;
    }
    Ok(text)
}

/// The text with its block, at the end where it had none.
pub(super) fn with_block(text: &str, rule: &str) -> String {
    let block = format!("{BLOCK_BEGIN}\n{}\n{BLOCK_END}\n", rule.trim_end());
    match block_of(text) {
        Some((from, to)) => format!("{}{block}{}", &text[..from], &text[to..]),
        None if text.trim().is_empty() => block,
        None => format!("{}\n\n{block}", text.trim_end()),
    }
}

fn block_of(text: &str) -> Option<(usize, usize)> {
    let from = text.find(BLOCK_BEGIN)?;
    let end = from + text[from..].find(BLOCK_END)? + BLOCK_END.len();
    let line_end = usize::from(text[end..].starts_with('\n'));
    Some((from, end + line_end))
}

/// What other people's commands an event has.
fn others(text: &str, event: &str) -> Result<Vec<Value>, FileError> {
    let all = jsonc::entry(text, HOOKS, event)?;
    let Some(all) = all else {
        return Ok(Vec::new());
    };
    let Value::Array(mut all) = all else {
        return Err(FileError::Shape(HOOKS));
    };
    all.retain_mut(|group| {
        // People put commands of theirs beside the hub's, too.
        if let Some(Value::Array(commands)) = group.get_mut(HOOKS) {
            let before = commands.len();
            commands.retain(|command| !is_ours(command));
            return commands.len() == before || !commands.is_empty();
        }
        !is_ours(group)
    });
    Ok(all)
}

fn is_ours(hook: &Value) -> bool {
    match hook {
        Value::String(text) => COMMANDS.iter().any(|command| text.contains(command)),
        Value::Array(items) => items.iter().any(is_ours),
        Value::Object(members) => members.values().any(is_ours),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

// === impl Part ===

impl Part {
    /// The text as it would be without this part; `None` where nothing is left
    /// that anybody else wrote. `old` is what stood in the part's place before.
    pub(super) fn taken_out(
        &self,
        client: Client,
        text: &str,
        old: Option<&Value>,
    ) -> Result<Option<String>, FileError> {
        Ok(match self {
            Self::Entry => Some(file::with_entry(client, text, old)?),
            Self::Own if text.contains(OWN) => None,
            Self::Own => Some(text.to_owned()),
            Self::On(member) => Some(jsonc::with_member(text, member, old)?),
            Self::Hooks(hooks) => {
                let mut text = text.to_owned();
                for (event, _) in hooks {
                    if jsonc::entry(&text, HOOKS, event)?.is_none() {
                        continue;
                    }
                    let left = others(&text, event)?;
                    let left = (!left.is_empty()).then_some(Value::Array(left));
                    text = jsonc::with_entry(&text, HOOKS, event, left.as_ref())?;
                }
                Some(text)
            }
            Self::Block => match block_of(text) {
                None => Some(text.to_owned()),
                Some((from, to)) => {
                    let before = text[..from].trim_end();
                    let left = match before {
                        "" => text[to..].trim_start().to_owned(),
                        before => format!("{before}\n{}", &text[to..]),
                    };
                    (!left.trim().is_empty()).then_some(left)
                }
            },
        })
    }

    /// What changes, line by line, and nothing of other people's in the same file.
    pub(super) fn diff(&self, client: Client, before: &str, after: &str) -> String {
        let only = |text: &str| match self {
            Self::Entry => String::new(),
            Self::Own => text.to_owned(),
            Self::Block => {
                block_of(text).map_or_else(String::new, |(from, to)| text[from..to].to_owned())
            }
            Self::On(member) => match jsonc::member(text, member) {
                Ok(Some(value)) => format!("{}: {value}\n", json!(member)),
                Ok(None) | Err(_) => String::new(),
            },
            Self::Hooks(hooks) => hooks
                .iter()
                .filter_map(|(event, _)| {
                    let all = jsonc::entry(text, HOOKS, event).ok()??;
                    let mut ours = all.as_array()?.iter().find(|one| is_ours(one))?.clone();
                    if let Some(Value::Array(commands)) = ours.get_mut(HOOKS) {
                        commands.retain(is_ours);
                    }
                    Some(format!("{event}: {ours}\n"))
                })
                .collect(),
        };
        if *self == Self::Entry {
            return file::diff(client, before, after);
        }
        similar::TextDiff::from_lines(only(before), only(after))
            .unified_diff()
            .to_string()
    }
}

#[cfg(test)]
mod tests;
