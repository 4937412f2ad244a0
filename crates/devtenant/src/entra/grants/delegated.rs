//! A person's tokens: by device code and by refresh token.

use serde_json::Value;

use super::{Flow, Request, device, discovery};
use crate::entra::error::Refusal;
use crate::state::World;

/// 90 days without use.
const INACTIVE_MS: i64 = 90 * 24 * 3_600_000;

/// The device code grant.
pub(super) fn device_code(request: &Request<'_>, world: &mut World) -> Result<Value, Refusal> {
    let client_id = request.client_id()?;
    let (code, tenant, user) = device::poll(world, request.shared.now(), &client_id, request.form)?;
    let home = world
        .tenant(&tenant)
        .ok_or_else(|| Refusal::new(90_002, format!("Tenant '{tenant}' not found.")))?;
    let client = request.client(home)?;
    let wanted = request.wanted(home, &code.scope)?;
    request.for_user(world, &tenant, &client, &user, &wanted, Flow::Interactive)
}

/// The refresh token grant: a new token comes with every use, and the old one stays good.
pub(super) fn refresh_token(request: &Request<'_>, world: &mut World) -> Result<Value, Refusal> {
    let secret = request.required("refresh_token")?;
    let client_id = request.client_id()?;
    let now = request.shared.now().0;
    let stored = world
        .refresh_tokens
        .iter_mut()
        .find(|token| token.token == secret);
    let Some(stored) = stored else {
        return Err(Refusal::new(
            70_000,
            "Provided grant is invalid or malformed.",
        ));
    };
    if !stored.client.is(&client_id) {
        return Err(Refusal::new(
            70_000,
            "Provided grant is invalid or malformed. The refresh token was issued to another \
             client.",
        ));
    }
    if now - stored.used_ms > INACTIVE_MS {
        return Err(Refusal::new(
            700_082,
            "The refresh token has expired due to inactivity.",
        ));
    }
    stored.used_ms = now;
    let stored = stored.clone();
    let path_fits = discovery::ANY.contains(&request.tenant)
        || world
            .tenant(request.tenant)
            .is_some_and(|tenant| tenant.id == stored.tenant);
    let Some(home) = world.tenant(&stored.tenant).filter(|_| path_fits) else {
        return Err(Refusal::new(
            700_016,
            format!(
                "Application with identifier '{client_id}' was not found in the directory '{}'.",
                request.tenant
            ),
        ));
    };
    let client = request.client(home)?;
    let revoked = home
        .user(stored.user.as_str())
        .is_some_and(|user| stored.issued < user.sessions_from);
    if revoked {
        return Err(Refusal::new(
            50_173,
            "The provided grant has expired due to it being revoked, a fresh auth token is \
             needed. The user might have changed or reset their password.",
        ));
    }
    let text = request.form.filled("scope").unwrap_or("User.Read");
    let mut wanted = request.wanted(home, text)?;
    // A refresh gives a new refresh token whether or not it was asked for again.
    wanted.offline = true;
    let tenant = stored.tenant.clone();
    request.for_user(world, &tenant, &client, &stored.user, &wanted, Flow::Silent)
}
