use legation_core::EntityId;
use serde_json::{Value, json};

use super::super::stand::Stand;
use super::*;

const YEARS: (i64, i64) = (0, i64::MAX);

/// Reads until both accounts stand as they are.
async fn synced(stand: &Stand) {
    let (desk, cancel, reports) = (stand.desk.clone(), Cancel::new(), Reports::default());
    let names: [Box<str>; 2] = ["harbor".into(), "meadow".into()];
    let reading = desk.sync(&names, &reports, &cancel);
    let all_read = async {
        for name in &names {
            for what in What::ALL {
                while !is_fresh(stand, name, what).await {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            }
        }
    };
    tokio::select! {
        () = reading => panic!("it ended: {:?}", reports.problems()),
        () = all_read => {}
    }
    assert_eq!(reports.problems(), [""; 0]);
}

async fn is_fresh(stand: &Stand, account: &str, what: What) -> bool {
    let standing = standing(&stand.desk.shared, account, what).await.unwrap();
    matches!(standing, Standing::Fresh { .. })
}

async fn kept(stand: &Stand, entity: &str) -> (Vec<Event>, Vec<Letter>) {
    let entity = EntityId::new(entity);
    let shared = &stand.desk.shared;
    let events = events(shared, &entity, YEARS, 10_000).await.unwrap();
    (
        events,
        letters(shared, &entity, YEARS, 10_000).await.unwrap(),
    )
}

/// Of a private event nothing is kept or told but when it is.
async fn is_kept_private(stand: &Stand, events: &[Event]) {
    let private: Vec<&Event> = events.iter().filter(|one| one.is_private).collect();
    assert!(!private.is_empty());
    for event in &private {
        let told = (&*event.subject, &*event.location, event.attendees.len());
        assert_eq!(told, ("Private", "", 0));
        assert_eq!(event.organizer, legation_desk::Person::default());
    }
    let zone = owners_zone(&stand.desk.shared);
    let from = calendar::today(stand.desk.shared.now_ms() - 2 * 86_400_000, &zone);
    let wanted = json!({"profile_id": "harbor", "days": 30, "from": from.to_string()});
    let listed = stand.good("calendar_list", wanted).await;
    assert!(!listed.to_string().contains("Dentist"), "{listed}");
    let mut found = 0;
    for row in listed["events"].as_array().unwrap() {
        if row["is_private"] == true {
            found += 1;
            let members = [
                "subject",
                "location",
                "preview",
                "organizer",
                "attendees",
                "response",
            ];
            let told = members.map(|member| row[member].clone());
            assert_eq!(
                json!(told),
                json!(["Private", "", "", null, [], "none"]),
                "{row}"
            );
            assert!(
                row["start"].is_string() && row["show_as"] == "busy",
                "{row}"
            );
        }
    }
    assert!(found > 0, "no private event was listed");
}

async fn again(stand: &Stand) {
    // A hub that starts anew looks for changes at once.
    for name in ["harbor", "meadow"] {
        for what in What::ALL {
            let id = what.mark(name);
            let shared = &stand.desk.shared;
            let mut mark = shared
                .book
                .get::<Mark>(Kind::Mark, &id)
                .await
                .unwrap()
                .unwrap();
            mark.body.read_ms = 0;
            shared.book.put(Kind::Mark, &[mark]).await.unwrap();
        }
    }
    synced(stand).await;
}

#[tokio::test]
async fn rows_become_what_mailboxes_and_calendars_hold_and_stay_apart() {
    let stand = Stand::new().await;
    let before = standing(&stand.desk.shared, "harbor", What::Inbox)
        .await
        .unwrap();
    assert_eq!(before, Standing::Never);
    synced(&stand).await;
    let (events, letters) = kept(&stand, "harbor").await;
    assert!(
        letters.len() > 60 && events.len() > 15,
        "{} {}",
        letters.len(),
        events.len()
    );
    let rounds: Vec<&Event> = events
        .iter()
        .filter(|one| one.subject == "Monday round")
        .collect();
    assert!(rounds.len() >= 6, "each Monday by itself");
    let fair = events
        .iter()
        .find(|one| one.subject == "Property conference")
        .unwrap();
    assert!(fair.days.is_some() && fair.end_ms - fair.start_ms >= 47 * 3_600_000);
    is_kept_private(&stand, &events).await;
    let hostile = letters
        .iter()
        .find(|one| one.subject == "You have won")
        .unwrap();
    assert!(!hostile.preview.contains('<'), "{}", hostile.preview);
    let (theirs, their_letters) = kept(&stand, "meadow").await;
    assert!(theirs.iter().all(|one| one.account == "meadow"));
    assert!(
        their_letters
            .iter()
            .any(|one| one.subject == "Fall in room 204")
    );
    assert!(letters.iter().all(|one| one.account == "harbor"));

    // Read, moved away, new; a meeting that was called off, and one more.
    let listed = stand
        .good("mail_list", json!({"profile_id": "harbor"}))
        .await;
    let id = listed["messages"][0]["id"].clone();
    let call = json!({"profile_id": "harbor", "message_id": id, "destination_folder": "/Deals/Mill Lane", "create_folder": true});
    let moved = stand.good("mail_move", call.clone()).await;
    assert_eq!(
        (&moved["moved"], &moved["folder_name"]),
        (&json!(true), &json!("Mill Lane"))
    );
    assert_eq!(stand.good("mail_move", call).await["moved"], false);
    let letter =
        json!({"subject": "Just now", "body": "Hello.", "from": "casey.sample@first.example.com"});
    stand.order("first", "mail", letter).await;
    let hold = json!({"profile_id": "harbor", "subject": "Held", "start": "2026-12-24", "end": "2026-12-24"});
    let now = stand.desk.shared.now_ms();
    let day = calendar::today(now + 3 * 86_400_000, &TimeZone::UTC).to_string();
    let mut hold = hold;
    (hold["start"], hold["end"]) = (json!(day), json!(day));
    let held = stand.good("calendar_event_create", hold).await;
    assert_eq!(held["event"]["all_day"], true, "{held}");
    again(&stand).await;
    let (after_events, after_letters) = kept(&stand, "harbor").await;
    assert_eq!(after_events.len(), events.len() + 1);
    assert!(
        after_letters
            .iter()
            .any(|one| one.subject == "Just now" && !one.is_read)
    );
    assert!(
        after_letters.iter().all(|one| id != one.id.as_str()),
        "it was moved"
    );
    assert_eq!(after_letters.len(), letters.len());
    stand.order("first", "expire-delta", json!({})).await;
    again(&stand).await;
    assert_eq!(kept(&stand, "harbor").await.1, after_letters);
    stand.no_complaints().await;
    stand.tasks().shutdown().await;
}

#[tokio::test]
async fn what_cannot_be_read_is_said_and_the_others_are_read() {
    let stand = Stand::new().await;
    let tenants = stand.order("first", "tenants", json!({})).await;
    let apps = tenants[0]["apps"].as_array().unwrap();
    let api = apps
        .iter()
        .find(|app| app["displayName"] == "Legation API")
        .unwrap();
    let unconsent =
        json!({"client": api["appId"], "scopes": ["Calendars.Read", "Calendars.ReadWrite"]});
    stand.order("first", "unconsent", unconsent).await;
    let (cancel, reports) = (Cancel::new(), Reports::default());
    let names: [Box<str>; 2] = ["harbor".into(), "meadow".into()];
    let reading = stand.desk.sync(&names, &reports, &cancel);
    let others = async {
        while reports.problems().is_empty() || !is_fresh(&stand, "meadow", What::Calendar).await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::select! {
        () = reading => panic!("it ended"),
        () = others => {}
    }
    let problem = reports.problems().join("\n");
    assert!(
        problem.contains("`harbor`") && problem.contains("Calendars.Read"),
        "{problem}"
    );
    let listed: (Value, bool) = stand
        .call("calendar_list", json!({"profile_id": "harbor"}))
        .await;
    assert!(
        listed.1 && listed.0["error"] == "ConsentDenied",
        "{listed:?}"
    );
    let theirs = stand
        .good("calendar_list", json!({"profile_id": "meadow", "days": 14}))
        .await;
    assert_eq!(theirs["timezone"], "America/New_York");
    let events = theirs["events"].as_array().unwrap();
    let due = events
        .iter()
        .find(|one| one["subject"] == "Cost report due")
        .unwrap();
    assert!(
        due["all_day"] == true && due["start"].as_str().unwrap().len() == 10,
        "{due}"
    );
    assert!(
        events
            .iter()
            .any(|one| one["subject"] == "Stand-up of the homes" && one["is_recurring"] == true)
    );
}
