//! Spans as OTLP has them in JSON (OpenTelemetry protocol, "JSON Protobuf Encoding"): ids in
//! hexadecimal, numbers of 64 bits as texts, kinds and codes as numbers.

use std::borrow::Cow;
use std::fmt::Write as _;

use legation_core::observe::{Ended, SpanKind, Value};
use serde_json::json;

/// `STATUS_CODE_ERROR`.
const ERROR: u8 = 2;
/// Most bytes of a name or of an attribute's text: a tool may be called anything, and spans wait in
/// memory.
const TEXT_MAX: usize = 256;

/// One request with these spans.
pub(crate) fn request(spans: &[Ended], version: &str) -> Vec<u8> {
    let spans: Vec<serde_json::Value> = spans.iter().map(span).collect();
    let request = json!({
        "resourceSpans": [{
            "resource": { "attributes": [
                attribute("service.name", &Value::from("legation")),
                attribute("service.version", &Value::from(version.to_owned())),
            ]},
            "scopeSpans": [{
                "scope": { "name": "legation", "version": version },
                "spans": spans,
            }],
        }],
    });
    request.to_string().into_bytes()
}

/// Cuts what is too long in a span.
pub(crate) fn shorten(span: &mut Ended) {
    cut(&mut span.name);
    for (_, value) in &mut span.attributes {
        if let Value::Text(text) = value {
            cut(text);
        }
    }
    if let Some(error) = &mut span.error {
        cut(error);
    }
}

fn cut(text: &mut Cow<'static, str>) {
    if text.len() > TEXT_MAX {
        let end = text.floor_char_boundary(TEXT_MAX);
        *text = Cow::Owned(text[..end].to_owned());
    }
}

fn span(span: &Ended) -> serde_json::Value {
    let mut attributes: Vec<serde_json::Value> = span
        .attributes
        .iter()
        .map(|(key, value)| attribute(key, value))
        .collect();
    let mut out = json!({
        "traceId": hex(span.trace, 32),
        "spanId": hex(u128::from(span.span), 16),
        "flags": 1,
        "name": span.name,
        "kind": match span.kind {
            SpanKind::Internal => 1,
            SpanKind::Server => 2,
            SpanKind::Client => 3,
        },
        "startTimeUnixNano": span.began_ns.to_string(),
        "endTimeUnixNano": span.ended_ns.to_string(),
    });
    if let Some(parent) = span.parent {
        out["parentSpanId"] = json!(hex(u128::from(parent), 16));
    }
    if let Some(error) = &span.error {
        attributes.push(attribute("error.type", &Value::Text(error.clone())));
        out["status"] = json!({ "code": ERROR });
    }
    out["attributes"] = json!(attributes);
    out
}

fn attribute(key: &str, value: &Value) -> serde_json::Value {
    let value = match value {
        Value::Text(text) => json!({ "stringValue": text }),
        Value::Number(number) => json!({ "intValue": number.to_string() }),
    };
    json!({ "key": key, "value": value })
}

fn hex(id: u128, digits: usize) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _: std::fmt::Result = write!(text, "{id:0digits$x}");
    text
}
