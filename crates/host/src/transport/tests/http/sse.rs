//! Servers of the older transport, HTTP with SSE.

use super::*;

/// Such a server. `endpoint` is what its first event says, `tool` plays its tools;
/// answers go on the stream that was opened.
fn sse(endpoint: &'static str, tool: fn(&Seen, &mut Reply<'_>)) -> Server {
    Server::start(move |seen, reply| {
        let path = seen.path.split('?').next().unwrap_or_default();
        match (seen.verb.as_str(), path, seen.method()) {
            ("GET", "/mcp", _) => {
                assert_eq!(seen.header("accept"), Some("text/event-stream"));
                assert_eq!(seen.header("x-key"), Some("hush"));
                reply.stream();
                reply.comment();
                reply.keep();
                reply.raw(&format!("event: endpoint\ndata: {endpoint}\n\n"));
                reply.wait_for_close();
            }
            ("POST", "/messages", "initialize") => {
                reply.text(202, "text/plain", "Accepted");
                say(
                    reply,
                    &json!({"jsonrpc": "2.0", "id": seen.body["id"], "result": {
                        "protocolVersion": "2024-11-05", "capabilities": {"tools": {"listChanged": true}},
                    }}),
                );
            }
            ("POST", "/messages", "tools/call") => tool(seen, reply),
            ("POST", "/messages", _) => reply.text(202, "", ""),
            // Streamable HTTP is not known here.
            _ => reply.text(405, "text/plain", "Method Not Allowed"),
        }
    })
}

fn say(reply: &Reply<'_>, message: &serde_json::Value) {
    reply.tell(&format!("event: message\ndata: {message}\n\n"));
}

fn echo(seen: &Seen, reply: &mut Reply<'_>) {
    reply.text(202, "text/plain", "Accepted");
    say(reply, &done(seen));
}

fn older(server: &Server) -> StartSpec {
    let mut spec = spec(server, EraChoice::Auto);
    if let TransportSpec::Http(http) = spec.transport.clone() {
        spec.transport = TransportSpec::Sse(http);
    }
    spec
}

#[test]
fn answers_come_on_the_one_stream() {
    run(async {
        for endpoint in ["/messages?session=1", "messages?session=1"] {
            let server = sse(endpoint, |seen, reply| {
                say(
                    reply,
                    &json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}),
                );
                // An event of no known type, and one without a type.
                reply.tell("event: ping\ndata: {}\n\n");
                reply.text(202, "text/plain", "Accepted");
                reply.tell(&format!("data: {}\n\n", done(seen)));
            });
            let mut started = Connection::start(older(&server))
                .await
                .expect("it connects");
            assert_eq!(started.ready.revision, Revision::V2024_11_05);
            let calls = (0..20).map(|n| {
                let connection = started.connection.clone();
                async move {
                    let arguments = format!(r#"{{"n":{n}}}"#);
                    let result = result(&connection, "any", &arguments).await;
                    assert_eq!(result.get("echo").expect("echo").as_text(), arguments);
                }
            });
            futures_util::future::join_all(calls).await;
            let changed = Event::ListChanged(ListKind::Tools);
            assert_eq!(started.events.recv().await, Some(changed));
            let posts = server.seen().into_iter().filter(|seen| seen.verb == "POST");
            let methods: Vec<String> = posts
                .inspect(|seen| {
                    assert_eq!(seen.header("x-key"), Some("hush"));
                    assert_eq!(seen.header("mcp-session-id"), None);
                    assert_eq!(seen.path, "/messages?session=1");
                })
                .map(|seen| seen.method().to_owned())
                .take(2)
                .collect();
            assert_eq!(methods, ["initialize", "notifications/initialized"]);
            started.connection.stop().await;
            until("the stream is closed", || server.closes() == 1).await;
        }
    });
}

#[test]
fn a_server_that_knows_no_other_transport_is_found_out() {
    run(async {
        let server = sse("/messages", echo);
        let started = start(&server).await;
        assert_eq!(started.ready.revision, Revision::V2024_11_05);
        result(&started.connection, "any", "{}").await;
        // One that is neither says what the newer transport was answered.
        let neither = Server::start(|_, reply| reply.text(404, "text/plain", "nothing"));
        let error = Connection::start(spec(&neither, EraChoice::Auto)).await;
        let Err(StartError::Handshake { source, .. }) = error else {
            panic!("{error:?}");
        };
        assert!(source.to_string().contains("404"), "{source}");
        // And nothing is tried where the owner said which era it is.
        let error = Connection::start(spec(&server, EraChoice::Modern)).await;
        assert!(
            matches!(error, Err(StartError::Handshake { .. })),
            "{error:?}"
        );
    });
}

