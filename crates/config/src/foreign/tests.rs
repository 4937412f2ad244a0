//! Files as the programs document them, taken over and given back.

use std::fmt::Write as _;
use std::path::Path;

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::{Foreign, VscodeInput, read, separated, with_goose_extension, written};

fn fixture(program: Foreign) -> &'static str {
    match program {
        Foreign::Claude => include_str!("fixtures/claude.json"),
        Foreign::Copilot => include_str!("fixtures/copilot.json"),
        Foreign::Vscode => include_str!("fixtures/vscode.json"),
        Foreign::Cursor => include_str!("fixtures/cursor.json"),
        Foreign::Codex => include_str!("fixtures/codex.toml"),
        Foreign::Goose => include_str!("fixtures/goose.yaml"),
        Foreign::Opencode => include_str!("fixtures/opencode.json"),
    }
}

/// What is taken over, with the secrets apart.
fn print(program: Foreign, folder: Option<&Path>) -> String {
    let taken = read(program, fixture(program), folder).expect("a file of its");
    let mut out = String::new();
    for mut found in taken.servers {
        let secrets = separated(&found.name, &mut found.entry);
        writeln!(out, "{} {}", found.name, found.entry).expect("text");
        for (name, secret) in secrets {
            writeln!(out, "  {name} = {}", secret.reveal()).expect("text");
        }
        for note in found.notes {
            writeln!(out, "  note: {note}").expect("text");
        }
    }
    for (name, why) in taken.left {
        writeln!(out, "{name} left: {why}").expect("text");
    }
    for input in taken.inputs {
        writeln!(out, "input {} as {}", input.id, input.secret).expect("text");
    }
    out
}

fn check(program: Foreign, expected: &Expect) {
    expected.assert_eq(&print(program, None));
}

