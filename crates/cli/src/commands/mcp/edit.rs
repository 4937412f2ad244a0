//! `legation mcp edit`: members of a server's entry, one by one.

use clap::Args;
use legation_config::edit::{self, Change};
use legation_core::ServerName;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::table::printable;
use crate::{CliError, Context, Exit, terminal};

/// Members whose own members are texts, whatever they look like.
const TEXTS: [&str; 2] = ["env", "headers"];

/// Arguments of `legation mcp edit`.
#[derive(Debug, Args)]
pub struct EditArgs {
    /// Which server.
    name: String,

    /// Set a member of its entry, such as timeout=30000, env.LEVEL=debug or args='["-y", "x"]'.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,

    /// Take a member out of its entry.
    #[arg(long, value_name = "KEY")]
    unset: Vec<String>,

    /// Show what would change, and change nothing.
    #[arg(long)]
    dry_run: bool,
}

#[derive(Debug, Serialize)]
struct Edited {
    name: String,
    file: String,
    changed: bool,
    dry_run: bool,
    warnings: Vec<String>,
}

pub(crate) fn cmd_edit(context: &Context, args: &EditArgs) -> Result<(), CliError> {
    let name = ServerName::parse(&args.name).map_err(|error| CliError::usage(&error))?;
    let entries = edit::written(&context.home).map_err(|error| super::edit_failed(&error))?;
    let found = entries.into_iter().find(|(known, _)| *known == args.name);
    let Some((_, Value::Object(mut entry))) = found else {
        let error = edit::EditError::Unknown { name };
        return Err(super::edit_failed(&error));
    };
    let asked = if args.set.is_empty() && args.unset.is_empty() {
        ask(&entry)?
    } else {
        Vec::new()
    };
    for text in args
        .set
        .iter()
        .chain(asked.iter().filter(|line| !line.starts_with('-')))
    {
        set(&mut entry, text)?;
    }
    let taken = asked.iter().filter_map(|line| line.strip_prefix('-'));
    for key in args.unset.iter().map(String::as_str).chain(taken) {
        unset(&mut entry, key)?;
    }
    let change = Change::AddJson {
        name,
        json: Value::Object(entry).to_string(),
        replace: true,
    };
    let edited = if args.dry_run {
        edit::preview(&context.home, &change)
    } else {
        super::tell_calls(context, Some(&args.name));
        edit::apply(&context.home, &change)
    }
    .map_err(|error| super::edit_failed(&error))?;
    if !args.dry_run {
        crate::commands::nudge(context);
    }
    let edited = Edited {
        name: args.name.clone(),
        file: edited.file.display().to_string(),
        changed: edited.is_change(),
        dry_run: args.dry_run,
        warnings: edited.warnings.into_iter().map(|one| one.message).collect(),
    };
    context.output.result(&edited, |edited| {
        let verb = match (edited.changed, edited.dry_run) {
            (false, _) => "is so already",
            (true, true) => "would be changed",
            (true, false) => "was changed; `legation mcp remove --undo` takes it back",
        };
        let mut text = format!("{} in {} {verb}\n", edited.name, edited.file);
        for warning in &edited.warnings {
            text.push_str(&format!("warning: {}\n", printable(warning)));
        }
        text
    })
}

/// Lines of a person: `KEY=VALUE`, or `-KEY`.
fn ask(entry: &Map<String, Value>) -> Result<Vec<String>, CliError> {
    if !terminal::is_there() {
        return Err(CliError::new(
            Exit::Usage,
            "nothing to change was named, and nobody can be asked here; nothing was changed",
        )
        .with_hint("use --set KEY=VALUE and --unset KEY"));
    }
    let keys: Vec<&str> = entry.keys().map(String::as_str).collect();
    let mut lines = Vec::new();
    loop {
        let question = format!(
            "KEY=VALUE, -KEY, or nothing to end (it has {}):",
            printable(&keys.join(", "))
        );
        let line = terminal::ask(&question).map_err(|error| CliError::failed(&error))?;
        if line.is_empty() {
            return Ok(lines);
        }
        lines.push(line);
    }
}

