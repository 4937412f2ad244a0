//! Servers that are child processes.

use legation_core::process::ChildSpec;
use legation_wire::listen::ListenFilter;
use legation_wire::upstream::ListKind;

use super::*;

struct Log {
    notes: Lines,
    stderr: Lines,
}

fn spec(mode: &str, era: EraChoice) -> (StartSpec, Log) {
    let log = Log {
        notes: Lines::default(),
        stderr: Lines::default(),
    };
    let spec = StartSpec {
        link: config(era),
        transport: TransportSpec::Stdio(StdioSpec {
            preamble: Vec::new(),
            child: ChildSpec {
                name: "fixture".into(),
                program: "python3".into(),
                args: vec![script("server.py").into(), mode.into()],
                cwd: None,
                env: vec![
                    ("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into()),
                    ("PYTHONDONTWRITEBYTECODE".into(), "1".into()),
                ],
                guard: guard(),
            },
            stderr: log.stderr.sink(),
            log_file: None,
            stop_grace: Duration::from_secs(5),
        }),
        max_message: 4 << 20,
        note: log.notes.sink(),
    };
    (spec, log)
}

async fn start(mode: &str) -> (Started, Log) {
    let (spec, log) = spec(mode, EraChoice::Auto);
    let started = Connection::start(spec).await.expect("it connects");
    (started, log)
}

async fn gone(pid: Option<u32>) {
    let path = PathBuf::from(format!("/proc/{}", pid.expect("a pid")));
    until("the process is gone", || !path.exists()).await;
}

async fn closed(events: &mut Events) -> String {
    loop {
        match events.recv().await {
            Some(Event::Closed(why)) => return why,
            Some(_) => {}
            None => panic!("the events ended without a reason"),
        }
    }
}

#[test]
fn both_eras_are_found_and_called() {
    run(async {
        for (mode, revision) in [
            ("legacy", Revision::V2025_06_18),
            ("modern", Revision::V2026_07_28),
            ("fragile", Revision::V2025_06_18),
        ] {
            let (started, _log) = start(mode).await;
            assert_eq!(started.ready.revision, revision, "{mode}");
            let echo = result(&started.connection, "echo", r#"{"n":9007199254740993}"#).await;
            let echo = echo.get("echo").expect("an echo");
            assert_eq!(echo.as_text(), r#"{"n": 9007199254740993}"#, "{mode}");
            started.connection.stop().await;
            gone(started.pid).await;
        }
    });
}

#[test]
fn progress_and_questions_reach_their_call() {
    run(async {
        let (started, _log) = start("legacy").await;
        let events = finish(started.connection.call(order("progress", "{}"))).await;
        assert_eq!(events.len(), 4, "{events:?}");
        assert!(matches!(events[0], CallEvent::Progress(_)));
        let mut call = started.connection.call(order("ask", "{}"));
        let CallEvent::Ask { key, method, .. } = call.next().await else {
            panic!("no question");
        };
        assert_eq!(&*method, "elicitation/create");
        call.answer(key, Ok(raw(r#"{"action":"accept"}"#)));
        let CallEvent::Done(Ok(result)) = call.next().await else {
            panic!("no result");
        };
        let answered = result.get("answered").expect("an answer");
        assert_eq!(answered.as_text(), r#"{"action": "accept"}"#);
    });
}

#[test]
fn many_calls_at_once_get_their_own_answers() {
    run(async {
        let (started, _log) = start("modern").await;
        let calls: Vec<_> = (0..500)
            .map(|n| {
                started
                    .connection
                    .call(order("echo", &format!(r#"{{"n":{n}}}"#)))
            })
            .collect();
        for (n, call) in calls.into_iter().enumerate().rev() {
            let Some(CallEvent::Done(Ok(result))) = finish(call).await.pop() else {
                panic!("call {n} failed");
            };
            let echo = result.get("echo").expect("an echo");
            assert_eq!(
                echo.get("n").and_then(|n| n.to_i64()),
                i64::try_from(n).ok()
            );
        }
    });
}

#[test]
fn garbage_is_told_and_left_out() {
    run(async {
        let (started, log) = start("legacy").await;
        result(&started.connection, "garbage", "{}").await;
        result(&started.connection, "halves", "{}").await;
        let notes = log.notes.all().join("\n");
        assert!(notes.contains("this is no JSON"), "{notes}");
        assert!(started.connection.strays() >= 6, "{notes}");
        let large = result(&started.connection, "large", "{}").await;
        assert!(large.as_text().len() > 3_000_000);
    });
}

#[test]
fn a_line_that_never_ends_ends_the_server() {
    run(async {
        let (mut started, _log) = start("legacy").await;
        let end = finish(started.connection.call(order("endless", "{}")))
            .await
            .pop();
        let why = "the server sent a line without end, of which no more than 4194304 bytes are taken (limits.upstream_message_bytes), and was stopped";
        assert_eq!(end, Some(CallEvent::Lost(why.to_owned())));
        assert_eq!(closed(&mut started.events).await, why);
        gone(started.pid).await;
        let late = finish(started.connection.call(order("echo", "{}"))).await;
        assert_eq!(late, [CallEvent::Lost(why.to_owned())]);
    });
}

#[test]
fn an_answer_over_the_limit_ends_its_call_alone() {
    run(async {
        let (started, _log) = start("legacy").await;
        let waiting = started.connection.call(order("never", "{}"));
        for id in ["first", "last"] {
            let arguments = format!(r#"{{"bytes":5000000,"id":"{id}"}}"#);
            let end = finish(started.connection.call(order("overlong", &arguments))).await;
            let [CallEvent::Done(Err(error))] = &*end else {
                panic!("{id}: {end:?}");
            };
            assert_eq!(error.code, legation_wire::codes::BAD_UPSTREAM);
            for said in ["4194304 bytes", "limits.upstream_message_bytes"] {
                assert!(error.message.contains(said), "{id}: {}", error.message);
            }
        }
        let echoed = result(&started.connection, "echo", r#"{"a":1}"#).await;
        assert!(echoed.as_text().contains(r#""echo": {"a": 1}"#), "{echoed}");
        drop(waiting);
    });
}

#[test]
fn an_exit_is_told_with_its_code() {
    run(async {
        let (mut started, log) = start("legacy").await;
        let end = finish(started.connection.call(order("exit", "{}")))
            .await
            .pop();
        let why = "the server exited with code 3";
        assert_eq!(end, Some(CallEvent::Lost(why.to_owned())));
        assert_eq!(closed(&mut started.events).await, why);
        assert_eq!(log.stderr.all(), ["the disk is on fire"]);
        let (started, log) = start("legacy").await;
        finish(started.connection.call(order("half-exit", "{}"))).await;
        assert!(log.notes.all().join("\n").contains("inside a line"));
    });
}

#[test]
fn a_dropped_call_is_cancelled_and_its_late_answer_reaches_nobody() {
    run(async {
        let (mut started, _log) = start("legacy").await;
        drop(started.connection.call(order("never", "{}")));
        // The server answers the cancelled call and then says that it has.
        let Some(Event::Unattributed(message)) = started.events.recv().await else {
            panic!("no message");
        };
        let params = message.params.expect("parameters");
        assert!(params.as_text().contains("cancelled"), "{params:?}");
        result(&started.connection, "echo", "{}").await;
    });
}

#[test]
fn a_server_that_does_not_read_holds_nobody_up() {
    run(async {
        let (started, _log) = start("legacy").await;
        result(&started.connection, "stop-reading", "{}").await;
        let big = format!(r#"{{"s":"{}"}}"#, "z".repeat(1 << 20));
        let calls: Vec<_> = (0..80)
            .map(|_| started.connection.call(order("echo", &big)))
            .collect();
        for call in calls {
            let end = finish(call).await.pop();
            let Some(CallEvent::Lost(why)) = end else {
                panic!("{end:?}");
            };
            assert!(why.contains("does not read its input"), "{why}");
        }
        gone(started.pid).await;
    });
}

#[test]
fn changes_are_told_in_both_eras() {
    run(async {
        let (mut started, _log) = start("legacy").await;
        result(&started.connection, "changed", "{}").await;
        let event = started.events.recv().await;
        assert_eq!(event, Some(Event::ListChanged(ListKind::Tools)));
        let (mut started, _log) = start("modern").await;
        let wish = ListenFilter {
            tools: true,
            ..ListenFilter::default()
        };
        started.connection.listen(wish.clone());
        let event = started.events.recv().await;
        assert_eq!(event, Some(Event::ListenAcknowledged(wish)));
        let event = started.events.recv().await;
        assert_eq!(event, Some(Event::ListChanged(ListKind::Tools)));
    });
}

#[test]
fn stop_is_complete_and_calls_are_lost() {
    run(async {
        let (mut spec, _log) = spec("deaf", EraChoice::Auto);
        if let TransportSpec::Stdio(stdio) = &mut spec.transport {
            stdio.stop_grace = Duration::from_millis(200);
        }
        let started = Connection::start(spec).await.expect("it connects");
        let call = started.connection.call(order("never", "{}"));
        started.connection.stop().await;
        let path = PathBuf::from(format!("/proc/{}", started.pid.expect("a pid")));
        assert!(!path.exists(), "gone when stop returns");
        let end = finish(call).await.pop();
        assert!(matches!(end, Some(CallEvent::Lost(_))), "{end:?}");
    });
}

#[test]
fn what_cannot_start_is_said_and_leaves_nothing() {
    run(async {
        let (mut missing, _log) = spec("legacy", EraChoice::Auto);
        if let TransportSpec::Stdio(stdio) = &mut missing.transport {
            stdio.child.program = "no-such-server".into();
        }
        let error = Connection::start(missing).await.expect_err("missing");
        let text = legation_core::error::chain(&error);
        assert!(
            text.contains("`no-such-server` was not found in PATH"),
            "{text}"
        );
        let (mut dying, _log) = spec("legacy", EraChoice::Auto);
        if let TransportSpec::Stdio(stdio) = &mut dying.transport {
            stdio.child.program = "sh".into();
            stdio.child.args = vec!["-c".into(), "exit 9".into()];
        }
        let error = Connection::start(dying).await.expect_err("dead");
        let text = legation_core::error::chain(&error);
        assert!(text.contains("exited with code 9"), "{text}");
        // Nobody answers: the caller gives up, and the process is gone.
        let (silent, _log) = spec("silent", EraChoice::Legacy);
        let started = tokio::time::timeout(Duration::from_millis(300), Connection::start(silent));
        assert!(started.await.is_err(), "it never answers");
    });
}

#[test]
fn one_process_serves_several_runtimes() {
    let (send, receive) = std::sync::mpsc::channel();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let home = std::thread::spawn(move || {
        run(async {
            let (started, _log) = start("modern").await;
            send.send(started.connection.clone())
                .expect("somebody waits");
            stopped.await.expect("a word");
            started.connection.stop().await;
        });
    });
    let connection = receive.recv().expect("a connection");
    let others: Vec<_> = (0..2)
        .map(|thread| {
            let connection = connection.clone();
            std::thread::spawn(move || {
                run(async {
                    for n in 0..100 {
                        let arguments = format!(r#"{{"n":{}}}"#, thread * 1000 + n);
                        let result = result(&connection, "echo", &arguments).await;
                        let echo = result.get("echo").expect("an echo");
                        let back = echo.get("n").and_then(|n| n.to_i64());
                        assert_eq!(back, Some(thread * 1000 + n));
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
}

#[test]
fn stderr_is_kept_on_disk_in_bounded_files() {
    run(async {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("server.log");
        let (mut spec, log) = spec("legacy", EraChoice::Legacy);
        if let TransportSpec::Stdio(stdio) = &mut spec.transport {
            stdio.log_file = Some(path.clone());
            stdio.child.program = "sh".into();
            let script =
                "i=0; while [ $i -lt 1200 ]; do i=$((i+1)); printf '%1024s\\n' $i >&2; done";
            stdio.child.args = vec!["-c".into(), script.into()];
        }
        Connection::start(spec).await.expect_err("it says nothing");
        assert_eq!(log.stderr.all().len(), 1200, "all of it before the failure");
        let size = |path: &std::path::Path| std::fs::metadata(path).map_or(0, |meta| meta.len());
        let old = folder.path().join("server.log.1");
        assert_eq!(size(&path) + size(&old), 1200 * 1025);
        assert!(size(&old) <= (1 << 20) + 1025, "{}", size(&old));
        let mode = std::os::unix::fs::PermissionsExt::mode(
            &std::fs::metadata(&path).expect("a log").permissions(),
        );
        assert_eq!(mode & 0o777, 0o600);
    });
}
