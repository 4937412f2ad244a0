//! From files to lists of servers.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use legation_core::Home;
use serde_json::Value;

use super::{Input, Problem, ProblemKind, ServerSpec, Source, read_entry, vscode, workspace_files};
use crate::environment::Environment;
use crate::governance::{self, Found};
use crate::trust::{self, State, Trust};
use crate::{file, json};

/// The servers of one or several sources and what is wrong with the rest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    /// Each name once, in the order of the file.
    pub servers: Vec<ServerSpec>,
    /// What the owner should know.
    pub problems: Vec<Problem>,
    /// Entries that do not count, because a stronger one has their name.
    pub hidden: Vec<Hidden>,
}

/// An entry that does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hidden {
    /// Its name.
    pub name: Box<str>,
    /// Where it stands.
    pub source: Source,
    /// Where the one stands that counts.
    pub by: Source,
}

/// The entries of one file as written.
pub(crate) type Entries = Vec<(String, Value)>;

/// What a workspace file holds.
#[derive(Debug, Default)]
pub(crate) struct WorkspaceFile {
    pub(crate) entries: Entries,
    /// What they want to be asked for.
    pub(crate) inputs: Vec<Input>,
}

/// Servers for everybody on this machine.
const DEFAULTS: &str = "/etc/legation/mcp.json";

/// Names another file in its place.
const DEFAULTS_VARIABLE: &str = "LEGATION_DEFAULT_MCP_CONFIG";

/// The file of servers that everybody is given; it need not exist.
pub(crate) fn defaults_file(environment: &Environment) -> PathBuf {
    let other = environment
        .get_os(DEFAULTS_VARIABLE)
        .filter(|path| !path.is_empty());
    other.map_or_else(|| PathBuf::from(DEFAULTS), PathBuf::from)
}

/// The servers that everybody on this machine is given. The file is believed when nobody but its
/// owner, who is this user or the system's, can write it.
pub fn defaults(environment: &Environment) -> Loaded {
    let file = defaults_file(environment);
    let source = Source::Default { file: file.clone() };
    let mut loaded = Loaded::default();
    let found = match governance::read_one(&file) {
        Found::Absent => return loaded,
        Found::Text(text) => entries(&text, &source),
        Found::Unusable(why) => Err(file_problem(
            &source,
            format!("it cannot be believed: {why}"),
            "Only its owner may be able to write it, and it may be no link.",
        )),
    };
    match found {
        Ok(found) => {
            for (name, entry) in found {
                loaded.add(read_entry(&name, &entry, &source, true));
            }
        }
        Err(problem) => loaded.problems.push(*problem),
    }
    loaded
}

/// What a file of [`workspace_files`] holds; no file holds nothing.
pub(crate) fn read_workspace_file(source: &Source) -> Result<WorkspaceFile, Box<Problem>> {
    let (Some(file), Some(folder)) = (source.file(), source.folder()) else {
        return Ok(WorkspaceFile::default());
    };
    let text = file::read(file).map_err(|error| unreadable(source, &error))?;
    let Some(text) = text.filter(|text| !text.trim().is_empty()) else {
        return Ok(WorkspaceFile::default());
    };
    if source.is_vscode() {
        let (entries, inputs) = vscode::read(&text, Some(folder)).map_err(|message| {
            file_problem(source, message, "Correct the file, as the editor shows it.")
        })?;
        return Ok(WorkspaceFile { entries, inputs });
    }
    let entries = entries(&text, source)?;
    let inputs = Vec::new();
    Ok(WorkspaceFile { entries, inputs })
}

/// The owner's servers. No file means no servers.
pub fn user(home: &Home) -> Loaded {
    let file = home.servers();
    let source = Source::User { file: file.clone() };
    let mut loaded = Loaded::default();
    for (name, entry) in loaded.entries_of_file(&file, &source) {
        loaded.add(read_entry(&name, &entry, &source, true));
    }
    loaded
}

/// The servers of the command line: each argument is JSON or `@file`. Between
/// two arguments the later one counts.
pub fn additional<A: AsRef<str>>(arguments: &[A], working_directory: &Path) -> Loaded {
    let mut all = Loaded::default();
    for argument in arguments {
        let argument = argument.as_ref();
        let mut loaded = Loaded::default();
        let (source, found) = if let Some(path) = argument.strip_prefix('@') {
            let path: PathBuf = working_directory.join(path);
            let source = Source::Additional {
                file: Some(path.clone()),
            };
            // A file that was named has to be there.
            let found = match file::read(&path) {
                Ok(Some(text)) => entries(&text, &source),
                Ok(None) => Err(file_problem(
                    &source,
                    "there is no such file".to_owned(),
                    "Check the path behind the @.",
                )),
                Err(error) => Err(unreadable(&source, &error)),
            };
            (source, found)
        } else {
            let source = Source::Additional { file: None };
            let found = entries(argument, &source);
            (source, found)
        };
        match found {
            Ok(found) => {
                for (name, entry) in found {
                    loaded.add(read_entry(&name, &entry, &source, true));
                }
            }
            Err(problem) => loaded.problems.push(*problem),
        }
        all = loaded.over(all);
    }
    all
}

