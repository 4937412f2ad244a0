use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use legation_core::Home;

use super::{
    Change, InitError, PermissionsError, Template, first_run, init, permissions, permissions_path,
    plan,
};
use crate::governance::{marker, template as template_of};
use crate::{Environment, Settings, servers};

fn template(permissions: &str) -> Template<'_> {
    Template {
        name: "plain",
        files: vec![
            ("permissions.toml".into(), permissions.into()),
            ("schemas/roster.json".into(), "{}".into()),
        ],
    }
}

#[test]
fn a_first_start_makes_everything_and_a_second_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let home = Home::at(folder.path().join("deep/home"));
    let made = first_run(&home, &template("version = 1\n")).expect("made");
    assert_eq!(
        made.created,
        [
            permissions_path(&home),
            home.governance().join("schemas/roster.json"),
            home.servers(),
            home.settings()
        ]
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
        first_run(&home, &template("other"))
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
    let made = first_run(&home, &template("template")).expect("made");
    assert_eq!(
        made.created,
        [
            home.governance().join("schemas/roster.json"),
            home.settings()
        ]
    );
    assert_eq!(permissions(&home).expect("there"), "mine");
}

#[test]
fn permissions_that_disappear_stay_away() {
    let folder = tempfile::tempdir().expect("a folder");
    let home = Home::at(folder.path());
    first_run(&home, &template("version = 1\n")).expect("made");
    fs::remove_file(permissions_path(&home)).expect("removed");
    first_run(&home, &template("version = 1\n")).expect("nothing to do");
    let error = permissions(&home).expect_err("gone");
    assert!(matches!(error, PermissionsError::Missing { .. }));
    // The other two hold no authority and may come back.
    fs::remove_file(home.servers()).expect("removed");
    let made = first_run(&home, &template("version = 1\n")).expect("made");
    assert_eq!(made.created, [home.servers()]);
}

#[test]
fn a_start_that_was_cut_short_is_still_the_first() {
    let folder = tempfile::tempdir().expect("a folder");
    let home = Home::at(folder.path());
    first_run(&home, &template("version = 1\n")).expect("made");
    fs::remove_file(marker(&home)).expect("removed");
    fs::remove_file(permissions_path(&home)).expect("removed");
    first_run(&home, &template("version = 1\n")).expect("made");
    permissions(&home).expect("there again");
}

#[test]
fn a_dangling_link_is_not_written_through() {
    let folder = tempfile::tempdir().expect("a folder");
    let home = Home::at(folder.path().join("home"));
    home.create().expect("created");
    let target = folder.path().join("elsewhere");
    std::os::unix::fs::symlink(&target, permissions_path(&home)).expect("linked");
    first_run(&home, &template("version = 1\n")).expect("made");
    assert!(!target.exists());
    permissions(&home).expect_err("nothing behind the link");
}

#[test]
fn a_template_is_written_over_nothing_unasked() {
    let folder = tempfile::tempdir().expect("a folder");
    let home = Home::at(folder.path());
    let one = template("one");
    let changes = |template: &Template<'_>| -> Vec<Change> {
        let steps = plan(&home, template).expect("planned");
        steps.into_iter().map(|step| step.change).collect()
    };
    assert_eq!(changes(&one), [Change::Create, Change::Create]);
    assert_eq!(template_of(&home), None);
    assert_eq!(init(&home, &one, false).expect("written").len(), 2);
    assert_eq!(template_of(&home).as_deref(), Some("plain"));
    assert_eq!(init(&home, &one, false).expect("the same").len(), 0);
    let two = template("two");
    assert_eq!(changes(&two), [Change::Replace, Change::Keep]);
    let error = init(&home, &two, false).expect_err("in the way");
    assert!(matches!(&error, InitError::Exists { files } if *files == [permissions_path(&home)]));
    assert!(error.hint().contains("--force"));
    assert_eq!(permissions(&home).expect("there"), "one");
    assert_eq!(
        init(&home, &two, true).expect("replaced"),
        [permissions_path(&home)]
    );
    assert_eq!(permissions(&home).expect("there"), "two");
    let old = fs::read_to_string(home.governance().join("permissions.toml.old"));
    assert_eq!(old.expect("kept"), "one");
}
