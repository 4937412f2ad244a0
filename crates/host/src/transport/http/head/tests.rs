use super::*;

/// Reads a head that comes first.
fn parse(text: &[u8]) -> io::Result<Option<(Head, usize)>> {
    Last::default().parse(text)
}

fn framing(head: &str) -> Option<(Framing, bool)> {
    let text = format!("{head}\r\n\r\nrest");
    let (head, length) = parse(text.as_bytes()).ok()??;
    assert_eq!(&text[length..], "rest");
    Some((head.framing, head.keep))
}

#[test]
fn a_body_ends_where_the_head_says() {
    use Framing::{Chunked, Close, Length};
    let cases = [
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 7",
            Some((Length(7), true)),
        ),
        (
            "HTTP/1.1 200 OK\r\ncontent-length:7\r\nContent-Length: 7",
            Some((Length(7), true)),
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 7\r\nContent-Length: 8",
            None,
        ),
        ("HTTP/1.1 200 OK\r\nContent-Length: +7", None),
        ("HTTP/1.1 200 OK\r\nContent-Length: 7, 7", None),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999",
            None,
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked",
            Some((Chunked, true)),
        ),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked", None),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
            None,
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 7",
            None,
        ),
        ("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked", None),
        (
            "HTTP/1.0 200 OK\r\nContent-Length: 7",
            Some((Length(7), false)),
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 7\r\nConnection: x, Close",
            Some((Length(7), false)),
        ),
        ("HTTP/1.1 200 OK", Some((Close, false))),
        ("HTTP/1.1 204 No Content", Some((Length(0), true))),
        (
            "HTTP/1.1 304 Not Modified\r\nContent-Length: 7",
            Some((Length(0), true)),
        ),
        ("HTTP/1.1 100 Continue", Some((Length(0), true))),
        ("HTTP/2.0 200 OK", None),
        ("220 smtp.example.org ESMTP", None),
    ];
    for (head, expected) in cases {
        assert_eq!(framing(head), expected, "{head}");
    }
}

#[test]
fn a_head_is_read_when_all_of_it_is_there_and_not_too_long() {
    let text = b"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer a\r\nWWW-Authenticate: Basic\r\nContent-Type: Application/JSON; charset=utf-8\r\nMcp-Session-Id: one\r\nContent-Encoding: gzip\r\nLocation: /there\r\n\r\n";
    for end in 0..text.len() {
        let part = parse(&text[..end]).expect("a part is no error");
        assert!(part.is_none(), "{end} bytes");
    }
    let (head, length) = parse(text).expect("HTTP").expect("whole");
    assert_eq!(length, text.len());
    assert_eq!(head.status, 401);
    assert_eq!(head.kind, Kind::Json);
    assert_eq!(head.challenge.as_deref(), Some("Bearer a, Basic"));
    assert_eq!(head.session, Some(HeaderValue::from_static("one")));
    assert_eq!(head.location.as_deref(), Some("/there"));
    assert!(head.encoded);
    let endless = format!("HTTP/1.1 200 OK\r\na: {}", "a".repeat(HEAD_MAX));
    assert!(parse(endless.as_bytes()).is_err());
    let many = format!(
        "HTTP/1.1 200 OK\r\n{}\r\n",
        "a: b\r\n".repeat(HEADERS_MAX + 1)
    );
    assert!(parse(many.as_bytes()).is_err());
}

#[test]
fn a_head_that_comes_again_is_read_as_before() {
    let plain = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 120\r\nDate: now\r\n\r\n";
    let twice = plain.replace("Date: now", "Content-Length: 120");
    let chunked = plain.replace("Content-Length: 120", "Transfer-Encoding: chunked");
    let mut texts = vec![plain.to_owned(), twice, chunked];
    for change in [
        ("200 OK", "204 No Content"),
        ("application/json", "text/event-stream"),
        ("application/json", "text/plain"),
        ("Date: now", "Mcp-Session-Id: s"),
        ("Date: now", "Connection: close"),
        ("Date: now", "Location: /elsewhere"),
        ("Content-Length: 120", "X: y"),
    ] {
        texts.push(plain.replace(change.0, change.1));
    }
    // Whatever came before, a head says what it says alone.
    for before in &texts {
        for text in &texts {
            for digits in ["120", "7", "007", "999", "1e1"] {
                let text = text.replacen("120", digits, 1) + "rest";
                let mut last = Last::default();
                let told = |read: io::Result<Option<(Head, usize)>>| format!("{:?}", read.ok());
                let alone = told(parse(text.as_bytes()));
                drop(last.parse(before.as_bytes()));
                for _ in 0..2 {
                    assert_eq!(told(last.parse(text.as_bytes())), alone, "{before} {text}");
                }
            }
        }
    }
}
