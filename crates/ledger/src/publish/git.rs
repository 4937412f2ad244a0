//! A Git remote: whoever hosts it keeps the history.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::time::Duration;

use legation_core::home::{create_private_dir, write_private};
use legation_core::id::hex;
use legation_store::CheckpointRow;
use sha2::{Digest as _, Sha256};

use super::command::run;
use super::{PublishError, PublishSettings, file_name};

/// What every invocation is told: nothing of the owner's own configuration may
/// sign, ask or run something here.
const ALWAYS: &[&str] = &[
    "-c",
    "user.name=Legation",
    "-c",
    "user.email=legation@localhost",
    "-c",
    "commit.gpgsign=false",
    "-c",
    "core.hooksPath=/dev/null",
];

/// Commits the checkpoints to a clone of the hub's own and pushes it.
pub(super) fn take(
    settings: &PublishSettings,
    remote: &str,
    rows: &[CheckpointRow],
    timeout: Duration,
) -> Result<(), PublishError> {
    let clone = settings
        .staging
        .join(format!("git-{}", hex(&Sha256::digest(remote)[..8])));
    let git = |args: &[&str]| {
        let mut settings = settings.clone();
        settings
            .env
            .push(("GIT_TERMINAL_PROMPT".into(), "0".into()));
        let args = ALWAYS.iter().chain(args).map(OsString::from).collect();
        run(&settings, "git", args, &clone, timeout)
    };
    if !clone.join(".git").exists() {
        let made = begin(&clone, remote, &git);
        if made.is_err() {
            // Half a clone would be taken for a whole one.
            drop(fs::remove_dir_all(&clone));
        }
        made?;
    }
    for row in rows {
        let path = clone.join(file_name(row));
        if !path.exists() {
            write_private(&path, &row.note).map_err(|source| PublishError::File { source })?;
        }
    }
    git(&["add", "--all"])?;
    if !git(&["status", "--porcelain"])?.is_empty() {
        let newest = rows.last().map_or(0, |row| row.size);
        let message = format!("Checkpoint of {newest} records");
        git(&["commit", "--quiet", "--message", &message])?;
    }
    if has_main(&git)? {
        git(&["pull", "--quiet", "--rebase", "origin", "main"])?;
    }
    git(&["push", "--quiet", "origin", "HEAD:refs/heads/main"])?;
    Ok(())
}

fn begin(
    clone: &Path,
    remote: &str,
    git: &impl Fn(&[&str]) -> Result<String, PublishError>,
) -> Result<(), PublishError> {
    create_private_dir(clone).map_err(|source| PublishError::File { source })?;
    git(&["init", "--quiet", "--initial-branch", "main"])?;
    git(&["remote", "add", "origin", "--", remote])?;
    if has_main(git)? {
        git(&["fetch", "--quiet", "origin", "main"])?;
        git(&["reset", "--quiet", "--hard", "FETCH_HEAD"])?;
    }
    Ok(())
}

/// Whether the remote has anything yet.
fn has_main(git: &impl Fn(&[&str]) -> Result<String, PublishError>) -> Result<bool, PublishError> {
    let heads = git(&["ls-remote", "--heads", "origin", "main"])?;
    Ok(!heads.trim().is_empty())
}
