use super::*;
use crate::servers::{Loaded, additional};

fn loaded(entry: &str) -> ServerSpec {
    let file = format!(r#"{{"mcpServers": {{"one": {entry}}}}}"#);
    let Loaded { mut servers, .. } = additional(&[file], std::path::Path::new("/"));
    servers.remove(0)
}

#[test]
fn what_stands_under_a_secrets_name_or_looks_random_is_one_and_a_folder_is_none() {
    let environment =
        Environment::from_pairs([("ISSUES", "resolved-value-1"), ("HOME", "/home/x")]);
    let cases: [(&str, EnvMode, &[&str]); 9] = [
        (
            r#"{"command": "c", "env": {"API_TOKEN": "hunter2hunter"}}"#,
            EnvMode::Direct,
            &["hunter2hunter"],
        ),
        (
            r#"{"command": "c", "env": {"API_TOKEN": "$ISSUES"}}"#,
            EnvMode::Direct,
            &["resolved-value-1"],
        ),
        (
            r#"{"command": "c", "env": {"API_TOKEN": "ISSUES"}}"#,
            EnvMode::Indirect,
            &["resolved-value-1"],
        ),
        (
            r#"{"command": "c", "env": {"apikey": "hunter2hunter"}}"#,
            EnvMode::Direct,
            &["hunter2hunter"],
        ),
        (
            r#"{"command": "c", "env": {"TOKEN": "short"}}"#,
            EnvMode::Direct,
            &[],
        ),
        (
            r#"{"command": "c", "env": {"ROOT": "${HOME}/notes/of/2026", "MODE": "production", "PATHS": "all-of-them"}}"#,
            EnvMode::Direct,
            &[],
        ),
        (
            r#"{"command": "c", "env": {"THING": "a8f5f167f44f4964e6c998dee827110c"}}"#,
            EnvMode::Direct,
            &["a8f5f167f44f4964e6c998dee827110c"],
        ),
        (
            r#"{"command": "c", "env": {"DATABASE": "postgres://me:opensesame@db.example.com/x"}}"#,
            EnvMode::Direct,
            &["opensesame"],
        ),
        (
            r#"{"url": "https://example.com/mcp", "headers": {"Authorization": "Bearer abcdefghij", "X-Client": "some-client"}}"#,
            EnvMode::Direct,
            &["Bearer abcdefghij", "abcdefghij"],
        ),
    ];
    for (entry, mode, wanted) in cases {
        let found = loaded(entry).secrets(&environment, mode);
        let found: Vec<&str> = found.iter().map(Secret::reveal).collect();
        assert_eq!(found, wanted, "{entry}");
    }
}
