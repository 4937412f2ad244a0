//! A tenant on a free port, and a client that trusts it.

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use legation_core::{SharedClock, SystemClock};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use serde_json::{Value, json};
use tokio::net::TcpStream;

use crate::exchange::whole;
use crate::server::{Options, Server};
use crate::web::encoded;

/// A running tenant of one test.
pub(super) struct Tenant {
    pub(super) server: Server,
    pub(super) dir: tempfile::TempDir,
}

/// Status and body.
pub(super) type Said = (u16, Value);

impl Tenant {
    pub(super) async fn start() -> Self {
        Self::start_with(SystemClock::shared()).await
    }

    /// With a clock of the test's own.
    pub(super) async fn start_with(clock: SharedClock) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let server = Self::serve(dir.path(), clock).await;
        Self { server, dir }
    }

    /// Starts a server on a folder.
    pub(super) async fn serve(dir: &Path, clock: SharedClock) -> Server {
        let free = "127.0.0.1:0".parse().expect("an address");
        let options = Options {
            listen: free,
            proxy: free,
            dir: dir.to_owned(),
            env_file: Some(dir.join("env")),
            control_command: vec!["tenant".to_owned()],
            with_desk: false,
        };
        Server::start(options, clock)
            .await
            .expect("the tenant starts")
    }

    /// A value of the environment file.
    pub(super) fn env(&self, name: &str) -> String {
        let text = std::fs::read_to_string(self.dir.path().join("env")).expect("written");
        text.lines()
            .find_map(|line| line.strip_prefix(&format!("{name}=")))
            .unwrap_or_else(|| panic!("{name} is missing"))
            .to_owned()
    }

    /// One request; the error is a connection that ended.
    pub(super) async fn send(&self, request: Request<Full<Bytes>>) -> anyhow::Result<(u16, Bytes)> {
        let response = self.whole(request).await?;
        Ok((response.status().as_u16(), response.into_body()))
    }

    /// Status and one header of a GET.
    pub(super) async fn header(
        &self,
        path: &str,
        token: &str,
        name: &str,
    ) -> (u16, Option<String>) {
        let request = Request::get(path)
            .header("host", self.server.address().to_string())
            .header("authorization", format!("Bearer {token}"))
            .body(Full::new(Bytes::new()))
            .expect("a request");
        let response = self.whole(request).await.expect("an answer");
        let header = response.headers().get(name);
        let header = header.map(|value| value.to_str().expect("text").to_owned());
        (response.status().as_u16(), header)
    }

    async fn whole(&self, request: Request<Full<Bytes>>) -> anyhow::Result<Response<Bytes>> {
        let mut roots = rustls::RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(
            self.dir.path().join("ca.pem"),
        )?)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let stream = TcpStream::connect(self.server.address()).await?;
        let stream = tokio_rustls::TlsConnector::from(Arc::new(config))
            .connect(ServerName::try_from("127.0.0.1")?, stream)
            .await?;
        whole(stream, request, 16 * 1024 * 1024).await
    }

    pub(super) async fn form(&self, path: &str, form: &[(&str, &str)]) -> Said {
        let body: Vec<String> = form
            .iter()
            .map(|(name, value)| format!("{name}={}", encoded(value)))
            .collect();
        let request = Request::post(path)
            .header("host", self.server.address().to_string())
            .header("content-type", "application/x-www-form-urlencoded")
            .body(Full::new(Bytes::from(body.join("&"))))
            .expect("a request");
        self.json(request).await
    }

    async fn json(&self, request: Request<Full<Bytes>>) -> Said {
        let (status, body) = self.send(request).await.expect("an answer");
        (status, serde_json::from_slice(&body).unwrap_or_default())
    }

    /// The token endpoint of the first tenant.
    pub(super) async fn token(&self, form: &[(&str, &str)]) -> Said {
        let path = format!("/{}/oauth2/v2.0/token", self.env("TENANT_ID"));
        self.form(&path, form).await
    }

    pub(super) async fn graph(
        &self,
        method: &str,
        path: &str,
        token: &str,
        body: Option<&Value>,
    ) -> Said {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", self.server.address().to_string())
            .header("authorization", format!("Bearer {token}"))
            .header("content-type", "application/json")
            .body(Full::new(body.map_or_else(Bytes::new, |body| {
                Bytes::from(body.to_string())
            })))
            .expect("a request");
        self.json(request).await
    }

    /// A control command.
    pub(super) async fn control(&self, name: &str, body: &Value) -> Said {
        let file = std::fs::read(self.dir.path().join("control.json")).expect("written");
        let control: Value = serde_json::from_slice(&file).expect("JSON");
        let token = control["token"].as_str().expect("a token");
        self.graph("POST", &format!("/control/{name}"), token, Some(body))
            .await
    }

    /// Signs the human in by device code; the whole answer.
    pub(super) async fn sign_in(&self, scope: &str) -> Value {
        let client = self.env("CLIENT_ID");
        let path = format!("/{}/oauth2/v2.0/devicecode", self.env("TENANT_ID"));
        let (status, code) = self
            .form(&path, &[("client_id", &client), ("scope", scope)])
            .await;
        assert_eq!(status, 200, "{code}");
        let decision = json!({"user_code": code["user_code"], "approve": true});
        assert_eq!(self.control("decide", &decision).await.0, 200);
        let (status, answer) = self
            .token(&[
                ("client_id", &client),
                ("grant_type", "device_code"),
                ("device_code", code["device_code"].as_str().expect("a code")),
            ])
            .await;
        assert_eq!(status, 200, "{answer}");
        answer
    }

    /// An access token of the human for Graph.
    pub(super) async fn human(&self, scope: &str) -> String {
        let answer = self.sign_in(scope).await;
        answer["access_token"].as_str().expect("a token").to_owned()
    }

    /// A chat of the human with the agent's user, made by the human.
    pub(super) async fn chat(&self, token: &str) -> String {
        let member = |id: String| {
            json!({
                "@odata.type": "#microsoft.graph.aadUserConversationMember",
                "roles": ["owner"],
                "user@odata.bind": format!("https://graph.microsoft.com/v1.0/users('{id}')"),
            })
        };
        let body = json!({
            "chatType": "oneOnOne",
            "members": [member(self.env("HUMAN_ID")), member(self.env("AGENT_USER_ID"))],
        });
        let (status, chat) = self.graph("POST", "/v1.0/chats", token, Some(&body)).await;
        assert_eq!(status, 201, "{chat}");
        chat["id"].as_str().expect("an id").to_owned()
    }
}

/// Runs a test on a runtime of its own.
pub(super) fn run<F: Future<Output = ()>>(test: F) {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime")
        .block_on(test);
}
