//! Which functions a running hub executes, so that they lie side by side in the program.
//!
//! Of the program's text a hub that starts, connects its servers and answers calls executes a fifth. The system
//! maps text in pieces of 64 KiB around what is touched, so a fifth that is strewn over everything is resident
//! as two thirds. The names of the sections found here go into `crates/legation/text.order`, and those of the build that is shipped
//! into `text.dist.order`, from which that crate's build script makes a linker script. What is not named, or is not
//! there any more, lies where it did: a list that is old costs memory and time and nothing else.
//!
//! First come those of calls. One call alone finds little of its code in the processor's caches, and each page that it
//! lies on is one to be looked up.

mod profile;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use clap::Parser;

use self::profile::{NOWHERE, Section, instructions, of_sections};
use crate::bench::Effort;
use crate::bench::hub::Home;
use crate::bench::programs::{Programs, output_of};
use crate::drive::drive;
use crate::{dist, sys, tools};

/// Write down which functions a hub executes, for the linker.
#[derive(Debug, Parser)]
pub(crate) struct Args {
    /// Print how much it would be and write nothing.
    #[arg(long)]
    dry_run: bool,
    /// Of the build that is shipped, which has other functions than that of `cargo build --release`.
    #[arg(long)]
    dist: bool,
    /// Use the programs of this folder, the hub with its names and beside it the linker's map of it, `legation.map`, instead of
    /// building them.
    #[arg(long, value_name = "DIR")]
    programs: Option<PathBuf>,
}

/// Where the names are kept, of a build as it is and of the one that is shipped.
const LISTS: [&str; 2] = [
    "crates/legation/text.order",
    "crates/legation/text.dist.order",
];
/// What the linker's map of a hub is called.
const MAP: &str = "legation.map";
/// What is executed once in so many calls, or more often, is of calls: there are seven kinds of them, and commits are of several.
const OF_CALLS: u64 = 50;
/// Clients that call it at once.
const CLIENTS: usize = 8;
/// How long a call to the hub is made over and over. It runs fifty times as slowly as it would.
const EFFORT: Effort = Effort {
    rounds: 1,
    seconds: 4.0,
    warm_up: 0.0,
    starts: 1,
};
/// How many letters and digits the number of a crate has.
const NUMBER: std::ops::RangeInclusive<usize> = 8..=13;

pub(crate) fn run(args: &Args) -> Result<std::process::ExitCode> {
    tools::debian(&[tools::VALGRIND])?;
    let folder = match &args.programs {
        Some(folder) => folder.clone(),
        None => build(args.dist)?,
    };
    let programs = match &args.programs {
        Some(folder) => Programs::in_folder(folder)?,
        None => Programs::around(folder.join("legation"))?,
    };
    let map = std::fs::read_to_string(folder.join(MAP)).context("the linker left no map")?;
    let sections = profile::sections(&map);
    ensure!(!sections.is_empty(), "the linker's map names no functions");
    let executed = executed(&programs, &sections)?;
    let [mut often, mut seldom] = [BTreeSet::new(), BTreeSet::new()];
    let (mut of_calls, mut all) = (0, 0);
    for (&at, &called) in &executed {
        let section = &sections[at];
        let list = if called { &mut often } else { &mut seldom };
        list.insert(pattern(section.name));
        of_calls += if called { section.size } else { 0 };
        all += section.size;
    }
    // Two functions may differ in what a pattern leaves open.
    seldom.retain(|pattern| !often.contains(pattern));
    sys::say(&format!(
        "{:.1} of {:.1} MB of text are executed, {:.2} of them by calls; {} and {} patterns",
        all as f64 / 1e6,
        sections.iter().map(|section| section.size).sum::<u64>() as f64 / 1e6,
        of_calls as f64 / 1e6,
        often.len(),
        seldom.len()
    ));
    if !args.dry_run {
        let list = LISTS[usize::from(args.dist)];
        let text = format!(
            "# Sections of text that a running hub executes, made by `cargo xtask order`: those of calls, and the others.\n\
             {}\n{}",
            lines(&often),
            lines(&seldom)
        );
        std::fs::write(sys::root().join(list), text).context("cannot write the list")?;
        sys::say(&format!("wrote {list}"));
    }
    Ok(std::process::ExitCode::SUCCESS)
}

fn lines(patterns: &BTreeSet<String>) -> String {
    patterns.iter().flat_map(|p| [p, "\n"]).collect()
}

