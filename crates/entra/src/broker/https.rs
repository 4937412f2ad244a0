//! A service that signs assertions, so that the key is on another machine.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use http::Method;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use legation_core::OpContext;
use legation_keystore::SecretStore;

use super::command::proof;
use super::{Ask, Broker, BrokerError, Proof};
use crate::http::{Http, HttpError, Request, Url};

const NAME: &str = "broker's service";
const ANSWER_MAX: usize = 64 << 10;

/// A service that is asked with POST and answers like the command.
#[derive(Debug)]
pub struct HttpsBroker {
    /// How it is reached.
    pub http: Http,
    /// Where it is.
    pub url: Url,
    /// Where the bearer token for it is kept, under `entra/ACCOUNT/broker`.
    pub store: Arc<SecretStore>,
}

/// Under what name the service's bearer token is kept.
#[must_use]
pub fn token_name(account: &str) -> String {
    format!("entra/{account}/broker")
}

// === impl HttpsBroker ===

impl HttpsBroker {
    async fn ask(&self, ctx: &OpContext, ask: &Ask) -> Result<Proof, BrokerError> {
        let json = serde_json::json!({
            "account": &*ask.account,
            "application": ask.application.as_str(),
            "client_id": &*ask.client_id,
            "audience": &*ask.audience,
        });
        let mut request = Request::new(Method::POST, self.url.clone(), "broker")
            .with(CONTENT_TYPE, "application/json");
        request.body = json.to_string().into();
        request.answer_max = ANSWER_MAX;
        let token = self
            .store
            .get(&token_name(&ask.account))
            .map_err(|source| BrokerError::Store { source })?;
        if let Some(token) = token {
            let value = HeaderValue::try_from(format!("Bearer {}", token.reveal()));
            let mut value = value.map_err(|_| BrokerError::Http {
                source: HttpError::BadRequest,
            })?;
            value.set_sensitive(true);
            request.headers.insert(AUTHORIZATION, value);
        }
        let answer = self.http.send(ctx, &request).await;
        let answer = answer.map_err(|source| BrokerError::Http { source })?;
        if !answer.is_success() {
            return Err(BrokerError::Answer {
                name: NAME,
                what: format!("with status {}", answer.status),
            });
        }
        proof(NAME, &answer.body)
    }
}

impl Broker for HttpsBroker {
    fn name(&self) -> &'static str {
        "https"
    }

    fn prove<'a>(
        &'a self,
        ctx: &'a OpContext,
        ask: &'a Ask,
    ) -> BoxFuture<'a, Result<Proof, BrokerError>> {
        Box::pin(self.ask(ctx, ask))
    }
}
