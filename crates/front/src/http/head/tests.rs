use super::BadHead::{BareLineFeed, Coding, Expectation, Length, Malformed, Version};
use super::*;

/// Finds and reads the head of what came, shown in pieces of `step` bytes; the
/// head and what follows it, `None` while its end has not come.
fn read(text: &[u8], step: usize) -> Result<Option<(Head, Vec<u8>)>, BadHead> {
    let mut finder = Finder::default();
    let mut shown = 0;
    while shown < text.len() {
        shown = (shown + step).min(text.len());
        if let Some(length) = finder.find(&text[..shown])? {
            let mut head = Head::default();
            head.clear();
            head.read(&text[..length])?;
            return Ok(Some((head, text[length..].to_vec())));
        }
    }
    Ok(None)
}

fn head(lines: &str) -> Result<Head, BadHead> {
    let text = format!("{lines}\r\n\r\n");
    let whole = read(text.as_bytes(), text.len());
    whole.map(|found| found.expect("a whole head").0)
}

fn post(headers: &str) -> Result<Head, BadHead> {
    head(
        &format!("POST /mcp HTTP/1.1\r\nHost: x\r\n{headers}")
            .trim_end()
            .replace('|', "\r\n"),
    )
}

#[test]
fn a_head_is_read_however_it_is_cut() {
    let text = b"\r\n\r\nPOST /mcp?a=b HTTP/1.1\r\nHost: localhost:1\r\nX-Empty:\r\nAccept: a\r\naccept:  b \r\n\
        Content-Length: 4\r\n\r\nbodyGET / HTTP/1.1\r\n";
    for step in 1..=text.len() {
        let (head, rest) = read(text, step).expect("a good head").expect("whole");
        assert_eq!(rest, b"bodyGET / HTTP/1.1\r\n", "by {step}");
        assert_eq!(head.method, Method::POST);
        let target = Target {
            authority: None,
            path: "/mcp",
            query: Some("a=b"),
        };
        assert_eq!(head.target(), Ok(target));
        assert_eq!(head.framing, Some(Framing::Length(4)));
        assert!(head.keep && head.is_11 && !head.expects);
        assert_eq!(head.sole(&header::HOST), Ok(Some("localhost:1")));
        assert_eq!(head.sole(&HeaderName::from_static("x-empty")), Ok(Some("")));
        assert!(head.sole(&header::ACCEPT).is_err(), "it stands there twice");
        assert_eq!(head.sole(&header::ORIGIN), Ok(None));
        let mut accepted = Vec::new();
        head.each(&header::ACCEPT, |value| accepted.push(value));
        assert_eq!(accepted, [b"a", b"b"]);
    }
    for end in 0..text.len() - b"bodyGET / HTTP/1.1\r\n".len() {
        let part = read(&text[..end], 7).expect("the beginning of a good head");
        assert!(part.is_none(), "{end} bytes of it are not all of it");
    }
}

/// Headers that make a request ambiguous, or none; `|` stands for a line's end.
const HEADERS: [(&str, BadHead); 36] = [
    ("Content-Length: 5|Transfer-Encoding: chunked", Length),
    ("Transfer-Encoding: chunked|Content-Length: 5", Length),
    ("Content-Length: 5|Content-Length: 6", Length),
    ("Content-Length: 5|Content-Length: 5", Length),
    ("Content-Length: 5, 5", Length),
    ("Content-Length: -1", Length),
    ("Content-Length: +1", Length),
    ("Content-Length: 0x5", Length),
    ("Content-Length: 1 2", Length),
    ("Content-Length:", Length),
    ("Content-Length: 18446744073709551616", Length),
    ("Content-Length: \u{0665}", Length),
    ("Transfer-Encoding: identity", Length),
    ("Transfer-Encoding: chunked, identity", Length),
    ("Transfer-Encoding: xchunked", Length),
    ("Transfer-Encoding: \"chunked\"", Length),
    ("Transfer-Encoding:", Length),
    (
        "Transfer-Encoding: chunked|Transfer-Encoding: chunked",
        Length,
    ),
    (
        "Transfer-Encoding: chunked|Transfer-Encoding: identity",
        Length,
    ),
    ("Transfer-Encoding: gzip, chunked", Coding),
    ("Transfer-Encoding: chunked, chunked", Coding),
    ("Transfer-Encoding: ,chunked", Coding),
    ("Expect: 200-ok", Expectation),
    ("X: a| b", Malformed),
    ("X: a|\tb", Malformed),
    (" X: a", Malformed),
    ("X : a", Malformed),
    ("Bad Header: x", Malformed),
    (": x", Malformed),
    ("NoColon", Malformed),
    ("X: a\rb", Malformed),
    ("X: a\0b", Malformed),
    ("X: a\u{7f}b", Malformed),
    ("X(y): z", Malformed),
    ("Content-Length\0: 5", Malformed),
    ("Transfer-Encoding\u{b}: chunked", Malformed),
];

