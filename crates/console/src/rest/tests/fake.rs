//! A hub made up here.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures_util::stream;
use futures_util::{FutureExt as _, StreamExt as _};
use http::Method;
use http::header::HeaderValue;
use legation_core::{ClientId, Principal, Via};
use serde_json::{Value, json};

use super::super::*;
use crate::web::Body;
use crate::{Claimed, Event, EventStream, FaultKind, Kept, StopReason, ToolStop};

/// Answers what it was told to, and remembers what it was asked.
#[derive(Debug, Default)]
pub(super) struct Fake {
    pub(super) asked: Mutex<Vec<(String, Value)>>,
    pub(super) called: Mutex<Vec<(String, Value)>>,
    pub(super) answers: Mutex<HashMap<String, Result<Value, FaultKind>>>,
    pub(super) stops: Mutex<Option<ToolStop>>,
    /// What tools say that fail.
    pub(super) fails: Mutex<Option<Value>>,
    claims: Mutex<HashMap<String, Claim>>,
}

/// The digest of a request, and its answer once there is one.
type Claim = ([u8; 32], Option<Kept>);

/// An answer read to its end.
#[derive(Debug)]
pub(super) struct Got {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) body: Value,
}

/// A tool of the desk with a bounded number and a list.
pub(super) fn desk_tools() -> Value {
    let tool = |name: &str, schema: Value| {
        json!({ "name": format!("desk-{name}"), "server": "desk", "tool": name, "definition": {
            "name": format!("desk-{name}"), "description": "What it does.", "inputSchema": schema,
            "outputSchema": { "type": "object", "properties": { "deal": { "$ref": "#/$defs/Deal" } },
                "$defs": { "Deal": { "type": "object" } } },
        } })
    };
    json!({ "tools": [
        tool("deals_list", json!({ "type": "object", "properties": {
            "limit": { "type": "integer", "minimum": 1, "maximum": 200 },
            "stage": { "type": "string", "enum": ["closing", "closed"] },
            "open": { "type": "boolean" },
            "tags": { "type": "array", "items": { "type": "string" } },
        } })),
        tool("deal_detail", json!({ "type": "object", "properties": {
            "deal_id": { "type": "string", "maxLength": 10 },
        }, "required": ["deal_id"] })),
        tool("mail_move", json!({ "type": "object", "properties": {
            "profile_id": { "type": "string" }, "message_id": { "type": "string" },
            "destination_folder": { "type": "string" },
        }, "required": ["profile_id", "message_id", "destination_folder"] })),
    ] })
}

impl Fake {
    pub(super) fn with(answers: &[(&str, Result<Value, FaultKind>)]) -> Arc<Self> {
        let fake = Self::default();
        let mut known = fake.answers.lock().expect("whole");
        known.insert("mcp.tools".to_owned(), Ok(desk_tools()));
        for (method, answer) in answers {
            known.insert((*method).to_owned(), answer.clone());
        }
        drop(known);
        Arc::new(fake)
    }

    pub(super) fn rest(self: &Arc<Self>) -> Rest {
        Rest::new(Arc::clone(self) as _)
    }

    /// What was asked last.
    pub(super) fn last(&self) -> (String, Value) {
        self.asked
            .lock()
            .expect("whole")
            .last()
            .cloned()
            .expect("something was asked")
    }
}

/// Sends a request of the owner's.
pub(super) async fn send(rest: &Rest, line: &str, headers: &[(&str, &str)], body: &str) -> Got {
    let request = request(line, headers, body);
    let answer = rest.handle(request).expect("a route").await;
    let body = match answer.body {
        Body::Whole(body) if body.is_empty() => Value::Null,
        Body::Whole(body) => serde_json::from_slice(&body).expect("JSON"),
        Body::Stream(stream) => {
            let chunks: Vec<Bytes> = stream.take(4).collect().await;
            String::from_utf8(chunks.concat()).expect("text").into()
        }
    };
    Got {
        status: answer.status.as_u16(),
        headers: answer.headers,
        body,
    }
}

