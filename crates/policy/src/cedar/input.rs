//! A tool's arguments as Cedar sees them: typed by the pinned `inputSchema`.

use cedar_policy::RestrictedExpression;
use serde_json::Value;

use super::quote;

/// How deep a schema is followed.
const DEPTH_MAX: usize = 6;

/// The type of an argument. What JSON Schema can say and Cedar cannot is left
/// out: a policy that names it does not validate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Text,
    Long,
    Bool,
    Decimal,
    Set(Box<Self>),
    Record(Vec<(String, Self)>),
}

// === impl Shape ===

impl Shape {
    /// The arguments of a tool with this `inputSchema`.
    pub(crate) fn of(schema: Option<&str>) -> Self {
        schema
            .and_then(|schema| serde_json::from_str::<Value>(schema).ok())
            .and_then(|schema| Self::read(&schema, DEPTH_MAX))
            .filter(|shape| matches!(shape, Self::Record(_)))
            .unwrap_or_else(|| Self::Record(Vec::new()))
    }

    fn read(schema: &Value, depth: usize) -> Option<Self> {
        let depth = depth.checked_sub(1)?;
        match type_of(schema)? {
            "string" => Some(Self::Text),
            "integer" => Some(Self::Long),
            "boolean" => Some(Self::Bool),
            "number" => Some(Self::Decimal),
            "array" => {
                let items = Self::read(schema.get("items")?, depth)?;
                Some(Self::Set(Box::new(items)))
            }
            "object" => {
                let members = schema.get("properties").and_then(Value::as_object);
                let members = members
                    .into_iter()
                    .flatten()
                    .filter_map(|(name, schema)| Some((name.clone(), Self::read(schema, depth)?)));
                Some(Self::Record(members.collect()))
            }
            _ => None,
        }
    }

    pub(super) fn cedar_type(&self) -> String {
        match self {
            Self::Text => "String".to_owned(),
            Self::Long => "Long".to_owned(),
            Self::Bool => "Bool".to_owned(),
            Self::Decimal => "decimal".to_owned(),
            Self::Set(items) => format!("Set<{}>", items.cedar_type()),
            Self::Record(members) => {
                let members: Vec<String> = members
                    .iter()
                    .map(|(name, shape)| format!("{}?: {}", quote(name), shape.cedar_type()))
                    .collect();
                format!("{{ {} }}", members.join(", "))
            }
        }
    }

    /// A value of this type; `None` for a member that is not there.
    ///
    /// # Errors
    /// The pointer of a value that has another type.
    pub(super) fn expression(&self, value: &Value) -> Result<Option<RestrictedExpression>, String> {
        let found = match (self, value) {
            (_, Value::Null) => return Ok(None),
            (Self::Text, Value::String(text)) => RestrictedExpression::new_string(text.clone()),
            (Self::Bool, Value::Bool(flag)) => RestrictedExpression::new_bool(*flag),
            (Self::Long, Value::Number(number)) => {
                RestrictedExpression::new_long(number.as_i64().ok_or_else(String::new)?)
            }
            (Self::Decimal, Value::Number(number)) => {
                let number = number.as_f64().ok_or_else(String::new)?;
                let text = format!("{number:.4}");
                // A number that Cedar would round could slip under a limit.
                if text.parse() != Ok(number) || number.abs() > 9e14 {
                    return Err(String::new());
                }
                RestrictedExpression::new_decimal(text)
            }
            (Self::Set(items), Value::Array(values)) => {
                let mut found = Vec::with_capacity(values.len());
                for (index, value) in values.iter().enumerate() {
                    let item = items.expression(value);
                    found.extend(item.map_err(|inner| format!("/{index}{inner}"))?);
                }
                RestrictedExpression::new_set(found)
            }
            (Self::Record(members), Value::Object(values)) => {
                let mut found = Vec::with_capacity(members.len());
                for (name, shape) in members {
                    let Some(value) = values.get(name) else {
                        continue;
                    };
                    let member = shape.expression(value);
                    if let Some(member) = member.map_err(|inner| format!("/{name}{inner}"))? {
                        found.push((name.clone(), member));
                    }
                }
                RestrictedExpression::new_record(found).map_err(|_| String::new())?
            }
            _ => return Err(String::new()),
        };
        Ok(Some(found))
    }
}

/// The one type a schema allows beside null.
fn type_of(schema: &Value) -> Option<&str> {
    match schema.get("type")? {
        Value::String(one) => Some(one),
        Value::Array(several) => {
            let mut types = several.iter().filter_map(Value::as_str);
            let one = types.by_ref().find(|name| *name != "null")?;
            types.all(|name| name == "null").then_some(one)
        }
        _ => None,
    }
}
