//! A whole hub behind the webhook.

use std::path::Path;

use legation_tests::harness::github::{self, Authority, Github, Signer};
use legation_tests::harness::http::Whole;
use legation_tests::harness::hub::{Hub, HubOptions};
use serde_json::{Value, json};

use super::{LOGIN, TOKEN, event, message};

/// A hub with a webhook, and GitHub.
struct Whose {
    hub: Hub,
    github: Github,
    authority: Authority,
    signer: Signer,
    port: u16,
    _folder: tempfile::TempDir,
}

impl Whose {
    async fn start() -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let authority = Authority::new()?;
        let github = Github::start(&authority).await?;
        let signer = Signer::new("key-1")?;
        github.list(&[&signer]);
        github.knows(TOKEN, "Jordan-Example");
        github.knows("ghu_other", "somebody-else");
        let (certificate, key) = authority.files(folder.path())?;
        let trusted = folder.path().join("github.pem");
        std::fs::write(&trusted, &authority.pem)?;
        let port = std::net::TcpListener::bind("127.0.0.1:0")?
            .local_addr()?
            .port();
        let settings = format!(
            "[copilot]\nlisten = \"127.0.0.1:{port}\"\ncertificate_file = {certificate:?}\n\
             key_file = {key:?}\ngithub = \"{}\"\ngithub_ca_file = {trusted:?}\n",
            github.url()
        );
        let hub = Hub::start(HubOptions {
            template: Some("business"),
            settings,
            ..HubOptions::default()
        })
        .await?;
        Ok(Self {
            hub,
            github,
            authority,
            signer,
            port,
            _folder: folder,
        })
    }

    async fn ask(&self, text: &str, token: &str) -> anyhow::Result<Whole> {
        let body = message(text);
        let fields = self.signer.fields(&body, token)?;
        github::post(self.port, &self.authority, github::request(&body, &fields)?).await
    }

    async fn records(&self) -> anyhow::Result<Vec<Value>> {
        let arguments = ["audit", "export", "--format", "jsonl"];
        let (code, out, error) = self.hub.run(&arguments).await?;
        assert_eq!(code, 0, "{error}");
        let lines = out.lines().map(serde_json::from_str::<Value>);
        lines.map(|line| Ok(line?["record"].take())).collect()
    }
}

/// Every file below a folder that holds a text.
fn holding(folder: &Path, text: &str) -> anyhow::Result<Vec<String>> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                open.push(path);
            } else if path.is_file() {
                let bytes = std::fs::read(&path)?;
                let is_there = bytes
                    .windows(text.len())
                    .any(|part| part == text.as_bytes());
                found.extend(is_there.then(|| path.display().to_string()));
            }
        }
    }
    Ok(found)
}

#[tokio::test]
async fn a_person_of_the_list_is_answered_and_everything_is_on_record() -> anyhow::Result<()> {
    let whose = Whose::start().await?;
    let answer = whose.ask("status", TOKEN).await?;
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert!(answer.body.ends_with("data: [DONE]\n\n"), "{}", answer.body);
    assert_eq!(whose.ask("status", "ghu_other").await?.status, 403);
    // The template lets the login ask for two businesses: nothing says which.
    let asked = whose.ask("morning brief", TOKEN).await?;
    assert!(asked.body.contains("Harbor Partners"), "{}", asked.body);
    assert!(!asked.body.contains("Meadow"), "{}", asked.body);
    let other = whose
        .ask("morning brief of Meadow Care Homes", TOKEN)
        .await?;
    let errors = event(&other.body, "copilot_errors").unwrap();
    assert_eq!(errors[0]["code"], "CLIENT_NOT_CLEARED", "{errors}");
    // The clearance of the client stands beside what the login may ask for.
    let uncleared = whose.ask("morning brief of Quarry Holdings", TOKEN).await?;
    let errors = event(&uncleared.body, "copilot_errors").unwrap();
    assert_ne!(errors[0]["code"], json!(null), "{errors}");
    let records = whose.records().await?;
    let webhook: Vec<&Value> = records
        .iter()
        .filter(|record| record["event"] == "COPILOT_WEBHOOK_REQUEST")
        .collect();
    assert_eq!(webhook.len(), 5, "{webhook:?}");
    assert_eq!(webhook[0]["user_github_login"], "Jordan-Example");
    assert_eq!(webhook[0]["copilot_thread_id"], "thread-1");
    assert_eq!(webhook[0]["intent"], "status");
    let turned_away = webhook
        .iter()
        .find(|record| record["user_github_login"] == "somebody-else");
    assert_ne!(turned_away.unwrap()["governance_result"], "allowed");
    let call = records.iter().find(|record| {
        record["via"] == "copilot" && record["client"] == format!("copilot/{LOGIN}")
    });
    assert!(call.is_some(), "the call is the person's own: {records:?}");
    assert_eq!(holding(&whose.hub.home(), TOKEN)?, Vec::<String>::new());
    Ok(())
}

#[tokio::test]
async fn a_copy_is_known_by_the_next_hub_and_a_login_that_is_taken_off_is_not() -> anyhow::Result<()>
{
    let mut whose = Whose::start().await?;
    let body = message("status");
    let fields = whose.signer.fields(&body, TOKEN)?;
    let send = async |whose: &Whose| {
        let request = github::request(&body, &fields)?;
        let answer = github::post(whose.port, &whose.authority, request).await?;
        anyhow::Ok(answer.status)
    };
    assert_eq!(send(&whose).await?, 200);
    whose.hub = whose.hub.restart().await?;
    assert_eq!(send(&whose).await?, 401, "a copy of before");
    assert_eq!(whose.ask("status again", TOKEN).await?.status, 200);
    let file = whose.hub.home().join("governance/operator_profile.json");
    let text = std::fs::read_to_string(&file)?;
    std::fs::write(&file, text.replace("jordan-example", "robin-example"))?;
    let (code, _, error) = whose.hub.run(&["mcp", "reload"]).await?;
    assert_eq!(code, 0, "{error}");
    assert_eq!(whose.ask("status once more", TOKEN).await?.status, 403);
    drop(whose.github);
    Ok(())
}
