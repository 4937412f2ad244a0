//! The bundles behind entries of mcp.json: kept as long as something refers to them.

use std::fs;
use std::path::Path;

use legation_config::edit;
use legation_core::error::chain;
use legation_registry::Shelf;

use crate::commands::import::note;
use crate::{Context, table};

/// The key of the note by which an install is taken back.
pub(super) const INSTALLED: &str = "registry";

/// This machine's system, as bundles name it.
pub(super) fn platform() -> &'static str {
    if cfg!(target_os = "macos") {
        "darwin"
    } else if cfg!(windows) {
        "win32"
    } else {
        "linux"
    }
}

/// Brings what is unpacked in line with mcp.json. What fails is said, and what the command was to do
/// is done all the same.
pub(crate) fn tidy(context: &Context) {
    // A file that cannot be read may refer to all of them.
    let Ok(entries) = fs::read_to_string(context.home.servers()) else {
        return;
    };
    let text = |path: &Path| fs::read_to_string(path).unwrap_or_default();
    let before = text(&edit::undo_path(&context.home));
    let noted = text(&note::Note::file(&context.home, INSTALLED));
    let shelf = Shelf::of(&context.home);
    let is_used = |sha256: &str| entries.contains(sha256);
    let say = |text: &str| {
        context
            .output
            .say(&format!("warning: {}", table::printable(text)));
    };
    if let Err(error) = shelf.restore(is_used, platform()) {
        say(&format!(
            "a bundle could not be unpacked again: {}",
            chain(&error)
        ));
    }
    let swept = shelf.sweep(is_used, |sha256| {
        before.contains(sha256) || noted.contains(sha256)
    });
    match swept {
        Ok(gone) => {
            for folder in gone {
                context.output.say(&format!("{} is gone", folder.display()));
            }
        }
        Err(error) => say(&chain(&error)),
    }
}
