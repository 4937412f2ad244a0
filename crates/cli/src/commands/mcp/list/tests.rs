use expect_test::expect;

use super::*;
use crate::commands::mcp::sample::server;

#[test]
fn a_table_then_what_is_wrong() {
    let answer = ListAnswer {
        servers: vec![server()],
        problems: vec![Problem {
            source: "/w/.mcp.json".into(),
            server: Some("x".into()),
            message: "you have not agreed to run it".into(),
            hint: "legation trust /w".into(),
        }],
    };
    expect![[r#"
        NAME   STATUS  TOOLS  RESOURCES  PROMPTS  REVISION    SOURCE
        files  failed  3      9          6        2025-11-25  user (/home/me/.legation/mcp.json)

        files: it ended: \u{1b}[2Jboom
          hint: `legation mcp show files` shows the end of its log

        /w/.mcp.json (x): you have not agreed to run it
          hint: legation trust /w
    "#]]
    .assert_eq(&render(&answer));
    let none = ListAnswer::default();
    assert_eq!(
        render(&none),
        "no servers; add one with `legation mcp add`\n"
    );
}

#[test]
fn names_in_a_foreign_file_write_nothing_to_the_terminal() {
    let answer = ListAnswer {
        servers: Vec::new(),
        problems: vec![Problem {
            source: "/w\u{1b}[1A/.mcp.json".into(),
            server: Some("x\u{1b}[2K\u{202e}".into()),
            message: "no".into(),
            hint: "legation trust /w\u{1b}[1A".into(),
        }],
    };
    let text = render(&answer);
    assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text:?}");
    assert!(text.contains(r"(x\u{1b}[2K\u{202e})"), "{text:?}");
}
