//! `filterMapping` of a server's entry: one mode for all its tools, or one for each.

use legation_wire::json::{Object, Raw};

use crate::hosts::Hosts;
use crate::result::Filter;

/// Most bytes of a result that go out in one message where nothing else is said.
pub const RESULT_MAX: usize = 1 << 20;

/// Which filter the results of a server pass, and how large they may be, by tool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FilterMapping {
    /// For what no tool's own entry covers.
    default: Passage,
    tools: Vec<(Box<str>, Passage)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Passage {
    filter: Filter,
    limit: usize,
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
        r#"write "none", "hidden_characters", "markdown" or {"mode": "markdown", "allowedHosts": [...], "maxResultBytes": 1048576}, for the server or by tool"#
    }
}

// === impl FilterMapping ===

impl FilterMapping {
    /// The strictest there is, for an entry that could not be read.
    #[must_use]
    pub fn strictest() -> Self {
        Self {
            default: Passage {
                filter: Filter::Markdown(Hosts::default()),
                ..Passage::default()
            },
            tools: Vec::new(),
        }
    }

    /// Reads `"MODE"`, `{"mode": "MODE", "allowedHosts": [...], "maxResultBytes": N}`, or an
    /// object of these by tool, in which `*` stands for all others. A larger result than that
    /// is put aside in pages; 0 is no limit.
    ///
    /// # Errors
    /// The first thing in it that is none of them.
    pub fn read(raw: &Raw) -> Result<Self, BadMapping> {
        let tools = match raw.to_object() {
            Some(object) if !object.contains("mode") && !object.contains(LIMIT) => object,
            _ => {
                return Ok(Self {
                    default: passage(raw, "")?,
                    tools: Vec::new(),
                });
            }
        };
        let mut mapping = Self::default();
        for (tool, raw) in tools.iter() {
            let passage = passage(raw, tool)?;
            if tool == "*" {
                mapping.default = passage;
            } else {
                mapping.tools.push((tool.into(), passage));
            }
        }
        Ok(mapping)
    }

    /// The filter of a tool, or of any other item of the server's.
    #[must_use]
    pub fn of(&self, tool: &str) -> &Filter {
        &self.passage(tool).filter
    }

    /// Most bytes of a result of a tool that go out in one message.
    #[must_use]
    pub fn limit(&self, tool: &str) -> usize {
        self.passage(tool).limit
    }

    fn passage(&self, tool: &str) -> &Passage {
        let found = self.tools.iter().find(|(name, _)| **name == *tool);
        found.map_or(&self.default, |(_, passage)| passage)
    }
}

// === impl Passage ===

impl Default for Passage {
    fn default() -> Self {
        Self {
            filter: Filter::default(),
            limit: RESULT_MAX,
        }
    }
}

/// The member that bounds results.
const LIMIT: &str = "maxResultBytes";

fn passage(raw: &Raw, at: &str) -> Result<Passage, BadMapping> {
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
    let limit = match object.get(LIMIT) {
        None => RESULT_MAX,
        Some(limit) => match limit.to_i64().and_then(|limit| usize::try_from(limit).ok()) {
            Some(0) => usize::MAX,
            Some(limit) => limit,
            None => return Err(bad()),
        },
    };
    let mode = raw.to_str().or_else(|| object.get("mode")?.to_str());
    let filter = match mode.as_deref() {
        Some("none") => Filter::None,
        Some("hidden_characters") => Filter::HiddenCharacters,
        Some("markdown") => hosts(&object).map(Filter::Markdown).ok_or_else(bad)?,
        None if object.contains(LIMIT) && !object.contains("mode") => Filter::default(),
        _ => return Err(bad()),
    };
    Ok(Passage { filter, limit })
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