pub(super) fn request(line: &str, headers: &[(&str, &str)], body: &str) -> Request {
    let (method, target) = line.split_once(' ').expect("a method");
    let (path, query) = match target.split_once('?') {
        Some((path, query)) => (path, Some(query.to_owned())),
        None => (target, None),
    };
    let mut map = HeaderMap::new();
    if !body.is_empty() {
        map.insert("content-type", HeaderValue::from_static("application/json"));
    }
    for (name, value) in headers {
        let name = http::HeaderName::from_bytes(name.as_bytes()).expect("a name");
        map.insert(name, HeaderValue::from_str(value).expect("a value"));
    }
    Request {
        method: Method::from_bytes(method.as_bytes()).expect("a method"),
        path: path.to_owned(),
        query,
        headers: map,
        body: Bytes::from(body.to_owned()),
        caller: Caller::Owner(Principal {
            client: ClientId::new("owner"),
            via: Via::Web,
        }),
    }
}

impl Hub for Fake {
    fn call(&self, call: ToolCall) -> BoxFuture<'static, ToolAnswer> {
        let arguments = serde_json::from_str(call.arguments.get()).expect("JSON");
        let name = format!("{}/{}", call.server, call.tool);
        self.called.lock().expect("whole").push((name, arguments));
        let stops = self.stops.lock().expect("whole").clone();
        let answer = match (stops, self.fails.lock().expect("whole").clone()) {
            (Some(stop), _) => ToolAnswer::Stopped(stop),
            (None, Some(said)) => ToolAnswer::Done {
                result: to_raw_value(&json!({ "content": [], "isError": true })).expect("JSON"),
                structured: Some(said),
                text: "it failed".to_owned(),
                is_error: true,
            },
            (None, None) => ToolAnswer::Done {
                result: to_raw_value(&json!({ "content": [] })).expect("JSON"),
                structured: Some(json!({ "deal": {} })),
                text: String::new(),
                is_error: false,
            },
        };
        std::future::ready(answer).boxed()
    }

    fn signed_in(&self) -> BoxFuture<'static, Result<(), AdminFault>> {
        std::future::ready(Ok(())).boxed()
    }

    fn admin(
        &self,
        road: Road,
        method: &str,
        params: Box<RawValue>,
    ) -> futures_util::stream::BoxStream<'static, AdminItem> {
        assert_eq!(road, Road::Api);
        let params = serde_json::from_str(params.get()).expect("JSON");
        self.asked
            .lock()
            .expect("whole")
            .push((method.to_owned(), params));
        let answer = self.answers.lock().expect("whole").get(method).cloned();
        let fault = |kind| AdminFault {
            code: -32603,
            kind,
            message: "it was not done".to_owned(),
            hint: Some("do it otherwise".to_owned()),
            rule: None,
            data: None,
        };
        let answer = answer.unwrap_or(Err(FaultKind::NoMethod));
        let done = match answer {
            Ok(answer) => Ok(to_raw_value(&answer).expect("JSON")),
            Err(kind) => Err(fault(kind)),
        };
        stream::iter([AdminItem::Done(done)]).boxed()
    }

    fn events(&self, since: Since) -> EventStream {
        let said = json!({ "since": format!("{since:?}") });
        let event = Arc::new(Event::new(Some("boot-7"), "tool.execution_start", &said));
        stream::iter([event])
            .chain(stream::pending())
            .take(1)
            .boxed()
    }

    fn claim(
        &self,
        key: &str,
        digest: [u8; 32],
    ) -> BoxFuture<'static, Result<Claimed, AdminFault>> {
        let mut claims = self.claims.lock().expect("whole");
        let claimed = match claims.get(key) {
            None => {
                claims.insert(key.to_owned(), (digest, None));
                Claimed::New
            }
            Some((of, _)) if *of != digest => Claimed::Other,
            Some((_, None)) => Claimed::Running,
            Some((_, Some(kept))) => Claimed::Answered(kept.clone()),
        };
        std::future::ready(Ok(claimed)).boxed()
    }

    fn settle(&self, key: &str, digest: [u8; 32], kept: Option<Kept>) -> BoxFuture<'static, ()> {
        let mut claims = self.claims.lock().expect("whole");
        match kept {
            Some(kept) => claims.insert(key.to_owned(), (digest, Some(kept))),
            None => claims.remove(key),
        };
        std::future::ready(()).boxed()
    }
}

/// A call that did not get far.
pub(super) fn stop(reason: StopReason) -> ToolStop {
    ToolStop {
        reason,
        message: "nothing was called".to_owned(),
        hint: Some("ask".to_owned()),
        data: Some(
            json!({ "blocked": true, "rule": "some.rule", "approval_id": "7K2Q", "hint": "ask" }),
        ),
    }
}
