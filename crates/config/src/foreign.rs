//! Servers in the configuration files of other programs, read into our shape
//! and written back into theirs.
//!
//! Each program follows references of its own kind, or none; what one of them
//! takes literally is escaped, and what another follows is spelled our way, so
//! that a server is started here as it was there. What has no equivalent is
//! said and not guessed.

mod codex;
mod goose;
mod opencode;
mod separate;
mod write;

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use thiserror::Error;

use crate::environment::Environment;
use crate::json;
use crate::servers::{Input, translated, vscode_file};

pub use separate::{secret_name, separated};
pub use write::{Secrets, VscodeInput, with_goose_extension, written};

/// What editors call the folder that is open.
const FOLDER: &str = "${workspaceFolder}";

/// A program whose servers can be taken over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Foreign {
    /// Claude Code.
    Claude,
    /// Copilot CLI.
    Copilot,
    /// Visual Studio Code.
    Vscode,
    /// Cursor.
    Cursor,
    /// Codex.
    Codex,
    /// Goose.
    Goose,
    /// opencode.
    Opencode,
}

/// A server of another program.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// Its name there.
    pub name: String,
    /// Its entry in our shape. May hold secrets.
    pub entry: Value,
    /// What of it has no equivalent, in words.
    pub notes: Vec<String>,
}

/// What a file of another program holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Taken {
    /// Its servers.
    pub servers: Vec<Found>,
    /// Servers that cannot be taken over, and why.
    pub left: Vec<(String, String)>,
    /// What they want to be asked for.
    pub inputs: Vec<Input>,
}

/// A file that is not what the program documents.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("it is not a file of {program}: {why}")]
pub struct ForeignError {
    /// The program.
    pub program: &'static str,
    /// What is wrong.
    pub why: String,
}

/// The servers of a file. `folder` is the one whose own servers are wanted too, where the program
/// keeps such in the file.
///
/// # Errors
/// [`ForeignError`] when the file cannot be read as one of the program's.
pub fn read(program: Foreign, text: &str, folder: Option<&Path>) -> Result<Taken, ForeignError> {
    let wrong = |why: String| ForeignError {
        program: program.title(),
        why,
    };
    match program {
        Foreign::Goose => goose::read(text).map_err(wrong),
        Foreign::Codex => codex::read(text).map_err(wrong),
        Foreign::Vscode => {
            let (entries, inputs) = vscode_file(text, None).map_err(wrong)?;
            let servers = entries.into_iter().map(|(name, entry)| {
                in_folders(Found {
                    name,
                    entry,
                    notes: Vec::new(),
                })
            });
            Ok(Taken {
                servers: servers.collect(),
                left: Vec::new(),
                inputs,
            })
        }
        Foreign::Claude | Foreign::Copilot | Foreign::Cursor | Foreign::Opencode => {
            let root = json::parse_lenient(text).map_err(|error| wrong(error.to_string()))?;
            let Value::Object(root) = root else {
                return Err(wrong("it holds no JSON object".to_owned()));
            };
            of_json(program, &root, folder).map_err(wrong)
        }
    }
}

fn of_json(
    program: Foreign,
    root: &Map<String, Value>,
    folder: Option<&Path>,
) -> Result<Taken, String> {
    let mut taken = Taken::default();
    let mut maps = vec![root.get(program.member())];
    if program == Foreign::Claude {
        let folder = folder.map(|folder| folder.to_string_lossy());
        let project = folder.and_then(|folder| root.get("projects")?.get(&*folder));
        // What a folder has of its own counts there.
        maps.insert(0, project.and_then(|project| project.get(program.member())));
    }
    for servers in maps.into_iter().flatten() {
        let Value::Object(servers) = servers else {
            return Err(format!("its member `{}` is no object", program.member()));
        };
        for (name, entry) in servers {
            if taken.servers.iter().any(|known| known.name == *name) {
                continue;
            }
            if !entry.is_object() {
                let why = "its entry is no object".to_owned();
                taken.left.push((name.clone(), why));
                continue;
            }
            let found = match program {
                Foreign::Opencode => opencode::entry(name, entry),
                Foreign::Cursor => Ok(cursor(name, entry)),
                Foreign::Claude => Ok(claude(name, entry)),
                // Its references are spelled as ours.
                Foreign::Copilot | Foreign::Vscode | Foreign::Codex | Foreign::Goose => Ok(Found {
                    name: name.clone(),
                    entry: entry.clone(),
                    notes: Vec::new(),
                }),
            };
            match found {
                Ok(found) => taken.servers.push(found),
                Err(why) => taken.left.push((name.clone(), why)),
            }
        }
    }
    Ok(taken)
}

