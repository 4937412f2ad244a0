//! What the linker is asked for on Linux.
//!
//! Everything bound at the start (`-z now`), after which the table of what was bound is read-only: the other half of full
//! RELRO, which the compiler is not told of for the sake of its calls (`.cargo/config.toml`).
//!
//! Packed relocations: the program is position-independent, so its loader goes through a table of every address in
//! the program's data, which then counts as memory of the hub: 1.2 MiB as entries of 24 bytes each, a
//! thirtieth of it packed (`DT_RELR`). glibc reads them from 2.36 on.
//!
//! What a hub executes side by side (`text.order`, or `text.dist.order` for the build that is shipped, made by
//! `cargo xtask order`): the system maps text in pieces of 64 KiB around what is touched. Only in release, and with the linker
//! that comes with the compiler. A program for another system is linked as usual.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The first glibc whose loader reads packed relocations.
const SINCE: (u32, u32) = (2, 36);
/// Patterns for names of sections of text, one a line, without what all begin with: for a build as it is, and for one that uses
/// what was counted.
const ORDERS: [&str; 2] = ["text.order", "text.dist.order"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    for order in ORDERS {
        println!("cargo::rerun-if-changed={order}");
    }
    let (target, host) = (of("TARGET"), of("HOST"));
    if target.contains("-linux-") {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,now");
    }
    if target == host && target.ends_with("-linux-gnu") && glibc().is_some_and(|v| v >= SINCE) {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
    // On this one the compiler brings its own linker, which knows such scripts, unless somebody chose another.
    let flags = of("CARGO_ENCODED_RUSTFLAGS");
    let has = |flag: &str| {
        let mut flags = flags.split('\x1f');
        flags.any(|its| its.trim_start_matches("-C").starts_with(flag))
    };
    let ordered = target == "x86_64-unknown-linux-gnu"
        && of("RUSTC_LINKER").is_empty()
        && !has("link")
        && !has("profile-generate");
    if ordered && of("PROFILE") == "release" {
        let order = ORDERS[usize::from(has("profile-use"))];
        let list = std::fs::read_to_string(Path::new(&of("CARGO_MANIFEST_DIR")).join(order))
            .expect("the order of the text can be read");
        let path = PathBuf::from(of("OUT_DIR")).join("text.ld");
        std::fs::write(&path, script(&list)).expect("the linker's script can be written");
        println!(
            "cargo::rustc-link-arg-bin=legation=-Wl,-T,{}",
            path.display()
        );
    }
}

/// The sections of the list in one of their own, before all other text, and first what the compiler was told is
/// executed often (`cargo xtask dist`). All patterns of a part of the list, which an empty line ends, are of one rule: the
/// linker seeks for each rule in the names of all sections, of which there are hundreds of thousands.
fn script(list: &str) -> String {
    let mut script = String::from("SECTIONS\n{\n  .text.hot : {\n    *(.text.hot.*)\n");
    for part in list.split("\n\n") {
        script.push_str("    *(\n");
        for pattern in part.lines().filter(|line| !line.starts_with('#')) {
            writeln!(script, "      .text.{pattern}").expect("a string takes everything");
        }
        script.push_str("    )\n");
    }
    script.push_str("  }\n}\nINSERT BEFORE .text;\n");
    script
}

/// A variable of the build, empty where there is none.
#[expect(
    clippy::disallowed_methods,
    reason = "cargo tells a build script about its build by the environment"
)]
fn of(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}

/// The version of this system's C library, if it is glibc.
#[expect(
    clippy::disallowed_methods,
    reason = "a build script has no hub that its children could outlive"
)]
fn glibc() -> Option<(u32, u32)> {
    let answer = Command::new("getconf")
        .arg("GNU_LIBC_VERSION")
        .output()
        .ok()?;
    let text = String::from_utf8(answer.stdout).ok()?;
    let (major, rest) = text.trim().strip_prefix("glibc ")?.split_once('.')?;
    let minor = rest.split('.').next()?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
