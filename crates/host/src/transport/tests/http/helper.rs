//! Headers that a command prints.

use legation_core::process::ChildSpec;

use super::*;

/// The connection of a shell line that prints headers.
fn helped(server: &Server, line: &str, limit: Duration) -> StartSpec {
    let mut spec = spec(server, EraChoice::Modern);
    let TransportSpec::Http(http) = &mut spec.transport else {
        panic!("a URL");
    };
    let child = ChildSpec {
        name: "fixture".into(),
        program: "/bin/sh".into(),
        args: vec!["-c".into(), line.into()],
        cwd: None,
        env: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
        guard: guard(),
    };
    http.helper = Some(Arc::new(HeadersHelper::new(child).within(limit)));
    spec
}

/// Every run prints the number of runs so far.
fn counting(runs: &std::path::Path) -> String {
    let runs = runs.display();
    format!(
        r#"echo run >> {runs}; printf '{{"Authorization": "Bearer %s", "X-KEY": "theirs"}}\n' $(wc -l < {runs})"#
    )
}

fn count(runs: &std::path::Path) -> usize {
    let text = std::fs::read_to_string(runs).unwrap_or_default();
    text.lines().count()
}

/// A modern server that lets in who has the token of run `good` or of a later one.
fn guarded(good: &'static std::sync::atomic::AtomicUsize, refusal: u16) -> Server {
    Server::start(move |seen, reply| {
        let token = seen.header("authorization").unwrap_or_default();
        let run: usize = token.trim_start_matches("Bearer ").parse().unwrap_or(0);
        let id = &seen.body["id"];
        match seen.method() {
            _ if run < good.load(std::sync::atomic::Ordering::SeqCst) => {
                reply.text(refusal, "text/plain", "too old");
            }
            "server/discover" => reply.json(
                200,
                &json!({"jsonrpc": "2.0", "id": id, "result": {
                    "resultType": "complete", "supportedVersions": ["2026-07-28"],
                    "capabilities": {"tools": {}},
                }}),
            ),
            _ => reply.json(200, &done(seen)),
        }
    })
}

#[test]
fn a_command_prints_headers_once_for_each_connection_and_again_when_they_are_refused() {
    static GOOD: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(1);
    run(async {
        let folder = tempfile::tempdir().expect("a folder");
        let runs = folder.path().join("runs");
        let server = guarded(&GOOD, 401);
        let started = Connection::start(helped(&server, &counting(&runs), LIMIT)).await;
        let started = started.expect("it connects");
        for _ in 0..3 {
            result(&started.connection, "json", "{}").await;
        }
        assert_eq!(count(&runs), 1);
        for seen in server.seen() {
            assert_eq!(seen.header("authorization"), Some("Bearer 1"));
            let keys = seen.headers.iter().filter(|(name, _)| name == "x-key");
            let keys: Vec<&str> = keys.map(|(_, value)| value.as_str()).collect();
            assert_eq!(keys, ["theirs"], "they replace those of `headers`");
            assert_eq!(seen.header("content-type"), Some("application/json"));
        }
        // The token has run out: one more run serves all who noticed.
        GOOD.store(2, std::sync::atomic::Ordering::SeqCst);
        let calls = (0..8).map(|_| result(&started.connection, "json", "{}"));
        futures_util::future::join_all(calls).await;
        assert_eq!(count(&runs), 2);
        started.connection.stop().await;
    });
}

#[test]
fn a_server_that_refuses_the_same_headers_again_is_not_asked_twice() {
    static GOOD: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(9);
    run(async {
        let server = guarded(&GOOD, 403);
        let line = r#"echo '{"Authorization": "Bearer 1"}'"#;
        let refused = Connection::start(helped(&server, line, LIMIT)).await;
        let refused = refused.expect_err("it is refused");
        assert!(
            matches!(refused, StartError::NeedsAuth { status: 403, .. }),
            "{refused:?}"
        );
        assert_eq!(server.seen().len(), 1);
    });
}

#[test]
fn nothing_is_sent_without_the_headers_and_nothing_printed_is_told() {
    static GOOD: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    run(async {
        let server = guarded(&GOOD, 401);
        let mut shown = String::new();
        for line in [
            "echo hush; exit 3",
            "echo hush",
            r#"echo '["hush"]'"#,
            r#"echo '{"X-Hush": 5}'"#,
            r#"echo '{"X Hush": "hush"}'"#,
            r#"printf %s '{"X-Hush": "hush\nX-Other: hush"}'"#,
            r#"echo '{"X-Hush": "hush", "X-Hush": "hush"}'"#,
            "while :; do echo hush; done",
        ] {
            let failed = Connection::start(helped(&server, line, LIMIT)).await;
            let failed = failed.expect_err("it cannot connect");
            let printed = legation_core::error::chain(&failed);
            assert!(!format!("{failed:?} {printed}").contains("hush"), "{line}");
            shown += &format!("{printed}\n");
        }
        expect_test::expect![[r#"
            the server could not be reached: the headers for the server could not be had: headersHelper exited with code 3
            the server could not be reached: the headers for the server could not be had: headersHelper printed no JSON object
            the server could not be reached: the headers for the server could not be had: headersHelper printed no JSON object
            the server could not be reached: the headers for the server could not be had: headersHelper printed a header whose value is no text
            the server could not be reached: the headers for the server could not be had: headersHelper printed a name that no header can have
            the server could not be reached: the headers for the server could not be had: headersHelper printed a value that no header can have
            the server could not be reached: the headers for the server could not be had: headersHelper printed no JSON object
            the server could not be reached: the headers for the server could not be had: headersHelper printed more than 64 KiB
        "#]]
        .assert_eq(&shown);
        assert_eq!(server.seen().len(), 0);
    });
}

#[test]
fn one_that_hangs_is_ended_with_all_that_it_started() {
    static GOOD: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    run(async {
        let folder = tempfile::tempdir().expect("a folder");
        let (pids, ready) = (folder.path().join("pids"), folder.path().join("ready"));
        let line = format!(
            "setsid sleep 600 & echo $! $$ > {}; mv {0} {}; wait",
            pids.display(),
            ready.display()
        );
        let server = guarded(&GOOD, 401);
        // However slow the machine is, the command has begun by then or is asked again.
        let mut limit = Duration::from_millis(200);
        while !ready.exists() {
            let failed = Connection::start(helped(&server, &line, limit)).await;
            let failed = legation_core::error::chain(&failed.expect_err("it cannot connect"));
            assert!(failed.contains("and was ended"), "{failed}");
            limit *= 2;
        }
        let pids = std::fs::read_to_string(&ready).expect("two ids");
        for pid in pids.split_whitespace() {
            let at = PathBuf::from(format!("/proc/{pid}"));
            until("the process is gone", || !at.exists()).await;
        }
        assert_eq!(server.seen().len(), 0);
    });
}
