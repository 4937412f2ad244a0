//! Two things the linker is asked for on Linux, both for the memory of a running hub.
//!
//! Packed relocations: the program is position-independent, so its loader goes through a table of every address in
//! the program's data, which then counts as memory of the hub: 1.2 MiB as entries of 24 bytes each, a
//! thirtieth of it packed (`DT_RELR`). glibc reads them from 2.36 on.
//!
//! What a hub executes side by side (`text.order`, made by `cargo xtask order`): the system maps text in pieces of
//! 64 KiB around what is touched. Only in release, and with the linker that comes with the compiler. A program for another
//! system is linked as usual.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The first glibc whose loader reads packed relocations.
const SINCE: (u32, u32) = (2, 36);
/// Patterns for names of sections, one a line.
const ORDER: &str = "text.order";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={ORDER}");
    let (target, host) = (of("TARGET"), of("HOST"));
    if target == host && target.ends_with("-linux-gnu") && glibc().is_some_and(|v| v >= SINCE) {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
    // On this one the compiler brings its own linker, which knows such scripts, unless somebody chose another.
    let own_linker = target == "x86_64-unknown-linux-gnu"
        && of("RUSTC_LINKER").is_empty()
        && !of("CARGO_ENCODED_RUSTFLAGS").contains("link");
    if own_linker && of("PROFILE") == "release" {
        let list = std::fs::read_to_string(Path::new(&of("CARGO_MANIFEST_DIR")).join(ORDER))
            .expect("the order of the text can be read");
        let path = PathBuf::from(of("OUT_DIR")).join("text.ld");
        std::fs::write(&path, script(&list)).expect("the linker's script can be written");
        println!(
            "cargo::rustc-link-arg-bin=legation=-Wl,-T,{}",
            path.display()
        );
    }
}

/// The sections of the list in one of their own, before all other text.
fn script(list: &str) -> String {
    let mut script = String::from("SECTIONS\n{\n  .text.hot : {\n");
    for pattern in list.lines().filter(|line| !line.starts_with('#')) {
        // The compiler keeps apart what it thinks is seldom executed.
        writeln!(script, "    *(.text.{pattern} .text.unlikely.{pattern})")
            .expect("a string takes everything");
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
