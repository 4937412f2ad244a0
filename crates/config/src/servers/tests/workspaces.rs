use std::fs;
use std::path::{Path, PathBuf};

use expect_test::expect;
use legation_core::{Home, Wall};
use tempfile::TempDir;

use super::print;
use crate::servers::{Instance, Loaded, Resolved, SandboxPolicy, user, workspace};
use crate::{Environment, trust};

/// A home, and a repository with a folder inside.
struct World {
    _root: TempDir,
    home: Home,
    repository: PathBuf,
    inner: PathBuf,
}

impl World {
    fn new() -> Self {
        let root = tempfile::tempdir().expect("a folder");
        let base = root.path().canonicalize().expect("it is there");
        let home = Home::at(base.join("home"));
        home.create().expect("created");
        let repository = base.join("repository");
        let inner = repository.join("crates/inner");
        fs::create_dir_all(&inner).expect("made");
        fs::create_dir(repository.join(".git")).expect("made");
        Self {
            _root: root,
            home,
            repository,
            inner,
        }
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.repository.join(path);
        fs::create_dir_all(path.parent().expect("inside the repository")).expect("made");
        fs::write(path, text).expect("written");
    }

    fn grant(&self, folder: &Path) {
        let shown = trust::status(&self.home, folder).expect("a folder");
        trust::grant(&self.home, &shown, Wall(0)).expect("granted");
    }

    fn print(&self, loaded: &Loaded) -> String {
        let base = self.repository.parent().expect("below the root");
        print(loaded).replace(base.to_str().expect("Unicode"), "[root]")
    }
}

