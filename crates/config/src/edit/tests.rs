use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use expect_test::{Expect, expect};
use legation_core::error::chain;
use legation_core::{Home, ServerName};

use super::{Change, EditError, NewServer, NewTransport, apply, preview, undo, undo_path};
use crate::servers::{self, EraChoice, Instance};

const FILE: &str = r#"{
    "$schema": "x",
    "mcpServers": {
        "one": { "command": "one",   "args": ["-y", "a"], "vendor": {"b": 1e2, "a": 2} },
        "two": {
            "type": "http",
            "url": "https://example.com/mcp"
        }
    },
    "inputs": [1, 2]
}
"#;

fn home(text: &str) -> (tempfile::TempDir, Home) {
    let folder = tempfile::tempdir().expect("a folder");
    let home = Home::at(folder.path());
    home.create().expect("created");
    fs::write(home.servers(), text).expect("written");
    (folder, home)
}

fn name(text: &str) -> ServerName {
    ServerName::parse(text).expect("a name")
}

fn add(text: &str, replace: bool) -> Change {
    Change::Add {
        name: name(text),
        entry: Box::new(NewServer {
            transport: NewTransport::Stdio {
                command: "npx".to_owned(),
                args: vec!["-y".to_owned(), "pkg".to_owned()],
                cwd: None,
                env: vec![
                    ("Z".to_owned(), "$Z".to_owned()),
                    ("A".to_owned(), "1".to_owned()),
                ],
            },
            timeout_ms: Some(5000),
            era: Some(EraChoice::Legacy),
            instance: Some(Instance::Client),
            ..NewServer::default()
        }),
        replace,
    }
}

fn check(text: &str, change: &Change, expected: &Expect) {
    let (_folder, home) = home(text);
    let planned = preview(&home, change).expect("it can be made");
    assert_eq!(fs::read_to_string(home.servers()).expect("there"), text);
    let edited = apply(&home, change).expect("it is made");
    assert_eq!(edited.after, planned.after);
    assert_eq!(edited.before, text);
    assert_eq!(
        fs::read_to_string(home.servers()).expect("there"),
        edited.after
    );
    let mode = fs::metadata(home.servers())
        .expect("there")
        .permissions()
        .mode();
    assert!(!edited.is_change() || mode & 0o777 == 0o600);
    assert!(servers::user(&home).files_are_whole());
    expected.assert_eq(&edited.after);
}

