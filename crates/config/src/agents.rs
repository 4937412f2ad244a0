//! Custom agents: a file with a model, tools, servers and words, and what a folder wants of whoever
//! works in it.
//!
//! The files of other programs are read as they are: `.github/agents/NAME.agent.md`,
//! `.claude/agents/NAME.md` and `AGENTS.md` in a folder that its owner trusts, and
//! `agents/NAME.agent.md` in the data directory. What a folder says of tools only takes away: an
//! agent has no authority that its delegator lacks.

mod brought;
mod front_matter;

use std::fmt;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value};

pub use brought::servers;
pub(crate) use brought::{entry_name, of_folder};
pub use front_matter::FrontMatterError;

/// The members of a text in the part of YAML that heads are written in.
pub(crate) fn yaml_members(
    text: &str,
) -> Result<serde_json::Map<String, serde_json::Value>, String> {
    let whole = format!("---\n{text}\n---\n");
    let (members, _) = front_matter::parse(&whole).map_err(|error| error.what.to_owned())?;
    Ok(members)
}

/// Longest file of an agent's or a folder's.
const FILE_MAX: u64 = 64 * 1024;
/// How much of a folder's wishes its tasks read.
const INSTRUCTIONS_MAX: usize = 6 * 1024;
/// Longest name of an agent.
const NAME_MAX: usize = 64;
/// Most agents that are listed of one place.
const AGENTS_MAX: usize = 100;

/// A custom agent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Agent {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Its model, where it wants one.
    pub model: Option<String>,
    /// Its tools; the usual ones where it does not say.
    pub tools: Option<Vec<String>>,
    /// Its own servers, as entries of an `mcp.json`.
    pub servers: Map<String, Value>,
    /// What it is told.
    pub prompt: String,
    /// Its file.
    pub file: PathBuf,
    /// The folder that brings it along; absent for the owner's own.
    pub folder: Option<PathBuf>,
}

/// Where agents come from, and who may be believed.
#[derive(Clone)]
pub struct AgentFiles {
    /// The owner's own agents.
    own: PathBuf,
    is_trusted: Arc<dyn Fn(&Path) -> bool + Send + Sync>,
}

/// An agent that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// There is none of that name.
    #[error("there is no agent {name:?}; nothing was begun")]
    Unknown {
        /// As given.
        name: String,
    },
    /// Its file is in a folder that nobody trusts.
    #[error("agent {name:?} is of a folder that is not trusted; nothing was begun")]
    NotTrusted {
        /// As given.
        name: String,
    },
    /// Its file cannot be read.
    #[error("the file of agent {name:?} cannot be read; nothing was begun")]
    Read {
        /// Which.
        name: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// Its file is not one of an agent.
    #[error("the file of agent {name:?} cannot be understood; nothing was begun")]
    Malformed {
        /// Which.
        name: String,
        /// Why.
        #[source]
        source: FrontMatterError,
    },
}

// === impl Agent ===

impl Agent {
    /// Reads the file of an agent that is called `name` where it does not say so itself.
    ///
    /// # Errors
    /// See [`FrontMatterError`].
    pub fn parse(name: &str, text: &str) -> Result<Self, FrontMatterError> {
        let (front, body) = front_matter::parse(text)?;
        let word = |member: &str| {
            let text = front.get(member)?.as_str()?.trim();
            (!text.is_empty()).then(|| text.to_owned())
        };
        let servers = front.get("mcp-servers").or_else(|| front.get("mcpServers"));
        Ok(Self {
            name: word("name").unwrap_or_else(|| name.to_owned()),
            description: word("description").unwrap_or_default(),
            // The words by which other programs mean whatever runs anyway.
            model: word("model").filter(|model| !matches!(model.as_str(), "inherit" | "default")),
            tools: front.get("tools").and_then(tools),
            servers: servers
                .and_then(Value::as_object)
                .cloned()
                .unwrap_or_default(),
            prompt: body.trim().to_owned(),
            file: PathBuf::new(),
            folder: None,
        })
    }
}

// === impl AgentFiles ===

impl AgentFiles {
    /// The agents of a data directory, and of folders of which `is_trusted` says that their files
    /// may be believed.
    #[must_use]
    pub fn new(home: &Path, is_trusted: impl Fn(&Path) -> bool + Send + Sync + 'static) -> Self {
        Self {
            own: home.join("agents"),
            is_trusted: Arc::new(is_trusted),
        }
    }

