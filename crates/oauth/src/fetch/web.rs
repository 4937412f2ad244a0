//! The client: one connection a request, to the address that was checked or to a proxy.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{Method, Request, header};
use http_body_util::Full;
use legation_core::error::chain;
use legation_core::net::Lookup;
use legation_net::proxy::{Proxies, Proxy};
use legation_net::{BodyEnd, Tls};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

use super::{Ask, Body, Fetch, FetchError, Reach, Reply};
use crate::url::WebUrl;

/// Time for everything, redirects included.
const LIMIT: Duration = Duration::from_secs(15);
/// The largest document: metadata has a few kilobytes.
const BODY_MAX: usize = 256 * 1024;
/// Redirects of a document that are followed.
const REDIRECTS_MAX: usize = 3;

/// How long a name is looked up that a proxy may know better.
const LOOKUP: Duration = Duration::from_secs(3);

/// Sends requests over the network.
#[derive(Debug, Clone)]
pub struct Web {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    lookup: Arc<dyn Lookup>,
    tls: Tls,
    /// Those of the environment.
    proxies: Proxies,
    limit: Duration,
    body_max: usize,
}

/// An answer, and where it wants to be asked for instead.
struct Answer {
    reply: Reply,
    location: Option<String>,
}

// === impl Web ===

impl Web {
    /// A client that trusts whom the process trusts; `proxies` are those of the environment.
    #[must_use]
    pub fn new(lookup: Arc<dyn Lookup>, proxies: Proxies) -> Self {
        Self::with_bounds(lookup, proxies, LIMIT, BODY_MAX)
    }

    /// The same, for documents that take longer or are larger than metadata: `limit` is for all of a
    /// request, redirects included, `body_max` in bytes.
    #[must_use]
    pub fn with_bounds(
        lookup: Arc<dyn Lookup>,
        proxies: Proxies,
        limit: Duration,
        body_max: usize,
    ) -> Self {
        let shared = Shared {
            lookup,
            tls: Tls::default(),
            proxies,
            limit,
            body_max,
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    #[cfg(test)]
    pub(crate) fn with_limit(lookup: Arc<dyn Lookup>, proxies: Proxies, limit: Duration) -> Self {
        Self::with_bounds(lookup, proxies, limit, BODY_MAX)
    }
}

impl Fetch for Web {
    fn fetch(&self, ask: Ask, reach: Reach) -> BoxFuture<'static, Result<Reply, FetchError>> {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move {
            let host = ask.url.host().to_owned();
            let work = Box::pin(shared.follow(ask, &reach));
            let done = tokio::time::timeout(shared.limit, work).await;
            done.unwrap_or(Err(FetchError::Timeout { host }))
        })
    }
}

// === impl Shared ===

impl Shared {
    async fn follow(&self, mut ask: Ask, reach: &Reach) -> Result<Reply, FetchError> {
        for _ in 0..=REDIRECTS_MAX {
            let answer = self.exchange(&ask, reach).await?;
            if !matches!(answer.reply.status, 301 | 302 | 303 | 307 | 308) {
                return Ok(answer.reply);
            }
            let failed = || FetchError::Redirect {
                host: ask.url.host().to_owned(),
            };
            // What is posted holds secrets for whoever was asked.
            if ask.body.is_some() {
                return Err(failed());
            }
            let next = answer.location.and_then(|to| ask.url.redirected(&to));
            let next = next.ok_or_else(failed)?;
            if ask.url.is_tls() && !next.is_tls() {
                return Err(failed());
            }
            ask.url = next;
        }
        let host = ask.url.host().to_owned();
        Err(FetchError::Redirect { host })
    }

    async fn exchange(&self, ask: &Ask, reach: &Reach) -> Result<Answer, FetchError> {
        reach.check(&ask.url)?;
        let proxy = self.proxy(&ask.url, reach)?;
        let tcp = match proxy {
            Some(proxy) => self.connect_through(proxy, &ask.url, reach).await?,
            None => self.connect(&ask.url, reach).await?,
        };
        if !ask.url.is_tls() {
            return talk(tcp, ask, proxy, self.body_max).await;
        }
        let failed = |why: String| FetchError::Connect {
            host: ask.url.host().to_owned(),
            why,
        };
        let own = reach.ca().map(|ca| Tls::new(Some(ca.into())));
        let tls = own.as_ref().unwrap_or(&self.tls);
        let tls = tls.connect(ask.url.host(), tcp).await;
        let tls = tls.map_err(|error| failed(chain(&error)))?;
        talk(tls, ask, None, self.body_max).await
    }

