//! No token and no secret lies anywhere in clear.

use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex};

use legation_config::{Environment, Settings};
use legation_entra::Cloud;
use legation_entra::token::Role;

use serde_json::json;
use tracing_subscriber::fmt::MakeWriter;

use super::stand::{Stand, ctx};

fn search(folder: &Path, needles: &[String], found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            search(&path, needles, found);
            continue;
        }
        let bytes = std::fs::read(&path).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        for needle in needles {
            if text.contains(needle.as_str()) {
                found.push(format!("{} holds {}…", path.display(), &needle[..8]));
            }
        }
    }
}

#[tokio::test]
async fn the_data_directory_holds_no_secret_in_clear() {
    let stand = Stand::new().await;
    let person = stand.account(stand.settings());
    stand.sign_in(&person, Role::Human).await;
    person.bootstrap(&ctx()).await.unwrap();
    let agent = stand.agent();
    let blueprint = legation_core::Secret::new(stand.env["BLUEPRINT_SECRET"].as_str());
    agent
        .keep_secret(&stand.env["BLUEPRINT_ID"], &blueprint)
        .await
        .unwrap();
    agent.bootstrap(&ctx()).await.unwrap();
    let needles = vec![
        stand.env["BLUEPRINT_SECRET"].clone(),
        stand.env["API_CLIENT_SECRET"].clone(),
        "refresh/human".to_owned(),
        // How every JWT begins.
        "eyJ0eXAi".to_owned(),
        "eyJhbGci".to_owned(),
    ];
    let mut found = Vec::new();
    search(&stand.home(), &needles, &mut found);
    assert_eq!(found, Vec::<String>::new());
    assert!(stand.home().join("secrets").is_file());
    let shown = format!("{person:?} {agent:?} {:?}", agent.settings());
    assert!(!shown.contains(&stand.env["BLUEPRINT_SECRET"]), "{shown}");
}

/// Keeps what is logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

#[tokio::test]
async fn no_level_of_the_log_holds_a_secret() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(log.clone())
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let stand = Stand::new().await;
    let person = stand.account(stand.settings());
    stand.sign_in(&person, Role::Human).await;
    stand
        .fault(json!({ "fault": "status", "status": 503 }))
        .await;
    person.bootstrap(&ctx()).await.unwrap();
    person.chats().connect(&ctx()).await.unwrap();
    let agent = stand.agent();
    agent.bootstrap(&ctx()).await.unwrap();
    stand.order("revoke", json!({})).await;
    agent.chats().connect(&ctx()).await.unwrap();
    let mut settings = stand.agent_settings();
    settings.blueprint_secret = Some(legation_core::Secret::new("wrong-secret"));
    let error = stand.account(settings).bootstrap(&ctx()).await.unwrap_err();
    let said = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(said.contains("sent again"), "something is logged: {said}");
    let all = format!("{said} {error} {error:?} {}", error.hint());
    for needle in [
        stand.env["BLUEPRINT_SECRET"].as_str(),
        stand.env["API_CLIENT_SECRET"].as_str(),
        "wrong-secret",
        "eyJ",
        "refresh_token",
        "client_assertion",
        "Bearer ",
    ] {
        assert!(!all.contains(needle), "{needle} in {all}");
    }
}

#[test]
fn the_settings_and_the_client_name_the_same_clouds() {
    for cloud in Cloud::ALL {
        let folder = tempfile::tempdir().unwrap();
        let home = legation_core::Home::at(folder.path());
        let text = format!(
            "[accounts.work]\nentity = \"personal\"\ntenant_id = \"example.com\"\ncloud = \"{}\"\n",
            cloud.as_str()
        );
        std::fs::write(home.settings(), text).unwrap();
        let environment = Environment::from_pairs::<&str, &str>([]);
        let settings = Settings::load(&home, &environment, &[]).unwrap();
        assert_eq!(Cloud::parse(&settings.accounts["work"].cloud), Some(cloud));
    }
}
