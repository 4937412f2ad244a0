//! A tool call of the owner's in person.

use legation_config::clients::OWNER;
use legation_console::{Road, StopReason, ToolAnswer, ToolCall, ToolStop};
use legation_core::{Caller, Cancel, ClientId, OpContext, Principal, SeatId, ServerName, Via};
use legation_gate::{CallFailure, Outcome, Refusal, Unresolved};
use legation_wire::codes;
use legation_wire::json::{Limits, Raw};
use legation_wire::message::ErrorObject;

use super::raw_value;
use crate::serve::hub::Inner;
use crate::serve::mute;

pub(super) async fn call(hub: &Inner, call: ToolCall) -> ToolAnswer {
    let unknown = || ToolStop {
        reason: StopReason::Unknown,
        message: format!("there is no server {:?}; nothing was called", call.server),
        hint: Some("`legation mcp list` shows the servers".to_owned()),
        data: None,
    };
    let Ok(server) = ServerName::parse(&call.server) else {
        return ToolAnswer::Stopped(unknown());
    };
    let arguments = call.arguments.get().to_owned();
    let arguments = match Raw::parse(arguments.into(), &Limits::CLIENT) {
        Ok(arguments) => arguments,
        Err(error) => {
            return ToolAnswer::Stopped(ToolStop {
                reason: StopReason::Invalid,
                message: format!("the arguments are no JSON: {error}; nothing was called"),
                hint: None,
                data: None,
            });
        }
    };
    let request = mute::request(server, &call.tool, arguments, "here");
    let context = OpContext::new(owner(call.road), Cancel::new());
    match hub.gate.call(&context, request).await {
        Ok(outcome) => of_outcome(outcome),
        Err(refusal) => ToolAnswer::Stopped(of_refusal(&refusal)),
    }
}

fn owner(road: Road) -> Caller {
    Caller {
        principal: Principal {
            client: ClientId::new(OWNER),
            via: Via::Web,
        },
        seat: SeatId::new(road.seat()),
        workspace: None,
    }
}

fn of_outcome(outcome: Outcome) -> ToolAnswer {
    let stop = |reason, message: String, hint| {
        ToolAnswer::Stopped(ToolStop {
            reason,
            message,
            hint,
            data: None,
        })
    };
    match outcome {
        Outcome::Complete(result) => done(&result),
        Outcome::Error(error) => of_error(&error),
        Outcome::Failed(failure) => {
            let hint = Some(failure.hint());
            stop(of_failure(&failure), failure.to_string(), hint)
        }
        Outcome::InputRequired(_) | Outcome::Task(_) => stop(
            StopReason::Unanswerable,
            "the tool wants something of its client that cannot be given here".to_owned(),
            Some("call it from an agent".to_owned()),
        ),
    }
}

fn done(result: &Raw) -> ToolAnswer {
    let structured = result.get("structuredContent");
    ToolAnswer::Done {
        result: raw_value(result),
        structured: structured.and_then(|raw| raw.deserialize().ok()),
        text: mute::text(result),
        is_error: mute::is_error(result),
    }
}

fn of_error(error: &ErrorObject) -> ToolAnswer {
    let reason = match error.code {
        codes::INVALID_PARAMS => StopReason::Invalid,
        codes::METHOD_NOT_FOUND | codes::RESOURCE_NOT_FOUND => StopReason::Unknown,
        codes::REFUSED => StopReason::Refused,
        _ => StopReason::Server,
    };
    let data = error.data.as_ref();
    ToolAnswer::Stopped(ToolStop {
        reason,
        message: error.message.to_string(),
        hint: None,
        data: data.and_then(|raw| raw.deserialize().ok()),
    })
}

fn of_failure(failure: &CallFailure) -> StopReason {
    match failure {
        CallFailure::NotConnected { .. }
        | CallFailure::DefinitionChanged { .. }
        | CallFailure::NeedsAuth { .. }
        | CallFailure::Busy { .. } => StopReason::Unreachable,
        CallFailure::TimedOut { .. } => StopReason::TimedOut,
        CallFailure::Protocol { .. } => StopReason::Server,
        CallFailure::MissingCapability { .. } => StopReason::Unanswerable,
        CallFailure::Lost { .. } | CallFailure::Cancelled(_) => StopReason::Lost,
    }
}

fn of_refusal(refusal: &Refusal) -> ToolStop {
    let error = refusal.to_error();
    let data = error.data.as_ref();
    ToolStop {
        reason: reason(refusal),
        message: error.message.to_string(),
        hint: Some(refusal.hint()),
        data: data.and_then(|raw| raw.deserialize().ok()),
    }
}

fn reason(refusal: &Refusal) -> StopReason {
    match refusal {
        Refusal::Unresolved(unresolved) => match unresolved {
            Unresolved::Unknown { .. }
            | Unresolved::NoEndpoint { .. }
            | Unresolved::NoAccount { .. } => StopReason::Unknown,
            Unresolved::Ambiguous { .. } => StopReason::Invalid,
            Unresolved::Unavailable { .. } => StopReason::Unreachable,
        },
        Refusal::NotDelegated(_) => StopReason::Invalid,
        Refusal::TooMany(_) => StopReason::TooMany,
        Refusal::Unapproved(unapproved) if unapproved.waits_under().is_some() => StopReason::Waits,
        Refusal::Withheld(_) => StopReason::Withheld,
        Refusal::NotAuthentic(_)
        | Refusal::Unapproved(_)
        | Refusal::Denied(_)
        | Refusal::NotRedacted(_) => StopReason::Refused,
        Refusal::NoLabels(_) | Refusal::NotRecorded { .. } => StopReason::Failed,
    }
}
