//! Entra ID, version 2 of its endpoints.

pub(crate) mod client;
mod device;
mod discovery;
pub(crate) mod error;
mod grants;
pub(crate) mod scope;
pub(crate) mod token;

use http::Method;
use serde_json::Value;

use self::error::Refusal;
use crate::server::Shared;
use crate::state::World;
use crate::state::fault::FaultKind;
use crate::web::{Answer, Ask, Pairs};

pub(crate) use self::device::decide;

/// Answers a request to the authority.
pub(crate) fn answer(shared: &Shared, world: &mut World, ask: &Ask) -> Answer {
    let form = ask.form();
    let correlation = ask
        .header("client-request-id")
        .or_else(|| ask.query.get("client-request-id"))
        .or_else(|| form.get("client-request-id"))
        .map(str::to_owned);
    let result = route(shared, world, ask, &form);
    let wall = shared.now();
    match result {
        Ok(value) => {
            let answer = Answer::json(200, &value).with("cache-control", "no-store, no-cache");
            match correlation {
                Some(id) => answer.with("client-request-id", id),
                None => answer,
            }
        }
        Err(Some(refusal)) => {
            let now = ask
                .parts
                .first()
                .and_then(|tenant| world.tenant(tenant))
                .map_or(wall, |tenant| tenant.now(wall));
            refusal.answer(&ask.origin, now, correlation.as_deref())
        }
        Err(None) => {
            shared
                .report()
                .unknown(&format!("{} {}", ask.method, ask.path));
            Answer::text(404, "text/html; charset=utf-8", "Not Found")
        }
    }
}

/// `Err(None)` is a path that Entra has and this tenant has not.
fn route(
    shared: &Shared,
    world: &mut World,
    ask: &Ask,
    form: &Pairs,
) -> Result<Value, Option<Refusal>> {
    let parts = ask.route();
    match (&ask.method, parts.as_slice()) {
        (&Method::GET, [_, "discovery", "instance"]) => Ok(discovery::instance(ask).map_err(Some)?),
        (&Method::GET, [tenant, "v2.0", ".well-known", "openid-configuration"]) => {
            Ok(discovery::openid(world, ask, tenant).map_err(Some)?)
        }
        (&Method::GET, [tenant, "discovery", "v2.0", "keys"]) => {
            discovery::known(world, tenant).map_err(Some)?;
            Ok(discovery::keys(shared, ask, tenant))
        }
        (&Method::POST, [tenant, "oauth2", "v2.0", "devicecode"]) => {
            discovery::known(world, tenant).map_err(Some)?;
            Ok(device::begin(shared, world, ask, tenant, form).map_err(Some)?)
        }
        (&Method::POST, [tenant, "oauth2", "v2.0", "token"]) => {
            discovery::known(world, tenant).map_err(Some)?;
            if let Some(refusal) = ordered(world, ask) {
                return Err(Some(refusal));
            }
            Ok(grants::answer(shared, world, ask, tenant, form).map_err(Some)?)
        }
        _ => Err(None),
    }
}

/// A fault that was ordered for the token endpoint.
fn ordered(world: &mut World, ask: &Ask) -> Option<Refusal> {
    let what = format!(
        "{} {} {}",
        ask.method,
        ask.path,
        String::from_utf8_lossy(&ask.body)
    );
    let kind = world.meet(&what, |kind| {
        matches!(
            kind,
            FaultKind::Consent | FaultKind::Mfa | FaultKind::Aadsts { .. }
        )
    })?;
    Some(match kind {
        FaultKind::Consent => Refusal::new(
            65_001,
            "The user or administrator has not consented to use the application. Send an \
             interactive authorization request for this user and resource.",
        ),
        FaultKind::Mfa => Refusal::interaction(50_076),
        FaultKind::Aadsts { code } => Refusal::ordered(code),
        FaultKind::Throttle { .. }
        | FaultKind::Status { .. }
        | FaultKind::Cut
        | FaultKind::CutAfter
        | FaultKind::Expired
        | FaultKind::Challenge
        | FaultKind::Gone
        | FaultKind::Unlicensed => return None,
    })
}
