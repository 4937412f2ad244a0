use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Parser as _;
use legation_config::environment::Environment;
use legation_core::Home;
use legation_core::clock::{ManualClock, Wall};
use legation_policy::governance::file;

use super::*;
use crate::{Cli, Command, Exit, Output};

struct Owner {
    folder: tempfile::TempDir,
    context: Context,
}

// === impl Owner ===

impl Owner {
    /// An owner with the files of the business template.
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let context = Context {
            home: Home::at(folder.path().join("home")),
            environment: Environment::default(),
            clock: Arc::new(ManualClock::at(Wall(1_780_272_000_000))),
            version: "0",
            output: Output::new(true),
        };
        let owner = Self { folder, context };
        owner
            .run("governance init --template business")
            .expect("written");
        owner
    }

    /// One who has never run anything here.
    fn before_anything() -> Self {
        let mut owner = Self::new();
        owner.context.home = Home::at(owner.folder.path().join("another"));
        owner
    }

    /// Runs a command as it would be typed.
    fn run(&self, line: &str) -> Result<(), CliError> {
        let words = ["legation"].into_iter().chain(line.split(' '));
        match Cli::try_parse_from(words).expect(line).command {
            Command::Models(command) => cmd_models(&self.context, &command),
            Command::Governance(command) => {
                crate::commands::governance::cmd_governance(&self.context, &command)
            }
            _ => panic!("{line} is another command"),
        }
    }

    fn path(&self) -> PathBuf {
        self.context.home.governance().join(file::LLM_PROVIDER)
    }

    fn text(&self) -> String {
        fs::read_to_string(self.path()).expect("there")
    }
}

/// The lines of one text that the other has not.
fn new_lines(before: &str, after: &str) -> Vec<String> {
    let lines = after
        .lines()
        .filter(|line| !before.lines().any(|old| old == *line));
    lines.map(|line| line.trim().to_owned()).collect()
}

#[test]
fn a_change_touches_what_it_is_about() {
    let owner = Owner::new();
    let before = owner.text();
    owner.run("models set default disabled").expect("changed");
    assert_eq!(
        new_lines(&before, &owner.text()),
        ["\"default_provider\": \"disabled\","]
    );
    owner
        .run("models set default openai_direct")
        .expect("changed");
    assert_eq!(owner.text(), before);

    owner
        .run("models set job delegate.task local_model --model qwen3-8b")
        .expect("changed");
    let lines = new_lines(&before, &owner.text());
    let all = lines.join(" ");
    assert!(
        all.contains("\"delegate.task\": {") && all.contains("\"model\": \"qwen3-8b\""),
        "{all}"
    );
    owner
        .run("models set job delegate.task --none")
        .expect("changed");
    let without = owner.text();
    let gone = new_lines(&without, &before);
    assert!(
        gone.iter()
            .all(|line| line.contains("per_job_overrides") || line == "},"),
        "{gone:?}"
    );

    owner
        .run("models set enable local_model --endpoint http://127.0.0.1:8080 --model qwen3-8b")
        .expect("changed");
    let on = owner.text();
    assert!(
        on.contains("\"endpoint\": \"http://127.0.0.1:8080\""),
        "{on}"
    );
    owner
        .run("models set disable local_model")
        .expect("changed");
    let off = new_lines(&on, &owner.text());
    assert_eq!(
        off,
        ["\"enabled\": false,"].map(str::to_owned)[..off.len()],
        "{off:?}"
    );
    let providers = crate::commands::governance::find(&owner.context);
    let providers = providers
        .governance()
        .providers
        .good()
        .expect("still good")
        .clone();
    let local = &providers.providers["local_model"];
    assert!(!local.enabled && local.notes.is_some() && local.default_model.is_some());
}

#[test]
fn a_change_that_makes_the_file_worse_is_refused() {
    let owner = Owner::new();
    let before = owner.text();
    for (line, exit) in [
        ("models set default nobody", Exit::Usage),
        ("models set job desk.draft nobody", Exit::Usage),
        ("models set enable nobody", Exit::Usage),
        ("models set disable nobody", Exit::Usage),
        ("models set enable azure_openai", Exit::Usage),
        (
            "models set enable local_model --endpoint nonsense",
            Exit::Usage,
        ),
        ("models set key copilot_extension", Exit::Usage),
        ("models set key nobody --forget", Exit::Usage),
        ("models test nobody", Exit::Usage),
    ] {
        let error = owner.run(line).expect_err(line);
        assert_eq!(error.exit, exit, "{line}: {error:?}");
        assert_eq!(owner.text(), before, "{line}");
    }
    // What was wrong before may stay wrong: one thing is repaired at a time.
    fs::write(
        owner.path(),
        before.replace(
            "\"default_provider\": \"openai_direct\"",
            "\"default_provider\": \"old\"",
        ),
    )
    .expect("written");
    owner
        .run("models set job desk.draft openai_direct")
        .expect("changed");
    owner
        .run("models set default openai_direct")
        .expect("repaired");
    fs::write(owner.path(), "nonsense").expect("written");
    let error = owner
        .run("models set default disabled")
        .expect_err("no JSON");
    assert_eq!(error.exit, Exit::Usage);
    assert_eq!(owner.text(), "nonsense");
    fs::remove_file(owner.path()).expect("removed");
    let error = owner
        .run("models set default disabled")
        .expect_err("no file");
    assert!(error.hint.is_some(), "{error:?}");
}

#[test]
fn nobody_is_asked_where_nobody_is_on() {
    let owner = Owner::new();
    owner.run("models list --configured").expect("listed");
    owner
        .run("models explain --entity harbor")
        .expect("explained");
    let refused = owner
        .run("models explain --entity meadow")
        .expect_err("refused");
    assert_eq!(refused.exit, Exit::Refused);
    // Its key is nowhere, so nothing is sent.
    let error = owner.run("models test openai_direct").expect_err("no key");
    assert_eq!(error.exit, Exit::Failed);
    let error = owner
        .run("models test azure_openai")
        .expect_err("switched off");
    assert_eq!(error.exit, Exit::Refused);
    owner
        .run("models set disable openai_direct")
        .expect("changed");
    let error = owner.run("models test").expect_err("nobody");
    assert_eq!(error.exit, Exit::Usage);
}

#[test]
fn models_are_listed_before_any_hub_ran() {
    let owner = Owner::before_anything();
    owner
        .run("models list --configured")
        .expect("what the first hub begins with");
    assert!(!owner.path().exists(), "looking writes nothing");
    // What was there and is gone is another matter.
    let owner = Owner::new();
    fs::remove_file(owner.path()).expect("removed");
    owner
        .run("models list --configured")
        .expect_err("it is missing");
}
