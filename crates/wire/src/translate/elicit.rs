//! Elicitation: forms since 2025-06-18, URLs since 2025-11-25, and ids of URL elicitations in
//! that revision only.

use super::ShapeError;
use super::input::InputRequest;
use crate::codes;
use crate::json::{Object, Raw};
use crate::message::ErrorObject;
use crate::revision::Revision;

/// How a person is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ElicitMode {
    /// By a form in the client.
    Form,
    /// By a page to open.
    Url,
}

/// A URL that a legacy server wants opened before it will do the call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UrlElicitation {
    /// The server's id of it.
    pub elicitation_id: Box<str>,
    /// The request that asks for it in the modern era.
    pub request: InputRequest,
}

/// The mode of an `elicitation/create`; a form unless it says otherwise.
pub fn elicit_mode(params: Option<&Raw>) -> ElicitMode {
    let mode = params.and_then(|params| params.get("mode"));
    if mode.as_ref().and_then(Raw::to_str).as_deref() == Some("url") {
        ElicitMode::Url
    } else {
        ElicitMode::Form
    }
}

/// Makes a modern server's elicitation fit a legacy client. `elicitation_id` is given to URL
/// elicitations, whose modern form has none.
///
/// # Errors
/// The client's revision has no such elicitation.
pub fn elicit_for_legacy(
    params: Option<&Raw>,
    revision: Revision,
    elicitation_id: &str,
) -> Result<Option<Raw>, ShapeError> {
    let mode = elicit_mode(params);
    let needed = match mode {
        ElicitMode::Form => Revision::V2025_06_18,
        ElicitMode::Url => Revision::V2025_11_25,
    };
    if revision < needed {
        return Err(ShapeError {
            what: "elicitation",
            problem: "the client's revision does not have it",
        });
    }
    let Some(mut object) = params.and_then(Raw::to_object) else {
        return Ok(None);
    };
    match mode {
        ElicitMode::Form if revision < Revision::V2025_11_25 => drop(object.remove("mode")),
        ElicitMode::Url if !object.contains("elicitationId") => {
            object.set("elicitationId", Raw::str(elicitation_id));
        }
        ElicitMode::Form | ElicitMode::Url => {}
    }
    Ok(Some(object.to_raw()))
}

/// Makes a legacy server's elicitation fit a modern client; also the server's id if it had
/// one, under which it may later say that the elicitation is complete.
pub fn elicit_for_modern(params: Option<&Raw>) -> (Option<Raw>, Option<Box<str>>) {
    let Some(mut object) = params.and_then(Raw::to_object) else {
        return (None, None);
    };
    // Parts of a task-augmented or related exchange that the modern era does not have.
    object.remove("task");
    let id = object
        .remove("elicitationId")
        .and_then(|id| id.to_str().map(Into::into));
    (Some(object.to_raw()), id)
}

/// The elicitations that a legacy server's `-32042` asks for; `None` for any other error, or
/// when it names none.
pub fn url_elicitations(error: &ErrorObject) -> Option<Vec<UrlElicitation>> {
    if error.code != codes::URL_ELICITATION_REQUIRED {
        return None;
    }
    let items = error.data.as_ref()?.get("elicitations")?.to_array()?;
    let elicitations = items.iter().map(|item| {
        let mut params: Object = item.to_object()?;
        let elicitation_id = params.remove("elicitationId")?.to_str()?.into();
        params.get("url")?.to_str()?;
        params.set("mode", Raw::from_static(r#""url""#));
        let request = InputRequest {
            method: "elicitation/create".into(),
            params: Some(params.to_raw()),
        };
        Some(UrlElicitation {
            elicitation_id,
            request,
        })
    });
    elicitations
        .collect::<Option<Vec<_>>>()
        .filter(|elicitations| !elicitations.is_empty())
}
