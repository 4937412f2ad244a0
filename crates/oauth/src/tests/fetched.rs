//! What is fetched, and what is not.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use legation_core::net::{Found, Lookup};
use legation_net::proxy::Proxies;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::fetch::{Ask, Fetch as _, FetchError, Reach, Web};
use crate::url::WebUrl;

/// Names lead to one address after the other.
#[derive(Debug)]
struct Names {
    lead: Mutex<Vec<SocketAddr>>,
    asked: AtomicUsize,
}

impl Lookup for Names {
    fn lookup(&self, _host: &str, _port: u16) -> Found {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let mut lead = self.lead.lock().unwrap();
        let next = if lead.len() > 1 {
            lead.remove(0)
        } else {
            lead[0]
        };
        Box::pin(async move { Ok(vec![next]) })
    }
}

fn names(lead: &[&str]) -> Arc<Names> {
    Arc::new(Names {
        lead: Mutex::new(lead.iter().map(|at| at.parse().unwrap()).collect()),
        asked: AtomicUsize::new(0),
    })
}

fn web(names: &Arc<Names>) -> Web {
    let limit = Duration::from_secs(2);
    Web::with_limit(Arc::clone(names) as Arc<dyn Lookup>, Proxies::Direct, limit)
}

fn url(text: &str) -> WebUrl {
    WebUrl::parse(text).unwrap()
}

/// A server that answers every request with what `answer` makes of its number.
async fn server(answer: impl Fn(usize) -> Vec<u8> + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::runtime::Handle::current().spawn(async move {
        for number in 0.. {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut head = [0; 4096];
            let _read = stream.read(&mut head).await;
            // A client that has read enough closes.
            let _written = stream.write_all(&answer(number)).await;
        }
    });
    address
}

#[tokio::test]
async fn nothing_goes_to_an_address_that_is_not_on_the_internet() {
    let server = url("https://mcp.example.com/mcp");
    for address in [
        "127.0.0.1:443",
        "10.1.2.3:443",
        "169.254.169.254:443",
        "0.0.0.0:443",
        "100.64.0.1:443",
        "[::1]:443",
        "[::ffff:127.0.0.1]:443",
        "[fd00::1]:443",
        "[fe80::1]:443",
    ] {
        // However it is spelled: what a name leads to counts.
        for host in ["as.example.com", "127.1", "0x7f.1", "2130706433"] {
            let names = names(&[address]);
            let ask = Ask::get(url(&format!("https://{host}/")));
            let done = web(&names).fetch(ask, Reach::of(&server, &[])).await;
            let refused = matches!(done, Err(FetchError::Private { .. }));
            assert!(refused, "{host} at {address}: {done:?}");
        }
    }
    for text in [
        "https://127.0.0.1/",
        "https://[::ffff:127.0.0.1]/",
        "https://169.254.169.254/latest",
        "https://[fd12::1]/",
    ] {
        let names = names(&["127.0.0.1:443"]);
        let done = web(&names)
            .fetch(Ask::get(url(text)), Reach::of(&server, &[]))
            .await;
        assert!(matches!(done, Err(FetchError::Private { .. })), "{text}");
        assert_eq!(names.asked.load(Ordering::SeqCst), 0, "not even looked up");
    }
    let names = names(&["93.184.216.34:80"]);
    let ask = Ask::get(url("http://as.example.com/"));
    let done = web(&names).fetch(ask, Reach::of(&server, &[])).await;
    assert!(matches!(done, Err(FetchError::Plain { .. })));
}

#[tokio::test]
async fn the_own_host_of_a_server_is_no_way_to_other_services() {
    let own = url("http://mcp.example.com:8080/mcp");
    // Nothing listens there: what was allowed finds no connection.
    let names = names(&["127.0.0.1:1"]);
    for (text, is_allowed) in [
        ("http://mcp.example.com:8080/.well-known/x", true),
        ("https://mcp.example.com:9443/", true),
        ("http://mcp.example.com:9090/", false),
        ("http://mcp.example.com/latest", false),
    ] {
        let ask = Ask::get(url(text));
        let done = web(&names).fetch(ask, Reach::of(&own, &[])).await;
        let is_tried = matches!(done, Err(FetchError::Connect { .. }));
        assert_eq!(is_tried, is_allowed, "{text}: {done:?}");
    }
}

#[tokio::test]
async fn a_name_is_looked_up_once_and_what_it_leads_to_is_used() {
    // The second answer would be another: nobody asks for it.
    let here = server(|_| b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}".to_vec()).await;
    let names = names(&[&here.to_string(), "10.0.0.1:80"]);
    let ask = Ask::get(url(&format!("http://localhost:{}/", here.port())));
    let own = url(&format!("http://localhost:{}/mcp", here.port()));
    let reply = web(&names).fetch(ask, Reach::of(&own, &[])).await.unwrap();
    assert_eq!(reply.status, 200);
    assert_eq!(names.asked.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn redirects_are_checked_like_first_addresses_and_end() {
    let to = |place: &str| {
        let answer =
            format!("HTTP/1.1 302 Found\r\nlocation: {place}\r\ncontent-length: 0\r\n\r\n");
        move |_: usize| answer.clone().into_bytes()
    };
    for (place, expected) in [
        ("http://10.0.0.1/", "private"),
        ("https://169.254.169.254/", "private"),
        ("http://metadata.example.com/", "private"),
        ("file:///etc/passwd", "redirect"),
        ("/again", "redirect"),
    ] {
        let here = server(to(place)).await;
        let names = names(&[&here.to_string()]);
        let own = url(&format!("http://localhost:{}/mcp", here.port()));
        let ask = Ask::get(own.clone());
        let done = web(&names).fetch(ask, Reach::of(&own, &[])).await;
        let found = match done {
            Err(FetchError::Private { .. } | FetchError::Plain { .. }) => "private",
            Err(FetchError::Redirect { .. }) => "redirect",
            other => panic!("{place}: {other:?}"),
        };
        assert_eq!(found, expected, "{place}");
    }
}

#[tokio::test]
async fn what_is_large_or_slow_is_given_up() {
    let large = |_: usize| {
        let mut answer = b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n".to_vec();
        answer.resize(1 << 20, b'x');
        answer
    };
    let here = server(large).await;
    let own = url(&format!("http://localhost:{}/mcp", here.port()));
    let names = names(&[&here.to_string()]);
    let done = web(&names)
        .fetch(Ask::get(own.clone()), Reach::of(&own, &[]))
        .await;
    assert!(matches!(done, Err(FetchError::TooLarge { .. })), "{done:?}");

    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = silent.local_addr().unwrap();
    let own = url(&format!("http://localhost:{}/mcp", at.port()));
    let names = self::names(&[&at.to_string()]);
    let web = Web::with_limit(names, Proxies::Direct, Duration::from_millis(50));
    let done = web.fetch(Ask::get(own.clone()), Reach::of(&own, &[])).await;
    assert!(matches!(done, Err(FetchError::Timeout { .. })), "{done:?}");

    let zipped = |_: usize| {
        b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 1\r\n\r\nx".to_vec()
    };
    let here = server(zipped).await;
    let own = url(&format!("http://localhost:{}/mcp", here.port()));
    let names = self::names(&[&here.to_string()]);
    let done = self::web(&names)
        .fetch(Ask::get(own.clone()), Reach::of(&own, &[]))
        .await;
    assert!(matches!(done, Err(FetchError::Broken { .. })), "{done:?}");
}
