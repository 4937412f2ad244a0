//! The documents that must exist and what they must say of each crate.

use super::Finding;
use super::workspace::Workspace;

const REQUIRED: &[&str] = &[
    "README.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "LICENSE",
    "deny.toml",
];

/// The documents a newcomer expects are there and not empty.
pub(super) fn documents(workspace: &Workspace) -> Vec<Finding> {
    let missing = REQUIRED.iter().filter(|name| {
        workspace
            .file(name)
            .is_none_or(|file| file.text.trim().is_empty())
    });
    missing
        .map(|name| Finding::error("documents", *name, "the file is missing or empty"))
        .collect()
}

/// Each crate has its section in the architecture, and the section an invariant.
pub(super) fn invariants(workspace: &Workspace) -> Vec<Finding> {
    let Some(architecture) = workspace.file("ARCHITECTURE.md") else {
        // `documents` says so already.
        return Vec::new();
    };
    let mut findings = Vec::new();
    for krate in &workspace.crates {
        let heading = format!("### `{}`", krate.folder);
        let message = match architecture.text.split_once(&heading) {
            None => Some(format!("there is no section {heading}")),
            Some((_, rest)) => {
                let section = rest.split("\n### ").next().unwrap_or_default();
                (!section.contains("**Architecture invariant:**"))
                    .then(|| format!("the section {heading} states no invariant"))
            }
        };
        findings.extend(message.map(|m| Finding::error("invariants", "ARCHITECTURE.md", m)));
    }
    findings
}

/// Whether a path is that of a cargo manifest of the workspace.
pub(super) fn is_manifest(path: &str) -> bool {
    path == "Cargo.toml" || (path.starts_with("crates/") && path.ends_with("/Cargo.toml"))
}
