use std::time::Duration;

use http::Method;
use legation_core::{CancelReason, Clock as _, SystemClock};
use serde_json::json;

use super::*;
use crate::test_kit::{Answer, Stand, clock, ctx};

fn client(stand: &Stand) -> Http {
    let settings = HttpSettings {
        ca_pem: Some(stand.ca_pem.clone().into_bytes()),
        proxy: None,
        waits: None,
    };
    Http::new(&settings, clock(), TaskSet::new()).unwrap()
}

fn request(stand: &Stand, method: Method) -> Request {
    let url = Url::parse(&stand.origin)
        .unwrap()
        .join("/v1.0/me?$x=1")
        .unwrap();
    Request::new(method, url, "test")
}

fn ok() -> Answer {
    Answer::json(200, &json!({ "ok": true }))
}

#[tokio::test]
async fn every_attempt_has_an_id_and_connections_are_used_again() {
    let stand = Stand::in_turn(vec![
        Answer::json(503, &json!({})),
        ok().with("request-id", "theirs"),
    ])
    .await;
    let http = client(&stand);
    let answer = http
        .send(&ctx(), &request(&stand, Method::GET))
        .await
        .unwrap();
    assert_eq!((answer.status, &*answer.request_id), (200, "theirs"));
    let asked = stand.asked();
    assert_eq!(asked.len(), 2);
    assert_eq!(asked[0].target, "/v1.0/me?$x=1");
    let ids: Vec<_> = asked
        .iter()
        .map(|one| one.header("client-request-id"))
        .collect();
    assert!(ids[0].is_some() && ids[0] != ids[1], "{ids:?}");
    assert_eq!(ids[1], Some(&*answer.client_request_id));
}

#[tokio::test]
async fn a_post_is_not_sent_again_when_nobody_knows() {
    for answer in [Answer::json(503, &json!({})), Answer::Cut] {
        let stand = Stand::in_turn(vec![answer, ok()]).await;
        let http = client(&stand);
        let mut request = request(&stand, Method::POST);
        request.repeat = Repeat::Refused;
        let result = http.send(&ctx(), &request).await;
        assert!(
            !matches!(&result, Ok(answer) if answer.is_success()),
            "{result:?}"
        );
        if let Err(error) = result {
            assert!(error.is_ambiguous(), "{error:?}");
        }
        assert_eq!(stand.asked().len(), 1);
    }
}

#[tokio::test]
async fn nobody_asks_earlier_than_told() {
    let told = Answer::json(429, &json!({})).with("retry-after", "1");
    let stand = Stand::in_turn(vec![told, ok()]).await;
    let http = client(&stand);
    let begun = SystemClock.now();
    // Ten at once: the first is told to wait, and so are those that come after.
    let first = http
        .send(&ctx(), &request(&stand, Method::POST))
        .await
        .unwrap();
    assert_eq!(first.status, 200);
    assert!(SystemClock.now() - begun >= Duration::from_secs(1));
    let held = request(&stand, Method::GET);
    http.inner
        .limiter
        .hold(held.url.origin(), "test", Duration::from_secs(1));
    let begun = SystemClock.now();
    let ctx = ctx();
    let all = (0..10).map(|_| http.send(&ctx, &held));
    for answer in futures_util::future::join_all(all).await {
        assert_eq!(answer.unwrap().status, 200);
    }
    assert!(SystemClock.now() - begun >= Duration::from_secs(1));
    // Another kind of thing does not wait.
    let mut other = request(&stand, Method::GET);
    other.bucket = "other".into();
    http.inner
        .limiter
        .hold(held.url.origin(), "test", Duration::from_secs(600));
    assert_eq!(http.send(&ctx, &other).await.unwrap().status, 200);
    let error = http.send(&ctx, &held).await.unwrap_err();
    assert!(
        matches!(error, HttpError::Throttled { retry_after } if retry_after > Duration::from_secs(500))
    );
}

#[tokio::test]
async fn a_deadline_is_not_waited_beyond_and_a_cancelled_caller_leaves() {
    let told = Answer::json(429, &json!({})).with("retry-after", "30");
    let stand = Stand::in_turn(vec![told]).await;
    let http = client(&stand);
    let mut hurried = ctx();
    hurried.deadline = Some(SystemClock.now() + Duration::from_secs(2));
    let begun = SystemClock.now();
    let error = http
        .send(&hurried, &request(&stand, Method::GET))
        .await
        .unwrap_err();
    assert!(
        matches!(
            error,
            HttpError::Throttled { .. } | HttpError::Cancelled { .. }
        ),
        "{error:?}"
    );
    assert!(SystemClock.now() - begun < Duration::from_secs(10));
    let cancelled = ctx();
    cancelled.cancel.cancel(CancelReason::ClientCancelled);
    let error = http
        .send(&cancelled, &request(&stand, Method::GET))
        .await
        .unwrap_err();
    assert!(matches!(
        error,
        HttpError::Cancelled {
            reason: CancelReason::ClientCancelled
        }
    ));
}

