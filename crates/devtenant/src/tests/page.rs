//! The page and the doors: who gets in, and how.

use super::client::{Tenant, run};
use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use serde_json::json;

fn get(tenant: &Tenant, path: &str, host: Option<&str>) -> Request<Full<Bytes>> {
    let own = tenant.server.address().to_string();
    Request::get(path)
        .header("host", host.unwrap_or(&own))
        .body(Full::new(Bytes::new()))
        .expect("a request")
}

#[test]
fn a_form_of_another_site_decides_nothing() {
    run(async {
        let tenant = Tenant::start().await;
        let path = format!("/{}/oauth2/v2.0/devicecode", tenant.env("TENANT_ID"));
        let form = [
            ("client_id", tenant.env("CLIENT_ID")),
            ("scope", "User.Read".to_owned()),
        ];
        let form: Vec<(&str, &str)> = form.iter().map(|(a, b)| (*a, b.as_str())).collect();
        let (_, code) = tenant.form(&path, &form).await;
        let code = code["user_code"].as_str().expect("a code").to_owned();
        let account = format!("{}/{}", tenant.env("TENANT_ID"), tenant.env("HUMAN_ID"));
        let own = format!("https://{}", tenant.server.address());
        for (origin, status) in [("https://evil.example.com", 405), (own.as_str(), 200)] {
            let body = format!(
                "user_code={code}&decision=approve&account={}",
                crate::web::encoded(&account)
            );
            let request = Request::post("/device")
                .header("host", tenant.server.address().to_string())
                .header("origin", origin)
                .body(Full::new(Bytes::from(body)))
                .expect("a request");
            let (said, _) = tenant.send(request).await.expect("an answer");
            assert_eq!(said, status, "{origin}");
        }
    });
}

#[test]
fn the_page_shows_what_is_asked_and_escapes_it() {
    run(async {
        let tenant = Tenant::start().await;
        let path = format!("/{}/oauth2/v2.0/devicecode", tenant.env("TENANT_ID"));
        let client = tenant.env("CLIENT_ID");
        let (_, code) = tenant
            .form(
                &path,
                &[("client_id", &client), ("scope", "User.Read Chat.Read")],
            )
            .await;
        let page = format!(
            "/device?otc={}",
            code["user_code"].as_str().expect("a code")
        );
        let (status, body) = tenant
            .send(get(&tenant, &page, None))
            .await
            .expect("an answer");
        let text = String::from_utf8_lossy(&body);
        assert_eq!(status, 200);
        for part in [
            "<li>Chat.Read</li>",
            "Approve",
            "Decline",
            "Alex Sample",
            "lang=\"en\"",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert!(
            !text.contains("Legation Agent"),
            "an agent's user approves nothing"
        );
        let bad = "/device?otc=%3Cscript%3E";
        let (status, body) = tenant
            .send(get(&tenant, bad, None))
            .await
            .expect("an answer");
        assert_eq!(status, 400);
        assert!(!String::from_utf8_lossy(&body).contains("<script>"));
    });
}

#[test]
fn only_loopback_names_and_microsoft_s_are_served() {
    run(async {
        let tenant = Tenant::start().await;
        for (host, status) in [
            ("evil.example.com", 421),
            ("localhost.example.com", 421),
            ("localhost", 200),
            ("tenant.localhost:1", 200),
            ("[::1]:1", 200),
            ("login.microsoftonline.com", 200),
        ] {
            let request = get(&tenant, "/", Some(host));
            let (said, _) = tenant.send(request).await.expect("an answer");
            assert_eq!(said, status, "{host}");
        }
    });
}

#[test]
fn the_control_api_wants_its_own_token() {
    run(async {
        let tenant = Tenant::start().await;
        let human = tenant.human("User.Read").await;
        let body = json!({});
        for token in ["", "wrong", human.as_str()] {
            let (status, _) = tenant
                .graph("POST", "/control/revoke", token, Some(&body))
                .await;
            assert_eq!(status, 401);
        }
        assert_eq!(tenant.graph("GET", "/v1.0/me", &human, None).await.0, 200);
        assert_eq!(tenant.control("nothing", &body).await.0, 400);
        assert_eq!(
            tenant
                .control("revoke", &json!({"tenant": "third"}))
                .await
                .0,
            404
        );
    });
}

#[test]
fn nothing_but_loopback_is_listened_on() {
    run(async {
        let dir = tempfile::tempdir().expect("a folder");
        let any = "0.0.0.0:0".parse().expect("an address");
        let error = crate::server::Server::start(
            crate::server::Options {
                listen: any,
                proxy: "127.0.0.1:0".parse().expect("an address"),
                dir: dir.path().join("d"),
                env_file: None,
                control_command: Vec::new(),
                with_desk: false,
            },
            legation_core::SystemClock::shared(),
        )
        .await
        .expect_err("refused");
        assert!(error.to_string().contains("not on loopback"), "{error}");
        assert!(!dir.path().join("d").exists(), "nothing was made");
    });
}
