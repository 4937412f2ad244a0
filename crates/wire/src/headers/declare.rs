//! `x-mcp-header`: which parameters of a tool are mirrored into headers
//! (2026-07-28, Streamable HTTP, "Custom Headers from Tool Parameters").

use std::collections::HashSet;

use http::header::HeaderName;

use super::PARAM_PREFIX;
use crate::json::{Kind, Object, Raw};

const KEYWORD: &str = "x-mcp-header";

/// The mirrored parameters of one tool, read once from its `inputSchema`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ParamHeaders(Vec<ParamHeader>);

/// One mirrored parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ParamHeader {
    pub(super) header: HeaderName,
    /// Property names from the arguments' root.
    path: Vec<Box<str>>,
}

/// A tool whose declaration is not legal; a client must leave the tool out of its list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("x-mcp-header at {place:?}: {fault}")]
pub struct BadDeclaration {
    /// Where in the schema, as property names and keywords joined by slashes.
    pub place: Box<str>,
    /// What is wrong there.
    pub fault: DeclarationFault,
}

/// The closed list of faults in a declaration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DeclarationFault {
    /// Not a string, empty, or not a token of RFC 9110.
    #[error("not a header name")]
    Name,
    /// Another parameter has the same name, but for case.
    #[error("the name is used twice")]
    Repeated,
    /// The parameter is not a string, an integer or a boolean.
    #[error("only strings, integers and booleans can be mirrored")]
    Type,
    /// Not reachable through `properties` alone.
    #[error("not reachable from the root through properties alone")]
    Place,
}

// === impl BadDeclaration ===

impl BadDeclaration {
    /// What the tool's author can do about it.
    pub fn hint(&self) -> &'static str {
        match self.fault {
            DeclarationFault::Name => "use letters, digits and hyphens",
            DeclarationFault::Repeated => "give every mirrored parameter a name of its own",
            DeclarationFault::Type => "declare the parameter's type as string, integer or boolean",
            DeclarationFault::Place => {
                "annotate a property of the root schema or of a nested object"
            }
        }
    }
}

/// What a part of the schema is, while walking it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// The root, or a property reached through `properties` alone.
    Chain,
    /// Any other subschema.
    Elsewhere,
}

// === impl ParamHeaders ===

impl ParamHeaders {
    /// Reads and checks the declarations in a tool's `inputSchema`.
    ///
    /// # Errors
    /// The first declaration that is not legal.
    pub fn from_schema(schema: &Raw) -> Result<Self, BadDeclaration> {
        let text = schema.as_bytes();
        // Nearly no schema has any. A backslash may hide the keyword behind an escape.
        if memchr::memmem::find(text, KEYWORD.as_bytes()).is_none()
            && memchr::memchr(b'\\', text).is_none()
        {
            return Ok(Self::default());
        }
        let mut declared = Self::default();
        let mut names = HashSet::new();
        // A stack of our own: a schema may be as deep as the limits allow.
        let mut todo = vec![(schema.clone(), Place::Chain, Vec::new())];
        while let Some((value, place, path)) = todo.pop() {
            if let Some(items) = value.to_array() {
                todo.extend(
                    items
                        .into_iter()
                        .map(|item| (item, Place::Elsewhere, path.clone())),
                );
                continue;
            }
            let Some(subschema) = value.to_object() else {
                continue;
            };
            if let Some(name) = subschema.get(KEYWORD) {
                let header =
                    check(name, &subschema, place, &path, &mut names).map_err(|fault| {
                        BadDeclaration {
                            place: path.join("/").into(),
                            fault,
                        }
                    })?;
                declared.0.push(ParamHeader {
                    header,
                    path: path.clone(),
                });
            }
            // Reversed, so that the stack yields them in the order they were written.
            let mut parts = parts(&subschema, place, &path);
            parts.reverse();
            todo.append(&mut parts);
        }
        Ok(declared)
    }

    /// Whether nothing is mirrored.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &ParamHeader> {
        self.0.iter()
    }
}

/// Checks one declaration; the header's full name.
fn check(
    name: &Raw,
    subschema: &Object,
    place: Place,
    path: &[Box<str>],
    names: &mut HashSet<HeaderName>,
) -> Result<HeaderName, DeclarationFault> {
    if place == Place::Elsewhere || path.is_empty() {
        return Err(DeclarationFault::Place);
    }
    let name = name
        .to_str()
        .filter(|name| !name.is_empty())
        .ok_or(DeclarationFault::Name)?;
    // The header crate's check of names is that of RFC 9110: one or more token characters.
    let header = HeaderName::from_bytes(format!("{PARAM_PREFIX}{name}").as_bytes())
        .map_err(|_| DeclarationFault::Name)?;
    let kind = subschema.get("type").and_then(Raw::to_str);
    if !matches!(kind.as_deref(), Some("string" | "integer" | "boolean")) {
        return Err(DeclarationFault::Type);
    }
    if !names.insert(header.clone()) {
        return Err(DeclarationFault::Repeated);
    }
    Ok(header)
}

/// The subschemas of a schema, and what they are.
fn parts(subschema: &Object, place: Place, path: &[Box<str>]) -> Vec<(Raw, Place, Vec<Box<str>>)> {
    let mut parts = Vec::new();
    for (keyword, value) in subschema.iter() {
        let named = match keyword {
            // Data, not schemas.
            "default" | "const" | "enum" | "examples" => continue,
            "properties" => Some(place),
            "$defs" | "definitions" | "dependentSchemas" | "patternProperties" => {
                Some(Place::Elsewhere)
            }
            _ => None,
        };
        match (named, value.to_object()) {
            (Some(place), Some(map)) => {
                for (name, value) in map.iter() {
                    let mut path = path.to_vec();
                    path.push(name.into());
                    parts.push((value.clone(), place, path));
                }
            }
            _ if matches!(value.kind(), Kind::Object | Kind::Array) => {
                let mut path = path.to_vec();
                path.push(keyword.into());
                parts.push((value.clone(), Place::Elsewhere, path));
            }
            _ => {}
        }
    }
    parts
}

// === impl ParamHeader ===

impl ParamHeader {
    /// The parameter's value in the parameters of a `tools/call`.
    pub(super) fn extract(&self, params: &Object) -> Option<Raw> {
        let arguments = params.get("arguments")?.clone();
        self.path
            .iter()
            .try_fold(arguments, |value, name| value.get(name))
    }
}
