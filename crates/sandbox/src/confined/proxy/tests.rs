//! The way out, over real sockets, and the names that lead there.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use legation_core::Secret;
use legation_core::net::{Found, Lookup};
use legation_core::task::TaskSet;
use legation_net::proxy::{Proxies, Proxy};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::door::Door;
use super::said::Said;
use super::serve::serve;
use super::variables;

/// Where every name of `.test` leads, and where one of `.inside` does.
#[derive(Debug)]
struct Names;

impl Lookup for Names {
    fn lookup(&self, host: &str, port: u16) -> Found {
        let found = match host.parse() {
            Ok(ip) => Ok(vec![SocketAddr::new(ip, port)]),
            Err(_) if host.ends_with(".test") => Ok(vec![(Ipv4Addr::LOCALHOST, port).into()]),
            Err(_) if host.ends_with(".inside") => Ok(vec![([10, 1, 2, 3], port).into()]),
            Err(_) => Err(io::Error::other("no such name")),
        };
        Box::pin(std::future::ready(found))
    }
}

/// What the owner of this thread's sandbox was told: a test is one thread.
fn told() -> Vec<String> {
    TOLD.with_borrow(Clone::clone)
}

thread_local! {
    static TOLD: std::cell::RefCell<Vec<String>> = const { std::cell::RefCell::new(Vec::new()) };
}

/// A proxy that leads to these hosts and no others.
struct Stand {
    address: SocketAddr,
    _tasks: TaskSet,
}

impl Stand {
    fn new(hosts: &[String], proxies: Proxies) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let hosts = hosts.iter().map(|host| host.parse());
        let say = |line: &str| TOLD.with_borrow_mut(|told| told.push(line.to_owned()));
        let door = Door {
            hosts: hosts.collect::<Result<_, _>>().unwrap(),
            lookup: Arc::new(Names),
            proxies,
            said: Said::new("the rule".to_owned(), say),
        };
        let tasks = TaskSet::new();
        tasks.spawn("a proxy", async move {
            serve(listener, Vec::new(), Arc::new(door)).await.unwrap();
        });
        Self {
            address,
            _tasks: tasks,
        }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// All that is answered until the connection ends.
    async fn asked(&self, request: &str) -> String {
        let mut stream = self.connect().await;
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        // What is refused in the middle of a request may be reset.
        let _reset = stream.read_to_end(&mut answer).await;
        String::from_utf8(answer).unwrap()
    }

    /// An open tunnel.
    async fn tunnel(&self, to: &str) -> TcpStream {
        let mut stream = self.connect().await;
        let request = format!("CONNECT {to} HTTP/1.1\r\nhost: {to}\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let head = head(&mut stream).await;
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
        stream
    }
}

async fn head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(head).unwrap()
}

type Heads = Arc<Mutex<Vec<String>>>;

/// A host, or a proxy, that keeps the heads of what it is asked and answers each in the same way.
async fn host(answer: &'static str) -> (u16, Heads, TaskSet) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (heads, tasks) = (Heads::default(), TaskSet::new());
    let (kept, work) = (Arc::clone(&heads), tasks.clone());
    tasks.spawn("a host", async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let kept = Arc::clone(&kept);
            work.spawn("a connection", async move {
                let head = head(&mut stream).await;
                kept.lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(head);
                stream.write_all(answer.as_bytes()).await.unwrap();
                let mut rest = Vec::new();
                let _until_it_ends = stream.read_to_end(&mut rest).await;
            });
        }
    });
    (port, heads, tasks)
}

/// A host that says back what it hears.
async fn echo() -> (u16, TaskSet) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let tasks = TaskSet::new();
    let work = tasks.clone();
    tasks.spawn("an echo", async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            work.spawn("a connection", async move {
                let (mut read, mut write) = stream.split();
                let _ended = tokio::io::copy(&mut read, &mut write).await;
            });
        }
    });
    (port, tasks)
}

async fn says_back(stream: &mut TcpStream, said: &[u8]) {
    stream.write_all(said).await.unwrap();
    let mut heard = vec![0; said.len()];
    stream.read_exact(&mut heard).await.unwrap();
    assert_eq!(heard, said);
}

