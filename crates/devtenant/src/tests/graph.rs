//! Graph, as far as a library would not notice a mistake.

use super::client::{Tenant, run};
use serde_json::json;

#[test]
fn every_spelling_of_a_path_is_one_operation() {
    run(async {
        let tenant = Tenant::start().await;
        let token = tenant.human("User.Read User.ReadBasic.All Mail.Read").await;
        let id = tenant.env("HUMAN_ID");
        for path in [
            "/v1.0/me".to_owned(),
            "/v1.0//me".to_owned(),
            format!("/v1.0/users/{id}"),
            format!("/v1.0/users('{id}')"),
            format!("/v1.0/users%28%27{id}%27%29"),
            format!("/beta/users/{}", id.to_uppercase()),
            "/v1.0/users/alex.sample%40first.example.com".to_owned(),
        ] {
            let (status, body) = tenant.graph("GET", &path, &token, None).await;
            assert_eq!(
                (status, body["id"].as_str()),
                (200, Some(id.as_str())),
                "{path}"
            );
        }
        for path in ["delta", "delta()", "microsoft.graph.delta()"] {
            let path = format!("/v1.0/me/mailFolders('inbox')/messages/{path}");
            assert_eq!(
                tenant.graph("GET", &path, &token, None).await.0,
                200,
                "{path}"
            );
        }
    });
}

#[test]
fn a_message_is_written_only_by_members_and_with_the_permission() {
    run(async {
        let tenant = Tenant::start().await;
        let token = tenant.human("Chat.ReadWrite").await;
        let chat = tenant.chat(&token).await;
        let path = format!("/v1.0/chats/{chat}/messages");
        let body = json!({"body": {"content": "hello"}});
        assert_eq!(
            tenant.graph("POST", &path, &token, Some(&body)).await.0,
            201
        );
        let reader = tenant.human("Chat.Read").await;
        assert_eq!(tenant.graph("GET", &path, &reader, None).await.0, 200);
        let (status, refused) = tenant.graph("POST", &path, &reader, Some(&body)).await;
        assert_eq!(
            (status, refused["error"]["code"].as_str()),
            (403, Some("Forbidden"))
        );
        // Somebody else of the same tenant.
        let (_, code) = tenant
            .form(
                &format!("/{}/oauth2/v2.0/devicecode", tenant.env("TENANT_ID")),
                &[
                    ("client_id", &tenant.env("CLIENT_ID")),
                    ("scope", "Chat.ReadWrite"),
                ],
            )
            .await;
        let decision = json!({
            "user_code": code["user_code"],
            "approve": true,
            "user": "blake.sample@first.example.com",
        });
        assert_eq!(tenant.control("decide", &decision).await.0, 200);
        let (_, other) = tenant
            .token(&[
                ("client_id", &tenant.env("CLIENT_ID")),
                ("grant_type", "device_code"),
                ("device_code", code["device_code"].as_str().expect("a code")),
            ])
            .await;
        let other = other["access_token"].as_str().expect("a token");
        assert_eq!(tenant.graph("GET", &path, other, None).await.0, 403);
        assert_eq!(tenant.graph("POST", &path, other, Some(&body)).await.0, 403);
    });
}

#[test]
fn a_link_leads_where_the_client_came_from() {
    run(async {
        let tenant = Tenant::start().await;
        let token = tenant.human("User.ReadBasic.All").await;
        let (_, page) = tenant
            .graph("GET", "/v1.0/users?$top=1", &token, None)
            .await;
        let link = page["@odata.nextLink"].as_str().expect("a link");
        let origin = format!("https://{}", tenant.server.address());
        let path = link.strip_prefix(&origin).expect("its own origin");
        let (status, next) = tenant.graph("GET", path, &token, None).await;
        assert_eq!(status, 200);
        assert_ne!(next["value"][0]["id"], page["value"][0]["id"]);
    });
}

#[test]
fn the_human_sees_what_was_set() {
    run(async {
        let tenant = Tenant::start().await;
        let meeting = json!({
            "subject": "review",
            "start": "2026-12-01T10:00:00Z",
            "end": "2026-12-01T11:00:00Z",
        });
        assert_eq!(tenant.control("meeting", &meeting).await.0, 200);
        let (_, calendar) = tenant.control("calendar", &json!({})).await;
        assert_eq!(calendar["events"][0]["shown"]["subject"], "review");
        let (_, presence) = tenant.control("presence", &json!({})).await;
        assert!(presence.is_null(), "nothing was said: {presence}");
        let token = tenant.human("Presence.ReadWrite").await;
        let path = format!(
            "/v1.0/users/{}/presence/setPresence",
            tenant.env("HUMAN_ID")
        );
        let said = json!({"sessionId": "x", "availability": "Busy", "activity": "InACall"});
        assert_eq!(
            tenant.graph("POST", &path, &token, Some(&said)).await.0,
            200
        );
        let (_, presence) = tenant.control("presence", &json!({})).await;
        assert_eq!(presence["sessions"][0]["activity"], "InACall");
    });
}

#[test]
fn what_is_unknown_is_refused_and_reported_once() {
    run(async {
        let tenant = Tenant::start().await;
        let token = tenant.human("User.Read").await;
        for _ in 0..2 {
            let (status, body) = tenant.graph("GET", "/v1.0/me/drive", &token, None).await;
            assert_eq!(
                (status, body["error"]["code"].as_str()),
                (400, Some("BadRequest"))
            );
        }
        let (_, report) = tenant.control("report", &json!({"what": "unknown"})).await;
        assert_eq!(report["unknown"]["GET /v1.0/me/drive"], 2);
        let (_, report) = tenant
            .control("report", &json!({"what": "permissions"}))
            .await;
        assert_eq!(
            report["calls"],
            json!([]),
            "an unknown call needs no permission"
        );
    });
}

#[test]
fn the_permissions_report_says_the_least_that_would_do() {
    run(async {
        let tenant = Tenant::start().await;
        let token = tenant.human("Chat.ReadWrite User.Read").await;
        let chat = tenant.chat(&token).await;
        let path = format!("/v1.0/chats/{chat}/messages");
        let body = json!({"body": {"content": "x"}});
        tenant.graph("POST", &path, &token, Some(&body)).await;
        let (_, report) = tenant
            .control("report", &json!({"what": "permissions"}))
            .await;
        assert_eq!(report["least"], json!(["Chat.Create", "ChatMessage.Send"]));
        assert_eq!(
            report["moreThanNeeded"],
            json!(["Chat.ReadWrite", "User.Read"])
        );
    });
}
