use expect_test::expect;
use serde_json::json;

use super::*;

#[test]
fn an_entry_goes_in_and_out_and_leaves_the_rest_alone() {
    let before = "{\n\t\"theme\": \"dark\",\n\t\"mcpServers\": {\n\t\t\"files\": {\"command\": \"f\"}\n\t}\n}\n";
    let entry = json!({"command": "/bin/legation", "args": ["bridge"]});
    let (after, old) = with_entry(Client::Claude, before, Some(&entry)).expect("changed");
    assert_eq!(old, None);
    expect![[r#"
        {
        	"theme": "dark",
        	"mcpServers": {
        		"files": {
        			"command": "f"
        		},
        		"legation": {
        			"command": "/bin/legation",
        			"args": [
        				"bridge"
        			]
        		}
        	}
        }
    "#]]
    .assert_eq(&after);
    let (restored, old) = with_entry(Client::Claude, &after, None).expect("changed back");
    assert_eq!(old, Some(entry));
    assert_eq!(
        serde_json::from_str::<Value>(&restored).expect("JSON"),
        serde_json::from_str::<Value>(before).expect("JSON")
    );
}

#[test]
fn toml_keeps_its_comments() {
    let before = "# mine\nmodel = \"m\" # yes\n\n[mcp_servers.files]\ncommand = \"f\"\n";
    let entry = json!({"command": "/bin/legation", "args": ["bridge", "--client", "codex"]});
    let (after, _) = with_entry(Client::Codex, before, Some(&entry)).expect("changed");
    expect![[r#"
        # mine
        model = "m" # yes

        [mcp_servers.files]
        command = "f"

        [mcp_servers.legation]
        command = "/bin/legation"
        args = ["bridge", "--client", "codex"]
    "#]]
    .assert_eq(&after);
    let (restored, old) = with_entry(Client::Codex, &after, None).expect("changed back");
    assert_eq!((restored.as_str(), old), (before, Some(entry)));
}

#[test]
fn an_empty_file_becomes_one_with_the_entry_alone() {
    for client in Client::ALL {
        let road = super::super::client::Road::Bridge {
            command: "/bin/legation".into(),
            args: vec!["bridge".into()],
        };
        let (text, _) = with_entry(client, "", Some(&client.entry(&road))).expect("made");
        let (empty, old) = with_entry(client, &text, None).expect("emptied");
        assert_eq!(old, Some(client.entry(&road)), "{client:?}");
        assert!(matches!(empty.trim(), "" | "{}"), "{client:?}: {empty}");
    }
}

#[test]
fn a_file_that_is_not_understood_is_refused() {
    let cases = [
        (Client::Vscode, "{ // mine\n}"),
        (Client::Gemini, r#"{"mcpServers": []}"#),
        (Client::Codex, "mcp_servers = 1"),
        (Client::Codex, "= ="),
    ];
    for (client, text) in cases {
        assert!(with_entry(client, text, None).is_err(), "{client:?} {text}");
    }
}
