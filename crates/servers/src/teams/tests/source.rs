//! How often a chat is read.

use std::time::Duration;

use legation_core::{Clock as _, SystemClock};

use crate::teams::pace::Pace;

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
