//! `cargo xtask dist`: the hub as it is shipped, built for what a hub does.
//!
//! A call runs through code of the whole program, little of it twice, so most of what it costs is code that is not in
//! the processor's nearest cache. Which way a branch goes, and which function is called often, the compiler can only
//! guess, unless it is told. So the program is built with counters, does what hubs do most, and is built again
//! with what was counted.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail, ensure};

use crate::bench::Effort;
use crate::bench::programs::Programs;
use crate::bench::programs::output_of;
use crate::drive::drive;
use crate::{sys, tools};

/// Build the hub as it is shipped.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Count anew what a hub does, although it was counted before.
    #[arg(long)]
    again: bool,
}

/// How long each kind of call is made.
const EFFORT: Effort = Effort {
    rounds: 1,
    seconds: 0.5,
    warm_up: 0.0,
    starts: 1,
};
/// How many clients make it: a commit of many records goes another way than one of a few.
const CLIENTS: [usize; 2] = [32, 1];
/// Cargo's profile, see `Cargo.toml`.
const PROFILE: &str = "dist";
/// What was never executed lies apart from its function, so that what calls run through lies close together.
const APART: &str = "-Cllvm-args=-enable-split-machine-functions";
/// How the name of a file with counts begins and ends. Between is what tells its contents apart, because cargo builds again
/// what another file is named for, not what a file has changed for.
const COUNTS: (&str, &str) = ("hub-", ".profdata");

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let program = build(args.again)?;
    sys::say(&format!("built {}", program.display()));
    Ok(ExitCode::SUCCESS)
}

/// Builds it, with the counts that are there unless they shall be made again; where it lies.
pub(crate) fn build(again: bool) -> Result<PathBuf> {
    counted(again, &[], "legation")
}

/// The same program beside it, whose own crate is built with more flags.
pub(crate) fn beside(more: &[&str]) -> Result<PathBuf> {
    counted(false, more, "legation-beside")
}

fn counted(again: bool, more: &[&str], name: &str) -> Result<PathBuf> {
    for name in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS"] {
        ensure!(
            sys::env(name).is_none(),
            "{name} is set, and cargo would take it for what this command wants of the compiler; nothing was built"
        );
    }
    let folder = std::path::absolute(sys::target_dir().join("dist"))?;
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("cannot create {}", folder.display()))?;
    let counts = match counted_before(&folder)? {
        Some(counts) if !again => counts,
        _ => count(&folder)?,
    };
    sys::say("building the hub for what was counted");
    let counted = format!("-Cprofile-use={}", counts.display());
    compile(&folder, &[&counted, APART], more, name)
}

/// Counts what a hub does; the file with the counts.
fn count(folder: &Path) -> Result<PathBuf> {
    let profdata = tools::profdata()?;
    let raw = folder.join("raw");
    sys::say("building the hub with counters");
    let flag = format!("-Cprofile-generate={}", raw.display());
    let counting = compile(folder, &[&flag], &[], "legation-counting")?;
    // Programs that cargo ran while it built may have left counts of their own.
    if raw.exists() {
        std::fs::remove_dir_all(&raw).context("cannot remove old counts")?;
    }
    let programs = Programs::around(counting)?;
    for era in ["legacy", "modern"] {
        let home = drive(&programs, era, EFFORT, &CLIENTS, |home| {
            home.legation(&["serve", "--listen", "127.0.0.1:0"])
        })?;
        let verified = output_of(home.legation(&["audit", "verify", "--json"]))?;
        ensure!(
            verified["intact"] == true,
            "the ledger is broken: {verified}"
        );
    }
    let merged = folder.join("merged");
    let status = sys::command(profdata)
        .args(["merge", "--sparse", "--output"])
        .arg(&merged)
        .arg(&raw)
        .status()
        .context("llvm-profdata cannot be started")?;
    ensure!(status.success(), "what was counted cannot be merged");
    while let Some(old) = counted_before(folder)? {
        std::fs::remove_file(&old).with_context(|| format!("cannot remove {}", old.display()))?;
    }
    let mut hasher = DefaultHasher::new();
    std::fs::read(&merged)?.hash(&mut hasher);
    let name = format!("{}{:016x}{}", COUNTS.0, hasher.finish(), COUNTS.1);
    let counts = folder.join(name);
    std::fs::rename(&merged, &counts).context("cannot keep what was counted")?;
    Ok(counts)
}

/// A file with counts in this folder.
fn counted_before(folder: &Path) -> Result<Option<PathBuf>> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        if name.is_some_and(|name| name.starts_with(COUNTS.0) && name.ends_with(COUNTS.1)) {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

/// Builds the hub with more flags for the compiler, and some for its own crate, and copies it to where the next build
/// does not write. Both builds are of one profile of cargo's, which is a part of the names by which counts are found.
fn compile(folder: &Path, flags: &[&str], more: &[&str], name: &str) -> Result<PathBuf> {
    let host = tools::rustc_says("host: ")?;
    // Named, so that the flag does not hold for what runs while the program is built.
    let status = sys::cargo()
        .args([
            "rustc",
            "--profile",
            PROFILE,
            "--locked",
            "-p",
            "legation",
            "--bin",
            "legation",
        ])
        .args(["--target", &host, "--target-dir"])
        .arg(folder)
        .arg("--config")
        .arg(format!("target.{host}.rustflags={flags:?}"))
        .arg("--")
        .args(more)
        .status()
        .context("cannot start cargo")?;
    if !status.success() {
        bail!("the build failed");
    }
    let file = |name: &str| Path::new(name).with_extension(std::env::consts::EXE_EXTENSION);
    let built = folder.join(&host).join(PROFILE).join(file("legation"));
    let copy = folder.join(file(name));
    std::fs::copy(&built, &copy)
        .with_context(|| format!("cannot copy {} to {}", built.display(), copy.display()))?;
    Ok(copy)
}
