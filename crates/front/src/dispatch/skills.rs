//! The skills extension (SEP-2640), as far as it differs from resources.

use legation_wire::message::ErrorObject;

use super::{Inquiry, method_not_found, refused};
use crate::method::Method;

/// Whether some server of the endpoint has what a method of the extension is for. Elsewhere the
/// method does not exist, for clients ask only where the extension is declared.
pub(super) fn check_offered(inquiry: &Inquiry) -> Result<(), ErrorObject> {
    let gate = &inquiry.shared.gate;
    let described = gate.describe(&inquiry.context, &inquiry.endpoint);
    let capabilities = described.map_err(|refusal| refused(&refusal))?.capabilities;
    let offered = match inquiry.method {
        Method::ReadDirectory => capabilities.skill_directories,
        _ => capabilities.skills,
    };
    match offered {
        true => Ok(()),
        false => Err(method_not_found(&inquiry.request.method)),
    }
}
