//! How requests get to one server: where it is, what they all carry, and the
//! token of the hub's own sign-in.

use std::fmt;
use std::sync::Arc;

use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use legation_core::boxed;
use legation_oauth::{Challenge, Upstream};
use legation_wire::headers;

use super::answer::MAX_ERROR;
use super::client::{Client, Inbound, Outbound};
use super::helper::HeadersHelper;
use super::target::Target;
use super::{HttpSpec, line};
use crate::transport::error::HttpError;

/// How often one request is made: with what there is, with the server's nonce, and
/// with another token.
const TRIES: usize = 3;
const AGENT: HeaderValue =
    HeaderValue::from_static(concat!("legation/", env!("CARGO_PKG_VERSION")));

/// The way to one server.
pub(super) struct Road {
    client: Client,
    target: Target,
    auth: Option<Arc<Upstream>>,
    helped: Option<Helped>,
    /// Lines that every request has; they may hold secrets. None where a command prints
    /// headers, which may replace any of them.
    headers: Vec<u8>,
}

/// Headers of which a command prints some.
struct Helped {
    helper: Arc<HeadersHelper>,
    /// Those that it may replace.
    given: Vec<(HeaderName, HeaderValue)>,
}

// === impl Road ===

impl Road {
    pub(super) fn new(spec: HttpSpec) -> Result<Self, HttpError> {
        let (helped, headers) = match spec.helper {
            Some(helper) => {
                let given = spec.headers;
                (Some(Helped { helper, given }), Vec::new())
            }
            None => (None, own_headers(spec.headers)),
        };
        Ok(Self {
            target: Target::parse(&spec.url)?,
            client: Client::new(spec.connect_timeout, spec.reach),
            auth: spec.auth,
            helped,
            headers,
        })
    }

    /// Closes connections that have been idle for too long, for ever.
    pub(super) fn sweep(&self) -> impl Future<Output = ()> + Send + 'static {
        self.client.sweep()
    }

    /// Where the server is.
    pub(super) fn target(&self) -> &Target {
        &self.target
    }

    /// Lines that every request has, to be put among those of [`send`](Self::send).
    pub(super) fn headers(&self) -> &[u8] {
        &self.headers
    }

    /// Makes a request; where the owner did not configure a credential, with the
    /// token of the server's sign-in or the headers that a command prints.
    pub(super) async fn send(
        &self,
        method: &'static str,
        headers: &[&[u8]],
        body: &[u8],
    ) -> Result<Inbound, HttpError> {
        self.send_to(&self.target, method, headers, body).await
    }

    /// The same to another place of the same origin.
    pub(super) async fn send_to(
        &self,
        target: &Target,
        method: &'static str,
        headers: &[&[u8]],
        body: &[u8],
    ) -> Result<Inbound, HttpError> {
        // Seldom, and large.
        if let Some(helped) = &self.helped {
            return boxed!(self.send_helped(helped, target, method, (headers, body))).await;
        }
        if self.auth.is_some() {
            return boxed!(self.send_signed(target, method, headers, body)).await;
        }
        let request = Outbound {
            method,
            headers,
            body,
        };
        self.client.send(target, request).await
    }

    async fn send_helped(
        &self,
        helped: &Helped,
        target: &Target,
        method: &'static str,
        (headers, body): (&[&[u8]], &[u8]),
    ) -> Result<Inbound, HttpError> {
        let failed = |source| HttpError::Helper { source };
        let mut said = helped.helper.said().await.map_err(failed)?;
        let mut is_last = false;
        loop {
            let lines = said.lines(&helped.given);
            let all = [headers, &[&lines]].concat();
            let request = Outbound {
                method,
                headers: &all,
                body,
            };
            let inbound = self.client.send(target, request).await?;
            if is_last || !matches!(inbound.head.status, 401 | 403) {
                return Ok(inbound);
            }
            let next = helped.helper.said_after(&said).await.map_err(failed)?;
            let Some(next) = next else {
                return Ok(inbound);
            };
            (said, is_last) = (next, true);
            // Read to its end, so that the connection can be used again.
            drop(inbound.wire.whole(MAX_ERROR).await);
        }
    }

    async fn send_signed(
        &self,
        target: &Target,
        method: &'static str,
        headers: &[&[u8]],
        body: &[u8],
    ) -> Result<Inbound, HttpError> {
        let sign_in = |source| HttpError::SignIn { source };
        let Some(auth) = &self.auth else {
            return Err(HttpError::BadRedirect);
        };
        let mut access = auth.access().await.map_err(sign_in)?;
        let mut tries = TRIES;
        loop {
            tries -= 1;
            let mut lines = Vec::new();
            if let Some(access) = &access {
                auth.write(access, method, &mut lines);
            }
            let all = (!lines.is_empty()).then(|| [headers, &[&lines]].concat());
            let request = Outbound {
                method,
                headers: all.as_deref().unwrap_or(headers),
                body,
            };
            let mut inbound = self.client.send(target, request).await?;
            let head = &mut inbound.head;
            let nonce = head.nonce.take();
            let has_new_nonce = nonce.is_some_and(|nonce| auth.note_nonce(&nonce));
            if !matches!(head.status, 401 | 403) || tries == 0 {
                return Ok(inbound);
            }
            let challenge = Challenge::read(head.challenge.as_deref().unwrap_or_default());
            if challenge.wants_nonce() && access.is_some() {
                if !has_new_nonce {
                    return Ok(inbound);
                }
            } else if head.status == 403 && !challenge.wants_scope() {
                // It knows who asks, and refuses.
                return Ok(inbound);
            } else {
                let next = auth.refused(access.as_ref(), challenge).await;
                let Some(next) = next.map_err(sign_in)? else {
                    return Ok(inbound);
                };
                access = Some(next);
            }
            // Read to its end, so that the connection can be used again.
            drop(inbound.wire.whole(MAX_ERROR).await);
        }
    }
}

impl fmt::Debug for Road {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Road")
            .field("target", &self.target)
            .finish_non_exhaustive()
    }
}

/// The user's headers, but for those that the protocol itself sends, which
/// would then be there twice, and those that belong to one connection.
pub(super) fn own_headers(given: impl IntoIterator<Item = (HeaderName, HeaderValue)>) -> Vec<u8> {
    let mut own = HeaderMap::new();
    own.insert(header::USER_AGENT, AGENT);
    own.extend(given.into_iter().map(|(name, value)| (Some(name), value)));
    let mut lines = Vec::new();
    for (name, value) in &own {
        let taken = [
            header::ACCEPT,
            header::CONTENT_TYPE,
            header::CONTENT_LENGTH,
            header::TRANSFER_ENCODING,
            header::CONNECTION,
            header::UPGRADE,
            header::EXPECT,
            header::TE,
            header::TRAILER,
            header::HOST,
            headers::PROTOCOL_VERSION,
            headers::METHOD,
            headers::NAME,
            headers::SESSION_ID,
            headers::LAST_EVENT_ID,
            headers::trace::TRACEPARENT,
            headers::trace::TRACESTATE,
        ];
        if !taken.contains(name) && !name.as_str().starts_with(headers::PARAM_PREFIX) {
            line(&mut lines, name, value);
        }
    }
    lines
}
