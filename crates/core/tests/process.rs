//! Guarded servers, with real processes: nothing may be left of them.
#![cfg(target_os = "linux")]

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use legation_core::process::{Child, ChildSpec, GuardPath, OnceSpec, SpawnError, run_to_end};
use legation_core::{Clock as _, SystemClock};
use rustix::process::{Pid, Signal};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};

/// Far more than any machine needs; only a failing test waits this long.
const LIMIT: Duration = Duration::from_secs(30);

fn helper() -> PathBuf {
    let test = std::env::current_exe().expect("a test has a path");
    let target = test.parent().and_then(|deps| deps.parent());
    target
        .expect("a test lies in deps/")
        .join("examples/children")
}

fn mark(test: &str) -> String {
    format!("{test}-{}", std::process::id())
}

fn spec(mark: &str, script: &str) -> ChildSpec {
    ChildSpec {
        name: "fixture".into(),
        program: "sh".into(),
        args: vec!["-c".into(), script.into()],
        cwd: Some("/".into()),
        env: vec![
            ("PATH".into(), "/usr/bin:/bin".into()),
            ("LEGATION_TEST_MARK".into(), mark.into()),
        ],
        guard: GuardPath {
            program: helper(),
            args: vec![OsString::from("guard")],
        },
    }
}

/// The living processes whose environment holds the mark.
fn marked(mark: &str) -> Vec<i32> {
    let wanted = format!("LEGATION_TEST_MARK={mark}\0");
    std::fs::read_dir("/proc")
        .expect("Linux has /proc")
        .filter_map(|entry| {
            let pid: i32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
            let environ = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
            environ
                .windows(wanted.len())
                .any(|window| window == wanted.as_bytes())
                .then_some(pid)
        })
        .collect()
}

async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = SystemClock.now() + LIMIT;
    while !holds() {
        assert!(SystemClock.now() < deadline, "never came: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn run(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime")
        .block_on(test);
}

/// What a server may do to stay: each line leaves at least one process behind
/// that its process group does not reach, or does not end when asked.
const STUBBORN: [(&str, &str); 5] = [
    ("session", "setsid sleep 1000 & echo up; exec sleep 1000"),
    (
        "twice-forked",
        "(setsid sh -c '(sleep 1000 &) ; sleep 1000' &) ; echo up; exec sleep 1000",
    ),
    (
        "deaf",
        "trap '' TERM; echo up; while :; do sleep 1000; done",
    ),
    (
        "deaf-session",
        "setsid sh -c \"trap '' TERM HUP; sleep 1000; sleep 1000\" & trap '' TERM; echo up; while :; do sleep 1; done",
    ),
    (
        "storm",
        "echo up; while :; do setsid sh -c 'sleep 1000 & sleep 1000' & sleep 0.01; done",
    ),
];

async fn up(child: &mut Child) {
    let stdout = child.take_stdout().expect("stdout is piped");
    let line = BufReader::new(stdout).lines().next_line().await;
    assert_eq!(line.expect("readable").as_deref(), Some("up"));
}

#[test]
fn a_server_talks_and_its_code_arrives() {
    run(async {
        let mut child = Child::spawn(&spec(
            &mark("talk"),
            "read line; echo \"got $line\"; echo oops >&2; pwd; exit 7",
        ))
        .expect("sh starts");
        let mut stdin = child.take_stdin().expect("stdin is piped");
        stdin.write_all(b"hello\n").await.expect("it reads");
        let (mut out, mut err) = (String::new(), String::new());
        let mut stdout = child.take_stdout().expect("stdout is piped");
        let mut stderr = child.take_stderr().expect("stderr is piped");
        stdout.read_to_string(&mut out).await.expect("text");
        stderr.read_to_string(&mut err).await.expect("text");
        assert_eq!((out.as_str(), err.as_str()), ("got hello\n/\n", "oops\n"));
        let exit = child.wait().await;
        assert_eq!((exit.code, exit.signal), (Some(7), None));
    });
}

#[test]
fn a_server_inherits_no_more_than_any_child_and_only_its_environment() {
    run(async {
        let list = "sh -c 'echo /proc/self/fd/*' | sed 's,[^ ]*/,,g'";
        // Whoever runs the tests may leave descriptors open; they are not the guard's.
        let plain = run_to_end(&OnceSpec {
            program: "sh".into(),
            args: vec!["-c".into(), list.into()],
            env: vec![("PATH".into(), "/usr/bin:/bin".into())],
            cwd: None,
            timeout: LIMIT,
            keep: 1024,
        })
        .expect("sh runs");
        let script = format!("{list}; env");
        let mut child = Child::spawn(&spec(&mark("fds"), &script)).expect("sh starts");
        let mut out = String::new();
        let mut stdout = child.take_stdout().expect("stdout is piped");
        stdout.read_to_string(&mut out).await.expect("text");
        let (fds, env) = out.split_once('\n').expect("two outputs");
        assert_eq!(fds, String::from_utf8_lossy(&plain.stdout).trim_end());
        let mut names: Vec<_> = env
            .lines()
            .filter_map(|line| line.split_once('=').map(|(name, _)| name))
            .filter(|name| !matches!(*name, "_" | "SHLVL" | "PWD" | "OLDPWD"))
            .collect();
        names.sort_unstable();
        assert_eq!(names, ["LEGATION_TEST_MARK", "PATH"]);
    });
}

