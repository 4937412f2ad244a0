//! `filterMapping` of a server's entry: one mode for all its tools, or one for each.

use legation_wire::json::{Object, Raw};

use crate::hosts::Hosts;
use crate::result::Filter;

/// Which filter the results of a server pass, by tool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FilterMapping {
    /// For what no tool's own entry covers.
    default: Filter,
    tools: Vec<(Box<str>, Filter)>,
}

/// A mapping that makes no sense. The server's results then pass the strictest filter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "filterMapping{at} is {found}, and no filter; the markdown filter without any host is used"
)]
pub struct BadMapping {
    /// JSON pointer below `filterMapping`.
    pub at: String,
    /// What stands there.
    pub found: String,
}

// === impl BadMapping ===

impl BadMapping {
    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        r#"write "none", "hidden_characters", "markdown" or {"mode": "markdown", "allowedHosts": [...]}, for the server or by tool"#
    }
}

// === impl FilterMapping ===

impl FilterMapping {
    /// The strictest there is, for an entry that could not be read.
    #[must_use]
    pub fn strictest() -> Self {
        Self {
            default: Filter::Markdown(Hosts::default()),
            tools: Vec::new(),
        }
    }

    /// Reads `"MODE"`, `{"mode": "MODE", "allowedHosts": [...]}`, or an object of these by tool,
    /// in which `*` stands for all others.
    ///
    /// # Errors
    /// The first thing in it that is none of them.
    pub fn read(raw: &Raw) -> Result<Self, BadMapping> {
        let tools = match raw.to_object() {
            Some(object) if !object.contains("mode") => object,
            _ => {
                return Ok(Self {
                    default: filter(raw, "")?,
                    tools: Vec::new(),
                });
            }
        };
        let mut mapping = Self::default();
        for (tool, raw) in tools.iter() {
            let filter = filter(raw, tool)?;
            if tool == "*" {
                mapping.default = filter;
            } else {
                mapping.tools.push((tool.into(), filter));
            }
        }
        Ok(mapping)
    }

    /// The filter of a tool, or of any other item of the server's.
    #[must_use]
    pub fn of(&self, tool: &str) -> &Filter {
        let found = self.tools.iter().find(|(name, _)| **name == *tool);
        found.map_or(&self.default, |(_, filter)| filter)
    }
}

fn filter(raw: &Raw, at: &str) -> Result<Filter, BadMapping> {
    let bad = || BadMapping {
        at: if at.is_empty() {
            String::new()
        } else {
            format!("/{at}")
        },
        found: raw
            .as_text()
            .chars()
            .take(60)
            .flat_map(char::escape_default)
            .collect(),
    };
    let object = raw.to_object().unwrap_or_default();
    let mode = raw
        .to_str()
        .or_else(|| object.get("mode")?.to_str())
        .ok_or_else(bad)?;
    match &*mode {
        "none" => Ok(Filter::None),
        "hidden_characters" => Ok(Filter::HiddenCharacters),
        "markdown" => hosts(&object).map(Filter::Markdown).ok_or_else(bad),
        _ => Err(bad()),
    }
}

fn hosts(object: &Object) -> Option<Hosts> {
    let Some(list) = object.get("allowedHosts") else {
        return Some(Hosts::default());
    };
    let names: Option<Vec<String>> = list
        .to_array()?
        .iter()
        .map(|name| Some(name.to_str()?.into_owned()))
        .collect();
    names.map(Hosts::new)
}