/// Whole heads that are none.
const HEADS: [(&str, BadHead); 18] = [
    ("POST /mcp HTTP/1.1\nHost: x\r\n\r\n", BareLineFeed),
    ("POST /mcp HTTP/1.1\r\nHost: x\n\r\n", BareLineFeed),
    ("POST /mcp HTTP/1.1\r\nHost: x\r\n\n", BareLineFeed),
    ("\nPOST /mcp HTTP/1.1\r\n\r\n", BareLineFeed),
    ("\r\n\r\n\r\n\r\n\r\nGET / HTTP/1.1\r\n\r\n", Malformed),
    ("POST /mcp HTTP/2.0\r\n\r\n", Version),
    ("POST /mcp HTTP/1.2\r\n\r\n", Version),
    ("POST /mcp http/1.1\r\n\r\n", Version),
    ("POST /mcp\r\n\r\n", Malformed),
    ("POST  /mcp HTTP/1.1\r\n\r\n", Malformed),
    ("POST /mcp  HTTP/1.1\r\n\r\n", Version),
    ("POST /mcp HTTP/1.1 \r\n\r\n", Malformed),
    ("POST /m cp HTTP/1.1\r\n\r\n", Version),
    ("POST\t/mcp HTTP/1.1\r\n\r\n", Malformed),
    ("PO(ST /mcp HTTP/1.1\r\n\r\n", Malformed),
    (
        "POST /mcp HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
        Length,
    ),
    ("PRI * HTTP/2.0\r\n\r\n", Version),
    ("\x16\x03\x01\x02\r\n\r\n", Malformed),
];