/// Builds the hub with its names; the folder where it lies, with the linker's map.
fn build(shipped: bool) -> Result<PathBuf> {
    let folder = std::path::absolute(sys::target_dir().join("order"))?;
    std::fs::create_dir_all(&folder)?;
    let map = format!("-Clink-arg=-Wl,-Map={}", folder.join(MAP).display());
    let named = ["-Cstrip=none", &map];
    let built = if shipped {
        dist::beside(&named)?
    } else {
        sys::say("building the hub with its names");
        let status = sys::cargo()
            .args(["rustc", "--release", "--locked", "-p", "legation"])
            .args(["--bin", "legation", "--"])
            .args(named)
            .status()
            .context("cannot start cargo")?;
        ensure!(status.success(), "the build failed");
        sys::target_dir().join("release/legation")
    };
    std::fs::copy(built, folder.join("legation")).context("cannot copy the program")?;
    Ok(folder)
}

/// Which sections a hub executes something of that starts, has servers and clients, and is stopped, by their places in the list;
/// whether calls do, which is what is executed more often than where nobody calls.
fn executed(programs: &Programs, sections: &[Section<'_>]) -> Result<BTreeMap<usize, bool>> {
    let mut found: BTreeMap<usize, bool> = BTreeMap::new();
    for era in ["legacy", "modern"] {
        let (idle, none) = watched(programs, era, &[], sections)?;
        let (busy, calls) = watched(programs, era, &[CLIENTS], sections)?;
        ensure!(none == 0 && calls > 0, "{none} and {calls} calls were made");
        let often = (calls / OF_CALLS).max(1);
        for (at, times) in &busy {
            let before = idle.get(at).copied().unwrap_or_default();
            *found.entry(*at).or_default() |= times.saturating_sub(before) >= often;
        }
        for at in idle.into_keys() {
            found.entry(at).or_default();
        }
    }
    Ok(found)
}

/// How often each section was executed of a hub that so many clients called, and how many calls its ledger holds.
fn watched(
    programs: &Programs,
    era: &str,
    clients: &[usize],
    sections: &[Section<'_>],
) -> Result<(BTreeMap<usize, u64>, u64)> {
    let out = |home: &Home| home.path().with_file_name("executed");
    let home = drive(programs, era, EFFORT, clients, |home| {
        let mut command = home.command(Path::new("valgrind"));
        command
            .args(["--tool=callgrind", "--demangle=no", "--log-file=/dev/null"])
            .args(["--dump-instr=yes", "--compress-pos=no"])
            .arg(format!("--callgrind-out-file={}", out(home).display()))
            .arg(&programs.legation)
            .args(["serve", "--listen", "127.0.0.1:0"]);
        command
    })?;
    let text = std::fs::read(out(&home)).context("the run left no list of functions")?;
    let text = String::from_utf8_lossy(&text);
    let mut found = BTreeMap::new();
    for object in [&*programs.legation.to_string_lossy(), NOWHERE] {
        for (at, times) in of_sections(&instructions(&text, object), sections) {
            let most: &mut u64 = found.entry(at).or_default();
            *most = times.max(*most);
        }
    }
    ensure!(
        !found.is_empty(),
        "nothing was executed that the linker's map names"
    );
    let ledger = output_of(home.legation(&["audit", "verify", "--json"]))?;
    let calls = ledger["intents"].as_u64();
    Ok((found, calls.context("the ledger counts no calls")?))
}

/// A pattern for a section: its name, with `*` for what differs between two builds of the same
/// text, which is the number of each crate (`Cs…_`) and what the optimiser puts behind a name.
fn pattern(name: &str) -> String {
    let (name, end) = name
        .split_once(".llvm.")
        .map_or((name, ""), |(name, _)| (name, "*"));
    let mut pattern = String::new();
    let mut rest = name;
    while let Some(at) = rest.find("Cs") {
        let (before, after) = rest.split_at(at + 2);
        pattern.push_str(before);
        let length = after.bytes().take_while(u8::is_ascii_alphanumeric).count();
        rest = after;
        if after[length..].starts_with('_') && NUMBER.contains(&length) {
            pattern.push('*');
            rest = &after[length..];
        }
    }
    pattern + rest + end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_what_differs_between_builds() {
        for (name, expected) in [
            ("sqlite3VdbeExec", "sqlite3VdbeExec"),
            ("unlikely.init.llvm.12", "unlikely.init*"),
            ("yy_reduce.constprop.0", "yy_reduce.constprop.0"),
            (
                "_RNvMNtCsgEmfK2I1SDS_4core3strECsjrHSEGnQ3l9_3std",
                "_RNvMNtCs*_4core3strECs*_3std",
            ),
            (
                "_RNvCsgEmfK2I1SDS_8legation4main.llvm.8214",
                "_RNvCs*_8legation4main*",
            ),
            ("_RNvC4core6Cs_len", "_RNvC4core6Cs_len"),
        ] {
            assert_eq!(pattern(name), expected, "{name}");
        }
    }
}
