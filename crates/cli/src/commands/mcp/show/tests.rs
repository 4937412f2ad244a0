use expect_test::expect;

use super::*;
use crate::commands::mcp::sample::server;

#[test]
fn one_server_in_full() {
    let answer = ShowAnswer {
        server: server(),
        log: vec!["boom".into()],
    };
    expect![[r#"
        name        files
        status      failed
        reason      it ended: \u{1b}[2Jboom
        transport   stdio npx server
        instance    shared (1 running)
        source      user (/home/me/.legation/mcp.json)
        offers      3 tools, 4 resources, 5 templates, 6 prompts, 2 skills
        calls       1 under way
        restarts    2
        title       My files
        headers by  ./token.sh
        revision    2025-11-25
        process     7
        sandbox     reaches api.example.com:443; reads /srv/data; changes /srv/out; 512 MiB for each process; at most 64 processes and threads
        says it is  {"name":"s"}
        warning     slow

        end of its log:
          boom
    "#]]
    .assert_eq(&render(&answer));
}
