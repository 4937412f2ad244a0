//! Faults happen as often as ordered, where they were ordered, and nowhere else.

use std::sync::Arc;
use std::time::Duration;

use super::client::{Tenant, run};
use legation_core::clock::ManualClock;
use legation_core::{Clock as _, SharedClock, SystemClock};
use serde_json::{Value, json};

#[test]
fn a_client_that_comes_back_early_is_refused_and_reported() {
    run(async {
        let now = SystemClock.wall();
        let clock = Arc::new(ManualClock::at(now));
        let tenant = Tenant::start_with(Arc::clone(&clock) as SharedClock).await;
        let token = tenant.human("User.Read").await;
        let order = json!({"fault": "throttle", "retry_after": 60, "matching": "/me", "left": 1});
        assert_eq!(tenant.control("fault", &order).await.0, 200);
        assert_eq!(tenant.graph("GET", "/v1.0/me", &token, None).await.0, 429);
        // A request that was under way cannot have known.
        assert_eq!(tenant.graph("GET", "/v1.0/me", &token, None).await.0, 429);
        let (_, report) = tenant.control("report", &json!({"what": "early"})).await;
        assert_eq!(report["early"], json!([]));
        clock.advance(Duration::from_secs(59));
        assert_eq!(tenant.graph("GET", "/v1.0/me", &token, None).await.0, 429);
        let (_, report) = tenant.control("report", &json!({"what": "early"})).await;
        assert_eq!(report["early"].as_array().map(Vec::len), Some(1));
        clock.advance(Duration::from_secs(1));
        assert_eq!(tenant.graph("GET", "/v1.0/me", &token, None).await.0, 200);
    });
}

#[test]
fn a_time_to_wait_is_told_as_seconds_as_a_date_or_not_at_all() {
    run(async {
        let now = SystemClock.wall();
        let clock = Arc::new(ManualClock::at(now));
        let tenant = Tenant::start_with(Arc::clone(&clock) as SharedClock).await;
        let token = tenant.human("User.Read").await;
        let date = crate::listen::http_date(legation_core::Wall(now.0 + 5000));
        for (order, told) in [
            (
                json!({"fault": "throttle", "retry_after": 5}),
                Some("5".to_owned()),
            ),
            (
                json!({"fault": "throttle", "retry_after": 5, "date": true}),
                Some(date),
            ),
            (json!({"fault": "throttle"}), None),
        ] {
            assert_eq!(tenant.control("clear", &json!({})).await.0, 200);
            assert_eq!(tenant.control("fault", &order).await.0, 200);
            let (status, header) = tenant.header("/v1.0/me", &token, "retry-after").await;
            assert_eq!((status, header), (429, told), "{order}");
        }
    });
}

#[test]
fn a_cut_connection_tells_nothing_and_the_effect_is_as_ordered() {
    run(async {
        let tenant = Tenant::start().await;
        let token = tenant.human("Chat.ReadWrite").await;
        let chat = tenant.chat(&token).await;
        let path = format!("/v1.0/chats/{chat}/messages");
        for (fault, after) in [("cut", 0), ("cut-after", 1)] {
            let order = json!({"fault": fault, "matching": "POST /v1.0/chats"});
            assert_eq!(tenant.control("fault", &order).await.0, 200);
            let request = http::Request::post(&path)
                .header("host", tenant.server.address().to_string())
                .header("authorization", format!("Bearer {token}"))
                .body(http_body_util::Full::new(bytes::Bytes::from(
                    json!({"body": {"content": "x"}}).to_string(),
                )))
                .expect("a request");
            assert!(tenant.send(request).await.is_err(), "{fault}");
            let (_, list) = tenant.graph("GET", &path, &token, None).await;
            assert_eq!(
                list["value"].as_array().map(Vec::len),
                Some(after),
                "{fault}"
            );
        }
    });
}

/// All within one millisecond.
#[test]
fn a_revocation_meets_old_tokens_and_not_new_ones() {
    run(async {
        let clock = Arc::new(ManualClock::at(SystemClock.wall()));
        let tenant = Tenant::start_with(clock as SharedClock).await;
        let refresh = async |old: &Value| {
            let form = [
                ("client_id", tenant.env("CLIENT_ID")),
                ("grant_type", "refresh_token".to_owned()),
                ("refresh_token", text(old, "refresh_token")),
                (
                    "claims",
                    r#"{"access_token":{"xms_cc":{"values":["CP1"]}}}"#.to_owned(),
                ),
            ];
            let form: Vec<(&str, &str)> = form.iter().map(|(key, text)| (*key, &**text)).collect();
            tenant.token(&form).await
        };
        let me = async |answer: &Value| {
            let token = text(answer, "access_token");
            tenant.graph("GET", "/v1.0/me", &token, None).await.0
        };
        let old = tenant.sign_in("User.Read offline_access").await;
        assert_eq!(tenant.control("revoke", &json!({})).await.0, 200);
        assert_eq!(me(&old).await, 401);
        let (status, fresh) = refresh(&old).await;
        assert_eq!(status, 200, "{fresh}");
        assert_eq!(me(&fresh).await, 200);

        let order = json!({"user": tenant.env("HUMAN_ID"), "sessions": true});
        assert_eq!(tenant.control("revoke", &order).await.0, 200);
        assert_eq!(me(&fresh).await, 401);
        let (status, refused) = refresh(&fresh).await;
        assert_eq!((status, &refused["error_codes"][0]), (400, &json!(50_173)));
        let again = tenant.sign_in("User.Read offline_access").await;
        assert_eq!(me(&again).await, 200);
        let (status, newer) = refresh(&again).await;
        assert_eq!((status, me(&newer).await), (200, 200));
    });
}

fn text(answer: &Value, member: &str) -> String {
    answer[member].as_str().expect("a text").to_owned()
}

#[test]
fn clocks_lifetimes_and_accounts_are_set() {
    run(async {
        let tenant = Tenant::start().await;
        let token = tenant.human("User.Read").await;
        for (command, body, status) in [
            ("skew", json!({"seconds": 36_000}), 401),
            ("skew", json!({"seconds": 0}), 200),
            (
                "account",
                json!({"user": tenant.env("HUMAN_ID"), "on": false}),
                401,
            ),
            (
                "account",
                json!({"user": tenant.env("HUMAN_ID"), "on": true}),
                200,
            ),
        ] {
            assert_eq!(tenant.control(command, &body).await.0, 200, "{command}");
            let said = tenant.graph("GET", "/v1.0/me", &token, None).await.0;
            assert_eq!(said, status, "{command} {body}");
        }
        assert_eq!(
            tenant.control("lifetime", &json!({"seconds": 600})).await.0,
            200
        );
        assert_eq!(tenant.sign_in("User.Read").await["expires_in"], 600);
        let order = json!({"fault": "nonsense"});
        assert_eq!(tenant.control("fault", &order).await.0, 400);
    });
}
