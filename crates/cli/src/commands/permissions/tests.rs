use std::fs;
use std::path::PathBuf;

use clap::Parser as _;
use legation_config::environment::Environment;
use legation_config::first_run;
use legation_core::Home;
use legation_core::clock::{ManualClock, Wall};
use legation_policy::governance::Template;

use super::*;
use crate::{Cli, Command, Output};

struct Owner {
    _folder: tempfile::TempDir,
    context: Context,
}

impl Owner {
    /// An owner of one server, `files`, with the files of the first start.
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let context = Context {
            home: Home::at(folder.path().join("home")),
            environment: Environment::default(),
            clock: std::sync::Arc::new(ManualClock::at(Wall(1_780_272_000_000))),
            version: "0",
            output: Output::new(true),
        };
        first_run::init(&context.home, &crate::template(Template::Personal), false)
            .expect("written");
        let servers = br#"{"mcpServers":{"files":{"command":"files-server"}}}"#;
        write_private(&context.home.servers(), servers).expect("written");
        Self {
            _folder: folder,
            context,
        }
    }

    /// Runs `legation permissions …` as it would be typed.
    fn run(&self, words: &[&str]) -> Result<(), CliError> {
        let words = ["legation", "permissions"].iter().chain(words);
        let cli = Cli::try_parse_from(words).expect("a command");
        let Command::Permissions(command) = cli.command else {
            panic!("another command");
        };
        cmd_permissions(&self.context, &command)
    }

    fn path(&self) -> PathBuf {
        self.context.home.governance().join(file::PERMISSIONS)
    }

    fn text(&self) -> String {
        fs::read_to_string(self.path()).expect("there")
    }
}

const NO_WRITES: &str = "deny files/write_* because \"agents only look\"";

#[test]
fn a_rule_is_tried_added_explained_and_removed() {
    let owner = Owner::new();
    let before = owner.text();
    owner.run(&["list"]).expect("listed");
    owner
        .run(&["explain", "files/write_file"])
        .expect("not denied yet");
    let add = [
        "add",
        NO_WRITES,
        "--id",
        "no-writes",
        "--match",
        "files/write_file",
    ];
    owner
        .run(&[&add[..], &["--dry-run"]].concat())
        .expect("tried");
    assert_eq!(owner.text(), before, "a trial changes nothing");
    owner.run(&add).expect("added");
    let added = owner.text();
    assert!(added.starts_with(&before[..before.find("version").expect("there")]));
    assert!(
        added.contains("# Servers that a folder brings along"),
        "{added}"
    );
    let refused = owner
        .run(&["explain", "files/write_file"])
        .expect_err("denied");
    assert_eq!(refused.exit, Exit::Refused);
    assert_eq!(refused.rule.as_deref(), Some("no-writes"));
    owner.run(&["explain", "files/read_file"]).expect("allowed");
    owner
        .run(&["remove", "no-writes", "--dry-run"])
        .expect("tried");
    assert_eq!(owner.text(), added, "a trial changes nothing");
    owner.run(&["remove", "no-writes"]).expect("removed");
    owner
        .run(&["explain", "files/write_file"])
        .expect("not denied any more");
}

#[test]
fn a_rule_with_which_the_file_would_not_hold_is_not_written() {
    let owner = Owner::new();
    let before = owner.text();
    for words in [
        [
            "add",
            "deny fields/write_*",
            "--id",
            "a",
            "--match",
            "fields/write_a",
        ],
        ["add", NO_WRITES, "--id", "a", "--match", "files/read_file"],
        [
            "add",
            NO_WRITES,
            "--id",
            "a",
            "--no-match",
            "files/write_file",
        ],
        [
            "add",
            "allow */write_*",
            "--id",
            "a",
            "--match",
            "files/write_a",
        ],
        [
            "add",
            NO_WRITES,
            "--id",
            "own.servers",
            "--match",
            "files/write_a",
        ],
    ] {
        let error = owner.run(&words).expect_err(words[1]);
        assert_eq!(error.exit, Exit::Usage, "{words:?}");
        assert!(error.hint.is_some(), "{words:?}");
        assert_eq!(owner.text(), before, "{words:?}");
    }
    let unknown = owner.run(&["remove", "nobody"]).expect_err("not there");
    assert_eq!(unknown.exit, Exit::Failed);
    let unknown = owner.run(&["explain", "files"]).expect_err("no call");
    assert_eq!(unknown.exit, Exit::Usage);
}

#[test]
fn many_at_once_lose_nothing() {
    let owner = Owner::new();
    let ids: Vec<String> = (0..12).map(|at| format!("no-{at}")).collect();
    std::thread::scope(|scope| {
        for id in &ids {
            let owner = &owner;
            scope.spawn(move || {
                let rule = format!("deny files/{id}_*");
                let example = format!("files/{id}_a");
                owner
                    .run(&["add", &rule, "--id", id, "--match", &example])
                    .expect("added");
            });
        }
    });
    let text = owner.text();
    for id in &ids {
        assert!(text.contains(&format!("id = \"{id}\"")), "{id} is lost");
    }
    std::thread::scope(|scope| {
        for id in &ids {
            let owner = &owner;
            scope.spawn(move || owner.run(&["remove", id]).expect("removed"));
        }
    });
    assert!(!owner.text().contains("id = \"no-"), "{}", owner.text());
}
