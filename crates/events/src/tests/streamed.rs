//! `events/stream`.

use std::sync::atomic::Ordering;

use super::kit::{Kit, frame, object, who};

#[tokio::test]
async fn a_stream_begins_with_active_and_tells_what_happens() {
    let kit = Kit::new();
    kit.messages.add("teams", None);
    let mut stream = kit.stream(r#"{"name":"message.received"}"#).await;
    assert_eq!(kit.events.counts().streams, 1);
    let (method, params) = frame(&mut stream).await;
    assert_eq!((method, &params["truncated"]), ("active", &false.into()));
    assert!(params["cursor"].is_string());
    kit.messages.add("teams", None);
    let (method, event) = frame(&mut stream).await;
    assert_eq!((method, &event["data"]["id"]), ("event", &"m2".into()));
    let (method, beat) = frame(&mut stream).await;
    assert_eq!(method, "heartbeat");
    assert!(beat["cursor"].is_string());
    drop(stream);
    assert_eq!(kit.events.counts().streams, 0);
    kit.messages.add("teams", None);
    kit.messages.add("teams", None);
    let resume = format!(
        r#"{{"name":"message.received","cursor":{}}}"#,
        event["cursor"]
    );
    let mut stream = kit.stream(&resume).await;
    assert_eq!(frame(&mut stream).await.0, "active");
    for id in ["m3", "m4"] {
        let (method, event) = frame(&mut stream).await;
        assert_eq!((method, &event["data"]["id"]), ("event", &id.into()));
    }
}

#[tokio::test]
async fn a_gap_on_the_way_is_told_with_another_active() {
    let kit = Kit::new();
    let mut stream = kit.stream(r#"{"name":"message.received"}"#).await;
    assert_eq!(frame(&mut stream).await.0, "active");
    for _ in 0..3 {
        kit.messages.add("teams", None);
    }
    kit.messages.prune(2);
    let (method, params) = frame(&mut stream).await;
    assert_eq!((method, &params["truncated"]), ("active", &true.into()));
    let (method, event) = frame(&mut stream).await;
    assert_eq!((method, &event["data"]["id"]), ("event", &"m3".into()));
}

#[tokio::test]
async fn a_stream_ends_when_the_rules_say_so() {
    let kit = Kit::new();
    for late in [false, true] {
        kit.rules.withheld.store(false, Ordering::SeqCst);
        let mut stream = kit.stream(r#"{"name":"message.received"}"#).await;
        assert_eq!(frame(&mut stream).await.0, "active");
        kit.rules.withheld.store(true, Ordering::SeqCst);
        if !late {
            kit.messages.add("teams", None);
        }
        let (method, params) = frame(&mut stream).await;
        assert_eq!(
            (method, &params["error"]["code"]),
            ("terminated", &(-32024).into())
        );
        let more = tokio::time::timeout(std::time::Duration::from_millis(400), stream.next());
        assert!(more.await.is_err(), "nothing follows");
    }
    let (who, params) = (who("codex"), object(r#"{"name":"message.received"}"#));
    let refused = kit.events.stream(&who, &params).await;
    assert!(refused.is_err(), "an error, and no stream");
}
