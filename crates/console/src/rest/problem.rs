//! What a request is told that brought nothing, and every status there is for it.

use http::StatusCode;
use http::header::{self, HeaderValue};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::web::Answer;
use crate::{AdminFault, FaultKind, StopReason, ToolStop};

/// Why a request brought nothing.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(super) struct Problem {
    #[serde(skip)]
    status: StatusCode,
    /// What happened, and what was not done.
    error: String,
    /// What to do next.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    /// The rule that refused it.
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<String>,
    /// A refusal as programs read it: `blocked`, `reason_code`, `blocked_action`,
    /// `next_safe_step`, and `status` and `approval_id` of a call that waits for a person.
    #[serde(flatten)]
    more: Box<Map<String, Value>>,
    /// Whether something was asked to do it and may have done some of it.
    #[serde(skip)]
    is_begun: bool,
}

// === impl Problem ===

impl Problem {
    pub(super) fn new(status: StatusCode, error: impl Into<String>) -> Self {
        Self {
            status,
            error: error.into(),
            hint: None,
            rule: None,
            more: Box::default(),
            is_begun: false,
        }
    }

    /// The request is not what is taken here.
    pub(super) fn invalid(what: &str) -> Self {
        Self::new(StatusCode::BAD_REQUEST, format!("{what}; nothing was done"))
    }

    pub(super) fn with_hint(mut self, hint: &str) -> Self {
        self.hint = Some(hint.to_owned());
        self
    }

    /// Why the administration did not do something.
    pub(super) fn of_fault(fault: AdminFault) -> Self {
        let status = match fault.kind {
            FaultKind::Waits => StatusCode::ACCEPTED,
            FaultKind::NoMethod | FaultKind::NotFound => StatusCode::NOT_FOUND,
            FaultKind::Invalid => StatusCode::BAD_REQUEST,
            FaultKind::Conflict => StatusCode::CONFLICT,
            FaultKind::Refused => StatusCode::FORBIDDEN,
            FaultKind::TooMany => StatusCode::TOO_MANY_REQUESTS,
            FaultKind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            FaultKind::Failed => StatusCode::INTERNAL_SERVER_ERROR,
        };
        let problem = Self {
            hint: fault.hint,
            rule: fault.rule,
            ..Self::new(status, fault.message)
        };
        problem.with_refusal(fault.data.map(|data| *data))
    }

    /// With a refusal's own members; its hint and rule are the problem's.
    fn with_refusal(mut self, data: Option<Value>) -> Self {
        if let Some(Value::Object(data)) = data {
            *self.more = data;
        }
        for own in ["error", "hint", "rule"] {
            if let Some(Value::String(text)) = self.more.remove(own) {
                match own {
                    "hint" => self.hint = Some(text),
                    "rule" => self.rule = Some(text),
                    _ => {}
                }
            }
        }
        self
    }

    /// Why a call brought nothing.
    pub(super) fn of_stop(stop: ToolStop) -> Self {
        let status = match stop.reason {
            StopReason::Waits => StatusCode::ACCEPTED,
            StopReason::Refused | StopReason::Withheld => StatusCode::FORBIDDEN,
            StopReason::Unknown => StatusCode::NOT_FOUND,
            StopReason::Invalid => StatusCode::BAD_REQUEST,
            StopReason::TooMany => StatusCode::TOO_MANY_REQUESTS,
            StopReason::Unanswerable => StatusCode::CONFLICT,
            StopReason::Unreachable => StatusCode::SERVICE_UNAVAILABLE,
            StopReason::TimedOut => StatusCode::GATEWAY_TIMEOUT,
            // No 503: its idempotency key must not be free for a second call.
            StopReason::Server | StopReason::Lost => StatusCode::BAD_GATEWAY,
            StopReason::Failed => StatusCode::INTERNAL_SERVER_ERROR,
        };
        let mut problem = Self::new(status, stop.message);
        problem.is_begun = stop.reason == StopReason::Withheld;
        problem.hint = stop.hint;
        problem.with_refusal(stop.data)
    }

    /// What a tool says of itself that failed. Accounts say which class of failure it is;
    /// whatever else a tool says is about how things stand.
    pub(super) fn of_tool(text: &str, structured: Option<Value>) -> Self {
        let class = structured
            .as_ref()
            .and_then(|value| value.get("error")?.as_str());
        let status = match class {
            Some("ItemNotFound" | "ChatNotFound") => StatusCode::NOT_FOUND,
            Some("RateLimitError") => StatusCode::TOO_MANY_REQUESTS,
            Some("ConnectionError") => StatusCode::BAD_GATEWAY,
            _ => StatusCode::CONFLICT,
        };
        let mut problem = Self::new(status, text);
        // It was called, and says of nothing how far it came.
        problem.is_begun = true;
        if let Some(Value::Object(mut said)) = structured {
            said.remove("error")
                .and_then(|class| problem.more.insert("class".to_owned(), class));
            if let Some(Value::String(hint)) = said.remove("hint") {
                problem.hint = Some(hint);
            }
            said.remove("rule");
            problem.more.extend(said);
        }
        problem
    }

    /// Whether the same request may be made again under the same idempotency key: nothing was done
    /// by this one. Of a conflict that is not known: a tool that wants something of its client, or
    /// a letter that was moved and not noted, is one too.
    pub(super) fn is_undone(&self) -> bool {
        let status = self.status.as_u16();
        !self.is_begun
            && matches!(
                status,
                202 | 400 | 401 | 403 | 404 | 405 | 413 | 415 | 429 | 503
            )
    }

    pub(super) fn answer(&self) -> Answer {
        let answer = Answer::json(self.status, self);
        if self.status == StatusCode::UNAUTHORIZED {
            let realm = HeaderValue::from_static(r#"Bearer realm="legation""#);
            return answer.with(header::WWW_AUTHENTICATE, realm);
        }
        answer
    }
}
