//! How often a chat is read, and what of it at first.

use std::time::Duration;

use legation_core::{Clock as _, SystemClock, Wall};
use legation_entra::chat::{Message, News, Seen};

use super::message;
use crate::teams::pace::Pace;
use crate::teams::source::newest;

#[test]
fn what_is_written_between_finding_a_chat_and_reading_it_is_no_history() {
    let said = |times: &[i64]| -> Vec<Message> {
        let one = |at: &i64| message(&at.to_string(), "human", *at, "x");
        times.iter().map(one).collect()
    };
    let ids =
        |news: Vec<News>| -> Vec<String> { news.into_iter().map(|one| one.message.id).collect() };
    let found = Wall(100_000);
    type Case<'a> = (&'a [i64], &'a [&'a str], &'a [&'a str]);
    let cases: [Case<'_>; 4] = [
        (&[], &[], &[]),
        (&[1_000, 95_000, 99_000], &["99000"], &[]),
        (
            &[1_000, 99_000, 101_000, 900_000],
            &["99000"],
            &["101000", "900000"],
        ),
        (&[101_000, 900_000], &[], &["101000", "900000"]),
    ];
    for (times, first, later) in cases {
        let mut seen = Seen::default();
        let (news, more) = newest(&mut seen, said(times), found, "agent");
        assert_eq!(ids(news), first, "{times:?}");
        assert_eq!(more, !later.is_empty(), "{times:?}");
        let since = seen.since().expect("from somewhere");
        let mut next = said(times);
        next.retain(|message| message.modified > since);
        assert_eq!(ids(seen.take(next)), later, "{times:?}");
    }
}

#[test]
fn a_chat_is_read_as_often_as_people_talk_in_it() {
    let start = SystemClock.now();
    let at = |seconds: u64| start + Duration::from_secs(seconds);
    let mut pace = Pace::new(start);
    assert_eq!(pace.due(), start);
    for (now, news, next) in [
        (0, true, 5),
        (119, false, 124),
        (121, false, 136),
        (599, false, 614),
        (600, false, 660),
        (9_000, false, 9_060),
        (9_060, true, 9_065),
    ] {
        pace.was_read(news, at(now));
        assert_eq!(pace.due(), at(next), "{now}");
    }
    pace.was_read(false, at(20_000));
    assert_eq!(pace.due(), at(20_060));
    pace.talk(at(20_010));
    assert_eq!(pace.due(), at(20_015), "somebody was written to");
    pace.talk(at(20_012));
    assert_eq!(pace.due(), at(20_015), "talking more makes it no later");
    pace.failed(Duration::from_secs(300), at(20_020));
    assert_eq!(pace.due(), at(20_320));
    pace.failed(Duration::ZERO, at(20_020));
    assert_eq!(pace.due(), at(20_025));
}
