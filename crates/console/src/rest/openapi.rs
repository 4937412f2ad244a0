//! The OpenAPI document (OpenAPI Specification 3.1.1), made of the routes themselves.

use std::collections::BTreeMap;

use schemars::schema_for;
use serde_json::{Map, Value, json};

use super::input::Shape;
use super::once;
use super::problem::Problem;
use super::route::{Act, Admin, Route, Verb};
use super::shapes::{Known, Shapes};

/// Where schemas that have a name stand.
const PLACE: &str = "#/components/schemas/";

/// The document of these routes; of the desk's those whose tools there are.
pub(super) fn document(
    routes: &[Route],
    shapes: &Shapes,
    tools: &BTreeMap<String, Known>,
) -> Value {
    let mut schemas = Map::new();
    let problem = named(schema_for!(Problem).to_value(), "", &mut schemas);
    schemas.insert("Problem".to_owned(), problem);
    let mut paths: Map<String, Value> = Map::new();
    for route in routes {
        let Some(operation) = operation(route, shapes, tools, &mut schemas) else {
            continue;
        };
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.verb.as_str()] = operation;
    }
    json!({
        "openapi": "3.1.1",
        "info": {
            "title": "Legation's admin API",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "What the owner of a hub sees and does. Every tool is called through the gate, as the owner in person.",
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "servers": [{ "url": "/" }],
        "security": [{ "owner": [] }],
        "tags": tags(routes),
        "paths": paths,
        "components": {
            "securitySchemes": {
                "owner": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "The line of the file `token` in the hub's data directory.",
                },
            },
            "schemas": schemas,
        },
    })
}

fn tags(routes: &[Route]) -> Vec<Value> {
    let mut names: Vec<&str> = Vec::new();
    for route in routes {
        if !names.contains(&route.tag) {
            names.push(route.tag);
        }
    }
    names
        .into_iter()
        .map(|name| json!({ "name": name }))
        .collect()
}

fn operation(
    route: &Route,
    shapes: &Shapes,
    tools: &BTreeMap<String, Known>,
    schemas: &mut Map<String, Value>,
) -> Option<Value> {
    let mut operation = json!({
        "operationId": format!("{}.{}", route.tag, route.id.replace('-', "_")),
        "tags": [route.tag],
        "summary": route.summary,
    });
    let mut responses = problems(route);
    match &route.act {
        Act::Admin(admin) => {
            let group = admin.method.split('.').next().unwrap_or_default();
            takes(
                &mut operation,
                route,
                shapes.of_admin(admin)?,
                group,
                schemas,
            );
            let answer = answer(admin, group, schemas);
            responses["200"] = json_answer("What was asked for.", answer);
        }
        Act::Tool(tool) => {
            let known = tools.get(*tool)?;
            operation["description"] = known.description.clone().into();
            takes(&mut operation, route, &known.input, tool, schemas);
            let output = known
                .output
                .clone()
                .unwrap_or_else(|| json!({ "type": "object" }));
            responses["200"] = json_answer("What the tool answered.", named(output, tool, schemas));
        }
        Act::AnyTool => {
            parameters(&mut operation, route, None);
            operation["requestBody"] = body(
                json!({ "type": "object", "description": "The tool's arguments." }),
                false,
            );
            responses["200"] = json_answer(
                "The tool's result as MCP has it, which may say that the tool failed.",
                json!({
                    "type": "object",
                    "properties": {
                        "content": { "type": "array", "items": { "type": "object" } },
                        "structuredContent": {},
                        "isError": { "type": "boolean" },
                    },
                }),
            );
        }
        Act::Events => {
            takes(&mut operation, route, &shapes.events, "", schemas);
            responses["200"] = json!({
                "description": "Server-sent events, each with an id; `stream.gap` says that some are missing.",
                "content": { "text/event-stream": { "schema": { "type": "string" } } },
            });
        }
        Act::Document => {
            takes(&mut operation, route, &shapes.nothing, "", schemas);
            responses["200"] = json_answer("This document.", json!({ "type": "object" }));
        }
        Act::Rpc => {
            operation["requestBody"] = body(super::rpc::request_schema(), true);
            let response = super::rpc::response_schema();
            responses["400"] = json_answer(
                "It is no JSON-RPC request; nothing was done.",
                json!({
                    "anyOf": [response, { "$ref": format!("{PLACE}Problem") }],
                }),
            );
            responses["200"] = json_answer("A JSON-RPC response.", response);
        }
    }
    operation["responses"] = responses;
    Some(operation)
}

