use std::sync::Arc;

use futures_util::{FutureExt as _, StreamExt as _};
use legation_console::Since;
use legation_core::{BootId, ClientId, ServerName, SystemClock};
use serde_json::{Value, json};

use super::*;

/// What a reader is told of what was seen, as names and data.
fn told(item: Option<&str>, seen: &[Sight]) -> Vec<(String, Value)> {
    let boot = BootId::random().expect("random bytes");
    let log = Arc::new(EventLog::new(&boot, &SystemClock::shared()));
    let mut reader = log.follow(&Since::Now);
    let (client, server) = (
        ClientId::new("claude"),
        ServerName::parse("files").expect("a name"),
    );
    let call = Watched {
        call: "7.1",
        client: &client,
        server: &server,
        item,
    };
    for sight in seen {
        log.saw(&call, *sight);
    }
    let mut told = Vec::new();
    while let Some(Some(event)) = reader.next().now_or_never() {
        let data = serde_json::from_slice(&event.data()).expect("JSON");
        told.push((event.name().to_owned(), data));
    }
    told
}

#[test]
fn a_call_is_told_from_its_start_to_its_end() {
    let total = Some(4.0);
    let seen = [
        Sight::Started,
        Sight::Progress {
            progress: 1.0,
            total,
        },
        Sight::Partial(512),
        Sight::Asked(Question::Elicitation, 1),
        Sight::Answered(Question::Elicitation, 1),
        Sight::Asked(Question::Sampling, 2),
        Sight::Answered(Question::Sampling, 2),
        Sight::Asked(Question::Other, 3),
        Sight::Answered(Question::Other, 3),
        Sight::Over("ok", true),
    ];
    let asked = |number: u8| {
        json!({
            "requestId": format!("7.1-{number}"), "toolCallId": "7.1", "client": "claude",
            "mcpServerName": "files",
        })
    };
    let called = json!({
        "toolCallId": "7.1", "client": "claude", "mcpServerName": "files", "mcpToolName": "read",
    });
    let expected = [
        ("tool.execution_start", called),
        (
            "tool.execution_progress",
            json!({"toolCallId": "7.1", "progress": 1.0, "total": 4.0}),
        ),
        (
            "tool.execution_partial_result",
            json!({"toolCallId": "7.1", "bytes": 512}),
        ),
        ("elicitation.requested", asked(1)),
        ("elicitation.completed", asked(1)),
        ("sampling.requested", asked(2)),
        ("sampling.completed", asked(2)),
        (
            "tool.execution_complete",
            json!({"toolCallId": "7.1", "success": true, "status": "ok"}),
        ),
    ];
    let expected = expected.map(|(name, data)| (name.to_owned(), data));
    assert_eq!(told(Some("read"), &seen), expected);
}

#[test]
fn what_is_read_is_not_named() {
    let seen = [
        Sight::Started,
        Sight::Progress {
            progress: 1.0,
            total: None,
        },
        Sight::Partial(512),
        Sight::Over("ok", true),
    ];
    assert_eq!(told(None, &seen), []);
}
