//! Hop three: an agent identity becomes its own user.

use serde_json::Value;

use super::{Flow, Request};
use crate::entra::client::{in_time, wrong_subject};
use crate::entra::error::Refusal;
use crate::jwt::Parsed;
use crate::state::World;
use crate::state::directory::{TOKEN_EXCHANGE, UserKind};

/// The `user_fic` grant.
pub(super) fn user_fic(request: &Request<'_>, world: &mut World) -> Result<Value, Refusal> {
    let tenant = request.one_tenant(world)?;
    let client = request.client(tenant)?;
    if client.blueprint.is_none() {
        return Err(Refusal::new(
            82_001,
            "The grant 'user_fic' is only for agent identities.",
        ));
    }
    let text = request.required("user_federated_identity_credential")?;
    let scope = request.required("scope")?;
    let second = Parsed::parse(text)
        .filter(|token| request.shared.signer.signed(token))
        .ok_or_else(|| {
            Refusal::new(
                50_013,
                "Assertion failed signature validation. [Reason - The key was not found.]",
            )
        })?;
    // The same agent in both assertions, or a stolen one would open another agent's user.
    if second.text("aud") != TOKEN_EXCHANGE || !client.app_id.is(second.text("azp")) {
        return Err(wrong_subject(second.text("sub")));
    }
    in_time(&second, request.now_ms(tenant))?;
    let name = request
        .form
        .filled("username")
        .or_else(|| request.form.filled("user_id"))
        .ok_or_else(|| Refusal::missing("username"))?;
    let user = tenant
        .user(name)
        .filter(|user| user.seen_from_ms <= request.now_ms(tenant));
    let Some(user) = user else {
        return Err(Refusal::new(
            50_034,
            format!(
                "The user account {name} does not exist in the {} directory. To sign into this \
                 application, the account must be added to the directory.",
                tenant.name
            ),
        ));
    };
    let parent = match &user.kind {
        UserKind::Agent { parent } => Some(parent),
        UserKind::Member | UserKind::Guest => None,
    };
    if parent != client.principal.as_ref() {
        return Err(Refusal::new(
            50_105,
            format!(
                "The user {name} is not the user of the agent identity '{}'.",
                client.app_id
            ),
        ));
    }
    let wanted = request.wanted(tenant, scope)?;
    let (id, user) = (tenant.id.clone(), user.id.clone());
    request.for_user(world, &id, &client, &user, &wanted, Flow::Silent)
}
