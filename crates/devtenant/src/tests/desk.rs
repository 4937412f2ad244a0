//! The human's desk: who gets in, and what its forms do.

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use serde_json::{Value, json};

use super::client::{Tenant, run};
use crate::human::Human;
use crate::web::encoded;

/// Sends a form, or opens the page, with these headers; status and text.
async fn desk(
    tenant: &Tenant,
    query: &str,
    headers: &[(&str, &str)],
    form: Option<&[(&str, &str)]>,
) -> (u16, String) {
    let path = format!("/human{query}");
    let (mut request, body) = match form {
        None => (Request::get(path), String::new()),
        Some(form) => {
            let pairs = form
                .iter()
                .map(|(name, value)| format!("{name}={}", encoded(value)));
            (Request::post(path), pairs.collect::<Vec<_>>().join("&"))
        }
    };
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request
        .header("host", tenant.server.address().to_string())
        .body(Full::new(Bytes::from(body)))
        .expect("a request");
    let (status, body) = tenant.send(request).await.expect("an answer");
    (status, String::from_utf8_lossy(&body).into_owned())
}

fn token(tenant: &Tenant) -> String {
    let control = std::fs::read(tenant.dir.path().join("control.json")).expect("a file");
    let control: Value = serde_json::from_slice(&control).expect("JSON");
    control["token"].as_str().expect("a token").to_owned()
}

/// A chat of the person with the agent.
async fn chat(tenant: &Tenant) -> String {
    let human = tenant.human("Chat.Create Chat.ReadWrite").await;
    let member = |id: String| {
        json!({
            "@odata.type": "#microsoft.graph.aadUserConversationMember", "roles": ["owner"],
            "user@odata.bind": format!("https://graph.microsoft.com/v1.0/users('{id}')"),
        })
    };
    let members = [tenant.env("HUMAN_ID"), tenant.env("AGENT_USER_ID")].map(member);
    let body = json!({"chatType": "oneOnOne", "members": members});
    let (_, chat) = tenant
        .graph("POST", "/v1.0/chats", &human, Some(&body))
        .await;
    chat["id"].as_str().expect("a chat").to_owned()
}

#[test]
fn nobody_gets_to_the_desk_without_its_token() {
    run(async {
        let tenant = Tenant::start().await;
        let token = token(&tenant);
        let cookie = format!("other=1; desk={}", encoded(&token));
        let link = format!("?token={}", encoded(&token));
        let say: &[(&str, &str)] = &[("do", "clear")];
        let right: &[(&str, &str)] = &[("token", &token)];
        let wrong: &[(&str, &str)] = &[("token", "wrong")];
        let evil = ("origin", "https://evil.example.com");
        type Case<'a> = (
            &'a str,
            Vec<(&'a str, &'a str)>,
            Option<&'a [(&'a str, &'a str)]>,
            u16,
            &'a str,
        );
        let cases: Vec<Case<'_>> = vec![
            ("", vec![], None, 200, "type=\"password\""),
            (
                "",
                vec![("cookie", "desk=wrong")],
                None,
                200,
                "type=\"password\"",
            ),
            ("?token=wrong", vec![], None, 401, "not the token"),
            (&link, vec![], None, 303, ""),
            (
                "",
                vec![("cookie", &cookie)],
                None,
                200,
                "You are <strong>Alex Sample",
            ),
            ("", vec![], Some(say), 401, "not the token"),
            ("", vec![], Some(wrong), 401, "not the token"),
            ("", vec![], Some(right), 303, ""),
            ("", vec![("cookie", &cookie)], Some(say), 303, ""),
            // A form of another site, with the cookie that a browser would not send.
            (
                "",
                vec![("cookie", &cookie), evil],
                Some(say),
                405,
                "Not possible",
            ),
            (
                "",
                vec![("cookie", &cookie)],
                Some(&[("do", "revoke")]),
                400,
                "no command",
            ),
        ];
        for (query, headers, form, status, text) in cases {
            let (said, page) = desk(&tenant, query, &headers, form).await;
            assert_eq!(said, status, "{query} {headers:?} {form:?}: {page}");
            assert!(page.contains(text), "{text} in {page}");
            let shows = page.contains("Alex Sample");
            assert_eq!(
                shows,
                headers.iter().any(|(_, value)| *value == cookie) && said < 405 && said != 303,
                "{page}"
            );
        }
    });
}

