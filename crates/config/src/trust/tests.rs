use std::fs;

use expect_test::expect;
use legation_core::{Home, Wall};

use super::{State, Trust, grant, revoke, status};
use crate::servers::workspace;

const FILE: &str = r#"{
  "mcpServers": {
    "files": {"command": "npx", "args": ["-y", "a pkg", "\u001b[2J"], "cwd": "sub", "env": {"NODE_OPTIONS": "--require ./evil.js"}},
    "remote": {"type": "http", "url": "https://example.com/mcp", "headers": {"X-Key": "$KEY"}},
    "broken": {"command": 5}
  }
}"#;

fn world() -> (tempfile::TempDir, Home) {
    let folder = tempfile::tempdir().expect("a folder");
    let home = Home::at(folder.path().join("home"));
    fs::create_dir(folder.path().join("project")).expect("made");
    fs::write(folder.path().join("project/.mcp.json"), FILE).expect("written");
    (folder, home)
}

#[test]
fn the_owner_sees_everything_that_would_run() {
    let (folder, home) = world();
    let status = status(&home, &folder.path().join("project")).expect("a folder");
    let shown: Vec<String> = status
        .servers
        .iter()
        .map(|entry| {
            let lines = entry.shown.join("\n  ");
            format!("{} {}\n  {lines}\n", entry.server, entry.state.as_str())
        })
        .collect();
    expect![[r#"
        files new
          runs npx -y "a pkg" "\u{1b}[2J"
          in sub
          with NODE_OPTIONS="--require ./evil.js"
        remote new
          reaches https://example.com/mcp
          sending X-Key: $KEY
    "#]]
    .assert_eq(&shown.concat());
    assert_eq!(status.problems.len(), 1);
    assert!(!status.all_trusted());
}

#[test]
fn only_what_was_shown_is_granted() {
    let (folder, home) = world();
    let project = folder.path().join("project");
    let shown = status(&home, &project).expect("a folder");
    // The file changes while the owner reads.
    fs::write(
        project.join(".mcp.json"),
        FILE.replace("npx", "evil").replace("remote", "other"),
    )
    .expect("written");
    grant(&home, &shown, Wall(0)).expect("granted");
    let states: Vec<State> = status(&home, &project)
        .expect("a folder")
        .servers
        .iter()
        .map(|entry| entry.state)
        .collect();
    assert_eq!(states, [State::Changed, State::New]);
    assert!(workspace(&home, &project).servers.is_empty());
}

#[test]
fn what_was_agreed_to_can_be_taken_back() {
    let (folder, home) = world();
    let project = folder.path().join("project");
    let shown = status(&home, &project).expect("a folder");
    grant(&home, &shown, Wall(0)).expect("granted");
    assert!(status(&home, &project).expect("a folder").all_trusted());
    assert_eq!(Trust::load(&home).folders().count(), 1);
    assert_eq!(workspace(&home, &project).servers.len(), 2);
    assert_eq!(revoke(&home, &project).expect("revoked"), 2);
    assert_eq!(revoke(&home, &project).expect("nothing left"), 0);
    assert!(workspace(&home, &project).servers.is_empty());
}

#[test]
fn a_broken_record_trusts_nothing_and_is_not_overwritten() {
    let (folder, home) = world();
    let project = folder.path().join("project");
    let shown = status(&home, &project).expect("a folder");
    grant(&home, &shown, Wall(0)).expect("granted");
    let good = fs::read_to_string(home.trust()).expect("written");
    for broken in [
        good.replace("\"version\": 1", "\"version\": 2"),
        good.replace("\"version\": 1,", "\"version\": 1, \"version\": 1,"),
        good.replace("\"version\": 1,", "\"version\": 1, \"extra\": 1,"),
        "{".to_owned(),
        String::new(),
    ] {
        fs::write(home.trust(), &broken).expect("written");
        assert!(Trust::load(&home).broken(), "{broken}");
        let loaded = workspace(&home, &project);
        assert!(loaded.servers.is_empty(), "{broken}");
        assert!(loaded.problems[0].message.contains("trust.json"));
        grant(&home, &shown, Wall(0)).expect_err("a broken record is not replaced");
        assert_eq!(fs::read_to_string(home.trust()).expect("there"), broken);
    }
}

#[test]
fn another_sign_in_is_agreed_to_anew() {
    let (folder, home) = world();
    let project = folder.path().join("project");
    let file = |oauth: &str| {
        let text = format!(
            r#"{{"mcpServers": {{"remote": {{"type": "http", "url": "https://example.com/mcp"{oauth}}}}}}}"#
        );
        fs::write(project.join(".mcp.json"), text).expect("written");
    };
    let state = || status(&home, &project).expect("a folder").servers[0].state;
    file("");
    let shown = status(&home, &project).expect("a folder");
    grant(&home, &shown, Wall(0)).expect("granted");
    assert_eq!(state(), State::Trusted);
    for oauth in [
        r#", "oauthClientId": "me""#,
        r#", "oauthPublicClient": true"#,
        r#", "oauth": {"issuer": "https://evil.example.com"}"#,
    ] {
        file(oauth);
        assert_eq!(state(), State::Changed, "{oauth}");
    }
}
