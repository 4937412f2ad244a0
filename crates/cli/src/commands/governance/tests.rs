use std::fs;
use std::path::PathBuf;

use clap::Parser as _;
use legation_config::environment::Environment;
use legation_core::Home;
use legation_core::clock::{ManualClock, Wall};
use legation_core::home::write_private;
use legation_policy::governance::{Severity, file};

use super::*;
use crate::{Cli, Command, Exit, Output};

/// 2026-06-01.
const NOW: Wall = Wall(1_780_272_000_000);

struct Owner {
    _folder: tempfile::TempDir,
    context: Context,
}

impl Owner {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let context = Context {
            home: Home::at(folder.path().join("home")),
            environment: Environment::default(),
            clock: std::sync::Arc::new(ManualClock::at(NOW)),
            version: "0",
            output: Output::new(true),
        };
        Self {
            _folder: folder,
            context,
        }
    }

    fn business() -> Self {
        let owner = Self::new();
        owner.run("init --template business").expect("written");
        owner
    }

    /// Runs `legation governance …` as it would be typed.
    fn run(&self, line: &str) -> Result<(), CliError> {
        let words = ["legation", "governance"]
            .into_iter()
            .chain(line.split(' '));
        let cli = Cli::try_parse_from(words).expect(line);
        let Command::Governance(command) = cli.command else {
            panic!("{line} is another command");
        };
        cmd_governance(&self.context, &command)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.context.home.governance().join(name)
    }

    fn edit(&self, name: &str, from: &str, to: &str) {
        let text = fs::read_to_string(self.path(name)).expect(name);
        assert!(text.contains(from), "{name}: {from}");
        write_private(&self.path(name), text.replacen(from, to, 1).as_bytes()).expect("written");
    }

    fn exit(&self, line: &str) -> Exit {
        self.run(line).expect_err(line).exit
    }
}

#[test]
fn a_template_is_shown_written_checked_and_compared() {
    let owner = Owner::new();
    owner
        .run("init --template business --dry-run")
        .expect("shown");
    assert!(!owner.context.home.root().exists(), "nothing was written");
    assert_eq!(owner.exit("check"), Exit::Failed);
    owner.run("init --template business").expect("written");
    owner.run("check --strict").expect("nothing is wrong");
    owner.run("diff").expect("compared");
    for line in [
        "explain files",
        "explain tool desk/draft_email",
        "explain client claude",
    ] {
        owner.run(line).expect(line);
    }
    assert_eq!(
        governance::template(&owner.context.home).as_deref(),
        Some("business")
    );
    // Another template is not written over it by mistake.
    let error = owner
        .run("init --template personal")
        .expect_err("in the way");
    assert!(
        error.message.contains("operator_profile.json"),
        "{}",
        error.message
    );
    owner.run("check --strict").expect("untouched");
    owner
        .run("init --template personal --force")
        .expect("replaced");
    assert!(owner.path("operator_profile.json.old").exists());
    let found = find(&owner.context);
    let profile = found.governance().profile.good().expect("good");
    assert_eq!(profile.entities.len(), 1);
}

#[test]
fn what_is_written_is_what_the_schemas_beside_it_describe() {
    let owner = Owner::business();
    for entry in fs::read_dir(owner.path("")).expect("there") {
        let path = entry.expect("read").path();
        if path.extension().is_some_and(|end| end == "json") {
            let text = fs::read_to_string(&path).expect("read");
            let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
            let schema = value["$schema"].as_str().expect("a schema");
            assert!(owner.path(schema).exists(), "{}", path.display());
        }
    }
}

#[test]
fn check_fails_on_errors_and_on_warnings_when_asked() {
    let owner = Owner::business();
    owner.edit(
        "operator_profile.json",
        "\"never_mix_with\": [\"meadow\", \"personal\"]",
        "\"never_mix_with\": [\"personal\"]",
    );
    owner.run("check").expect("a warning is no failure");
    assert_eq!(owner.exit("check --strict"), Exit::Failed);
    // An example that the ban does not stop is an error too.
    owner.edit("hard_bans.json", "\"amount\": 2500", "\"amount\": 25");
    assert_eq!(owner.exit("check"), Exit::Failed);
}

