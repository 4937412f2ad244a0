//! Multi-round-trip requests: results that ask for input, and the retry that brings it
//! (2026-07-28, MRTR).

use super::ShapeError;
use crate::json::{Object, Raw};

/// A result that asks for input.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InputRequired {
    /// What is asked, by the server's keys, in order.
    pub requests: Vec<(Box<str>, InputRequest)>,
    /// To be sent back as it is.
    pub request_state: Option<Box<str>>,
    /// Other members, `_meta` included.
    pub rest: Object,
}

/// One thing asked for: what would be a server's request in a legacy revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputRequest {
    /// `elicitation/create`, `sampling/createMessage` or `roots/list`.
    pub method: Box<str>,
    /// Parameters.
    pub params: Option<Raw>,
}

/// The answers in a retry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InputAnswers {
    /// Results by the server's keys.
    pub responses: Object,
    /// State from the result that asked.
    pub request_state: Option<Box<str>>,
}

/// Whether requests of this method may be answered with `input_required`.
pub(crate) fn has_rounds(method: &str) -> bool {
    matches!(method, "tools/call" | "resources/read" | "prompts/get")
}

// === impl InputRequired ===

impl InputRequired {
    /// Reads a result whose type is `input_required`.
    ///
    /// # Errors
    /// It asks for nothing and has no state, or asks for something that is no request.
    pub fn parse(result: &Raw) -> Result<Self, ShapeError> {
        let fault = |problem| ShapeError {
            what: "InputRequiredResult",
            problem,
        };
        let mut rest = result.to_object().ok_or_else(|| fault("not an object"))?;
        rest.remove("resultType");
        let requests = match rest.remove("inputRequests") {
            Some(map) => parse_requests(&map)?,
            None => Vec::new(),
        };
        let request_state = match rest.remove("requestState") {
            Some(state) => Some(
                state
                    .to_str()
                    .ok_or_else(|| fault("requestState is not a string"))?
                    .into(),
            ),
            None => None,
        };
        if requests.is_empty() && request_state.is_none() {
            return Err(fault("neither inputRequests nor requestState"));
        }
        Ok(Self {
            requests,
            request_state,
            rest,
        })
    }

    /// The result as sent to a modern client.
    pub fn to_raw(&self) -> Raw {
        let mut object = Object::new();
        object.set("resultType", Raw::from_static(r#""input_required""#));
        if !self.requests.is_empty() {
            object.set("inputRequests", requests_to_raw(&self.requests));
        }
        if let Some(state) = &self.request_state {
            object.set("requestState", Raw::str(state));
        }
        object.merge(&self.rest);
        object.to_raw()
    }
}

// === impl InputRequest ===

impl InputRequest {
    fn to_raw(&self) -> Raw {
        let mut object = Object::new();
        object.set("method", Raw::str(&self.method));
        if let Some(params) = &self.params {
            object.set("params", params.clone());
        }
        object.to_raw()
    }
}

/// Reads a map of requests, as results and tasks carry it.
pub(super) fn parse_requests(map: &Raw) -> Result<Vec<(Box<str>, InputRequest)>, ShapeError> {
    let fault = |problem| ShapeError {
        what: "inputRequests",
        problem,
    };
    let map = map.to_object().ok_or_else(|| fault("not an object"))?;
    let requests = map.iter().map(|(key, request)| {
        let request = request
            .to_object()
            .ok_or_else(|| fault("a request is not an object"))?;
        let method = request
            .get("method")
            .and_then(Raw::to_str)
            .ok_or_else(|| fault("a request has no method"))?;
        if !matches!(
            method.as_ref(),
            "elicitation/create" | "sampling/createMessage" | "roots/list"
        ) {
            return Err(fault("a request's method is none that a client answers"));
        }
        let params = request.get("params").cloned();
        if params
            .as_ref()
            .is_some_and(|params| params.to_object().is_none())
        {
            return Err(fault("a request's params are not an object"));
        }
        Ok((
            key.into(),
            InputRequest {
                method: method.into(),
                params,
            },
        ))
    });
    requests.collect()
}

/// Writes a map of requests.
pub(super) fn requests_to_raw(requests: &[(Box<str>, InputRequest)]) -> Raw {
    requests
        .iter()
        .map(|(key, request)| (key, request.to_raw()))
        .collect::<Object>()
        .to_raw()
}

/// Takes a retry's answers out of its parameters; `None` if the request is no retry.
///
/// # Errors
/// The members are there and not of their kinds.
pub fn take_input_answers(params: &mut Object) -> Result<Option<InputAnswers>, ShapeError> {
    let fault = |problem| ShapeError {
        what: "retry",
        problem,
    };
    let (responses, state) = (
        params.remove("inputResponses"),
        params.remove("requestState"),
    );
    if responses.is_none() && state.is_none() {
        return Ok(None);
    }
    let responses = match responses {
        Some(map) => map
            .to_object()
            .ok_or_else(|| fault("inputResponses is not an object"))?,
        None => Object::new(),
    };
    let request_state = match state {
        Some(state) => Some(
            state
                .to_str()
                .ok_or_else(|| fault("requestState is not a string"))?
                .into(),
        ),
        None => None,
    };
    Ok(Some(InputAnswers {
        responses,
        request_state,
    }))
}

/// Makes a request's parameters those of a retry. State that was not given is not sent.
pub fn put_input_answers(params: &mut Object, answers: &InputAnswers) {
    if !answers.responses.is_empty() {
        params.set("inputResponses", answers.responses.to_raw());
    }
    match &answers.request_state {
        Some(state) => params.set("requestState", Raw::str(state)),
        None => drop(params.remove("requestState")),
    }
}