#[test]
fn the_desk_writes_sends_sets_and_orders() {
    run(async {
        let tenant = Tenant::start().await;
        let chat = chat(&tenant).await;
        let cookie = format!("desk={}", encoded(&token(&tenant)));
        let headers = [("cookie", cookie.as_str())];
        let agent = tenant.env("AGENT_USER_ID");
        let forms: [&[(&str, &str)]; 5] = [
            &[
                ("do", "say"),
                ("chat_id", &chat),
                ("text", "Yes,\r\n<b>go</b>"),
            ],
            &[
                ("do", "mail"),
                ("to", &agent),
                ("subject", "Hello"),
                ("body", "there"),
            ],
            &[
                ("do", "meeting"),
                ("subject", "Later"),
                ("start", "2026-12-01T10:00"),
                ("end", "2026-12-01T11:00"),
            ],
            &[
                ("do", "fault"),
                ("fault", "throttle"),
                ("retry_after", "7"),
                ("left", "always"),
                ("matching", "/never"),
            ],
            &[
                ("do", "fault"),
                ("fault", "status"),
                ("status", "503"),
                ("left", "2"),
                ("matching", "/<never>"),
            ],
        ];
        for form in forms {
            let (status, page) = desk(&tenant, "", &headers, Some(form)).await;
            assert_eq!(status, 303, "{form:?}: {page}");
        }
        let (_, page) = desk(&tenant, "?done=say", &headers, None).await;
        for text in [
            "Yes,\n&lt;b&gt;go",
            "role=\"status\"",
            "throttle",
            "always",
            "/&lt;never&gt;",
            "Withdraw",
        ] {
            assert!(page.contains(text), "{text} in {page}");
        }
        let (_, faults) = tenant.control("faults", &json!({})).await;
        assert_eq!(
            (&faults[0]["left"], &faults[1]["left"]),
            (&Value::Null, &json!(2)),
            "{faults}"
        );
        let id = faults[0]["id"].to_string();
        let (status, _) = desk(&tenant, "", &headers, Some(&[("do", "clear"), ("id", &id)])).await;
        let (_, left) = tenant.control("faults", &json!({})).await;
        assert_eq!(
            (status, left.as_array().map(Vec::len)),
            (303, Some(1)),
            "{left}"
        );
        for (command, what) in [("mailbox", "Hello"), ("calendar", "Later")] {
            let user = if command == "mailbox" {
                json!({"user": agent})
            } else {
                json!({})
            };
            let (_, all) = tenant.control(command, &user).await;
            assert!(all.to_string().contains(what), "{all}");
        }
    });
}

#[test]
fn what_cannot_be_done_is_said_and_escaped() {
    run(async {
        let tenant = Tenant::start().await;
        let cookie = format!("desk={}", encoded(&token(&tenant)));
        let headers = [("cookie", cookie.as_str())];
        let bad: &[(&str, &str)] = &[("do", "say"), ("chat_id", "<x>"), ("text", "hi")];
        let (status, page) = desk(&tenant, "", &headers, Some(bad)).await;
        assert!(
            status == 400 && page.contains("role=\"alert\"") && !page.contains("<x>"),
            "{page}"
        );
    });
}

#[test]
fn a_person_approves_a_code_on_the_page_as_themselves() {
    run(async {
        let tenant = Tenant::start().await;
        let path = format!("/{}/oauth2/v2.0/devicecode", tenant.env("TENANT_ID"));
        let client = tenant.env("CLIENT_ID");
        for (human, id) in [
            (Human::at(tenant.dir.path()), Some(tenant.env("HUMAN_ID"))),
            (Human::named(tenant.dir.path(), "Blake Sample"), None),
        ] {
            let form = [
                ("client_id", client.as_str()),
                ("scope", "User.Read openid"),
            ];
            let (_, code) = tenant.form(&path, &form).await;
            let user_code = code["user_code"].as_str().expect("a code");
            human.approve_on_page(user_code).await.expect("approved");
            let again = human.approve_on_page(user_code).await.expect_err("used");
            assert!(again.to_string().contains("does not ask"), "{again}");
            let device = code["device_code"].as_str().expect("a code");
            let form = [
                ("client_id", client.as_str()),
                ("grant_type", "urn:ietf:params:oauth:grant-type:device_code"),
                ("device_code", device),
            ];
            let (status, token) = tenant.token(&form).await;
            assert_eq!(status, 200, "{token}");
            let access = token["access_token"].as_str().expect("a token");
            let (_, me) = tenant.graph("GET", "/v1.0/me", access, None).await;
            match id {
                Some(id) => assert_eq!(me["id"], id.as_str()),
                None => assert_eq!(me["displayName"], "Blake Sample", "{me}"),
            }
        }
        let stranger = Human::named(tenant.dir.path(), "Nobody Sample");
        let form = [("client_id", client.as_str()), ("scope", "User.Read")];
        let (_, code) = tenant.form(&path, &form).await;
        let refused = stranger.approve_on_page(code["user_code"].as_str().expect("a code"));
        let refused = refused.await.expect_err("unknown").to_string();
        assert!(refused.contains("does not know"), "{refused}");
    });
}
