use serde_json::json;

use super::quantile;
use super::surface::Surface;

#[test]
fn quantiles_are_measured_numbers() {
    let numbers: Vec<f64> = (1..=200).rev().map(f64::from).collect();
    for (share, expected) in [(0.0, 1.0), (0.5, 100.0), (0.99, 198.0), (1.0, 200.0)] {
        assert_eq!(quantile(&numbers, share), expected, "{share}");
    }
    assert_eq!(quantile(&[3.0, 1.0, 2.0], 0.5), 2.0);
    assert_eq!(quantile(&[], 0.99), 0.0);
}

#[test]
fn each_surface_is_told_by_its_own_lines_only() {
    let notification = |method: &str, params| json!({ "method": method, "params": params });
    let pulled = json!({ "messages": [{ "id": "m1" }, { "id": "m2" }] });
    let updated = notification(
        "notifications/resources/updated",
        json!({ "uri": "legation://inbox" }),
    );
    let logged = notification("notifications/message", json!({ "data": { "id": "m1" } }));
    let said = json!({ "meta": { "message_id": "m1" } });
    let said = notification("notifications/claude/channel", said);
    let event = notification(
        "notifications/events/event",
        json!({ "data": { "id": "m1" } }),
    );
    let lines = [
        (
            json!({ "id": 7, "result": { "structuredContent": pulled } }),
            vec!["m1", "m2"],
        ),
        (updated, vec!["legation://inbox"]),
        (logged, vec!["m1"]),
        (said, vec!["m1"]),
        (event, vec!["m1"]),
        (json!({ "id": "m1", "seq": 1 }), vec!["m1"]),
    ];
    let line_of = |surface: Surface| match surface {
        Surface::Pull | Surface::Wait => 0,
        Surface::Subscribed | Surface::Listening => 1,
        Surface::Logged => 2,
        Surface::Channel => 3,
        Surface::Events => 4,
        Surface::Watch | Surface::Follow => 5,
    };
    for surface in Surface::ALL {
        for (number, (line, ids)) in lines.iter().enumerate() {
            let expected = if number == line_of(surface) {
                &ids[..]
            } else {
                &[]
            };
            assert_eq!(surface.told(line), expected, "{surface:?}: {line}");
        }
    }
    for other in [
        notification(
            "notifications/resources/updated",
            json!({ "uri": "legation://inbox/m1" }),
        ),
        notification("notifications/events/heartbeat", json!({})),
        json!({ "id": 8, "result": {} }),
    ] {
        for surface in Surface::ALL {
            assert!(surface.told(&other).is_empty(), "{surface:?}: {other}");
        }
    }
}
