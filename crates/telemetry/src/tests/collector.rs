//! Spans as a collector gets them, over a socket.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use legation_core::observe::{Ended, SpanKind, Value};
use legation_core::{Secret, TaskSet};
use serde_json::json;
use tokio::net::TcpListener;

use crate::{Exporter, ExporterSettings, HeaderError, Metrics};

/// What a collector was sent, and the statuses it answers with, the last one for ever.
#[derive(Default)]
struct Collector {
    requests: Mutex<Vec<(String, serde_json::Value)>>,
    /// Of each request, what `authorization` and `x-scope` said.
    credentials: Mutex<Vec<[Option<String>; 2]>>,
    statuses: Mutex<Vec<u16>>,
}

async fn collect(collector: Arc<Collector>, tasks: &TaskSet) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let each = tasks.clone();
    tasks.spawn("collector", async move {
        while let Ok((stream, _)) = listener.accept().await {
            let collector = Arc::clone(&collector);
            let service = service_fn(move |request: Request<Incoming>| {
                let collector = Arc::clone(&collector);
                async move {
                    let path = request.uri().path().to_owned();
                    assert_eq!(request.headers()["content-type"], "application/json");
                    let said = ["authorization", "x-scope"].map(|name| {
                        let value = request.headers().get(name)?;
                        value.to_str().ok().map(str::to_owned)
                    });
                    collector.credentials.lock().unwrap().push(said);
                    let body = request.into_body().collect().await.unwrap().to_bytes();
                    let body = serde_json::from_slice(&body).unwrap();
                    collector.requests.lock().unwrap().push((path, body));
                    let mut statuses = collector.statuses.lock().unwrap();
                    let status = match statuses.len() {
                        0 => 200,
                        1 => statuses[0],
                        _ => statuses.remove(0),
                    };
                    let mut answer = Response::new(Full::new(Bytes::from_static(b"{}")));
                    *answer.status_mut() = StatusCode::from_u16(status).unwrap();
                    Ok::<_, Infallible>(answer)
                }
            });
            each.spawn("connection", async move {
                let served = hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service);
                drop(served.await);
            });
        }
    });
    format!("http://{address}")
}

fn span(number: u64) -> Ended {
    Ended {
        trace: 0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c,
        span: number,
        parent: (number > 1).then_some(1),
        name: "tools/call echo".into(),
        kind: SpanKind::Client,
        began_ns: 1_800_000_000_000_000_001,
        ended_ns: 1_800_000_000_000_000_002,
        attributes: vec![
            ("gen_ai.tool.name", Value::from("echo")),
            ("gen_ai.usage.input_tokens", Value::from(7_i64)),
        ],
        error: (number == 2).then(|| "timeout".into()),
    }
}

