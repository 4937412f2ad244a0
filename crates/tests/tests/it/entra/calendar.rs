//! Calendars: series, whole days, zones, very many events, changes, entries.

use jiff::civil::date;
use jiff::tz::TimeZone;
use legation_core::Wall;
use legation_entra::Account;
use legation_entra::calendar::{
    CalendarChange, CalendarError, EVENTS_MAX, NewEntry, NewTime, Repeats, Shown, When,
};
use legation_entra::token::Role;
use serde_json::{Value, json};

use super::stand::{Stand, ctx};

async fn stand() -> (Stand, Account) {
    let stand = Stand::new().await;
    let account = stand.account(stand.settings());
    stand.sign_in(&account, Role::Human).await;
    (stand, account)
}

fn wall(text: &str) -> Wall {
    Wall::parse(text).unwrap_or_else(|| panic!("{text}"))
}

async fn meeting(stand: &Stand, subject: &str, start: &str, end: &str, more: Value) {
    let mut body = json!({ "subject": subject, "start": start, "end": end });
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    stand.order("meeting", body).await;
}

#[tokio::test]
async fn series_days_and_zones_are_told_as_they_are() {
    let (stand, account) = stand().await;
    let (calendar, ctx) = (account.calendar(), ctx());
    // The clocks of New York are set forward on 14 March 2027.
    let weekly = json!({
        "pattern": { "type": "weekly", "interval": 1, "daysOfWeek": ["monday"] },
        "range": { "type": "noEnd", "startDate": "2027-03-01", "recurrenceTimeZone": "America/New_York" },
    });
    let series = json!({ "recurrence": weekly, "zone": "America/New_York" });
    meeting(
        &stand,
        "Round",
        "2027-03-01T14:00:00Z",
        "2027-03-01T15:00:00Z",
        series,
    )
    .await;
    meeting(
        &stand,
        "Fair",
        "2027-03-09",
        "2027-03-11",
        json!({ "all_day": true }),
    )
    .await;
    meeting(
        &stand,
        "Night",
        "2027-03-09T23:30:00+09:00",
        "2027-03-10T01:00:00+09:00",
        json!({}),
    )
    .await;
    let private = json!({ "more": { "sensitivity": "private", "showAs": "oof" } });
    meeting(
        &stand,
        "Private",
        "2027-03-10T10:00:00Z",
        "2027-03-10T11:00:00Z",
        private,
    )
    .await;
    let (from, until) = (wall("2027-03-01"), wall("2027-03-20"));
    let view = calendar.view(&ctx, from, until, 1000).await.unwrap();
    assert!(view.is_whole);
    let zone = TimeZone::get("America/New_York").unwrap();
    let told: Vec<(String, String)> = view
        .events
        .iter()
        .map(|one| {
            let start = match one.when {
                When::Times { start, .. } => start.to_string(),
                When::Days { first, end } => format!("{first}/{end}"),
            };
            (one.subject.clone(), start)
        })
        .collect();
    let expected = [
        ("Round", "2027-03-01T14:00:00.000Z"),
        ("Round", "2027-03-08T14:00:00.000Z"),
        ("Fair", "2027-03-09/2027-03-11"),
        ("Night", "2027-03-09T14:30:00.000Z"),
        ("Private", "2027-03-10T10:00:00.000Z"),
        ("Round", "2027-03-15T13:00:00.000Z"),
    ];
    let expected: Vec<(String, String)> = expected
        .iter()
        .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()))
        .collect();
    assert_eq!(told, expected);
    let fair = &view.events[2];
    assert_eq!(
        fair.when.start(&zone).unwrap(),
        wall("2027-03-09T05:00:00Z")
    );
    assert_eq!(view.events[0].repeats, Repeats::OneOfSeries);
    assert!(view.events[4].is_private && view.events[4].shown == Shown::Away);
    let one = calendar.event(&ctx, &view.events[3].id).await.unwrap();
    assert_eq!(one.subject, "Night");
    let none = calendar.event(&ctx, "AAMkNone").await.unwrap_err();
    assert!(matches!(none, CalendarError::NoEvent), "{none:?}");
    stand.no_complaints().await;
}

#[tokio::test]
async fn ten_thousand_events_are_read_and_no_more() {
    let (stand, account) = stand().await;
    let (calendar, ctx) = (account.calendar(), ctx());
    let many = json!({ "copies": EVENTS_MAX });
    meeting(
        &stand,
        "One of many",
        "2027-05-03T10:00:00Z",
        "2027-05-03T11:00:00Z",
        many,
    )
    .await;
    let (from, until) = (wall("2027-05-01"), wall("2027-05-10"));
    let view = calendar.view(&ctx, from, until, EVENTS_MAX).await.unwrap();
    assert_eq!((view.events.len(), view.is_whole), (EVENTS_MAX, true));
    let view = calendar.view(&ctx, from, until, 700).await.unwrap();
    assert_eq!((view.events.len(), view.is_whole), (700, false));
    meeting(
        &stand,
        "Too many",
        "2027-05-03T10:00:00Z",
        "2027-05-03T11:00:00Z",
        json!({}),
    )
    .await;
    let view = calendar.view(&ctx, from, until, EVENTS_MAX).await.unwrap();
    assert_eq!((view.events.len(), view.is_whole), (EVENTS_MAX, false));
}