#[tokio::test]
async fn a_tunnel_leads_to_who_is_named() {
    let (port, _echo) = echo().await;
    let named = [
        format!("127.0.0.1:{port}"),
        format!("api.test:{port}"),
        format!("*.below.test:{port}"),
    ];
    let stand = Stand::new(&named, Proxies::Direct);
    for to in [
        "127.0.0.1",
        "[::ffff:127.0.0.1]",
        "api.test",
        "API.Test.",
        "a.b.below.test",
    ] {
        let mut tunnel = stand.tunnel(&format!("{to}:{port}")).await;
        says_back(&mut tunnel, b"hello").await;
        says_back(&mut tunnel, &vec![b'x'; 200_000]).await;
        // The end of one direction is the end of that direction alone.
        tunnel.shutdown().await.unwrap();
        assert_eq!(
            tunnel.read_to_end(&mut Vec::new()).await.unwrap(),
            0,
            "{to}"
        );
    }
    assert_eq!(told(), [""; 0]);
}

#[tokio::test]
async fn what_is_not_named_is_refused_and_said_why() {
    let (port, _echo) = echo().await;
    let named = [
        "api.test:443".to_owned(),
        format!("x.inside:{port}"),
        "api.example:443".into(),
    ];
    let stand = Stand::new(&named, Proxies::Direct);
    let connect =
        |to: &str| format!("CONNECT {to} HTTP/1.1\r\nhost: {to}\r\nconnection: close\r\n\r\n");
    for (to, status, why) in [
        (
            "other.test:443",
            403,
            "refuses other.test:443, which is not named. Its owner can allow it in the rule.",
        ),
        (
            "api.test:80",
            403,
            "refuses api.test:80, which is not named",
        ),
        // Named, and leads inside.
        (
            "api.test:443",
            403,
            "which leads to an address that is not on the Internet and not named",
        ),
        (
            &format!("x.inside:{port}"),
            403,
            "which leads to an address that is not on the Internet",
        ),
        (&format!("127.0.0.1:{port}"), 403, "which is not named"),
        (&format!("localhost:{port}"), 403, "which is not named"),
        (&format!("[::1]:{port}"), 403, "which is not named"),
        ("169.254.169.254:80", 403, "which is not named"),
        (
            "api.example:443",
            502,
            "api.example:443 cannot be reached: no such name",
        ),
        ("127.1:443", 400, "The request names no host."),
        ("0x7f000001:443", 400, "The request names no host."),
        ("api.test", 400, "The request names no port."),
        ("api.test:0", 400, "The request names no port."),
        (
            "user@api.test:443",
            400,
            "An address with a user name is not asked for.",
        ),
    ] {
        let answer = stand.asked(&connect(to)).await;
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status} ")),
            "{to}: {answer}"
        );
        assert!(answer.contains(why), "{to}: {answer}");
        assert!(!answer.contains("10.1.2.3"), "{to}: {answer}");
    }
    let heard = told();
    let inside = format!(
        "legation: the sandbox refuses x.inside:{port}, which leads to an address that is not on the Internet and \
         not named; to allow it, add \"10.1.2.3:{port}\" to the rule\n"
    );
    assert!(heard.contains(&inside), "{heard:#?}");
    let first = "legation: the sandbox refuses other.test:443, which is not named; to allow it, add \"other.test:443\" to the rule\n";
    assert_eq!(heard[0], first);
    assert_eq!(heard.len(), 8, "{heard:#?}");
    // Each is said once, and who tries many is not heard of many times.
    let _again = stand.asked(&connect("other.test:443")).await;
    assert_eq!(told().len(), 8);
    for number in 0..100 {
        let _refused = stand.asked(&connect(&format!("h{number}.test:443"))).await;
    }
    let heard = told();
    assert_eq!(heard.len(), 33, "{heard:#?}");
    assert!(
        heard[32].contains("more hosts than are told of here"),
        "{heard:#?}"
    );
}

