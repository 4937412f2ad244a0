use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use legation_config::clients;
use legation_config::environment::Environment;
use legation_core::{Home, SystemClock};

use super::*;
use crate::Output;

/// A user with a home directory and nothing in it.
struct User {
    folder: tempfile::TempDir,
    context: Context,
}

impl User {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let home = folder.path().to_owned();
        let context = Context {
            home: Home::at(home.join(".legation")),
            environment: Environment::from_pairs([("HOME", home)]),
            clock: SystemClock::shared(),
            version: "0",
            output: Output::new(true),
        };
        Self { folder, context }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    }

    fn run(&self, client: Client, change: impl FnOnce(&mut ConnectArgs)) -> Result<(), CliError> {
        let mut args = ConnectArgs {
            client: Some(client),
            dry_run: false,
            undo: false,
            http: false,
            file: None,
            server: None,
            view: None,
            no_wake: false,
            rules: None,
        };
        change(&mut args);
        cmd_connect(&self.context, &args)
    }

    fn connect(&self, client: Client) {
        self.run(client, |_| {}).expect("connected");
    }

    fn undo(&self, client: Client) {
        self.run(client, |args| args.undo = true).expect("undone");
    }

    fn working(&self) -> Vec<String> {
        let clients = clients::list(&self.context.home).expect("listed");
        let working = clients.iter().filter(|client| client.revoked.is_none());
        working.map(|client| client.id.to_string()).collect()
    }

    fn token(&self, client: Client) -> String {
        self.text(&format!(".legation/clients/{}.token", client.name()))
    }
}

const CLAUDE: &str = ".claude.json";

#[test]
fn every_client_is_connected_and_taken_back() {
    for client in Client::ALL {
        let user = User::new();
        let file = client.file(&user.context.environment).expect("a file");
        user.connect(client);
        let text = fs::read_to_string(&file).expect("made");
        let mode = fs::metadata(&file).expect("there").permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{client:?}");
        assert!(text.contains("bridge"), "{text}");
        assert!(!text.contains(user.token(client).trim()), "{client:?}");
        assert_eq!(user.working(), [client.name()]);
        user.undo(client);
        assert!(!file.exists(), "{client:?}");
        assert!(user.working().is_empty());
        let again = user
            .run(client, |args| args.undo = true)
            .expect_err("undone twice");
        assert_eq!(again.exit, Exit::Failed);
    }
}

#[test]
fn a_dry_run_makes_nothing() {
    for client in Client::ALL {
        let user = User::new();
        user.run(client, |args| args.dry_run = true).expect("shown");
        let left = fs::read_dir(user.folder.path()).expect("listed").count();
        assert_eq!(left, 0, "{client:?}");
    }
}

#[test]
fn connecting_twice_keeps_the_credential_and_the_first_state() {
    let user = User::new();
    user.write(CLAUDE, "{\n  \"theme\": \"dark\"\n}\n");
    user.connect(Client::Claude);
    let (text, token) = (user.text(CLAUDE), user.token(Client::Claude));
    user.connect(Client::Claude);
    assert_eq!(user.text(CLAUDE), text);
    assert_eq!(user.token(Client::Claude), token);
    user.run(Client::Claude, |args| args.server = Some("files".into()))
        .expect("connected otherwise");
    assert!(user.text(CLAUDE).contains("--server"));
    user.undo(Client::Claude);
    assert_eq!(user.text(CLAUDE), "{\n  \"theme\": \"dark\"\n}\n");
}

#[test]
fn a_file_that_changed_since_loses_the_entry_only() {
    let user = User::new();
    user.write(
        CLAUDE,
        "{\"mcpServers\": {\"legation\": {\"command\": \"mine\"}}}",
    );
    user.connect(Client::Claude);
    let changed = user.text(CLAUDE).replacen('{', "{\"theme\": \"dark\", ", 1);
    user.write(CLAUDE, &changed);
    // The second connection starts from a text that holds the first.
    user.run(Client::Claude, |args| args.http = true)
        .expect("connected");
    user.undo(Client::Claude);
    let text = user.text(CLAUDE);
    let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(
        value,
        serde_json::json!({"theme": "dark", "mcpServers": {"legation": {"command": "mine"}}})
    );

    user.connect(Client::Claude);
    let changed = user.text(CLAUDE).replacen('{', "{\"later\": 1, ", 1);
    user.write(CLAUDE, &changed);
    user.undo(Client::Claude);
    let value: serde_json::Value = serde_json::from_str(&user.text(CLAUDE)).expect("JSON");
    assert_eq!(value["later"], 1);
    assert_eq!(value["mcpServers"]["legation"]["command"], "mine");
}

