//! What goes by way of a proxy, and what does not.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use legation_core::Secret;
use legation_core::net::{Found, Lookup};
use legation_net::proxy::{Proxies, Proxy};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::fetch::{Ask, Body, Fetch as _, FetchError, Reach, Reply, Web};
use crate::url::WebUrl;

/// The proxy's name, which leads to this machine.
const PROXY: &str = "proxy.example.com";
/// A name that leads inside; every other one is not known here.
const INSIDE: &str = "inside.example.com";

/// Knows the proxy and a name of the inside.
#[derive(Debug)]
struct Names;

impl Lookup for Names {
    fn lookup(&self, host: &str, port: u16) -> Found {
        let found = match host {
            PROXY => Ok(vec![SocketAddr::from(([127, 0, 0, 1], port))]),
            INSIDE => Ok(vec![SocketAddr::from(([10, 1, 2, 3], port))]),
            _ => Err(io::Error::from(io::ErrorKind::NotFound)),
        };
        Box::pin(std::future::ready(found))
    }
}

type Heads = Arc<Mutex<Vec<String>>>;

/// A proxy that keeps the heads of what it is asked: it answers in a host's place, and opens no
/// tunnel.
async fn proxy() -> (Proxy, Heads) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let heads = Heads::default();
    let kept = Arc::clone(&heads);
    tokio::runtime::Handle::current().spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await.unwrap());
            }
            let head = String::from_utf8(head).unwrap();
            let answer: &[u8] = match head.starts_with("CONNECT ") {
                true => b"HTTP/1.1 407 Who are you\r\ncontent-length: 0\r\n\r\n",
                false => b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}",
            };
            kept.lock().unwrap().push(head);
            stream.write_all(answer).await.unwrap();
            // What is posted is read too: whoever is hung up on sees a broken connection.
            let mut rest = Vec::new();
            let _read = stream.read_to_end(&mut rest).await;
        }
    });
    let named = format!("http://user:hush@{PROXY}:{port}");
    (Proxy::parse(&Secret::new(named.as_str())).unwrap(), heads)
}

async fn fetch(web: &Web, text: &str, reach: Reach) -> Result<Reply, FetchError> {
    let url = WebUrl::parse(text).unwrap();
    web.fetch(Ask::get(url), reach).await
}

fn web(proxies: Proxies) -> Web {
    Web::with_limit(Arc::new(Names), proxies, Duration::from_secs(10))
}

#[tokio::test]
async fn what_is_asked_goes_by_way_of_the_proxy() {
    let (proxy, heads) = proxy().await;
    let server = WebUrl::parse("http://mcp.example.com/mcp").unwrap();
    let own = Reach::of(&server, &[]);
    let web_of_environment = web(Proxies::One(proxy.clone()));
    // The server's own host, without TLS: the proxy is told the whole address.
    let mut ask = Ask::get(WebUrl::parse("http://mcp.example.com/token?a=b").unwrap());
    ask.body = Some(Body::Form(Secret::new("grant_type=x")));
    let reply = web_of_environment.fetch(ask, own.clone()).await.unwrap();
    assert_eq!((reply.status, &*reply.body), (200, b"{}".as_slice()));
    // Any other with TLS, in a tunnel; this proxy opens none, and says so.
    let refused = fetch(&web_of_environment, "https://as.example.com/x", own.clone()).await;
    let Err(FetchError::Proxy { host, why }) = &refused else {
        panic!("{refused:?}");
    };
    assert_eq!(host, "as.example.com");
    assert!(
        why.contains(PROXY) && why.contains("407") && !why.contains("hush"),
        "{why}"
    );
    // What the owner said of the server counts before the environment, both ways.
    let through = own.clone().through(Proxies::One(proxy.clone()));
    let done = fetch(&web(Proxies::Direct), "http://mcp.example.com/", through).await;
    assert_eq!(done.unwrap().status, 200);
    let direct = own.through(Proxies::Direct);
    let done = fetch(&web_of_environment, "http://mcp.example.com/", direct).await;
    assert!(matches!(done, Err(FetchError::Connect { .. })), "{done:?}");

    let heads = heads.lock().unwrap();
    let lines: Vec<_> = heads
        .iter()
        .map(|head| head.lines().next().unwrap())
        .collect();
    assert_eq!(
        lines,
        [
            "POST http://mcp.example.com/token?a=b HTTP/1.1",
            "CONNECT as.example.com:443 HTTP/1.1",
            "GET http://mcp.example.com/ HTTP/1.1",
        ]
    );
    for head in heads.iter() {
        // `user:hush`
        assert!(
            head.contains("proxy-authorization: Basic dXNlcjpodXNo\r\n"),
            "{head}"
        );
    }
}

#[tokio::test]
async fn a_proxy_is_no_way_inside() {
    let (proxy, heads) = proxy().await;
    let web = web(Proxies::One(proxy));
    let server = WebUrl::parse("https://mcp.example.com/mcp").unwrap();
    for text in [
        "https://10.0.0.1/",
        "https://169.254.169.254/latest",
        "https://[fd12::1]/",
        "https://127.0.0.1/",
        "https://localhost/",
        "http://metadata.example.com/",
        &format!("https://{INSIDE}/"),
        &format!("http://{INSIDE}/"),
    ] {
        let done = fetch(&web, text, Reach::of(&server, &[])).await;
        let is_refused = matches!(
            done,
            Err(FetchError::Private { .. } | FetchError::Plain { .. } | FetchError::Connect { .. })
        );
        assert!(is_refused, "{text}: {done:?}");
    }
    let asked = heads.lock().unwrap().clone();
    assert_eq!(asked, Vec::<String>::new(), "nothing was told to it");
    // What the owner allows is asked, wherever it is.
    let allowed = Reach::of(&server, &[INSIDE.into()]);
    let done = fetch(&web, &format!("http://{INSIDE}/"), allowed).await;
    assert_eq!(done.unwrap().status, 200);
}

#[tokio::test]
async fn a_variable_that_names_no_proxy_stops_what_it_is_for() {
    let get = |name: &str| match name {
        "https_proxy" => Some("socks5://user:hush@proxy.example.com"),
        "no_proxy" => Some("direct.example.com"),
        _ => None,
    };
    let web = web(Proxies::of_environment(get));
    let server = WebUrl::parse("https://mcp.example.com/mcp").unwrap();
    let reach = Reach::of(&server, &[]);
    let done = fetch(&web, "https://as.example.com/", reach.clone()).await;
    let Err(FetchError::Proxy { why, .. }) = &done else {
        panic!("{done:?}");
    };
    assert!(
        why.contains("https_proxy") && !why.contains("hush"),
        "{why}"
    );
    let done = fetch(&web, "https://direct.example.com/", reach).await;
    assert!(matches!(done, Err(FetchError::Connect { .. })), "{done:?}");
}