fn claude(name: &str, entry: &Value) -> Found {
    let same = |reference: &str| Some(format!("${{{reference}}}"));
    Found {
        name: name.to_owned(),
        entry: translated(entry.clone(), &same),
        notes: Vec::new(),
    }
}

fn cursor(name: &str, entry: &Value) -> Found {
    let reference = |reference: &str| match reference {
        "userHome" => Some("${HOME}".to_owned()),
        "pathSeparator" | "/" => Some("/".to_owned()),
        other => other
            .strip_prefix("env:")
            .map(|name| format!("${{{name}}}")),
    };
    let mut entry = translated(entry.clone(), &reference);
    if let Some(members) = entry.as_object_mut()
        && members.contains_key("url")
        && !members.contains_key("type")
    {
        members.insert("type".to_owned(), "http".into());
    }
    in_folders(Found {
        name: name.to_owned(),
        entry,
        notes: Vec::new(),
    })
}

/// A server of an editor's user, which may be meant for whatever folder is open: one that only works there has
/// a process for each folder here. What else names the folder stands for nothing, and that is said.
fn in_folders(mut found: Found) -> Found {
    if let Some(members) = found.entry.as_object_mut()
        && members.get("cwd").is_some_and(|cwd| cwd == FOLDER)
    {
        members.shift_remove("cwd");
        members.insert("instance".to_owned(), "workspace".into());
    }
    if found.entry.to_string().contains(FOLDER) {
        let why =
            "it names the folder that is open, which can only be followed in a folder's own file";
        found.notes.push(why.to_owned());
    }
    found
}

/// Pairs of text of an object, numbers and switches as text.
fn pairs(value: Option<&Value>) -> Map<String, Value> {
    let members = value.and_then(Value::as_object).into_iter().flatten();
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    };
    members
        .filter_map(|(name, value)| Some((name.clone(), Value::String(text(value)?))))
        .collect()
}

// === impl Foreign ===

impl Foreign {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Claude,
        Self::Copilot,
        Self::Vscode,
        Self::Cursor,
        Self::Codex,
        Self::Goose,
        Self::Opencode,
    ];

    /// Its name as an argument.
    pub fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Copilot => "copilot",
            Self::Vscode => "vscode",
            Self::Cursor => "cursor",
            Self::Codex => "codex",
            Self::Goose => "goose",
            Self::Opencode => "opencode",
        }
    }

    /// Its name for people.
    pub fn title(self) -> &'static str {
        match self {
            Self::Claude => "Claude Code",
            Self::Copilot => "Copilot CLI",
            Self::Vscode => "Visual Studio Code",
            Self::Cursor => "Cursor",
            Self::Codex => "Codex",
            Self::Goose => "Goose",
            Self::Opencode => "opencode",
        }
    }

    /// The member of its file that holds servers.
    pub fn member(self) -> &'static str {
        match self {
            Self::Claude | Self::Copilot | Self::Cursor => "mcpServers",
            Self::Vscode => "servers",
            Self::Codex => "mcp_servers",
            Self::Goose => "extensions",
            Self::Opencode => "mcp",
        }
    }

    /// The file of the user's own configuration.
    pub fn file(self, environment: &Environment) -> Option<PathBuf> {
        let home = environment.user_home()?;
        let folder = |name: &str, default: &str| {
            let named = environment.get(name).filter(|text| !text.is_empty());
            named.map_or_else(|| home.join(default), PathBuf::from)
        };
        Some(match self {
            Self::Claude => match environment.get("CLAUDE_CONFIG_DIR") {
                Some(folder) if !folder.is_empty() => PathBuf::from(folder).join(".claude.json"),
                _ => home.join(".claude.json"),
            },
            Self::Copilot => folder("COPILOT_HOME", ".copilot").join("mcp-config.json"),
            Self::Vscode if cfg!(target_os = "macos") => {
                home.join("Library/Application Support/Code/User/mcp.json")
            }
            Self::Vscode => folder("XDG_CONFIG_HOME", ".config").join("Code/User/mcp.json"),
            Self::Cursor => home.join(".cursor/mcp.json"),
            Self::Codex => folder("CODEX_HOME", ".codex").join("config.toml"),
            Self::Goose => folder("XDG_CONFIG_HOME", ".config").join("goose/config.yaml"),
            Self::Opencode => {
                let folder = folder("XDG_CONFIG_HOME", ".config").join("opencode");
                // Its own command makes the second; it reads both.
                let (plain, commented) =
                    (folder.join("opencode.json"), folder.join("opencode.jsonc"));
                if !plain.exists() && commented.exists() {
                    commented
                } else {
                    plain
                }
            }
        })
    }
}

#[cfg(test)]
mod tests;
