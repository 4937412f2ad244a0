//! Which functions a running hub executes, so that they lie side by side in the program.
//!
//! Of the program's text a hub that starts, connects its servers and answers calls executes a fifth. The system
//! maps text in pieces of 64 KiB around what is touched, so a fifth that is strewn over everything is resident
//! as two thirds. The names found here go into `crates/legation/text.order`, and those of the build that is shipped
//! into `text.dist.order`, from which that crate's build script makes a linker script. What is not named, or is not
//! there any more, lies where it did: a list that is old costs memory and nothing else.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use clap::Parser;

use crate::bench::Effort;
use crate::bench::hub::Home;
use crate::bench::programs::Programs;
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
/// How the name of a section with a function begins.
const TEXT: &str = ".text.";
/// What may stand between that and the function's name: how often the compiler thinks it is executed.
const OFTEN: [&str; 3] = ["", "unlikely.", "hot."];
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
    let executed = executed(&programs)?;
    let sections: Vec<(&str, u64)> = sections(&map).collect();
    ensure!(!sections.is_empty(), "the linker's map names no functions");
    let hot = || {
        sections.iter().filter(|(section, _)| {
            let mut names = OFTEN.iter().filter_map(|often| section.strip_prefix(often));
            names.any(|name| executed.contains(name))
        })
    };
    let patterns: BTreeSet<String> = hot().map(|(section, _)| pattern(section)).collect();
    sys::say(&format!(
        "{:.1} of {:.1} MB of text are executed; {} patterns",
        hot().map(|(_, size)| size).sum::<u64>() as f64 / 1e6,
        sections.iter().map(|(_, size)| size).sum::<u64>() as f64 / 1e6,
        patterns.len()
    ));
    if !args.dry_run {
        let list = LISTS[usize::from(args.dist)];
        let mut text = String::from(
            "# Sections of text that a running hub executes, made by `cargo xtask order`.\n",
        );
        for pattern in &patterns {
            text.push_str(pattern);
            text.push('\n');
        }
        std::fs::write(sys::root().join(list), text).context("cannot write the list")?;
        sys::say(&format!("wrote {list}"));
    }
    Ok(std::process::ExitCode::SUCCESS)
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

/// The names of all functions that a hub executes which starts, has servers and clients, and is stopped.
fn executed(programs: &Programs) -> Result<HashSet<String>> {
    let mut found = HashSet::new();
    for era in ["legacy", "modern"] {
        let out = |home: &Home| home.path().with_file_name("executed");
        let home = drive(programs, era, EFFORT, &[CLIENTS], |home| {
            let mut command = home.command(Path::new("valgrind"));
            command
                .args(["--tool=callgrind", "--demangle=no", "--log-file=/dev/null"])
                .arg(format!("--callgrind-out-file={}", out(home).display()))
                .arg(&programs.legation)
                .args(["serve", "--listen", "127.0.0.1:0"]);
            command
        })?;
        let text = std::fs::read(out(&home)).context("the run left no list of functions")?;
        found.extend(names(&String::from_utf8_lossy(&text)));
    }
    Ok(found)
}

/// The names in callgrind's output: `fn=(ID) NAME` where one is met first, `cfn=` where it is called first.
fn names(output: &str) -> impl Iterator<Item = String> {
    output.lines().filter_map(|line| {
        let rest = line
            .strip_prefix("fn=(")
            .or_else(|| line.strip_prefix("cfn=("))?;
        let (_, name) = rest.split_once(") ")?;
        // A function that calls itself has a number for each depth.
        Some(name.split('\'').next().unwrap_or(name).to_owned())
    })
}

/// The sections of text in a linker's map, without what all their names begin with, and their sizes in bytes. A line
/// of it is three numbers in hexadecimal, of which the last is the size, one in decimal, and `FILE:(SECTION)`.
fn sections(map: &str) -> impl Iterator<Item = (&str, u64)> {
    map.lines().filter_map(|line| {
        let (_, section) = line.strip_suffix(')')?.rsplit_once(":(")?;
        let size = line.split_whitespace().nth(2)?;
        let size = u64::from_str_radix(size, 16).ok()?;
        Some((section.strip_prefix(TEXT)?, size))
    })
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

    #[test]
    fn what_was_executed_is_read_once_for_each_name() {
        let output =
            "events: Ir\nfn=(1) _RNv1a\n1 2\ncfn=(2) _RNv1b'2\ncalls=1\nfn=(1)\nfl=(3) x.rs\n";
        let found: Vec<String> = names(output).collect();
        assert_eq!(found, ["_RNv1a", "_RNv1b"]);
    }

    #[test]
    fn a_map_is_read_for_the_sections_of_text() {
        let map = "\
             VMA              LMA     Size Align Out     In      Symbol\n\
             2e0              2e0       1c     1 .interp\n\
             c66410           c66410   83f0ba    16 .text.hot\n\
             c66410           c66410       1f    16         a.o (x):(.text._RNv1a)\n\
             c66410           c66410       1f     1                 _RNv1a\n\
             c66430           c66430        a    16         b.o:(.text.unlikely.b)\n\
             c66440           c66440        b     1         b.o:(.rodata.cst)\n";
        let found: Vec<_> = sections(map).collect();
        assert_eq!(found, [("_RNv1a", 0x1f), ("unlikely.b", 10)]);
    }
}
