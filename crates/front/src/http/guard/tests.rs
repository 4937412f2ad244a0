use http::{HeaderMap, HeaderValue, StatusCode, header};
use legation_core::{ClientId, Via};

use super::*;

fn headers(name: &header::HeaderName, values: &[&str]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for value in values {
        headers.append(name, HeaderValue::from_str(value).expect("a value"));
    }
    headers
}

#[test]
fn only_the_hubs_own_hosts_pass() {
    let settings = FrontSettings {
        hosts: vec!["hub.example:443".into()],
        ..FrontSettings::default()
    };
    let uri = Target::parse("/mcp").expect("a target");
    for good in [
        "127.0.0.1:48080",
        "localhost:48080",
        "LOCALHOST:48080",
        "[::1]:48080",
        "hub.example:443",
        "127.0.0.2:48080",
    ] {
        assert_eq!(
            host(&uri, &headers(&header::HOST, &[good]), 48080, &settings),
            Ok(Named::Own),
            "{good}"
        );
    }
    for foreign in [
        "evil.com",
        "evil.com:48080",
        "127.0.0.1.evil.com:48080",
        "localhost.evil:48080",
        "0.0.0.0:48080",
        "127.0.0.1",
        "127.0.0.1:80",
        "127.0.0.1:48080@evil.com",
        "127.1:48080",
        "0x7f.1:48080",
        "[::1",
        "[::1]x48080",
        "localhost:+48080",
        "",
    ] {
        let refused = host(&uri, &headers(&header::HOST, &[foreign]), 48080, &settings);
        assert_eq!(
            refused.expect_err(foreign).status,
            StatusCode::FORBIDDEN,
            "{foreign}"
        );
    }
    let doubled: [&[&str]; 2] = [&["localhost:48080", "localhost:48080"], &[]];
    for hosts in doubled {
        let refused = host(&uri, &headers(&header::HOST, hosts), 48080, &settings);
        assert_eq!(
            refused.expect_err("unclear").status,
            StatusCode::BAD_REQUEST,
            "{hosts:?}"
        );
    }
    let absolute = Target::parse("http://evil.com/mcp").expect("a target");
    let refused = host(
        &absolute,
        &headers(&header::HOST, &["localhost:48080"]),
        48080,
        &settings,
    );
    assert_eq!(
        refused.expect_err("differs").status,
        StatusCode::BAD_REQUEST
    );
}

#[test]
fn foreign_origins_are_refused() {
    let settings = FrontSettings::default();
    assert_eq!(origin(&HeaderMap::new(), 48080, &settings), Ok(()));
    for good in [
        "http://127.0.0.1:48080",
        "http://localhost:48080",
        "http://[::1]:48080",
    ] {
        assert_eq!(
            origin(&headers(&header::ORIGIN, &[good]), 48080, &settings),
            Ok(()),
            "{good}"
        );
    }
    let bad: [&[&str]; 8] = [
        &["null"],
        &["http://evil.com"],
        &["http://localhost:48080", "http://localhost:48080"],
        &["http://user@localhost:48080"],
        &["http://localhost:48080/path"],
        &["http://localhost:9999"],
        &["localhost:48080"],
        &["file://localhost:48080"],
    ];
    for origins in bad {
        let refused = origin(&headers(&header::ORIGIN, origins), 48080, &settings);
        assert_eq!(
            refused.expect_err("foreign").status,
            StatusCode::FORBIDDEN,
            "{origins:?}"
        );
    }
}

#[test]
fn tokens_in_the_address_are_refused() {
    for bad in [
        "/mcp?token=x",
        "/mcp?a=b&access_token=x",
        "/mcp?TOKEN=x",
        "/mcp?token",
    ] {
        let uri = Target::parse(bad).expect("a target");
        assert_eq!(query(&uri).expect_err(bad).status, StatusCode::UNAUTHORIZED);
    }
    let fine = Target::parse("/messages?sessionId=x").expect("a target");
    assert_eq!(query(&fine), Ok(()));
}

#[derive(Debug)]
struct One;

impl Authenticator for One {
    fn bearer(&self, token: &str) -> Option<ClientId> {
        (token == "good").then(|| ClientId::new("claude"))
    }

    fn local(&self, _name: Option<&str>) -> Option<ClientId> {
        None
    }
}

#[test]
fn one_good_bearer_token_is_asked_for() {
    let settings = FrontSettings::default();
    let ask = |values: &[&str]| {
        principal(
            &headers(&header::AUTHORIZATION, values),
            (Via::Http, Named::Own),
            &One,
            &settings,
        )
    };
    let client = |values: &[&str]| ask(values).map(|shown| shown.principal.client.to_string());
    assert_eq!(client(&["Bearer good"]).expect("good"), "claude");
    assert_eq!(client(&["bearer good"]).expect("good"), "claude");
    let long = format!("Bearer {}", "x".repeat(1 << 16));
    let bad: [&[&str]; 8] = [
        &[],
        &["Bearer"],
        &["Bearer "],
        &["Bearer bad"],
        &["Basic good"],
        &["good"],
        &["Bearer good", "Bearer good"],
        &[&long],
    ];
    for values in bad {
        let Err(Halt::Rejected(rejected)) = ask(values) else {
            panic!("{values:?} was not refused");
        };
        assert_eq!(rejected.status, StatusCode::UNAUTHORIZED);
    }
    let mut odd = HeaderMap::new();
    odd.insert(
        header::AUTHORIZATION,
        HeaderValue::from_bytes(b"Bearer g\xf6od").expect("bytes"),
    );
    assert!(principal(&odd, (Via::Http, Named::Own), &One, &settings).is_err());
}

#[test]
fn bodies_are_plain_json() {
    let kind = |value: &str| content(&headers(&header::CONTENT_TYPE, &[value]));
    for good in [
        "application/json",
        "application/json; charset=utf-8",
        "APPLICATION/JSON",
    ] {
        assert_eq!(kind(good), Ok(()), "{good}");
    }
    for bad in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
        "application/jsonx",
        "",
    ] {
        assert_eq!(
            kind(bad).expect_err(bad).status,
            StatusCode::UNSUPPORTED_MEDIA_TYPE
        );
    }
    assert!(content(&HeaderMap::new()).is_err());
    for encoding in ["gzip", "br", "zstd", "deflate", "gzip, identity"] {
        let mut headers = headers(&header::CONTENT_TYPE, &["application/json"]);
        headers.insert(header::CONTENT_ENCODING, encoding.parse().expect("a value"));
        assert!(content(&headers).is_err(), "{encoding}");
    }
}

#[test]
fn accept_is_read_leniently() {
    let ask =
        |values: &[&str]| accept(&headers(&header::ACCEPT, values)).map(|a| (a.json, a.events));
    assert_eq!(ask(&[]), Ok((true, true)));
    assert_eq!(ask(&["*/*"]), Ok((true, true)));
    assert_eq!(
        ask(&["text/event-stream, application/json"]),
        Ok((true, true))
    );
    assert_eq!(
        ask(&["application/json", "text/event-stream;q=0.5"]),
        Ok((true, true))
    );
    assert_eq!(ask(&["application/json"]), Ok((true, false)));
    assert_eq!(ask(&["text/event-stream"]), Ok((false, true)));
    assert_eq!(
        ask(&["text/html"]).expect_err("refused").status,
        StatusCode::NOT_ACCEPTABLE
    );
}