/// The servers that `folder` brings along, as far as the owner trusts them.
/// An entry nearer to `folder` hides one of the same name farther up, also
/// when the nearer one is not trusted: otherwise refusing it would start the
/// other.
pub fn workspace(home: &Home, folder: &Path) -> Loaded {
    let folder = folder
        .canonicalize()
        .unwrap_or_else(|_| folder.to_path_buf());
    let mut loaded = Loaded::default();
    let trust = Trust::load(home);
    let mut seen: HashMap<String, Source> = HashMap::new();
    for source in workspace_files(&folder) {
        let Source::Workspace { folder, .. } = &source else {
            continue;
        };
        let found = match read_workspace_file(&source) {
            Ok(found) => found.entries,
            Err(problem) => {
                loaded.problems.push(*problem);
                continue;
            }
        };
        for (name, entry) in found {
            if let Some(by) = seen.get(&name) {
                loaded.hidden.push(Hidden {
                    name: name.into(),
                    source: source.clone(),
                    by: by.clone(),
                });
                continue;
            }
            seen.insert(name.clone(), source.clone());
            match trust.state(folder, &name, &entry) {
                State::Trusted => loaded.add(read_entry(&name, &entry, &source, true)),
                state => {
                    loaded
                        .problems
                        .push(trust::problem(&source, &name, state, trust.broken()))
                }
            }
        }
    }
    loaded
}

/// The entries of a file's text, in order.
pub(crate) fn entries(text: &str, source: &Source) -> Result<Entries, Box<Problem>> {
    let value =
        json::parse(text).map_err(|error| file_problem(source, error.to_string(), error.hint()))?;
    let Value::Object(mut root) = value else {
        return Err(file_problem(
            source,
            "it does not hold a JSON object".to_owned(),
            SHAPE,
        ));
    };
    if let Some(servers) = root.shift_remove("mcpServers") {
        return match servers {
            Value::Object(servers) => Ok(servers.into_iter().collect()),
            _ => Err(file_problem(
                source,
                "mcpServers is not an object".to_owned(),
                SHAPE,
            )),
        };
    }
    if root.get("servers").is_some_and(is_map_of_entries) {
        return Err(file_problem(
            source,
            "it has `servers`, which is the shape of one editor's own file".to_owned(),
            "Rename `servers` to `mcpServers` and write ${VARIABLE} or ${keyring:NAME} for `inputs`, or keep the file as .vscode/mcp.json.",
        ));
    }
    root.shift_remove("$schema");
    Ok(root.into_iter().collect())
}

const SHAPE: &str = "Write {\"mcpServers\": {\"NAME\": {\"command\": …}}}.";

fn is_map_of_entries(value: &Value) -> bool {
    value.as_object().is_some_and(|entries| {
        entries.values().all(Value::is_object)
            && !entries.is_empty()
            && !entries.contains_key("command")
            && !entries.contains_key("url")
    })
}

pub(super) fn file_problem(source: &Source, message: String, hint: &str) -> Box<Problem> {
    Box::new(Problem {
        source: source.clone(),
        server: None,
        kind: ProblemKind::File,
        message,
        hint: hint.to_owned(),
    })
}

pub(super) fn unreadable(source: &Source, error: &file::ReadError) -> Box<Problem> {
    file_problem(
        source,
        format!("it could not be read: {}", error.source),
        "Check that it is a file of yours and that you may read it.",
    )
}

// === impl Loaded ===

impl Loaded {
    /// Whether every file could be read; if not, servers that were known
    /// before may still exist, and a reload should not stop them.
    pub fn files_are_whole(&self) -> bool {
        self.problems
            .iter()
            .all(|problem| problem.kind != ProblemKind::File)
    }

    /// These servers, and those of `lower` whose names are not taken. An
    /// entry that is wrong takes its name too: the one it hides is not what
    /// its author asked for. One that is merely not trusted takes nothing, so
    /// that a foreign folder cannot switch the owner's servers off.
    #[must_use]
    pub fn over(mut self, lower: Self) -> Self {
        let taken: HashSet<String> = self
            .servers
            .iter()
            .map(|server| server.name.as_str().to_owned())
            .chain(
                self.problems
                    .iter()
                    .filter(|problem| !problem.kind.is_about_trust())
                    .filter_map(|problem| problem.server.as_deref().map(str::to_owned)),
            )
            .collect();
        for server in lower.servers {
            if !taken.contains(server.name.as_str()) {
                self.servers.push(server);
                continue;
            }
            let by = self.source_of(server.name.as_str());
            self.hidden.extend(by.map(|by| Hidden {
                name: server.name.as_str().into(),
                source: server.source,
                by,
            }));
        }
        self.problems.extend(lower.problems);
        self.hidden.extend(lower.hidden);
        self
    }

    /// Where the entry stands that has a name, whether it can be used or not.
    fn source_of(&self, name: &str) -> Option<Source> {
        let server = self
            .servers
            .iter()
            .find(|server| server.name.as_str() == name);
        let problem = || {
            self.problems
                .iter()
                .find(|problem| problem.server.as_deref() == Some(name))
        };
        server
            .map(|server| server.source.clone())
            .or_else(|| problem().map(|problem| problem.source.clone()))
    }

    /// Problems that only show when references are followed: a variable that
    /// is not set, say. The servers stay; starting them fails the same way.
    pub fn unresolved(
        &self,
        environment: &Environment,
        env_mode: super::EnvMode,
    ) -> Vec<super::ResolveError> {
        self.servers
            .iter()
            .filter(|server| !server.disabled)
            .filter_map(|server| server.resolve(environment, env_mode).err())
            .collect()
    }

    fn entries_of_file(&mut self, path: &Path, source: &Source) -> Entries {
        let found = match file::read(path) {
            Ok(None) => Ok(Entries::new()),
            Ok(Some(text)) if text.trim().is_empty() => Ok(Entries::new()),
            Ok(Some(text)) => entries(&text, source),
            Err(error) => Err(unreadable(source, &error)),
        };
        found.unwrap_or_else(|problem| {
            self.problems.push(*problem);
            Entries::new()
        })
    }

    pub(super) fn add(&mut self, (spec, problems): (Option<ServerSpec>, Vec<Problem>)) {
        self.servers.extend(spec);
        self.problems.extend(problems);
    }
}
