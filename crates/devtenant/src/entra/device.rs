//! Sign-in by a code that a person types on another screen.

use legation_core::Wall;
use serde_json::{Value, json};

use super::client::client_id;
use super::error::Refusal;
use super::{discovery, scope};
use crate::random;
use crate::server::Shared;
use crate::state::World;
use crate::state::directory::{AppId, GRAPH, Grant, ObjectId};
use crate::state::session::{CodeState, DeviceCode};
use crate::web::{Ask, Pairs};

const LIFETIME_S: i64 = 900;
const INTERVAL_S: i64 = 5;
/// More codes than this at once are somebody's loop.
const CODES_MAX: usize = 1000;

/// `/devicecode`.
pub(super) fn begin(
    shared: &Shared,
    world: &mut World,
    ask: &Ask,
    tenant: &str,
    form: &Pairs,
) -> Result<Value, Refusal> {
    let client = client_id(ask, form)?;
    let home = match world.tenant(tenant) {
        Some(home) => Some(home),
        None => world.tenants.iter().find(|one| one.app(&client).is_some()),
    };
    let Some((home, app)) = home.and_then(|home| Some((home, home.app(&client)?))) else {
        return Err(Refusal::new(
            700_016,
            format!(
                "Application with identifier '{client}' was not found in the directory \
                 '{tenant}'."
            ),
        ));
    };
    if !app.public {
        return Err(Refusal::new(
            7_000_218,
            "The request body must contain the following parameter: 'client_assertion' or \
             'client_secret'.",
        ));
    }
    let scope = form
        .filled("scope")
        .ok_or_else(|| Refusal::missing("scope"))?;
    scope::parse(home, &ask.origin, scope)?;
    let code = DeviceCode {
        device_code: random::opaque(),
        user_code: random::user_code(),
        tenant: if discovery::ANY.contains(&tenant) {
            tenant.to_owned()
        } else {
            home.id.clone()
        },
        client: AppId::new(app.app_id.as_str()),
        scope: scope.to_owned(),
        expires_ms: shared.now().0 + LIFETIME_S * 1000,
        state: CodeState::Pending,
    };
    let real = ask.origin == "https://login.microsoftonline.com";
    let page = if real {
        "https://login.microsoft.com/device".to_owned()
    } else {
        format!("{}/device", ask.origin)
    };
    let answer = json!({
        "user_code": code.user_code,
        "device_code": code.device_code,
        "verification_uri": page,
        "expires_in": LIFETIME_S,
        "interval": INTERVAL_S,
        "message": format!(
            "To sign in, use a web browser to open the page {page} and enter the code {} to \
             authenticate.",
            code.user_code
        ),
    });
    let now = shared.now().0;
    world
        .device_codes
        .retain(|code| code.expires_ms + LIFETIME_S * 1000 > now);
    if world.device_codes.len() >= CODES_MAX {
        world.device_codes.remove(0);
    }
    world.device_codes.push(code);
    Ok(answer)
}

/// What a person said to a code: approves it as a user, or declines it. The error is for the
/// person.
pub(crate) fn decide(
    world: &mut World,
    wall: Wall,
    user_code: &str,
    user: Option<(&str, &str)>,
) -> Result<(), &'static str> {
    let typed: String = user_code
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .collect::<String>()
        .to_uppercase();
    let code = world
        .device_codes
        .iter_mut()
        .find(|code| code.user_code == typed)
        .ok_or("That code did not work. Check the code and try again.")?;
    if code.expires_ms <= wall.0 {
        return Err("That code has expired. Ask for a new one.");
    }
    if code.state != CodeState::Pending {
        return Err("That code was already used.");
    }
    let Some((tenant, user)) = user else {
        code.state = CodeState::Declined;
        return Ok(());
    };
    let any = discovery::ANY.contains(&code.tenant.as_str());
    if !any && code.tenant != tenant {
        return Err("That account is not in the tenant that asks.");
    }
    code.state = CodeState::Approved {
        tenant: tenant.to_owned(),
        user: ObjectId::new(user),
    };
    let (client, scope) = (code.client.clone(), code.scope.clone());
    consent(world, wall, tenant, user, &client, &scope);
    Ok(())
}

/// Who approves a code consents to what it asks for, as far as a person may without an
/// administrator.
fn consent(
    world: &mut World,
    wall: Wall,
    tenant: &str,
    user: &str,
    client: &AppId,
    scope_text: &str,
) {
    let Some(tenant) = world.tenant_mut(tenant) else {
        return;
    };
    let Ok(wanted) = scope::parse(tenant, "", scope_text) else {
        return;
    };
    let names: Vec<String> = wanted
        .names
        .iter()
        .filter(|name| {
            wanted.resource.app_id() != GRAPH
                || !crate::graph::permissions::needs_administrator(name)
        })
        .cloned()
        .collect();
    let ids = tenant
        .principal_of(client.as_str())
        .map(|own| own.id.clone())
        .zip(wanted.resource.principal(tenant).map(|to| to.id.clone()));
    let Some((client, resource)) = ids else {
        return;
    };
    if names.is_empty() {
        return;
    }
    tenant.grants.push(Grant {
        id: random::opaque(),
        client,
        principal: Some(ObjectId::new(user)),
        resource,
        scope: names.join(" "),
        seen_from_ms: wall.0,
    });
}

/// What became of a device code, for the client that polls. Gives the code out once.
pub(super) fn poll(
    world: &mut World,
    wall: Wall,
    client: &str,
    form: &Pairs,
) -> Result<(DeviceCode, String, ObjectId), Refusal> {
    let secret = form
        .filled("device_code")
        .or_else(|| form.filled("code"))
        .ok_or_else(|| Refusal::missing("device_code"))?;
    let code = world
        .device_codes
        .iter_mut()
        .find(|code| code.device_code == secret && code.client.is(client));
    let Some(code) = code else {
        return Err(Refusal::new(
            70_018,
            "Invalid verification code due to User typing in wrong user code for device code flow.",
        ));
    };
    match code.state.clone() {
        CodeState::Pending if code.expires_ms <= wall.0 => Err(Refusal::new(
            70_020,
            "The provided value for the input parameter 'device_code' is not valid. This device \
             code has expired.",
        )),
        CodeState::Pending => Err(Refusal::new(
            70_016,
            "OAuth 2.0 device flow error. Authorization is pending. Continue polling.",
        )),
        CodeState::Declined => Err(Refusal::new(
            7_000_014,
            "The user has denied the sign-in request.",
        )),
        CodeState::Spent => Err(Refusal::new(
            70_000,
            "The device code was already redeemed.",
        )),
        CodeState::Approved { tenant, user } => {
            code.state = CodeState::Spent;
            Ok((code.clone(), tenant, user))
        }
    }
}
