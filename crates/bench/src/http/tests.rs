//! Heads and bodies as servers send them, whole and in pieces.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use super::{Connection, Framing, Url, parse_head};

#[test]
fn a_head_is_read_once_it_is_whole() {
    let text = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nMCP-Session-Id: s1\r\n\r\nhello";
    for end in 0..text.len() - 5 {
        assert_eq!(
            parse_head(&text[..end]).expect("HTTP so far"),
            None,
            "{end}"
        );
    }
    let head = parse_head(text).expect("HTTP").expect("whole");
    assert_eq!((head.status, head.framing), (200, Framing::Length(5)));
    assert_eq!(head.session.as_deref(), Some("s1"));
    assert_eq!(&text[head.length..], b"hello");
    let chunked = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    let head = parse_head(chunked).expect("HTTP").expect("whole");
    assert_eq!(head.framing, Framing::Chunked);
    parse_head(b"SSH-2.0-x\r\n\r\n").expect_err("not HTTP");
}

#[test]
fn urls_are_taken_apart() {
    let url: Url = "http://127.0.0.1:80/mcp/s/x".parse().expect("a URL");
    assert_eq!(
        (url.authority.as_str(), url.path.as_str()),
        ("127.0.0.1:80", "/mcp/s/x")
    );
    assert_eq!("http://h:1".parse::<Url>().expect("a URL").path, "/");
    "https://h".parse::<Url>().expect_err("no TLS here");
}

#[test]
fn bodies_are_read_whole_and_the_connection_is_kept() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let authority = listener.local_addr().expect("an address").to_string();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        for piece in [
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chu",
            "nked\r\n\r\n5\r\nhe",
            "llo\r\n1;x=y\r\n \r\n0\r\n\r\nHTTP/1.1 202 Accepted\r\ncontent-le",
            "ngth: 3\r\n\r\na",
            "bc",
        ] {
            stream.write_all(piece.as_bytes()).expect("a write");
            stream.flush().expect("a flush");
        }
        // Closed with requests unread, the connection would be reset and take the answers along.
        stream
            .read_to_end(&mut Vec::new())
            .expect("the client's end");
    });
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.expect("a runtime").block_on(async {
        let mut connection = Connection::open(&authority).await.expect("a connection");
        let (head, body) = connection.exchange(b"one").await.expect("a response");
        assert_eq!((head.status, body), (200, b"hello ".as_slice()));
        let (head, body) = connection.exchange(b"two").await.expect("a response");
        assert_eq!((head.status, body), (202, b"abc".as_slice()));
    });
    server.join().expect("the server's thread");
}
