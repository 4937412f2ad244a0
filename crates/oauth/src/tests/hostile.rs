//! Servers that describe themselves so that whoever reads it is hurt.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use legation_core::net::{Found, Lookup};
use legation_core::{ServerName, SystemClock};
use legation_net::proxy::Proxies;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::fetch::{FetchError, Web};
use crate::url::WebUrl;
use crate::{BadUrl, Grant, MetadataError, OAuth, OAuthError, OAuthParts, Settings};

/// What such a server has sent, at most.
#[derive(Debug, Default)]
struct Sent {
    bytes: AtomicUsize,
    requests: AtomicUsize,
}

/// Names lead here, but for one that leads to another place each time it is asked for.
#[derive(Debug)]
struct Names {
    here: SocketAddr,
    asked: AtomicUsize,
}

impl Lookup for Names {
    fn lookup(&self, host: &str, _: u16) -> Found {
        let asked = self.asked.fetch_add(1, Ordering::SeqCst);
        let turn: SocketAddr = match (host, asked % 2) {
            ("localhost", _) => self.here,
            // As somebody does who wants to pass a check and then be asked inside.
            (_, 0) => "10.0.0.1:443".parse().unwrap(),
            (_, _) => "169.254.169.254:443".parse().unwrap(),
        };
        Box::pin(async move { Ok(vec![turn]) })
    }
}

fn page(body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}")
        .into_bytes()
}

