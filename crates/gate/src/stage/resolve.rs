//! Second stage: what the client named, in the pinned definition.
//!
//! It stands before the decision because rules speak of servers and of the
//! servers' own names, which only the catalogue knows.

use legation_core::OpContext;
use legation_policy::{Origin, Target};
use legation_wire::json::Raw;

use crate::{Item, Request, Resolve, ServerSet, Unresolved};

/// Finds the target; waits only for a server that has never been connected.
/// `hub/call_tool` becomes the call it stands for, so that it is judged, limited
/// and recorded as that and as nothing else.
pub(crate) async fn resolve(
    servers: &dyn ServerSet,
    context: &OpContext,
    request: &mut Request,
) -> Result<Target, Unresolved> {
    let mut target = find(servers, context, request).await?;
    if is_call_tool(&target) && unwrap(request) {
        target = find(servers, context, request).await?;
    }
    if target.origin == Origin::Builtin {
        // What such a server holds is nobody's until the call says whose.
        target.entity = servers.concerns(&target, &request.params).known().await?;
    }
    Ok(target)
}

async fn find(
    servers: &dyn ServerSet,
    context: &OpContext,
    request: &Request,
) -> Result<Target, Unresolved> {
    match servers.resolve(&context.caller, &request.endpoint, &request.item) {
        Resolve::Ready(target) => target,
        Resolve::Wait(target) => target.await,
    }
}

fn is_call_tool(target: &Target) -> bool {
    target.origin == Origin::Builtin
        && target.server.as_str() == "hub"
        && &*target.item == "call_tool"
}

/// Puts the inner call in the place of the outer; whether there is one.
fn unwrap(request: &mut Request) -> bool {
    let Some(outer) = request.params.get("arguments").and_then(Raw::to_object) else {
        return false;
    };
    let Some(name) = outer.get("name").filter(|name| name.to_str().is_some()) else {
        return false;
    };
    let inner = match outer.get("arguments") {
        None => None,
        Some(raw) if raw.to_object().is_some() => Some(raw.clone()),
        Some(_) => return false,
    };
    request.item = Item::Tool(name.to_str().unwrap_or_default().into());
    request.params.set("name", name.clone());
    match inner {
        Some(arguments) => request.params.set("arguments", arguments),
        None => drop(request.params.remove("arguments")),
    }
    true
}
