use std::path::Path;

use expect_test::expect;
use legation_core::error::chain;

use super::{load, print};
use crate::Environment;
use crate::servers::{SandboxPolicy, ServerSpec, Source, read_entry};

fn walls(server: &ServerSpec, policy: SandboxPolicy) -> String {
    let environment = Environment::from_pairs([("HOME", "/home/ana"), ("DATA", "/srv/data")]);
    let hosts = ["owner.example.com".parse().expect("a host")];
    let hosts = hosts.into_iter().collect();
    match server.resolve_sandbox(policy, &hosts, &environment) {
        Err(error) => chain(&error),
        Ok(None) => "none".to_owned(),
        Ok(Some(walls)) => format!(
            "network {}{:?} read {:?} write {:?} memory {:?} processes {:?} required {}",
            walls.network.as_str(),
            walls.network.hosts(),
            walls.read,
            walls.write,
            walls.memory,
            walls.processes,
            walls.required,
        ),
    }
}

#[test]
fn an_entry_says_what_its_program_reaches() {
    let mut shown = String::new();
    for sandbox in [
        "null",
        "false",
        "true",
        r#"{"network": "all", "read": ["${DATA}", "notes"], "write": ["/srv/out"], "memory": 536870912, "processes": 64, "required": false}"#,
        r#"{"read": ["${NOWHERE}"]}"#,
        r#"{"write": [""]}"#,
        r#"{"network": ["Example.com", "*.example.org:8443", "127.0.0.1:5432"]}"#,
        r#"{"network": []}"#,
        r#"{"network": ["example.com", "https://example.com/x"]}"#,
        r#"{"network": [443]}"#,
        r#"{"network": 443}"#,
        r#"{"network": "some"}"#,
        r#"{"memory": 1}"#,
        r#"{"processes": 0}"#,
        r#"{"processes": "many"}"#,
        r#"{"required": "no"}"#,
        r#"{"reed": ["/srv"]}"#,
        r#""yes""#,
    ] {
        let loaded = load(&format!(
            r#"{{"srv": {{"command": "x", "sandbox": {sandbox}}}}}"#
        ));
        shown += &match loaded.servers.first() {
            Some(server) => format!("{}\n", walls(server, SandboxPolicy::Asked)),
            None => print(&loaded).replace("entry --additional-mcp-config: server \"srv\": ", ""),
        };
    }
    expect![[r#"
        none
        none
        network none[] read [] write [] memory None processes None required true
        network all[] read ["/srv/data", "/home/ana/notes"] write ["/srv/out"] memory Some(536870912) processes Some(64) required false
        server srv: sandbox.read[0] cannot be resolved, the server is not started: the variable NOWHERE is not set
        server srv: sandbox.write[0] is empty, the server is not started
        network named["example.com:443", "*.example.org:8443", "127.0.0.1:5432"] read [] write [] memory None processes None required true
        network none[] read [] write [] memory None processes None required true
        sandbox.network[1] is "https://example.com/x", which is more than a host and a port -> Write a host and its port, such as "api.example.com:443", "*.example.org:443" or "127.0.0.1:5432".
        sandbox.network[0] is a number, not a text -> Put it in quotes.
        sandbox.network is a number, not a text -> Put it in quotes.
        sandbox.network is "some", which is not known -> Use one of: none, all.
        sandbox.memory is 1, not a whole number of at least 16777216 -> Write a number without quotes.
        sandbox.processes is 0, not a whole number of at least 1 -> Write a number without quotes.
        sandbox.processes is "many", not a whole number of at least 1 -> Write a number without quotes.
        sandbox.required is a text, not true or false -> Write true or false.
        sandbox.reed is not known -> Use network, read, write, memory, processes and required.
        sandbox is a text, not true, false or an object -> Write true, false or an object.
    "#]]
    .assert_eq(&shown);
}

#[test]
fn a_folders_entry_widens_nothing_that_the_owner_asked_for() {
    let of_folder = Source::Workspace {
        folder: "/home/ana/project".into(),
        file: Path::new("/home/ana/project/.mcp.json").into(),
    };
    let own = Source::User {
        file: "/home/ana/.legation/mcp.json".into(),
    };
    let open = serde_json::json!({"network": "all", "read": ["/"], "memory": 33_554_432, "required": false});
    let mut shown = String::new();
    for (whose, source) in [("own", &own), ("folder", &of_folder)] {
        for (said, sandbox) in [
            ("", serde_json::Value::Null),
            ("false", false.into()),
            ("open", open.clone()),
        ] {
            for policy in [
                SandboxPolicy::Asked,
                SandboxPolicy::Workspace,
                SandboxPolicy::All,
            ] {
                let entry = serde_json::json!({"command": "x", "sandbox": sandbox});
                let (spec, problems) = read_entry("srv", &entry, source, true);
                assert_eq!(problems, []);
                let walls = walls(&spec.expect("a server"), policy);
                shown += &format!("{whose} {said:5} {:9} {walls}\n", policy.as_str());
            }
        }
    }
    expect![[r#"
        own       asked     none
        own       workspace none
        own       all       network named["owner.example.com:443"] read [] write [] memory None processes None required true
        own false asked     none
        own false workspace none
        own false all       none
        own open  asked     network all[] read ["/"] write [] memory Some(33554432) processes None required false
        own open  workspace network all[] read ["/"] write [] memory Some(33554432) processes None required false
        own open  all       network all[] read ["/"] write [] memory Some(33554432) processes None required false
        folder       asked     none
        folder       workspace network named["owner.example.com:443"] read [] write [] memory None processes None required true
        folder       all       network named["owner.example.com:443"] read [] write [] memory None processes None required true
        folder false asked     none
        folder false workspace network named["owner.example.com:443"] read [] write [] memory None processes None required true
        folder false all       network named["owner.example.com:443"] read [] write [] memory None processes None required true
        folder open  asked     network all[] read ["/"] write [] memory Some(33554432) processes None required false
        folder open  workspace network named["owner.example.com:443"] read [] write [] memory Some(33554432) processes None required true
        folder open  all       network named["owner.example.com:443"] read [] write [] memory Some(33554432) processes None required true
    "#]]
    .assert_eq(&shown);
}