/// RFC 9112, sections 2.2, 3, 5.1, 5.2, 6.1, 6.3 and 11.2.
#[test]
fn what_could_be_read_in_two_ways_is_refused() {
    let cases = HEADERS.iter().map(|(headers, bad)| {
        let text = format!("POST /mcp HTTP/1.1\r\n{headers}|").replace('|', "\r\n") + "\r\n";
        (text, *bad)
    });
    let cases = cases.chain(HEADS.iter().map(|(text, bad)| ((*text).to_owned(), *bad)));
    let mut wrong = Vec::new();
    for (text, bad) in cases {
        for step in [1, 2, 3, text.len()] {
            let found = read(text.as_bytes(), step).map(|found| found.is_some());
            if found != Err(bad) {
                wrong.push(format!("{text:?} by {step}: {found:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn heads_are_bounded() {
    let many = |number: usize| post(&"X: y|".repeat(number)).map(|_| ());
    assert_eq!(many(HEADERS_MAX - 1), Ok(()));
    assert_eq!(many(HEADERS_MAX), Err(BadHead::TooLong));
    assert_eq!(many(500), Err(BadHead::TooLong));
    let long = |length: usize| post(&format!("X: {}", "y".repeat(length))).map(|_| ());
    assert_eq!(long(HEAD_MAX - 100), Ok(()));
    assert_eq!(long(HEAD_MAX), Err(BadHead::TooLong));
    let endless = vec![b'a'; HEAD_MAX];
    assert_eq!(read(&endless, 4096).map(|_| ()), Err(BadHead::TooLong));
    assert!(matches!(read(&endless[1..], 4096), Ok(None)));
    for bad in [
        BadHead::TooLong,
        BadHead::Length,
        BadHead::Version,
        BadHead::Coding,
    ] {
        assert!(bad.status().is_client_error() || bad.status().is_server_error());
    }
}

#[test]
fn connections_are_kept_as_both_versions_have_it() {
    let keeps = |version: &str, value: &str| {
        let found = head(&format!("GET / HTTP/{version}\r\nConnection: {value}"));
        found.map(|head| head.keep)
    };
    for (version, value, kept) in [
        ("1.1", "", true),
        ("1.1", "close", false),
        ("1.1", "Close", false),
        ("1.1", "te, close", false),
        ("1.1", "keep-alive", true),
        ("1.1", "closed", true),
        ("1.0", "", false),
        ("1.0", "keep-alive", true),
        ("1.0", "keep-alive, close", false),
    ] {
        assert_eq!(keeps(version, value), Ok(kept), "HTTP/{version} {value}");
    }
    let expects = |version: &str| {
        let found = head(&format!("POST / HTTP/{version}\r\nExpect: 100-Continue"));
        found.map(|head| head.expects)
    };
    assert_eq!((expects("1.1"), expects("1.0")), (Ok(true), Ok(false)));
}

#[test]
fn targets_have_the_forms_of_a_server() {
    let target = |authority, path, query| {
        Some(Target {
            authority,
            path,
            query,
        })
    };
    for (text, found) in [
        ("/mcp", target(None, "/mcp", None)),
        ("/mcp?", target(None, "/mcp", Some(""))),
        ("/a?b?c", target(None, "/a", Some("b?c"))),
        ("//evil/x", target(None, "//evil/x", None)),
        ("*", target(None, "*", None)),
        ("http://x:1/mcp?y", target(Some("x:1"), "/mcp", Some("y"))),
        ("HTTP://x", target(Some("x"), "/", None)),
        ("https://x?y=/z", target(Some("x"), "/", Some("y=/z"))),
        ("http://user@x/", target(Some("user@x"), "/", None)),
        ("x:443", None),
        ("mcp", None),
        ("", None),
        ("ftp://x/", None),
        ("/mcp#x", None),
    ] {
        assert_eq!(Target::parse(text), found, "{text}");
    }
}

/// What hyper's own parser takes is taken, except for what is refused above; the
/// headers then are those that it found.
#[test]
fn honest_heads_read_as_another_parser_reads_them() {
    let names = ["Host", "accept", "X-1", "mcp-name", "Content-Type"];
    let values = ["x", "a, b;q=0.5", "", "  y ", "\u{e9}", "a\tb", "\"q\""];
    for count in 0..6 {
        for (shift, ending) in [(0, "\r\n"), (1, "  \r\n"), (2, "\t\r\n")] {
            let lines: String = (0..count)
                .map(|at| {
                    let value = values[(at + shift * count) % values.len()];
                    format!("{}: {value}{ending}", names[(at + shift) % names.len()])
                })
                .collect();
            let text = format!("GET /p HTTP/1.1\r\n{lines}\r\n");
            let mut places = [httparse::EMPTY_HEADER; 16];
            let mut oracle = httparse::Request::new(&mut places);
            let status = oracle.parse(text.as_bytes()).expect("a good head");
            assert_eq!(status, httparse::Status::Complete(text.len()));
            let (found, _) = read(text.as_bytes(), 5).expect("good").expect("whole");
            for name in names {
                let name = HeaderName::from_bytes(name.as_bytes()).expect("a name");
                let mut ours = Vec::new();
                found.each(&name, |value| ours.push(value.to_vec()));
                let theirs: Vec<Vec<u8>> = oracle
                    .headers
                    .iter()
                    .filter(|field| name == *field.name)
                    .map(|field| field.value.trim_ascii().to_vec())
                    .collect();
                assert_eq!(ours, theirs, "{text:?}");
            }
        }
    }
}

#[test]
fn a_head_that_comes_again_says_how_long_its_body_is() {
    let first = "POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: 120\r\nAccept: a";
    let mut known = head(first).expect("a good head");
    let text = format!("{first}\r\n\r\n");
    for (digits, length) in [("120", 120), ("007", 7), ("300", 300)] {
        let next = text.replace("120", digits);
        assert_eq!(known.again(next.as_bytes()), Some(text.len()));
        assert_eq!(known.framing, Some(Framing::Length(length)));
        assert_eq!(known.sole(&header::CONTENT_LENGTH), Ok(Some(digits)));
        assert_eq!(known.sole(&header::ACCEPT), Ok(Some("a")));
    }
    assert_eq!(known.again(text.replace('x', "y").as_bytes()), None);
    for (framing, line) in [
        (None, "A: b"),
        (Some(Framing::Chunked), "Transfer-Encoding: chunked"),
    ] {
        let text = format!("POST /mcp HTTP/1.1\r\n{line}\r\n\r\n");
        let mut known = head(text.trim_end()).expect("a good head");
        assert_eq!(known.again(text.as_bytes()), Some(text.len()));
        assert_eq!(known.framing, framing);
    }
    known.clear();
    assert_eq!(known.again(text.as_bytes()), None);
}
