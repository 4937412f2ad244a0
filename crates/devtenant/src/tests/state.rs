//! What is kept over a restart.

use std::os::unix::fs::PermissionsExt as _;

use super::client::{Tenant, run};
use serde_json::json;

#[test]
fn a_restart_loses_nothing_and_changes_no_key() {
    run(async {
        let tenant = Tenant::start().await;
        let answer = tenant.sign_in("Chat.ReadWrite offline_access").await;
        let token = answer["access_token"].as_str().expect("a token").to_owned();
        let chat = tenant.chat(&token).await;
        let path = format!("/v1.0/chats/{chat}/messages");
        let body = json!({"body": {"content": "kept"}});
        assert_eq!(
            tenant.graph("POST", &path, &token, Some(&body)).await.0,
            201
        );
        let before = tenant.env("API_CLIENT_SECRET");
        let authority = std::fs::read(tenant.dir.path().join("ca.pem")).expect("there");
        let Tenant { server, dir } = tenant;
        server.stop().await.expect("stopped");
        let tenant = Tenant {
            server: Tenant::serve(dir.path(), legation_core::SystemClock::shared()).await,
            dir,
        };
        assert_eq!(tenant.env("API_CLIENT_SECRET"), before);
        let now = std::fs::read(tenant.dir.path().join("ca.pem")).expect("there");
        assert_eq!(now, authority);
        let (status, list) = tenant.graph("GET", &path, &token, None).await;
        assert_eq!(status, 200, "{list}");
        assert_eq!(list["value"][0]["body"]["content"], "kept");
        let (status, _) = tenant
            .token(&[
                ("client_id", &tenant.env("CLIENT_ID")),
                ("grant_type", "refresh_token"),
                (
                    "refresh_token",
                    answer["refresh_token"].as_str().expect("a token"),
                ),
            ])
            .await;
        assert_eq!(status, 200);
    });
}

#[test]
fn another_tenant_has_its_own_people_and_file() {
    run(async {
        let tenant = Tenant::start().await;
        let wanted = json!({
            "name": "third", "domain": "third.example.com", "human": "Ira Sample",
        });
        let (status, made) = tenant.control("add-tenant", &wanted).await;
        assert_eq!(status, 200, "{made}");
        assert_eq!(tenant.control("add-tenant", &wanted).await.0, 400);
        let odd = json!({"name": "../x", "domain": "x.example.com", "human": "X"});
        assert_eq!(tenant.control("add-tenant", &odd).await.0, 400);
        let Tenant { server, dir } = tenant;
        server.stop().await.expect("stopped");
        let server = Tenant::serve(dir.path(), legation_core::SystemClock::shared()).await;
        let text = std::fs::read_to_string(dir.path().join("env.third")).expect("written");
        let id = made["id"].as_str().expect("an id");
        assert!(text.contains(&format!("TENANT_ID={id}\n")), "{text}");
        server.stop().await.expect("stopped again");
    });
}

#[test]
fn every_file_is_its_owner_s_alone() {
    run(async {
        let tenant = Tenant::start().await;
        for entry in std::fs::read_dir(tenant.dir.path()).expect("listed") {
            let path = entry.expect("an entry").path();
            let mode = std::fs::metadata(&path)
                .expect("there")
                .permissions()
                .mode();
            assert_eq!(mode & 0o077, 0, "{}", path.display());
        }
    });
}

#[test]
fn a_state_that_cannot_be_read_is_not_overwritten() {
    run(async {
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("state.json");
        std::fs::write(&file, "{").expect("written");
        let free = "127.0.0.1:0".parse().expect("an address");
        let error = crate::server::Server::start(
            crate::server::Options {
                listen: free,
                proxy: free,
                dir: dir.path().to_owned(),
                env_file: None,
                control_command: Vec::new(),
                with_desk: false,
            },
            legation_core::SystemClock::shared(),
        )
        .await
        .expect_err("refused");
        assert!(error.to_string().contains("move it away"), "{error}");
        assert_eq!(std::fs::read(&file).expect("there"), b"{");
    });
}
