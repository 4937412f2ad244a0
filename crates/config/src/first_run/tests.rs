use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use legation_core::Home;

use super::{PermissionsError, first_run, permissions, permissions_path};
use crate::{Environment, Settings, servers};

#[test]
fn a_first_start_makes_everything_and_a_second_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let home = Home::at(folder.path().join("deep/home"));
    let made = first_run(&home, "version = 1\n").expect("made");
    assert_eq!(
        made.created,
        [permissions_path(&home), home.servers(), home.settings()]
    );
    for file in &made.created {
        let mode = fs::metadata(file).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", file.display());
    }
    let mode = fs::metadata(home.root())
        .expect("there")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o700);
    assert_eq!(permissions(&home).expect("there"), "version = 1\n");
    assert_eq!(servers::user(&home), servers::Loaded::default());
    let settings = Settings::load(&home, &Environment::default(), &[]).expect("comments only");
    assert_eq!(settings, Settings::defaults());
    assert_eq!(
        first_run(&home, "other")
            .expect("nothing to do")
            .created
            .len(),
        0
    );
    assert_eq!(permissions(&home).expect("there"), "version = 1\n");
}

#[test]
fn what_the_owner_wrote_before_is_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let home = Home::at(folder.path());
    home.create().expect("created");
    fs::write(home.servers(), "{}").expect("written");
    fs::write(permissions_path(&home), "mine").expect("written");
    let made = first_run(&home, "template").expect("made");
    assert_eq!(made.created, [home.settings()]);
    assert_eq!(permissions(&home).expect("there"), "mine");
}

#[test]
fn permissions_that_disappear_stay_away() {
    let folder = tempfile::tempdir().expect("a folder");
    let home = Home::at(folder.path());
    first_run(&home, "version = 1\n").expect("made");
    fs::remove_file(permissions_path(&home)).expect("removed");
    first_run(&home, "version = 1\n").expect("nothing to do");
    let error = permissions(&home).expect_err("gone");
    assert!(matches!(error, PermissionsError::Missing { .. }));
    // The other two hold no authority and may come back.
    fs::remove_file(home.servers()).expect("removed");
    let made = first_run(&home, "version = 1\n").expect("made");
    assert_eq!(made.created, [home.servers()]);
}

#[test]
fn a_start_that_was_cut_short_is_still_the_first() {
    let folder = tempfile::tempdir().expect("a folder");
    let home = Home::at(folder.path());
    first_run(&home, "version = 1\n").expect("made");
    fs::remove_file(home.governance().join(".initialized")).expect("removed");
    fs::remove_file(permissions_path(&home)).expect("removed");
    first_run(&home, "version = 1\n").expect("made");
    permissions(&home).expect("there again");
}

#[test]
fn a_dangling_link_is_not_written_through() {
    let folder = tempfile::tempdir().expect("a folder");
    let home = Home::at(folder.path().join("home"));
    home.create().expect("created");
    let target = folder.path().join("elsewhere");
    std::os::unix::fs::symlink(&target, permissions_path(&home)).expect("linked");
    first_run(&home, "version = 1\n").expect("made");
    assert!(!target.exists());
    permissions(&home).expect_err("nothing behind the link");
}
