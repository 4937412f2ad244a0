//! Changes of a mail folder, round by round.

use super::client::{Tenant, run};
use serde_json::{Value, json};

const INBOX: &str = "/v1.0/me/mailFolders/inbox/messages";

/// The path of a link.
fn path(tenant: &Tenant, link: &Value) -> String {
    let origin = format!("https://{}", tenant.server.address());
    let link = link.as_str().expect("a link");
    link.strip_prefix(&origin)
        .expect("its own origin")
        .to_owned()
}

/// One round: what changed, and the path of the next.
async fn round(tenant: &Tenant, token: &str, first: &str) -> (Vec<Value>, String) {
    let mut found = Vec::new();
    let mut next = first.to_owned();
    loop {
        let (status, page) = tenant.graph("GET", &next, token, None).await;
        assert_eq!(status, 200, "{page}");
        found.extend(page["value"].as_array().cloned().unwrap_or_default());
        if page.get("@odata.deltaLink").is_some() {
            return (found, path(tenant, &page["@odata.deltaLink"]));
        }
        next = path(tenant, &page["@odata.nextLink"]);
    }
}

async fn letter(tenant: &Tenant, subject: &str) -> String {
    let body = json!({"subject": subject, "body": "x", "from": "pat@example.org"});
    let (status, made) = tenant.control("mail", &body).await;
    assert_eq!(status, 200, "{made}");
    made["id"].as_str().expect("an id").to_owned()
}

fn subjects(found: &[Value]) -> Vec<&str> {
    found
        .iter()
        .map(|one| one["subject"].as_str().unwrap_or("@removed"))
        .collect()
}

#[test]
fn a_round_tells_what_came_what_changed_and_what_left() {
    run(async {
        let tenant = Tenant::start().await;
        let token = tenant.human("Mail.ReadWrite").await;
        let delta = format!("{INBOX}/delta?$select=subject,isRead");
        for number in 0..25 {
            letter(&tenant, &format!("mail {number}")).await;
        }
        let (found, next) = round(&tenant, &token, &delta).await;
        assert_eq!(found.len(), 25, "over several pages");
        assert_eq!(found[0]["subject"], "mail 0");
        assert!(found[0].get("body").is_none(), "only what was selected");
        let (found, next) = round(&tenant, &token, &next).await;
        assert_eq!(found, Vec::<Value>::new());

        let new = letter(&tenant, "new").await;
        let (found, next) = round(&tenant, &token, &next).await;
        assert_eq!(subjects(&found), ["new"]);
        let item = format!("/v1.0/me/messages/{new}");
        let read = json!({"isRead": true});
        assert_eq!(
            tenant.graph("PATCH", &item, &token, Some(&read)).await.0,
            200
        );
        let (found, next) = round(&tenant, &token, &next).await;
        assert_eq!(
            (subjects(&found), &found[0]["isRead"]),
            (vec!["new"], &json!(true))
        );
        let away = json!({"destinationId": "archive"});
        let moved = format!("{item}/move");
        assert_eq!(
            tenant.graph("POST", &moved, &token, Some(&away)).await.0,
            201
        );
        let (found, next) = round(&tenant, &token, &next).await;
        assert_eq!(subjects(&found), ["@removed"]);
        assert_eq!(found[0]["id"], new.as_str());
        assert_eq!(tenant.graph("GET", &item, &token, None).await.0, 404);

        assert_eq!(tenant.control("expire-delta", &json!({})).await.0, 200);
        let (status, location) = tenant.header(&next, &token, "location").await;
        assert_eq!(status, 410);
        let again = path(&tenant, &json!(location.expect("where to begin")));
        let (found, _) = round(&tenant, &token, &again).await;
        assert_eq!(found.len(), 25);
    });
}

#[test]
fn a_client_that_wants_only_new_mail_hears_of_nothing_else() {
    run(async {
        let tenant = Tenant::start().await;
        let token = tenant.human("Mail.ReadWrite").await;
        let old = letter(&tenant, "old").await;
        let first = format!("{INBOX}/delta?changeType=created");
        let (found, next) = round(&tenant, &token, &first).await;
        assert_eq!(subjects(&found), ["old"]);
        let item = format!("/v1.0/me/messages/{old}");
        let read = json!({"isRead": true});
        assert_eq!(
            tenant.graph("PATCH", &item, &token, Some(&read)).await.0,
            200
        );
        letter(&tenant, "new").await;
        let (found, next) = round(&tenant, &token, &next).await;
        assert_eq!(subjects(&found), ["new"]);
        assert_eq!(tenant.graph("DELETE", &item, &token, None).await.0, 204);
        let (found, _) = round(&tenant, &token, &next).await;
        assert_eq!(found, Vec::<Value>::new());
    });
}
