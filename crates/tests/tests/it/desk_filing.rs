//! The owner files letters as they were suggested, over the admin API: held until a person
//! certified it, done once, taken back, refused; whatever the owner looked at before.

use anyhow::{Context, ensure};
use legation_tests::harness::hub::HubOptions;
use legation_tests::harness::office::Office;
use serde_json::{Value, json};

/// Asks for something that waits, certifies it, and asks for the same again.
async fn certified(office: &Office, line: &str) -> anyhow::Result<Value> {
    let (status, held) = office.api(line, &json!({})).await?;
    ensure!(status == 202, "{line}: {status} {held}");
    ensure!(held["reason_code"] == "CERTIFICATION_REQUIRED", "{held}");
    let id = held["approval_id"].as_str().context("a proposal")?;
    let (_, waiting) = office
        .api(&format!("GET /api/v1/approvals/{id}"), &Value::Null)
        .await?;
    ensure!(
        waiting["kind"] == "proposal" && waiting["item"] == "mail_move",
        "{waiting}"
    );
    office.certify(id).await?;
    let (status, done) = office.api(line, &json!({})).await?;
    ensure!(
        status == 200 && done["done"] == true,
        "{line}: {status} {done}"
    );
    Ok(done)
}

#[tokio::test]
async fn a_letter_is_filed_and_taken_back_each_time_a_person_certified_it() -> anyhow::Result<()> {
    let office = Office::open(None, HubOptions::default())
        .await?
        .read()
        .await?;
    office.set_pin().await?;
    let harbor = office.suggest("harbor", &["/Filed", "/Elsewhere"]).await?;
    let meadow = office.suggest("meadow", &["/Filed"]).await?;
    let path = |of: &Value, verb: &str| {
        let id = of["suggestion_id"].as_str().unwrap_or_default();
        format!("POST /filing/{id}/{verb}")
    };
    let subject = |of: &Value| of["subject"].as_str().unwrap_or_default().to_owned();
    let (first, second, third) = (&harbor[0], &harbor[1], &meadow[0]);

    // Whoever saw everything at once may do nothing for one company in that conversation.
    let (status, listed) = office.api("GET /triage/list", &Value::Null).await?;
    ensure!(status == 200, "{listed}");
    let (status, refused) = office
        .api("GET /graph/harbor/mail/list", &Value::Null)
        .await?;
    ensure!(
        status == 403 && refused["rule"] == "boundary.never-mix",
        "{status} {refused}"
    );

    // Filing brings nothing of it along.
    let tried = office
        .api(&path(first, "approve"), &json!({"dry_run": true}))
        .await?;
    ensure!(tried.0 == 200 && tried.1["done"] == false, "{tried:?}");
    let inbox = office.place("first", &subject(first)).await?;
    let filed = certified(&office, &path(first, "approve")).await?;
    ensure!(
        filed["filing"]["state"] == "filed" && filed["folder"] == "/Filed",
        "{filed}"
    );
    assert_eq!(office.place("first", &subject(first)).await?, "Filed");
    let again = office.api(&path(first, "approve"), &json!({})).await?;
    ensure!(again.0 == 409, "{again:?}");
    let back = certified(&office, &path(first, "undo")).await?;
    ensure!(back["filing"]["state"] == "undone", "{back}");
    assert_eq!(office.place("first", &subject(first)).await?, inbox);

    // Those of another company are no other matter.
    certified(&office, &path(third, "approve")).await?;
    assert_eq!(office.place("second", &subject(third)).await?, "Filed");

    let (status, rejected) = office.api(&path(second, "reject"), &json!({})).await?;
    ensure!(
        status == 200 && rejected["state"] == "rejected",
        "{rejected}"
    );
    let late = office.api(&path(second, "approve"), &json!({})).await?;
    ensure!(late.0 == 409, "{late:?}");
    assert_eq!(office.place("first", &subject(second)).await?, inbox);

    let records = office.records().await?;
    let moves: Vec<&Value> = records
        .iter()
        .filter(|one| one["kind"] == "intent" && one["item"] == "mail_move")
        .map(|one| &one["entity"])
        .collect();
    assert_eq!(
        json!(moves),
        json!(["harbor", "harbor", "meadow"]),
        "three certified moves"
    );
    Ok(())
}
