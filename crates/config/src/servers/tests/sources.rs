//! Every source but the owner's own file, and which of them counts.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use expect_test::{Expect, expect};
use legation_core::{Home, Secret, Wall};
use tempfile::TempDir;

use super::print;
use crate::environment::Keyring;
use crate::servers::{EnvMode, Loaded, Resolved, additional, defaults, plugins, user, workspace};
use crate::{Environment, switches, trust};

/// A home beside a project and a folder of plugins.
struct World {
    _root: TempDir,
    base: PathBuf,
    home: Home,
    project: PathBuf,
}

#[derive(Debug)]
struct One(String);

impl Keyring for One {
    fn secret(&self, name: &str) -> Option<Secret> {
        (name == self.0).then(|| Secret::new("kept-secret"))
    }
}

impl World {
    fn new() -> Self {
        let root = tempfile::tempdir().expect("a folder");
        let base = root.path().canonicalize().expect("it is there");
        let home = Home::at(base.join("home"));
        home.create().expect("created");
        let project = base.join("project");
        fs::create_dir_all(project.join(".vscode")).expect("made");
        Self {
            _root: root,
            base,
            home,
            project,
        }
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.base.join(path);
        fs::create_dir_all(path.parent().expect("inside")).expect("made");
        fs::write(path, text).expect("written");
    }

    fn plugin(&self, name: &str, file: &str, text: &str) -> PathBuf {
        let folder = format!("home/plugins/{name}");
        self.write(&format!("{folder}/{file}"), text);
        self.base.join(folder)
    }

    fn grant(&self, folder: &Path) {
        let shown = trust::status(&self.home, folder).expect("a folder");
        trust::grant(&self.home, &shown, Wall(0)).expect("granted");
    }

    fn check(&self, loaded: &Loaded, expected: &Expect) {
        let text = print(loaded).replace(self.base.to_str().expect("Unicode"), "[root]");
        expected.assert_eq(&text);
    }

    fn environment(&self) -> Environment {
        let file = self.base.join("machine.json").display().to_string();
        Environment::from_pairs([
            ("LEGATION_DEFAULT_MCP_CONFIG", file.as_str()),
            ("HOME", "/home/ana"),
            ("REGION", "north"),
        ])
    }
}

