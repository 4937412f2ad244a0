use expect_test::{Expect, expect};
use serde_json::json;

use super::super::client::Road;
use super::*;

fn bridge(client: Client) -> Value {
    client.entry(&Road::Bridge {
        command: "/bin/legation".into(),
        args: ["bridge", "--client", client.name()]
            .map(str::to_owned)
            .to_vec(),
    })
}

fn http(client: Client) -> Value {
    client.entry(&Road::Http {
        url: "http://127.0.0.1:48080/mcp".into(),
        authorization: legation_core::Secret::new("Bearer lgn_TOKEN"),
    })
}

/// The whole file that connecting makes where there was none.
fn check_entry(client: Client, entry: &Value, expected: &Expect) {
    let text = with_entry(client, "", Some(entry)).expect("made");
    expected.assert_eq(&text);
    assert_eq!(
        self::entry(client, &text).expect("read").as_ref(),
        Some(entry)
    );
    let empty = with_entry(client, &text, None).expect("emptied");
    assert!(matches!(empty.trim(), "" | "{}"), "{client:?}: {empty}");
}

#[test]
fn claude() {
    check_entry(
        Client::Claude,
        &bridge(Client::Claude),
        &expect![[r#"
            {
              "mcpServers": {
                "legation": {
                  "type": "stdio",
                  "command": "/bin/legation",
                  "args": [
                    "bridge",
                    "--client",
                    "claude"
                  ]
                }
              }
            }
        "#]],
    );
    check_entry(
        Client::Claude,
        &http(Client::Claude),
        &expect![[r#"
            {
              "mcpServers": {
                "legation": {
                  "type": "http",
                  "url": "http://127.0.0.1:48080/mcp",
                  "headers": {
                    "Authorization": "Bearer lgn_TOKEN"
                  }
                }
              }
            }
        "#]],
    );
}

#[test]
fn copilot() {
    check_entry(
        Client::Copilot,
        &bridge(Client::Copilot),
        &expect![[r#"
            {
              "mcpServers": {
                "legation": {
                  "type": "local",
                  "command": "/bin/legation",
                  "args": [
                    "bridge",
                    "--client",
                    "copilot"
                  ],
                  "tools": [
                    "*"
                  ]
                }
              }
            }
        "#]],
    );
    check_entry(
        Client::Copilot,
        &http(Client::Copilot),
        &expect![[r#"
            {
              "mcpServers": {
                "legation": {
                  "type": "http",
                  "url": "http://127.0.0.1:48080/mcp",
                  "headers": {
                    "Authorization": "Bearer lgn_TOKEN"
                  },
                  "tools": [
                    "*"
                  ]
                }
              }
            }
        "#]],
    );
}

#[test]
fn codex() {
    check_entry(
        Client::Codex,
        &bridge(Client::Codex),
        &expect![[r#"
            [mcp_servers.legation]
            command = "/bin/legation"
            args = ["bridge", "--client", "codex"]
        "#]],
    );
    check_entry(
        Client::Codex,
        &http(Client::Codex),
        &expect![[r#"
            [mcp_servers.legation]
            url = "http://127.0.0.1:48080/mcp"
            http_headers = { Authorization = "Bearer lgn_TOKEN" }
        "#]],
    );
}

#[test]
fn vscode() {
    check_entry(
        Client::Vscode,
        &bridge(Client::Vscode),
        &expect![[r#"
            {
              "servers": {
                "legation": {
                  "type": "stdio",
                  "command": "/bin/legation",
                  "args": [
                    "bridge",
                    "--client",
                    "vscode"
                  ]
                }
              }
            }
        "#]],
    );
    check_entry(
        Client::Vscode,
        &http(Client::Vscode),
        &expect![[r#"
            {
              "servers": {
                "legation": {
                  "type": "http",
                  "url": "http://127.0.0.1:48080/mcp",
                  "headers": {
                    "Authorization": "Bearer lgn_TOKEN"
                  }
                }
              }
            }
        "#]],
    );
}

#[test]
fn jetbrains() {
    check_entry(
        Client::Jetbrains,
        &bridge(Client::Jetbrains),
        &expect![[r#"
            {
              "mcpServers": {
                "legation": {
                  "command": "/bin/legation",
                  "args": [
                    "bridge",
                    "--client",
                    "jetbrains"
                  ]
                }
              }
            }
        "#]],
    );
}

#[test]
fn opencode() {
    check_entry(
        Client::Opencode,
        &bridge(Client::Opencode),
        &expect![[r#"
            {
              "mcp": {
                "legation": {
                  "type": "local",
                  "command": [
                    "/bin/legation",
                    "bridge",
                    "--client",
                    "opencode"
                  ],
                  "enabled": true
                }
              }
            }
        "#]],
    );
    check_entry(
        Client::Opencode,
        &http(Client::Opencode),
        &expect![[r#"
            {
              "mcp": {
                "legation": {
                  "type": "remote",
                  "url": "http://127.0.0.1:48080/mcp",
                  "headers": {
                    "Authorization": "Bearer lgn_TOKEN"
                  },
                  "enabled": true
                }
              }
            }
        "#]],
    );
}

#[test]
fn gemini() {
    check_entry(
        Client::Gemini,
        &bridge(Client::Gemini),
        &expect![[r#"
            {
              "mcpServers": {
                "legation": {
                  "command": "/bin/legation",
                  "args": [
                    "bridge",
                    "--client",
                    "gemini"
                  ]
                }
              }
            }
        "#]],
    );
    check_entry(
        Client::Gemini,
        &http(Client::Gemini),
        &expect![[r#"
            {
              "mcpServers": {
                "legation": {
                  "httpUrl": "http://127.0.0.1:48080/mcp",
                  "headers": {
                    "Authorization": "Bearer lgn_TOKEN"
                  }
                }
              }
            }
        "#]],
    );
}

#[test]
fn toml_keeps_its_comments_and_what_the_user_added() {
    let before = "# mine\nmodel = \"m\" # yes\n\n[mcp_servers.legation]\n# asked too often\ndefault_tools_approval_mode = \"approve\"\ncommand = \"/old\"\n\n[mcp_servers.legation.tools.erase]\napproval_mode = \"prompt\"\n\n[mcp_servers.files]\ncommand = \"f\"\n";
    let old = entry(Client::Codex, before).expect("read");
    let new = merged(old.as_ref(), &bridge(Client::Codex));
    let after = with_entry(Client::Codex, before, Some(&new)).expect("changed");
    expect![[r#"
        # mine
        model = "m" # yes

        [mcp_servers.legation]
        # asked too often
        default_tools_approval_mode = "approve"
        command = "/bin/legation"
        args = ["bridge", "--client", "codex"]

        [mcp_servers.legation.tools.erase]
        approval_mode = "prompt"

        [mcp_servers.files]
        command = "f"
    "#]]
    .assert_eq(&after);
    let again = with_entry(Client::Codex, &after, Some(&new)).expect("changed again");
    assert_eq!(again, after);
}

#[test]
fn another_road_replaces_the_old_one_and_keeps_the_rest() {
    let old = json!({
        "command": "/bin/legation", "args": ["bridge"], "trust": true, "timeout": 9, "type": "local",
        "tools": ["a"],
    });
    let new = merged(Some(&old), &http(Client::Copilot));
    assert_eq!(
        new,
        json!({
            "type": "http", "url": "http://127.0.0.1:48080/mcp",
            "headers": {"Authorization": "Bearer lgn_TOKEN"},
            "tools": ["a"], "trust": true, "timeout": 9,
        })
    );
}

#[test]
fn a_file_that_is_not_understood_is_refused() {
    let cases = [
        (Client::Vscode, "{ // mine\n", "not JSON, not even"),
        (Client::Vscode, "{\"a\" 1}", "not JSON, not even"),
        (Client::Vscode, "[]", "does not hold an object"),
        (Client::Claude, r#"{"a": 1, "a": 2}"#, "not JSON, not even"),
        (Client::Gemini, r#"{"mcpServers": []}"#, "is not an object"),
        (Client::Codex, "mcp_servers = 1", "not a table of servers"),
        (Client::Codex, "= =", "not TOML"),
    ];
    for (client, text, wanted) in cases {
        let error = with_entry(client, text, Some(&bridge(client))).expect_err(text);
        assert!(error.to_string().contains(wanted), "{text}: {error}");
    }
}

#[test]
fn no_secret_is_in_a_diff() {
    let toml = "token = \"SECRET\"\n[mcp_servers.files]\ncommand = \"SECRET\"\nenv = { A = \"SECRET\" }\n[[profiles]]\nkey = \"SECRET\"\n";
    let json = r#"{
  // SECRET
  "apiKey": "SECRET", /* SECRET */
  "mcpServers": {"files": {"command": "SECRET", "args": ["SECRET"], "env": {"A": "SECRET"}},
    "legation": {"httpUrl": "x", "headers": {"Authorization": "Bearer SECRET"}, "env": {"B": "SECRET"}}
  },
  "list": ["SECRET", {"deep": "SECRET"}] // SECRET
}"#;
    for (client, text) in [(Client::Codex, toml), (Client::Gemini, json)] {
        for new in [bridge(client), http(client)] {
            let after = with_entry(client, text, Some(&new)).expect("changed");
            let gone = with_entry(client, &after, None).expect("taken out");
            for (from, to) in [(text, &after), (text, &gone), (&*after, &gone)] {
                let shown = diff(client, from, to);
                assert_eq!(shown.is_empty(), from == to, "{client:?}");
                assert!(!shown.contains("SECRET"), "{client:?}: {shown}");
                assert!(!shown.contains("TOKEN"), "{client:?}: {shown}");
            }
        }
    }
}
