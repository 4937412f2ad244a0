//! How servers are shown.

use std::time::Duration;

use legation_config::servers::GithubToken;
use legation_config::{Instance, Source};
use legation_gate::{Endpoint, HubEvent, Item, ListKind, Unresolved};
use legation_wire::json::Raw;
use legation_wire::revision::Revision;

use crate::port::DialError;
use crate::status::{ServerStatus, State, Summary};
use crate::testing::{Bench, Scripted, caller, server_name, spec, times};

fn only(bench: &Bench) -> ServerStatus {
    let mut all = bench.host.status();
    assert_eq!(all.len(), 1);
    all.remove(0)
}

fn counts(status: &ServerStatus) -> [usize; 5] {
    let ServerStatus {
        tools,
        resources,
        templates,
        prompts,
        instances,
        ..
    } = status;
    [*tools, *resources, *templates, *prompts, *instances]
}

#[tokio::test]
async fn counts_are_of_what_is_offered_and_of_what_is_connected() {
    let bench = Bench::new();
    let server = Scripted::new(
        Revision::V2025_11_25,
        r#"{"tools":{},"resources":{},"prompts":{}}"#,
        |_, _| Box::pin(async { Ok(Raw::empty_object()) }),
    );
    let twice = r#"{"name":"a"}"#;
    server.offer(ListKind::Tools, &[twice, r#"{"name":"b"}"#, twice]);
    server.offer(ListKind::Resources, &[r#"{"uri":"x:a","name":"a"}"#]);
    let templates = [
        r#"{"uriTemplate":"x:{a}","name":"a"}"#,
        r#"{"uriTemplate":"x:{b}","name":"b"}"#,
        r#"{"uriTemplate":"x:{c}","name":"c"}"#,
    ];
    server.offer(ListKind::Templates, &templates);
    server.offer(ListKind::Prompts, &[twice]);
    bench.serve("s", &server);
    bench.apply(vec![spec("s", Instance::Shared)]).await;
    bench.settle().await;
    let status = only(&bench);
    assert_eq!(counts(&status), [2, 1, 3, 1, 1]);
    assert_eq!(
        status.warnings,
        [r#"tools/list names 1 entries more than once, of which the first counts: "a""#]
    );

    bench.host.switch("s", None, false).await.expect("known");
    let status = only(&bench);
    assert_eq!((counts(&status), status.state), ([0; 5], State::Disabled));
    assert!(status.warnings.is_empty());

    *server.refuses.lock().expect("a lock") = Some(DialError::Failed("exit code 7".to_owned()));
    bench.host.switch("s", None, true).await.expect("known");
    bench.settle().await;
    let status = only(&bench);
    assert!(matches!(&status.state, State::Failed(reason) if reason == "exit code 7"));
    assert_eq!(counts(&status), [2, 1, 3, 1, 0], "as far as is known");
    bench.host.shutdown().await;
}

#[tokio::test]
async fn a_server_started_on_demand_is_as_its_last_start_was() {
    let mut short = times();
    short.probe_idle = Duration::from_millis(5);
    let bench = Bench::with(legation_config::Settings::defaults(), short);
    let server = Scripted::echo();
    bench.serve("s", &server);
    bench.apply(vec![spec("s", Instance::Client)]).await;
    let settled = async |instances: usize, state: &str| {
        let wait = async {
            loop {
                let status = only(&bench);
                if (status.instances, status.state.as_str()) == (instances, state) {
                    return;
                }
                // tidy: the loop waits for a state; the pause only yields.
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(5), wait)
            .await
            .unwrap_or_else(|_| panic!("{:?}", only(&bench)));
    };
    settled(0, "connected").await;
    assert_eq!(bench.host.summary().connected, 1);
    *server.refuses.lock().expect("a lock") = Some(DialError::Failed("no licence".to_owned()));
    bench.host.reload("s", None).await.expect("known");
    settled(0, "failed").await;
    assert_eq!(bench.host.summary().failed, 1);
    bench.host.shutdown().await;
}

#[tokio::test]
async fn a_server_that_connects_for_the_first_time_delays_no_list() {
    let mut bench = Bench::new();
    bench.serve("s", &Scripted::echo());
    bench.apply(vec![spec("s", Instance::Shared)]).await;
    let me = caller("me", None);
    // Nothing has run yet but what `apply` itself waits for.
    assert!(bench.names(&me, &Endpoint::All, ListKind::Tools).is_empty());
    let wait = async {
        loop {
            let event = bench.events.recv().await.expect("events");
            if matches!(
                event,
                HubEvent::ListChanged {
                    kind: ListKind::Tools,
                    ..
                }
            ) {
                return;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(5), wait)
        .await
        .expect("told");
    assert_eq!(
        bench.names(&me, &Endpoint::All, ListKind::Tools),
        ["s-echo"]
    );
    bench.host.shutdown().await;
}

#[tokio::test]
async fn one_that_is_slow_to_connect_is_warned_about_once() {
    let mut settings = legation_config::Settings::defaults();
    settings.slow_start = Duration::from_millis(1);
    let bench = Bench::with(settings, times());
    let server = Scripted::echo();
    *server.hangs.lock().expect("a lock") = true;
    bench.serve("s", &server);
    bench.apply(vec![spec("s", Instance::Shared)]).await;
    let wait = async {
        while only(&bench).warnings.is_empty() {
            // tidy: the loop waits for the warning; the pause only yields.
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(5), wait)
        .await
        .expect("a warning");
    let status = only(&bench);
    assert_eq!(status.warnings, ["it was not connected after 1ms"]);
    assert_eq!(status.state.as_str(), "starting", "it may connect yet");
    bench.host.shutdown().await;
}

#[tokio::test]
async fn a_name_of_a_server_that_never_connected_says_so() {
    let bench = Bench::new();
    let server = Scripted::echo();
    *server.hangs.lock().expect("a lock") = true;
    bench.serve("s", &server);
    let mut hasty = spec("s", Instance::Shared);
    hasty.timeout = Some(Duration::from_millis(10));
    bench.apply(vec![hasty.clone()]).await;
    let me = caller("me", None);
    let item = Item::Tool("s-echo".into());
    let unavailable = |reason: &str| Unresolved::Unavailable {
        name: "s-echo".into(),
        server: server_name("s"),
        reason: reason.to_owned(),
    };
    let found = bench.resolve(&me, &Endpoint::All, &item).await;
    assert_eq!(
        found.expect_err("it hangs"),
        unavailable("it is still connecting")
    );

    *server.hangs.lock().expect("a lock") = false;
    *server.refuses.lock().expect("a lock") = Some(DialError::Failed("no licence".to_owned()));
    bench.host.reload("s", None).await.expect("known");
    let found = bench.resolve(&me, &Endpoint::All, &item).await;
    assert_eq!(found.expect_err("it fails"), unavailable("no licence"));
    let other = Item::Tool("t-echo".into());
    let found = bench.resolve(&me, &Endpoint::All, &other).await;
    assert!(matches!(found, Err(Unresolved::Unknown { .. })));

    bench.host.switch("s", None, false).await.expect("known");
    let found = bench.resolve(&me, &Endpoint::All, &item).await;
    let disabled = unavailable("it is disabled; `legation mcp enable s` starts it");
    assert_eq!(found.expect_err("it is disabled"), disabled);
    let elsewhere = Endpoint::Server(server_name("t"));
    let found = bench.resolve(&me, &elsewhere, &item).await;
    assert!(matches!(found, Err(Unresolved::NoEndpoint { .. })));
    bench.host.shutdown().await;
}

#[tokio::test]
async fn one_that_waits_for_a_token_is_not_started_and_counts_for_nothing() {
    let bench = Bench::new();
    let server = Scripted::new(Revision::V2025_11_25, r#"{"tools":{}}"#, |_, _| {
        Box::pin(async { Ok(Raw::empty_object()) })
    });
    let tools = [r#"{"name":"web_search"}"#, r#"{"name":"read"}"#];
    server.offer(ListKind::Tools, &tools);
    bench.serve("github", &server);
    let given = |token: GithubToken| {
        let mut spec = spec("github", Instance::Shared);
        spec.source = Source::Builtin;
        spec.github = Some(token);
        spec
    };
    let missing = GithubToken::Missing("it was given no token".into());
    bench.apply(vec![given(missing.clone())]).await;
    bench.settle().await;
    let status = only(&bench);
    assert_eq!(status.state, State::NeedsAuth);
    assert_eq!(status.hint().as_deref(), Some("`legation mcp auth github`"));
    assert_eq!(bench.host.summary(), Summary::default());
    let names = || bench.host_names(&caller("a#1", None));
    assert!(names().is_empty());

    bench.apply(vec![given(GithubToken::Given)]).await;
    bench.settle().await;
    assert_eq!(only(&bench).state, State::Connected);
    // One tool has the name that models know, too.
    assert_eq!(names(), ["github-web_search", "web_search", "github-read"]);

    bench.apply(vec![given(missing)]).await;
    assert_eq!(only(&bench).state, State::NeedsAuth);
    assert!(
        names().is_empty(),
        "what is remembered of it is not offered"
    );
}
