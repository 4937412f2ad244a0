use expect_test::expect;

use super::*;

#[test]
fn how_a_hub_is() {
    let answer = StatusAnswer {
        version: "0.1.0".into(),
        boot: "b".into(),
        pid: 7,
        home: "/home/me/.legation".into(),
        listen: Some("http://127.0.0.1:48080".into()),
        no_auth: true,
        uptime_ms: 61_500,
        servers: 3,
        connected: 2,
        rules: "4 rules".into(),
        problems: vec!["clients.json\u{7} cannot be used".into()],
    };
    expect![[r#"
        hub 0.1.0 (process 7) has been running for 61 s
        home     /home/me/.legation
        http     http://127.0.0.1:48080 WITHOUT credentials (--no-auth)
        servers  2 of 3 connected
        rules    4 rules
        problem  clients.json\u{7} cannot be used
    "#]]
    .assert_eq(&describe(&Shown {
        answer,
        inbox: None,
    }));
}
