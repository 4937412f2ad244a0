//! Files: how long they are, that each is compiled, that each crate says what it is.

use std::collections::BTreeSet;

use super::Finding;
use super::workspace::{Crate, File, Workspace};

/// A file aims at no more than this many production lines …
const AIM_LINES: usize = 400;
/// … and stops here: beyond it is split by noun.
const MAX_LINES: usize = 600;

/// No file grows beyond what can be read in one sitting; tests are not counted, the harness and
/// the fixtures are.
pub(super) fn file_length(workspace: &Workspace) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in workspace.rust().filter(|f| counted(f)) {
        let lines = file.text.lines().count();
        if lines > MAX_LINES {
            let message = format!("{lines} lines; {MAX_LINES} is the end, split it by noun");
            findings.push(Finding::error("file-length", &file.path, message));
        } else if lines > AIM_LINES {
            let message = format!("{lines} lines; aim at {AIM_LINES}");
            findings.push(Finding::warning("file-length", &file.path, message));
        }
    }
    findings
}

fn counted(file: &File) -> bool {
    !file.is_test() || file.path.starts_with("crates/tests/src/")
}

/// Every file in a crate's folder is part of a target: a file that nothing names is not compiled,
/// not linted and not run, however many tests it holds.
pub(super) fn forgotten_file(workspace: &Workspace) -> Vec<Finding> {
    let mut findings = Vec::new();
    for krate in &workspace.crates {
        let reached = reached(workspace, krate);
        let prefix = format!("{}/", krate.folder);
        let inside: Vec<_> = workspace
            .files
            .iter()
            .filter(|f| f.path.starts_with(&prefix))
            .collect();
        for file in &inside {
            let rust = file.path.ends_with(".rs");
            if rust && !reached.contains(&file.path) {
                let message = "no `mod` names this file, so it is not compiled";
                findings.push(Finding::error("forgotten-file", &file.path, message));
            } else if !rust && file.path.starts_with(&format!("{prefix}src/")) {
                let named = inside.iter().any(|other| names(other, &file.path));
                if !named {
                    let message = "no Rust file of the crate names this file or its folder";
                    findings.push(Finding::error("forgotten-file", &file.path, message));
                }
            }
        }
    }
    findings
}

/// Each crate says in its manifest and at its root what it is.
pub(super) fn crate_doc(workspace: &Workspace) -> Vec<Finding> {
    let mut findings = Vec::new();
    for krate in &workspace.crates {
        if krate
            .description
            .as_deref()
            .is_none_or(|text| text.trim().is_empty())
        {
            let place = format!("{}/Cargo.toml", krate.folder);
            findings.push(Finding::error(
                "crate-doc",
                place,
                "the package has no description",
            ));
        }
    }
    for file in workspace.rust().filter(|f| !f.is_test()) {
        if !file.text.trim_start().starts_with("//!") {
            let message = "the file does not begin with a module doc that says its purpose";
            findings.push(Finding::error("crate-doc", &file.path, message));
        }
    }
    findings
}

/// Whether a Rust file names another file, or the folder it lies in, in its text.
fn names(rust: &File, path: &str) -> bool {
    let mut parts = path.rsplit('/');
    let (name, folder) = (
        parts.next().unwrap_or_default(),
        parts.next().unwrap_or_default(),
    );
    rust.path.ends_with(".rs")
        && (rust.text.contains(&format!("{name}\""))
            || (folder != "src" && rust.text.contains(&format!("{folder}\""))))
}

/// The files that the crate's targets reach through `mod` items.
fn reached(workspace: &Workspace, krate: &Crate) -> BTreeSet<String> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<(String, bool)> = krate.targets.iter().map(|t| (t.clone(), true)).collect();
    while let Some((path, root)) = open.pop() {
        let Some(file) = workspace.file(&path) else {
            continue;
        };
        if !reached.insert(path.clone()) {
            continue;
        }
        let (folder, stem) = path.rsplit_once('/').unwrap_or(("", &path));
        let stem = stem.trim_end_matches(".rs");
        let inner = if root || stem == "mod" {
            folder.to_owned()
        } else {
            format!("{folder}/{stem}")
        };
        for module in modules(file) {
            match module {
                Module::Named(name) => {
                    open.push((format!("{inner}/{name}.rs"), false));
                    open.push((format!("{inner}/{name}/mod.rs"), false));
                }
                Module::At(path) => open.push((format!("{folder}/{path}"), false)),
            }
        }
    }
    reached
}

/// How a `mod` item finds its file.
enum Module {
    /// By its name.
    Named(String),
    /// By a `path` attribute, relative to the folder of the file it stands in.
    At(String),
}

/// The `mod name;` items of a file.
fn modules(file: &File) -> Vec<Module> {
    let mut found = Vec::new();
    let mut path = None;
    for (_, line) in file.lines() {
        let line = line.trim();
        if let Some(rest) = line.strip_prefix("#[path = \"") {
            path = rest.split('"').next().map(str::to_owned);
            continue;
        }
        let item = line.strip_prefix("pub").map_or(line, |rest| {
            let rest = rest.trim_start();
            let scope = rest
                .strip_prefix('(')
                .and_then(|inner| inner.split_once(')'));
            scope.map_or(rest, |(_, after)| after).trim_start()
        });
        if let Some(name) = item
            .strip_prefix("mod ")
            .and_then(|rest| rest.strip_suffix(';'))
        {
            found.push(
                path.take()
                    .map_or_else(|| Module::Named(name.to_owned()), Module::At),
            );
        }
    }
    found
}