#[tokio::test]
async fn redirects_are_answers_and_large_answers_are_not_read() {
    let stand = Stand::in_turn(vec![
        Answer::json(302, &json!({})).with("location", "https://elsewhere.example.com/"),
        Answer::json(200, &json!({ "long": "x".repeat(5_000) })),
    ])
    .await;
    let http = client(&stand);
    let answer = http
        .send(&ctx(), &request(&stand, Method::GET))
        .await
        .unwrap();
    assert_eq!(answer.status, 302);
    let mut small = request(&stand, Method::GET);
    small.answer_max = 1_000;
    let error = http.send(&ctx(), &small).await.unwrap_err();
    assert!(
        matches!(error, HttpError::TooLarge { most: 1_000 }),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_clock_that_goes_otherwise_is_noticed() {
    let stand = Stand::in_turn(vec![ok().with("date", "Sat, 21 Nov 2015 01:55:06 GMT")]).await;
    let http = client(&stand);
    http.send(&ctx(), &request(&stand, Method::GET))
        .await
        .unwrap();
    let theirs = Wall::parse("2015-11-21T01:55:06Z").unwrap();
    assert!((http.wall().0 - theirs.0).abs() < 60_000, "{}", http.wall());
}

#[tokio::test]
async fn strangers_and_silence_are_connection_errors() {
    let stand = Stand::in_turn(vec![ok()]).await;
    let unknown = Http::new(&HttpSettings::default(), clock(), TaskSet::new()).unwrap();
    let mut once = request(&stand, Method::GET);
    once.repeat = Repeat::Never;
    let error = unknown.send(&ctx(), &once).await.unwrap_err();
    assert!(matches!(error, HttpError::Connect { .. }), "{error:?}");
    assert!(stand.asked().is_empty(), "nothing was sent to a stranger");
    let pem = HttpSettings {
        ca_pem: Some(b"no certificate".to_vec()),
        proxy: None,
        waits: None,
    };
    let error = Http::new(&pem, clock(), TaskSet::new()).unwrap_err();
    assert!(matches!(error, HttpError::Tls { .. }), "{error:?}");
}

#[test]
fn addresses_are_taken_apart() {
    let base = Url::parse("https://Graph.Example.com:8443/base/").unwrap();
    let url = base.join("/v1.0/me?$x=1").unwrap();
    assert_eq!(
        url.to_string(),
        "https://graph.example.com:8443/base/v1.0/me?$x=1"
    );
    assert_eq!(
        format!("{url:?}"),
        "https://graph.example.com:8443/base/v1.0/me"
    );
    assert_eq!(url.origin(), base.origin());
    for (text, error) in [
        ("http://example.com", UrlError::Scheme),
        ("ftp://example.com", UrlError::Scheme),
        ("https://me:x@example.com", UrlError::UserInfo),
        ("example.com", UrlError::Scheme),
        ("https://", UrlError::Syntax),
        ("", UrlError::Syntax),
    ] {
        assert_eq!(Url::parse(text).unwrap_err(), error, "{text}");
    }
    assert!(Url::proxy("http://127.0.0.1:3128").is_ok());
    assert_ne!(
        Url::parse("https://example.com").unwrap().origin(),
        Url::parse("https://example.com:444").unwrap().origin()
    );
}

#[derive(Debug, Default)]
struct Kept(std::sync::Mutex<Vec<(String, Wall)>>);

impl WaitMemory for Kept {
    fn kept(&self, _account: &str) -> Vec<(String, Wall)> {
        self.0.lock().unwrap().clone()
    }

    fn keep(&self, _account: &str, requests: &str, not_before: Wall) {
        self.0
            .lock()
            .unwrap()
            .push((requests.to_owned(), not_before));
    }
}

#[tokio::test]
async fn a_wait_outlives_the_process() {
    let busy = Answer::json(429, &json!({})).with("retry-after", "600");
    let stand = Stand::in_turn(vec![busy, ok()]).await;
    let kept = Arc::new(Kept::default());
    let client = || {
        let settings = HttpSettings {
            ca_pem: Some(stand.ca_pem.clone().into_bytes()),
            proxy: None,
            waits: Some(Waits {
                account: "work".into(),
                memory: Arc::clone(&kept) as _,
            }),
        };
        Http::new(&settings, clock(), TaskSet::new()).unwrap()
    };
    for _ in 0..2 {
        let asked = client().send(&ctx(), &request(&stand, Method::GET)).await;
        let error = asked.unwrap_err();
        let HttpError::Throttled { retry_after } = error else {
            panic!("{error}");
        };
        assert!(retry_after > Duration::from_secs(590), "{retry_after:?}");
    }
    assert_eq!(stand.asked().len(), 1, "nobody asked early");
    let [(requests, until)] = <[_; 1]>::try_from(kept.kept("work")).unwrap();
    assert_eq!(
        requests,
        format!("{} test", request(&stand, Method::GET).url.origin())
    );
    kept.0.lock().unwrap()[0].1 = Wall(until.0 - 601_000);
    client()
        .send(&ctx(), &request(&stand, Method::GET))
        .await
        .unwrap();
}
