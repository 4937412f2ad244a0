//! Change notifications: requests that Graph makes itself.
//!
//! Graph sends to public https addresses. This tenant sends to loopback alone, so that nothing
//! leaves the machine, over http or over https with whatever certificate a subscriber made itself.

mod trust;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use bytes::Bytes;
use http::{Method, Request, Uri};
use http_body_util::Full;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::error::Failure;
use crate::exchange::exchange;
use crate::random;
use crate::say::say;
use crate::server::Shared;
use crate::state::subscription::Notice;
use crate::web::{Answer, Ask, encoded};

/// A subscriber must prove itself within this.
const PROOF_PATIENCE: Duration = Duration::from_secs(10);
/// And take a notification within this.
const NOTICE_PATIENCE: Duration = Duration::from_secs(3);
const BODY_MAX: usize = 64 * 1024;

/// Sends what is due, whenever something may be.
pub(crate) async fn run(shared: Arc<Shared>) {
    loop {
        shared.noticed.notified().await;
        let due: Vec<Notice> = std::mem::take(&mut shared.world().notices);
        for notice in due {
            let body = Bytes::from(notice.body.to_string());
            let sent = tokio::time::timeout(
                NOTICE_PATIENCE,
                post(&notice.url, "application/json; charset=utf-8", body),
            )
            .await;
            match sent {
                Ok(Ok((200..=299, _))) => {}
                Ok(Ok((status, _))) => {
                    say(&format!("a subscriber answered {status} to a notification"));
                }
                Ok(Err(error)) => say(&format!("a notification was not delivered: {error:#}")),
                Err(_) => say("a subscriber did not answer a notification in time"),
            }
        }
    }
}

/// The address that must prove itself before this request is looked at.
pub(crate) fn validation(shared: &Shared, ask: &Ask) -> Option<String> {
    let creates = ask.method == Method::POST
        && matches!(ask.route().as_slice(), ["v1.0" | "beta", "subscriptions"]);
    if !creates || super::auth::caller(shared, &mut shared.world(), ask).is_err() {
        return None;
    }
    Some(ask.json()?["notificationUrl"].as_str()?.to_owned())
}

/// Asks the address to repeat a text.
pub(crate) async fn validate(url: &str) -> Result<(), String> {
    let token = format!("Validation: {}", random::opaque());
    let sign = if url.contains('?') { '&' } else { '?' };
    let asked = format!("{url}{sign}validationToken={}", encoded(&token));
    let answered = tokio::time::timeout(
        PROOF_PATIENCE,
        post(&asked, "text/plain; charset=utf-8", Bytes::new()),
    )
    .await;
    match answered {
        Err(_) => Err("Subscription validation request timed out.".to_owned()),
        Ok(Err(error)) => Err(format!("Subscription validation request failed: {error:#}")),
        Ok(Ok((200, body))) if body == token.as_bytes() => Ok(()),
        Ok(Ok((status, _))) => Err(format!(
            "Subscription validation request failed. The notification endpoint answered {status} \
             and not the validation token in the body."
        )),
    }
}

/// The refusal of a subscription whose address did not prove itself.
pub(crate) fn not_validated(shared: &Shared, ask: &Ask, why: &str) -> Answer {
    let request_id = random::guid();
    Failure::new(400, "ValidationError", why)
        .answer(ask, shared.now(), &request_id)
        .with("request-id", request_id)
}

/// Posts to a loopback address; the status and the body.
async fn post(url: &str, kind: &str, body: Bytes) -> Result<(u16, Bytes)> {
    let uri: Uri = url.parse().context("the address is not a URL")?;
    let host = uri.host().context("the address has no host")?;
    let port = match uri.scheme_str() {
        Some("http") => 80,
        Some("https") => 443,
        _ => bail!("the address is neither http nor https"),
    };
    let ip = match host.trim_start_matches('[').trim_end_matches(']') {
        "localhost" => IpAddr::from([127, 0, 0, 1]),
        other => other.parse().context("only loopback is delivered to")?,
    };
    if !ip.is_loopback() {
        bail!("only loopback is delivered to");
    }
    let stream = TcpStream::connect(SocketAddr::new(ip, uri.port_u16().unwrap_or(port))).await?;
    let target = uri.path_and_query().map_or("/", |target| target.as_str());
    let request = Request::post(target)
        .header("host", host)
        .header("content-type", kind)
        .body(Full::new(body))?;
    if port == 80 {
        return exchange(stream, request, BODY_MAX).await;
    }
    let name = ServerName::try_from(ip.to_string())?;
    let stream = TlsConnector::from(trust::anybody()?)
        .connect(name, stream)
        .await?;
    exchange(stream, request, BODY_MAX).await
}