#[test]
fn a_file_that_was_deleted_since_stays_deleted() {
    let user = User::new();
    user.connect(Client::Gemini);
    fs::remove_file(user.path(".gemini/settings.json")).expect("deleted");
    user.undo(Client::Gemini);
    assert!(!user.path(".gemini/settings.json").exists());
    assert!(user.working().is_empty());
}

#[test]
fn a_file_that_broke_since_keeps_the_note_and_the_credential() {
    let user = User::new();
    user.connect(Client::Gemini);
    user.write(".gemini/settings.json", "{ half");
    let error = user
        .run(Client::Gemini, |args| args.undo = true)
        .expect_err("broken");
    assert!(error.message.contains("was not changed"), "{error:?}");
    assert_eq!(user.text(".gemini/settings.json"), "{ half");
    assert_eq!(user.working(), ["gemini"]);
    user.write(".gemini/settings.json", "{}");
    user.undo(Client::Gemini);
    assert_eq!(user.text(".gemini/settings.json"), "{}");
}

#[test]
fn links_and_permissions_stay() {
    let user = User::new();
    user.write("dotfiles/claude.json", "{}");
    let mode = |name: &str| {
        fs::metadata(user.path(name))
            .expect("there")
            .permissions()
            .mode()
    };
    let open = fs::Permissions::from_mode(0o640);
    fs::set_permissions(user.path("dotfiles/claude.json"), open).expect("opened");
    symlink("dotfiles/claude.json", user.path(CLAUDE)).expect("linked");
    let is_link = || {
        user.path(CLAUDE)
            .symlink_metadata()
            .expect("there")
            .is_symlink()
    };
    user.connect(Client::Claude);
    assert!(is_link());
    assert!(user.text("dotfiles/claude.json").contains("legation"));
    assert_eq!(mode("dotfiles/claude.json") & 0o777, 0o640);
    // A token goes into a file that others can read only after it is closed.
    user.run(Client::Claude, |args| args.http = true)
        .expect("connected");
    assert_eq!(mode("dotfiles/claude.json") & 0o777, 0o600);
    user.undo(Client::Claude);
    assert!(is_link());
    assert_eq!(user.text("dotfiles/claude.json"), "{}");
    assert_eq!(mode("dotfiles/claude.json") & 0o777, 0o640);
}

#[test]
fn a_link_to_nothing_is_followed() {
    let user = User::new();
    fs::create_dir(user.path("dotfiles")).expect("made");
    symlink("dotfiles/claude.json", user.path(CLAUDE)).expect("linked");
    user.connect(Client::Claude);
    assert!(user.text("dotfiles/claude.json").contains("legation"));
    assert!(
        user.path(CLAUDE)
            .symlink_metadata()
            .expect("there")
            .is_symlink()
    );
}

#[test]
fn a_broken_file_costs_no_credential() {
    let user = User::new();
    user.connect(Client::Claude);
    let token = user.token(Client::Claude);
    user.write(CLAUDE, "{ half");
    let error = user.run(Client::Claude, |_| {}).expect_err("broken");
    assert_eq!(error.exit, Exit::Failed);
    assert!(error.hint.is_some_and(|hint| hint.contains("mcpServers")));
    assert_eq!(user.token(Client::Claude), token);

    let user = User::new();
    user.write(".codex/config.toml", "= =");
    user.run(Client::Codex, |args| args.http = true)
        .expect_err("broken");
    assert!(!user.path(".legation").exists());
}

