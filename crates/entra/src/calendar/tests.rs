use jiff::civil::date;
use serde_json::{Value, json};

use super::*;
use crate::test_kit::{Answer, Asked, Stand, ctx};

fn event(change: impl FnOnce(&mut Value)) -> Option<Event> {
    let mut event = json!({
        "id": "AAMk1", "iCalUId": "u1", "type": "singleInstance", "subject": " Call\u{7} ",
        "bodyPreview": "notes", "isAllDay": false, "showAs": "tentative",
        "start": { "dateTime": "2026-11-23T09:00:00.0000000", "timeZone": "UTC" },
        "end": { "dateTime": "2026-11-23T10:00:00.0000000", "timeZone": "UTC" },
        "organizer": { "emailAddress": { "name": "Alex", "address": "alex@example.com" } },
        "attendees": [
            { "emailAddress": { "address": "kim@example.com" }, "type": "optional",
              "status": { "response": "tentativelyAccepted" } },
            { "status": { "response": "somethingNew" } },
        ],
        "webLink": "https://outlook.example.com/x", "unknown": { "x": [1] },
    });
    change(&mut event);
    Event::from_wire(serde_json::from_value(event).unwrap())
}

#[test]
fn an_event_is_read_with_moments_or_with_days() {
    let read = event(|_| {}).unwrap();
    let at = |text: &str| Wall::parse(text).unwrap();
    let expected = When::Times {
        start: at("2026-11-23T09:00:00Z"),
        end: at("2026-11-23T10:00:00Z"),
    };
    assert_eq!((read.subject.as_str(), read.when), ("Call", expected));
    assert_eq!(
        read.attendees.len(),
        1,
        "one without an address is left out"
    );
    assert_eq!(read.attendees[0].response, Response::Tentative);
    assert!(read.attendees[0].is_optional && !read.is_private && !read.is_personal);
    let days = event(|json| {
        json["isAllDay"] = true.into();
        json["start"] =
            json!({ "dateTime": "2026-11-23T00:00:00.0000000", "timeZone": "Europe/Berlin" });
        json["end"] =
            json!({ "dateTime": "2026-11-23T00:00:00.0000000", "timeZone": "Europe/Berlin" });
    });
    let one_day = When::Days {
        first: date(2026, 11, 23),
        end: date(2026, 11, 24),
    };
    assert_eq!(days.unwrap().when, one_day);
    let elsewhere = event(|json| json["start"]["timeZone"] = "Asia/Tokyo".into());
    let elsewhere = elsewhere.unwrap().when.start(&jiff::tz::TimeZone::UTC);
    assert_eq!(elsewhere, Some(at("2026-11-23T00:00:00Z")));
    let private = event(|json| {
        json["sensitivity"] = "personal".into();
        json["webLink"] = "javascript:alert(1)".into();
    });
    let private = private.unwrap();
    assert!(private.is_private && private.is_personal && private.web_link.is_empty());
    for broken in ["no time", "2026-13-40T09:00:00"] {
        assert_eq!(
            event(|json| json["start"]["dateTime"] = broken.into()),
            None
        );
    }
    let nowhere = event(|json| json["start"]["timeZone"] = "Nowhere Standard Time".into());
    assert_eq!(nowhere, None, "it is not taken for another time");
}

/// A calendar that answers as the closure says.
async fn calendar(
    answer: impl Fn(&Asked) -> Answer + Send + Sync + 'static,
) -> (Stand, crate::Account) {
    let stand = Stand::new(move |asked: &Asked| {
        if asked.target.contains("/oauth2/") {
            let body = json!({ "token_type": "Bearer", "expires_in": 3600, "access_token": "t" });
            return Answer::json(200, &body);
        }
        answer(asked)
    })
    .await;
    let account = stand.account(|settings| {
        settings.blueprint_id = Some("b".into());
        settings.blueprint_secret = Some(legation_core::Secret::new("s"));
        settings.agent_id = Some("a".into());
        settings.agent_user = Some("agent@example.com".into());
    });
    (stand, account)
}

