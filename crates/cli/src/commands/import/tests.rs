use std::fs;
use std::path::Path;
use std::sync::Arc;

use legation_config::environment::Environment;
use legation_config::servers::{EnvMode, Resolved};
use legation_core::{Home, SystemClock};
use serde_json::json;

use super::*;
use crate::Output;
use crate::accounts::HomeKeyring;
use crate::commands::export::{ExportArgs, cmd_export};

struct Owner {
    _folder: tempfile::TempDir,
    context: Context,
    user: PathBuf,
}

impl Owner {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let user = folder.path().join("user");
        let home = Home::at(folder.path().join("legation"));
        home.create().expect("made");
        fs::write(home.settings(), "secrets.keep_in = \"file\"\n").expect("written");
        let environment = Environment::from_pairs([("HOME", &user)]);
        let keyring = Arc::new(HomeKeyring::of(&home));
        Self {
            context: Context {
                home,
                environment: environment.with_keyring(keyring),
                clock: SystemClock::shared(),
                version: "0",
                output: Output::new(true),
            },
            _folder: folder,
            user,
        }
    }

    fn file(&self, program: ProgramArg, text: &str) -> PathBuf {
        let file = program
            .foreign()
            .file(&self.context.environment)
            .expect("a home");
        fs::create_dir_all(file.parent().expect("a folder")).expect("made");
        fs::write(&file, text).expect("written");
        assert!(file.starts_with(&self.user));
        file
    }

    fn import(
        &self,
        program: ProgramArg,
        change: impl FnOnce(&mut ImportArgs),
    ) -> Result<(), CliError> {
        let mut args = ImportArgs {
            program,
            file: None,
            only: Vec::new(),
            replace: false,
            yes: true,
            undo: false,
        };
        change(&mut args);
        cmd_import(&self.context, &args)
    }

    fn export(
        &self,
        program: ProgramArg,
        change: impl FnOnce(&mut ExportArgs),
    ) -> Result<(), CliError> {
        let mut args = ExportArgs {
            program,
            file: None,
            only: Vec::new(),
            replace: false,
            with_secrets: false,
            yes: true,
            undo: false,
        };
        change(&mut args);
        cmd_export(&self.context, &args)
    }

    fn entries(&self) -> Vec<(String, Value)> {
        edit::written(&self.context.home).expect("entries")
    }

    fn secrets(&self) -> Vec<String> {
        match self.context.home.secrets().exists() {
            true => secret::names(&secret::open(&self.context).expect("opened")).expect("listed"),
            false => Vec::new(),
        }
    }

    /// Every byte of the data directory's files.
    fn holds(&self, text: &str) -> bool {
        fn within(folder: &Path, text: &str) -> bool {
            let found = fs::read_dir(folder).expect("a folder");
            found.flatten().any(|one| match one.path() {
                path if path.is_dir() => within(&path, text),
                path => String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).contains(text),
            })
        }
        within(self.context.home.root(), text)
    }
}

const COPILOT: &str = r#"{"mcpServers": {
    "mail": {"type": "local", "command": "mail", "args": [], "env": {"MAIL_TOKEN": "a-token-of-mail", "REGION": "eu"}, "tools": ["*"]},
    "legation": {"type": "local", "command": "legation", "args": ["bridge"]}
}}"#;

