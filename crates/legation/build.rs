//! Asks the linker for packed relocations where the system's loader reads them.
//!
//! The program is position-independent, so its loader goes through a table of every address in
//! the program's data, which then counts as memory of the hub: 1.2 MiB as entries of 24 bytes each, a
//! thirtieth of it packed (`DT_RELR`). glibc reads them from 2.36 on; a program for another system is
//! linked as usual.

use std::process::Command;

/// The first glibc whose loader reads packed relocations.
const SINCE: (u32, u32) = (2, 36);

#[expect(
    clippy::disallowed_methods,
    reason = "cargo tells a build script about its build by the environment"
)]
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let of = |name| std::env::var(name).unwrap_or_default();
    let (target, host) = (of("TARGET"), of("HOST"));
    if target == host && target.ends_with("-linux-gnu") && glibc().is_some_and(|v| v >= SINCE) {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
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
