//! What a request brings: parameters of its path and query, and the members of its body,
//! put together to one object and checked against the schema that the document shows.

use bytes::Bytes;
use jsonschema::Validator;
use serde_json::{Map, Value};

use super::problem::Problem;

/// Most parameters of a query.
const QUERY_MAX: usize = 100;
/// Most faults of a request that are told.
const TOLD_MAX: usize = 5;

/// What a route takes.
#[derive(Debug)]
pub(super) struct Shape {
    /// JSON Schema of an object, whole.
    schema: Value,
    validator: Validator,
}

// === impl Shape ===

impl Shape {
    /// What a schema of an object says; nothing beside its members is taken. `None` where
    /// it is no schema.
    pub(super) fn new(mut schema: Value) -> Option<Self> {
        let members = schema.as_object_mut()?;
        members.remove("$schema");
        members.remove("title");
        members.entry("type").or_insert_with(|| "object".into());
        members.insert("additionalProperties".to_owned(), false.into());
        let validator = jsonschema::validator_for(&schema).ok()?;
        Some(Self { schema, validator })
    }

    /// JSON Schema of the whole object.
    pub(super) fn schema(&self) -> &Value {
        &self.schema
    }

    /// Its members.
    pub(super) fn members(&self) -> impl Iterator<Item = (&String, &Value)> {
        let members = self.schema.get("properties").and_then(Value::as_object);
        members.into_iter().flatten()
    }

    /// Puts a request together, and checks it.
    pub(super) fn read(
        &self,
        path: &[(&'static str, String)],
        query: Option<&str>,
        body: &Bytes,
        in_query: bool,
    ) -> Result<Map<String, Value>, Problem> {
        let mut object = if in_query {
            no_body(body)?;
            self.query(query)?
        } else {
            if query.is_some_and(|query| !query.is_empty()) {
                return Err(Problem::invalid("this path takes no query"));
            }
            read_body(body)?
        };
        for (name, value) in path {
            let text = Value::String(value.clone());
            if object.insert((*name).to_owned(), text).is_some() {
                let message = format!("`{name}` stands in the path and nowhere else");
                return Err(Problem::invalid(&message));
            }
        }
        let object = Value::Object(object);
        let faults: Vec<String> = self
            .validator
            .iter_errors(&object)
            .take(TOLD_MAX)
            .map(|fault| {
                let place = fault.instance_path().to_string();
                let what = fault.masked();
                match place.strip_prefix('/') {
                    Some(place) => format!("{place}: {what}"),
                    None => what.to_string(),
                }
            })
            .collect();
        match object {
            Value::Object(object) if faults.is_empty() => Ok(object),
            _ => Err(Problem::invalid(&faults.join("; "))),
        }
    }

    /// The parameters of a query, each as the type that its member has.
    fn query(&self, query: Option<&str>) -> Result<Map<String, Value>, Problem> {
        let mut object = Map::new();
        let pairs = query
            .unwrap_or_default()
            .split('&')
            .filter(|pair| !pair.is_empty());
        for (count, pair) in pairs.enumerate() {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (name, value) = decoded(name, true)
                .zip(decoded(value, true))
                .filter(|_| count < QUERY_MAX)
                .ok_or_else(|| Problem::invalid("the query cannot be read"))?;
            let member = self.members().find(|(known, _)| **known == name);
            let Some((_, schema)) = member else {
                // What a page would be told with its name is a caller's own text.
                return Err(Problem::invalid(
                    "there is a parameter in the query that is not known",
                ));
            };
            if is_of(schema, "array") {
                let items = schema.get("items").unwrap_or(&Value::Null);
                let list = object
                    .entry(name)
                    .or_insert_with(|| Value::Array(Vec::new()));
                if let Value::Array(list) = list {
                    list.push(typed(items, value));
                }
            } else if object.insert(name, typed(schema, value)).is_some() {
                return Err(Problem::invalid("a parameter stands twice in the query"));
            }
        }
        Ok(object)
    }
}

/// A text as the type that a schema names.
fn typed(schema: &Value, text: String) -> Value {
    let whole = || {
        text.parse::<i64>()
            .map(Value::from)
            .or_else(|_| text.parse::<u64>().map(Value::from))
    };
    if is_of(schema, "integer")
        && let Ok(number) = whole()
    {
        return number;
    }
    if is_of(schema, "number")
        && let Ok(number) = text.parse::<f64>()
        && number.is_finite()
    {
        return number.into();
    }
    match text.as_str() {
        "true" if is_of(schema, "boolean") => true.into(),
        "false" if is_of(schema, "boolean") => false.into(),
        _ => text.into(),
    }
}

/// Whether a schema allows this type.
pub(super) fn is_of(schema: &Value, kind: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(only)) => only == kind,
        Some(Value::Array(several)) => several.iter().any(|one| one == kind),
        _ => false,
    }
}

fn no_body(body: &Bytes) -> Result<(), Problem> {
    if body.is_empty() {
        Ok(())
    } else {
        Err(Problem::invalid("this request takes no body"))
    }
}

/// The object that a body is; none is an empty one.
pub(super) fn read_body(body: &Bytes) -> Result<Map<String, Value>, Problem> {
    if body.is_empty() {
        return Ok(Map::new());
    }
    match serde_json::from_slice(body) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(Problem::invalid("the body is no JSON object")),
        Err(error) => {
            let message = format!(
                "the body is no JSON (line {}, column {})",
                error.line(),
                error.column()
            );
            Err(Problem::invalid(&message))
        }
    }
}

/// Undoes percent encoding (RFC 3986, section 2.1), and in a query what forms make of
/// spaces.
pub(super) fn decoded(text: &str, is_form: bool) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        match byte {
            b'+' if is_form => bytes.push(b' '),
            b'%' => {
                let (digits, tail) = tail.split_at_checked(2)?;
                let digits = std::str::from_utf8(digits).ok()?;
                let digits = Some(digits).filter(|digits| !digits.starts_with('+'))?;
                bytes.push(u8::from_str_radix(digits, 16).ok()?);
                rest = tail;
            }
            _ => bytes.push(byte),
        }
    }
    String::from_utf8(bytes).ok()
}