#[tokio::test]
async fn changes_are_told_and_a_forgotten_link_begins_anew() {
    let (stand, account) = stand().await;
    let (calendar, ctx) = (account.calendar(), ctx());
    let window = (wall("2027-05-01"), wall("2027-06-01"));
    for number in 0..7 {
        let subject = format!("Meeting {number}");
        meeting(
            &stand,
            &subject,
            "2027-05-03T10:00:00Z",
            "2027-05-03T11:00:00Z",
            json!({}),
        )
        .await;
    }
    meeting(
        &stand,
        "Later",
        "2027-07-03T10:00:00Z",
        "2027-07-03T11:00:00Z",
        json!({}),
    )
    .await;
    let mut link = None;
    let mut all = Vec::new();
    loop {
        let page = calendar.changes(&ctx, window, link).await.unwrap();
        all.extend(page.changes);
        link = Some(page.link);
        if page.is_last {
            break;
        }
    }
    assert_eq!(all.len(), 7, "{all:?}");
    let page = calendar.changes(&ctx, window, link.clone()).await.unwrap();
    assert!(page.changes.is_empty() && page.is_last);
    let daily = json!({ "recurrence": {
        "pattern": { "type": "daily", "interval": 1 },
        "range": { "type": "numbered", "startDate": "2027-05-10", "numberOfOccurrences": 3 },
    } });
    meeting(
        &stand,
        "Daily",
        "2027-05-10T10:00:00Z",
        "2027-05-10T11:00:00Z",
        daily,
    )
    .await;
    let page = calendar
        .changes(&ctx, window, Some(page.link))
        .await
        .unwrap();
    assert_eq!(
        page.changes.len(),
        4,
        "the series and its days: {:?}",
        page.changes
    );
    assert!(
        page.changes
            .iter()
            .all(|one| matches!(one, CalendarChange::Series { .. }))
    );
    stand.order("expire-delta", json!({})).await;
    let page = calendar
        .changes(&ctx, window, Some(page.link))
        .await
        .unwrap();
    assert!(
        page.is_resync && page.changes.len() == 11,
        "{:?}",
        page.changes
    );
    stand.no_complaints().await;
}

#[tokio::test]
async fn an_entry_is_made_once_and_asks_nobody() {
    let (stand, account) = stand().await;
    let (entries, ctx) = (account.entries(), ctx());
    let time = |day: i8, hour: i8| date(2027, 3, day).at(hour, 30, 0, 0);
    let new = NewEntry {
        subject: "Mill Lane: walk through".to_owned(),
        text: "Bring the rent roll.\n<script>alert(1)</script>".to_owned(),
        when: NewTime::Times {
            start: time(15, 9),
            end: time(15, 11),
            zone: "America/New_York".to_owned(),
        },
        place: "Mill Lane 1".to_owned(),
        key: "walk".to_owned(),
    };
    stand
        .fault(json!({ "fault": "cut-after", "left": 1, "matching": "POST /v1.0/me/events" }))
        .await;
    let made = entries.make(&ctx, &new).await.unwrap();
    let start = wall("2027-03-15T13:30:00Z");
    assert!(
        matches!(made.event.when, When::Times { start: at, .. } if at == start),
        "{made:?}"
    );
    assert_eq!(
        (made.event.shown, made.event.attendees.len()),
        (Shown::Tentative, 0)
    );
    let again = entries.make(&ctx, &new).await.unwrap();
    assert!(again.was_there && again.event.id == made.event.id);
    let kept = stand.order("calendar", json!({})).await;
    assert_eq!(kept["events"].as_array().unwrap().len(), 1, "{kept}");
    let days = NewEntry {
        when: NewTime::Days {
            first: date(2027, 3, 20),
            end: date(2027, 3, 22),
        },
        key: "days".to_owned(),
        ..new.clone()
    };
    let made = entries.make(&ctx, &days).await.unwrap();
    let whole = When::Days {
        first: date(2027, 3, 20),
        end: date(2027, 3, 22),
    };
    assert_eq!(made.event.when, whole);
    assert!(entries.make(&ctx, &days).await.unwrap().was_there);
    let at = |start, end, zone: &str| NewEntry {
        when: NewTime::Times {
            start,
            end,
            zone: zone.to_owned(),
        },
        ..new.clone()
    };
    // The clocks skip from two to three.
    for (wrong, expected) in [
        (at(time(14, 2), time(14, 4), "America/New_York"), "NoTime"),
        (at(time(15, 9), time(15, 10), "Nowhere/Town"), "NoTime"),
        (at(time(15, 9), time(15, 8), "UTC"), "Order"),
        (
            at(time(1, 0), date(2027, 8, 1).at(0, 0, 0, 0), "UTC"),
            "TooLong { days: 60 }",
        ),
    ] {
        let error = entries.make(&ctx, &wrong).await.unwrap_err();
        assert_eq!(format!("{error:?}"), expected);
    }
    stand.no_complaints().await;
}
