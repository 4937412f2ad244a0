use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use legation_core::Home;
use legation_core::home::write_private;

use super::{Found, NAMES, read, read_one, template, watched};
use crate::Environment;

/// What it is called, what is done to the file, and what is said then.
type Case = (&'static str, fn(&Path), Option<&'static str>);

struct Folder {
    _folder: tempfile::TempDir,
    home: Home,
}

fn folder() -> Folder {
    let folder = tempfile::tempdir().expect("a folder");
    let home = Home::at(folder.path().join("home"));
    home.create().expect("made");
    Folder {
        _folder: folder,
        home,
    }
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("set");
}

fn one(home: &Home, name: &str) -> Found {
    let mut files = read(home, &Environment::default(), &[]);
    files.named.remove(name).expect(name)
}

#[test]
fn a_file_is_believed_only_when_nobody_else_could_have_written_it() {
    let at = folder();
    let file = at.home.governance().join("hard_bans.json");
    let cases: [Case; 9] = [
        ("private", |_| (), None),
        ("readable", |file| mode(file, 0o644), None),
        (
            "world-writable",
            |file| mode(file, 0o606),
            Some("can be written by every user"),
        ),
        (
            "group-writable",
            |file| mode(file, 0o660),
            Some("can be written by its group"),
        ),
        (
            "linked",
            |file| {
                let target = file.with_extension("elsewhere");
                fs::rename(file, &target).expect("moved");
                symlink(&target, file).expect("linked");
            },
            Some("is a symbolic link"),
        ),
        (
            "too large",
            |file| write_private(file, &vec![b' '; (1 << 20) + 1]).expect("written"),
            Some("is larger than 1 MiB"),
        ),
        (
            "marked",
            |file| write_private(file, b"\xef\xbb\xbf{}").expect("written"),
            Some("begins with a byte-order mark"),
        ),
        (
            "not text",
            |file| write_private(file, b"{\n\"a\": \"\xff\"}").expect("written"),
            Some("is not UTF-8 (line 2)"),
        ),
        (
            "a folder",
            |file| {
                fs::remove_file(file).expect("removed");
                fs::create_dir(file).expect("made");
            },
            Some("is not a regular file"),
        ),
    ];
    for (what, change, says) in cases {
        if file.is_dir() {
            fs::remove_dir(&file).expect("removed");
        }
        write_private(&file, b"{}").expect("written");
        change(&file);
        let expected = says.map_or_else(
            || Found::Text("{}".to_owned()),
            |why| Found::Unusable(why.to_owned()),
        );
        assert_eq!(one(&at.home, "hard_bans.json"), expected, "{what}");
    }
    fs::remove_dir(&file).expect("removed");
    assert_eq!(one(&at.home, "hard_bans.json"), Found::Absent);
}

#[test]
fn exactly_the_largest_file_is_read() {
    let at = folder();
    let file = at.home.governance().join("policy.cedar");
    write_private(&file, &vec![b' '; 1 << 20]).expect("written");
    assert!(matches!(one(&at.home, "policy.cedar"), Found::Text(text) if text.len() == 1 << 20));
}

#[test]
fn a_pipe_keeps_nobody_waiting() {
    let at = folder();
    let file = at.home.governance().join("policy.cedar");
    rustix::fs::mkfifoat(
        rustix::fs::CWD,
        &file,
        rustix::fs::Mode::from_raw_mode(0o600),
    )
    .expect("a pipe");
    let found = one(&at.home, "policy.cedar");
    assert_eq!(found, Found::Unusable("is not a regular file".to_owned()));
}

