use proptest::prelude::*;

use super::{FrameError, LineDecoder, encode_line};

/// Everything a decoder yields, dropped lines as their length.
fn lines(limit: usize, chunks: &[&[u8]]) -> Vec<Result<String, usize>> {
    let mut decoder = LineDecoder::new(limit);
    let mut seen = Vec::new();
    for chunk in chunks {
        decoder.push(chunk);
        loop {
            match decoder.next() {
                Ok(Some(line)) => seen.push(Ok(String::from_utf8_lossy(&line).into_owned())),
                Ok(None) => break,
                Err(FrameError { dropped, .. }) => seen.push(Err(dropped)),
            }
        }
    }
    seen
}

#[test]
fn cuts_lines() {
    let ok = |line: &str| Ok(line.to_owned());
    assert_eq!(lines(9, &[b"a\nb\r\n\n \r\nc"]), [ok("a"), ok("b")]);
    assert_eq!(
        lines(9, &[b"ab", b"c\r", b"\nd", b"\n"]),
        [ok("abc"), ok("d")]
    );
}

#[test]
fn reports_an_over_long_line_once_and_goes_on() {
    let ok = |line: &str| Ok(line.to_owned());
    assert_eq!(
        lines(4, &[b"1234\n12345\n1234\r\n12345\r\nx\n"]),
        [ok("1234"), Err(5), ok("1234"), Err(6), ok("x")]
    );
    assert_eq!(
        lines(4, &[b"123", b"456", b"789", b"\nx\n"]),
        [Err(9), ok("x")]
    );
}

#[test]
fn holds_no_more_than_the_limit_of_an_endless_line() {
    let mut decoder = LineDecoder::new(1000);
    for _ in 0..100_000 {
        decoder.push(&[b'x'; 1000]);
        assert!(decoder.partial.len() <= 1001);
    }
    assert_eq!(decoder.dropping(), Some(100_000_000));
    assert_eq!(decoder.next(), Ok(None));
    assert_eq!(decoder.finish_stream(), None);
}

#[test]
fn encodes_one_line() {
    assert_eq!(encode_line(b"{\r\n\"a\": 1\n}"), &b"{  \"a\": 1 }\n"[..]);
}

proptest! {
    #[test]
    fn chunks_do_not_matter(bytes in "[ab\r\n]{0,60}", cuts in prop::collection::vec(0..60usize, 0..8)) {
        let bytes = bytes.as_bytes();
        let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
        cuts.sort_unstable();
        cuts.insert(0, 0);
        cuts.push(bytes.len());
        let chunks: Vec<_> = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
        prop_assert_eq!(lines(5, &chunks), lines(5, &[bytes]));
    }
}
