//! The end of a call in the shape the client's era has for it. Results pass as
//! the server sent them, but for the members that belong to an era.

use std::sync::Arc;

use legation_gate::{Outcome, Refusal};
use legation_wire::codes;
use legation_wire::json::{Object, Raw};
use legation_wire::message::ErrorObject;
use legation_wire::translate::{self, CacheHint, Task};

use super::{Inquiry, errors};
use crate::method::Method;
use crate::parking::Body;
use crate::session::Session;

/// For a client of the handshake era.
pub(super) fn legacy(
    inquiry: &Inquiry,
    session: &Arc<Session>,
    end: Result<Outcome, Refusal>,
) -> Body {
    match end {
        Ok(Outcome::Complete(result)) => Ok(translate::strip_result_for_legacy(
            &inquiry.request.method,
            &result,
        )),
        Ok(Outcome::Task(task)) => {
            let task = Task::parse(&task.to_raw()).map_err(|error| broken(&error.to_string()))?;
            session.task_noted(&task.task_id);
            Ok(task.to_legacy_created())
        }
        Ok(Outcome::InputRequired(_)) => {
            Err(broken("it asked for input in a way this client has not"))
        }
        Ok(Outcome::Error(error)) => Err(errors::upstream(inquiry, error)),
        Ok(Outcome::Failed(failure)) => Err(errors::failed(inquiry, &failure)),
        Err(refusal) => refused(inquiry, &refusal),
    }
}

/// For a client without a handshake; input required is the caller's to seal.
pub(super) fn modern(inquiry: &Inquiry, end: Result<Outcome, Refusal>) -> Body {
    match end {
        Ok(Outcome::Complete(result)) => Ok(translate::complete_result_for_modern(
            &inquiry.request.method,
            &result,
            CacheHint::NONE,
            None,
        )),
        Ok(Outcome::Task(task)) => {
            let mut result = Object::new().with("resultType", Raw::from_static(r#""task""#));
            result.merge(&task);
            Ok(result.to_raw())
        }
        Ok(Outcome::InputRequired(_)) => Err(broken("it asked for input where none can be given")),
        Ok(Outcome::Error(error)) => Err(errors::upstream(inquiry, error)),
        Ok(Outcome::Failed(failure)) => Err(errors::failed(inquiry, &failure)),
        Err(refusal) => refused(inquiry, &refusal).map(|result| {
            let method = &inquiry.request.method;
            translate::complete_result_for_modern(method, &result, CacheHint::NONE, None)
        }),
    }
}

/// A refused tool is the model's business: it gets a result it can act on. All
/// else is the client's, and an error.
fn refused(inquiry: &Inquiry, refusal: &Refusal) -> Body {
    let error = errors::refused_item(inquiry, refusal);
    match refusal.to_tool_result() {
        Some(result) if inquiry.method == Method::CallTool => Ok(result),
        _ => Err(error),
    }
}

/// A server's answer that makes no sense.
pub(super) fn broken(what: &str) -> ErrorObject {
    ErrorObject::new(
        codes::BAD_UPSTREAM,
        &format!("the server's answer is none: {what}"),
    )
}