    /// The proxy that leads there, if there is one.
    fn proxy<'a>(
        &'a self,
        url: &WebUrl,
        reach: &'a Reach,
    ) -> Result<Option<&'a Proxy>, FetchError> {
        let proxies = reach.proxies().unwrap_or(&self.proxies);
        let found = proxies.towards(url.is_tls(), url.host(), url.port());
        found.map_err(|bad| FetchError::Proxy {
            host: url.host().to_owned(),
            why: bad.to_string(),
        })
    }

    /// Connects to a proxy, and with TLS through it. Where the name leads is the proxy's to find
    /// out, and perhaps nobody else here can; but one that leads inside is not told to it.
    async fn connect_through(
        &self,
        proxy: &Proxy,
        url: &WebUrl,
        reach: &Reach,
    ) -> Result<TcpStream, FetchError> {
        let looked = self.lookup.lookup(url.host(), url.port());
        if let Ok(Ok(found)) = tokio::time::timeout(LOOKUP, looked).await
            && !found.is_empty()
        {
            reach.pick(url, found)?;
        }
        let failed = |error: io::Error| FetchError::Proxy {
            host: url.host().to_owned(),
            why: format!("{proxy}: {error}"),
        };
        // The owner named the proxy: it may be anywhere.
        let found = self.lookup.lookup(&proxy.host, proxy.port).await;
        let reached = legation_net::first_of(found.map_err(failed)?).await;
        let mut tcp = reached.map_err(failed)?;
        if url.is_tls() {
            let opened = proxy.open_tunnel(&mut tcp, url.host(), url.port()).await;
            opened.map_err(failed)?;
        }
        Ok(tcp)
    }

    /// Connects to the first address that may be reached. What the name leads to is
    /// found out here and nowhere before, so that there is no moment between a check
    /// and its use.
    async fn connect(&self, url: &WebUrl, reach: &Reach) -> Result<TcpStream, FetchError> {
        let failed = |why: String| FetchError::Connect {
            host: url.host().to_owned(),
            why,
        };
        let found = self.lookup.lookup(url.host(), url.port()).await;
        let found = found.map_err(|error| failed(error.to_string()))?;
        let reached = legation_net::first_of(reach.pick(url, found)?).await;
        reached.map_err(|error| failed(error.to_string()))
    }
}

/// Asks; `proxy` is who is told the whole address, and by whom it is asked.
async fn talk(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    ask: &Ask,
    proxy: Option<&Proxy>,
    body_max: usize,
) -> Result<Answer, FetchError> {
    let broken = || FetchError::Broken {
        host: ask.url.host().to_owned(),
    };
    let request = request(ask, proxy).ok_or_else(broken)?;
    let answer = legation_net::exchange(stream, request, body_max).await;
    let answer = answer.map_err(|_| broken())?;
    let coding = answer.headers.get(header::CONTENT_ENCODING);
    if coding.is_some_and(|coding| coding != "identity") {
        return Err(broken());
    }
    match answer.end {
        BodyEnd::Whole => {}
        BodyEnd::Broken => return Err(broken()),
        BodyEnd::TooLong => {
            return Err(FetchError::TooLarge {
                host: ask.url.host().to_owned(),
                limit: body_max,
            });
        }
    }
    Ok(Answer {
        location: answer.field("location").map(str::to_owned),
        reply: Reply {
            status: answer.status.as_u16(),
            nonce: answer.field("dpop-nonce").map(Into::into),
            body: answer.body,
        },
    })
}

fn request(ask: &Ask, proxy: Option<&Proxy>) -> Option<Request<Full<Bytes>>> {
    let method = match ask.body {
        Some(_) => Method::POST,
        None => Method::GET,
    };
    let target = match proxy {
        Some(_) => format!("{}{}", ask.url.origin(), ask.url.target()),
        None => ask.url.target(),
    };
    let mut request = Request::builder()
        .method(method)
        .uri(target)
        .header(header::HOST, ask.url.authority())
        .header(header::USER_AGENT, legation_net::USER_AGENT);
    if let Some(credentials) = proxy.and_then(|proxy| proxy.credentials.as_ref()) {
        request = request.header(header::PROXY_AUTHORIZATION, credentials);
    }
    if ask.headers.iter().all(|(name, _)| *name != "accept") {
        request = request.header(header::ACCEPT, "application/json");
    }
    for (name, value) in &ask.headers {
        let mut value = header::HeaderValue::from_str(value.reveal()).ok()?;
        value.set_sensitive(true);
        request = request.header(*name, value);
    }
    let (kind, body) = match &ask.body {
        None => return request.body(Full::default()).ok(),
        Some(Body::Form(text)) => ("application/x-www-form-urlencoded", text),
        Some(Body::Json(text)) => ("application/json", text),
    };
    request
        .header(header::CONTENT_TYPE, kind)
        .body(Full::new(Bytes::copy_from_slice(body.reveal().as_bytes())))
        .ok()
}