#[test]
fn claude() {
    check(
        Foreign::Claude,
        &expect![[r#"
        issues {"type":"http","url":"https://issues.example.com/mcp","headers":{"Authorization":"Bearer ${ISSUES_TOKEN:-none}","X-Team":"north"}}
        files {"type":"stdio","command":"npx","args":["-y","@modelcontextprotocol/server-filesystem","/home/alex/notes","cost: $$5"],"env":{}}
        mail {"command":"${HOME}/bin/mail-server","args":["--api-key","${keyring:mail.api-key}"],"env":{"MAIL_PASSWORD":"${keyring:mail.MAIL_PASSWORD}","REGION":"eu"}}
          mail.MAIL_PASSWORD = correct-horse-$taple
          mail.api-key = Zk3-q9Xw72-plum-44
    "#]],
    );
    let harbor = print(Foreign::Claude, Some(Path::new("/home/alex/harbor")));
    assert!(
        harbor.contains("https://harbor.example.com/mcp"),
        "{harbor}"
    );
    assert!(
        !harbor.contains("https://issues.example.com/mcp"),
        "{harbor}"
    );
}

#[test]
fn copilot() {
    check(
        Foreign::Copilot,
        &expect![[r#"
        files {"type":"local","command":"npx","args":["-y","@modelcontextprotocol/server-filesystem","${HOME}/notes"],"env":{"LEVEL":"info"},"tools":["read_file","list_directory"]}
        issues {"type":"http","url":"https://issues.example.com/mcp","headers":{"Authorization":"Bearer ${keyring:issues.Authorization}"},"tools":["*"],"timeout":30000}
          issues.Authorization = ghp_16C7e42F292c6912E7710c838347Ae178B4a
    "#]],
    );
}

#[test]
fn vscode() {
    check(
        Foreign::Vscode,
        &expect![[r#"
        issues {"type":"http","url":"https://issues.example.com/mcp","headers":{"Authorization":"Bearer ${keyring:vscode-issues-key}"}}
        time {"type":"stdio","command":"uvx","args":["mcp-server-time","--local-timezone=${ZONE}"],"env":{"PORT":"7"}}
        input issues-key as vscode-issues-key
    "#]],
    );
}

#[test]
fn cursor() {
    check(
        Foreign::Cursor,
        &expect![[r#"
        web {"url":"https://web.example.com/mcp","headers":{"Authorization":"Bearer ${WEB_TOKEN}"},"type":"http"}
        graph {"command":"node","args":["${HOME}/graph/server.js"],"env":{"GRAPH_API_KEY":"${keyring:graph.GRAPH_API_KEY}"}}
          graph.GRAPH_API_KEY = 0f9a8b7c6d5e4f3a2b1c
    "#]],
    );
}

#[test]
fn codex() {
    check(
        Foreign::Codex,
        &expect![[r#"
        docs {"type":"stdio","command":"npx","args":["-y","docs-server","--price","$$5"],"env":{"DOCS_REGION":"${DOCS_REGION}","DOCS_TOKEN":"${keyring:docs.DOCS_TOKEN}"},"tools":["search"],"timeout":45500}
          docs.DOCS_TOKEN = tok_live_51Hc9x2eZvKYlo2C
        figures {"type":"http","url":"https://figures.example.com/mcp","headers":{"X-Region":"north","X-User":"${FIGURES_USER}","Authorization":"Bearer ${FIGURES_TOKEN}"},"disabled":true}
        odd left: it has neither `command` nor `url`
    "#]],
    );
}

#[test]
fn goose() {
    check(
        Foreign::Goose,
        &expect![[r#"
        fetch {"type":"stdio","command":"uvx","args":["mcp-server-fetch","--user-agent=alex"],"env":{"FETCH_LEVEL":"info","FETCH_TOKEN":"${keyring:fetch.FETCH_TOKEN}"},"timeout":120000}
          note: the value of FETCH_TOKEN is in Goose's own keystore: `legation secret set fetch.FETCH_TOKEN`
        issues {"type":"http","url":"https://issues.example.com/mcp","headers":{"Authorization":"Bearer ${ISSUES_TOKEN}"},"disabled":true}
        anchored left: such values are not understood
    "#]],
    );
}

#[test]
fn opencode() {
    check(
        Foreign::Opencode,
        &expect![[r#"
        files {"type":"stdio","command":"npx","args":["-y","@modelcontextprotocol/server-filesystem","${HOME}/notes"],"env":{"FILES_SECRET":"${keyring:files.FILES_SECRET}","MODE":"ro"}}
          files.FILES_SECRET = s3cr3t-of-the-files
        issues {"type":"http","url":"https://issues.example.com/mcp","headers":{"Authorization":"Bearer ${ISSUES_TOKEN}"},"disabled":true}
        keyed left: KEY refers to a file
        switched left: it says only whether a server of another file is on
    "#]],
    );
}

/// What is given to a program is what was taken from it, but for what it fills in itself.
#[test]
fn what_is_given_back_is_taken_over_as_the_same() {
    for program in Foreign::ALL {
        let taken = read(program, fixture(program), None).expect("a file of its");
        assert!(taken.servers.len() >= 2, "{}", program.name());
        for found in taken.servers {
            let secret = |name: &str, _: Option<&str>| Some(format!("value-of-{name}"));
            let theirs = written(program, &found.name, &found.entry, &secret);
            let theirs =
                theirs.unwrap_or_else(|why| panic!("{} {}: {why}", program.name(), found.name));
            let again = again(program, &found.name, &theirs);
            let ours = found.entry.to_string();
            let (mut one, mut other) = (found.entry, again);
            for entry in [&mut one, &mut other] {
                plain(entry);
            }
            // A secret that the other program was told is there as it is.
            if !ours.contains("keyring:") {
                assert_eq!(other, one, "{} {}", program.name(), found.name);
            } else {
                assert!(other.to_string().contains("value-of-"), "{other}");
            }
        }
    }
}

/// An entry of a program's, read from a file that holds nothing else.
fn again(program: Foreign, name: &str, theirs: &Value) -> Value {
    let text = match program {
        Foreign::Goose => with_goose_extension("", name, Some(theirs)).expect("put in"),
        Foreign::Codex => {
            let mut root = toml::Table::new();
            let mut servers = toml::Table::new();
            servers.insert(
                name.to_owned(),
                toml::Value::try_from(theirs).expect("TOML"),
            );
            root.insert(program.member().to_owned(), servers.into());
            root.to_string()
        }
        _ => serde_json::json!({program.member(): {name: theirs}}).to_string(),
    };
    let mut taken = read(program, &text, None).expect("a file of its");
    assert_eq!(taken.left, [], "{}: {text}", program.name());
    taken.servers.remove(0).entry
}

/// Without what says nothing: no variables, all tools, the usual kind, a second begun.
fn plain(entry: &mut Value) {
    let Some(members) = entry.as_object_mut() else {
        return;
    };
    members.retain(|key, value| match key.as_str() {
        "env" => value.as_object().is_some_and(|all| !all.is_empty()),
        "tools" => *value != serde_json::json!(["*"]),
        "type" => value == "sse",
        _ => true,
    });
    if let Some(timeout) = members.get_mut("timeout") {
        *timeout = timeout.as_u64().map(|ms| ms.div_ceil(1000)).into();
    }
}

#[test]
fn a_file_of_goose_keeps_every_other_line() {
    let text = fixture(Foreign::Goose);
    let entry = serde_json::json!({"type": "stdio", "cmd": "x y", "args": ["- a", "#b"], "envs": {"A: b": "\"c\""}});
    let added = with_goose_extension(text, "new one", Some(&entry)).expect("put in");
    let lines: Vec<&str> = added.lines().collect();
    assert!(text.lines().all(|line| lines.contains(&line)));
    let taken = read(Foreign::Goose, &added, None).expect("a file of its");
    let new = taken
        .servers
        .iter()
        .find(|one| one.name == "new one")
        .expect("there");
    assert_eq!(
        new.entry,
        serde_json::json!({"type": "stdio", "command": "x y", "args": ["- a", "#b"], "env": {"A: b": "\"c\""}})
    );
    assert_eq!(
        with_goose_extension(&added, "new one", None),
        Ok(text.to_owned())
    );
    let replaced = with_goose_extension(text, "fetch", Some(&entry)).expect("replaced");
    assert!(
        !replaced.contains("mcp-server-fetch") && replaced.contains("GOOSE_MODE: smart_approve")
    );
    for empty in ["", "extensions: {}\n", "a: b", "extensions:\n"] {
        let added = with_goose_extension(empty, "one", Some(&entry)).expect(empty);
        let taken = read(Foreign::Goose, &added, None).expect("a file of its");
        assert_eq!(taken.servers.len(), 1, "{added}");
    }
    assert!(with_goose_extension("extensions: {a: {b: c}}\n", "one", Some(&entry)).is_err());
}

#[test]
fn what_is_no_file_of_theirs_is_refused() {
    for program in Foreign::ALL {
        let wrong = match program {
            Foreign::Codex => vec!["[", "mcp_servers = 5"],
            Foreign::Goose => vec!["extensions: [a]"],
            Foreign::Vscode => vec!["[]", "{\"servers\": 5}", "{\"inputs\": 5}"],
            _ => vec!["[]", "{", "{\"mcpServers\": 5, \"mcp\": 5}"],
        };
        for text in wrong {
            let found = read(program, text, None);
            assert!(found.is_err(), "{} {text}: {found:?}", program.name());
        }
    }
}

#[test]
fn what_holds_without_a_secret_is_offered_where_it_is_asked_for() {
    let input = VscodeInput::of_secret("vscode-region", Some("eu"));
    assert_eq!(input.reference(), "${input:region}");
    let known = json!([{"type": "promptString", "id": "other"}]);
    let inputs = input.among(Some(known)).expect("a list");
    let expected = json!({
        "type": "promptString", "id": "region", "description": "region", "password": true,
        "default": "eu",
    });
    assert_eq!(inputs[1], expected);
    assert_eq!(input.among(Some(inputs.clone())), Ok(inputs), "once");
    let entry = json!({"command": "a", "env": {"REGION": "${keyring:region:-eu}"}});
    let told = |found: bool| {
        let secret = |name: &str, default: Option<&str>| {
            assert_eq!(name, "region");
            found.then(|| default.unwrap_or("none").to_owned())
        };
        written(Foreign::Claude, "a", &entry, &secret)
    };
    assert_eq!(told(true).expect("an entry")["env"]["REGION"], "eu");
    assert_eq!(
        told(false),
        Err("it refers to the secret region".to_owned())
    );
}