#[test]
fn a_file_that_others_may_write_governs_by_denying() {
    use std::os::unix::fs::PermissionsExt as _;
    let owner = Owner::business();
    let path = owner.path(file::LLM_PROVIDER);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).expect("opened");
    let found = find(&owner.context);
    let broken = found
        .governance()
        .providers
        .get()
        .expect_err("not believed");
    assert_eq!(broken.reason, "can be written by every user");
    let problem = &found.problems()[0];
    assert_eq!(
        (&*problem.file, problem.severity),
        (file::LLM_PROVIDER, Severity::Error)
    );
    assert_eq!(
        owner.exit("explain provider --entity harbor"),
        Exit::Refused
    );
}

#[test]
fn a_choice_of_model_is_explained_and_its_refusal_is_one_of_policy() {
    let owner = Owner::business();
    for (line, refused) in [
        ("explain provider", None),
        ("explain provider --entity harbor", None),
        (
            "explain provider --entity Harbor,quarry --job nightly",
            None,
        ),
        ("explain provider --entity harbor-m365", None),
        (
            "explain provider --entity meadow",
            Some("LLM_PROVIDER_UNAVAILABLE"),
        ),
        (
            "explain provider --entity all",
            Some("LLM_PROVIDER_UNAVAILABLE"),
        ),
        (
            "explain provider --entity harbor --entity meadow",
            Some("LLM_PROVIDER_UNAVAILABLE"),
        ),
    ] {
        let rule = owner.run(line).err().map(|error| {
            assert_eq!(error.exit, Exit::Refused, "{line}");
            error.rule.expect("a code")
        });
        assert_eq!(rule.as_deref(), refused, "{line}");
    }
    assert_eq!(owner.exit("explain provider --entity nobody"), Exit::Usage);
    assert_eq!(
        owner.exit("explain provider --entity m\u{435}adow"),
        Exit::Usage
    );
    assert_eq!(owner.exit("explain tool desk"), Exit::Usage);
}

#[test]
fn the_checklist_fails_while_a_line_is_open() {
    let owner = Owner::business();
    assert_eq!(owner.exit("hipaa"), Exit::Failed);
    owner.edit(
        "llm_provider.json",
        "\"enabled\": false,\n      \"endpoint\": \"\"",
        "\"enabled\": true,\n      \"endpoint\": \"https://models.example.com/openai\"",
    );
    owner.edit("llm_provider.json", "REPLACE with", "agreement 17:");
    write_private(&owner.context.home.state_db(), b"").expect("written");
    let error = owner.run("hipaa").expect_err("redaction was never tested");
    assert!(error.message.starts_with("1 of 9"), "{}", error.message);
    let record = |digest: &str, missed: u64| {
        let text = format!(
            "{{\"tested_at\": \"2026-05-30\", \"digest\": \"{digest}\", \"tried\": 40, \"missed\": {missed}}}"
        );
        let file = owner.context.home.root().join("redaction_test.json");
        write_private(&file, text.as_bytes()).expect("written");
    };
    let digest = find(&owner.context).sources.redaction_digest();
    for (digest, missed) in [("0000", 0), (digest.as_str(), 1)] {
        record(digest, missed);
        assert_eq!(owner.exit("hipaa"), Exit::Failed, "{digest} {missed}");
    }
    record(&digest, 0);
    owner.run("hipaa").expect("every line is closed");
    // The test itself finds nothing that is left.
    record(&digest, 1);
    owner
        .run("hipaa --test-redaction")
        .expect("nothing is missed");
    let left = fs::read_to_string(owner.context.home.root().join("redaction_test.json"));
    let left = left.expect("a record");
    assert!(
        left.contains("\"missed\":0") && !left.contains("Placeholder"),
        "{left}"
    );
    // A person more on the roster, and the test says nothing any longer.
    owner.edit("rosters/meadow.json", "Ave Placeholder", "Avy Placeholder");
    assert_eq!(owner.exit("hipaa"), Exit::Failed);
    // Where nobody has health information, there is nothing to do.
    owner
        .run("init --template personal --force")
        .expect("replaced");
    owner.run("hipaa").expect("nothing to demand");
}
