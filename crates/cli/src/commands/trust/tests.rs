use std::fs;

use expect_test::expect;
use legation_config::environment::Environment;
use legation_core::{Home, SystemClock};

use super::*;
use crate::Output;

struct Owner {
    folder: tempfile::TempDir,
    context: Context,
}

impl Owner {
    fn new(file: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join(".mcp.json"), file).expect("written");
        let context = Context {
            home: Home::at(folder.path().join("home")),
            environment: Environment::default(),
            clock: SystemClock::shared(),
            version: "0",
            output: Output::new(true),
        };
        Self { folder, context }
    }

    fn run(&self, change: impl FnOnce(&mut TrustArgs)) -> Result<(), CliError> {
        let mut args = TrustArgs {
            folder: Some(self.folder.path().to_owned()),
            yes: false,
            revoke: false,
            dry_run: false,
            list: false,
        };
        change(&mut args);
        cmd_trust(&self.context, &args)
    }

    fn states(&self) -> Vec<&'static str> {
        let status = trust::status(&self.context.home, self.folder.path()).expect("read");
        status
            .servers
            .iter()
            .map(|entry| entry.state.as_str())
            .collect()
    }
}

const FILE: &str = r#"{"mcpServers": {"a": {"command": "sh", "args": ["-c", "x"]}}}"#;

#[test]
fn nothing_is_agreed_to_without_a_yes() {
    let owner = Owner::new(FILE);
    owner.run(|args| args.dry_run = true).expect("shown");
    // Nobody answers a question under --json.
    assert_eq!(owner.run(|_| {}).expect_err("not asked").exit, Exit::Usage);
    assert_eq!(owner.states(), ["new"]);
    owner.run(|args| args.yes = true).expect("agreed");
    assert_eq!(owner.states(), ["trusted"]);
    owner.run(|_| {}).expect("nothing left to ask");
    fs::write(
        owner.folder.path().join(".mcp.json"),
        FILE.replace("\"x\"", "\"y\""),
    )
    .expect("changed");
    assert_eq!(owner.states(), ["changed"]);
    assert_eq!(
        owner.run(|_| {}).expect_err("asked again").exit,
        Exit::Usage
    );
    owner.run(|args| args.revoke = true).expect("taken back");
    assert_eq!(owner.states(), ["new"]);
}

#[test]
fn a_folder_that_cannot_be_read_is_a_failure() {
    let owner = Owner::new("{");
    assert_eq!(
        owner.run(|args| args.yes = true).expect_err("broken").exit,
        Exit::Failed
    );
    let gone = owner.run(|args| args.folder = Some("/no/such/folder".into()));
    assert_eq!(gone.expect_err("no folder").exit, Exit::Failed);
}

#[test]
fn a_command_cannot_repaint_what_is_agreed_to() {
    let answer = Answer {
        folder: "/w".into(),
        servers: vec![Server {
            name: "a\u{202e}b".into(),
            file: "/w/.mcp.json".into(),
            state: "new",
            shown: vec!["runs sh \u{1b}[8mrm".into()],
        }],
        problems: vec!["/w/x: \r gone".into()],
        missing: Vec::new(),
        changed: false,
    };
    expect![[r#"
        /w
          a\u{202e}b (new, /w/.mcp.json)
            runs sh \u{1b}[8mrm
          problem: /w/x: \u{d} gone
    "#]]
    .assert_eq(&render(&answer));
}
