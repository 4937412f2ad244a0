use std::fmt::Write as _;

use expect_test::{Expect, expect};
use legation_core::error::chain;

use super::load;
use crate::Environment;
use crate::servers::{EnvMode, Resolved};

fn resolve(entry: &str, mode: EnvMode) -> String {
    let environment = Environment::from_pairs([
        ("HOME", "/home/ana"),
        ("PATH", "/usr/bin"),
        ("TOKEN", "s3cret"),
        ("INJECT", "x\r\nEvil: yes"),
        ("BASE", "https://example.com"),
    ]);
    let loaded = load(&format!("{{\"srv\": {entry}}}"));
    let server = loaded.servers.first().expect("the entry loads");
    match server.resolve(&environment, mode) {
        Err(error) => {
            let text = format!("{}\n{}\n", chain(&error), error.hint());
            assert!(!text.contains("s3cret"), "{text}");
            text
        }
        Ok(resolved) => {
            let printed = format!("{resolved:?} {server:?}");
            assert!(!printed.contains("s3cret"), "{printed}");
            match resolved {
                Resolved::Stdio(stdio) => {
                    let mut text =
                        format!("{:?} {:?} {:?}\n", stdio.command, stdio.args, stdio.cwd);
                    for (name, value) in &stdio.env {
                        writeln!(text, "{}={}", name.display(), value.display())
                            .expect("strings take all text");
                    }
                    text
                }
                Resolved::Http(http) => {
                    let mut text = format!("{}\n", http.url.reveal());
                    for (name, value) in &http.headers {
                        writeln!(text, "{name}: {}", value.reveal())
                            .expect("strings take all text");
                    }
                    text
                }
                Resolved::Memory => "the hub's own\n".to_owned(),
            }
        }
    }
}

fn check(entry: &str, expected: &Expect) {
    expected.assert_eq(&resolve(entry, EnvMode::Direct));
}

#[test]
fn references_are_followed_everywhere() {
    check(
        r#"{"command": "$HOME/bin/run", "args": ["--token=$OWN", "$$5", "${NONE:-d}"], "cwd": "work",
            "env": {"OWN": "own-${TOKEN}", "PATH": "/opt:$PATH"}}"#,
        &expect![[r#"
            "/home/ana/bin/run" ["--token=own-s3cret", "$5", "d"] Some("/home/ana/work")
            HOME=/home/ana
            OWN=own-s3cret
            PATH=/opt:/usr/bin
        "#]],
    );
    check(
        r#"{"type": "http", "url": "${BASE}/mcp", "headers": {"Authorization": "Bearer $TOKEN"}}"#,
        &expect![[r#"
            https://example.com/mcp
            Authorization: Bearer s3cret
        "#]],
    );
}

#[test]
fn what_leads_nowhere_is_named() {
    check(
        r#"{"command": "$NONE"}"#,
        &expect![[r#"
        server srv: command cannot be resolved, the server is not started: the variable NONE is not set
        Set NONE where the hub is started, or write ${NONE:-default}.
    "#]],
    );
    check(
        r#"{"command": "x", "args": ["a", "${NONE}"]}"#,
        &expect![[r#"
        server srv: args[1] cannot be resolved, the server is not started: the variable NONE is not set
        Set NONE where the hub is started, or write ${NONE:-default}.
    "#]],
    );
    check(
        r#"{"command": "x", "env": {"A": "$NONE"}}"#,
        &expect![[r#"
        server srv: env.A cannot be resolved, the server is not started: the variable NONE is not set
        Set NONE where the hub is started, or write ${NONE:-default}.
    "#]],
    );
    check(
        r#"{"command": "${NONE:-}"}"#,
        &expect![[r#"
        server srv: command is empty, the server is not started
        Correct command, or the variable it refers to.
    "#]],
    );
    check(
        r#"{"type": "http", "url": "https://a/$TOKEN", "headers": {"X": "$NONE"}}"#,
        &expect![[r#"
            server srv: headers.X cannot be resolved, the server is not started: the variable NONE is not set
            Set NONE where the hub is started, or write ${NONE:-default}.
        "#]],
    );
    check(
        r#"{"type": "http", "url": "${TOKEN}/mcp"}"#,
        &expect![[r#"
        server srv: url does not start with https:// or http://, the server is not started
        Correct url, or the variable it refers to.
    "#]],
    );
    check(
        r#"{"type": "http", "url": "https://a", "headers": {"X-Who": "$INJECT"}}"#,
        &expect![[r#"
            server srv: headers.X-Who has a control character, the server is not started
            Correct headers.X-Who, or the variable it refers to.
        "#]],
    );
    check(
        r#"{"type": "http", "url": "https://a/$INJECT"}"#,
        &expect![[r#"
            server srv: url has a space or a control character, the server is not started
            Correct url, or the variable it refers to.
        "#]],
    );
}

#[test]
fn indirect_values_are_names() {
    let found = resolve(
        r#"{"command": "x", "env": {"GITHUB": "TOKEN"}}"#,
        EnvMode::Indirect,
    );
    assert!(found.contains("GITHUB=s3cret"), "{found}");
    let own = resolve(
        r#"{"command": "x", "env": {"GITHUB": "TOKEN"}, "envMode": "direct"}"#,
        EnvMode::Indirect,
    );
    assert!(own.contains("GITHUB=TOKEN"), "{own}");
    check(
        r#"{"command": "x", "env": {"GITHUB": "NONE"}, "envMode": "indirect"}"#,
        &expect![[r#"
            server srv: env.GITHUB names the variable "NONE", which is not set, the server is not started
            With the indirect mode a value is the name of a variable of the hub's environment: set it there, or set envMode to direct.
        "#]],
    );
    // Somebody put the secret itself where a name belongs.
    check(
        r#"{"command": "x", "env": {"GITHUB": "ghp_abc"}, "envMode": "indirect"}"#,
        &expect![[r#"
            server srv: env.GITHUB names the variable "****", which is not set, the server is not started
            With the indirect mode a value is the name of a variable of the hub's environment: set it there, or set envMode to direct.
        "#]],
    );
}

#[test]
fn what_cannot_be_resolved_is_known_before_it_is_started() {
    let loaded = load(
        r#"{"a": {"command": "$NONE"}, "b": {"command": "$NONE", "disabled": true}, "c": {"command": "c"}}"#,
    );
    let environment = Environment::from_pairs([("HOME", "/h")]);
    let errors = loaded.unresolved(&environment, EnvMode::Direct);
    let servers: Vec<&str> = errors.iter().map(|error| error.server().as_str()).collect();
    assert_eq!(servers, ["a"]);
}
