//! Installing one package with its ecosystem's own client.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use super::Registry;
use crate::{sys, tools};

/// The folder that holds the package, installed now if it was not.
pub(super) fn ensure(registry: Registry, package: &str, version: &str) -> Result<PathBuf> {
    let name = match registry {
        Registry::Cargo => "cargo",
        Registry::PyPi => "pypi",
        Registry::Npm => "npm",
        Registry::Debian => "debian",
    };
    let folder = sys::target_dir()
        .join("peers")
        .join(format!("{name}-{package}-{version}"));
    let stamp = folder.join("installed");
    if stamp.is_file() {
        return Ok(folder);
    }
    if registry == Registry::Debian {
        // Only its owner installs what belongs to the system.
        program(package)?;
        std::fs::create_dir_all(&folder)?;
        return Ok(folder);
    }
    sys::say(&format!("installing {package} {version} from {name}"));
    std::fs::create_dir_all(&folder)?;
    match registry {
        Registry::Cargo => cargo(&folder, package, version)?,
        Registry::PyPi => pypi(&folder, package, version)?,
        Registry::Npm => npm(&folder, package, version)?,
        Registry::Debian => {}
    }
    std::fs::write(stamp, version)?;
    Ok(folder)
}

/// A program of the system's.
pub(super) fn program(name: &str) -> Result<PathBuf> {
    let found = ["/usr/sbin", "/usr/bin", "/usr/local/sbin", "/usr/local/bin"]
        .map(|folder| Path::new(folder).join(name))
        .into_iter()
        .find(|path| path.is_file());
    found.with_context(|| format!("{name} is not installed; Debian has it as a package"))
}

/// The pinned Node.
pub(super) fn node() -> Result<PathBuf> {
    let folder = tools::ensure(&[])?;
    Ok(tools::node_bin(&folder).join("node"))
}

fn cargo(folder: &Path, package: &str, version: &str) -> Result<()> {
    let mut command = sys::cargo();
    command
        .args(["install", "--locked", "--quiet", "--root"])
        .arg(folder);
    // Not our target folder: a foreign build would evict nothing there, but mix with it.
    command.arg("--target-dir").arg(folder.join("build"));
    command.arg(format!("{package}@{version}"));
    finish(command)?;
    // Hundreds of megabytes that nobody needs once the program is there.
    std::fs::remove_dir_all(folder.join("build")).context("cannot remove the build folder")
}

fn pypi(folder: &Path, package: &str, version: &str) -> Result<()> {
    let mut venv = sys::command("python3");
    venv.args(["-m", "venv"]).arg(folder);
    finish(venv)?;
    let mut pip = sys::command(folder.join("bin/pip"));
    pip.args(["install", "--quiet", "--disable-pip-version-check"]);
    pip.arg(format!("{package}=={version}"));
    finish(pip)
}

fn npm(folder: &Path, package: &str, version: &str) -> Result<()> {
    let mut command = sys::command("npm");
    command.args([
        "install",
        "--no-audit",
        "--no-fund",
        "--loglevel",
        "error",
        "--prefix",
    ]);
    command.arg(folder).arg(format!("{package}@{version}"));
    finish(command)
}

/// Runs an installer; what it says on failure is the error.
fn finish(mut command: Command) -> Result<()> {
    let shown = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output();
    let output = output.with_context(|| format!("cannot start {shown}"))?;
    if !output.status.success() {
        let talk = String::from_utf8_lossy(&output.stderr).into_owned();
        let last: Vec<&str> = talk.lines().rev().take(5).collect();
        bail!(
            "{shown} failed: {}",
            last.into_iter().rev().collect::<Vec<_>>().join(" ")
        );
    }
    Ok(())
}
