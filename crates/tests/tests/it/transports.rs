//! Ways to a server beside a plain address: certificates of its own, proxies and
//! Unix sockets.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::Context;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use legation_tests::fixture::http::handle;
use legation_tests::fixture::{Era, Files, Fixture, lock};
use legation_tests::harness::github::Authority;
use legation_tests::harness::hub::{Hub, HubOptions};
use legation_tests::harness::peer::{Peer, PeerEra, everything, friendly};
use legation_tests::harness::process::until;
use legation_tests::harness::proxy::{Proxy, SECRET};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::runtime::Handle;
use tokio_rustls::TlsAcceptor;

/// What servers saw: of each request its `Host` and whether the proxy's credentials came
/// along.
type Log = Arc<Mutex<Vec<(String, bool)>>>;

/// Serves the fixture on one connection, whatever host it is asked as.
fn serve<S>(fixture: &Arc<Fixture>, log: &Log, stream: S)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (fixture, log) = (Arc::clone(fixture), Arc::clone(log));
    Handle::current().spawn(async move {
        let service = service_fn(move |mut request| {
            let (fixture, log) = (Arc::clone(&fixture), Arc::clone(&log));
            async move {
                let headers: &mut http::HeaderMap = http::Request::headers_mut(&mut request);
                let host = headers.insert("host", http::HeaderValue::from_static("127.0.0.1"));
                let host = host.and_then(|host| host.to_str().ok().map(str::to_owned));
                let told = headers.contains_key("proxy-authorization");
                lock(&log).push((host.unwrap_or_default(), told));
                Ok::<_, Infallible>(handle(&fixture, request).await)
            }
        });
        let connection = hyper::server::conn::http1::Builder::new();
        let stream = TokioIo::new(stream);
        let _closed = connection.serve_connection(stream, service).await;
    });
}

/// The servers: with TLS, with TLS for those who have a certificate, without, and
/// on a Unix socket.
struct Servers {
    fixture: Arc<Fixture>,
    log: Log,
    authority: Authority,
    folder: PathBuf,
}

impl Servers {
    fn new(folder: &Path) -> anyhow::Result<Self> {
        let authority = Authority::new()?;
        std::fs::write(folder.join("ca.pem"), &authority.pem)?;
        let (certificate, key) = authority.certificate_for(&["hub.example.com"])?;
        std::fs::write(folder.join("client.pem"), certificate)?;
        std::fs::write(folder.join("client.key"), key)?;
        let name = "behind".to_owned();
        Ok(Self {
            fixture: Fixture::new(Era::Both, name, Vec::new(), Files::default()),
            log: Log::default(),
            authority,
            folder: folder.to_path_buf(),
        })
    }

    /// What a client is shown, and whom it has to be.
    fn config(&self, wants_certificate: bool) -> anyhow::Result<Arc<ServerConfig>> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()?;
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(
            self.authority.pem.as_bytes(),
        )?)?;
        let builder = if wants_certificate {
            let roots = Arc::new(roots);
            let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider);
            builder.with_client_cert_verifier(verifier.build()?)
        } else {
            builder.with_no_client_auth()
        };
        let names = ["127.0.0.1", "mcp.example.com"];
        let (certificate, key) = self.authority.certificate_for(&names)?;
        let chain = vec![CertificateDer::from_pem_slice(certificate.as_bytes())?];
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes())?;
        Ok(Arc::new(builder.with_single_cert(chain, key)?))
    }

    /// The port of one, with TLS if it has a configuration.
    async fn listen(&self, tls: Option<Arc<ServerConfig>>) -> anyhow::Result<u16> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        let (fixture, log) = (Arc::clone(&self.fixture), Arc::clone(&self.log));
        Handle::current().spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (fixture, log, tls) = (Arc::clone(&fixture), Arc::clone(&log), tls.clone());
                Handle::current().spawn(async move {
                    match tls {
                        None => serve(&fixture, &log, stream),
                        Some(config) => {
                            if let Ok(stream) = TlsAcceptor::from(config).accept(stream).await {
                                serve(&fixture, &log, stream);
                            }
                        }
                    }
                });
            }
        });
        Ok(port)
    }

    fn socket(&self) -> anyhow::Result<PathBuf> {
        let path = self.folder.join("mcp.sock");
        let listener = UnixListener::bind(&path)?;
        let (fixture, log) = (Arc::clone(&self.fixture), Arc::clone(&self.log));
        Handle::current().spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                serve(&fixture, &log, stream);
            }
        });
        Ok(path)
    }

    fn file(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }
}

/// What `mcp show` says of a server.
async fn shown(hub: &Hub, name: &str) -> anyhow::Result<Value> {
    let (code, said, complaint) = hub.run(&["mcp", "show", name, "--json"]).await?;
    anyhow::ensure!(code == 0, "{complaint}");
    Ok(serde_json::from_str::<Value>(&said)?["server"].clone())
}

async fn echoes(hub: &Hub, peer: &Peer, name: &str) -> anyhow::Result<()> {
    let tool = format!("{name}-echo");
    hub.wait_for_tool(peer, &tool).await?;
    for round in 0..3 {
        let echoed = peer.call(&tool, json!({"round": round})).await?;
        assert_eq!(
            echoed.first_text(),
            json!({"round": round}).to_string(),
            "{name}"
        );
    }
    Ok(())
}

