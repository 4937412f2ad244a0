//! What servers must not get out of the hub: files of this machine, requests to addresses that
//! they name, tokens of its clients.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use legation_tests::fixture::http::handle;
use legation_tests::fixture::{Era, Files, Fixture, lock};
use legation_tests::harness::hub::{Hub, HubOptions};
use legation_tests::harness::peer::{PeerEra, everything, friendly};
use legation_tests::harness::servers::stdio_entry;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::runtime::Handle;

const ERAS: [PeerEra; 2] = [PeerEra::Modern, PeerEra::Legacy];

async fn hub() -> anyhow::Result<Hub> {
    Hub::start(HubOptions {
        servers: json!({"fixture": stdio_entry(Era::Both, "shared")?}),
        ..HubOptions::default()
    })
    .await
}

/// An address is a server's word for something of its own: the hub opens no file and follows no
/// path, whatever it looks like.
#[tokio::test]
async fn no_address_of_a_resource_leads_to_a_file_of_this_machine() -> anyhow::Result<()> {
    let hub = hub().await?;
    let token = hub.home().join("token").display().to_string();
    for era in ERAS {
        let peer = hub.http(era, everything(), friendly()).await?;
        hub.wait_for_tool(&peer, "fixture-echo").await?;
        for uri in [
            "file:///etc/passwd",
            "file://localhost/etc/passwd",
            "file:///proc/self/environ",
            &format!("file://{token}"),
            "../../../../etc/passwd",
            "/etc/passwd",
            "ted://x/../../etc/passwd",
            "ted://x/%2e%2e/%2e%2e/etc/passwd",
            "\\\\host\\share\\secret",
            "file:////host/share/secret",
            "hub://../../token",
        ] {
            let answer = peer.request("resources/read", json!({"uri": uri})).await?;
            assert!(answer.code().is_some(), "{uri}: {}", answer.text);
            for content in ["root:", "LEGATION_HOME=", &hub.token()?] {
                assert!(!answer.text.contains(content), "{uri}: {}", answer.text);
            }
        }
    }
    Ok(())
}

/// A link is handed on as it is: whoever wants to follow it asks for that.
#[tokio::test]
async fn nobody_follows_a_link_in_a_result() -> anyhow::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let here = format!("http://{}/latest/meta-data/", listener.local_addr()?);
    let hub = hub().await?;
    for era in ERAS {
        let peer = hub.http(era, everything(), friendly()).await?;
        hub.wait_for_tool(&peer, "fixture-fidelity").await?;
        for uri in [&*here, "http://169.254.169.254/latest/meta-data/"] {
            let link = json!({"type": "resource_link", "uri": uri, "name": "credentials"});
            let raw = json!({"content": [link]}).to_string();
            let answer = peer.call("fixture-fidelity", json!({"raw": raw})).await?;
            assert_eq!(answer.value["result"]["content"][0]["uri"], uri);
        }
        // Nor is what a client asks for by such an address.
        let read = peer.request("resources/read", json!({"uri": here})).await?;
        assert!(read.code().is_some(), "{}", read.text);
    }
    let came = listener.into_std()?.accept().map(|(_, from)| from);
    let nobody = came.expect_err("somebody connected").kind();
    assert_eq!(nobody, std::io::ErrorKind::WouldBlock);
    Ok(())
}

/// What each request to a server over HTTP said in `authorization` and `cookie`.
type Shown = Arc<Mutex<Vec<Vec<String>>>>;

async fn remote(shown: &Shown) -> anyhow::Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let port = listener.local_addr()?.port();
    let name = "remote".to_owned();
    let fixture = Fixture::new(Era::Both, name, Vec::new(), Files::default());
    let shown = Arc::clone(shown);
    Handle::current().spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (fixture, shown) = (Arc::clone(&fixture), Arc::clone(&shown));
            Handle::current().spawn(async move {
                let service = service_fn(move |request| {
                    let (fixture, shown) = (Arc::clone(&fixture), Arc::clone(&shown));
                    async move {
                        let headers = http::Request::headers(&request);
                        let all = headers
                            .iter()
                            .map(|(name, value)| format!("{name}: {value:?}"))
                            .collect();
                        lock(&shown).push(all);
                        Ok::<_, Infallible>(handle(&fixture, request).await)
                    }
                });
                let connection = hyper::server::conn::http1::Builder::new();
                let _closed = connection
                    .serve_connection(TokioIo::new(stream), service)
                    .await;
            });
        }
    });
    Ok(port)
}

#[tokio::test]
async fn no_clients_token_reaches_a_server() -> anyhow::Result<()> {
    let shown = Shown::default();
    let port = remote(&shown).await?;
    let url = format!("http://127.0.0.1:{port}/mcp");
    let hub = Hub::start(HubOptions {
        servers: json!({"remote": {"type": "http", "url": url}}),
        ..HubOptions::default()
    })
    .await?;
    for era in ERAS {
        let peer = hub.http(era, everything(), friendly()).await?;
        hub.wait_for_tool(&peer, "remote-echo").await?;
        let echoed = peer.call("remote-echo", json!({"a": 1})).await?;
        assert_eq!(echoed.first_text(), r#"{"a":1}"#);
    }
    let (token, shown) = (hub.token()?, lock(&shown).clone());
    assert!(shown.len() >= 3, "a handshake, a list and calls: {shown:?}");
    for headers in shown {
        let passed = headers
            .iter()
            .find(|line| line.starts_with("authorization") || line.contains(&token));
        assert_eq!(passed, None, "{headers:?}");
    }
    Ok(())
}
