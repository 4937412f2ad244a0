//! Third stage: whether it is too soon.
//!
//! It stands behind the resolution, because limits are per server and tool, and
//! before everything that costs: restoring, deciding, asking, recording a grant.

use legation_core::OpContext;
use legation_policy::Target;

use crate::rate::{Rates, TooMany};

/// Takes the call out of its buckets.
pub(crate) fn limit(rates: &Rates, context: &OpContext, target: &Target) -> Result<(), TooMany> {
    rates.call(
        &context.caller.principal.client,
        &target.server,
        &target.item,
    )
}
