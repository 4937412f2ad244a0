//! What the hub says of itself: `initialize` and `server/discover`.

use legation_core::OpContext;
use legation_gate::{Description, Endpoint};
use legation_wire::json::{Object, Raw};
use legation_wire::meta;
use legation_wire::revision::Revision;

use super::{Inquiry, events, refused};
use crate::parking::Body;
use crate::shared::{Held, Shared};
use crate::speaker::supported_versions;

/// How long a client may go on with what `server/discover` said.
const DISCOVER_TTL_MS: i64 = 60_000;

/// The answer to `initialize` once the revision is settled.
pub(crate) fn initialize_result(
    shared: &Held,
    context: &OpContext,
    endpoint: &Endpoint,
    revision: Revision,
) -> Body {
    let description = describe(shared, context, endpoint)?;
    let mut result = Object::new()
        .with("protocolVersion", Raw::str(revision.as_str()))
        .with("capabilities", description.capabilities.to_raw(revision))
        .with("serverInfo", shared.server_info.clone());
    if let Some(instructions) = &description.instructions {
        result.set("instructions", Raw::str(instructions));
    }
    Ok(result.to_raw())
}

/// `server/discover`.
pub(super) fn discover(inquiry: &Inquiry) -> Body {
    let mut description = describe(&inquiry.shared, &inquiry.context, &inquiry.endpoint)?;
    let caller = &inquiry.context.caller;
    if events::offered(&inquiry.shared, caller, &inquiry.endpoint).is_some() {
        description.capabilities.set_events(true);
    }
    let mut result = Object::new()
        .with("resultType", Raw::from_static(r#""complete""#))
        .with("supportedVersions", supported_versions())
        .with(
            "capabilities",
            description.capabilities.to_raw(inquiry.speaker.revision()),
        );
    if let Some(instructions) = &description.instructions {
        result.set("instructions", Raw::str(instructions));
    }
    result.set("ttlMs", Raw::int(DISCOVER_TTL_MS));
    result.set("cacheScope", Raw::from_static(r#""private""#));
    meta::set(
        &mut result,
        meta::SERVER_INFO,
        inquiry.shared.server_info.clone(),
    );
    Ok(result.to_raw())
}

fn describe(
    shared: &Shared,
    context: &OpContext,
    endpoint: &Endpoint,
) -> Result<Description, legation_wire::message::ErrorObject> {
    let described = shared.gate.describe(context, endpoint);
    let mut description = described.map_err(|refusal| refused(&refusal))?;
    // A server's own events are not passed on: who reads of them here would ask for them here.
    description.capabilities.set_events(false);
    Ok(description)
}
