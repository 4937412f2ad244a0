use super::*;

/// Decodes a body that comes in pieces of `step` bytes; `None` when broken, and
/// otherwise the data and what follows the body.
fn decode(framing: Framing, text: &[u8], step: usize) -> Option<(Vec<u8>, Vec<u8>)> {
    let mut body = Body::new(framing);
    let mut data = Vec::new();
    let mut shown = Vec::new();
    let mut pieces = text.chunks(step);
    loop {
        let (used, found) = body.step(&shown).ok()?;
        if let Step::Data(range) = &found {
            data.extend_from_slice(&shown[range.clone()]);
        }
        shown.drain(..used);
        match found {
            Step::Data(_) => {}
            Step::End => {
                shown.extend(pieces.flatten());
                return Some((data, shown));
            }
            Step::More => match pieces.next() {
                Some(piece) => shown.extend_from_slice(piece),
                None if body.ends_with_connection() => return Some((data, shown)),
                None => return None,
            },
        }
    }
}

#[test]
fn bodies_are_read_however_they_are_cut() {
    let chunked: &[u8] =
        b"4\r\nWiki\r\n7;a=\"b\"\r\npedia i\r\nB\r\nn \r\nchunks.\r\n0\r\nTrailer: x\r\n\r\nnext";
    let cases: [(Framing, [&[u8]; 3]); 4] = [
        (Framing::Length(4), [b"Wikinext", b"Wiki", b"next"]),
        (Framing::Length(0), [b"next", b"", b"next"]),
        (
            Framing::Chunked,
            [chunked, b"Wikipedia in \r\nchunks.", b"next"],
        ),
        (Framing::Close, [b"Wiki", b"Wiki", b""]),
    ];
    for (framing, [text, data, rest]) in cases {
        for step in 1..=text.len() {
            let found = decode(framing, text, step);
            assert_eq!(
                found,
                Some((data.to_vec(), rest.to_vec())),
                "{framing:?} by {step}"
            );
        }
    }
}

#[test]
fn broken_framing_is_refused() {
    let long = [b"1;".as_slice(), &[b'a'; LINE_MAX]].concat();
    let trailers = [b"0\r\n".as_slice(), &b"a: b\r\n".repeat(LINE_MAX)].concat();
    let cases: [&[u8]; 9] = [
        b"\r\n",
        b"+4\r\nWiki\r\n0\r\n\r\n",
        b"0x4\r\nWiki\r\n0\r\n\r\n",
        b"4\nWiki\r\n0\r\n\r\n",
        b"4\r\nWikipedia\r\n0\r\n\r\n",
        b"11111111111111111\r\n",
        b"4\r\nWi",
        &long,
        &trailers,
    ];
    for text in cases {
        let shown = String::from_utf8_lossy(&text[..text.len().min(40)]);
        assert_eq!(decode(Framing::Chunked, text, 3), None, "{shown}");
    }
    assert_eq!(decode(Framing::Length(9), b"Wiki", 2), None);
}
