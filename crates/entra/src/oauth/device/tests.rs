use legation_core::{Clock as _, SystemClock};

use super::*;
use crate::error::{Class, Refusal, Step};
use crate::http::HttpError;

fn code(expires_in: u64, interval: u64) -> DeviceCode {
    let json = serde_json::json!({
        "device_code": "secret-code", "user_code": "ABCD-EFGH", "expires_in": expires_in,
        "interval": interval, "verification_uri": "https://login.example.com/device",
    });
    serde_json::from_value(json).unwrap()
}

fn refused(error: &str) -> SignInError {
    let body = serde_json::json!({ "error": error });
    SignInError::refused(Refusal::parse(Step::Poll, 400, body.to_string().as_bytes()))
}

#[test]
fn it_is_asked_in_the_interval_until_the_time_is_over() {
    let start = SystemClock.now();
    let after = |s| start + Duration::from_secs(s);
    let mut polling = Polling::start(&code(900, 5), WAIT, start);
    assert_eq!(polling.next(start), Next::Wait(Duration::from_secs(5)));
    assert_eq!(polling.next(after(5)), Next::Ask);
    polling
        .failed(refused("authorization_pending"), after(6))
        .unwrap();
    assert_eq!(polling.next(after(7)), Next::Wait(Duration::from_secs(4)));
    assert_eq!(polling.next(after(11)), Next::Ask);
    polling.failed(refused("slow_down"), after(11)).unwrap();
    assert_eq!(polling.next(after(11)), Next::Wait(Duration::from_secs(10)));
    let lost = SignInError::Unreachable {
        step: Step::Poll,
        source: HttpError::Random,
    };
    polling.failed(lost, after(21)).unwrap();
    assert_eq!(polling.next(after(119)), Next::Ask);
    assert_eq!(polling.next(after(120)), Next::TimedOut(WAIT));
    // The last wait ends with the time, not after it.
    polling
        .failed(refused("authorization_pending"), after(118))
        .unwrap();
    assert_eq!(polling.next(after(118)), Next::Wait(Duration::from_secs(2)));
}

#[test]
fn a_code_that_is_good_for_less_is_waited_for_less() {
    let start = SystemClock.now();
    let polling = Polling::start(&code(30, 0), WAIT, start);
    assert_eq!(polling.next(start), Next::Ask);
    let over = Duration::from_secs(30);
    assert_eq!(polling.next(start + over), Next::TimedOut(over));
}

#[test]
fn a_no_is_final_and_throttling_is_obeyed() {
    let start = SystemClock.now();
    let mut polling = Polling::start(&code(900, 5), WAIT, start);
    let error = polling
        .failed(refused("authorization_declined"), start)
        .unwrap_err();
    assert_eq!(error.class(), Class::ConsentDenied);
    let throttled = SignInError::RateLimited {
        step: Step::Poll,
        retry_after: Duration::from_secs(40),
    };
    polling.failed(throttled, start).unwrap();
    assert_eq!(polling.next(start), Next::Wait(Duration::from_secs(40)));
}

#[test]
fn what_is_shown_holds_the_link_and_not_the_secret() {
    let code = code(900, 5);
    let prompt = code.prompt(WAIT);
    assert!(prompt.message.contains("ABCD-EFGH") && prompt.message.contains("/device"));
    assert!(prompt.qr.lines().count() > 10, "{}", prompt.qr);
    assert_eq!(prompt.expires_in, WAIT);
    assert!(!format!("{code:?} {prompt:?}").contains("secret-code"));
}
