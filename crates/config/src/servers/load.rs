//! From files to lists of servers.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use legation_core::Home;
use serde_json::Value;

use super::{Problem, ProblemKind, ServerSpec, Source, read_entry, workspace_files};
use crate::environment::Environment;
use crate::trust::{self, State, Trust};
use crate::{file, json};

/// The servers of one or several sources and what is wrong with the rest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    /// Each name once, in the order of the file.
    pub servers: Vec<ServerSpec>,
    /// What the owner should know.
    pub problems: Vec<Problem>,
}

/// The entries of one file as written.
pub(crate) type Entries = Vec<(String, Value)>;

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
            Err(problem) => loaded.problems.push(problem),
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
    let mut seen = HashSet::new();
    for source in workspace_files(&folder) {
        let Source::Workspace { folder, file } = &source else {
            continue;
        };
        for (name, entry) in loaded.entries_of_file(file, &source) {
            if !seen.insert(name.clone()) {
                continue;
            }
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
pub(crate) fn entries(text: &str, source: &Source) -> Result<Entries, Problem> {
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
            "Rename `servers` to `mcpServers`; `inputs` have no equivalent, use ${VARIABLE}.",
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

fn file_problem(source: &Source, message: String, hint: &str) -> Problem {
    Problem {
        source: source.clone(),
        server: None,
        kind: ProblemKind::File,
        message,
        hint: hint.to_owned(),
    }
}

fn unreadable(source: &Source, error: &file::ReadError) -> Problem {
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
        self.servers.extend(
            lower
                .servers
                .into_iter()
                .filter(|server| !taken.contains(server.name.as_str())),
        );
        self.problems.extend(lower.problems);
        self
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
            self.problems.push(problem);
            Entries::new()
        })
    }

    fn add(&mut self, (spec, problems): (Option<ServerSpec>, Vec<Problem>)) {
        self.servers.extend(spec);
        self.problems.extend(problems);
    }
}