#[test]
fn servers_are_taken_over_with_their_secrets_apart_and_given_back() {
    let owner = Owner::new();
    let file = owner.file(ProgramArg::Copilot, COPILOT);
    // Without a word nothing but a look.
    owner
        .import(ProgramArg::Copilot, |args| args.yes = false)
        .expect("shown");
    assert_eq!((owner.entries(), owner.secrets()), (vec![], vec![]));

    owner.import(ProgramArg::Copilot, |_| {}).expect("imported");
    let entries = owner.entries();
    assert_eq!(entries.len(), 1, "{entries:?}");
    assert_eq!(
        entries[0].1["env"],
        json!({"MAIL_TOKEN": "${keyring:mail.MAIL_TOKEN}", "REGION": "eu"})
    );
    assert_eq!(owner.secrets(), ["mail.MAIL_TOKEN"]);
    assert!(!owner.holds("a-token-of-mail"));
    assert_eq!(
        fs::read_to_string(&file).expect("there"),
        COPILOT,
        "its own file stays"
    );
    let loaded = mcp::configured(&owner.context);
    let mail = loaded
        .servers
        .iter()
        .find(|one| one.name.as_str() == "mail")
        .expect("there");
    match mail.resolve(&owner.context.environment, EnvMode::Direct) {
        Ok(Resolved::Stdio(stdio)) => {
            assert!(
                stdio
                    .env
                    .contains(&("MAIL_TOKEN".into(), "a-token-of-mail".into()))
            );
        }
        other => panic!("{other:?}"),
    }
    // Once more changes nothing, and another value of a name takes none's place.
    owner.import(ProgramArg::Copilot, |_| {}).expect("the same");
    owner.file(
        ProgramArg::Copilot,
        &COPILOT.replace("a-token-of-mail", "another-token"),
    );
    owner
        .import(ProgramArg::Copilot, |args| args.replace = true)
        .expect("replaced");
    assert_eq!(owner.secrets(), ["mail.MAIL_TOKEN", "mail.MAIL_TOKEN-2"]);

    owner
        .import(ProgramArg::Copilot, |args| args.undo = true)
        .expect("taken back");
    assert_eq!(owner.entries(), entries);
    assert_eq!(owner.secrets(), ["mail.MAIL_TOKEN"]);
    let nothing = owner.import(ProgramArg::Copilot, |args| args.undo = true);
    assert_eq!(nothing.expect_err("taken back before").exit, Exit::Failed);

    // Into another program's file: as references where it has them, and secrets only when told so.
    let cursor = owner.file(
        ProgramArg::Cursor,
        "{\n  // mine\n  \"mcpServers\": {}\n}\n",
    );
    owner
        .export(ProgramArg::Cursor, |_| {})
        .expect("nothing to give");
    assert!(!fs::read_to_string(&cursor).expect("there").contains("mail"));
    owner
        .export(ProgramArg::Cursor, |args| args.with_secrets = true)
        .expect("given");
    let text = fs::read_to_string(&cursor).expect("there");
    assert!(
        text.contains("// mine") && text.contains("a-token-of-mail"),
        "{text}"
    );
    owner
        .export(ProgramArg::Cursor, |args| args.undo = true)
        .expect("taken back");
    assert!(!fs::read_to_string(&cursor).expect("there").contains("mail"));
    assert!(
        owner
            .export(ProgramArg::Cursor, |args| args.undo = true)
            .is_err()
    );
}

#[test]
fn what_was_changed_since_is_left_by_undo() {
    let owner = Owner::new();
    owner.file(ProgramArg::Copilot, COPILOT);
    owner.import(ProgramArg::Copilot, |_| {}).expect("imported");
    let name = ServerName::parse("mail").expect("a name");
    let off = Change::SetDisabled {
        name,
        disabled: true,
    };
    edit::apply(&owner.context.home, &off).expect("changed");
    owner
        .import(ProgramArg::Copilot, |args| args.undo = true)
        .expect("taken back");
    assert_eq!(owner.entries().len(), 1);
    // Its secret is in use, so it stays as well.
    assert_eq!(owner.secrets(), ["mail.MAIL_TOKEN"]);
}