/// Answers one request as `kind` says.
async fn serve(mut stream: TcpStream, kind: &str, port: u16, sent: &Sent) {
    let mut head = vec![0; 4096];
    let length = stream.read(&mut head).await.unwrap_or(0);
    let head = String::from_utf8_lossy(&head[..length]).into_owned();
    let own = format!("http://localhost:{port}");
    let issuer = match kind {
        "flips" => "https://as.example.com".to_owned(),
        _ => own.clone(),
    };
    let resource = format!(r#"{{"resource":"{own}/mcp","authorization_servers":["{issuer}"]}}"#);
    let described = |page: &str, token: &str| {
        format!(
            r#"{{"issuer":"{own}","authorization_endpoint":"{page}","token_endpoint":"{token}","registration_endpoint":"{own}/register","code_challenge_methods_supported":["S256"]}}"#
        )
    };
    sent.requests.fetch_add(1, Ordering::SeqCst);
    let begun = b"HTTP/1.1 200 OK\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n";
    let is_issuers = !head.contains("oauth-protected-resource");
    let whole = match kind {
        "flips" => page(&resource),
        "loops" => format!(
            "HTTP/1.1 307 x\r\ncontent-length: 0\r\nlocation: {own}/{}\r\n\r\n",
            if head.contains("/one") { "two" } else { "one" }
        )
        .into_bytes(),
        _ if is_issuers && kind == "script" => {
            page(&described("javascript:alert(1)", &format!("{own}/token")))
        }
        _ if is_issuers && kind == "file" => page(&described("file:///etc/passwd", &own)),
        _ if is_issuers && kind == "inside" => page(&described(
            &format!("{own}/a"),
            "http://169.254.169.254/token",
        )),
        _ if is_issuers && kind == "deep" => page(&"[".repeat(200_000)),
        _ if !is_issuers && matches!(kind, "script" | "file" | "inside" | "deep") => {
            page(&resource)
        }
        _ => begun.to_vec(),
    };
    let mut failed = stream.write_all(&whole).await.is_err();
    let (piece, pieces) = match kind {
        "huge" => (vec![b'['; 64 * 1024], 1_600),
        "drips" => (vec![b'['; 1], usize::MAX),
        _ => return,
    };
    for _ in 0..pieces {
        let chunk = [format!("{:x}\r\n", piece.len()).as_bytes(), &piece, b"\r\n"].concat();
        failed |= stream.write_all(&chunk).await.is_err();
        if failed {
            return;
        }
        sent.bytes.fetch_add(piece.len(), Ordering::SeqCst);
        if kind == "drips" {
            // tidy: it is slow on purpose.
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

/// What a wish to sign in comes to at such a server, and what it sent.
async fn begin(kind: &'static str) -> (OAuthError, Arc<Sent>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let here = listener.local_addr().unwrap();
    let sent = Arc::new(Sent::default());
    let counted = Arc::clone(&sent);
    let serving = tokio::runtime::Handle::current().spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            serve(stream, kind, here.port(), &counted).await;
        }
    });
    let names = Names {
        here,
        asked: AtomicUsize::new(0),
    };
    let limit = match kind {
        "drips" => Duration::from_millis(200),
        _ => Duration::from_secs(60),
    };
    let oauth = OAuth::new(OAuthParts {
        fetch: Arc::new(Web::with_limit(Arc::new(names), Proxies::Direct, limit)),
        open: Box::new(|| panic!("nothing is kept")),
        is_there: Box::new(|| false),
        clock: SystemClock::shared(),
        runtime: tokio::runtime::Handle::current(),
    });
    let upstream = oauth.upstream(ServerName::parse("notes").unwrap());
    upstream.configure(Settings {
        server: WebUrl::parse(&format!("http://localhost:{}/mcp", here.port())).unwrap(),
        entity: None,
        grant: Grant::AuthorizationCode,
        client_id: None,
        client_secret: None,
        client_key: None,
        public_client: false,
        metadata_url: None,
        proxies: None,
        ca: None,
        issuer: None,
        scopes: Vec::new(),
        redirect_port: None,
        allowed_hosts: Vec::new(),
    });
    let error = upstream.begin(false).await.unwrap_err();
    oauth.close().await;
    serving.abort();
    (error, sent)
}

#[tokio::test]
async fn a_description_of_a_hundred_megabytes_is_given_up_early() {
    let (error, sent) = begin("huge").await;
    let large = matches!(
        error,
        OAuthError::Fetch {
            source: FetchError::TooLarge { .. },
            ..
        }
    );
    assert!(large, "{error:?}");
    // What was in the sockets' buffers when the connection was closed.
    let bytes = sent.bytes.load(Ordering::SeqCst);
    assert!(bytes < 50 << 20, "{bytes} bytes were taken");
}

#[tokio::test]
async fn a_description_that_never_ends_is_given_up_in_time() {
    let (error, _) = begin("drips").await;
    let late = matches!(
        error,
        OAuthError::Fetch {
            source: FetchError::Timeout { .. },
            ..
        }
    );
    assert!(late, "{error:?}");
}

#[tokio::test]
async fn descriptions_that_lead_to_each_other_end() {
    let (error, sent) = begin("loops").await;
    let loops = matches!(
        error,
        OAuthError::Fetch {
            source: FetchError::Redirect { .. },
            ..
        }
    );
    assert!(loops, "{error:?}");
    assert_eq!(sent.requests.load(Ordering::SeqCst), 4, "three redirects");
}

#[tokio::test]
async fn a_name_that_leads_inside_each_time_is_not_asked() {
    let (error, sent) = begin("flips").await;
    let private = matches!(
        error,
        OAuthError::Fetch {
            source: FetchError::Private { .. },
            ..
        }
    );
    assert!(private, "{error:?}");
    assert_eq!(sent.requests.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn nobody_and_no_token_is_sent_to_what_is_no_page() {
    for (kind, member, bad) in [
        ("script", "authorization_endpoint", BadUrl::Scheme),
        ("file", "authorization_endpoint", BadUrl::Scheme),
        ("inside", "token_endpoint", BadUrl::Plain),
    ] {
        let (error, _) = begin(kind).await;
        let OAuthError::Metadata { source, .. } = error else {
            panic!("{kind}: {error:?}");
        };
        assert_eq!(source, MetadataError::Endpoint { member, bad }, "{kind}");
    }
    // What no reader gets to the end of is no description.
    let (error, _) = begin("deep").await;
    assert!(matches!(error, OAuthError::NoIssuer { .. }), "{error:?}");
}
