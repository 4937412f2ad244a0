//! The governance files of a hub under test.

use std::path::Path;
use std::process::Stdio;

use anyhow::Context;
use serde_json::Value;

use super::hub::{Hub, HubOptions};

/// Writes the template and what a test changes of it, once.
pub(super) async fn write(folder: &Path, mark: &str, options: &HubOptions) -> anyhow::Result<()> {
    let governance = folder.join("legation").join("governance");
    let Some(template) = options.template.filter(|_| !governance.exists()) else {
        return Ok(());
    };
    let output = Hub::command_in(folder, mark, options)?
        .args(["governance", "init", "--template", template])
        .stdin(Stdio::null())
        .output()
        .await?;
    anyhow::ensure!(output.status.success(), "governance init: {output:?}");
    for (file, change) in &options.governance {
        lay_over(&governance.join(file), change)?;
    }
    Ok(())
}

/// Lays a change over a file; see [`HubOptions::governance`].
pub fn lay_over(file: &Path, change: &Value) -> anyhow::Result<()> {
    let text = std::fs::read_to_string(file)?;
    let text = if let Some(more) = change.as_str() {
        format!("{text}\n{more}")
    } else {
        let mut whole: Value = serde_json::from_str(&text)?;
        merge(&mut whole, change);
        serde_json::to_string_pretty(&whole)?
    };
    let partial = file.with_extension("partial");
    std::fs::write(&partial, text)?;
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&partial, private)?;
    std::fs::rename(&partial, file).context("cannot write a governance file")
}

fn merge(whole: &mut Value, change: &Value) {
    match (whole, change) {
        (Value::Object(whole), Value::Object(change)) => {
            for (key, value) in change {
                merge(whole.entry(key).or_insert(Value::Null), value);
            }
        }
        (Value::Array(whole), Value::Array(more)) => whole.extend(more.iter().cloned()),
        (whole, change) => *whole = change.clone(),
    }
}