/// The names on the way to a member: `env.NAME` is within another, whose names may have dots.
fn way(key: &str) -> (Option<&str>, &str) {
    match key.split_once('.') {
        Some((outer, inner)) if !inner.is_empty() => (Some(outer), inner),
        _ => (None, key),
    }
}

fn set(entry: &mut Map<String, Value>, text: &str) -> Result<(), CliError> {
    let Some((key, value)) = text.split_once('=').filter(|(key, _)| !key.is_empty()) else {
        return Err(CliError::new(
            Exit::Usage,
            "--set takes KEY=VALUE; nothing was changed",
        ));
    };
    let (outer, inner) = way(key);
    let is_text = outer.is_some_and(|outer| TEXTS.contains(&outer));
    let value = match serde_json::from_str(value) {
        Ok(value) if !is_text => value,
        _ => Value::String(value.to_owned()),
    };
    let members = match outer {
        None => entry,
        Some(outer) => {
            let within = entry
                .entry(outer)
                .or_insert_with(|| Value::Object(Map::new()));
            within.as_object_mut().ok_or_else(|| {
                CliError::new(
                    Exit::Usage,
                    format!("{outer} has no members; nothing was changed"),
                )
            })?
        }
    };
    members.insert(inner.to_owned(), value);
    Ok(())
}

fn unset(entry: &mut Map<String, Value>, key: &str) -> Result<(), CliError> {
    let (outer, inner) = way(key);
    let members = match outer {
        None => Some(entry),
        Some(outer) => entry.get_mut(outer).and_then(Value::as_object_mut),
    };
    let was_there = members.and_then(|members| members.shift_remove(inner));
    was_there.map(drop).ok_or_else(|| {
        CliError::new(
            Exit::Usage,
            format!("its entry has no {key}; nothing was changed"),
        )
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use legation_config::environment::Environment;
    use legation_core::{Home, SystemClock};

    use super::*;
    use crate::Output;

    #[test]
    fn members_are_changed_and_the_rest_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let home = Home::at(folder.path());
        let text = r#"{"mcpServers": {
  "a": {"command": "a", "cwd": "/w", "env": {"X.Y": "1"}},
  "b":   {"command": "b"}
}}"#;
        fs::write(home.servers(), text).expect("written");
        let context = Context {
            home,
            environment: Environment::default(),
            clock: SystemClock::shared(),
            version: "0",
            output: Output::new(true),
        };
        let edit = |set: &[&str], unset: &[&str], dry_run| {
            let words = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect();
            let args = EditArgs {
                name: "a".to_owned(),
                set: words(set),
                unset: words(unset),
                dry_run,
            };
            cmd_edit(&context, &args)
        };
        let now = || fs::read_to_string(context.home.servers()).expect("there");
        edit(&["timeout=5"], &[], true).expect("shown");
        assert_eq!(now(), text);
        for (set, unset) in [
            (vec!["timeout=soon"], vec![]),
            (vec!["novalue"], vec![]),
            (vec!["command.x=1"], vec![]),
            (vec![], vec!["url"]),
            (vec![], vec!["command"]),
        ] {
            assert!(edit(&set, &unset, false).is_err(), "{set:?} {unset:?}");
            assert_eq!(now(), text);
        }
        edit(
            &[
                "timeout=30000",
                "env.PORT=8080",
                "args=[\"-y\"]",
                "displayName=An A",
            ],
            &["cwd", "env.X.Y"],
            false,
        )
        .expect("changed");
        let entries = legation_config::edit::written(&context.home).expect("entries");
        assert_eq!(
            entries[0].1,
            serde_json::json!({"command": "a", "env": {"PORT": "8080"}, "timeout": 30000,
                "args": ["-y"], "displayName": "An A"})
        );
        assert_eq!(entries[1].1, serde_json::json!({"command": "b"}));
    }
}