#[tokio::test]
async fn the_least_scope_is_asked_for_and_an_entry_that_there_is_counts_as_made() {
    let (stand, account) = calendar(|asked| match asked.method.as_str() {
        "POST" => Answer::json(
            409,
            &json!({ "error": { "code": "ErrorDuplicateTransactionId" } }),
        ),
        _ => Answer::json(200, &json!({ "value": [] })),
    })
    .await;
    let ctx = ctx();
    let (from, until) = (Wall(0), Wall(1_000));
    account
        .calendar()
        .view(&ctx, from, until, 10)
        .await
        .unwrap();
    let new = NewEntry {
        subject: "Call".to_owned(),
        text: "a < b".to_owned(),
        when: NewTime::Days {
            first: date(2026, 11, 23),
            end: date(2026, 11, 24),
        },
        place: String::new(),
        key: "k".to_owned(),
    };
    let error = account.entries().make(&ctx, &new).await.unwrap_err();
    assert_eq!(error.class(), crate::Class::Mailbox, "{error:?}");
    let asked = stand.asked();
    let scopes: Vec<String> = asked.iter().filter_map(|one| one.form("scope")).collect();
    let named = |wanted: &str| {
        scopes
            .iter()
            .any(|scope| scope.split(' ').any(|one| one.ends_with(wanted)))
    };
    assert!(
        named("/Calendars.Read") && named("/Calendars.ReadWrite"),
        "{scopes:?}"
    );
    assert!(!named("/Mail.Send"), "{scopes:?}");
    let posted = asked
        .iter()
        .find(|one| one.method == "POST" && one.target.ends_with("/me/events"));
    let posted: Value = serde_json::from_str(&posted.unwrap().body).unwrap();
    assert!(posted.get("attendees").is_none(), "{posted}");
    assert_eq!(
        (posted["isAllDay"].as_bool(), posted["showAs"].as_str()),
        (Some(true), Some("tentative"))
    );
    assert_eq!(posted["body"]["content"], "a &lt; b");
    let order = account
        .calendar()
        .view(&ctx, until, from, 10)
        .await
        .unwrap_err();
    assert!(matches!(order, CalendarError::Order), "{order:?}");
}

#[tokio::test]
async fn changes_that_never_end_are_read_so_far_and_gone_on_from_there() {
    let (stand, account) = calendar(|asked| {
        let page = asked.target.split("page=").nth(1);
        let page: usize = page.map_or(0, |page| page.parse().unwrap());
        let next = format!(
            "https://{}/v1.0/me/calendarView/delta?page={}",
            asked.header("host").unwrap(),
            page + 1
        );
        Answer::json(
            200,
            &json!({ "value": [{ "id": "AAMk1" }], "@odata.nextLink": next }),
        )
    })
    .await;
    let (ctx, window) = (ctx(), (Wall(0), Wall(86_400_000)));
    let delta = |stand: &Stand| {
        let asked = stand.asked().into_iter();
        asked.filter(|one| one.target.contains("/delta")).count()
    };
    let first = account
        .calendar()
        .touched(&ctx, window, None)
        .await
        .unwrap();
    assert!(first.is_changed && !first.is_whole);
    assert_eq!(delta(&stand), CHANGE_PAGES_MAX);
    assert!(
        first.link.ends_with(&format!("page={CHANGE_PAGES_MAX}")),
        "{}",
        first.link
    );
    let then = account
        .calendar()
        .touched(&ctx, window, Some(first.link))
        .await
        .unwrap();
    assert!(
        then.link
            .ends_with(&format!("page={}", 2 * CHANGE_PAGES_MAX)),
        "{}",
        then.link
    );
    let endless = CalendarError::Endless {
        pages: CHANGE_PAGES_MAX,
    };
    assert!(endless.to_string().contains("goes on from there") && !endless.hint().is_empty());
}
