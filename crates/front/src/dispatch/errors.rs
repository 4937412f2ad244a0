//! What a client is told when there is no result: one exhaustive match per
//! kind of failure.

use legation_gate::{CallFailure, Refusal, Unresolved};
use legation_wire::codes;
use legation_wire::json::{Object, Raw};
use legation_wire::message::ErrorObject;
use legation_wire::translate;

use super::Inquiry;
use crate::method::Method;
use crate::shared::count;
use crate::speaker::Speaker;

/// The answer to a method that does not exist for this client.
pub(crate) fn method_not_found(method: &str) -> ErrorObject {
    ErrorObject::new(
        codes::METHOD_NOT_FOUND,
        &format!("there is no method {method:?} in this revision"),
    )
}

/// A refusal of the gate's that is not about a resource.
pub(crate) fn refused(refusal: &Refusal) -> ErrorObject {
    refusal.to_error()
}

/// A refusal of the gate's in the shape of the client's era: a resource that
/// does not exist has a code of its own up to 2025-11-25, and its URI in `data`
/// always.
pub(super) fn refused_item(inquiry: &Inquiry, refusal: &Refusal) -> ErrorObject {
    count(&inquiry.shared.counters.mine().refusals);
    let mut error = refusal.to_error();
    let resource = matches!(
        inquiry.method,
        Method::ReadResource | Method::Subscribe | Method::Unsubscribe
    );
    if let Refusal::Unresolved(Unresolved::Unknown { name, .. }) = refusal
        && resource
    {
        let mut data = error
            .data
            .as_ref()
            .and_then(Raw::to_object)
            .unwrap_or_default();
        data.set("uri", Raw::str(name));
        error.data = Some(data.to_raw());
        if matches!(inquiry.speaker, Speaker::Legacy(_)) {
            error.code = codes::RESOURCE_NOT_FOUND;
        }
    }
    error
}

/// A server's own error in the shape of the client's era.
pub(super) fn upstream(inquiry: &Inquiry, error: ErrorObject) -> ErrorObject {
    match &inquiry.speaker {
        Speaker::Modern(_) => translate::error_for_modern(error),
        Speaker::Legacy(session) => {
            translate::error_for_legacy(&inquiry.request.method, session.revision(), error)
        }
    }
}

/// A call that brought no answer.
pub(super) fn failed(inquiry: &Inquiry, failure: &CallFailure) -> ErrorObject {
    count(&inquiry.shared.counters.mine().failures);
    let modern = matches!(inquiry.speaker, Speaker::Modern(_));
    let code = match failure {
        CallFailure::NotConnected { .. }
        | CallFailure::Lost { .. }
        | CallFailure::DefinitionChanged { .. }
        | CallFailure::NeedsAuth { .. } => codes::SERVER_UNAVAILABLE,
        CallFailure::TimedOut { .. } => codes::TIMED_OUT,
        CallFailure::Cancelled(legation_core::CancelReason::Shutdown) => codes::HUB_STOPPED,
        CallFailure::Cancelled(_) => codes::CANCELLED,
        CallFailure::Protocol { .. } => codes::BAD_UPSTREAM,
        CallFailure::MissingCapability { .. } if modern => codes::MISSING_CAPABILITY,
        // Up to 2025-11-25 there is no code for it.
        CallFailure::MissingCapability { .. } => codes::INVALID_REQUEST,
        CallFailure::Busy { .. } => codes::OVERLOADED,
    };
    let mut data = Object::new().with("hint", Raw::str(&failure.hint()));
    if let CallFailure::MissingCapability { needed, .. } = failure {
        data.set("requiredCapabilities", required(needed));
    }
    ErrorObject::new(code, &failure.to_string()).with_data(data.to_raw())
}

/// The capability tree of a name such as `sampling` or `elicitation.url`.
fn required(needed: &str) -> Raw {
    needed.rsplit('.').fold(Raw::empty_object(), |inner, name| {
        Object::new().with(name, inner).to_raw()
    })
}