#[test]
fn nothing_of_a_folder_runs_before_the_owner_agreed() {
    let world = World::new();
    world.write(".mcp.json", r#"{"a": {"command": "evil"}}"#);
    let loaded = workspace(&world.home, &world.repository);
    expect![[r#"
        untrusted [root]/repository/.mcp.json: server "a": you have not agreed to run it, so it is not started -> See what it would run and decide: legation trust [root]/repository
    "#]].assert_eq(&world.print(&loaded));

    world.grant(&world.repository);
    let loaded = workspace(&world.home, &world.repository);
    expect![[r#"
        a = stdio evil | tools ["*"] timeout None title "a" default false era auto instance workspace prefix "a" disabled false env None
    "#]].assert_eq(&world.print(&loaded));
    assert!(loaded.servers[0].trusted);
    assert_eq!(loaded.servers[0].instance, Instance::Workspace);
    let resolved = loaded.servers[0]
        .resolve(&Environment::default(), Default::default())
        .expect("no references");
    let Resolved::Stdio(stdio) = resolved else {
        panic!("a command");
    };
    assert_eq!(stdio.cwd, Some(world.repository.clone()));
}

#[test]
fn a_changed_entry_asks_again_and_the_others_stay() {
    let world = World::new();
    world.write(
        ".mcp.json",
        r#"{"a": {"command": "a"}, "b": {"command": "b", "tools": ["x"]}}"#,
    );
    world.grant(&world.repository);
    world.write(
        ".mcp.json",
        r#"{"b": {"tools": ["x", "y"], "command": "b"}, "a": {"command": "a", "env": {"LD_PRELOAD": "./x.so"}}}"#,
    );
    expect![[r#"
        b = stdio b | tools ["x", "y"] timeout None title "b" default false era auto instance workspace prefix "b" disabled false env None
        changed [root]/repository/.mcp.json: server "a": it is not what you agreed to any more, so it is not started -> See what it would run and decide: legation trust [root]/repository
    "#]].assert_eq(&world.print(&workspace(&world.home, &world.repository)));
}

#[test]
fn a_folders_command_for_headers_is_agreed_to_like_any_other() {
    let world = World::new();
    let entry = |helper: &str| {
        format!(
            r#"{{"a": {{"type": "http", "url": "https://example.com", "headersHelper": "{helper}"}}}}"#
        )
    };
    world.write(".mcp.json", &entry("./a.sh"));
    let loaded = || workspace(&world.home, &world.repository);
    assert_eq!(loaded().servers, []);
    let shown = trust::status(&world.home, &world.repository).expect("a folder");
    expect![[r#"
        reaches https://example.com
        sending the headers that this prints: ./a.sh"#]]
    .assert_eq(&shown.servers[0].shown.join("\n"));

    world.grant(&world.repository);
    let Ok(Resolved::Http(http)) =
        loaded().servers[0].resolve(&Environment::default(), Default::default())
    else {
        panic!("an address");
    };
    let cwd = http.helper.and_then(|helper| helper.cwd);
    assert_eq!(cwd.as_ref(), Some(&world.repository));
    for (policy, refused) in [
        (SandboxPolicy::Asked, false),
        (SandboxPolicy::Workspace, true),
        (SandboxPolicy::All, true),
    ] {
        assert_eq!(loaded().servers[0].lacks_walls_for_helper(policy), refused);
    }

    world.write(".mcp.json", &entry("./b.sh"));
    assert_eq!(loaded().servers, []);
}

#[test]
fn the_nearest_file_counts_up_to_the_repository_and_no_farther() {
    let world = World::new();
    let outside = world.repository.parent().expect("below the root");
    fs::write(
        outside.join(".mcp.json"),
        r#"{"outside": {"command": "x"}}"#,
    )
    .expect("written");
    world.write(
        ".mcp.json",
        r#"{"a": {"command": "top"}, "t": {"command": "t"}}"#,
    );
    world.write(
        ".github/mcp.json",
        r#"{"a": {"command": "github"}, "g": {"command": "g"}}"#,
    );
    world.write("crates/inner/.mcp.json", r#"{"a": {"command": "inner"}}"#);
    world.grant(&world.inner);
    let shown = |folder: &Path| {
        let loaded = workspace(&world.home, folder);
        assert_eq!(loaded.problems, []);
        let mut shown: Vec<String> = loaded
            .servers
            .iter()
            .map(|server| server.transport.shown())
            .collect();
        shown.sort();
        shown.join(" ")
    };
    assert_eq!(shown(&world.inner), "g inner t");
    assert_eq!(shown(&world.repository), "g t top");

    // Without a repository a file in a parent reaches nobody.
    fs::remove_dir(world.repository.join(".git")).expect("removed");
    assert_eq!(shown(&world.inner), "inner");
}

#[test]
fn a_foreign_folder_cannot_switch_the_owners_server_off() {
    let world = World::new();
    fs::write(world.home.servers(), r#"{"a": {"command": "own"}}"#).expect("written");
    world.write(".mcp.json", r#"{"a": {"command": "theirs"}}"#);
    let merged = || {
        workspace(&world.home, &world.repository)
            .over(user(&world.home))
            .servers[0]
            .transport
            .shown()
    };
    assert_eq!(merged(), "own");
    world.grant(&world.repository);
    assert_eq!(merged(), "theirs");
}

#[test]
fn an_untrusted_entry_still_hides_the_one_farther_up() {
    let world = World::new();
    world.write(".mcp.json", r#"{"a": {"command": "top"}}"#);
    world.grant(&world.repository);
    world.write("crates/inner/.mcp.json", r#"{"a": {"command": "inner"}}"#);
    let loaded = workspace(&world.home, &world.inner);
    assert_eq!(loaded.servers, []);
    assert_eq!(loaded.problems.len(), 1);
}

#[test]
fn a_link_to_a_folder_is_that_folder() {
    let world = World::new();
    world.write(".mcp.json", r#"{"a": {"command": "a"}}"#);
    world.grant(&world.repository);
    let link = world.home.root().join("link");
    std::os::unix::fs::symlink(&world.repository, &link).expect("linked");
    assert_eq!(workspace(&world.home, &link).servers.len(), 1);
}
