//! Checkpoints on their way out: a folder, a Git remote, a command.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use legation_core::process::{OnceSpec, run_to_end};
use legation_core::{Cancel, CancelReason};

use super::*;
use crate::Place as Target;

fn env() -> Vec<(OsString, OsString)> {
    vec![
        ("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into()),
        ("HOME".into(), "/nonexistent".into()),
    ]
}

fn publish(ledger: &Ledger, place: &super::Place, target: Target) {
    ledger.publish_to(PublishSettings {
        places: vec![target],
        staging: place.path.with_file_name("staging"),
        env: env(),
    });
}

fn git(folder: &Path, args: &[&str]) -> String {
    let spec = OnceSpec {
        program: "git".into(),
        args: args.iter().map(Into::into).collect(),
        env: env(),
        cwd: Some(folder.to_owned()),
        timeout: Duration::from_secs(60),
        keep: 1 << 20,
    };
    let output = run_to_end(&spec).expect("git, which this test needs");
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.exit.code, Some(0), "{args:?}: {error}");
    String::from_utf8(output.stdout).expect("text")
}

fn one_more(ledger: &Ledger) {
    block_on(async {
        one_call(ledger, &asked("a"), Durability::PageCache).await;
        ledger.flush().await.expect("flushed");
    });
}

#[test]
fn a_git_remote_gets_a_commit_a_checkpoint() {
    let place = place();
    let (store, ledger) = place.open();
    let remote = place.path.with_file_name("remote.git");
    fs::create_dir(&remote).expect("made");
    let target = || Target::Git(remote.display().to_string());
    publish(&ledger, &place, target());
    one_more(&ledger);
    // There is no repository yet: it is tried again.
    ledger.checkpoint().expect("made");
    let problems = ledger.problems();
    assert!(
        problems.len() == 1 && problems[0].contains("git exited with"),
        "{problems:?}"
    );
    git(
        &remote,
        &["init", "--quiet", "--bare", "--initial-branch", "main"],
    );
    for _ in 0..2 {
        one_more(&ledger);
        ledger.checkpoint().expect("made");
        assert_eq!(ledger.problems(), [""; 0]);
    }
    drop((store, ledger));
    // Another machine, without the clone, goes on where this one ended.
    fs::remove_dir_all(place.path.with_file_name("staging")).expect("removed");
    let (_store, ledger) = place.open();
    publish(&ledger, &place, target());
    one_more(&ledger);
    ledger.checkpoint().expect("made");
    assert_eq!(ledger.problems(), [""; 0]);
    assert_eq!(
        git(&remote, &["log", "--format=%s", "main"])
            .lines()
            .count(),
        3
    );
    let files = git(&remote, &["ls-tree", "--name-only", "main"]);
    assert_eq!(files.lines().count(), 4, "{files}");
    let clone = place.path.with_file_name("clone");
    git(
        &remote,
        &["clone", "--quiet", ".", &clone.display().to_string()],
    );
    assert_eq!(super::oracle::faults(&place, Some(&clone), &[]), [""; 0]);
}

#[test]
fn a_command_gets_each_checkpoint_as_a_file() {
    let place = place();
    let (_store, ledger) = place.open();
    let (script, got) = (
        place.path.with_file_name("take"),
        place.path.with_file_name("got"),
    );
    let path = got.display();
    fs::write(
        &script,
        format!(
            "#!/bin/sh\n[ -e {path}.no ] && {{ echo closed >&2; exit 3; }}\ncat \"$2\" >> {path}\n"
        ),
    )
    .expect("written");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o700)).expect("made to run");
    publish(
        &ledger,
        &place,
        Target::Command(vec![script.display().to_string(), "--vault".to_owned()]),
    );
    one_more(&ledger);
    ledger.checkpoint().expect("made");
    let closed = got.with_extension("no");
    fs::write(&closed, "").expect("closed");
    one_more(&ledger);
    ledger.checkpoint().expect("made all the same");
    let problems = ledger.problems();
    assert!(
        problems.len() == 1 && problems[0].contains("exited with code 3: closed"),
        "{problems:?}"
    );
    one_more(&ledger);
    fs::remove_file(&closed).expect("opened");
    ledger.checkpoint().expect("made");
    assert_eq!(ledger.problems(), [""; 0]);
    let got = fs::read_to_string(&got).expect("read");
    let sizes: Vec<_> = got.split("legation-ledger/").skip(1).step_by(2).collect();
    assert_eq!(sizes.len(), 3, "{got}");
}

#[test]
fn checkpoints_are_made_as_records_come_and_time_passes() {
    let place = place();
    let (store, ledger) = place.open();
    let folder = place.path.with_file_name("exported");
    publish(&ledger, &place, Target::Folder(folder.clone()));
    let pace = |records, every| Pace { records, every };
    for (number, pace) in [
        pace(5, Duration::from_secs(3_600)),
        pace(1_000_000, Duration::from_millis(20)),
    ]
    .into_iter()
    .enumerate()
    {
        block_on(async {
            let cancel = Cancel::new();
            let run = ledger.run_checkpoints(pace, cancel.clone());
            let work = async {
                while store.checkpoint_list(None, 0).expect("read").len() <= number {
                    for _ in 0..10 {
                        one_call(&ledger, &asked("a"), Durability::PageCache).await;
                    }
                    ledger.flush().await.expect("flushed");
                    // tidy: time has to pass for a checkpoint; what decides is that it is there.
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                cancel.cancel(CancelReason::Shutdown);
            };
            tokio::join!(run, work);
        });
    }
    one_more(&ledger);
    ledger.close_checkpoints();
    let total = ledger.verify(&Evidence::default()).expect("read");
    assert!(total.is_intact(), "{total:?}");
    assert_eq!(total.covered, total.records);
    assert_eq!(super::oracle::faults(&place, Some(&folder), &[]), [""; 0]);
}
