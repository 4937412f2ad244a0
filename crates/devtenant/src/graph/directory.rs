//! Applications, service principals and consent.

use super::{Call, Outcome, route};

/// Everything under `/applications`, `/servicePrincipals` and `/oauth2PermissionGrants`.
pub(super) fn route(call: Call<'_>, parts: &[&str]) -> Outcome {
    Err(route::unknown(&call, parts))
}
