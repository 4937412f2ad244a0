use super::*;

fn sent(memory: &mut Memory, lines: &[&str]) {
    for line in lines {
        assert_eq!(memory.note_client(line), FromClient::Forward, "{line}");
    }
}

#[test]
fn a_restart_redoes_handshake_level_subscriptions_and_listeners() {
    let mut memory = Memory::new(false);
    sent(
        &mut memory,
        &[
            r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"debug"}}"#,
            r#"{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"a:b"}}"#,
            r#"{"jsonrpc":"2.0","id":3,"method":"resources/subscribe","params":{"uri":"c:d"}}"#,
            r#"{"jsonrpc":"2.0","id":4,"method":"resources/unsubscribe","params":{"uri":"a:b"}}"#,
            r#"{"jsonrpc":"2.0","id":"l","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true}}}"#,
            r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"x"}}"#,
        ],
    );
    for id in 0..5 {
        assert!(memory.note_hub(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)));
    }
    let lost = memory.lost();
    assert_eq!(lost.len(), 1);
    assert!(
        lost[0].starts_with(r#"{"jsonrpc":"2.0","id":5,"error":{"code":-31003,"#),
        "{lost:?}"
    );
    assert_eq!(
        memory.redo(),
        [
            r#"{"jsonrpc":"2.0","id":"legation-bridge-1","method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            r#"{"jsonrpc":"2.0","id":"legation-bridge-2","method":"logging/setLevel","params":{"level":"debug"}}"#,
            r#"{"jsonrpc":"2.0","id":"legation-bridge-3","method":"resources/subscribe","params":{"uri":"c:d"}}"#,
            r#"{"jsonrpc":"2.0","id":"l","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true}}}"#,
        ]
    );
    assert!(!memory.note_hub(r#"{"jsonrpc":"2.0","id":"legation-bridge-1","result":{}}"#));
    let ack = r#"{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"l"}}}"#;
    assert!(
        !memory.note_hub(ack),
        "the client has had its acknowledgement"
    );
    assert!(
        memory.note_hub(ack),
        "a second one is not the bridge's doing"
    );
}

#[test]
fn news_go_only_to_those_who_asked() {
    let mut memory = Memory::new(false);
    sent(
        &mut memory,
        &[
            r#"{"jsonrpc":"2.0","id":7,"method":"subscriptions/listen","params":{"notifications":{"promptsListChanged":true}}}"#,
        ],
    );
    assert_eq!(
        memory.news(),
        [
            r#"{"jsonrpc":"2.0","method":"notifications/prompts/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":7}}}"#
        ]
    );
}

#[test]
fn a_channel_never_sees_the_modern_era() {
    let mut memory = Memory::new(true);
    for _ in 0..2 {
        let FromClient::Answer(answer) =
            memory.note_client(r#"{"jsonrpc":"2.0","id":"a","method":"server/discover"}"#)
        else {
            panic!("the bridge answers itself");
        };
        assert!(
            answer.contains(r#""id":"a","error":{"code":-32601"#),
            "{answer}"
        );
    }
    assert!(memory.is_idle());
}

#[test]
fn a_cancelled_call_is_not_reported_lost() {
    let mut memory = Memory::new(false);
    sent(
        &mut memory,
        &[
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#,
            r#"{"jsonrpc":"2.0","id":"1","method":"tools/call"}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
        ],
    );
    let lost = memory.lost();
    assert_eq!(lost.len(), 1);
    assert!(
        lost[0].contains(r#""id":"1""#),
        "the string id is another call: {lost:?}"
    );
}

#[test]
fn a_handshake_nobody_answered_is_not_redone_by_the_bridge() {
    let mut memory = Memory::new(false);
    let line = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}"#;
    sent(&mut memory, &[line]);
    let answer = memory
        .unreachable(line, "no hub", "start it")
        .expect("a request");
    assert!(answer.contains("no hub"), "{answer}");
    assert!(memory.redo().is_empty());
}
