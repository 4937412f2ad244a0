//! The scenarios in which the suite's server wants a sign-in: how it is configured,
//! and the person who signs in.

use std::time::Duration;

use anyhow::{Context, bail};
use bytes::Bytes;
use http::{Request, Uri, header};
use http_body_util::Full;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::harness::http::whole;
use crate::harness::hub::Hub;
use crate::harness::process::now;

/// The address of a client's document that the suite wants to see.
const DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";
/// How often the person is willing to sign in at one server.
const ROUNDS: usize = 3;
/// How long a server may take to say how it is.
const SETTLES: Duration = Duration::from_secs(5);
const REDIRECTS: usize = 5;

/// The suite's server, with what the suite tells of its sign-in.
pub(super) fn entry(url: &str, context: &Value) -> Value {
    let mut oauth = json!({"clientMetadataUrl": DOCUMENT});
    let mut grant = None;
    let has = |key: &str| !context[key].is_null();
    if has("idp_id_token") {
        grant = Some("enterprise");
        oauth["idp"] = json!({
            "tokenEndpoint": context["idp_token_endpoint"],
            "clientId": context["idp_client_id"],
            "idToken": context["idp_id_token"],
        });
    } else if has("valid_jwt") {
        grant = Some("jwt_bearer");
        oauth["assertion"] = context["valid_jwt"].clone();
    } else if has("private_key_pem") {
        grant = Some("client_credentials");
        oauth["privateKey"] = context["private_key_pem"].clone();
        oauth["signingAlg"] = context["signing_algorithm"].clone();
    } else if has("client_secret") && !has("issuer") {
        grant = Some("client_credentials");
    }
    for (from, to) in [("client_secret", "clientSecret"), ("issuer", "issuer")] {
        if has(from) {
            oauth[to] = context[from].clone();
        }
    }
    let mut entry =
        json!({"type": "http", "url": url, "prefix": "", "instance": "client", "oauth": oauth});
    if has("client_id") {
        entry["oauthClientId"] = context["client_id"].clone();
    }
    if let Some(grant) = grant {
        entry["oauthGrantType"] = json!(grant);
    }
    entry
}

/// Signs in while the server wants it, as a patient person would with a browser.
pub(super) async fn person(hub: &Hub, name: &str) -> anyhow::Result<()> {
    for _ in 0..ROUNDS {
        if settled(hub, name).await? != "needs-auth" {
            return Ok(());
        }
        let (code, said, complained) = hub
            .run(&["--json", "mcp", "auth", name, "--no-wait"])
            .await?;
        if code != 0 {
            // Some servers are not to be signed in at; the suite judges that.
            super::say(&format!("    no sign-in: {complained}"));
            return Ok(());
        }
        let answer: Value = serde_json::from_str(&said).context("no answer")?;
        match answer["url"].as_str() {
            Some(url) => browse(url).await?,
            None => return Ok(()),
        }
    }
    Ok(())
}

/// How a server is, once that is known.
async fn settled(hub: &Hub, name: &str) -> anyhow::Result<String> {
    let begun = now();
    loop {
        let (_, said, _) = hub.run(&["--json", "mcp", "show", name]).await?;
        let shown: Value = serde_json::from_str(&said).unwrap_or_default();
        let status = shown["server"]["status"].as_str().unwrap_or_default();
        if !matches!(status, "" | "starting") || begun.elapsed() > SETTLES {
            return Ok(status.to_owned());
        }
        // tidy: it waits for a state, with a deadline.
        sleep(Duration::from_millis(50)).await;
    }
}

/// Goes where a page leads, up to one that leads nowhere else.
pub(crate) async fn browse(url: &str) -> anyhow::Result<()> {
    let mut uri: Uri = url.parse()?;
    for _ in 0..REDIRECTS {
        let authority = uri.authority().context("no host")?.clone();
        let target = uri.path_and_query().map_or("/", |target| target.as_str());
        let request = Request::get(target).header(header::HOST, authority.as_str());
        let page = whole(&uri, request.body(Full::<Bytes>::default())?).await?;
        let Some(location) = page.headers.get(header::LOCATION) else {
            return Ok(());
        };
        uri = location.to_str()?.parse()?;
    }
    bail!("{url} leads nowhere");
}