#[test]
fn a_new_entry_is_appended() {
    check(
        FILE,
        &add("three", false),
        &expect![[r#"
        {
            "$schema": "x",
            "mcpServers": {
                "one": { "command": "one",   "args": ["-y", "a"], "vendor": {"b": 1e2, "a": 2} },
                "two": {
                    "type": "http",
                    "url": "https://example.com/mcp"
                },
                "three": {
                    "type": "stdio",
                    "command": "npx",
                    "args": [
                        "-y",
                        "pkg"
                    ],
                    "env": {
                        "Z": "$Z",
                        "A": "1"
                    },
                    "tools": [
                        "*"
                    ],
                    "timeout": 5000,
                    "era": "legacy",
                    "instance": "client"
                }
            },
            "inputs": [1, 2]
        }
    "#]],
    );
    check(
        FILE,
        &Change::AddJson {
            name: name("json"),
            json: r#"{"url": "https://example.com", "type": "http", "vendor": [1, {}]}"#.to_owned(),
            replace: false,
        },
        &expect![[r#"
            {
                "$schema": "x",
                "mcpServers": {
                    "one": { "command": "one",   "args": ["-y", "a"], "vendor": {"b": 1e2, "a": 2} },
                    "two": {
                        "type": "http",
                        "url": "https://example.com/mcp"
                    },
                    "json": {
                        "url": "https://example.com",
                        "type": "http",
                        "vendor": [
                            1,
                            {}
                        ]
                    }
                },
                "inputs": [1, 2]
            }
        "#]],
    );
}

#[test]
fn a_replaced_entry_keeps_its_place() {
    check(
        FILE,
        &add("one", true),
        &expect![[r#"
        {
            "$schema": "x",
            "mcpServers": {
                "one": {
                    "type": "stdio",
                    "command": "npx",
                    "args": [
                        "-y",
                        "pkg"
                    ],
                    "env": {
                        "Z": "$Z",
                        "A": "1"
                    },
                    "tools": [
                        "*"
                    ],
                    "timeout": 5000,
                    "era": "legacy",
                    "instance": "client"
                },
                "two": {
                    "type": "http",
                    "url": "https://example.com/mcp"
                }
            },
            "inputs": [1, 2]
        }
    "#]],
    );
}

#[test]
fn one_entry_changes_and_the_rest_keeps_its_text() {
    check(
        FILE,
        &Change::Remove { name: name("one") },
        &expect![[r#"
        {
            "$schema": "x",
            "mcpServers": {
                "two": {
                    "type": "http",
                    "url": "https://example.com/mcp"
                }
            },
            "inputs": [1, 2]
        }
    "#]],
    );
    check(
        FILE,
        &Change::SetDisabled {
            name: name("one"),
            disabled: true,
        },
        &expect![[r#"
            {
                "$schema": "x",
                "mcpServers": {
                    "one": {
                        "command": "one",
                        "args": ["-y", "a"],
                        "vendor": {"b": 1e2, "a": 2},
                        "disabled": true
                    },
                    "two": {
                        "type": "http",
                        "url": "https://example.com/mcp"
                    }
                },
                "inputs": [1, 2]
            }
        "#]],
    );
}

#[test]
fn every_shape_of_file_is_kept() {
    for text in ["", "{}", "{\"mcpServers\": {}}"] {
        let (_folder, home) = home(text);
        apply(&home, &add("new", false)).expect("it is made");
        let loaded = servers::user(&home);
        assert_eq!(loaded.servers.len(), 1, "{text}");
        assert!(
            fs::read_to_string(home.servers())
                .expect("there")
                .contains("mcpServers")
        );
    }
    check(
        "{\"bare\": {\"command\": \"x\"}}",
        &Change::SetDisabled {
            name: name("bare"),
            disabled: true,
        },
        &expect![[r#"
            {
              "bare": {
                "command": "x",
                "disabled": true
              }
            }
        "#]],
    );
    check(
        "\u{feff}{\n\t\"mcpServers\": {\n\t\t\"a\": {\"command\": \"x\"}\n\t}\n}",
        &Change::Remove { name: name("a") },
        &expect![[r#"
            {
            	"mcpServers": {}
            }
        "#]],
    );
}

#[test]
fn disabling_and_enabling_come_back_to_the_start() {
    let (_folder, home) = home(FILE);
    for disabled in [false, true, true, false] {
        let change = Change::SetDisabled {
            name: name("two"),
            disabled,
        };
        apply(&home, &change).expect("it is made");
        let found = servers::user(&home).servers;
        assert_eq!(found[1].disabled, disabled);
    }
    assert_eq!(fs::read_to_string(home.servers()).expect("there"), FILE);
}

#[test]
fn a_change_can_be_undone_and_done_again() {
    let (_folder, home) = home(FILE);
    assert!(matches!(undo(&home), Err(EditError::NothingToUndo { .. })));
    let edited = apply(&home, &add("three", false)).expect("it is made");
    let mode = fs::metadata(undo_path(&home))
        .expect("there")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(undo(&home).expect("undone").after, FILE);
    assert_eq!(fs::read_to_string(home.servers()).expect("there"), FILE);
    assert_eq!(undo(&home).expect("redone").after, edited.after);
    // What changes nothing leaves the earlier version alone.
    apply(
        &home,
        &Change::SetDisabled {
            name: name("one"),
            disabled: false,
        },
    )
    .expect("nothing");
    assert_eq!(fs::read_to_string(undo_path(&home)).expect("there"), FILE);
}

#[test]
fn a_link_keeps_leading_where_it_led() {
    let (folder, home) = home(FILE);
    let real = folder.path().join("dotfiles.json");
    fs::rename(home.servers(), &real).expect("moved");
    std::os::unix::fs::symlink(&real, home.servers()).expect("linked");
    apply(&home, &Change::Remove { name: name("one") }).expect("it is made");
    assert!(home.servers().is_symlink());
    assert!(!fs::read_to_string(real).expect("there").contains("\"one\""));
}

#[test]
fn what_cannot_be_done_changes_nothing() {
    let json = |json: &str| Change::AddJson {
        name: name("new"),
        json: json.to_owned(),
        replace: false,
    };
    let mut shown = String::new();
    for (text, change) in [
        (FILE, add("one", false)),
        (FILE, Change::Remove { name: name("gone") }),
        (
            FILE,
            Change::SetDisabled {
                name: name("gone"),
                disabled: true,
            },
        ),
        (FILE, json("{\"command\": 5}")),
        (FILE, json("{\"command\": \"a\", \"command\": \"b\"}")),
        (FILE, json("[]")),
        ("{\"a\": {}, \"a\": {}}", add("new", false)),
        ("{ // mine\n}", add("new", false)),
        (
            "{\"servers\": {\"a\": {\"command\": \"x\"}}}",
            add("new", false),
        ),
        (
            "{\"a\": 5}",
            Change::SetDisabled {
                name: name("a"),
                disabled: true,
            },
        ),
    ] {
        let (folder, home) = home(text);
        let error = apply(&home, &change).expect_err("it cannot be made");
        assert_eq!(fs::read_to_string(home.servers()).expect("there"), text);
        assert!(!undo_path(&home).exists());
        let line = format!("{} -> {}\n", chain(&error), error.hint());
        shown += &line.replace(folder.path().to_str().expect("Unicode"), "[home]");
    }
    expect![[r#"
        there is a server one already, nothing was changed -> Choose another name, or remove it first: legation mcp remove one
        there is no server gone, nothing was changed -> `legation mcp list` names the servers
        there is no server gone, nothing was changed -> `legation mcp list` names the servers
        the new entry cannot be used, nothing was changed: command is a number, not a text -> Put it in quotes.
        the new entry cannot be used, nothing was changed: line 1, column 26: the key "command" is there twice -> The file is plain JSON: no comments, no comma after the last entry, no key twice.
        the new entry cannot be used, nothing was changed: the entry is a list, not an object -> Write {"command": …} or {"type": "http", "url": …}.
        [home]/mcp.json: line 1, column 13: the key "a" is there twice; nothing was changed -> Correct [home]/mcp.json by hand first.
        [home]/mcp.json: line 1, column 3: key must be a string; nothing was changed -> Correct [home]/mcp.json by hand first.
        [home]/mcp.json: it has `servers`, which is the shape of one editor's own file; nothing was changed -> Correct [home]/mcp.json by hand first.
        [home]/mcp.json: the entry "a" is not an object; nothing was changed -> Correct [home]/mcp.json by hand first.
    "#]].assert_eq(&shown);
}

#[test]
fn an_entry_of_the_older_transport_is_like_any() {
    let (_folder, home) = home("{}");
    let change = Change::AddJson {
        name: name("old"),
        json: "{\"type\": \"sse\", \"url\": \"https://example.com/sse\"}".to_owned(),
        replace: false,
    };
    assert_eq!(apply(&home, &change).expect("it is made").warnings, []);
}

#[test]
fn secrets_are_not_printed() {
    let (_folder, home) = home("{}");
    let change = Change::Add {
        name: name("a"),
        entry: Box::new(NewServer {
            transport: NewTransport::Http {
                url: "https://example.com".to_owned(),
                headers: vec![("Authorization".to_owned(), "Bearer s3cret".to_owned())],
            },
            ..NewServer::default()
        }),
        replace: false,
    };
    let edited = apply(&home, &change).expect("it is made");
    assert!(edited.after.contains("s3cret"));
    assert!(!format!("{change:?} {edited:?}").contains("s3cret"));
}
