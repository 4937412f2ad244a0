use expect_test::expect;
use legation_api::mcp::Server;

use super::*;

/// A server with something in every column.
fn server() -> Server {
    Server {
        name: "files".into(),
        label: "files".into(),
        display_name: Some("My files".into()),
        status: "failed".into(),
        reason: Some("it ended: \u{1b}[2Jboom".into()),
        hint: Some("`legation mcp show files` shows the end of its log".into()),
        source: "/home/me/.legation/mcp.json".into(),
        transport: "stdio".into(),
        target: "npx server".into(),
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
        warnings: vec!["slow".into()],
    }
}

#[test]
fn one_server_in_full() {
    let answer = ShowAnswer {
        server: server(),
        log: vec!["boom".into()],
    };
    expect![[r#"
        name        files
        status      failed
        transport   stdio npx server
        instance    shared (1 running)
        source      /home/me/.legation/mcp.json
        offers      3 tools, 4 resources, 5 templates, 6 prompts
        calls       1 under way
        restarts    2
        title       My files
        reason      it ended: \u{1b}[2Jboom
        revision    2025-11-25
        process     7
        says it is  {"name":"s"}
        warning     slow

        end of its log:
          boom
    "#]]
    .assert_eq(&render(&answer));
}
