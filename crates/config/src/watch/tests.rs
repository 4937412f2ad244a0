use std::fs;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use legation_core::Home;
use legation_core::home::write_private;

use super::{Watch, home_files, workspace_files};

/// How long a test waits for what must come; never for what must not.
const PATIENCE: Duration = Duration::from_secs(30);

fn start(files: Vec<PathBuf>) -> (Watch, Receiver<Vec<PathBuf>>) {
    let (told, heard) = channel();
    let watch = Watch::start(files, move |changed| drop(told.send(changed))).expect("started");
    (watch, heard)
}

#[test]
fn every_way_to_change_a_file_is_noticed() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("mcp.json");
    let other = folder.path().join("other");
    fs::write(&other, "1").expect("written");
    let (_watch, heard) = start(vec![file.clone(), other]);
    let expect_change = |what: &str| {
        let changed = heard.recv_timeout(PATIENCE).expect(what);
        assert_eq!(changed, std::slice::from_ref(&file), "{what}");
    };
    fs::write(&file, "created").expect("written");
    expect_change("created");
    fs::write(&file, "written").expect("written");
    expect_change("written in place");
    write_private(&file, b"replaced").expect("written");
    expect_change("replaced");
    write_private(&file, b"again").expect("written");
    expect_change("replaced again");
    fs::write(&file, "after").expect("written");
    expect_change("written after it was replaced");
    fs::remove_file(&file).expect("removed");
    expect_change("removed");
    fs::write(&file, "back").expect("written");
    expect_change("back");
}

#[test]
fn what_is_the_same_is_not_news() {
    let folder = tempfile::tempdir().expect("a folder");
    let touched = folder.path().join("touched");
    let changed = folder.path().join("changed");
    fs::write(&touched, "same").expect("written");
    fs::write(&changed, "before").expect("written");
    let (watch, heard) = start(vec![touched.clone(), changed.clone()]);
    write_private(&touched, b"same").expect("written");
    watch.nudge();
    fs::write(&changed, "after").expect("written");
    // The first news is of the file that changed; the touched one, which came
    // first, was none.
    assert_eq!(heard.recv_timeout(PATIENCE).expect("news"), [changed]);
}

#[cfg(unix)]
#[test]
fn a_file_that_became_a_link_to_itself_is_news() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("file");
    let moved = folder.path().join("moved");
    fs::write(&file, "same").expect("written");
    let (watch, heard) = start(vec![file.clone()]);
    fs::rename(&file, &moved).expect("moved");
    std::os::unix::fs::symlink(&moved, &file).expect("linked");
    watch.nudge();
    let news = heard.recv_timeout(PATIENCE).expect("news");
    assert_eq!(news, [file]);
}

#[test]
fn files_can_come_and_go() {
    let folder = tempfile::tempdir().expect("a folder");
    let old = folder.path().join("old");
    let new = folder.path().join("new");
    fs::write(&old, "1").expect("written");
    fs::write(&new, "1").expect("written");
    let (watch, heard) = start(vec![old.clone()]);
    watch.set_files(vec![new.clone()]);
    fs::write(&new, "2").expect("written");
    assert_eq!(
        heard.recv_timeout(PATIENCE).expect("news"),
        std::slice::from_ref(&new)
    );
    // The order was taken before that news, so nobody looks at the old file.
    fs::write(&old, "2").expect("written");
    fs::write(&new, "3").expect("written");
    assert_eq!(heard.recv_timeout(PATIENCE).expect("news"), [new]);
}

#[test]
fn a_watch_ends_when_it_is_dropped() {
    let folder = tempfile::tempdir().expect("a folder");
    let (watch, heard) = start(vec![folder.path().join("file")]);
    drop(watch);
    heard
        .recv()
        .expect_err("the thread is gone and its sender with it");
}

#[test]
fn the_files_that_matter_are_watched() {
    let home = Home::at("/home/ana/.legation");
    let files = home_files(&home);
    for file in [
        home.servers(),
        home.settings(),
        home.trust(),
        home.clients(),
    ] {
        assert!(files.contains(&file), "{}", file.display());
    }
    assert!(files.contains(&home.governance().join("permissions.toml")));
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().canonicalize().expect("there");
    assert_eq!(
        workspace_files(&folder),
        [".mcp.json", ".github/mcp.json", ".vscode/mcp.json"].map(|name| folder.join(name))
    );
}

#[test]
fn a_file_that_others_may_write_now_is_news() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("hard_bans.json");
    write_private(&file, b"{}").expect("written");
    let (watch, heard) = start(vec![file.clone()]);
    for mode in [0o666, 0o600] {
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).expect("set");
        watch.nudge();
        let changed = heard.recv_timeout(PATIENCE).expect("news");
        assert_eq!(changed, std::slice::from_ref(&file), "{mode:o}");
    }
}
