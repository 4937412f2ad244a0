use expect_test::{Expect, expect};
use legation_core::Home;

use super::{load, print};
use crate::servers::{Loaded, ProblemKind, Severity, Source, additional, read_entry, user};

fn check(text: &str, expected: &Expect) {
    expected.assert_eq(&print(&load(text)));
}

#[test]
fn both_shapes_are_read() {
    let entry = r#"{"command": "node", "args": ["a b.js"]}"#;
    let wrapped = load(&format!(
        r#"{{"mcpServers": {{"one": {entry}}}, "inputs": []}}"#
    ));
    let bare = load(&format!(r#"{{"one": {entry}}}"#));
    assert_eq!(wrapped, bare);
    expect![[r#"
        one = stdio node "a b.js" | tools ["*"] timeout None title "one" default false era auto instance shared prefix "one" disabled false env None
    "#]].assert_eq(&print(&bare));
}

#[test]
fn every_field_is_understood() {
    check(
        r#"{
          "everything": {
            "type": "local", "command": "$BIN/run", "args": ["--key", "${KEY:-none}"],
            "cwd": "work", "env": {"TOKEN": "ghp_literal", "OTHER": "Bearer ${OTHER}"},
            "tools": ["read", "write"], "timeout": 1500, "displayName": "Everything",
            "isDefaultServer": true, "era": "modern", "instance": "client", "prefix": "",
            "disabled": true, "envMode": "indirect", "filterMapping": {"a": "none"},
            "source": "user"
          },
          "remote": {
            "type": "streamable-http", "url": "https://example.com/mcp",
            "headers": {"Authorization": "Bearer ${TOKEN}"}
          },
          "plain": {"type": "stdio", "command": "run", "args": null}
        }"#,
        &expect![[r#"
            everything = stdio $BIN/run --key ${KEY:-none} TOKEN=**** OTHER=Bearer ${OTHER} in work | tools ["read", "write"] timeout Some(1.5s) title "Everything" default true era modern instance client prefix "" disabled true env Some(Indirect) filter {"a":"none"}
            remote = http https://example.com/mcp Authorization=Bearer ${TOKEN} | tools ["*"] timeout None title "remote" default false era auto instance shared prefix "remote" disabled false env None
            plain = stdio run | tools ["*"] timeout None title "plain" default false era auto instance shared prefix "plain" disabled false env None
        "#]],
    );
}

#[test]
fn what_is_odd_is_kept_and_said() {
    check(
        r#"{"a": {"url": "http://127.0.0.1/mcp", "comand": "x", "alwaysLoad": true}, "b": {"command": "b", "tools": []}}"#,
        &expect![[r#"
            a = http http://127.0.0.1/mcp | tools ["*"] timeout None title "a" default false era auto instance shared prefix "a" disabled false env None unknown {"comand":"x","alwaysLoad":true}
            b = stdio b | tools [] timeout None title "b" default false era auto instance shared prefix "b" disabled false env None
            ignored --additional-mcp-config: server "a": it has a `url` and no `type`; http is assumed -> Add "type": "http": other clients refuse the entry without it.
            ignored --additional-mcp-config: server "a": without effect here: `comand`, `alwaysLoad` -> Check the spelling; unknown fields are kept for other clients.
            ignored --additional-mcp-config: server "b": `tools` is empty, so the server offers none -> Write ["*"] for all tools, or set "disabled": true.
        "#]],
    );
}

#[test]
fn a_broken_entry_stands_in_nobodys_way() {
    let loaded = load(
        r#"{
          "good": {"command": "good"},
          "sse": {"type": "sse", "url": "https://example.com/sse"},
          "ws": {"type": "ws", "url": "wss://example.com"},
          "nothing": {},
          "both": {"command": "x", "url": "https://example.com"},
          "text": "node server.js",
          "empty": {"command": "  "},
          "args": {"command": "x", "args": "a b"},
          "number": {"command": "x", "args": ["--port", 80]},
          "nul": {"command": "x", "args": ["a\u0000b"]},
          "env": {"command": "x", "env": {"PORT": 80}},
          "name": {"command": "x", "env": {"A=B": "c"}},
          "list": {"command": "x", "env": ["A=B"]},
          "ftp": {"type": "http", "url": "ftp://example.com"},
          "header": {"type": "http", "url": "https://example.com", "headers": {"a b": "c"}},
          "timeout": {"command": "x", "timeout": 0},
          "slow": {"command": "x", "timeout": "1s"},
          "era": {"command": "x", "era": "future"},
          "instance": {"command": "x", "instance": "thread"},
          "disabled": {"command": "x", "disabled": "no"},
          "input": {"command": "x", "env": {"A": "${input:a}"}},
          "open": {"command": "x", "cwd": "${HOME"},
          "": {"command": "x"},
          "a//b": {"command": "x"},
          "bell\u0007": {"command": "x"},
          "last": {"type": "http", "url": "${BASE}/mcp"}
        }"#,
    );
    expect![[r#"
        good = stdio good | tools ["*"] timeout None title "good" default false era auto instance shared prefix "good" disabled false env None
        sse = sse https://example.com/sse | tools ["*"] timeout None title "sse" default false era auto instance shared prefix "sse" disabled false env None
        last = http ${BASE}/mcp | tools ["*"] timeout None title "last" default false era auto instance shared prefix "last" disabled false env None
        entry --additional-mcp-config: server "ws": type "ws" is not known -> Use "stdio" (or "local") for a command, "http" or "sse" for an address, and "memory" for a server of the hub's own.
        entry --additional-mcp-config: server "nothing": it has neither `command` nor `url`, so there is nothing to start or reach -> Write {"command": …} or {"type": "http", "url": …}.
        entry --additional-mcp-config: server "both": it has both `command` and `url`, so it is not clear which is meant -> Remove one of them, or add "type": "stdio" or "type": "http".
        entry --additional-mcp-config: server "text": the entry is a text, not an object -> Write {"command": …} or {"type": "http", "url": …}.
        entry --additional-mcp-config: server "empty": command is missing or empty -> Add "command": "…".
        entry --additional-mcp-config: server "args": args is a text, not a list of texts -> Write a list of texts.
        entry --additional-mcp-config: server "number": args[1] is a number, not a text -> Put it in quotes.
        entry --additional-mcp-config: server "nul": args[0] has a NUL character -> Remove the \u0000.
        entry --additional-mcp-config: server "env": env.PORT is a number, not a text -> Put it in quotes.
        entry --additional-mcp-config: server "name": env has the name "A=B", which no variable can have -> Rename it.
        entry --additional-mcp-config: server "list": env is a list, not an object of texts -> Write an object of texts.
        entry --additional-mcp-config: server "ftp": url "ftp://example.com" does not start with https:// or http:// -> Write the whole address of the endpoint; that of a Unix socket is unix:///PATH.sock:/mcp.
        entry --additional-mcp-config: server "header": headers has the name "a b", which no header can have -> Header names are letters, digits and dashes.
        entry --additional-mcp-config: server "timeout": timeout is 0, not a whole number of milliseconds above 0 -> Write "timeout": 60000 for one minute.
        entry --additional-mcp-config: server "slow": timeout is "1s", not a whole number of milliseconds above 0 -> Write "timeout": 60000 for one minute.
        entry --additional-mcp-config: server "era": era is "future", which is not known -> Use one of: auto, legacy, modern.
        entry --additional-mcp-config: server "instance": instance is "thread", which is not known -> Use one of: shared, client, workspace.
        entry --additional-mcp-config: server "disabled": disabled is a text, not true or false -> Write true or false.
        entry --additional-mcp-config: server "input": env.A: a reference in braces is none of ${NAME}, ${NAME:-default} and ${keyring:NAME} -> Write ${NAME} or ${NAME:-default}, which read the environment, or ${keyring:NAME}, which reads the keystore. Write $$ where a dollar sign itself is meant.
        entry --additional-mcp-config: server "open": cwd: a reference is opened with ${ and never closed -> Write } behind the name, or $$ where a dollar sign itself is meant.
        entry --additional-mcp-config: server "": a server name cannot be empty -> Rename the entry.
        entry --additional-mcp-config: server "a//b": server name "a//b" has a leading, trailing or doubled slash -> Rename the entry.
        entry --additional-mcp-config: server "bell\u{7}": server name "bell\u{7}" has a control character -> Rename the entry.
    "#]].assert_eq(&print(&loaded));
    assert!(loaded.files_are_whole());
    assert_eq!(loaded.servers.len(), 3);
    assert!(
        loaded
            .problems
            .iter()
            .all(|problem| problem.severity() == Severity::Error)
    );
    assert_eq!(loaded.problems[0].kind, ProblemKind::Entry);
}

#[test]
fn a_broken_file_is_one_problem() {
    for text in [
        "",
        "[]",
        "{\"mcpServers\": []}",
        "{\"a\": {\"command\": \"x\"}, \"a\": {\"command\": \"y\"}}",
        "{\"a\": {\"command\": \"x\", \"command\": \"y\"}}",
        "{\"servers\": {\"a\": {\"command\": \"x\"}}}",
        "{// a comment\n}",
    ] {
        let loaded = load(text);
        assert!(!loaded.files_are_whole(), "{text}");
        assert!(loaded.servers.is_empty(), "{text}");
    }
    check(
        "{\"a\": {},\n\"a\": {}}",
        &expect![[r#"
        file --additional-mcp-config: line 2, column 3: the key "a" is there twice -> The file is plain JSON: no comments, no comma after the last entry, no key twice.
    "#]],
    );
    check(
        "{\"servers\": {\"a\": {\"command\": \"x\"}}}",
        &expect![[r#"
            file --additional-mcp-config: it has `servers`, which is the shape of one editor's own file -> Rename `servers` to `mcpServers` and write ${VARIABLE} or ${keyring:NAME} for `inputs`, or keep the file as .vscode/mcp.json.
        "#]],
    );
}

#[test]
fn a_server_may_be_called_servers() {
    check(
        r#"{"servers": {"command": "x"}}"#,
        &expect![[r#"
        servers = stdio x | tools ["*"] timeout None title "servers" default false era auto instance shared prefix "servers" disabled false env None
    "#]],
    );
}

#[test]
fn tools_are_an_allow_list() {
    let loaded = load(
        r#"{"all": {"command": "x"}, "some": {"command": "x", "tools": ["read"]}, "none": {"command": "x", "tools": []}}"#,
    );
    let offers: Vec<[bool; 2]> = loaded
        .servers
        .iter()
        .map(|server| [server.offers("read"), server.offers("write")])
        .collect();
    assert_eq!(offers, [[true, true], [true, false], [false, false]]);
}

#[test]
fn the_later_argument_and_the_higher_rank_count() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(
        folder.path().join("more.json"),
        r#"{"b": {"command": "file"}}"#,
    )
    .expect("written");
    let arguments = [
        r#"{"a": {"command": "first"}, "c": {"command": "c"}}"#,
        r#"{"a": {"command": "second"}}"#,
        "@more.json",
    ];
    let loaded = additional(&arguments, folder.path());
    let commands = |loaded: &Loaded| {
        let mut shown: Vec<String> = loaded
            .servers
            .iter()
            .map(|server| format!("{} {}", server.name, server.transport.shown()))
            .collect();
        shown.sort();
        shown.join(", ")
    };
    assert_eq!(commands(&loaded), "a second, b file, c c");
    let missing = additional(&["@gone.json"], folder.path());
    assert!(!missing.files_are_whole());

    // A broken stronger entry is not papered over by a weaker one.
    let stronger = load(r#"{"a": {"command": ""}, "d": {"command": "strong"}}"#);
    assert_eq!(commands(&stronger.over(loaded)), "b file, c c, d strong");
}

#[test]
fn the_owners_file_need_not_exist() {
    let folder = tempfile::tempdir().expect("a folder");
    let home = Home::at(folder.path());
    assert_eq!(user(&home), Loaded::default());
    std::fs::write(home.servers(), "\n").expect("written");
    assert_eq!(user(&home), Loaded::default());
    std::fs::create_dir(folder.path().join("sub")).expect("made");
    std::fs::remove_file(home.servers()).expect("removed");
    std::fs::create_dir(home.servers()).expect("made");
    assert!(!user(&home).files_are_whole());
}

#[test]
fn only_the_owner_says_whose_data_a_server_holds() {
    let text = r#"{"mail": {"command": "run", "entity": "harbor"}, "plain": {"command": "run"}}"#;
    let entry = serde_json::json!({"command": "run", "entity": "harbor"});
    let folder = std::path::PathBuf::from("/home/jordan/work");
    let loaded = load(text);
    let said: Vec<_> = loaded
        .servers
        .iter()
        .map(|server| server.entity.as_ref().map(|entity| entity.as_str()))
        .collect();
    assert_eq!(said, [Some("harbor"), None]);
    let source = Source::Workspace {
        file: folder.join(".mcp.json"),
        folder,
    };
    let (server, problems) = read_entry("mail", &entry, &source, true);
    assert_eq!(server.and_then(|server| server.entity), None);
    assert!(problems[0].message.contains("whose data"), "{problems:?}");
}

#[test]
fn a_server_of_the_hubs_own_has_another_name() {
    let loaded = load(
        r#"{
            "notes": {"type": "memory", "server": "hub", "tools": ["find_tools"], "displayName": "Find", "disabled": true},
            "odd": {"type": "memory", "server": "audit", "instance": "client", "entity": "harbor", "env": {"A": "b"}},
            "none": {"type": "memory"},
            "other": {"type": "memory", "server": "files"},
            "hub": {"type": "memory", "server": "hub"}
        }"#,
    );
    expect![[r#"
        notes = memory hub | tools ["find_tools"] timeout None title "Find" default false era auto instance shared prefix "notes" disabled true env None
        odd = memory audit | tools ["*"] timeout None title "odd" default false era auto instance shared prefix "odd" disabled false env None unknown {"instance":"client","entity":"harbor","env":{"A":"b"}}
        ignored --additional-mcp-config: server "odd": without effect here: `instance`, `entity`, `env` -> Check the spelling; unknown fields are kept for other clients.
        entry --additional-mcp-config: server "none": server is missing or empty -> Use one of: hub, audit, identity, teams, inbox, delegate, desk, workspace.
        entry --additional-mcp-config: server "other": server "files" is none of the hub's own -> Use one of: hub, audit, identity, teams, inbox, delegate, desk, workspace.
        entry --additional-mcp-config: server "hub": the name belongs to a server of the hub's own -> Rename the entry.
    "#]]
    .assert_eq(&print(&loaded));
}
