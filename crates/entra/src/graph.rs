//! Microsoft Graph: JSON over the shared client, with a token that is renewed
//! when it is refused.

mod batch;
mod challenge;
mod delta;
mod mailbox;
mod operation;
mod pages;

use std::fmt;
use std::sync::Arc;

use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue};
use http::{HeaderMap, Method};
use legation_core::{OpContext, SharedClock};
use serde::de::DeserializeOwned;
use serde_json::Value;
use zeroize::Zeroizing;

use crate::account::Account;
use crate::error::{GraphError, GraphMeaning, GraphRefusal};
use crate::http::{Repeat, Request, Response, Url};
use crate::token::{Token, TokenKey};

pub use batch::{BatchAnswer, BatchCall};
pub use delta::{DeltaFrom, DeltaPage};

pub(crate) use mailbox::Mailboxes;

/// Graph, asked with the token of one role.
#[derive(Clone)]
pub struct Graph {
    account: Account,
    key: TokenKey,
}

/// One request.
#[derive(Clone, Debug)]
pub struct GraphCall {
    /// GET, POST, …
    pub method: Method,
    /// `v1.0` or `beta`.
    pub version: &'static str,
    /// Path and query after the version, encoded; or a whole link of Graph's.
    pub path: String,
    /// Values of `Prefer`.
    pub prefer: Vec<&'static str>,
    /// What is sent.
    pub body: Option<Value>,
    /// Whether it may be sent again.
    pub repeat: Repeat,
}

/// An answer that is what was asked for.
#[derive(Debug)]
pub struct GraphAnswer {
    /// Its status.
    pub status: u16,
    /// Its header fields.
    pub headers: HeaderMap,
    /// Its body, which may be empty.
    pub body: bytes::Bytes,
    operation: Box<str>,
}

/// Ids of mail stay the same when it is moved, if every request asks for it.
const IMMUTABLE_IDS: &str = r#"IdType="ImmutableId""#;

// === impl Graph ===

impl Graph {
    pub(crate) fn of(account: Account, key: TokenKey) -> Self {
        Self { account, key }
    }

    /// The account it is asked for.
    #[must_use]
    pub fn account(&self) -> &Account {
        &self.account
    }

    pub(crate) fn clock(&self) -> &SharedClock {
        self.account.http().clock()
    }

    /// Reads something.
    ///
    /// # Errors
    /// See [`GraphError`].
    pub async fn get<T: DeserializeOwned>(
        &self,
        ctx: &OpContext,
        path: &str,
    ) -> Result<T, GraphError> {
        let call = GraphCall::new(Method::GET, path);
        self.call(ctx, &call).await?.json()
    }

    /// Makes something. It is sent again only when Graph said that it did
    /// nothing.
    ///
    /// # Errors
    /// See [`GraphError`]; [`GraphError::is_ambiguous`] tells whether it may
    /// have been made all the same.
    pub async fn post<T: DeserializeOwned>(
        &self,
        ctx: &OpContext,
        path: &str,
        body: Value,
    ) -> Result<T, GraphError> {
        let mut call = GraphCall::new(Method::POST, path);
        call.body = Some(body);
        call.repeat = Repeat::Refused;
        self.call(ctx, &call).await?.json()
    }

    /// Makes something that is the same when it is made twice.
    ///
    /// # Errors
    /// See [`GraphError`].
    pub async fn post_again<T: DeserializeOwned>(
        &self,
        ctx: &OpContext,
        path: &str,
        body: Option<Value>,
    ) -> Result<T, GraphError> {
        let mut call = GraphCall::new(Method::POST, path);
        call.body = body;
        self.call(ctx, &call).await?.json()
    }

    /// Changes something.
    ///
    /// # Errors
    /// See [`GraphError`].
    pub async fn patch(
        &self,
        ctx: &OpContext,
        path: &str,
        body: Value,
    ) -> Result<GraphAnswer, GraphError> {
        let mut call = GraphCall::new(Method::PATCH, path);
        call.body = Some(body);
        self.call(ctx, &call).await
    }