#[test]
fn each_program_gets_what_it_can_start() {
    let owner = Owner::new();
    let entries = json!({"mcpServers": {
        "plain": {"type": "stdio", "command": "plain", "args": ["a b", "cost $$5"], "env": {"A": "1"}},
        "web": {"type": "http", "url": "https://example.com/mcp", "headers": {"X-Team": "north"}},
        "env": {"type": "stdio", "command": "env", "args": [], "env": {"TOKEN": "${TOKEN}"}},
        "kept": {"type": "http", "url": "https://example.com/kept", "headers": {"X-Key": "${keyring:none}"}}
    }});
    fs::write(owner.context.home.servers(), entries.to_string()).expect("written");
    for program in ProgramArg::value_variants() {
        let foreign = program.foreign();
        owner.export(*program, |_| {}).expect("given back");
        let file = foreign.file(&owner.context.environment).expect("a home");
        let text = fs::read_to_string(&file).expect("written");
        let taken = foreign::read(foreign, &text, None).expect("a file of its");
        let mut names: Vec<&str> = taken.servers.iter().map(|one| one.name.as_str()).collect();
        names.sort_unstable();
        // An editor asks its user for what the others would have to be told.
        let given: &[&str] = match program {
            ProgramArg::Vscode => &["env", "kept", "plain", "web"],
            _ => &["env", "plain", "web"],
        };
        assert_eq!(names, given, "{}: {text}", foreign.name());
        let named = |name: &str| {
            let found = taken.servers.iter().find(|one| one.name == name);
            &found.expect("given").entry
        };
        let args = named("plain")["args"].to_string().replace("$$", "$");
        assert_eq!(args, r#"["a b","cost $5"]"#, "{text}");
        // Goose takes a variable of its own or, before that, of its keystore.
        let token = match program {
            ProgramArg::Goose => "${keyring:env.TOKEN}",
            _ => "${TOKEN}",
        };
        assert_eq!(named("env")["env"]["TOKEN"], token, "{text}");
        // Given once more, what is there stays.
        owner.export(*program, |_| {}).expect("given back");
        assert_eq!(fs::read_to_string(&file).expect("there"), text);
    }
}

/// As people and an editor's gallery leave it.
const VSCODE: &str = r#"{
  // mine
  "inputs": [{"id": "api-key", "type": "promptString", "description": "API key", "password": true},],
  "servers": {
    "example/browser": {"type": "stdio", "command": "npx", "args": ["browser-mcp@1.0.0"],
      "gallery": "https://example.com", "version": "1.0.0"},
    "docs": {"type": "stdio", "command": "docs", "args": [], "env": {"API_KEY": "${input:api-key}"}},
    "board": {"type": "stdio", "command": "node", "args": ["board.js"], "cwd": "${workspaceFolder}"},
    "web": {"type": "http", "url": "https://example.com/mcp", "headers": {"Authorization": "Bearer ${env:WEB_TOKEN}"}},
  }
}"#;

#[test]
fn an_editors_file_comes_back_as_it_was() {
    let owner = Owner::new();
    let file = owner.file(ProgramArg::Vscode, VSCODE);
    owner.import(ProgramArg::Vscode, |_| {}).expect("imported");
    let entries = owner.entries();
    let named = |name: &str| {
        let found = entries.iter().find(|(known, _)| known == name);
        &found.expect("imported").1
    };
    assert_eq!(named("docs")["env"]["API_KEY"], "${keyring:vscode-api-key}");
    let board = named("board");
    assert_eq!(board["instance"], "workspace", "{board}");
    assert!(board.get("cwd").is_none(), "{board}");

    let back = file.with_extension("back.json");
    owner
        .export(ProgramArg::Vscode, |args| args.file = Some(back.clone()))
        .expect("given back");
    let text = fs::read_to_string(&back).expect("written");
    let came: Value = serde_json::from_str(&text).expect("JSON");
    let wanted = json!({
        "servers": {
            "example/browser": {"type": "stdio", "command": "npx", "args": ["browser-mcp@1.0.0"]},
            "docs": {"type": "stdio", "command": "docs", "args": [], "env": {"API_KEY": "${input:api-key}"}},
            "board": {"type": "stdio", "command": "node", "args": ["board.js"], "cwd": "${workspaceFolder}"},
            "web": {"type": "http", "url": "https://example.com/mcp",
                "headers": {"Authorization": "Bearer ${env:WEB_TOKEN}"}},
        },
        "inputs": [{"type": "promptString", "id": "api-key", "description": "api-key", "password": true}],
    });
    assert_eq!(came, wanted, "{text}");
    // What the file asks for already is not asked for twice.
    owner
        .export(ProgramArg::Vscode, |args| args.replace = true)
        .expect("given back");
    let text = fs::read_to_string(&file).expect("there");
    assert!(text.contains("// mine"), "{text}");
    assert_eq!(text.matches("\"api-key\"").count(), 1, "{text}");
}

#[test]
fn what_is_no_file_of_the_program_changes_nothing() {
    let owner = Owner::new();
    let absent = owner.import(ProgramArg::Codex, |_| {});
    assert_eq!(absent.expect_err("no file").exit, Exit::Failed);
    owner.file(ProgramArg::Codex, "mcp_servers = [");
    let broken = owner.import(ProgramArg::Codex, |_| {});
    assert_eq!(broken.expect_err("no TOML").exit, Exit::Usage);
    let kept = "extensions: {a: {b: c}}\n";
    let goose = owner.file(ProgramArg::Goose, kept);
    fs::write(owner.context.home.servers(), r#"{"a": {"command": "a"}}"#).expect("written");
    assert!(owner.export(ProgramArg::Goose, |_| {}).is_err());
    assert_eq!(fs::read_to_string(goose).expect("there"), kept);
}
