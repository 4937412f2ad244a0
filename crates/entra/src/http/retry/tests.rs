use http::HeaderMap;
use http::header::{HeaderValue, RETRY_AFTER};

use super::*;

const NOW: Wall = Wall(1_795_226_096_000);

fn answer(status: u16, retry_after: Option<&str>) -> Result<Response, HttpError> {
    let mut headers = HeaderMap::new();
    if let Some(text) = retry_after {
        headers.insert(RETRY_AFTER, HeaderValue::from_str(text).unwrap());
    }
    Ok(Response {
        status,
        headers,
        body: bytes::Bytes::new(),
        request_id: "".into(),
        client_request_id: "".into(),
    })
}

fn unsent() -> Result<Response, HttpError> {
    Err(HttpError::Connect {
        origin: "https://example.com".to_owned(),
        source: std::io::Error::other("x"),
    })
}

fn broken() -> Result<Response, HttpError> {
    Err(HttpError::Broken {
        source: "x".to_owned().into(),
    })
}

fn late() -> Result<Response, HttpError> {
    Err(HttpError::Timeout {
        after: Duration::from_secs(1),
    })
}

#[derive(Debug, PartialEq)]
enum Want {
    Done,
    Again,
    TooLong,
}

#[test]
fn what_may_be_sent_again_is() {
    use Want::{Again, Done, TooLong};
    let rows: Vec<(Result<Response, HttpError>, [Want; 3])> = vec![
        (answer(200, None), [Done, Done, Done]),
        (answer(400, None), [Done, Done, Done]),
        (answer(401, None), [Done, Done, Done]),
        (answer(404, Some("1")), [Done, Done, Done]),
        (answer(409, None), [Done, Done, Done]),
        (answer(500, None), [Done, Done, Done]),
        (answer(429, None), [Again, Again, Done]),
        (answer(429, Some("3")), [Again, Again, TooLong]),
        (answer(429, Some("100000")), [TooLong, TooLong, TooLong]),
        (answer(502, None), [Again, Done, Done]),
        (answer(503, Some("3")), [Again, Done, Done]),
        (answer(504, None), [Again, Done, Done]),
        (unsent(), [Again, Again, Done]),
        (broken(), [Again, Done, Done]),
        (late(), [Again, Done, Done]),
        (Err(HttpError::TooLarge { most: 1 }), [Done, Done, Done]),
        (Err(HttpError::Random), [Done, Done, Done]),
    ];
    for (result, wanted) in rows {
        let repeats = [Repeat::Safe, Repeat::Refused, Repeat::Never];
        for (repeat, wanted) in repeats.into_iter().zip(wanted) {
            let got = match Attempt::first(repeat).decide(&result, NOW, 0.5) {
                Verdict::Done { .. } => Done,
                Verdict::Again { .. } => Again,
                Verdict::TooLong { .. } => TooLong,
            };
            assert_eq!(got, wanted, "{result:?} {repeat:?}");
        }
    }
}

#[test]
fn a_named_time_holds_for_all_and_five_tries_are_enough() {
    let mut attempt = Attempt::first(Repeat::Safe);
    let wait = Duration::from_secs(3);
    for _ in 1..TRIES {
        let verdict = attempt.decide(&answer(429, Some("3")), NOW, 0.0);
        assert_eq!(
            verdict,
            Verdict::Again {
                wait,
                for_all: true
            }
        );
        assert_eq!(verdict.hold(), Some(wait));
    }
    let last = attempt.decide(&answer(429, Some("3")), NOW, 0.0);
    assert_eq!(last, Verdict::TooLong { wait });
    // Who may not repeat tells the others all the same.
    let verdict = Attempt::first(Repeat::Refused).decide(&answer(503, Some("3")), NOW, 0.0);
    assert_eq!(verdict.hold(), Some(wait));
}

#[test]
fn waits_double_up_to_a_bound_and_are_any_part_of_it() {
    for (done, random, wait_ms) in [
        (1, 1.0, 500),
        (2, 1.0, 1_000),
        (4, 1.0, 4_000),
        (4, 0.25, 1_000),
        (4, 0.0, 0),
        (20, 1.0, 30_000),
    ] {
        let attempt = Attempt {
            repeat: Repeat::Safe,
            done,
        };
        assert_eq!(attempt.backoff(random), Duration::from_millis(wait_ms));
    }
}

#[test]
fn retry_after_is_seconds_or_a_date() {
    for (text, wait_s) in [
        ("0", Some(0.0)),
        ("7", Some(7.0)),
        (" 2.5 ", Some(2.5)),
        ("99999999999", Some(86_400.0)),
        ("Sat, 21 Nov 2026 01:55:06 GMT", Some(10.0)),
        ("Sat, 21 Nov 2026 01:00:00 GMT", Some(0.0)),
        ("-1", None),
        ("soon", None),
        ("NaN", None),
        ("", None),
    ] {
        let mut headers = HeaderMap::new();
        headers.insert(RETRY_AFTER, HeaderValue::from_str(text).unwrap());
        let wait = retry_after(&headers, NOW);
        assert_eq!(wait, wait_s.map(Duration::from_secs_f64), "{text:?}");
    }
}
