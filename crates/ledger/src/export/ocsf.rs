//! OCSF 1.8: API Activity, class 6003 of category 6, with the profile
//! `security_control` for what was allowed and what was refused.

use serde_json::{Map, Value, json};

use crate::read::Entry;
use crate::record::Status;
use crate::stored::{Kind, Record};

const CLASS: u32 = 6003;
/// Activity ids of the class; there is none for running something.
const READ: u32 = 2;
const OTHER: u32 = 99;

pub(super) fn event(entry: &Entry, version: &str) -> Value {
    let metadata = json!({
        "version": "1.8.0",
        "profiles": ["security_control"],
        "product": {"name": "Legation", "vendor_name": "Legation", "version": version},
        "uid": format!("{}:{}", entry.entity, entry.seq),
        "sequence": entry.position,
        "log_name": "ledger",
    });
    let mut event = Map::new();
    let mut put = |name: &str, value: Value| {
        if !value.is_null() {
            event.insert(name.to_owned(), value);
        }
    };
    let Some(record) = entry.record() else {
        put("class_uid", json!(CLASS));
        put("category_uid", json!(6));
        put("type_uid", json!(CLASS * 100));
        put("activity_id", json!(0));
        put("severity_id", json!(5));
        put("time", json!(entry.at_ms));
        put("message", json!("a record of the ledger is damaged"));
        put("metadata", metadata);
        put("raw_data", json!(entry.text));
        return Value::Object(event);
    };
    let (activity, name) = activity(&record);
    let (severity, severity_name) = severity(&record);
    let (status, status_name) = status(&record);
    put("activity_id", json!(activity));
    put("activity_name", json!(name));
    put("category_uid", json!(6));
    put("category_name", json!("Application Activity"));
    put("class_uid", json!(CLASS));
    put("class_name", json!("API Activity"));
    put("type_uid", json!(CLASS * 100 + activity));
    put("type_name", json!(format!("API Activity: {name}")));
    put("time", json!(entry.at_ms));
    put("severity_id", json!(severity));
    put("severity", json!(severity_name));
    put("status_id", json!(status));
    put("status", json!(status_name));
    put("status_code", json!(record.reason_code));
    put("status_detail", json!(record.reason));
    put("message", json!(record.text));
    put("duration", json!(record.execution_time_ms));
    put("metadata", with_call(metadata, &record));
    put("actor", actor(&record));
    put(
        "src_endpoint",
        json!({"name": record.via.as_deref().unwrap_or("hub")}),
    );
    put("api", api(&record));
    put("resources", resources(&record));
    put(
        "policy",
        record
            .rule
            .as_ref()
            .map_or(Value::Null, |rule| json!({"uid": rule})),
    );
    let (action, disposition) = match record.kind {
        Kind::Refused => ((2, "Denied"), (2, "Blocked")),
        Kind::Intent | Kind::Outcome | Kind::Note => ((1, "Allowed"), (1, "Allowed")),
    };
    put("action_id", json!(action.0));
    put("action", json!(action.1));
    put("disposition_id", json!(disposition.0));
    put("disposition", json!(disposition.1));
    put("unmapped", unmapped(entry, &record));
    Value::Object(event)
}

/// The agent is the actor's user, where one acts under an identity of its own.
fn actor(record: &Record) -> Value {
    let mut actor = json!({"app_name": record.client.as_deref().unwrap_or("legation")});
    if let Some(agent) = &record.agent_id {
        actor["user"] = json!({"uid": agent, "type_id": 99, "type": "Agent"});
    }
    actor
}

fn activity(record: &Record) -> (u32, &'static str) {
    match record.verb.as_deref() {
        Some("read_resource" | "get_prompt" | "complete") => (READ, "Read"),
        _ => (OTHER, "Other"),
    }
}

fn severity(record: &Record) -> (u32, &'static str) {
    match (record.kind, record.status) {
        (Kind::Refused, _) | (_, Some(Status::Refused)) => (3, "Medium"),
        (_, Some(Status::Error | Status::Timeout | Status::Unknown)) => (2, "Low"),
        _ => (1, "Informational"),
    }
}

fn status(record: &Record) -> (u32, &'static str) {
    match (record.kind, record.status) {
        (Kind::Refused, _) => (2, "refused"),
        (Kind::Intent, _) => (99, "started"),
        (Kind::Note, _) => (1, "noted"),
        (Kind::Outcome, Some(status)) => {
            let id = match status {
                Status::Ok | Status::InputRequired | Status::Task => 1,
                Status::ToolError
                | Status::Error
                | Status::Cancelled
                | Status::Timeout
                | Status::Refused => 2,
                Status::Unknown => 0,
            };
            (id, status.as_str())
        }
        (Kind::Outcome, None) => (0, "unknown"),
    }
}

fn with_call(mut metadata: Value, record: &Record) -> Value {
    metadata["original_time"] = json!(record.at);
    if let Some(call) = &record.call {
        metadata["correlation_uid"] = json!(call);
    }
    if !record.labels.is_empty() {
        metadata["labels"] = json!(record.labels);
    }
    metadata
}

fn api(record: &Record) -> Value {
    let operation = record.verb.as_deref().or(record.topic.as_deref());
    let mut api = json!({"operation": operation.unwrap_or("note")});
    if let Some(server) = &record.server {
        api["service"] = json!({"name": server});
    }
    if let Some(call) = &record.call {
        api["request"] = json!({"uid": call});
    }
    if let Some(code) = record.code {
        api["response"] = json!({"code": code});
    }
    api
}

fn resources(record: &Record) -> Value {
    let kind = match record.verb.as_deref() {
        Some("call_tool") => "tool",
        Some("read_resource") => "resource",
        Some("get_prompt") => "prompt",
        Some("ask_model") => "model",
        _ => "item",
    };
    record
        .item
        .as_ref()
        .map_or(Value::Null, |item| json!([{"name": item, "type": kind}]))
}

fn unmapped(entry: &Entry, record: &Record) -> Value {
    let mut unmapped = json!({
        "entity": record.entity,
        "seq": record.seq,
        "hash": entry.hash,
        "kind": record.kind,
        "intent": record.intent,
        "definition": record.definition,
        "args": record.args,
        "result": record.result,
        "result_bytes": record.result_bytes,
        "rung": record.rung,
        "grant": record.grant,
        "approval": record.approval,
        "proposal": record.proposal,
        "provider_used": record.provider,
        "on_behalf_of": record.on_behalf_of,
        "attribution": record.attribution,
        "sponsor": record.sponsor,
    });
    if record.verb.as_deref() == Some("ask_model") {
        unmapped["job_id"] = json!(record.job_id);
        unmapped["source"] = json!(record.source);
        unmapped["conversation"] = json!(record.conversation);
        unmapped["input_tokens"] = json!(record.input_tokens);
        unmapped["output_tokens"] = json!(record.output_tokens);
        unmapped["cost_micro_usd"] = json!(record.cost_micro_usd);
    }
    unmapped
}