    /// Removes something; `false` when it was not there.
    ///
    /// # Errors
    /// See [`GraphError`].
    pub async fn delete(&self, ctx: &OpContext, path: &str) -> Result<bool, GraphError> {
        let call = GraphCall::new(Method::DELETE, path);
        match self.call(ctx, &call).await {
            Ok(_) => Ok(true),
            Err(error) if error.meaning() == Some(GraphMeaning::NotFound) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Sends a request. A token that is refused is replaced once, with what
    /// the refusal asks for.
    ///
    /// # Errors
    /// See [`GraphError`].
    pub async fn call(&self, ctx: &OpContext, call: &GraphCall) -> Result<GraphAnswer, GraphError> {
        let url = self.url(call)?;
        let operation = operation::name(&call.method, &url);
        let no_token = |source| GraphError::Token {
            operation: operation.clone(),
            source,
        };
        let mailbox = operation::mailbox(&url);
        let _one_of_four = match &mailbox {
            Some(name) => Some(
                self.account
                    .mailboxes()
                    .enter(ctx, name, &operation)
                    .await?,
            ),
            None => None,
        };
        let token = self.account.token(ctx, &self.key).await.map_err(no_token)?;
        let answer = self.send(ctx, call, &url, &operation, &token).await?;
        if answer.status != 401 {
            return accept(&operation, answer);
        }
        let claims = challenge::claims(&answer);
        let newer = self
            .account
            .replace_token(ctx, &self.key, &token, claims.as_deref())
            .await
            .map_err(no_token)?;
        let answer = self.send(ctx, call, &url, &operation, &newer).await?;
        accept(&operation, answer)
    }

    async fn send(
        &self,
        ctx: &OpContext,
        call: &GraphCall,
        url: &Url,
        operation: &str,
        token: &Arc<Token>,
    ) -> Result<Response, GraphError> {
        let bucket = operation::bucket(url);
        let mut request = Request::new(call.method.clone(), url.clone(), &bucket);
        request.repeat = call.repeat;
        let bad = |what: &str| GraphError::BadAnswer {
            operation: operation.into(),
            what: what.to_owned(),
        };
        let text = Zeroizing::new(format!("Bearer {}", token.reveal()));
        let mut value =
            HeaderValue::from_str(&text).map_err(|_| bad("the token is no header value"))?;
        value.set_sensitive(true);
        request.headers.insert(AUTHORIZATION, value);
        let json = HeaderValue::from_static("application/json");
        request.headers.insert(ACCEPT, json.clone());
        let mut prefer = call.prefer.clone();
        if operation::is_mail(url) && !prefer.contains(&IMMUTABLE_IDS) {
            prefer.push(IMMUTABLE_IDS);
        }
        if !prefer.is_empty() {
            let value = HeaderValue::from_str(&prefer.join(", "));
            let value = value.map_err(|_| bad("a preference is no header value"))?;
            request
                .headers
                .insert(HeaderName::from_static("prefer"), value);
        }
        if let Some(body) = &call.body {
            request.headers.insert(CONTENT_TYPE, json);
            request.body = body.to_string().into();
        }
        let answer = self.account.http().send(ctx, &request).await;
        answer.map_err(|error| GraphError::http(operation, error))
    }

    /// Where a call goes. A link from an answer is followed to Graph only.
    fn url(&self, call: &GraphCall) -> Result<Url, GraphError> {
        let base = self.account.graph_base();
        let operation = || format!("{} {}", call.method, operation::masked(&call.path));
        if !call.path.starts_with("https:") && !call.path.starts_with("http:") {
            let target = format!("/{}{}", call.version, call.path);
            return base.join(&target).map_err(|_| GraphError::BadAnswer {
                operation: operation().into(),
                what: "the path is none".to_owned(),
            });
        }
        let foreign = |origin: String| GraphError::ForeignLink {
            operation: operation().into(),
            origin,
        };
        let url = Url::parse(&call.path).map_err(|_| foreign("no https address".to_owned()))?;
        if url.origin() != base.origin() {
            return Err(foreign(url.origin().to_string()));
        }
        Ok(url)
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Graph")
            .field("account", &self.account.name())
            .field("role", &self.key.role)
            .finish_non_exhaustive()
    }
}

fn accept(operation: &str, answer: Response) -> Result<GraphAnswer, GraphError> {
    if answer.is_success() {
        return Ok(GraphAnswer {
            status: answer.status,
            headers: answer.headers,
            body: answer.body,
            operation: operation.into(),
        });
    }
    Err(refuse(operation, &answer))
}

fn refuse(operation: &str, answer: &Response) -> GraphError {
    let mut refusal = GraphRefusal::parse(operation, answer.status, &answer.body);
    if refusal.request_id.is_empty() {
        refusal.request_id.clone_from(&answer.request_id);
    }
    if refusal.client_request_id.is_empty() {
        refusal
            .client_request_id
            .clone_from(&answer.client_request_id);
    }
    GraphError::Refused(Box::new(refusal))
}

// === impl GraphCall ===

impl GraphCall {
    /// A call of v1.0 with nothing in it. Posting is not repeated unless Graph
    /// said that it did nothing; set [`GraphCall::repeat`] where it may be.
    #[must_use]
    pub fn new(method: Method, path: &str) -> Self {
        Self {
            method,
            version: "v1.0",
            path: path.to_owned(),
            prefer: Vec::new(),
            body: None,
            repeat: Repeat::Safe,
        }
    }
}

// === impl GraphAnswer ===

impl GraphAnswer {
    /// Its body. An empty one is JSON's `null`.
    ///
    /// # Errors
    /// [`GraphError::BadAnswer`].
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, GraphError> {
        let body: &[u8] = match self.body.is_empty() {
            true => b"null",
            false => &self.body,
        };
        serde_json::from_slice(body).map_err(|error| GraphError::BadAnswer {
            operation: self.operation.clone(),
            // Where, not what: the body is somebody's data.
            what: format!("line {}, column {}", error.line(), error.column()),
        })
    }
}

#[cfg(test)]
mod tests;