#[test]
fn a_signal_is_told_apart_from_a_code() {
    run(async {
        let mut child = Child::spawn(&spec(&mark("signal"), "kill -SEGV $$")).expect("sh starts");
        let exit = child.wait().await;
        assert_eq!((exit.code, exit.signal), (None, Some(11)));
        assert_eq!(exit.to_string(), "was ended by signal 11 (SIGSEGV)");
    });
}

#[test]
fn what_is_missing_is_said_before_anything_starts() {
    run(async {
        let mut missing = spec("missing", "");
        missing.program = "no-such-server".into();
        let error = Child::spawn(&missing).expect_err("there is no such program");
        assert_eq!(
            legation_core::error::chain(&error),
            "server fixture was not started: command `no-such-server` was not found in PATH (/usr/bin:/bin)"
        );
        let mut nowhere = spec("nowhere", "");
        nowhere.cwd = Some("/no/such/folder".into());
        let error = Child::spawn(&nowhere).expect_err("there is no such folder");
        assert!(matches!(error, SpawnError::Cwd { .. }), "{error}");
    });
}

#[test]
fn stop_is_polite_first() {
    run(async {
        // Ends when its input does, and says so by its code.
        let mark = mark("polite");
        let mut child =
            Child::spawn(&spec(&mark, "echo up; cat >/dev/null; exit 5")).expect("sh starts");
        up(&mut child).await;
        let exit = child.stop(LIMIT).await;
        assert_eq!(exit.code, Some(5));
        // Ends on SIGTERM only.
        let script = "trap 'exit 6' TERM; echo up; while :; do sleep 0.01; done";
        let mut child = Child::spawn(&spec(&mark, script)).expect("sh starts");
        up(&mut child).await;
        let exit = child.stop(Duration::from_secs(4)).await;
        assert_eq!(exit.code, Some(6));
        assert_eq!(marked(&mark), [0_i32; 0]);
    });
}

#[test]
fn stop_leaves_nothing_of_a_stubborn_server() {
    run(async {
        for (name, script) in STUBBORN {
            let mark = mark(name);
            let mut child = Child::spawn(&spec(&mark, script)).expect("sh starts");
            up(&mut child).await;
            child.stop(Duration::from_millis(100)).await;
            assert_eq!(marked(&mark), [0_i32; 0], "{name}");
        }
    });
}

#[test]
fn a_dropped_child_leaves_nothing() {
    run(async {
        for (name, script) in STUBBORN {
            let mark = mark(&format!("drop-{name}"));
            let mut child = Child::spawn(&spec(&mark, script)).expect("sh starts");
            up(&mut child).await;
            drop(child);
            until(name, || marked(&mark).is_empty()).await;
        }
    });
}

#[test]
fn a_server_that_ends_takes_its_children_along() {
    run(async {
        let mark = mark("leader");
        let script = "setsid sleep 1000 & (setsid sleep 1000 &) ; exit 0";
        let mut child = Child::spawn(&spec(&mark, script)).expect("sh starts");
        assert!(child.wait().await.success());
        assert_eq!(marked(&mark), [0_i32; 0]);
    });
}

#[test]
fn a_killed_hub_leaves_nothing() {
    run(async {
        for (name, script) in STUBBORN {
            let mark = mark(&format!("hub-{name}"));
            let mut hub = hub(&mark, &format!("{script} 2>/dev/null"));
            until("the server is up", || !marked(&mark).is_empty()).await;
            hub.kill().expect("the hub can be killed");
            hub.wait().expect("the hub can be reaped");
            until(name, || marked(&mark).is_empty()).await;
        }
    });
}

#[test]
fn a_hub_killed_while_it_starts_a_server_leaves_nothing() {
    run(async {
        // Killed at many moments: before, inside and after the spawn.
        for step in 0..40_u32 {
            let mark = mark(&format!("early-{step}"));
            let mut hub = hub(&mark, "setsid sleep 1000 & sleep 1000");
            // tidy: the moment of the kill is what the test varies; none decides it.
            std::thread::sleep(Duration::from_micros(u64::from(step) * 150));
            hub.kill().expect("the hub can be killed");
            hub.wait().expect("the hub can be reaped");
            until("nothing is left", || marked(&mark).is_empty()).await;
        }
    });
}

#[test]
fn a_killed_guard_is_noticed_and_its_group_killed() {
    run(async {
        let mark = mark("guardless");
        let script = "echo up; sleep 1000 & sleep 1000";
        let mut child = Child::spawn(&spec(&mark, script)).expect("sh starts");
        up(&mut child).await;
        let guard = child.guard_pid().expect("it runs");
        let guard = Pid::from_raw(i32::try_from(guard).expect("a pid")).expect("a pid");
        until("the guard says whom it started", || child.pid().is_some()).await;
        rustix::process::kill_process(guard, Signal::KILL).expect("it can be killed");
        let exit = child.wait().await;
        assert!(exit.text.starts_with("lost its guard"), "{exit}");
        until("the group is gone", || marked(&mark).is_empty()).await;
    });
}

#[expect(clippy::disallowed_methods, reason = "this hub is there to be killed")]
fn hub(mark: &str, script: &str) -> std::process::Child {
    std::process::Command::new(helper())
        .args(["hub", mark, script])
        .stdin(Stdio::null())
        .spawn()
        .expect("the helper starts")
}