/// What the administration answers; where it comes in pages, with a place for the next.
fn answer(admin: &Admin, group: &str, schemas: &mut Map<String, Value>) -> Value {
    let mut answer = named((admin.answer)(), group, schemas);
    if admin.pages.is_some()
        && let Some(Value::Object(members)) = answer.get_mut("properties")
    {
        members.shift_remove("next");
        members.insert(
            "next_cursor".to_owned(),
            json!({
                "type": "string",
                "description": "Where the next page begins; absent on the last.",
            }),
        );
    }
    answer
}

/// What a request may bring: in its path, its query, its body.
fn takes(
    operation: &mut Value,
    route: &Route,
    shape: &Shape,
    group: &str,
    schemas: &mut Map<String, Value>,
) {
    let mut schema = named(shape.schema().clone(), group, schemas);
    parameters(operation, route, Some(&schema));
    if route.verb != Verb::Post {
        return;
    }
    let in_path: Vec<&str> = route.parameters().collect();
    let mut is_required = false;
    if let Some(object) = schema.as_object_mut() {
        if let Some(Value::Object(members)) = object.get_mut("properties") {
            members.retain(|name, _| !in_path.contains(&name.as_str()));
        }
        if let Some(Value::Array(required)) = object.get_mut("required") {
            required.retain(|name| !in_path.iter().any(|one| name == one));
            is_required = !required.is_empty();
        }
    }
    operation["requestBody"] = body(schema, is_required);
}

fn parameters(operation: &mut Value, route: &Route, schema: Option<&Value>) {
    let member = |name: &str| schema?.get("properties")?.get(name).cloned();
    let mut parameters = Vec::new();
    let in_path: Vec<&str> = route.parameters().collect();
    for name in &in_path {
        let schema = member(name).unwrap_or_else(|| json!({ "type": "string", "minLength": 1 }));
        parameters.push(parameter(name, "path", true, without_null(schema, true)));
    }
    if route.verb != Verb::Post
        && let Some(Value::Object(members)) = schema.and_then(|schema| schema.get("properties"))
    {
        let required = schema.and_then(|schema| schema.get("required")?.as_array());
        for (name, schema) in members {
            if in_path.contains(&name.as_str()) {
                continue;
            }
            let is_required = required.is_some_and(|all| all.iter().any(|one| one == name));
            parameters.push(parameter(
                name,
                "query",
                is_required,
                without_null(schema.clone(), false),
            ));
        }
    }
    if matches!(route.act, Act::Events) {
        let schema = json!({ "type": "string", "maxLength": 200 });
        let mut last = parameter("Last-Event-ID", "header", false, schema);
        last["description"] = "The id of the last event that was heard.".into();
        parameters.push(last);
    }
    if !route.verb.reads() {
        let schema = json!({ "type": "string", "pattern": "^[!-~]+$", "minLength": 1, "maxLength": once::KEY_MAX });
        let mut key = parameter("Idempotency-Key", "header", false, schema);
        key["description"] = "The same request with the same key is done once, for a day.".into();
        parameters.push(key);
    }
    if !parameters.is_empty() {
        operation["parameters"] = parameters.into();
    }
}

fn parameter(name: &str, place: &str, is_required: bool, mut schema: Value) -> Value {
    let description = schema
        .as_object_mut()
        .and_then(|schema| schema.shift_remove("description"));
    let mut parameter =
        json!({ "name": name, "in": place, "required": is_required, "schema": schema });
    if let Some(description) = description {
        parameter["description"] = description;
    }
    parameter
}