    /// An agent by its name: the folder's before the owner's own.
    ///
    /// # Errors
    /// See [`AgentError`].
    pub fn agent(&self, workspace: Option<&Path>, name: &str) -> Result<Agent, AgentError> {
        let unknown = || AgentError::Unknown {
            name: name.to_owned(),
        };
        // A name, never a path.
        let is_name = name.len() <= NAME_MAX
            && !name.is_empty()
            && name
                .chars()
                .all(|letter| letter.is_alphanumeric() || matches!(letter, '-' | '_'));
        if !is_name {
            return Err(unknown());
        }
        for (path, is_own) in self.places(workspace, name) {
            let text = match read(&path) {
                Ok(Some(text)) => text,
                Ok(None) => continue,
                Err(source) => {
                    let name = name.to_owned();
                    return Err(AgentError::Read { name, source });
                }
            };
            if !is_own && !workspace.is_some_and(|folder| (self.is_trusted)(folder)) {
                return Err(AgentError::NotTrusted {
                    name: name.to_owned(),
                });
            }
            let agent = Agent::parse(name, &text).map_err(|source| AgentError::Malformed {
                name: name.to_owned(),
                source,
            })?;
            return Ok(Agent {
                folder: workspace.filter(|_| !is_own).map(Path::to_owned),
                file: path,
                ..agent
            });
        }
        Err(unknown())
    }

    /// The agents there are; files that cannot be read are left out.
    #[must_use]
    pub fn agents(&self, workspace: Option<&Path>) -> Vec<Agent> {
        let mut folders = vec![self.own.clone()];
        if let Some(folder) = workspace.filter(|folder| (self.is_trusted)(folder)) {
            folders.push(folder.join(".github/agents"));
            folders.push(folder.join(".claude/agents"));
        }
        let mut names = Vec::new();
        for folder in folders {
            let Ok(files) = std::fs::read_dir(folder) else {
                continue;
            };
            for file in files.flatten().take(AGENTS_MAX) {
                let name = file.file_name().to_string_lossy().into_owned();
                let name = name.strip_suffix(".md").map(|name| {
                    let plain = name.strip_suffix(".agent").unwrap_or(name);
                    plain.to_owned()
                });
                names.extend(name);
            }
        }
        names.sort_unstable();
        names.dedup();
        let agents = names.iter().map(|name| self.agent(workspace, name));
        agents.flatten().collect()
    }

    /// What a folder wants of whoever works in it, if it is trusted and says so.
    #[must_use]
    pub fn instructions(&self, workspace: &Path) -> Option<String> {
        if !(self.is_trusted)(workspace) {
            return None;
        }
        let mut text = ["AGENTS.md", ".github/copilot-instructions.md", "CLAUDE.md"]
            .iter()
            .find_map(|name| read(&workspace.join(name)).ok().flatten())?;
        text.truncate(text.floor_char_boundary(INSTRUCTIONS_MAX));
        Some(text).filter(|text| !text.trim().is_empty())
    }

    /// Where the file of an agent may be, and whether that is the owner's own place.
    fn places(&self, workspace: Option<&Path>, name: &str) -> Vec<(PathBuf, bool)> {
        let mut places = Vec::new();
        if let Some(folder) = workspace {
            for (place, ends) in [
                (".github/agents", ".agent.md"),
                (".github/agents", ".md"),
                (".claude/agents", ".md"),
            ] {
                places.push((folder.join(place).join(format!("{name}{ends}")), false));
            }
        }
        for ends in [".agent.md", ".md"] {
            places.push((self.own.join(format!("{name}{ends}")), true));
        }
        places
    }
}

impl fmt::Debug for AgentFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentFiles")
            .field("own", &self.own)
            .finish_non_exhaustive()
    }
}

// === impl AgentError ===

impl AgentError {
    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Unknown { .. } => {
                "agents are files in `.github/agents`, `.claude/agents` or the data directory's `agents`"
                    .to_owned()
            }
            Self::NotTrusted { .. } => {
                "trust the folder with `legation trust`, or copy the file into the data directory's `agents`"
                    .to_owned()
            }
            Self::Read { .. } => "see the file's mode and length".to_owned(),
            Self::Malformed { .. } => {
                "write its head as `key: value` lines between two lines of `---`".to_owned()
            }
        }
    }
}

/// Tools as a list, or as words between commas.
fn tools(value: &Value) -> Option<Vec<String>> {
    let words: Vec<String> = match value {
        Value::Array(items) => items
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect(),
        Value::String(text) => text.split(',').map(|word| word.trim().to_owned()).collect(),
        _ => return None,
    };
    Some(words.into_iter().filter(|word| !word.is_empty()).collect())
}

/// A regular file's text, if there is one. A link is not followed: it could lead anywhere.
fn read(path: &Path) -> std::io::Result<Option<String>> {
    let is_file = match std::fs::symlink_metadata(path) {
        Ok(facts) => facts.is_file(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => return Ok(None),
        Err(error) => return Err(error),
    };
    if !is_file {
        return Ok(None);
    }
    let mut text = String::new();
    let mut file = std::fs::File::open(path)?.take(FILE_MAX + 1);
    file.read_to_string(&mut text)?;
    if text.len() as u64 > FILE_MAX {
        return Err(std::io::Error::other(format!(
            "it has more than {FILE_MAX} bytes"
        )));
    }
    Ok(Some(text))
}

#[cfg(test)]
mod tests;
