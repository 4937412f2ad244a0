//! What every route takes, put together when it is first asked for.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use legation_api::Request as _;
use legation_api::mcp;
use serde::Deserialize;
use serde_json::{Value, json};

use super::input::Shape;
use super::route::{Act, Admin, Pages, Route};
use super::{DESK, ask, pages};
use crate::Hub;

/// See the module.
#[derive(Debug)]
pub(super) struct Shapes {
    admins: HashMap<&'static str, OnceLock<Option<Shape>>>,
    /// What takes nothing.
    pub(super) nothing: Shape,
    /// What a listener says.
    pub(super) events: Shape,
    /// A tool of the hub's own never changes while it runs; one that is not there yet may
    /// come.
    tools: Mutex<Arc<BTreeMap<String, Known>>>,
}

/// A tool, as the catalogue has it.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) input: Shape,
    pub(super) description: String,
    /// JSON Schema of its structured content, if it says.
    pub(super) output: Option<Value>,
}

/// What is read of a definition.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Definition {
    #[serde(default)]
    description: String,
    input_schema: Value,
    #[serde(default)]
    output_schema: Option<Value>,
}

// === impl Shapes ===

impl Shapes {
    pub(super) fn new(routes: &[Route]) -> Self {
        let admins = routes.iter().filter_map(|route| match &route.act {
            Act::Admin(admin) => Some((admin.method, OnceLock::new())),
            _ => None,
        });
        let fixed = |schema| Shape::new(schema);
        let nothing = || fixed(json!({ "type": "object", "properties": {} }));
        let events = fixed(json!({ "type": "object", "properties": {
            "since": {
                "type": "string",
                "maxLength": 200,
                "description": "The id of the event after which to begin; a `Last-Event-ID` header says the same.",
            },
        } }));
        Self {
            admins: admins.collect(),
            nothing: nothing().expect("a schema"),
            events: events.or_else(nothing).expect("a schema"),
            tools: Mutex::default(),
        }
    }

    /// What a method of the administration takes over HTTP.
    pub(super) fn of_admin(&self, admin: &Admin) -> Option<&Shape> {
        let shape = self.admins.get(admin.method)?;
        shape.get_or_init(|| Shape::new(over_http(admin))).as_ref()
    }

    /// The tools of the desk.
    pub(super) async fn tools(&self, hub: &Arc<dyn Hub>) -> Arc<BTreeMap<String, Known>> {
        let known = Arc::clone(&self.tools.lock().unwrap_or_else(PoisonError::into_inner));
        if !known.is_empty() {
            return known;
        }
        let asked = ask(hub, mcp::Tools::METHOD, &json!({ "server": DESK })).await;
        let tools: Option<mcp::ToolsAnswer> = asked
            .ok()
            .and_then(|answer| serde_json::from_str(answer.get()).ok());
        let tools = tools.map(|answer| answer.tools).unwrap_or_default();
        let known = tools.into_iter().filter_map(|tool| {
            let definition: Definition = serde_json::from_str(tool.definition.get()).ok()?;
            let known = Known {
                input: Shape::new(definition.input_schema)?,
                description: definition.description,
                output: definition.output_schema,
            };
            Some((tool.tool, known))
        });
        let known = Arc::new(known.collect());
        *self.tools.lock().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&known);
        known
    }
}

/// The schema of a request as it is over HTTP: with pages instead of what the method knows
/// of them, and with numbers that are bounded.
fn over_http(admin: &Admin) -> Value {
    let mut schema = (admin.request)();
    let Some(object) = schema.as_object_mut() else {
        return schema;
    };
    let mut optional: Vec<&str> = admin.numbers.iter().map(|number| number.member).collect();
    let members = object.entry("properties").or_insert_with(|| json!({}));
    if let Some(members) = members.as_object_mut() {
        for number in admin.numbers {
            if let Some(Value::Object(member)) = members.get_mut(number.member) {
                member.insert("type".to_owned(), "integer".into());
                member.insert("minimum".to_owned(), number.least.into());
                member.insert("maximum".to_owned(), number.most.into());
                member.insert("default".to_owned(), number.default.into());
            }
        }
        if let Some(pages) = admin.pages {
            if let Pages::Before { .. } = pages {
                members.shift_remove("before");
                optional.push("limit");
            }
            members.insert("limit".to_owned(), json!({
                "type": "integer", "minimum": 1, "maximum": pages::LIMIT_MAX, "default": pages::LIMIT,
                "description": "At most so many.",
            }));
            members.insert(
                "cursor".to_owned(),
                json!({
                    "type": "string", "minLength": 1, "maxLength": pages::CURSOR_MAX,
                    "description": "The `next_cursor` of the page before.",
                }),
            );
        }
    }
    if let Some(Value::Array(required)) = object.get_mut("required") {
        required.retain(|name| !optional.iter().any(|one| name == one));
    }
    schema
}