#[test]
fn messages_go_to_the_servers_own_origin_and_nowhere_else() {
    run(async {
        for (endpoint, expected) in [
            ("http://evil.example.com/messages?t=hush", "another origin"),
            ("//evil.example.com/messages", "another origin"),
            ("https://127.0.0.1/messages", "another origin"),
            ("javascript://x/", "does not say where"),
            ("http://user:hush@127.0.0.1/messages", "does not say where"),
        ] {
            let server = sse(endpoint, echo);
            let error = Connection::start(older(&server)).await.expect_err(endpoint);
            let shown = legation_core::error::chain(&error);
            assert!(
                shown.contains(expected) && !shown.contains("hush"),
                "{shown}"
            );
            let posted = server.seen().iter().any(|seen| seen.verb == "POST");
            assert!(!posted, "{endpoint}");
        }
    });
}

#[test]
fn what_is_no_event_stream_is_said_so() {
    run(async {
        for (status, kind, body, expected) in [
            (500, "text/plain", "oops", "HTTP status 500"),
            (
                200,
                "application/json",
                "{}",
                "where an event stream was expected",
            ),
            (200, "text/html", "<h1>hello</h1>", "content type"),
        ] {
            let server = Server::start(move |_, reply| reply.text(status, kind, body));
            let error = Connection::start(older(&server)).await.expect_err(kind);
            let shown = legation_core::error::chain(&error);
            assert!(shown.contains(expected), "{shown}");
        }
        let silent = Server::start(|_, reply| {
            reply.stream();
            for _ in 0..100 {
                reply.raw("event: noise\ndata: x\n\n");
            }
            reply.end();
        });
        let error = Connection::start(older(&silent))
            .await
            .expect_err("no endpoint");
        let shown = legation_core::error::chain(&error);
        assert!(shown.contains("does not say where"), "{shown}");
        let closed = Server::start(|_, reply| {
            reply.header("WWW-Authenticate", "Bearer resource_metadata=\"x\"");
            reply.text(401, "", "");
        });
        let error = Connection::start(older(&closed)).await;
        assert!(
            matches!(error, Err(StartError::NeedsAuth { status: 401, .. })),
            "{error:?}"
        );
    });
}

#[test]
fn the_end_of_the_stream_is_the_end_of_the_session() {
    run(async {
        let server = sse("/messages", |seen, reply| {
            reply.text(202, "", "");
            match seen.tool() {
                "end" => reply.end_kept(),
                _ => say(reply, &done(seen)),
            }
        });
        let mut started = Connection::start(older(&server))
            .await
            .expect("it connects");
        result(&started.connection, "any", "{}").await;
        let why = "the server ended its event stream";
        // It may have been made: nobody can tell.
        assert_eq!(
            only_end(&started, "end").await,
            CallEvent::Lost(why.to_owned())
        );
        let event = started.events.recv().await;
        assert_eq!(event, Some(Event::Closed(why.to_owned())));
        let posts = server
            .seen()
            .into_iter()
            .filter(|seen| seen.tool() == "end");
        assert_eq!(posts.count(), 1, "nothing is posted twice");
        started.connection.stop().await;
    });
}

#[test]
fn a_session_that_the_server_forgot_is_told_from_other_refusals() {
    run(async {
        let server = sse("/messages", |seen, reply| match seen.tool() {
            "forgotten" => reply.text(404, "text/plain", "Could not find session"),
            "refused" => reply.text(503, "text/plain", "busy"),
            "closed" => reply.text(401, "", ""),
            _ => echo(seen, reply),
        });
        let mut started = Connection::start(older(&server))
            .await
            .expect("it connects");
        let end = only_end(&started, "refused").await;
        let CallEvent::Done(Err(error)) = end else {
            panic!("{end:?}");
        };
        assert!(error.message.contains("503"), "{error:?}");
        let end = only_end(&started, "closed").await;
        assert!(
            matches!(end, CallEvent::NeedsAuth { status: 401, .. }),
            "{end:?}"
        );
        result(&started.connection, "any", "{}").await;
        let why = "the server has forgotten the session";
        let end = only_end(&started, "forgotten").await;
        assert_eq!(end, CallEvent::NotMade(why.to_owned()));
        let event = started.events.recv().await;
        assert_eq!(event, Some(Event::Closed(why.to_owned())));
    });
}

#[test]
fn an_event_without_end_ends_the_connection() {
    run(async {
        let server = sse("/messages", |_, reply| {
            reply.text(202, "", "");
            let piece = format!("data: {}\n", "x".repeat(100_000));
            for _ in 0..20 {
                reply.tell(&piece);
            }
        });
        let started = Connection::start(older(&server))
            .await
            .expect("it connects");
        let end = only_end(&started, "any").await;
        let CallEvent::Lost(why) = end else {
            panic!("{end:?}");
        };
        assert!(why.contains("larger than"), "{why}");
    });
}
