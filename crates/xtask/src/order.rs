//! Which functions a running hub executes, so that they lie side by side in the program.
//!
//! Of the program's text a hub that starts, connects its servers and answers calls executes a fifth. The system
//! maps text in pieces of 64 KiB around what is touched, so a fifth that is strewn over everything is resident
//! as two thirds. The names found here go into `crates/legation/text.order`, from which that crate's build script
//! makes a linker script. What is not named, or is not there any more, lies where it did: a list that is old
//! costs memory and nothing else.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use clap::Parser;
use serde_json::json;

use crate::bench::Effort;
use crate::bench::hub::{Home, stop};
use crate::bench::programs::{Load, Programs, Running};
use crate::{sys, tools};

/// Write down which functions a hub executes, for the linker.
#[derive(Debug, Parser)]
pub(crate) struct Args {
    /// Print how much it would be and write nothing.
    #[arg(long)]
    dry_run: bool,
    /// Use the programs of this folder, the hub with its names, instead of building them.
    #[arg(long, value_name = "DIR")]
    programs: Option<PathBuf>,
}

/// Where the names are kept.
const LIST: &str = "crates/legation/text.order";
/// Servers that do nothing, as in the measurement of memory.
const IDLE: usize = 10;
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
    let programs = match &args.programs {
        Some(folder) => Programs::in_folder(folder)?,
        None => build()?,
    };
    let executed = executed(&programs)?;
    let functions = functions(&programs.legation)?;
    let hot: BTreeMap<&str, u64> = functions
        .iter()
        .filter(|(name, _)| executed.contains(*name))
        .map(|(name, size)| (name.as_str(), *size))
        .collect();
    let patterns: BTreeSet<String> = hot.keys().map(|name| pattern(name)).collect();
    let all: u64 = functions.values().sum();
    sys::say(&format!(
        "{:.1} of {:.1} MB of text are executed; {} patterns",
        hot.values().sum::<u64>() as f64 / 1e6,
        all as f64 / 1e6,
        patterns.len()
    ));
    if !args.dry_run {
        let mut text = String::from(
            "# Sections of text that a running hub executes, made by `cargo xtask order`.\n",
        );
        for pattern in &patterns {
            text.push_str(pattern);
            text.push('\n');
        }
        std::fs::write(sys::root().join(LIST), text).context("cannot write the list")?;
        sys::say(&format!("wrote {LIST}"));
    }
    Ok(std::process::ExitCode::SUCCESS)
}

/// The programs, the hub with its names.
fn build() -> Result<Programs> {
    let mut programs = Programs::build()?;
    sys::say("linking the hub again, with its names");
    let status = sys::cargo()
        .args(["rustc", "--release", "--locked", "-p", "legation"])
        .args(["--bin", "legation", "--", "-Cstrip=none"])
        .status()
        .context("cannot start cargo")?;
    ensure!(status.success(), "the build failed");
    let named = sys::target_dir().join("order");
    std::fs::create_dir_all(&named)?;
    let copy = std::path::absolute(named.join("legation"))?;
    std::fs::copy(&programs.legation, &copy).context("cannot copy the program")?;
    programs.legation = copy;
    Ok(programs)
}

/// The names of all functions that a hub executes which starts, has servers and clients, and is stopped.
fn executed(programs: &Programs) -> Result<HashSet<String>> {
    let mut found = HashSet::new();
    for era in ["legacy", "modern"] {
        sys::say(&format!("running the hub, {era}"));
        let echo = programs.echo_http(era)?;
        let mut servers = json!({
            "http": { "type": "http", "url": echo.url("/mcp") },
        });
        for index in 0..IDLE {
            let name = if index == 0 {
                "stdio".to_owned()
            } else {
                format!("s{index}")
            };
            servers[name] = json!({
                "type": "stdio",
                "command": programs.echo.display().to_string(),
                "args": ["--transport", "stdio", "--era", era],
            });
        }
        let home = Home::new(programs, &servers)?;
        let out = home.path().with_file_name("executed");
        let mut command = home.command(Path::new("valgrind"));
        command
            .args(["--tool=callgrind", "--demangle=no", "--log-file=/dev/null"])
            .arg(format!("--callgrind-out-file={}", out.display()))
            .arg(&programs.legation)
            .args(["serve", "--listen", "127.0.0.1:0"]);
        let mut hub = Running::start(command)?;
        home.connected(IDLE + 1)?;
        let (token, socket) = (home.token(), home.socket().display().to_string());
        for tool in ["echo", "kib", "change"] {
            for upstream in ["http", "stdio"] {
                let over_http = Load {
                    url: Some(hub.url("/mcp")),
                    era,
                    tool: format!("{upstream}-{tool}"),
                    connections: 8,
                    token: Some(&token),
                    more: Vec::new(),
                };
                programs.load(&over_http, EFFORT)?;
            }
        }
        let over_socket = Load {
            url: None,
            era,
            tool: "stdio-echo".to_owned(),
            connections: 8,
            token: None,
            more: vec!["--socket".to_owned(), socket],
        };
        programs.load(&over_socket, EFFORT)?;
        stop(&mut hub)?;
        let text = std::fs::read(&out).context("the run left no list of functions")?;
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

/// Every function of a program, and its size in bytes.
fn functions(program: &Path) -> Result<BTreeMap<String, u64>> {
    let mut nm: Command = sys::command("nm");
    let output = nm.arg("--print-size").arg(program).output();
    let output = output.context("nm cannot be started; install binutils")?;
    ensure!(output.status.success(), "nm does not read the program");
    let text = String::from_utf8_lossy(&output.stdout);
    let found: BTreeMap<String, u64> = text
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let (_, size, kind, name) =
                (words.next()?, words.next()?, words.next()?, words.next()?);
            let size = u64::from_str_radix(size, 16).ok()?;
            matches!(kind, "t" | "T").then(|| (name.to_owned(), size))
        })
        .collect();
    ensure!(!found.is_empty(), "the program has no names");
    Ok(found)
}

/// A pattern for the section of a function: its name, with `*` for what differs between two builds of the same
/// text, which is the number of each crate (`Cs…_`) and what the optimiser puts behind a name.
fn pattern(name: &str) -> String {
    let (name, end) = name
        .split_once(".llvm.")
        .map_or((name, ""), |(name, _)| (name, "*"));
    if !name.starts_with("_R") {
        return format!("{name}{end}");
    }
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
}
