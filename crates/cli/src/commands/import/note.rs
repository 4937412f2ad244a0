//! How an import is taken back.

use std::fs;
use std::io;
use std::path::PathBuf;

use legation_core::Home;
use legation_core::home::{create_private_dir, write_private};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{CliError, Exit};

/// What one import changed.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Note {
    pub(crate) servers: Vec<Server>,
    /// Secrets that were not there before, by name.
    pub(crate) secrets: Vec<String>,
}

/// One entry. It may hold secrets, as the file it stood in did.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Server {
    pub(crate) name: String,
    pub(crate) before: Option<Value>,
    pub(crate) after: Value,
}

// === impl Note ===

impl Note {
    pub(crate) fn file(home: &Home, program: &str) -> PathBuf {
        home.undo().join(format!("import-{program}.json"))
    }

    pub(crate) fn load(home: &Home, program: &str) -> Result<Option<Self>, CliError> {
        let file = Self::file(home, program);
        let text = match fs::read(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(damaged(&file, &error)),
        };
        let note = serde_json::from_slice(&text);
        note.map(Some).map_err(|error| damaged(&file, &error))
    }

    pub(crate) fn save(&self, home: &Home, program: &str) -> Result<(), CliError> {
        create_private_dir(&home.undo())?;
        let text = serde_json::to_vec_pretty(self).map_err(|error| CliError::failed(&error))?;
        write_private(&Self::file(home, program), &text)?;
        Ok(())
    }

    pub(crate) fn forget(home: &Home, program: &str) -> Result<(), CliError> {
        let file = Self::file(home, program);
        fs::remove_file(&file).map_err(|error| damaged(&file, &error))
    }
}

fn damaged(file: &std::path::Path, error: &dyn std::error::Error) -> CliError {
    CliError::new(
        Exit::Failed,
        format!(
            "the note of the import, {}, cannot be used: {error}",
            file.display()
        ),
    )
    .with_hint("take the servers out with `legation mcp remove`")
}
