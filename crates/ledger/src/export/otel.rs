//! OpenTelemetry: a log record in the JSON form of OTLP 1, named by the
//! semantic conventions for generative AI and for MCP.

use serde_json::{Value, json};

use crate::read::Entry;
use crate::record::Status;
use crate::stored::{Kind, Record};

const INFO: (u32, &str) = (9, "INFO");
const WARN: (u32, &str) = (13, "WARN");

pub(super) fn request(entry: &Entry, version: &str) -> Value {
    let record = entry.record();
    let (number, text) = record.as_ref().map_or(WARN, severity);
    let mut attributes = Vec::new();
    if let Some(record) = &record {
        named(record, &mut attributes);
    }
    let mut own = |name: &str, value: Value| put(&mut attributes, name, value);
    own("legation.ledger.entity", json!(entry.entity));
    own("legation.ledger.seq", json!(entry.seq));
    own("legation.ledger.position", json!(entry.position));
    own("legation.ledger.hash", json!(entry.hash));
    let nanos = format!("{}000000", entry.at_ms.max(0));
    json!({"resourceLogs": [{
        "resource": {"attributes": [
            attribute("service.name", &json!("legation")),
            attribute("service.version", &json!(version)),
        ]},
        "scopeLogs": [{
            "scope": {"name": "legation.ledger"},
            "logRecords": [{
                "timeUnixNano": nanos,
                "observedTimeUnixNano": nanos,
                "severityNumber": number,
                "severityText": text,
                "eventName": event_name(record.as_ref()),
                "body": {"stringValue": entry.text},
                "attributes": attributes,
            }],
        }],
    }]})
}

fn event_name(record: Option<&Record>) -> &'static str {
    match record.map(|record| record.kind) {
        Some(Kind::Intent) => "legation.call.intent",
        Some(Kind::Outcome) => "legation.call.outcome",
        Some(Kind::Refused) => "legation.call.refused",
        Some(Kind::Note) => "legation.note",
        None => "legation.ledger.damaged",
    }
}

fn severity(record: &Record) -> (u32, &'static str) {
    match (record.kind, record.status) {
        (Kind::Refused, _) => WARN,
        (_, Some(Status::Ok | Status::InputRequired | Status::Task) | None) => INFO,
        (_, Some(_)) => WARN,
    }
}

fn named(record: &Record, attributes: &mut Vec<Value>) {
    let mut own = |name: &str, value: Value| put(attributes, name, value);
    let item = json!(record.item);
    match record.verb.as_deref() {
        Some("call_tool") => {
            own("mcp.method.name", json!("tools/call"));
            own("gen_ai.operation.name", json!("execute_tool"));
            own("gen_ai.tool.name", item);
        }
        Some("read_resource") => {
            own("mcp.method.name", json!("resources/read"));
            own("mcp.resource.uri", item);
        }
        Some("get_prompt") => {
            own("mcp.method.name", json!("prompts/get"));
            own("gen_ai.prompt.name", item);
        }
        Some("complete") => {
            own("mcp.method.name", json!("completion/complete"));
            own("legation.item", item);
        }
        Some("task_update") => {
            own("mcp.method.name", json!("tasks/update"));
            own("legation.item", item);
        }
        Some("task_cancel") => {
            own("mcp.method.name", json!("tasks/cancel"));
            own("legation.item", item);
        }
        Some("ask_model") => {
            own("gen_ai.operation.name", json!("chat"));
            own("gen_ai.request.model", item);
            own("gen_ai.usage.input_tokens", json!(record.input_tokens));
            own("gen_ai.usage.output_tokens", json!(record.output_tokens));
            own("gen_ai.conversation.id", json!(record.conversation));
            own("legation.job", json!(record.job_id));
            own("legation.cost_micro_usd", json!(record.cost_micro_usd));
        }
        Some(_) | None => own("legation.item", item),
    }
    let status = record
        .status
        .or((record.kind == Kind::Refused).then_some(Status::Refused));
    let error = match status {
        None | Some(Status::Ok | Status::InputRequired | Status::Task) => None,
        Some(status) => Some(status.as_str()),
    };
    own("error.type", json!(error));
    own(
        "rpc.response.status_code",
        json!(record.code.map(|code| code.to_string())),
    );
    own("gen_ai.provider.name", json!(record.provider));
    own("legation.call.id", json!(record.call));
    own("legation.client", json!(record.client));
    own("legation.via", json!(record.via));
    own("legation.server", json!(record.server));
    own("legation.rule", json!(record.rule));
    own("legation.rung", json!(record.rung));
    own("legation.grant", json!(record.grant));
    own("legation.approval", json!(record.approval));
    own("legation.proposal", json!(record.proposal));
    own("legation.on_behalf_of", json!(record.on_behalf_of));
    own("gen_ai.agent.id", json!(record.agent_id));
    own("legation.attribution", json!(record.attribution));
    own("legation.sponsor", json!(record.sponsor));
    own("legation.reason_code", json!(record.reason_code));
    own("legation.status", json!(record.status));
    own(
        "legation.execution_time_ms",
        json!(record.execution_time_ms),
    );
    own("legation.topic", json!(record.topic));
    if !record.labels.is_empty() {
        own("legation.labels", json!(record.labels));
    }
}

fn put(attributes: &mut Vec<Value>, name: &str, value: Value) {
    if !value.is_null() {
        attributes.push(attribute(name, &value));
    }
}

/// A key and a value of OTLP, which writes integers as strings.
fn attribute(name: &str, value: &Value) -> Value {
    json!({"key": name, "value": any(value)})
}

fn any(value: &Value) -> Value {
    match value {
        Value::Number(number) if number.is_i64() => json!({"intValue": number.to_string()}),
        Value::Number(number) => json!({"doubleValue": number}),
        Value::Bool(flag) => json!({"boolValue": flag}),
        Value::Array(values) => {
            json!({"arrayValue": {"values": values.iter().map(any).collect::<Vec<_>>()}})
        }
        Value::String(text) => json!({"stringValue": text}),
        Value::Null | Value::Object(_) => json!({"stringValue": value.to_string()}),
    }
}
