//! Taking an import back.

use legation_config::edit::{self, Change};
use legation_core::ServerName;
use serde::Serialize;

use super::note::Note;
use crate::commands::{mcp, secret};
use crate::{CliError, Context, Exit};

#[derive(Debug, Serialize)]
struct Undone {
    program: &'static str,
    removed: Vec<String>,
    restored: Vec<String>,
    /// Changed since, and therefore left.
    left: Vec<String>,
    secrets: Vec<String>,
}

/// Takes back what the note called `key` is about; `title` is what it was imported from.
pub(crate) fn undo(context: &Context, key: &str, title: &'static str) -> Result<(), CliError> {
    let Some(note) = Note::load(&context.home, key)? else {
        return Err(CliError::new(
            Exit::Failed,
            format!("nothing was imported from {title}; nothing was changed"),
        ));
    };
    let known = edit::written(&context.home).map_err(|error| mcp::edit_failed(&error))?;
    let mut undone = Undone {
        program: title,
        removed: Vec::new(),
        restored: Vec::new(),
        left: Vec::new(),
        secrets: Vec::new(),
    };
    let mut changes = Vec::new();
    for server in &note.servers {
        let now = known.iter().find(|(name, _)| *name == server.name);
        match (now, &server.before) {
            (None, _) => {}
            (Some((_, now)), _) if *now != server.after => undone.left.push(server.name.clone()),
            (Some(_), Some(before)) => {
                changes.push(super::change_of(&server.name, before));
                undone.restored.push(server.name.clone());
            }
            (Some(_), None) => {
                let name =
                    ServerName::parse(&server.name).map_err(|error| CliError::usage(&error))?;
                changes.push(Change::Remove { name });
                undone.removed.push(server.name.clone());
            }
        }
    }
    if !changes.is_empty() {
        edit::apply_all(&context.home, &changes).map_err(|error| mcp::edit_failed(&error))?;
    }
    let loaded = mcp::configured(context);
    let is_used = |name: &str| {
        loaded
            .servers
            .iter()
            .any(|spec| spec.keyring_names().contains(name))
    };
    if note.secrets.iter().any(|name| !is_used(name)) {
        let store = secret::open(context)?;
        for name in note.secrets.iter().filter(|name| !is_used(name)) {
            if secret::forget(&store, name)? {
                undone.secrets.push(name.clone());
            }
        }
    }
    Note::forget(&context.home, key)?;
    mcp::tidy_bundles(context);
    crate::commands::nudge(context);
    context.output.result(&undone, |undone| {
        let mut text = format!("the import from {} was taken back\n", undone.program);
        for (verb, names) in [
            ("removed", &undone.removed),
            ("as it was before", &undone.restored),
            ("changed since, and left", &undone.left),
            ("secret forgotten", &undone.secrets),
        ] {
            for name in names {
                text.push_str(&format!("  {name}: {verb}\n"));
            }
        }
        text
    })
}
