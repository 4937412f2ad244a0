//! What counts as an answer.

use std::time::Duration;

use super::Tally;
use crate::sys;

#[test]
fn only_the_right_answer_inside_the_time_counts() {
    let begin = sys::now();
    let at = |millis| begin + Duration::from_millis(millis);
    let right: &[u8] = br#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"text":"hello-7"}]}}"#;
    for (answer, sent, came, counted, all, wrong) in [
        (right, at(1), at(2), 1, 1, 0),
        (right, at(1), at(20), 0, 1, 0),
        (
            br#"{"id":8,"result":{"text":"hello-8"}}"#,
            at(1),
            at(2),
            0,
            0,
            1,
        ),
        (
            br#"{"id":7,"result":{"text":"hello-8"}}"#,
            at(1),
            at(2),
            0,
            0,
            1,
        ),
        (
            br#"{"id":7,"error":{"message":"hello-7"}}"#,
            at(1),
            at(2),
            0,
            0,
            1,
        ),
        (
            br#"{"id":7,"result":{"text":"hello-7","isError":true}}"#,
            at(1),
            at(2),
            0,
            0,
            1,
        ),
    ] {
        let mut tally = Tally::default();
        tally.count(answer, 7, "hello-7", (sent, came), (at(1), at(10)));
        let found = (tally.latencies.len(), tally.all_calls, tally.wrong);
        assert_eq!(
            found,
            (counted, all, wrong),
            "{}",
            String::from_utf8_lossy(answer)
        );
    }
}
