//! Servers of the hub's own that say whose data a call concerns.

use super::*;

fn naming(account: &str) -> Request {
    let mut request = request("files-account");
    let arguments = Raw::from_serialize(&serde_json::json!({ "account": account }));
    request.params.set("arguments", arguments);
    request
}

#[test]
fn a_call_is_decided_as_of_the_entity_it_concerns() {
    for (account, rule) in [
        ("personal", None),
        ("meadow", Some("boundary.")),
        ("nobody", Some("resolve.no_account")),
    ] {
        let bench = bench(personal());
        let ended = run(bench.gate.call(&context("claude"), naming(account)));
        let calls = bench.servers.calls.load(Ordering::Relaxed);
        match rule {
            None => {
                assert!(ended.is_ok(), "{account}: {ended:?}");
                assert_eq!((calls, bench.recorded().len()), (1, 2), "{account}");
            }
            Some(rule) => {
                let refusal = ended.expect_err("it is refused");
                assert!(refusal.rule().starts_with(rule), "{}", refusal.rule());
                // A model is told, and can name another.
                assert!(refusal.to_tool_result().is_some(), "{account}");
                assert_eq!((calls, bench.recorded().len()), (0, 1), "{account}");
            }
        }
    }
}

#[test]
fn nobody_elses_servers_are_asked() {
    // The server panics when it is asked about another.
    let bench = bench(personal());
    let mut request = request("files-read");
    let arguments = Raw::from_serialize(&serde_json::json!({ "account": "nobody" }));
    request.params.set("arguments", arguments);
    run(bench.gate.call(&context("claude"), request)).expect("it is called");
}