/// What stands in an address is never null, and in a path never empty.
fn without_null(mut schema: Value, in_path: bool) -> Value {
    if let Some(Value::Array(kinds)) = schema.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        if let [only] = &kinds[..] {
            schema["type"] = only.clone();
        }
    }
    if schema.get("default").is_some_and(Value::is_null)
        && let Some(object) = schema.as_object_mut()
    {
        object.shift_remove("default");
    }
    if in_path && schema.get("minLength").is_none() {
        schema["minLength"] = 1.into();
    }
    schema
}

fn body(schema: Value, is_required: bool) -> Value {
    json!({ "required": is_required, "content": { "application/json": { "schema": schema } } })
}

fn json_answer(description: &str, schema: Value) -> Value {
    json!({ "description": description, "content": { "application/json": { "schema": schema } } })
}

/// Every status that a request may end with that brought nothing.
fn problems(route: &Route) -> Value {
    let of_all = [
        (
            "400",
            "The request is not what is taken here; nothing was done.",
        ),
        ("401", "No token, or none that is good; nothing was done."),
        (
            "403",
            "A rule or a person refused it, or the token is not the owner's; nothing was done.",
        ),
        ("404", "What is named is not there; nothing was done."),
        (
            "409",
            "It cannot be done as things stand; nothing was done.",
        ),
        ("413", "The body is too long; nothing was done."),
        ("500", "The hub could not do it."),
        ("503", "What it needs cannot be reached; nothing was done."),
    ];
    let of_bodies = [("415", "The body is no JSON; nothing was done.")];
    let of_tools = [
        (
            "202",
            "A person has to agree first; `approval_id` is what it waits under. The same request finds the answer.",
        ),
        ("429", "Too many calls; nothing was done."),
        ("502", "The server broke off."),
        ("504", "The server did not answer in time."),
    ];
    let is_tool = match &route.act {
        Act::Tool(_) | Act::AnyTool => true,
        Act::Admin(admin) => admin.is_call,
        Act::Events | Act::Document | Act::Rpc => false,
    };
    let mut all: BTreeMap<&str, &str> = of_all.into();
    if !route.verb.reads() {
        all.extend(of_bodies);
    }
    if is_tool {
        all.extend(of_tools);
    }
    let schema = json!({ "$ref": format!("{PLACE}Problem") });
    let answers = all.into_iter().map(|(status, what)| {
        let mut answer = json_answer(what, schema.clone());
        if status == "401" {
            answer["headers"] =
                json!({ "WWW-Authenticate": { "required": true, "schema": { "type": "string" } } });
        }
        (status.to_owned(), answer)
    });
    Value::Object(answers.collect())
}

/// A schema whose definitions stand among the document's own, under names that say whose
/// they are.
fn named(mut schema: Value, group: &str, schemas: &mut Map<String, Value>) -> Value {
    let definitions = schema.as_object_mut().and_then(|schema| {
        schema.shift_remove("$schema");
        schema.shift_remove("$defs")
    });
    let mut prefix = group.to_owned();
    if let Some(first) = prefix.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    relocate(&mut schema, &prefix);
    if let Some(Value::Object(definitions)) = definitions {
        for (name, mut definition) in definitions {
            relocate(&mut definition, &prefix);
            schemas.insert(format!("{prefix}{name}"), definition);
        }
    }
    schema
}

fn relocate(schema: &mut Value, prefix: &str) {
    match schema {
        Value::Object(object) => {
            for (key, value) in object {
                if key == "$ref"
                    && let Some(name) = value
                        .as_str()
                        .and_then(|text| text.strip_prefix("#/$defs/"))
                {
                    *value = format!("{PLACE}{prefix}{name}").into();
                } else {
                    relocate(value, prefix);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| relocate(item, prefix)),
        _ => {}
    }
}
