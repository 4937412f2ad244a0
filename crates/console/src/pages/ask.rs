//! What pages ask of the hub, typed.

use futures_util::StreamExt as _;
use legation_api::Request;
use maud::{Markup, html};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

use super::html::answer;
use crate::hub::{
    AdminFault, AdminItem, FaultKind, Hub, Road, StopReason, ToolAnswer, ToolCall, ToolStop,
};
use crate::login::Notice;

/// Something that could not be had or done, for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
    pub(crate) rule: Option<String>,
    /// The approval that the same thing waits for.
    pub(crate) approval: Option<String>,
}

/// What the administration answers.
///
/// # Errors
/// When the hub refuses or fails.
pub(crate) async fn ask<R: Request>(hub: &dyn Hub, request: &R) -> Result<R::Answer, Failure> {
    let params = to_raw_value(request).map_err(|error| Failure::of(&error.to_string()))?;
    let mut items = hub.admin(Road::Console, R::METHOD, params);
    while let Some(item) = items.next().await {
        if let AdminItem::Done(done) = item {
            return read(&done?);
        }
    }
    Err(Failure::of("the hub is stopping; nothing was done"))
}

/// What a tool answers, as the owner in person.
///
/// # Errors
/// When it was refused, has to be agreed to first, or failed.
pub(crate) async fn call(
    hub: &dyn Hub,
    server: &str,
    tool: &str,
    arguments: Map<String, Value>,
) -> Result<Value, Failure> {
    let arguments =
        to_raw_value(&Value::Object(arguments)).map_err(|error| Failure::of(&error.to_string()))?;
    let called = hub.call(ToolCall {
        server: server.into(),
        tool: tool.into(),
        arguments,
        road: Road::Console,
    });
    match called.await {
        ToolAnswer::Done {
            structured,
            text,
            is_error: false,
            ..
        } => Ok(structured.unwrap_or(Value::String(text))),
        ToolAnswer::Done { text, .. } => Err(Failure::of(&text)),
        ToolAnswer::Stopped(stop) => Err(stop.into()),
    }
}

/// What a refusal says that a call waits under.
fn approval(refusal: Option<&Value>) -> Option<String> {
    let id = refusal?.get("approval_id")?.as_str()?;
    Some(id.to_owned())
}

fn read<A: serde::de::DeserializeOwned>(answer: &RawValue) -> Result<A, Failure> {
    serde_json::from_str(answer.get())
        .map_err(|error| Failure::of(&format!("the hub's answer cannot be read: {error}")))
}

// === impl Failure ===

impl Failure {
    pub(crate) fn of(message: &str) -> Self {
        Self {
            message: message.to_owned(),
            hint: None,
            rule: None,
            approval: None,
        }
    }

    /// In the place of what could not be had.
    pub(crate) fn shown(&self) -> Markup {
        html! {
            div.notice.bad {
                p { (self.message) }
                @if let Some(rule) = &self.rule { p.quiet { "Rule: " code { (rule) } } }
                @if let Some(hint) = &self.hint { p.quiet { (hint) } }
                @if let Some(id) = &self.approval { (answer(id)) }
            }
        }
    }

    /// On the page that follows a form.
    pub(crate) fn notice(self) -> Notice {
        let hint = match (&self.approval, &self.hint) {
            (Some(_), _) => Some("Answer it there, then ask for the same again.".to_owned()),
            (None, hint) => hint.clone(),
        };
        let text = match self.rule {
            Some(rule) => format!("{} (rule {rule})", self.message),
            None => self.message,
        };
        Notice {
            hint,
            approval: self.approval,
            ..Notice::failed(text)
        }
    }
}

impl From<AdminFault> for Failure {
    fn from(fault: AdminFault) -> Self {
        let approval = approval(fault.data.as_deref()).filter(|_| fault.kind == FaultKind::Waits);
        Self {
            approval,
            message: fault.message,
            hint: fault.hint,
            rule: fault.rule,
        }
    }
}

impl From<ToolStop> for Failure {
    fn from(stop: ToolStop) -> Self {
        let rule = stop.data.as_ref().and_then(|data| data.get("rule"));
        let waits = stop.reason == StopReason::Waits;
        Self {
            rule: rule.and_then(Value::as_str).map(str::to_owned),
            approval: approval(stop.data.as_ref()).filter(|_| waits),
            message: stop.message,
            hint: stop.hint,
        }
    }
}
