use std::task::{Context, Poll, Waker};

use bytes::Bytes;

use super::{HARD_MESSAGES, KEEP_MESSAGES, Next, Outbox, SOFT_MESSAGES, Weight};

fn read(outbox: &Outbox, cursor: &mut u64) -> Option<Next> {
    match outbox.poll_next(&mut Context::from_waker(Waker::noop()), cursor) {
        Poll::Ready(next) => Some(next),
        Poll::Pending => None,
    }
}

#[test]
fn progress_is_dropped_and_the_rest_is_not_when_nobody_reads() {
    let outbox = Outbox::plain();
    for _ in 0..SOFT_MESSAGES {
        assert!(outbox.push(Bytes::from_static(b"p"), Weight::Droppable));
    }
    assert!(!outbox.push(Bytes::from_static(b"p"), Weight::Droppable));
    assert!(outbox.push(Bytes::from_static(b"ask"), Weight::Needed));
    assert!(!outbox.has_room());
    for _ in SOFT_MESSAGES + 1..HARD_MESSAGES {
        assert!(outbox.push(Bytes::from_static(b"ask"), Weight::Needed));
    }
    assert!(!outbox.push(Bytes::from_static(b"ask"), Weight::Needed));
    assert_eq!(read(&outbox, &mut 0), Some(Next::Overrun));
}

#[test]
fn a_plain_outbox_forgets_and_ends() {
    let outbox = Outbox::plain();
    let mut cursor = 0;
    outbox.push(Bytes::from_static(b"a"), Weight::Answer);
    assert_eq!(
        read(&outbox, &mut cursor),
        Some(Next::Message(0, Bytes::from_static(b"a")))
    );
    assert_eq!((outbox.held(), read(&outbox, &mut cursor)), (0, None));
    outbox.finish();
    assert_eq!(read(&outbox, &mut cursor), Some(Next::Finished));
    assert!(outbox.is_finished() && outbox.is_empty());
    assert!(!outbox.push(Bytes::from_static(b"late"), Weight::Answer));
}

#[test]
fn a_kept_outbox_replays_within_its_bound() {
    let outbox = Outbox::kept();
    let total = KEEP_MESSAGES as u64 + 10;
    let mut cursor = 0;
    for number in 0..total {
        outbox.push(Bytes::from(number.to_string()), Weight::Needed);
        assert!(read(&outbox, &mut cursor).is_some());
    }
    let mut again = total - 2;
    let expected = Bytes::from((total - 2).to_string());
    assert_eq!(
        read(&outbox, &mut again),
        Some(Next::Message(total - 2, expected))
    );
    let mut from_the_start = 0;
    assert_eq!(
        read(&outbox, &mut from_the_start),
        Some(Next::Message(10, Bytes::from_static(b"10"))),
        "what was trimmed is skipped"
    );
    assert_eq!(outbox.unread_from(), total);
}
