//! No token and no secret lies anywhere in clear.

use std::path::Path;

use legation_entra::token::Role;

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
