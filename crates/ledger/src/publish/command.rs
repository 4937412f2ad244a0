//! Programs: Git, and whatever else the owner names.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use legation_core::home::{create_private_dir, write_private};
use legation_core::process::{OnceSpec, run_to_end};
use legation_store::CheckpointRow;

use super::{PublishError, PublishSettings, file_name};

/// How much of what a program says is kept, in bytes.
const KEEP: usize = 4096;

/// Runs the command once a checkpoint.
pub(super) fn take(
    settings: &PublishSettings,
    command: &[String],
    rows: &[CheckpointRow],
    timeout: Duration,
) -> Result<(), PublishError> {
    let Some((program, args)) = command.split_first() else {
        return Ok(());
    };
    let file = |source| PublishError::File { source };
    create_private_dir(&settings.staging).map_err(file)?;
    for row in rows {
        let path = settings.staging.join(file_name(row));
        write_private(&path, &row.note).map_err(file)?;
        let mut args: Vec<OsString> = args.iter().map(Into::into).collect();
        args.push(path.clone().into_os_string());
        let ran = run(settings, program, args, &settings.staging, timeout);
        // The command had its turn; a leftover is overwritten by the next try.
        drop(std::fs::remove_file(&path));
        ran?;
    }
    Ok(())
}

/// Runs a program that must succeed; answers with what it said.
pub(super) fn run(
    settings: &PublishSettings,
    program: &str,
    args: Vec<OsString>,
    cwd: &Path,
    timeout: Duration,
) -> Result<String, PublishError> {
    let spec = OnceSpec {
        program: program.into(),
        args,
        env: settings.env.clone(),
        cwd: Some(cwd.to_owned()),
        timeout,
        keep: KEEP,
    };
    let output = run_to_end(&spec).map_err(|source| PublishError::Run {
        program: program.to_owned(),
        source,
    })?;
    if output.exit.code != Some(0) {
        let stderr = String::from_utf8_lossy(&output.stderr);
        return Err(PublishError::Failed {
            program: program.to_owned(),
            exit: output.exit.text,
            stderr: stderr.trim().escape_debug().to_string(),
        });
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
