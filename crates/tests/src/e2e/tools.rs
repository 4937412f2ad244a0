//! Where the installed programs are.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use tokio::process::Command;

use crate::harness::process::{command, environment};

/// The folder that `cargo xtask test` installs into.
#[derive(Debug, Clone)]
pub struct Tools {
    folder: PathBuf,
}

// === impl Tools ===

impl Tools {
    /// An installed folder.
    #[must_use]
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// The folder to put first on PATH so that `node` is the right one.
    #[must_use]
    pub fn node_bin(&self) -> PathBuf {
        self.folder.join("node/node_modules/node/bin")
    }

    /// A file of an npm package in a group.
    #[must_use]
    pub fn module(&self, group: &str, path: &str) -> PathBuf {
        self.folder.join(group).join("node_modules").join(path)
    }

    /// A program of the Python environment.
    #[must_use]
    pub fn python(&self, program: &str) -> PathBuf {
        self.folder.join("python/bin").join(program)
    }

    /// The folder of a group.
    #[must_use]
    pub fn group(&self, group: &str) -> PathBuf {
        self.folder.join(group)
    }

    /// The Python that has Microsoft's client libraries.
    #[must_use]
    pub fn microsoft_python(&self) -> PathBuf {
        self.folder.join("microsoft-python/bin/python")
    }

    /// The Python that has an engine for models.
    #[must_use]
    pub fn engine_python(&self) -> PathBuf {
        self.folder.join("engine/bin/python")
    }

    /// The environment of a hermetic test with `node` in reach.
    #[must_use]
    pub fn environment(&self, home: &Path) -> HashMap<String, String> {
        environment(home, Some(&self.node_bin()))
    }

    /// A command under Node.
    #[must_use]
    pub fn node(&self, home: &Path) -> Command {
        command(self.node_bin().join("node"), &self.environment(home))
    }

    /// The conformance suite's command line.
    #[must_use]
    pub fn conformance(&self, home: &Path) -> Command {
        let mut command = self.node(home);
        command.arg(self.module(
            "conformance",
            "@modelcontextprotocol/conformance/dist/index.js",
        ));
        command
    }
}
