//! On behalf of a person: an API, or an agent identity, goes on with the token it was shown.

use serde_json::Value;

use super::{Flow, Request};
use crate::entra::client::Client;
use crate::entra::error::Refusal;
use crate::jwt::Parsed;
use crate::state::World;
use crate::state::directory::ObjectId;

/// The on-behalf-of grant.
pub(super) fn on_behalf_of(request: &Request<'_>, world: &mut World) -> Result<Value, Refusal> {
    let tenant = request.one_tenant(world)?;
    let client = request.client(tenant)?;
    if client.acr == 0 {
        return Err(Refusal::new(
            7_000_218,
            "The request body must contain the following parameter: 'client_assertion' or \
             'client_secret'.",
        ));
    }
    let text = request.required("assertion")?;
    if request.required("requested_token_use")? != "on_behalf_of" {
        return Err(Refusal::new(
            900_144,
            "The value of 'requested_token_use' is not valid.",
        ));
    }
    let scope = request.required("scope")?;
    let assertion = Parsed::parse(text)
        .filter(|token| request.shared.signer.signed(token))
        .ok_or_else(|| {
            Refusal::new(
                50_013,
                "Assertion failed signature validation. [Reason - The key was not found.]",
            )
        })?;
    check_audience(&client, &assertion)?;
    let now_s = std::time::Duration::from_millis(request.now_ms(tenant).unsigned_abs());
    if assertion
        .seconds("exp")
        .is_none_or(|until| until < now_s.as_secs_f64())
    {
        return Err(Refusal::new(
            500_133,
            "Assertion is not within its valid time range. Ensure that the access token is not \
             expired before using it for user assertion, or request a new token.",
        ));
    }
    if assertion.text("idtyp") != "user" {
        return Err(Refusal::new(
            50_013,
            "Assertion contains no user: a token of an application cannot be exchanged.",
        ));
    }
    if assertion.text("tid") != tenant.id {
        return Err(Refusal::new(
            50_013,
            "Assertion was issued in another tenant.",
        ));
    }
    let wanted = request.wanted(tenant, scope)?;
    let user = ObjectId::new(assertion.text("oid"));
    let id = tenant.id.clone();
    request.for_user(world, &id, &client, &user, &wanted, Flow::Silent)
}

/// The token must be meant for the one who shows it. An agent identity has no audience of its
/// own: for it, the token is meant for the blueprint.
fn check_audience(client: &Client, assertion: &Parsed) -> Result<(), Refusal> {
    let expected = client.blueprint.as_ref().unwrap_or(&client.app_id);
    let audience = assertion.text("aud");
    if expected.is(audience.trim_start_matches("api://")) {
        return Ok(());
    }
    Err(Refusal::new(
        500_131,
        format!(
            "Assertion audience does not match the Client app presenting the assertion. The \
             audience in the assertion was '{audience}' and the expected audience is \
             '{expected}' or one of the Application Uris of this application."
        ),
    ))
}