#[tokio::test]
async fn sockets_certificates_and_proxies() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let servers = Servers::new(folder.path())?;
    let open = servers.listen(Some(servers.config(false)?)).await?;
    let closed = servers.listen(Some(servers.config(true)?)).await?;
    let plain = servers.listen(None).await?;
    let socket = servers.socket()?.display().to_string();
    let proxy = Proxy::start().await?;
    let ca = json!({"caFile": servers.file("ca.pem")});
    let whole = json!({"caFile": servers.file("ca.pem"), "clientCert": servers.file("client.pem"), "clientKey": "${CLIENT_KEY}"});
    let (own, wrong) = (proxy.url("user"), proxy.url("nobody"));
    let entry = |url: String, more: Value| {
        let mut entry = json!({"type": "http", "url": url});
        let all = more.as_object().into_iter().flatten();
        all.for_each(|(key, value)| entry[key] = value.clone());
        entry
    };
    let good = json!({
        "trusted": entry(format!("https://127.0.0.1:{open}/mcp"), json!({"tls": ca})),
        "mutual": entry(format!("https://127.0.0.1:{closed}/mcp"), json!({"tls": whole})),
        "socket": entry(format!("unix://{socket}:/mcp"), json!({})),
        "fragment": entry(format!("unix://{socket}#/mcp"), json!({"era": "legacy"})),
        "encoded": entry(format!("http+unix://{}/mcp", socket.replace('/', "%2F")), json!({})),
        "tunnel": entry(format!("https://mcp.example.com:{open}/mcp"), json!({"tls": ca, "proxy": own})),
        "absolute": entry(format!("http://plain.example.com:{plain}/mcp"), json!({"proxy": own})),
        // That of the hub's environment.
        "environment": entry(format!("https://mcp.example.com:{open}/mcp"), json!({"tls": ca})),
    });
    let bad = json!({
        "untrusted": entry(format!("https://127.0.0.1:{open}/mcp"), json!({})),
        "anonymous": entry(format!("https://127.0.0.1:{closed}/mcp"), json!({"tls": ca})),
        "misnamed": entry(format!("https://other.example.com:{open}/mcp"), json!({"tls": ca})),
        "refused": entry(format!("https://mcp.example.com:{open}/mcp"), json!({"tls": ca, "proxy": wrong})),
        "nowhere": entry(format!("unix://{socket}.not:/mcp"), json!({})),
        "unreadable": entry(format!("https://127.0.0.1:{open}/mcp"), json!({"tls": {"caFile": "/no/such/file"}})),
    });
    let mut all = good.clone();
    for (name, entry) in bad.as_object().into_iter().flatten() {
        all[name] = entry.clone();
    }
    let key = std::fs::read_to_string(servers.file("client.key"))?;
    let hub = Hub::start(HubOptions {
        servers: all,
        environment: [
            ("HTTPS_PROXY".to_owned(), own.clone()),
            ("CLIENT_KEY".to_owned(), key),
        ]
        .into(),
        ..HubOptions::default()
    })
    .await?;
    for era in [PeerEra::Modern, PeerEra::Legacy] {
        let peer = hub.http(era, everything(), friendly()).await?;
        for name in good.as_object().context("an object")?.keys() {
            echoes(&hub, &peer, name).await?;
        }
    }
    bad_ones_say_why(&hub).await?;
    no_secret_is_told(&hub).await?;
    only_those_beyond_are_led_through(&servers.log, &proxy.asked(), open, plain);
    Ok(())
}

/// Each entry that cannot be reached says why.
async fn bad_ones_say_why(hub: &Hub) -> anyhow::Result<()> {
    for (name, why) in [
        ("untrusted", "certificate"),
        ("anonymous", "connect"),
        ("misnamed", "certificate"),
        ("refused", "HTTP status 407"),
        ("nowhere", "no connection to the socket"),
        ("unreadable", "tls.caFile cannot be read"),
    ] {
        let mut last = Value::Null;
        let failed = until(name, Duration::from_secs(30), async || {
            last = shown(hub, name).await.unwrap_or_default();
            last["status"] == "failed"
        });
        failed
            .await
            .with_context(|| format!("{name}: {:?}", hub.said()))?;
        let reason = last["reason"].as_str().unwrap_or_default();
        assert!(reason.contains(why), "{name}: {reason}");
    }
    Ok(())
}

/// Nothing of this machine goes through the proxy, and it alone is told who asks.
fn only_those_beyond_are_led_through(log: &Log, asked: &[String], open: u16, plain: u16) {
    let led: Vec<&String> = asked
        .iter()
        .filter(|led| led.contains("127.0.0.1"))
        .collect();
    assert_eq!(led, Vec::<&String>::new(), "never for this machine");
    for expected in [
        format!("CONNECT mcp.example.com:{open}"),
        format!("POST plain.example.com:{plain}"),
    ] {
        assert!(asked.contains(&expected), "{expected}: {asked:?}");
    }
    let told = |(host, told): &(String, bool)| *told && !host.starts_with("plain.example.com");
    assert!(
        !lock(log).iter().any(told),
        "only the proxy is told who asks"
    );
}

/// Neither the hub's words nor its files nor what it shows hold the proxy's password.
async fn no_secret_is_told(hub: &Hub) -> anyhow::Result<()> {
    let mut told = hub.said();
    for name in ["refused", "tunnel", "absolute"] {
        told.push(shown(hub, name).await?.to_string());
        for command in [["mcp", "logs", name], ["mcp", "get", name]] {
            let (_, said, complaint) = hub.run(&command).await?;
            told.extend([said, complaint]);
        }
    }
    let logs = std::fs::read_dir(hub.home().join("logs"))?;
    for log in logs {
        told.push(String::from_utf8_lossy(&std::fs::read(log?.path())?).into_owned());
    }
    for text in told {
        assert!(!text.contains(SECRET), "{text}");
        assert!(!text.contains("dXNlcjpodXNo"), "{text}");
    }
    Ok(())
}