#[test]
fn several_files_of_one_client_share_its_credential() {
    let user = User::new();
    let insiders = user.path("insiders/mcp.json");
    user.connect(Client::Vscode);
    let usual = Client::Vscode
        .file(&user.context.environment)
        .expect("a file");
    user.run(Client::Vscode, |args| args.file = Some(insiders.clone()))
        .expect("connected");
    user.run(Client::Vscode, |args| {
        args.undo = true;
        args.file = Some(insiders.clone());
    })
    .expect("one undone");
    assert!(!insiders.exists() && usual.exists());
    assert_eq!(user.working(), ["vscode"]);
    user.undo(Client::Vscode);
    assert!(!usual.exists());
    assert!(user.working().is_empty());
}

#[test]
fn http_shows_the_token_to_the_file_alone() {
    for client in Client::ALL.into_iter().filter(|client| client.takes_http()) {
        let user = User::new();
        user.run(client, |args| args.http = true)
            .expect("connected");
        let file = client.file(&user.context.environment).expect("a file");
        let text = fs::read_to_string(&file).expect("made");
        let token = user.token(client);
        assert!(text.contains(token.trim()), "{client:?}");
        for (before, after) in [("", &*text), (&*text, "")] {
            let shown = file::diff(client, before, after);
            assert!(!shown.contains(token.trim()), "{client:?}: {shown}");
        }
    }
    let user = User::new();
    let refused = user.run(Client::Jetbrains, |args| args.http = true);
    assert_eq!(refused.expect_err("stdio only").exit, Exit::Usage);
}

#[test]
fn a_projects_file_has_the_headers_that_its_agent_reads() {
    let cases = [
        (Client::Claude, "project/.mcp.json", "mcpServers"),
        (Client::Vscode, "project/.vscode/mcp.json", "servers"),
    ];
    for (client, file, member) in cases {
        let user = User::new();
        let file = user.path(file);
        user.run(client, |args| {
            args.http = true;
            args.file = Some(file.clone());
        })
        .expect("connected");
        let text = fs::read_to_string(&file).expect("made");
        let whole: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let entry = &whole[member]["legation"];
        let bearer = format!("Bearer {}", user.token(client).trim());
        assert_eq!(entry["type"], "http", "{client:?}");
        assert_eq!(entry["headers"]["Authorization"], *bearer, "{client:?}");
        let members = entry.as_object().expect("an entry").keys();
        let members: Vec<&str> = members.map(String::as_str).collect();
        assert_eq!(members, ["type", "url", "headers"], "{client:?}");
    }
}

#[test]
fn what_cannot_work_is_usage() {
    let user = User::new();
    let view = user.run(Client::Claude, |args| args.view = Some("none".into()));
    assert_eq!(view.expect_err("no view").exit, Exit::Usage);
    let server = user.run(Client::Claude, |args| args.server = Some("a\nb".into()));
    assert_eq!(server.expect_err("no name").exit, Exit::Usage);
    assert!(!user.path(CLAUDE).exists());
}

#[test]
fn an_address_that_changes_is_refused() {
    let user = User::new();
    user.write(".legation/legation.toml", "listen = \"127.0.0.1:0\"\n");
    let refused = user.run(Client::Claude, |args| args.http = true);
    assert_eq!(refused.expect_err("any port").exit, Exit::Usage);
    user.connect(Client::Claude);
}

#[test]
fn the_bridge_is_told_of_an_unusual_home_only() {
    let user = User::new();
    user.connect(Client::Opencode);
    assert!(
        !user
            .text(".config/opencode/opencode.json")
            .contains("--home")
    );
    user.undo(Client::Opencode);
    let elsewhere = User {
        context: Context {
            home: Home::at(user.path("elsewhere")),
            ..user.context.clone()
        },
        folder: user.folder,
    };
    elsewhere.connect(Client::Opencode);
    assert!(
        elsewhere
            .text(".config/opencode/opencode.json")
            .contains("--home")
    );
}

#[test]
fn a_server_name_is_one_segment_of_the_address() {
    assert_eq!(percent_encoded("files"), "files");
    assert_eq!(percent_encoded("a/b ü"), "a%2Fb%20%C3%BC");
}

