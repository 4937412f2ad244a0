//! Servers behind URLs.

mod helper;
mod server;
mod sse;

use ::http::header::{HeaderName, HeaderValue};
use legation_wire::listen::ListenFilter;
use legation_wire::upstream::ListKind;
use serde_json::json;

use self::server::{Reply, Seen, Server};
use super::*;

fn spec(server: &Server, era: EraChoice) -> StartSpec {
    StartSpec {
        link: config(era),
        transport: TransportSpec::Http(HttpSpec {
            url: server.url(),
            headers: vec![(
                HeaderName::from_static("x-key"),
                HeaderValue::from_static("hush"),
            )],
            connect_timeout: Duration::from_secs(5),
            auth: None,
            helper: None,
            reach: Reach::default(),
        }),
        max_message: 1 << 20,
        note: Arc::new(|_| {}),
    }
}

async fn start(server: &Server) -> Started {
    Connection::start(spec(server, EraChoice::Auto))
        .await
        .expect("it connects")
}

/// A server of an era whose tools are played by `tool`.
fn mcp(modern: bool, tool: fn(&Seen, &mut Reply<'_>)) -> Server {
    Server::start(move |seen, reply| {
        let id = &seen.body["id"];
        match (seen.verb.as_str(), seen.method()) {
            ("POST", "server/discover") if modern => reply.json(
                200,
                &json!({"jsonrpc": "2.0", "id": id, "result": {
                    "resultType": "complete",
                    "supportedVersions": ["2026-07-28"],
                    "capabilities": {"tools": {"listChanged": true}},
                }}),
            ),
            ("POST", "server/discover") => reply.text(400, "text/plain", "no such thing"),
            ("POST", "initialize") => {
                reply.header("Mcp-Session-Id", "s-1");
                reply.json(
                    200,
                    &json!({"jsonrpc": "2.0", "id": id, "result": {
                        "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                    }}),
                );
            }
            ("POST", "tools/call") => tool(seen, reply),
            ("POST", "subscriptions/listen") => {
                let meta = json!({"io.modelcontextprotocol/subscriptionId": id});
                reply.stream();
                reply.event("", &json!({"jsonrpc": "2.0",
                    "method": "notifications/subscriptions/acknowledged",
                    "params": {"_meta": meta, "notifications": seen.body["params"]["notifications"]}}));
                reply.event(
                    "",
                    &json!({"jsonrpc": "2.0",
                    "method": "notifications/tools/list_changed", "params": {"_meta": meta}}),
                );
                reply.end();
            }
            ("POST", _) => reply.text(202, "", ""),
            ("DELETE", _) => reply.text(200, "", ""),
            ("GET", _) if seen.header("last-event-id").is_some() => tool(seen, reply),
            _ => reply.text(405, "", ""),
        }
    })
}

fn done(seen: &Seen) -> serde_json::Value {
    json!({"jsonrpc": "2.0", "id": seen.body["id"], "result": {
        "resultType": "complete", "content": [], "echo": seen.body["params"]["arguments"],
    }})
}

fn echo(seen: &Seen, reply: &mut Reply<'_>) {
    match seen.tool() {
        "stream" => {
            reply.stream();
            reply.comment();
            reply.event_and_end(&done(seen));
        }
        _ => reply.json(200, &done(seen)),
    }
}

async fn only_end(started: &Started, tool: &str) -> CallEvent {
    let mut events = finish(started.connection.call(order(tool, "{}"))).await;
    assert_eq!(events.len(), 1, "{tool}: {events:?}");
    events.remove(0)
}

#[test]
fn the_modern_era_is_stateless_and_names_everything_in_headers() {
    run(async {
        let server = mcp(true, echo);
        let started = start(&server).await;
        assert_eq!(started.ready.revision, Revision::V2026_07_28);
        for tool in ["json", "stream", "json", "stream", "json"] {
            let result = result(&started.connection, tool, r#"{"n":1.0}"#).await;
            assert_eq!(result.get("echo").expect("echo").as_text(), r#"{"n":1.0}"#);
        }
        started.connection.stop().await;
        let seen = server.seen();
        assert_eq!(seen.len(), 6, "no good-bye, no listening stream");
        let call = seen.last().expect("a call");
        for (name, value) in [
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/call"),
            ("mcp-name", "json"),
            ("x-key", "hush"),
            ("accept", "application/json, text/event-stream"),
            ("content-type", "application/json"),
        ] {
            assert_eq!(call.header(name), Some(value), "{name}");
        }
        assert_eq!(call.header("mcp-session-id"), None);
        assert_eq!(call.header("accept-encoding"), None);
        let connections: Vec<_> = seen.iter().map(|seen| seen.connection).collect();
        assert_eq!(connections, [0; 6], "one connection, used again and again");
    });
}

#[test]
fn the_legacy_era_has_a_session_with_an_end() {
    run(async {
        let server = mcp(false, echo);
        let started = start(&server).await;
        assert_eq!(started.ready.revision, Revision::V2025_11_25);
        result(&started.connection, "json", "{}").await;
        let is_listening = || server.seen().iter().any(|seen| seen.verb == "GET");
        super::until("a listening stream", is_listening).await;
        started.connection.stop().await;
        let seen = server.seen();
        let initialize = seen.iter().position(|seen| seen.method() == "initialize");
        let after = &seen[initialize.expect("it was sent") + 1..];
        assert_eq!(
            after[0].method(),
            "notifications/initialized",
            "before any call"
        );
        assert_eq!(after.last().expect("requests").verb, "DELETE");
        for seen in after {
            assert_eq!(seen.header("mcp-session-id"), Some("s-1"), "{}", seen.verb);
            assert_eq!(seen.header("mcp-protocol-version"), Some("2025-11-25"));
            assert_eq!(seen.header("mcp-method"), None);
        }
    });
}

#[test]
fn a_question_on_a_calls_stream_is_that_calls() {
    run(async {
        let server = mcp(false, |seen, reply| {
            reply.stream();
            reply.event(
                "",
                &json!({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create",
                "params": {"message": "sure?", "requestedSchema": {"type": "object"}}}),
            );
            let answer = reply.wait_for(|seen| seen.body["id"] == "q");
            let mut done = done(seen);
            done["result"]["answer"] = answer.body["result"].clone();
            reply.event("", &done);
            reply.end();
        });
        let started = start(&server).await;
        let mut call = started.connection.call(order("ask", "{}"));
        let CallEvent::Ask { key, .. } = call.next().await else {
            panic!("no question");
        };
        started
            .connection
            .answer(key, Ok(raw(r#"{"action":"decline"}"#)));
        let Some(CallEvent::Done(Ok(result))) = finish(call).await.pop() else {
            panic!("no result");
        };
        let answer = result.get("answer").expect("an answer");
        assert_eq!(answer.as_text(), r#"{"action":"decline"}"#);
    });
}

#[test]
fn dropping_a_call_cancels_it_as_its_era_does() {
    run(async {
        for modern in [true, false] {
            let server = mcp(modern, |seen, reply| match seen.tool() {
                "never" => {
                    reply.stream();
                    reply.event(
                        "",
                        &json!({"jsonrpc": "2.0", "method": "notifications/message",
                        "params": {"level": "info", "data": "working"}}),
                    );
                    reply.wait_for_close();
                }
                _ => reply.json(200, &done(seen)),
            });
            let started = start(&server).await;
            let mut order = order("never", "{}");
            order.request.log_level = Some("info".into());
            let mut call = started.connection.call(order);
            assert!(matches!(call.next().await, CallEvent::Log(_)));
            drop(call);
            until("the stream is closed", || server.closes() == 1).await;
            result(&started.connection, "json", "{}").await;
            if !modern {
                until("the server is told", || {
                    server
                        .seen()
                        .iter()
                        .any(|seen| seen.method() == "notifications/cancelled")
                })
                .await;
            }
        }
    });
}

#[test]
fn an_interrupted_legacy_stream_is_resumed() {
    run(async {
        let server = mcp(false, |seen, reply| {
            if seen.verb == "GET" {
                assert_eq!(seen.header("last-event-id"), Some("e-7"));
                let call = reply.earlier(|seen| seen.method() == "tools/call");
                reply.stream();
                reply.event("e-8", &done(&call));
            } else {
                reply.stream();
                reply.raw("id: e-7\nretry: 10\ndata: \n\n");
            }
            reply.end();
        });
        let started = start(&server).await;
        let end = only_end(&started, "interrupted").await;
        assert!(matches!(end, CallEvent::Done(Ok(_))), "{end:?}");
    });
}

#[test]
fn a_forgotten_session_closes_the_connection() {
    run(async {
        for (status, text) in [
            (404, "gone"),
            (
                400,
                r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"No valid session ID"}}"#,
            ),
        ] {
            let server = match status {
                404 => mcp(false, |_, reply| reply.text(404, "text/plain", "gone")),
                _ => mcp(false, |_, reply| {
                    reply.text(400, "application/json", r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"No valid session ID"}}"#)
                }),
            };
            let mut started = start(&server).await;
            let end = only_end(&started, "any").await;
            let why = "the server has forgotten the session";
            assert_eq!(end, CallEvent::NotMade(why.to_owned()), "{text}");
            let event = started.events.recv().await;
            assert_eq!(event, Some(Event::Closed(why.to_owned())));
            assert_eq!(started.events.recv().await, None);
        }
    });
}

#[test]
fn a_sign_in_is_asked_for_at_the_start_and_later() {
    run(async {
        let closed = Server::start(|_, reply| {
            reply.header("WWW-Authenticate", "Bearer resource_metadata=\"x\"");
            reply.text(401, "", "");
        });
        let error = Connection::start(spec(&closed, EraChoice::Auto)).await;
        let Err(StartError::NeedsAuth { status, challenge }) = error else {
            panic!("{error:?}");
        };
        assert_eq!(status, 401);
        assert_eq!(challenge.as_deref(), Some("Bearer resource_metadata=\"x\""));
        let later = mcp(true, |_, reply| reply.text(403, "", ""));
        let started = start(&later).await;
        let end = only_end(&started, "any").await;
        assert!(
            matches!(end, CallEvent::NeedsAuth { status: 403, .. }),
            "{end:?}"
        );
    });
}

/// Misbehaviour by tool name; the answer that the caller gets is below.
fn hostile(seen: &Seen, reply: &mut Reply<'_>) {
    match seen.tool() {
        "zipped" => {
            reply.header("Content-Encoding", "gzip");
            reply.text(200, "application/json", "\u{1f}");
        }
        "page" => reply.text(200, "text/html", "<html>hello</html>"),
        "huge" => reply.text(200, "application/json", &" ".repeat((1 << 20) + 1)),
        "huge-event" => {
            reply.stream();
            reply.raw("data: ");
            for _ in 0..32 {
                reply.raw(&"x".repeat(64 * 1024));
            }
            reply.wait_for_close();
        }
        "elsewhere" => {
            reply.header("Location", "http://127.0.0.2:1/steal?x=1");
            reply.text(307, "", "");
        }
        "circle" => {
            reply.header("Location", "/mcp");
            reply.text(308, "", "");
        }
        "stranger" => {
            let mut other = done(seen);
            other["id"] = json!(4711);
            reply.json(200, &other);
        }
        "silent" => {
            reply.stream();
            reply.end();
        }
        "cut" => {
            reply.cut("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"js");
        }
        "no-http" => reply.cut("SSH-2.0-OpenSSH_9.6\r\n"),
        "broken-json" => reply.text(200, "application/json", "{\"jsonrpc\": "),
        "accepted" => reply.text(202, "", ""),
        "error" => reply.json(
            400,
            &json!({"jsonrpc": "2.0", "id": seen.body["id"], "error": {"code": -32020, "message": "mismatch"}}),
        ),
        "busy" => reply.text(503, "text/plain", "later"),
        _ => reply.json(200, &done(seen)),
    }
}

#[test]
fn hostile_answers_fail_their_call_and_nothing_else() {
    run(async {
        let server = mcp(true, hostile);
        let started = start(&server).await;
        for (tool, text) in [
            ("zipped", "Content-Encoding"),
            ("page", "content type \"text/html\""),
            ("huge", "larger than the 1048576 bytes"),
            ("huge-event", "larger than the 1048576 bytes"),
            ("elsewhere", "redirects to http://127.0.0.2:1/steal,"),
            ("circle", "cannot be followed"),
            ("stranger", "different request"),
            ("silent", "ended without an answer"),
            ("cut", "connection broke"),
            ("no-http", "connection broke"),
            ("broken-json", "different request"),
            ("accepted", "without an answer"),
            ("error", "mismatch"),
            ("busy", "HTTP status 503"),
        ] {
            let end = only_end(&started, tool).await;
            let CallEvent::Done(Err(error)) = end else {
                panic!("{tool}: {end:?}");
            };
            assert!(error.message.contains(text), "{tool}: {}", error.message);
            result(&started.connection, "fine", "{}").await;
        }
    });
}

#[test]
fn a_redirect_within_the_origin_is_followed() {
    run(async {
        let server = mcp(true, |seen, reply| {
            if seen.path == "/mcp/" {
                reply.json(200, &done(seen));
            } else {
                reply.header("Location", "/mcp/");
                reply.text(307, "", "");
            }
        });
        let started = start(&server).await;
        result(&started.connection, "any", "{}").await;
    });
}

#[test]
fn a_connection_closed_while_idle_is_replaced() {
    run(async {
        let server = mcp(true, |seen, reply| {
            reply.json(200, &done(seen));
            reply.hang_up();
        });
        let started = start(&server).await;
        for n in 1..=20 {
            result(&started.connection, "any", "{}").await;
            until("the server has hung up", || server.hang_ups() == n).await;
        }
    });
}

#[test]
fn a_subscription_is_kept_up() {
    run(async {
        let server = mcp(true, echo);
        let mut started = start(&server).await;
        let wish = ListenFilter {
            tools: true,
            ..ListenFilter::default()
        };
        started.connection.listen(wish.clone());
        // The server ends the stream after one change; it is asked again.
        for _ in 0..2 {
            for expected in [
                Event::ListenAcknowledged(wish.clone()),
                Event::ListChanged(ListKind::Tools),
                Event::ListenEnded(None),
            ] {
                assert_eq!(started.events.recv().await, Some(expected));
            }
        }
    });
}

#[test]
fn who_cannot_be_reached_is_named() {
    run(async {
        let server = mcp(true, echo);
        let mut nobody = spec(&server, EraChoice::Auto);
        for (url, text) in [
            (
                "http://127.0.0.1:1/mcp?token=hush",
                "no connection to http://127.0.0.1:1",
            ),
            ("ftp://x/", "neither http nor https"),
            ("http://user:pass@x/", "use an Authorization header"),
            ("nonsense", "neither http nor https"),
        ] {
            if let TransportSpec::Http(http) = &mut nobody.transport {
                http.url = url.to_owned();
            }
            let error = Connection::start(nobody.clone()).await.expect_err("nobody");
            let shown = legation_core::error::chain(&error);
            assert!(shown.contains(text) && !shown.contains("hush"), "{shown}");
            assert!(!format!("{nobody:?}").contains("hush"));
        }
    });
}

#[test]
fn a_server_that_goes_away_closes_the_connection() {
    run(async {
        let server = mcp(true, |seen, reply| match seen.tool() {
            "last" => {
                reply.json(200, &done(seen));
                reply.close_port();
            }
            _ => reply.json(200, &done(seen)),
        });
        let mut started = start(&server).await;
        result(&started.connection, "last", "{}").await;
        until("the port and the connection are closed", || {
            server.is_closed() && server.hang_ups() == 1
        })
        .await;
        let end = only_end(&started, "any").await;
        assert!(matches!(end, CallEvent::Lost(_)), "{end:?}");
        let event = started.events.recv().await;
        assert!(matches!(event, Some(Event::Closed(_))), "{event:?}");
    });
}

#[test]
fn a_page_in_answer_to_the_probe_means_the_older_era() {
    run(async {
        let server = Server::start(|seen, reply| match seen.method() {
            "server/discover" => reply.text(200, "text/html", "<h1>It works!</h1>"),
            "initialize" => {
                reply.stream();
                reply.event(
                    "",
                    &json!({"jsonrpc": "2.0", "id": seen.body["id"], "result": {
                        "protocolVersion": "2025-03-26", "capabilities": {},
                    }}),
                );
                reply.end();
            }
            _ => reply.text(202, "", ""),
        });
        let started = start(&server).await;
        assert_eq!(started.ready.revision, Revision::V2025_03_26);
        let nothing = Server::start(|_, reply| reply.text(202, "", ""));
        let error = Connection::start(spec(&nothing, EraChoice::Auto)).await;
        assert!(
            matches!(error, Err(StartError::Handshake { .. })),
            "{error:?}"
        );
    });
}

#[test]
fn the_legacy_listening_stream_is_kept_open_and_resumed() {
    run(async {
        let server = Server::start(|seen, reply| match (seen.verb.as_str(), seen.method()) {
            (_, "initialize") => reply.json(
                200,
                &json!({"jsonrpc": "2.0", "id": seen.body["id"], "result": {
                    "protocolVersion": "2025-06-18", "capabilities": {},
                }}),
            ),
            ("GET", _) => {
                let list = match seen.header("last-event-id") {
                    None => "tools",
                    Some("1") => "prompts",
                    Some(other) => panic!("{other}"),
                };
                reply.stream();
                reply.raw("retry: 5\n\n");
                reply.event(
                    "1",
                    &json!({"jsonrpc": "2.0",
                    "method": format!("notifications/{list}/list_changed")}),
                );
                reply.end();
            }
            _ => reply.text(202, "", ""),
        });
        let mut started = Connection::start(spec(&server, EraChoice::Legacy))
            .await
            .expect("it connects");
        for kind in [ListKind::Tools, ListKind::Prompts] {
            assert_eq!(started.events.recv().await, Some(Event::ListChanged(kind)));
        }
    });
}

#[test]
fn one_connection_serves_several_runtimes() {
    let server = mcp(true, echo);
    let (send, receive) = std::sync::mpsc::channel();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let url = spec(&server, EraChoice::Auto);
    let home = std::thread::spawn(move || {
        run(async {
            let started = Connection::start(url).await.expect("it connects");
            send.send(started.connection.clone())
                .expect("somebody waits");
            stopped.await.expect("a word");
            started.connection.stop().await;
        });
    });
    let connection = receive.recv().expect("a connection");
    let others: Vec<_> = (0..2)
        .map(|_| {
            let connection = connection.clone();
            std::thread::spawn(move || {
                run(async {
                    for n in 0..100 {
                        let tool = if n % 2 == 0 { "json" } else { "stream" };
                        result(&connection, tool, "{}").await;
                    }
                });
            })
        })
        .collect();
    for other in others {
        other.join().expect("no panic");
    }
    stop.send(()).expect("it waits");
    home.join().expect("no panic");
    let used: std::collections::BTreeSet<_> =
        server.seen().iter().map(|seen| seen.connection).collect();
    assert_eq!(used.len(), 3, "each runtime has a connection of its own");
}
