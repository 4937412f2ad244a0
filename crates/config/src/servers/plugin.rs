//! Servers of plugins: folders that the owner put below `plugins` of the data
//! directory, in the shape that coding agents install.
//!
//! A plugin comes from somebody else and is updated by them, so its servers
//! run only as the owner agreed to them, like those of a folder. It names
//! nothing outside its own folder: what it runs is what the owner can look at.

use std::collections::HashSet;
use std::path::{Component, Path, PathBuf};

use legation_core::Home;
use serde_json::{Map, Value};

use super::load::{Entries, Hidden, entries, file_problem, unreadable};
use super::{Loaded, Problem, ProblemKind, Source, read_entry};
use crate::environment::escaped;
use crate::trust::{self, State, Trust};
use crate::{file, json};

/// Where a manifest may lie, the first that is there.
const MANIFESTS: [&str; 4] = [
    "plugin.json",
    ".plugin/plugin.json",
    ".github/plugin/plugin.json",
    ".claude-plugin/plugin.json",
];

/// The servers of a plugin whose manifest names no file of them.
const SERVERS: &str = ".mcp.json";

/// What stands for the plugin's folder in its entries.
const ROOTS: [&str; 3] = [
    "${CLAUDE_PLUGIN_ROOT}",
    "${COPILOT_PLUGIN_ROOT}",
    "${PLUGIN_ROOT}",
];

/// More plugins are a mistake, and all are read at every change.
const PLUGINS_MAX: usize = 64;

/// What a plugin's folder holds.
#[derive(Debug, Default)]
pub(crate) struct Plugin {
    /// Its entries and where each stands.
    pub(crate) entries: Vec<(Source, String, Value)>,
    /// Files and entries that cannot be used.
    pub(crate) problems: Vec<Problem>,
}

/// The servers of all plugins, as far as the owner trusts them. Of two plugins with an entry of one
/// name the first by the name of its folder counts.
pub fn plugins(home: &Home) -> Loaded {
    let mut loaded = Loaded::default();
    let trust = Trust::load(home);
    let mut seen: HashSet<String> = HashSet::new();
    for folder in folders(home) {
        let plugin = read(&folder);
        loaded.problems.extend(plugin.problems);
        for (source, name, entry) in plugin.entries {
            if !seen.insert(name.clone()) {
                let by = loaded
                    .servers
                    .iter()
                    .find(|server| server.name.as_str() == name);
                loaded.hidden.extend(by.map(|by| Hidden {
                    name: name.into(),
                    source,
                    by: by.source.clone(),
                }));
                continue;
            }
            match trust.state(&folder, &name, &entry) {
                State::Trusted => loaded.add(read_entry(&name, &entry, &source, true)),
                state => {
                    let problem = trust::problem(&source, &name, state, trust.broken());
                    loaded.problems.push(problem);
                }
            }
        }
    }
    loaded
}

/// The plugin that `folder` is, if it is one of the data directory's.
pub(crate) fn plugin_at(home: &Home, folder: &Path) -> Option<Plugin> {
    let is_it = folders(home).iter().any(|known| known == folder);
    is_it.then(|| read(folder))
}

/// The files whose change matters; they need not exist.
pub(crate) fn plugin_files(home: &Home) -> Vec<PathBuf> {
    let mut files = vec![home.plugins()];
    for folder in folders(home) {
        files.extend(MANIFESTS.iter().map(|name| folder.join(name)));
        files.push(folder.join(SERVERS));
        let named = read(&folder).entries.into_iter();
        files.extend(named.filter_map(|(source, ..)| source.file().map(Path::to_owned)));
    }
    files.sort_unstable();
    files.dedup();
    files
}

/// The folders of plugins where they really are, by name.
fn folders(home: &Home) -> Vec<PathBuf> {
    let Ok(found) = std::fs::read_dir(home.plugins()) else {
        return Vec::new();
    };
    let mut folders: Vec<PathBuf> = found
        .flatten()
        .map(|one| one.path())
        .filter(|path| path.is_dir())
        .collect();
    folders.sort_unstable();
    folders.truncate(PLUGINS_MAX);
    let real = folders.iter().filter_map(|path| path.canonicalize().ok());
    real.collect()
}

