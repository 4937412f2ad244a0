use bytes::Bytes;
use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::{Event, SseDecoder, SseError, write_comment, write_retry};

fn events(limit: usize, chunks: &[&[u8]]) -> (Vec<Event>, Option<SseError>) {
    let mut decoder = SseDecoder::new(limit);
    let mut seen = Vec::new();
    for chunk in chunks {
        decoder.push(chunk);
        loop {
            match decoder.next() {
                Ok(Some(event)) => seen.push(event),
                Ok(None) => break,
                Err(error) => return (seen, Some(error)),
            }
        }
    }
    (seen, None)
}

fn check(text: &str, expected: Expect) {
    let (events, error) = events(1000, &[text.as_bytes()]);
    let lines: Vec<_> = events
        .iter()
        .map(|event| {
            format!(
                "{:?} {:?} {:?} {:?}\n",
                event.event, event.id, event.data, event.retry_ms
            )
        })
        .collect();
    expected
        .assert_eq(&(lines.concat() + &error.map(|error| error.to_string()).unwrap_or_default()));
}

#[test]
fn decodes_as_the_standard_says() {
    check(
        "\u{feff}data: a\n\ndata:b\r\rdata:  c\r\n\r\n",
        expect![[r#"
        None None b"a" None
        None None b"b" None
        None None b" c" None
    "#]],
    );
    check(
        "data: a\ndata\ndata: b\n\n",
        expect![[r#"
        None None b"a\n\nb" None
    "#]],
    );
    check(
        ": ping\n\nevent: x\n\nid: 1\ndata: a\n\nid\ndata\n\n",
        expect![[r#"
        None Some("1") b"a" None
        None Some("") b"" None
    "#]],
    );
    check(
        "id: a\0b\nevent: e\nretry: 20\nretry: x\nunknown: y\ndata: a\n\ndata: never ended",
        expect![[r#"
        Some("e") None b"a" Some(20)
    "#]],
    );
}

#[test]
fn remembers_id_and_retry() {
    let mut decoder = SseDecoder::new(100);
    decoder.push(b"id: 7\nretry: 1500\n\n:\n\ndata: x\n\n");
    assert_eq!(
        decoder.next(),
        Ok(Some(Event::message(Bytes::from_static(b"x"))))
    );
    assert_eq!(
        (decoder.last_event_id(), decoder.retry_ms()),
        ("7", Some(1500))
    );
}

#[test]
fn fails_on_an_event_that_is_too_large() {
    let (seen, error) = events(10, &[b"data: a\n\ndata: 1234\ndata: 567", b"data: b\n\n"]);
    assert_eq!((seen.len(), error), (1, Some(SseError { limit: 10 })));
    let keepalives = ": keepalive\n\n".repeat(100);
    assert_eq!(events(20, &[keepalives.as_bytes()]), (vec![], None));
    let comments = ": keepalive\n".repeat(100) + "data: x\n\n";
    assert_eq!(events(20, &[comments.as_bytes()]).1, None);
}

#[test]
fn writes_comments_and_retry() {
    let mut out = Vec::new();
    write_comment(&mut out, "");
    write_comment(&mut out, "still\nhere");
    write_retry(&mut out, 500);
    assert_eq!(
        String::from_utf8(out).unwrap(),
        ":\n\n: stillhere\n\nretry: 500\n\n"
    );
}

proptest! {
    #[test]
    fn reads_what_it_writes(data in "[a\n\u{e9}: ]{0,20}", id in prop::option::of("[a-z0-9 :]{0,5}"), name in prop::option::of("[a-z:]{1,5}"), retry_ms: Option<u64>) {
        let event = Event { id: id.map(Into::into), event: name.map(Into::into), data: data.into(), retry_ms };
        let mut out = Vec::new();
        event.write_to(&mut out);
        prop_assert_eq!(events(1000, &[&out]), (vec![event], None));
    }

    #[test]
    fn chunks_do_not_matter(bytes in "(data|id|event|retry|:| |1|x|\r|\n){0,30}", cuts in prop::collection::vec(0..90usize, 0..8)) {
        let bytes = bytes.as_bytes();
        let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
        cuts.sort_unstable();
        cuts.insert(0, 0);
        cuts.push(bytes.len());
        let chunks: Vec<_> = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
        prop_assert_eq!(events(25, &chunks), events(25, &[bytes]));
    }

    #[test]
    fn never_panics(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        events(50, &[&bytes]);
    }
}