#[test]
fn a_folder_that_others_may_write_makes_all_of_it_unusable() {
    let at = folder();
    for name in NAMES {
        write_private(&at.home.governance().join(name), b"x").expect("written");
    }
    let every = |home: &Home| {
        let files = read(home, &Environment::default(), &[]);
        let mut all: Vec<Found> = files.named.into_values().collect();
        all.dedup();
        all
    };
    assert_eq!(every(&at.home), [Found::Text("x".to_owned())]);
    mode(&at.home.governance(), 0o777);
    let why = "its folder can be written by every user";
    assert_eq!(every(&at.home), [Found::Unusable(why.to_owned())]);
    mode(&at.home.governance(), 0o700);
    let moved = at.home.root().join("moved");
    fs::rename(at.home.governance(), &moved).expect("moved");
    symlink(&moved, at.home.governance()).expect("linked");
    assert_eq!(
        every(&at.home),
        [Found::Unusable("its folder is a symbolic link".to_owned())]
    );
}

#[test]
fn rosters_are_read_like_the_rest() {
    let at = folder();
    let rosters = at.home.governance().join("rosters");
    let names = || {
        let files = read(&at.home, &Environment::default(), &[]);
        files.rosters.into_iter().collect::<Vec<_>>()
    };
    assert_eq!(names(), []);
    fs::create_dir(&rosters).expect("made");
    mode(&rosters, 0o700);
    write_private(&rosters.join("one.json"), b"{}").expect("written");
    write_private(&rosters.join(".hidden"), b"{}").expect("written");
    symlink("/etc/hostname", rosters.join("two.json")).expect("linked");
    assert_eq!(
        names(),
        [
            ("rosters/one.json".into(), Found::Text("{}".to_owned())),
            (
                "rosters/two.json".into(),
                Found::Unusable("is a symbolic link".to_owned())
            ),
        ]
    );
    mode(&rosters, 0o770);
    assert!(
        names()
            .iter()
            .all(|(_, found)| matches!(found, Found::Unusable(_)))
    );
}

#[test]
fn a_second_enterprise_policy_is_read_in_addition() {
    let at = folder();
    let extra = at.home.root().join("policy.toml");
    write_private(&extra, b"version = 1\n").expect("written");
    let environment = Environment::from_pairs([("LEGATION_ENTERPRISE_POLICY", extra.as_os_str())]);
    let files = read(&at.home, &environment, &[]);
    assert_eq!(
        files.enterprise.len(),
        2,
        "the standard one is not replaced"
    );
    assert_eq!(files.enterprise[1], Found::Text("version = 1\n".to_owned()));
    assert_eq!(
        read(&at.home, &Environment::default(), &[])
            .enterprise
            .len(),
        1
    );
    let watched = watched(&at.home, &environment, &[]);
    assert!(watched.contains(&PathBuf::from("/etc/legation/policy.toml")));
    assert!(watched.contains(&extra));
    assert!(watched.contains(&at.home.governance().join("template")));
    for name in NAMES {
        assert!(watched.contains(&at.home.governance().join(name)), "{name}");
    }
}

#[test]
fn a_folder_brings_its_rules_up_to_the_root_of_its_repository() {
    let at = folder();
    let root = at.home.root().join("repository");
    let inner = root.join("crates/one");
    for folder in [&root.join(".git"), &inner, &root.join(".legation")] {
        fs::create_dir_all(folder).expect("made");
    }
    fs::write(root.join(".legation/permissions.toml"), "version = 2\n").expect("written");
    // A checkout is often open to a group; its rules can only take away.
    mode(&root.join(".legation/permissions.toml"), 0o664);
    let files = read(
        &at.home,
        &Environment::default(),
        &[inner.clone(), root.clone()],
    );
    let name = root.to_str().expect("text");
    assert_eq!(
        files.workspaces,
        [(name.into(), Found::Text("version = 2\n".to_owned()))]
    );
    let outside = at.home.root().to_path_buf();
    assert_eq!(
        read(&at.home, &Environment::default(), &[outside]).workspaces,
        []
    );
}

#[test]
fn the_marker_names_the_template() {
    let at = folder();
    assert_eq!(template(&at.home), None);
    write_private(&at.home.governance().join("template"), b"business\n").expect("written");
    assert_eq!(template(&at.home).as_deref(), Some("business"));
    assert_eq!(read_one(&at.home.root().join("nothing")), Found::Absent);
    let shown = format!("{:?}", Found::Text("secret".to_owned()));
    assert_eq!(shown, "Text(6 bytes)");
}