/// Waits until everything was sent or lost.
async fn settled(metrics: &Metrics, spans: u64) {
    use std::sync::atomic::Ordering;
    let sum =
        || metrics.spans_sent.load(Ordering::Relaxed) + metrics.spans_lost.load(Ordering::Relaxed);
    for _ in 0..10_000 {
        if sum() >= spans {
            return;
        }
        // tidy: the counters tell nobody, and the exporter pauses in real time.
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{} of {spans}", sum());
}

#[tokio::test]
async fn spans_come_as_the_protocol_wants_them() {
    let (collector, tasks) = (Arc::new(Collector::default()), TaskSet::new());
    let endpoint = collect(Arc::clone(&collector), &tasks).await;
    let settings = ExporterSettings::new(&endpoint, "1.2.3").unwrap();
    let (exporter, exporting) = Exporter::new(settings);
    let metrics = Arc::new(Metrics::default());
    tasks.spawn("exporting", exporting.run(Arc::clone(&metrics)));
    exporter.add(span(1), &metrics);
    exporter.add(span(2), &metrics);
    settled(&metrics, 2).await;
    let requests = collector.requests.lock().unwrap().clone();
    let [(path, request)] = requests.as_slice() else {
        panic!("{requests:?}");
    };
    assert_eq!(path, "/v1/traces");
    let resource = &request["resourceSpans"][0];
    let name = json!({ "key": "service.name", "value": { "stringValue": "legation" } });
    assert_eq!(resource["resource"]["attributes"][0], name);
    let spans = &resource["scopeSpans"][0]["spans"];
    assert_eq!(spans.as_array().unwrap().len(), 2);
    assert_eq!(
        spans[1],
        json!({
            "traceId": "0af7651916cd43dd8448eb211c80319c",
            "spanId": "0000000000000002",
            "parentSpanId": "0000000000000001",
            "flags": 1,
            "name": "tools/call echo",
            "kind": 3,
            "startTimeUnixNano": "1800000000000000001",
            "endTimeUnixNano": "1800000000000000002",
            "attributes": [
                { "key": "gen_ai.tool.name", "value": { "stringValue": "echo" } },
                { "key": "gen_ai.usage.input_tokens", "value": { "intValue": "7" } },
                { "key": "error.type", "value": { "stringValue": "timeout" } },
            ],
            "status": { "code": 2 },
        })
    );
    tasks.shutdown().await;
}

#[tokio::test]
async fn a_collector_that_is_busy_is_asked_again_and_one_that_refuses_is_not() {
    for (statuses, requests, sent) in [
        (vec![503, 429, 200], 3, 1),
        (vec![400], 1, 0),
        (vec![503], 3, 0),
    ] {
        let (collector, tasks) = (Arc::new(Collector::default()), TaskSet::new());
        collector.statuses.lock().unwrap().clone_from(&statuses);
        let endpoint = collect(Arc::clone(&collector), &tasks).await;
        let settings = ExporterSettings::new(&format!("{endpoint}/here"), "1").unwrap();
        let (exporter, exporting) = Exporter::new(settings);
        let metrics = Arc::new(Metrics::default());
        tasks.spawn("exporting", exporting.run(Arc::clone(&metrics)));
        exporter.add(span(1), &metrics);
        settled(&metrics, 1).await;
        let asked = collector.requests.lock().unwrap();
        assert_eq!(asked.len(), requests, "{statuses:?}");
        assert_eq!(asked[0].0, "/here");
        let counted = metrics
            .spans_sent
            .load(std::sync::atomic::Ordering::Relaxed);
        assert_eq!(counted, sent, "{statuses:?}");
    }
}

#[tokio::test]
async fn nobody_waits_for_a_collector() {
    let settings = ExporterSettings::new("http://127.0.0.1:9", "1").unwrap();
    let (exporter, _exporting) = Exporter::new(settings);
    let metrics = Metrics::default();
    for number in 0..10_000 {
        exporter.add(span(number), &metrics);
    }
    let lost = metrics
        .spans_lost
        .load(std::sync::atomic::Ordering::Relaxed);
    assert_eq!(lost, 10_000 - 4_096);
    for bad in ["", "127.0.0.1:4318", "ftp://a", "http://user@a", "http://"] {
        assert!(ExporterSettings::new(bad, "1").is_err(), "{bad}");
    }
}

#[tokio::test]
async fn a_collector_gets_its_credential_and_nobody_else_reads_it() {
    let (collector, tasks) = (Arc::new(Collector::default()), TaskSet::new());
    let endpoint = collect(Arc::clone(&collector), &tasks).await;
    let secret = |text: &str| Secret::new(text);
    let settings = ExporterSettings::new(&endpoint, "1")
        .unwrap()
        .with_header("Authorization", &secret("Bearer canary-7b1d"))
        .unwrap()
        .with_header("x-scope", &secret("team"))
        .unwrap();
    let shown = format!("{settings:?}");
    assert!(
        !shown.contains("canary") && !shown.contains("team"),
        "{shown}"
    );
    let (exporter, exporting) = Exporter::new(settings);
    assert!(!format!("{exporting:?}").contains("canary"));
    let metrics = Arc::new(Metrics::default());
    tasks.spawn("exporting", exporting.run(Arc::clone(&metrics)));
    exporter.add(span(1), &metrics);
    settled(&metrics, 1).await;
    let said = collector.credentials.lock().unwrap().clone();
    let wanted = ["Bearer canary-7b1d", "team"].map(|text| Some(text.to_owned()));
    assert_eq!(said, [wanted]);
    tasks.shutdown().await;
}

#[test]
fn a_credential_is_never_sent_where_others_can_read_it() {
    let settings = |endpoint| ExporterSettings::new(endpoint, "1").unwrap();
    let secret = Secret::new("Bearer canary-7b1d");
    for (endpoint, name, fits) in [
        ("https://collector.example.com", "authorization", true),
        ("http://127.0.0.1:4318", "authorization", true),
        ("http://[::1]:4318", "authorization", true),
        ("http://localhost:4318", "authorization", true),
        ("http://collector.example.com", "authorization", false),
        ("http://192.0.2.7:4318", "authorization", false),
        ("http://localhost.example.com", "authorization", false),
        ("https://collector.example.com", "content-length", false),
        ("https://collector.example.com", "Host", false),
        ("https://collector.example.com", "a header", false),
        ("https://collector.example.com", "", false),
    ] {
        let made = settings(endpoint).with_header(name, &secret);
        assert_eq!(made.is_ok(), fits, "{endpoint} {name}");
        if let Err(error) = made {
            assert!(!error.to_string().contains("canary"), "{error}");
            assert!(!error.hint().is_empty());
        }
    }
    let broken = settings("https://collector.example.com")
        .with_header("authorization", &Secret::new("Bearer canary\r\nx: 1"));
    assert_eq!(
        broken.unwrap_err().to_string(),
        "the value of the header authorization holds what no header's value can"
    );
    let mut many = settings("https://collector.example.com");
    for number in 0..16 {
        many = many.with_header(&format!("x-{number}"), &secret).unwrap();
    }
    assert!(many.clone().with_header("x-0", &secret).is_err(), "twice");
    assert_eq!(many.with_header("x-16", &secret), Err(HeaderError::TooMany));
}

#[tokio::test]
async fn what_waits_is_sent_before_the_end() {
    let (collector, tasks) = (Arc::new(Collector::default()), TaskSet::new());
    let endpoint = collect(Arc::clone(&collector), &tasks).await;
    let (exporter, exporting) = Exporter::new(ExporterSettings::new(&endpoint, "1").unwrap());
    let metrics = Arc::new(Metrics::default());
    let farewell = exporting.farewell();
    for number in 0..1_500 {
        exporter.add(span(number), &metrics);
    }
    let sending = TaskSet::new();
    sending.spawn("exporting", exporting.run(Arc::clone(&metrics)));
    farewell.say();
    sending.join().await;
    let sent = metrics
        .spans_sent
        .load(std::sync::atomic::Ordering::Relaxed);
    assert_eq!(sent, 1_500);
    let spans: usize = collector
        .requests
        .lock()
        .unwrap()
        .iter()
        .map(|(_, request)| {
            let spans = &request["resourceSpans"][0]["scopeSpans"][0]["spans"];
            spans.as_array().unwrap().len()
        })
        .sum();
    assert_eq!(spans, 1_500, "each of them once");
    // What comes after the end is lost, and waits nowhere.
    exporter.add(span(1), &metrics);
    let lost = metrics
        .spans_lost
        .load(std::sync::atomic::Ordering::Relaxed);
    assert_eq!(lost, 1);
    tasks.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn an_end_waits_for_no_collector_that_is_silent() {
    // It takes connections and says nothing.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let (exporter, exporting) = Exporter::new(ExporterSettings::new(&endpoint, "1").unwrap());
    let metrics = Arc::new(Metrics::default());
    let farewell = exporting.farewell();
    for number in 0..2_000 {
        exporter.add(span(number), &metrics);
    }
    let began = tokio::time::Instant::now();
    let sending = TaskSet::new();
    sending.spawn("exporting", exporting.run(Arc::clone(&metrics)));
    farewell.say();
    sending.join().await;
    assert!(
        began.elapsed() < Duration::from_secs(10),
        "{:?}",
        began.elapsed()
    );
    let lost = metrics
        .spans_lost
        .load(std::sync::atomic::Ordering::Relaxed);
    assert_eq!(lost, 2_000);
    drop(listener);
}

/// What is logged on this thread.
#[derive(Clone, Default)]
struct Said(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Said {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn that_a_collector_is_gone_is_said_once_and_once_that_it_is_back() {
    let said = Said::default();
    let writer = said.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .finish();
    let _here = tracing::subscriber::set_default(subscriber);
    let (collector, tasks) = (Arc::new(Collector::default()), TaskSet::new());
    *collector.statuses.lock().unwrap() = vec![401, 401, 401, 200];
    let endpoint = collect(Arc::clone(&collector), &tasks).await;
    let settings = ExporterSettings::new(&endpoint, "1")
        .unwrap()
        .with_header("authorization", &Secret::new("Bearer canary-7b1d"))
        .unwrap();
    let (exporter, exporting) = Exporter::new(settings);
    let metrics = Arc::new(Metrics::default());
    let long = |mut span: Ended| {
        span.attributes
            .push(("gen_ai.tool.name", Value::from("ä".repeat(4_000))));
        span
    };
    tasks.spawn("exporting", exporting.run(Arc::clone(&metrics)));
    for number in 0..4 {
        exporter.add(long(span(number)), &metrics);
        settled(&metrics, number + 1).await;
    }
    let said = String::from_utf8(said.0.lock().unwrap().clone()).unwrap();
    let count = |text: &str| said.matches(text).count();
    assert_eq!(count("the collector does not take spans"), 1, "{said}");
    assert_eq!(count("the collector takes spans again"), 1, "{said}");
    assert_eq!(count("lost=3"), 1, "{said}");
    assert_eq!(count("canary"), 0, "{said}");
    let size = {
        let requests = collector.requests.lock().unwrap();
        requests.last().unwrap().1.to_string().len()
    };
    assert!(size < 4_000, "a text of {size} bytes");
    tasks.shutdown().await;
}