#[tokio::test]
async fn what_is_no_request_of_a_proxy_ends() {
    let (port, heads, _host) = host("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
    let stand = Stand::new(
        &[format!("api.test:{port}"), format!("127.0.0.1:{port}")],
        Proxies::Direct,
    );
    let many = "a: b\r\n".repeat(200);
    let smuggled = format!(
        "POST http://api.test:{port}/ HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\ntransfer-encoding: identity\r\n\r\n"
    );
    for (request, status) in [
        ("GET / HTTP/1.1\r\nhost: api.test\r\n\r\n", 400),
        (
            "GET https://api.test/ HTTP/1.1\r\nhost: api.test\r\n\r\n",
            400,
        ),
        (
            "GET ftp://api.test/ HTTP/1.1\r\nhost: api.test\r\n\r\n",
            400,
        ),
        ("OPTIONS * HTTP/1.1\r\nhost: api.test\r\n\r\n", 400),
        ("GET http:///x HTTP/1.1\r\nhost: api.test\r\n\r\n", 400),
        ("CONNECT / HTTP/1.1\r\n\r\n", 400),
        ("\r\n\r\n\0\0\0\0\r\n\r\n", 400),
        ("SSH-2.0-OpenSSH_9.9\r\n\r\n", 400),
        (&format!("GET http://api.test/ HTTP/1.1\r\n{many}\r\n"), 431),
        (&smuggled, 400),
    ] {
        let request = request.replacen("\r\n", "\r\nconnection: close\r\n", 1);
        let answer = stand.asked(&request).await;
        let shown: String = request.chars().take(60).collect();
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status} ")),
            "{shown}: {answer}"
        );
    }
    // A head without end is given up before it ends; who still writes may hear nothing of it.
    let long = format!(
        "GET http://api.test/{} HTTP/1.1\r\n\r\n",
        "x".repeat(1 << 20)
    );
    let mut stream = stand.connect().await;
    let (mut read, mut write) = stream.split();
    let mut answer = Vec::new();
    let (_, _) = tokio::join!(
        write.write_all(long.as_bytes()),
        read.read_to_end(&mut answer)
    );
    let is_given_up = answer.is_empty() || answer.starts_with(b"HTTP/1.1 431 ");
    assert!(is_given_up, "{}", String::from_utf8_lossy(&answer));
    assert!(heads.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_request_without_tls_is_sent_on_as_its_own() {
    let answer = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: keep-alive, x-hop\r\nx-hop: 1\r\nx-end: 2\r\n\r\nhello";
    let (port, heads, _host) = host(answer).await;
    let named = [format!("api.test:{port}"), format!("127.0.0.1:{port}")];
    let stand = Stand::new(&named, Proxies::Direct);
    let request = format!(
        "GET http://api.test:{port}/x?y=z HTTP/1.1\r\nhost: internal.example\r\nproxy-authorization: Basic eDp5\r\n\
         proxy-connection: keep-alive\r\nx-own: 1\r\nx-gone: 1\r\nconnection: x-gone, close\r\n\r\n"
    );
    let got = stand.asked(&request).await;
    assert!(
        got.starts_with("HTTP/1.1 200 ") && got.ends_with("\r\n\r\nhello"),
        "{got}"
    );
    assert!(got.contains("x-end: 2") && !got.contains("x-hop"), "{got}");
    let asked = heads.lock().unwrap().concat();
    let mut lines: Vec<_> = asked.lines().filter(|line| !line.is_empty()).collect();
    lines.sort_unstable();
    let host = format!("host: api.test:{port}");
    assert_eq!(lines, ["GET /x?y=z HTTP/1.1", &host, "x-own: 1"]);
    // Another host on the same connection is judged like the first.
    let second = format!(
        "GET http://api.test:{port}/ HTTP/1.1\r\nhost: a\r\n\r\nGET http://other.test:{port}/ HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n"
    );
    let got = stand.asked(&second).await;
    assert!(
        got.starts_with("HTTP/1.1 200 ") && got.contains("HTTP/1.1 403 "),
        "{got}"
    );
}

#[tokio::test]
async fn the_owners_proxy_is_asked_where_there_is_one() {
    let answer = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok";
    let (port, plain, _plain) = host(answer).await;
    let url = |port: u16| Secret::new(format!("http://user:hush@proxy.test:{port}"));
    let named = [
        "api.example:80".to_owned(),
        "api.example:443".into(),
        "x.inside:443".into(),
    ];
    let stand = Stand::new(&named, Proxies::One(Proxy::parse(&url(port)).unwrap()));
    let request = "GET http://API.example/x HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
    let got = stand.asked(request).await;
    assert!(got.ends_with("\r\n\r\nok"), "{got}");
    // `user:hush`
    let password = "proxy-authorization: Basic dXNlcjpodXNo";
    let asked = plain.lock().unwrap().concat();
    assert!(
        asked.starts_with("GET http://api.example:80/x HTTP/1.1\r\n"),
        "{asked}"
    );
    assert!(
        asked.contains("\r\nhost: api.example\r\n") && asked.contains(password),
        "{asked}"
    );
    // In a tunnel; and a name that leads inside from here is not told to it.
    let (port, tunnels, _tunnels) = host("HTTP/1.1 200 OK\r\n\r\n").await;
    let stand = Stand::new(&named, Proxies::One(Proxy::parse(&url(port)).unwrap()));
    let _tunnel = stand.tunnel("api.example:443").await;
    let asked = tunnels.lock().unwrap().concat();
    assert!(
        asked.starts_with("CONNECT api.example:443 HTTP/1.1\r\n"),
        "{asked}"
    );
    assert!(asked.contains(password), "{asked}");
    let inside = "CONNECT x.inside:443 HTTP/1.1\r\nconnection: close\r\n\r\n";
    let got = stand.asked(inside).await;
    assert!(got.starts_with("HTTP/1.1 403 "), "{got}");
    assert_eq!(tunnels.lock().unwrap().len(), 1);
    assert!(!told().concat().contains("hush"));
}

/// Time stands still here but where everybody waits for it.
#[tokio::test(start_paused = true)]
async fn who_says_nothing_holds_nobody_up() {
    let (port, _echo) = echo().await;
    let to = format!("127.0.0.1:{port}");
    let stand = Stand::new(std::slice::from_ref(&to), Proxies::Direct);
    // As many as there is room for begin a head and never end it.
    let mut silent = Vec::new();
    for _ in 0..64 {
        let mut stream = stand.connect().await;
        stream.write_all(b"CONNECT 127.0.0.1:1 HT").await.unwrap();
        silent.push(stream);
    }
    let began = tokio::time::Instant::now();
    let mut tunnel = stand.tunnel(&to).await;
    assert!(
        began.elapsed() >= Duration::from_secs(9),
        "{:?}",
        began.elapsed()
    );
    says_back(&mut tunnel, b"hello").await;
    for mut stream in silent {
        let mut rest = Vec::new();
        let _reset = stream.read_to_end(&mut rest).await;
        assert!(!rest.starts_with(b"HTTP/1.1 200"), "{rest:?}");
    }
    // A tunnel in which nothing moves ends as well.
    let began = tokio::time::Instant::now();
    let _reset = tunnel.read_to_end(&mut Vec::new()).await;
    let silence = began.elapsed();
    assert!(silence >= Duration::from_mins(14), "{silence:?}");
    assert!(silence <= Duration::from_mins(31), "{silence:?}");
}

#[test]
fn programs_are_told_of_the_proxy() {
    let address = "127.0.0.1:4000".parse().unwrap();
    let shown: Vec<_> = variables(address)
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    assert_eq!(
        shown,
        [
            "http_proxy=http://127.0.0.1:4000",
            "HTTP_PROXY=http://127.0.0.1:4000",
            "https_proxy=http://127.0.0.1:4000",
            "HTTPS_PROXY=http://127.0.0.1:4000",
            "all_proxy=http://127.0.0.1:4000",
            "ALL_PROXY=http://127.0.0.1:4000",
            "no_proxy=localhost,127.0.0.1,::1",
            "NO_PROXY=localhost,127.0.0.1,::1",
            "NODE_USE_ENV_PROXY=1",
        ]
    );
}
