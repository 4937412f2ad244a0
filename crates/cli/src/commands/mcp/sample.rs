//! What tests of several commands show.

use legation_api::mcp::{Server, Walls};

/// A server with something in every column.
pub(super) fn server() -> Server {
    Server {
        name: "files".into(),
        label: "files".into(),
        display_name: Some("My files".into()),
        status: "failed".into(),
        reason: Some("it ended: \u{1b}[2Jboom".into()),
        hint: Some("`legation mcp show files` shows the end of its log".into()),
        source: "/home/me/.legation/mcp.json".into(),
        source_kind: "user".to_owned(),
        plugin: None,
        hides: Vec::new(),
        transport: "stdio".into(),
        target: "npx server".into(),
        headers_helper: Some("./token.sh".into()),
        instance: "shared".into(),
        revision: Some("2025-11-25".into()),
        server_info: Some(serde_json::json!({"name": "s"})),
        pid: Some(7),
        instances: 1,
        calls: 1,
        restarts: 2,
        tools: 3,
        resources: 4,
        templates: 5,
        prompts: 6,
        skills: 2,
        sandbox: Some(Walls {
            network: "named".into(),
            hosts: vec!["api.example.com:443".into()],
            read: vec!["/srv/data".into()],
            write: vec!["/srv/out".into()],
            memory_bytes: Some(512 << 20),
            processes: Some(64),
            required: true,
        }),
        warnings: vec!["slow".into()],
    }
}
