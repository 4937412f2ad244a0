//! What needs no guard; the guard's own tests are in `tests/process.rs`.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::time::Duration;

use super::*;

fn sh(script: &str, timeout: Duration) -> Result<Output, RunError> {
    run_to_end(&OnceSpec {
        program: "sh".into(),
        args: vec!["-c".into(), script.into()],
        env: vec![("PATH".into(), "/usr/bin:/bin".into())],
        cwd: None,
        timeout,
        keep: 8,
    })
}

#[test]
fn a_command_that_is_missing_is_named_with_the_path_that_was_searched() {
    let error = find_program(
        OsStr::new("no-such-thing"),
        Some(OsStr::new("/bin:/x")),
        None,
    )
    .expect_err("there is no such thing");
    assert_eq!(
        error.to_string(),
        "command `no-such-thing` was not found in PATH (/bin:/x)"
    );
    let error = find_program(OsStr::new("./nope"), None, Some(Path::new("/bin")))
        .expect_err("there is no such file");
    assert!(matches!(error, FindError::NoSuchFile { .. }), "{error}");
    let error = find_program(OsStr::new("/etc/passwd"), None, None).expect_err("not a program");
    assert!(matches!(error, FindError::NotExecutable { .. }), "{error}");
    let found = find_program(OsStr::new("sh"), Some(OsStr::new("/bin")), None);
    assert_eq!(found.as_deref(), Ok(Path::new("/bin/sh")));
}

#[test]
fn output_is_bounded_and_the_end_is_told() {
    let output = sh(
        "echo 0123456789; echo bad >&2; exit 3",
        Duration::from_secs(20),
    )
    .expect("sh runs");
    assert_eq!(output.stdout, b"01234567");
    assert_eq!(output.stderr, b"bad\n");
    assert_eq!(output.exit.to_string(), "exited with code 3");
    let output = sh("kill -9 $$", Duration::from_secs(20)).expect("sh runs");
    assert_eq!(output.exit.text, "was ended by signal 9 (SIGKILL)");
}

#[test]
fn a_command_that_never_ends_is_ended() {
    let error = sh("sleep 1000 & sleep 1000", Duration::from_millis(50)).expect_err("too long");
    assert!(matches!(error, RunError::Timeout { .. }), "{error}");
}

#[test]
fn a_spec_shows_no_values() {
    let spec = ChildSpec {
        name: "s".into(),
        program: "p".into(),
        args: vec![OsString::from("hush")],
        cwd: None,
        env: vec![("KEY".into(), "hush".into())],
        guard: GuardPath::this_program().expect("this program has a path"),
    };
    let shown = format!("{spec:?}");
    assert!(shown.contains("KEY") && !shown.contains("hush"), "{shown}");
}

#[test]
fn a_detached_program_writes_to_its_log_and_is_reaped_when_asked() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("hub.log");
    let mut detached = detach(&DetachSpec {
        program: "/bin/sh".into(),
        args: vec!["-c".into(), "echo out; echo err >&2; exit 4".into()],
        env: Vec::new(),
        cwd: "/".into(),
        log: log.clone(),
    })
    .expect("sh starts");
    let exit = loop {
        if let Some(exit) = detached.exited() {
            break exit;
        }
        std::thread::yield_now();
    };
    assert_eq!(exit.code, Some(4));
    assert_eq!(std::fs::read(&log).expect("a log"), b"out\nerr\n");
}
