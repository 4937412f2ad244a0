//! `watched_chats.json`: the chats whose messages come into the inbox.
//!
//! A chat that was found is added once. One whose `watched` its owner set to
//! false stays there, so that it is not found again.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use legation_core::Wall;
use legation_core::home::write_private;
use legation_entra::chat::Listed;
use serde::{Deserialize, Serialize};

/// The file, by chat.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Watched(BTreeMap<String, Entry>);

#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    title: String,
    added_at: String,
    account: String,
    #[serde(default = "yes")]
    watched: bool,
}

/// The file cannot be used; nothing was watched that was not before.
#[derive(Debug, thiserror::Error)]
#[error("{path} cannot be used: {why}")]
pub(super) struct Unusable {
    path: String,
    why: String,
}

/// Held from reading the file until it is written: accounts look for chats at
/// the same time, and each would write without what the other has found.
static FILE: Mutex<()> = Mutex::new(());

fn yes() -> bool {
    true
}

// === impl Watched ===

impl Watched {
    /// Reads the file, adds the chats of an account that are not in it, and
    /// says which of these are watched. One that is broken is left as it is: it
    /// holds what its owner does not want watched.
    pub(super) fn found(
        path: &Path,
        account: &str,
        chats: Vec<Listed>,
        now: Wall,
    ) -> Result<Vec<Listed>, Unusable> {
        let unusable = |why: String| Unusable {
            path: path.display().to_string(),
            why,
        };
        let _alone = FILE.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all: Self = match std::fs::read(path) {
            Ok(bytes) => {
                serde_json::from_slice(&bytes).map_err(|error| unusable(error.to_string()))?
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Self::default(),
            Err(error) => return Err(unusable(error.to_string())),
        };
        let before = all.0.len();
        for Listed { chat, title } in &chats {
            all.0.entry(chat.id.clone()).or_insert_with(|| Entry {
                title: title.clone(),
                added_at: now.to_string(),
                account: account.to_owned(),
                watched: true,
            });
        }
        if all.0.len() > before {
            let mut text =
                serde_json::to_vec_pretty(&all).map_err(|error| unusable(error.to_string()))?;
            text.push(b'\n');
            write_private(path, &text).map_err(|error| unusable(error.to_string()))?;
        }
        let is_watched = |one: &Listed| all.0.get(&one.chat.id).is_some_and(|one| one.watched);
        Ok(chats.into_iter().filter(is_watched).collect())
    }
}