#[test]
fn each_source_stands_before_the_weaker_ones_and_says_what_it_hides() {
    let world = World::new();
    let entries = |names: &[&str], word: &str| {
        let entries: Vec<String> = names
            .iter()
            .map(|name| format!(r#""{name}": {{"command": "{word}"}}"#))
            .collect();
        format!(r#"{{"mcpServers": {{{}}}}}"#, entries.join(", "))
    };
    world.write(
        "machine.json",
        &entries(&["a", "b", "c", "d", "e"], "default"),
    );
    world.write("home/mcp.json", &entries(&["a", "b", "c", "d"], "user"));
    world.write("project/.mcp.json", &entries(&["a", "b", "c"], "workspace"));
    let plugin = world.plugin("p", ".mcp.json", &entries(&["a", "b"], "plugin"));
    world.grant(&world.project);
    world.grant(&plugin);
    let argument = entries(&["a"], "additional");
    let loaded = additional(&[argument], &world.base)
        .over(plugins(&world.home))
        .over(workspace(&world.home, &world.project))
        .over(user(&world.home))
        .over(defaults(&world.environment()));
    assert_eq!(loaded.problems, []);
    let found: Vec<String> = loaded
        .servers
        .iter()
        .map(|server| format!("{} {}", server.name, server.transport.shown()))
        .collect();
    assert_eq!(
        found,
        [
            "a additional",
            "b plugin",
            "c workspace",
            "d user",
            "e default"
        ]
    );
    for server in &loaded.servers {
        assert_eq!(server.source.as_str(), server.transport.shown());
    }
    let mut ranks: Vec<u8> = loaded.servers.iter().map(|one| one.source.rank()).collect();
    ranks.reverse();
    assert!(ranks.is_sorted_by(|a, b| a < b), "{ranks:?}");
    let hidden: Vec<String> = loaded
        .hidden
        .iter()
        .map(|one| {
            format!(
                "{} {} by {}",
                one.name,
                one.source.as_str(),
                one.by.as_str()
            )
        })
        .collect();
    assert_eq!(
        hidden,
        [
            "a plugin by additional",
            "a workspace by additional",
            "b workspace by plugin",
            "a user by additional",
            "b user by plugin",
            "c user by workspace",
            "a default by additional",
            "b default by plugin",
            "c default by workspace",
            "d default by user",
        ]
    );
}

#[test]
fn a_plugin_runs_as_agreed_to_in_its_own_folder() {
    let world = World::new();
    let folder = world.plugin(
        "notes",
        ".claude-plugin/plugin.json",
        r#"{"name": "notes", "version": "1", "mcpServers": {
            "inline": {"command": "${CLAUDE_PLUGIN_ROOT}/bin/run", "args": ["--data", "${CLAUDE_PLUGIN_ROOT}/data", "$REGION"], "entity": "x"}}}"#,
    );
    world.plugin(
        "files",
        "plugin.json",
        r#"{"name": "other", "mcpServers": "./mcp/servers.json"}"#,
    );
    world.plugin(
        "files",
        "mcp/servers.json",
        r#"{"files": {"command": "npx", "args": ["-y", "x"], "cwd": "mcp"}}"#,
    );
    world.check(&plugins(&world.home), &expect![[r#"
        untrusted [root]/home/plugins/files/mcp/servers.json: server "files": you have not agreed to run it, so it is not started -> See what it would run and decide: legation trust [root]/home/plugins/files
        untrusted [root]/home/plugins/notes/.claude-plugin/plugin.json: server "inline": you have not agreed to run it, so it is not started -> See what it would run and decide: legation trust [root]/home/plugins/notes
    "#]]);
    world.grant(&folder);
    world.grant(&world.base.join("home/plugins/files"));
    let loaded = plugins(&world.home);
    world.check(&loaded, &expect![[r#"
        files = stdio npx -y x in mcp | tools ["*"] timeout None title "files" default false era auto instance shared prefix "files" disabled false env None
        inline = stdio [root]/home/plugins/notes/bin/run --data [root]/home/plugins/notes/data $REGION | tools ["*"] timeout None title "inline" default false era auto instance shared prefix "inline" disabled false env None
        ignored [root]/home/plugins/notes/.claude-plugin/plugin.json: server "inline": a folder's file cannot say whose data a server holds; `entity` is ignored -> Put the entry into your own mcp.json.
    "#]]);
    let run = |name: &str| {
        let spec = loaded
            .servers
            .iter()
            .find(|one| one.name.as_str() == name)
            .expect("there");
        match spec.resolve(&world.environment(), EnvMode::Direct) {
            Ok(Resolved::Stdio(stdio)) => stdio,
            other => panic!("{other:?}"),
        }
    };
    let root = folder.display();
    assert_eq!(run("inline").cwd, Some(folder.clone()));
    assert_eq!(run("inline").command, format!("{root}/bin/run").as_str());
    assert_eq!(
        run("inline").args[1..],
        [
            format!("{root}/data").into(),
            std::ffi::OsString::from("north")
        ]
    );
    assert_eq!(
        run("files").cwd,
        Some(world.base.join("home/plugins/files/mcp"))
    );
    // An update of the plugin asks again.
    world.plugin(
        "files",
        "mcp/servers.json",
        r#"{"files": {"command": "evil"}}"#,
    );
    assert_eq!(plugins(&world.home).servers.len(), 1);
}

#[test]
fn a_plugin_names_nothing_outside_its_folder() {
    let world = World::new();
    world.write("outside/run", "");
    world.write("outside/servers.json", r#"{"stolen": {"command": "x"}}"#);
    for (index, entry) in [
        r#"{"command": "/usr/bin/env"}"#,
        r#"{"command": "../../../outside/run"}"#,
        r#"{"command": "link/run"}"#,
        r#"{"command": "${CLAUDE_PLUGIN_ROOT}/../x"}"#,
        r#"{"command": "node", "args": ["${CLAUDE_PLUGIN_ROOT}/../../token"]}"#,
        r#"{"command": "node", "args": ["--config=/etc/passwd"]}"#,
        r#"{"command": "node", "args": ["~/.ssh/id"]}"#,
        r#"{"command": "node", "cwd": "/"}"#,
        r#"{"command": "node", "cwd": ".."}"#,
        r#"{"command": "node", "envFile": "/home/ana/.env"}"#,
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("p{index}");
        let text = format!(
            r#"{{"mcpServers": {{"bad": {entry}, "good{index}": {{"command": "node", "args": ["./a", "-x", "https://example.com/"]}}}}}}"#
        );
        let folder = world.plugin(&name, "plugin.json", &text);
        symlink(world.base.join("outside"), folder.join("link")).expect("linked");
        let status = trust::status(&world.home, &folder).expect("a folder");
        let names: Vec<&str> = status
            .servers
            .iter()
            .map(|one| one.server.as_str())
            .collect();
        assert_eq!(names, [format!("good{index}")], "{entry}");
        assert!(
            status.problems[0]
                .message
                .contains("outside the plugin's folder"),
            "{entry}: {:?}",
            status.problems
        );
        fs::remove_dir_all(&folder).expect("removed");
    }
    for file in [
        "/etc/passwd",
        "../../../outside/servers.json",
        "link/servers.json",
    ] {
        let text = format!(r#"{{"mcpServers": "{file}"}}"#);
        let folder = world.plugin("named", "plugin.json", &text);
        let link = folder.join("link");
        if !link.exists() {
            symlink(world.base.join("outside"), link).expect("linked");
        }
        let loaded = plugins(&world.home);
        assert_eq!(loaded.servers, [], "{file}");
        assert!(
            loaded.problems[0].message.contains("outside"),
            "{file}: {:?}",
            loaded.problems
        );
    }
}

const VSCODE: &str = r#"{
    // What the editor wrote.
    "inputs": [
        {"type": "promptString", "id": "api key", "description": "The key", "password": true},
        {"type": "pickString", "id": "level", "options": ["low", {"label": "High", "value": "high"}], "default": "low"},
    ],
    "servers": {
        "web": {"type": "http", "url": "https://example.com/mcp", "headers": {"Authorization": "Bearer ${input:api key}"}},
        "local": {
            "type": "stdio", "command": "${workspaceFolder}/run", /* here */
            "args": ["--level", "${input:level}", "cost $5 $HOME", "${env:REGION}"],
            "env": {"PORT": 8080, "GONE": null}, "envFile": "${workspaceFolder}/.env",
        },
        "odd": {"command": "x", "args": ["${command:pick}"]},
    },
}"#;

#[test]
fn the_editors_file_is_read_in_its_own_shape() {
    let world = World::new();
    world.write("project/.vscode/mcp.json", VSCODE);
    world.write("project/.env", "A=1\nPORT=1\n");
    let status = trust::status(&world.home, &world.project).expect("a folder");
    let inputs: Vec<String> = status
        .inputs
        .iter()
        .map(|one| {
            format!(
                "{} {:?} {} {:?}",
                one.id, one.description, one.hidden, one.options
            )
        })
        .collect();
    assert_eq!(
        inputs,
        [
            r#"api key "The key" true []"#,
            r#"level "level" false ["low", "high"]"#,
        ]
    );
    world.grant(&world.project);
    let loaded = workspace(&world.home, &world.project);
    let names: Vec<&str> = loaded.servers.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["web", "local"]);
    // What the hub cannot do for the editor fails that entry alone.
    assert_eq!(loaded.problems.len(), 1);
    assert_eq!(loaded.problems[0].server.as_deref(), Some("odd"));

    let secret = status.inputs[0].secret.clone();
    let environment = world.environment().with_keyring(Arc::new(One(secret)));
    let Ok(Resolved::Http(web)) = loaded.servers[0].resolve(&environment, EnvMode::Direct) else {
        panic!("an address");
    };
    assert_eq!(web.headers[0].1.reveal(), "Bearer kept-secret");
    let Ok(Resolved::Stdio(local)) = loaded.servers[1].resolve(&environment, EnvMode::Direct)
    else {
        panic!("a command");
    };
    assert_eq!(local.command, world.project.join("run").as_os_str());
    assert_eq!(local.args, ["--level", "low", "cost $5 $HOME", "north"]);
    let variables: Vec<_> = local
        .env
        .iter()
        .filter(|(name, _)| name == "A" || name == "PORT" || name == "GONE")
        .map(|(name, value)| format!("{}={}", name.display(), value.display()))
        .collect();
    assert_eq!(variables, ["A=1", "PORT=8080"]);
    // Asked for and not answered, it is named with what to do.
    let error = loaded.servers[0].resolve(&world.environment(), EnvMode::Direct);
    assert!(
        error
            .expect_err("no secret")
            .hint()
            .contains("legation secret set input-")
    );
}

#[test]
fn what_is_in_a_file_of_variables_is_agreed_to_as_well() {
    let world = World::new();
    world.write(
        "project/.mcp.json",
        r#"{"a": {"command": "a", "envFile": ".env"}}"#,
    );
    world.write("project/.env", "A=1\n");
    world.grant(&world.project);
    let loaded = workspace(&world.home, &world.project);
    let run = || loaded.servers[0].resolve(&world.environment(), EnvMode::Direct);
    assert!(run().is_ok());
    world.write("project/.env", "NODE_OPTIONS=--require ./evil.js\n");
    let error = run().expect_err("changed since");
    assert!(
        error.to_string().contains("not what you agreed to"),
        "{error}"
    );
    assert_eq!(workspace(&world.home, &world.project).servers, []);
    world.grant(&world.project);
    assert_eq!(workspace(&world.home, &world.project).servers.len(), 1);
    for (path, word) in [
        ("../secret", "outside"),
        ("/etc/hosts", "outside"),
        ("${HOME}/.env", ""),
    ] {
        world.write("secret", "A=1\n");
        world.write(
            "project/.mcp.json",
            &format!(r#"{{"a": {{"command": "a", "envFile": "{path}"}}}}"#),
        );
        world.grant(&world.project);
        let loaded = workspace(&world.home, &world.project);
        match loaded.servers.first() {
            Some(spec) => {
                let error = spec
                    .resolve(&world.environment(), EnvMode::Direct)
                    .expect_err(path);
                assert!(error.to_string().contains(word), "{error}");
            }
            None => assert!(path.starts_with('$'), "{path}"),
        }
    }
}

#[test]
fn the_machines_servers_are_believed_from_a_closed_file_only() {
    let world = World::new();
    assert_eq!(defaults(&world.environment()), Loaded::default());
    world.write(
        "machine.json",
        r#"{"mcpServers": {"house": {"command": "house", "isDefaultServer": true}}}"#,
    );
    assert_eq!(defaults(&world.environment()).servers.len(), 1);
    let file = world.base.join("machine.json");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).expect("opened to all");
    let loaded = defaults(&world.environment());
    assert_eq!(loaded.servers, []);
    assert!(loaded.problems[0].message.contains("cannot be believed"));
}

#[test]
fn what_has_no_entry_of_the_owners_is_switched_beside_it() {
    let world = World::new();
    world.write(
        "machine.json",
        r#"{"house": {"command": "house"}, "off": {"command": "off", "disabled": true}}"#,
    );
    world.write("home/mcp.json", r#"{"own": {"command": "own"}}"#);
    let state = || {
        let mut loaded = user(&world.home).over(defaults(&world.environment()));
        switches::apply(&world.home, &mut loaded.servers, &mut loaded.problems);
        let servers = loaded.servers.iter();
        let on: Vec<&str> = servers
            .filter(|one| !one.disabled)
            .map(|one| one.name.as_str())
            .collect();
        format!("{} {}", on.join(" "), loaded.problems.len())
    };
    assert_eq!(state(), "own house 0");
    switches::set(&world.home, "house", false).expect("kept");
    switches::set(&world.home, "off", true).expect("kept");
    // What the owner wrote is switched where it stands.
    switches::set(&world.home, "own", false).expect("kept");
    assert_eq!(state(), "own off 0");
    switches::set(&world.home, "house", true).expect("kept");
    assert_eq!(state(), "own house off 0");
    world.write("home/switches.json", "{");
    assert_eq!(state(), "own 1");
    assert!(switches::set(&world.home, "house", false).is_err());
}