fn read(root: &Path) -> Plugin {
    let mut plugin = Plugin::default();
    let folder_name = root.file_name().unwrap_or_default().to_string_lossy();
    let manifest = MANIFESTS
        .iter()
        .map(|name| root.join(name))
        .find(|file| file.is_file());
    let source_of = |name: &str, file: &Path| Source::Plugin {
        plugin: name.into(),
        folder: root.to_owned(),
        file: file.to_owned(),
    };
    let Some(manifest) = manifest else {
        let file = root.join(SERVERS);
        let source = source_of(&folder_name, &file);
        plugin.add_file(&source, &file, root);
        return plugin;
    };
    let source = source_of(&folder_name, &manifest);
    let members = match text_of(&manifest, &source).and_then(|text| members(&text, &source)) {
        Ok(members) => members,
        Err(problem) => {
            plugin.problems.push(*problem);
            return plugin;
        }
    };
    let name = members
        .get("name")
        .and_then(Value::as_str)
        .unwrap_or(&folder_name);
    let source = source_of(name, &manifest);
    match members.get("mcpServers") {
        None | Some(Value::Null) => {
            let file = root.join(SERVERS);
            plugin.add_file(&source_of(name, &file), &file, root);
        }
        Some(Value::Object(servers)) => {
            let servers = servers
                .get("mcpServers")
                .and_then(Value::as_object)
                .unwrap_or(servers);
            plugin.add(&source, servers.clone().into_iter().collect(), root);
        }
        Some(Value::String(path)) => plugin.add_named(&source, path, root, &source_of, name),
        Some(Value::Array(paths)) => {
            for path in paths {
                match path.as_str() {
                    Some(path) => plugin.add_named(&source, path, root, &source_of, name),
                    None => plugin.problems.push(not_servers(&source)),
                }
            }
        }
        Some(_) => plugin.problems.push(not_servers(&source)),
    }
    plugin
}

fn not_servers(source: &Source) -> Problem {
    *file_problem(
        source,
        "mcpServers is neither an object of servers nor the path of a file".to_owned(),
        "Ask the plugin's author.",
    )
}

fn text_of(file: &Path, source: &Source) -> Result<String, Box<Problem>> {
    match file::read(file) {
        Ok(text) => Ok(text.unwrap_or_default()),
        Err(error) => Err(unreadable(source, &error)),
    }
}

fn members(text: &str, source: &Source) -> Result<Map<String, Value>, Box<Problem>> {
    match json::parse(text) {
        Ok(Value::Object(members)) => Ok(members),
        Ok(_) => Err(file_problem(
            source,
            "it does not hold a JSON object".to_owned(),
            "Ask the plugin's author.",
        )),
        Err(error) => Err(file_problem(source, error.to_string(), error.hint())),
    }
}

/// A path of a plugin, if it stays in its folder, links included.
fn within(root: &Path, path: &str) -> Option<PathBuf> {
    let mut at = root.to_owned();
    for part in Path::new(path).components() {
        match part {
            Component::RootDir => at = PathBuf::from("/"),
            Component::Normal(name) => at.push(name),
            Component::CurDir => {}
            Component::ParentDir | Component::Prefix(_) => return None,
        }
    }
    // What is not there yet is judged by the nearest folder that is.
    let there = at.ancestors().find_map(|level| level.canonicalize().ok())?;
    (at.starts_with(root) && there.starts_with(root)).then_some(at)
}