/// Every file below the user's home but the hub's own, with its text.
fn files(user: &User) -> std::collections::BTreeMap<PathBuf, String> {
    let mut folders = vec![user.folder.path().to_owned()];
    let mut found = std::collections::BTreeMap::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("listed") {
            let path = entry.expect("an entry").path();
            match path.is_dir() {
                true if path.ends_with(".legation") => {}
                true => folders.push(path),
                false => drop(found.insert(path.clone(), fs::read_to_string(path).expect("text"))),
            }
        }
    }
    found
}

#[test]
fn what_wakes_an_agent_comes_and_goes_with_its_entry() {
    for (client, file, word) in [
        (Client::Claude, ".claude/settings.json", "inbox waker"),
        (Client::Claude, ".claude/commands/inbox.md", "pull"),
        (Client::Codex, ".codex/hooks.json", "inbox session start"),
        (Client::Codex, ".codex/skills/inbox/SKILL.md", "pull"),
        (
            Client::Copilot,
            ".copilot/extensions/legation/extension.mjs",
            "\"waker\"",
        ),
        (Client::Copilot, ".copilot/settings.json", "experimental"),
        (
            Client::Opencode,
            ".config/opencode/plugin/legation.js",
            "\"waker\"",
        ),
        (Client::Gemini, ".gemini/commands/inbox.toml", "pull"),
    ] {
        let user = User::new();
        user.run(client, |args| args.rules = Some(None))
            .expect("connected");
        assert!(user.text(file).contains(word), "{}", user.text(file));
        let once = files(&user);
        let rules = once
            .values()
            .filter(|text| text.contains("<!-- legation: begin -->"));
        assert_eq!(rules.count(), 1, "{client:?}");
        user.run(client, |args| args.rules = Some(None))
            .expect("connected");
        assert_eq!(files(&user), once, "{client:?}");
        user.undo(client);
        assert_eq!(
            files(&user).into_keys().collect::<Vec<_>>(),
            Vec::<PathBuf>::new()
        );
    }
}

#[test]
fn what_was_there_before_and_what_came_since_stays() {
    let user = User::new();
    let settings = "{\n  \"hooks\": {\n    \"Stop\": [\n      {\"hooks\": [{\"type\": \"command\", \"command\": \"say done\"}]}\n    ]\n  }\n}\n";
    user.write(".claude/settings.json", settings);
    user.write(".claude/commands/inbox.md", "my own\n");
    user.write("AGENTS.md", "# Mine\n");
    let rules = user.path("AGENTS.md");
    user.run(Client::Claude, |args| args.rules = Some(Some(rules)))
        .expect("connected");
    assert!(user.text(".claude/settings.json").contains("say done"));
    assert_eq!(user.text(".claude/commands/inbox.md"), "my own\n");
    assert!(user.text("AGENTS.md").starts_with("# Mine\n"));
    let since = user.text("AGENTS.md") + "\nSince.\n";
    user.write("AGENTS.md", &since);
    let changed = user
        .text(".claude/settings.json")
        .replacen('{', "{\"theme\": \"dark\",", 1);
    user.write(".claude/settings.json", &changed);
    user.undo(Client::Claude);
    let left: serde_json::Value =
        serde_json::from_str(&user.text(".claude/settings.json")).expect("JSON");
    assert_eq!(left["theme"], "dark");
    assert_eq!(left["hooks"].as_object().map(serde_json::Map::len), Some(1));
    assert_eq!(left["hooks"]["Stop"][0]["hooks"][0]["command"], "say done");
    assert_eq!(user.text(".claude/commands/inbox.md"), "my own\n");
    assert_eq!(user.text("AGENTS.md"), "# Mine\n\nSince.\n");
}

#[test]
fn nothing_wakes_an_agent_that_sees_a_part_of_the_hub_only() {
    for change in [
        (|args: &mut ConnectArgs| args.no_wake = true) as fn(&mut ConnectArgs),
        |args| args.server = Some("files".into()),
    ] {
        let user = User::new();
        user.run(Client::Claude, change).expect("connected");
        assert_eq!(
            files(&user).into_keys().collect::<Vec<_>>(),
            [user.path(CLAUDE)]
        );
    }
}
