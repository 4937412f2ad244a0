//! What needs no credential because it tells nothing of anybody.

use std::fmt::Write as _;

use http::{StatusCode, header};
use legation_events::Events;
use legation_wire::json::{Object, Raw};

use super::reply::{self, Reply};
use crate::shared::Shared;

/// `/healthz`.
pub(super) fn health(shared: &Shared) -> Reply {
    let body = Object::new()
        .with("status", Raw::from_static(r#""ok""#))
        .with("version", Raw::str(&shared.version));
    reply::json(StatusCode::OK, body.to_raw().as_bytes().clone())
}

/// What the front is for an authorization server (RFC 9728, section 3.2). Pages of other
/// origins may read it: programs in a browser sign in as well.
pub(super) fn resource(shared: &Shared) -> Reply {
    let resource = shared.settings.resource.as_ref();
    let document = resource.map(|resource| resource.document.clone());
    reply::json(StatusCode::OK, document.unwrap_or_default())
        .with(header::ACCESS_CONTROL_ALLOW_ORIGIN, "*")
}

/// `/metrics`, in the text format of Prometheus 0.0.4.
pub(super) fn metrics(shared: &Shared) -> Reply {
    let rows = [
        (
            "legation_calls_total",
            "counter",
            "Calls of clients.",
            shared.counted(|counters| &counters.calls),
        ),
        (
            "legation_call_failures_total",
            "counter",
            "Calls that no server answered.",
            shared.counted(|counters| &counters.failures),
        ),
        (
            "legation_refusals_total",
            "counter",
            "Calls the gate refused.",
            shared.counted(|counters| &counters.refusals),
        ),
        (
            "legation_http_rejected_total",
            "counter",
            "Requests refused by their head.",
            shared.counted(|counters| &counters.rejected),
        ),
        (
            "legation_http_connections",
            "gauge",
            "Open HTTP connections.",
            shared.counted(|counters| &counters.connections),
        ),
        (
            "legation_http_connections_refused_total",
            "counter",
            "Connections closed on arrival.",
            shared.counted(|counters| &counters.connections_refused),
        ),
        (
            "legation_socket_connections",
            "gauge",
            "Open connections on the Unix socket.",
            shared.counted(|counters| &counters.sockets),
        ),
        (
            "legation_sessions",
            "gauge",
            "Open handshake sessions over HTTP.",
            shared.sessions.len() as u64,
        ),
        (
            "legation_waiting_rounds",
            "gauge",
            "Answers that wait for a client's input.",
            shared.parking.len() as u64,
        ),
        (
            "legation_listeners",
            "gauge",
            "Streams on which clients hear of changes.",
            shared.watchers.len() as u64,
        ),
        (
            "legation_calls_in_flight",
            "gauge",
            "Calls on their way now.",
            shared.counted(|counters| &counters.in_flight),
        ),
    ];
    let mut body = String::new();
    for (name, kind, help, value) in rows.into_iter().chain(events(shared)) {
        // Writing to a string cannot fail.
        let _: std::fmt::Result = writeln!(
            body,
            "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}"
        );
    }
    body.push_str(&shared.admin.metrics());
    reply::text(body, "text/plain; version=0.0.4")
}

/// What there is to say of the events extension, where it is offered.
fn events(shared: &Shared) -> Vec<(&'static str, &'static str, &'static str, u64)> {
    let Some(counts) = shared.events.as_ref().map(Events::counts) else {
        return Vec::new();
    };
    vec![
        (
            "legation_event_streams",
            "gauge",
            "Open streams of events.",
            counts.streams,
        ),
        (
            "legation_event_subscriptions",
            "gauge",
            "Subscriptions of webhooks.",
            counts.subscriptions,
        ),
        (
            "legation_events_polls_total",
            "counter",
            "Polls of events that were answered.",
            counts.polls,
        ),
        (
            "legation_events_told_total",
            "counter",
            "Events told by polls and streams.",
            counts.told,
        ),
        (
            "legation_events_delivered_total",
            "counter",
            "Events that a webhook took.",
            counts.delivered,
        ),
        (
            "legation_events_given_up_total",
            "counter",
            "Events that no webhook took in time.",
            counts.given_up,
        ),
    ]
}