/// The field of an entry that names something outside the plugin's folder.
fn names_outside(entry: &Value, root: &Path) -> Option<String> {
    let text = |key: &str| entry.get(key).and_then(Value::as_str);
    if text("command")
        .is_some_and(|command| command.contains('/') && within(root, command).is_none())
    {
        return Some("command".to_owned());
    }
    for key in ["cwd", "envFile"] {
        if text(key).is_some_and(|path| within(root, path).is_none()) {
            return Some(key.to_owned());
        }
    }
    for key in ["caFile", "clientCert", "clientKey"] {
        let file = entry.get("tls").and_then(|tls| tls.get(key)?.as_str());
        if file.is_some_and(|path| within(root, path).is_none()) {
            return Some(format!("tls.{key}"));
        }
    }
    let args = entry.get("args").and_then(Value::as_array);
    let args = args
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .enumerate();
    let mut wrong = args.filter(|(_, arg)| {
        // `--flag=/path` names a path, too.
        let path = arg.split_once('=').map_or(*arg, |(_, path)| path);
        let is_path = path.starts_with(['/', '~'])
            || Path::new(path)
                .components()
                .any(|part| part == Component::ParentDir);
        is_path && (path.starts_with('~') || within(root, path).is_none())
    });
    wrong.next().map(|(index, _)| format!("args[{index}]"))
}

/// The entry with the plugin's folder in the place of what stands for it.
fn rooted(value: Value, root: &str) -> Value {
    match value {
        Value::String(text) => Value::String(
            ROOTS
                .iter()
                .fold(text, |text, name| text.replace(name, root)),
        ),
        Value::Array(items) => items.into_iter().map(|item| rooted(item, root)).collect(),
        Value::Object(members) => members
            .into_iter()
            .map(|(name, value)| (name, rooted(value, root)))
            .collect::<Map<String, Value>>()
            .into(),
        other @ (Value::Null | Value::Bool(_) | Value::Number(_)) => other,
    }
}

// === impl Plugin ===

impl Plugin {
    fn add_named(
        &mut self,
        manifest: &Source,
        path: &str,
        root: &Path,
        source_of: &dyn Fn(&str, &Path) -> Source,
        name: &str,
    ) {
        let path = ROOTS.iter().fold(path.to_owned(), |path, root_name| {
            path.replace(root_name, &root.to_string_lossy())
        });
        match within(root, &path) {
            Some(file) if file.is_file() => self.add_file(&source_of(name, &file), &file, root),
            Some(_) => self.problems.push(*file_problem(
                manifest,
                "mcpServers names a file that is not there".to_owned(),
                "Ask the plugin's author.",
            )),
            None => self.problems.push(*file_problem(
                manifest,
                "mcpServers names a file outside the plugin's folder, so none of its servers is used"
                    .to_owned(),
                "A plugin names only what lies in its own folder. Ask its author.",
            )),
        }
    }

    fn add_file(&mut self, source: &Source, file: &Path, root: &Path) {
        let found = match text_of(file, source) {
            Ok(text) if text.trim().is_empty() => return,
            Ok(text) => entries(&text, source),
            Err(problem) => Err(problem),
        };
        match found {
            Ok(found) => self.add(source, found, root),
            Err(problem) => self.problems.push(*problem),
        }
    }

    fn add(&mut self, source: &Source, found: Entries, root: &Path) {
        let folder = escaped(&root.to_string_lossy());
        for (name, entry) in found {
            let entry = rooted(entry, &folder);
            // Paths are judged as they will be, not as a template spells them.
            let plain = rooted_plain(&entry);
            match names_outside(&plain, root) {
                None => self.entries.push((source.clone(), name, entry)),
                Some(field) => self.problems.push(Problem {
                    source: source.clone(),
                    server: Some(name.into()),
                    kind: ProblemKind::Entry,
                    message: format!(
                        "{field} names something outside the plugin's folder, so the server is not used"
                    ),
                    hint: "A plugin names only what lies in its own folder. Ask its author."
                        .to_owned(),
                }),
            }
        }
    }
}

/// The entry with `$$` as the dollar sign it stands for.
fn rooted_plain(entry: &Value) -> Value {
    match entry {
        Value::String(text) => Value::String(text.replace("$$", "$")),
        Value::Array(items) => items.iter().map(rooted_plain).collect(),
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| (name.clone(), rooted_plain(value)))
            .collect::<Map<String, Value>>()
            .into(),
        other @ (Value::Null | Value::Bool(_) | Value::Number(_)) => other.clone(),
    }
}
