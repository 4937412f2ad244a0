//! The tree in memory: text files, the workspace's crates, the packages they pull in.

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;

use crate::sys;

/// Folders that hold nothing of ours.
const SKIPPED_FOLDERS: &[&str] = &["target", ".git", "node_modules", "__pycache__"];

/// A text file larger than this is data, not something the rules are about.
const MAX_FILE_BYTES: u64 = 2 << 20;

/// Everything the rules look at.
#[derive(Debug, Default)]
pub(super) struct Workspace {
    /// Text files, by path relative to the root, `/` between the parts.
    pub(super) files: Vec<File>,
    /// The workspace's own crates.
    pub(super) crates: Vec<Crate>,
    /// Every package in the lock file's graph that is not a crate of ours.
    pub(super) foreign: Vec<Foreign>,
}

/// One text file.
#[derive(Debug, Clone)]
pub(super) struct File {
    pub(super) path: String,
    pub(super) text: String,
}

/// One crate of the workspace.
#[derive(Debug, Clone, Default)]
pub(super) struct Crate {
    /// Package name.
    pub(super) name: String,
    /// Folder relative to the root.
    pub(super) folder: String,
    pub(super) description: Option<String>,
    pub(super) licence: Option<String>,
    pub(super) dependencies: Vec<Dependency>,
    /// The root file of each target, relative to the root.
    pub(super) targets: Vec<String>,
}

/// One dependency as the manifest states it.
#[derive(Debug, Clone, Default)]
pub(super) struct Dependency {
    pub(super) name: String,
    /// Whether it is a normal dependency, not one of tests or of the build script.
    pub(super) normal: bool,
}

/// One package from outside.
#[derive(Debug, Clone, Default)]
pub(super) struct Foreign {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) licence: Option<String>,
    /// Where it comes from, in cargo's notation.
    pub(super) source: String,
}

// === impl Workspace ===

impl Workspace {
    /// Reads the tree under `root` and asks cargo for its packages.
    pub(super) fn read(root: &Path) -> Result<Self> {
        let mut workspace = Self::default();
        walk(root, root, &mut workspace.files)?;
        workspace.files.sort_by(|a, b| a.path.cmp(&b.path));
        for package in metadata(root)?.packages {
            workspace.add(root, package)?;
        }
        Ok(workspace)
    }

    /// The file at `path`, if there is one.
    pub(super) fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    /// The Rust files of the tree.
    pub(super) fn rust(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.path.ends_with(".rs"))
    }

    fn add(&mut self, root: &Path, package: Package) -> Result<()> {
        if let Some(source) = package.source {
            let Package {
                name,
                version,
                license: licence,
                ..
            } = package;
            self.foreign.push(Foreign {
                name,
                version,
                licence,
                source,
            });
            return Ok(());
        }
        let manifest = relative(root, Path::new(&package.manifest_path))?;
        let folder = manifest
            .trim_end_matches("Cargo.toml")
            .trim_end_matches('/')
            .to_owned();
        let dependencies = package.dependencies.into_iter();
        let targets = package
            .targets
            .iter()
            .map(|t| relative(root, Path::new(&t.src_path)));
        self.crates.push(Crate {
            name: package.name,
            folder,
            description: package.description,
            licence: package.license,
            dependencies: dependencies
                .map(|d| Dependency {
                    name: d.name,
                    normal: d.kind.is_none(),
                })
                .collect(),
            targets: targets.collect::<Result<_>>()?,
        });
        Ok(())
    }
}

// === impl File ===

impl File {
    /// Whether the file holds tests and nothing else.
    pub(super) fn is_test(&self) -> bool {
        self.path.ends_with("/tests.rs")
            || self.path.contains("/tests/")
            || self.path.starts_with("crates/tests/")
    }

    /// Lines with their numbers, counted from one.
    pub(super) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text
            .lines()
            .enumerate()
            .map(|(index, line)| (index + 1, line))
    }
}

fn walk(root: &Path, folder: &Path, files: &mut Vec<File>) -> Result<()> {
    let entries = folder
        .read_dir()
        .with_context(|| format!("cannot list {}", folder.display()))?;
    for entry in entries {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        let name = entry.file_name();
        if kind.is_dir() {
            if !SKIPPED_FOLDERS.iter().any(|skipped| name == *skipped) {
                walk(root, &path, files)?;
            }
        } else if kind.is_file() && entry.metadata()?.len() <= MAX_FILE_BYTES {
            // What is not UTF-8 is not text, and no rule is about it.
            if let Ok(text) = std::fs::read_to_string(&path) {
                files.push(File {
                    path: relative(root, &path)?,
                    text,
                });
            }
        }
    }
    Ok(())
}

fn relative(root: &Path, path: &Path) -> Result<String> {
    let inside = path
        .strip_prefix(root)
        .with_context(|| format!("{} is outside of the repository", path.display()))?;
    let parts: Vec<_> = inside.iter().map(|part| part.to_string_lossy()).collect();
    Ok(parts.join("/"))
}

#[derive(Debug, Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Debug, Deserialize)]
struct Package {
    name: String,
    version: String,
    license: Option<String>,
    description: Option<String>,
    source: Option<String>,
    manifest_path: String,
    dependencies: Vec<MetadataDependency>,
    targets: Vec<Target>,
}

#[derive(Debug, Deserialize)]
struct MetadataDependency {
    name: String,
    kind: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Target {
    src_path: String,
}

/// What cargo says of the locked graph; without the network, so that the check is fast and the same
/// everywhere once the packages have been fetched.
fn metadata(root: &Path) -> Result<Metadata> {
    let output = sys::cargo()
        .args(["metadata", "--format-version", "1", "--locked"])
        .current_dir(root)
        .output()
        .context("cannot start cargo")?;
    if !output.status.success() {
        bail!(
            "cargo metadata failed: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    serde_json::from_slice(&output.stdout).context("cargo metadata printed something unexpected")
}
