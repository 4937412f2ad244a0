//! The authority's endpoints (OAuth 2.0 as Entra ID v2 speaks it).

mod claims;
mod device;
mod form;
mod grant;
mod jwt;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderName, Method};
use legation_core::OpContext;
use serde::Deserialize;

use crate::error::{Meaning, Refusal, SignInError, Step};
use crate::http::{Http, Repeat, Request, Response, Url};

pub use claims::TokenClaims;
pub use device::{SignInPrompt, WAIT};

pub(crate) use claims::merge as merge_claims;
pub(crate) use device::{DeviceCode, Next, Polling};
pub(crate) use form::Form;
pub(crate) use grant::{Grant, GrantKind, Prover};
pub(crate) use jwt::{Assertion, SigningKey};

/// What every request declares: that a token may be refused before its time,
/// for a reason (continuous access evaluation).
pub(crate) const CP1: &str = r#"{"access_token":{"xms_cc":{"values":["cp1"]}}}"#;
/// The service that exchanges tokens for agents.
pub(crate) const EXCHANGE_SCOPE: &str = "api://AzureADTokenExchange/.default";
/// The largest answer of the authority, in bytes.
const ANSWER_MAX: usize = 1 << 20;

/// The endpoints of one tenant.
#[derive(Clone, Debug)]
pub(crate) struct OAuth {
    http: Http,
    /// `https://login.example.com/TENANT`.
    tenant: Url,
}

/// What the tenant says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct TenantInfo {
    /// Who its tokens are from.
    pub issuer: String,
    /// Where tokens are asked for.
    pub token_endpoint: String,
    /// Where codes are asked for.
    pub device_authorization_endpoint: Option<String>,
    /// Its cloud's host of Graph.
    pub msgraph_host: Option<String>,
}

// === impl OAuth ===

impl OAuth {
    pub(crate) fn new(http: Http, tenant: Url) -> Self {
        Self { http, tenant }
    }

    pub(crate) fn http(&self) -> &Http {
        &self.http
    }

    /// Where tokens are asked for; also the audience of assertions.
    pub(crate) fn token_endpoint(&self) -> String {
        format!("{}/oauth2/v2.0/token", self.tenant)
    }

    /// Where an administrator agrees to what an application asks for.
    fn consent_url(&self, client_id: &str) -> Box<str> {
        let mut url = format!("{}/adminconsent?client_id=", self.tenant);
        crate::base::form_encode(client_id, &mut url);
        url.into()
    }

    /// What the tenant says of itself (OpenID Connect Discovery 1.0).
    pub(crate) async fn discover(&self, ctx: &OpContext) -> Result<TenantInfo, SignInError> {
        let step = Step::Discovery;
        let url = self.url("/v2.0/.well-known/openid-configuration");
        let mut request = Request::new(Method::GET, url, "discovery");
        request.answer_max = ANSWER_MAX;
        let answer = self.http.send(ctx, &request).await;
        let answer = answer.map_err(|error| SignInError::http(step, error))?;
        if !answer.is_success() {
            return Err(self.refusal(step, &answer, None));
        }
        serde_json::from_slice(&answer.body).map_err(|_| SignInError::BadAnswer {
            step,
            what: "it is not a discovery document",
        })
    }

    /// A code for a person to enter (RFC 8628 section 3.1).
    pub(crate) async fn device_code(
        &self,
        ctx: &OpContext,
        client_id: &str,
        scope: &str,
        claims: Option<&str>,
    ) -> Result<DeviceCode, SignInError> {
        let step = Step::DeviceCode;
        let mut form = Form::default();
        form.put("client_id", client_id);
        form.put("scope", scope);
        form.put("claims", &merge_claims(claims));
        let answer = self
            .post(
                ctx,
                step,
                "/oauth2/v2.0/devicecode",
                form,
                Repeat::Safe,
                None,
            )
            .await?;
        if !answer.is_success() {
            return Err(self.refusal(step, &answer, Some(client_id)));
        }
        serde_json::from_slice(&answer.body).map_err(|_| SignInError::BadAnswer {
            step,
            what: "it holds no code",
        })
    }

    /// A token, by one of the grants.
    pub(crate) async fn token(
        &self,
        ctx: &OpContext,
        step: Step,
        client_id: &str,
        prover: &Prover,
        grant: &GrantKind<'_>,
        claims: Option<&str>,
    ) -> Result<Grant, SignInError> {
        let mut form = Form::default();
        form.put("client_id", client_id);
        prover.put(&mut form);
        grant.put(&mut form);
        form.put("claims", &merge_claims(claims));
        // A code that was entered is good for one token.
        let repeat = match step {
            Step::Poll => Repeat::Refused,
            _ => Repeat::Safe,
        };
        let anchor = grant.anchor();
        let answer = self
            .post(ctx, step, "/oauth2/v2.0/token", form, repeat, anchor)
            .await?;
        if !answer.is_success() {
            return Err(self.refusal(step, &answer, Some(client_id)));
        }
        Grant::parse(&answer.body).ok_or(SignInError::BadAnswer {
            step,
            what: "it holds no bearer token",
        })
    }

    async fn post(
        &self,
        ctx: &OpContext,
        step: Step,
        path: &str,
        form: Form,
        repeat: Repeat,
        anchor: Option<String>,
    ) -> Result<Response, SignInError> {
        let mut request = Request::new(Method::POST, self.url(path), "token")
            .with(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .with(ACCEPT, "application/json");
        // Tells the authority which part of it knows the user.
        if let Some(anchor) = anchor.and_then(|anchor| anchor.parse().ok()) {
            let name = HeaderName::from_static("x-anchormailbox");
            request.headers.insert(name, anchor);
        }
        request.body = form.into_bytes();
        request.repeat = repeat;
        request.answer_max = ANSWER_MAX;
        let answer = self.http.send(ctx, &request).await;
        answer.map_err(|error| SignInError::http(step, error))
    }

    fn url(&self, path: &str) -> Url {
        // The tenant was checked when the account was made, and the paths are
        // ours.
        self.tenant
            .join(path)
            .unwrap_or_else(|_| self.tenant.clone())
    }

    fn refusal(&self, step: Step, answer: &Response, client_id: Option<&str>) -> SignInError {
        let mut refusal = Refusal::parse(step, answer.status, &answer.body);
        if refusal.meaning() == Meaning::Throttled {
            let wait = crate::http::retry_after(&answer.headers, self.http.wall());
            let retry_after = wait.unwrap_or(std::time::Duration::from_secs(5));
            return SignInError::RateLimited { step, retry_after };
        }
        if let Some(client_id) = client_id.filter(|_| refusal.meaning() == Meaning::NoConsent) {
            refusal.consent_url = Some(self.consent_url(client_id));
        }
        if refusal.correlation_id.is_empty() {
            refusal.correlation_id.clone_from(&answer.client_request_id);
        }
        SignInError::refused(refusal)
    }
}

/// A secret as the body of a request, wiped when it was sent.
pub(crate) fn wiped(bytes: zeroize::Zeroizing<Vec<u8>>) -> Bytes {
    Bytes::from_owner(bytes)
}

#[cfg(test)]
pub(crate) mod tests;
