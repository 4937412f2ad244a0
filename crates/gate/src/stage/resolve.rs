//! Second stage: what the client named, in the pinned definition.
//!
//! It stands before the decision because rules speak of servers and of the
//! servers' own names, which only the catalogue knows.

use legation_core::OpContext;
use legation_policy::Target;

use crate::{Endpoint, Item, Resolve, ServerSet, Unresolved};

/// Finds the target; waits only for a server that has never been connected.
pub(crate) async fn resolve(
    servers: &dyn ServerSet,
    context: &OpContext,
    endpoint: &Endpoint,
    item: &Item,
) -> Result<Target, Unresolved> {
    match servers.resolve(&context.caller, endpoint, item) {
        Resolve::Ready(target) => target,
        Resolve::Wait(target) => target.await,
    }
}
