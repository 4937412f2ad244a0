//! What one run may call, and what a model makes of it.
//!
//! The tools of the workspace come under their plain names, which small models know from their
//! training; everything else under its name in the catalogue. What does not fit beside the task is
//! left to be found (`find_tools`), because a prompt full of definitions leaves no room for work.

use std::collections::HashSet;
use std::fmt;
use std::sync::OnceLock;

use jsonschema::Validator;
use legation_models::Tool;
use serde_json::Value;

use super::entry::Called;

/// The server whose tools have plain names.
pub(crate) const WORKSPACE: &str = "workspace";
/// The server of the tools by which others are found and called.
const HUB: &str = "hub";
/// The server that hands tasks to this very engine: a task does not delegate.
const DELEGATE: &str = "delegate";
/// How many errors of arguments a model is told.
const ERRORS_MAX: usize = 4;
/// Longest description of a tool that is not the workspace's.
const DESCRIPTION_MAX: usize = 600;
/// How many names are offered instead of one that there is not.
const NEAR_MAX: usize = 5;

/// Words that other agents use for tools of the workspace.
const ALIASES: [(&str, &str); 16] = [
    ("read", "read_file"),
    ("open", "read_file"),
    ("cat", "read_file"),
    ("view", "read_file"),
    ("write", "write_file"),
    ("createfile", "write_file"),
    ("replace", "edit"),
    ("editfile", "edit"),
    ("strreplace", "edit"),
    ("multiedit", "edit"),
    ("shell", "bash"),
    ("run", "bash"),
    ("execute", "bash"),
    ("search", "grep"),
    ("listfiles", "glob"),
    ("ls", "glob"),
];

/// A tool of the catalogue, as the gate lists it.
#[derive(Debug, Clone)]
pub(crate) struct Offer {
    /// Its name in the catalogue, by which it is called.
    pub(crate) flat: Box<str>,
    /// Whose it is.
    pub(crate) server: Box<str>,
    /// Its plain name.
    pub(crate) item: Box<str>,
    /// What it is for.
    pub(crate) description: String,
    /// JSON Schema of its arguments.
    pub(crate) schema: Value,
    /// Whether it changes nothing, as far as its server is believed.
    pub(crate) reads: bool,
}

/// Which tools a run may have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ToolChoice {
    /// Names or patterns: `read_file`, `server/tool`, `server/*`, `*`; the workspace's tools and
    /// those to find others by when there are none.
    pub(crate) patterns: Option<Vec<String>>,
    /// Servers that its agent brought along, whose tools are wanted where nobody chose any.
    pub(crate) own: Vec<String>,
    /// How many bytes of definitions fit.
    pub(crate) budget_bytes: usize,
}

/// The tools of a run.
#[derive(Debug, Default)]
pub(crate) struct Toolset {
    tools: Vec<Callable>,
}

/// A tool of a run.
pub(crate) struct Callable {
    /// As the model knows it.
    pub(crate) name: Box<str>,
    pub(crate) offer: Offer,
    /// How much of a prompt it takes.
    bytes: usize,
    /// Made when it is first needed; `None` inside where the schema is none.
    validator: OnceLock<Option<Validator>>,
}

/// A call that can be made.
#[derive(Clone, PartialEq)]
pub(crate) struct PlannedCall {
    /// Its id within the task.
    pub(crate) id: String,
    /// The tool as the model knows it.
    pub(crate) name: String,
    /// Its name in the catalogue.
    pub(crate) flat: Box<str>,
    /// Whose it is.
    pub(crate) server: Box<str>,
    /// Its arguments, an object.
    pub(crate) arguments: Value,
    /// Whether it changes nothing, so that it may run beside others and run again.
    pub(crate) reads: bool,
}

/// Why a call is not made; what the model reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unfit(pub(crate) String);

// === impl Toolset ===

impl Toolset {
    /// Chooses among what there is.
    #[must_use]
    pub(crate) fn choose(offers: Vec<Offer>, choice: &ToolChoice) -> Self {
        let is_wanted = |offer: &Offer| match &choice.patterns {
            None => {
                let is_own = choice.own.iter().any(|own| **own == *offer.server);
                is_own || &*offer.server == WORKSPACE || is_finder(offer)
            }
            Some(patterns) => patterns.iter().any(|pattern| matches(pattern, offer)),
        };
        let mut offers: Vec<Offer> = offers
            .into_iter()
            .filter(|offer| &*offer.server != DELEGATE && is_wanted(offer))
            .collect();
        // The sort is stable: beyond this they stay as the catalogue has them.
        offers.sort_by_key(|offer| (&*offer.server != WORKSPACE, !is_finder(offer)));
        let mut names = HashSet::new();
        let mut room = choice.budget_bytes;
        let mut tools = Vec::new();
        for mut offer in offers {
            let name = match &*offer.server == WORKSPACE || is_finder(&offer) {
                true => offer.item.clone(),
                false => {
                    let most = offer.description.floor_char_boundary(DESCRIPTION_MAX);
                    offer.description.truncate(most);
                    offer.flat.clone()
                }
            };
            let tool = Callable {
                bytes: offer.description.len() + offer.schema.to_string().len() + name.len(),
                name,
                offer,
                validator: OnceLock::new(),
            };
            if tool.bytes > room || !names.insert(tool.name.clone()) {
                continue;
            }
            room -= tool.bytes;
            tools.push(tool);
        }
        Self { tools }
    }

    /// Without any.
    #[must_use]
    pub(crate) fn none() -> Self {
        Self::default()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// How much of a prompt they take, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.tools.iter().map(|tool| tool.bytes).sum()
    }

    /// As a model is told.
    pub(crate) fn told(&self) -> Vec<Tool> {
        let told = |tool: &Callable| Tool {
            name: tool.name.to_string(),
            description: tool.offer.description.clone(),
            parameters: tool.offer.schema.clone(),
        };
        self.tools.iter().map(told).collect()
    }

    /// Whether the name of one of them begins so.
    pub(crate) fn begins(&self, text: &str) -> bool {
        self.tools.iter().any(|tool| tool.name.starts_with(text))
    }

    /// Whether a name means one of them.
    pub(crate) fn knows(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// The tool that a name means, however the model spells it.
    fn find(&self, name: &str) -> Option<&Callable> {
        if let Some(tool) = self.tools.iter().find(|tool| &*tool.name == name) {
            return Some(tool);
        }
        // What stands before the last separator may be the server, or a word of the model's family.
        let last = name.rsplit([':', '.', '/']).next().unwrap_or(name);
        let spelt = [normal(name), normal(last)];
        let means = |tool: &&Callable| {
            let own = [
                normal(&tool.name),
                normal(&tool.offer.flat),
                normal(&format!("{}{}", tool.offer.server, tool.offer.item)),
            ];
            spelt
                .iter()
                .any(|word| !word.is_empty() && own.contains(word))
        };
        if let Some(tool) = self.tools.iter().find(means) {
            return Some(tool);
        }
        let (_, alias) = ALIASES.iter().find(|(word, _)| *word == spelt[1])?;
        self.tools.iter().find(|tool| &*tool.name == *alias)
    }

    /// Makes a call out of what a model wrote; `value` are its arguments as they were read.
    pub(crate) fn plan(&self, called: &Called, value: Value) -> Result<PlannedCall, Unfit> {
        let tool = self
            .find(&called.name)
            .ok_or_else(|| self.unknown(&called.name))?;
        if called.is_cut && value.is_object() {
            return Err(Unfit(format!(
                "The call of {} was cut off before its end, so it was not made. Write it again, \
                 shorter: a large file in several smaller edits.",
                tool.name
            )));
        }
        let arguments = tool.fitted(value)?;
        Ok(PlannedCall {
            id: called.id.clone(),
            name: tool.name.to_string(),
            flat: tool.offer.flat.clone(),
            server: tool.offer.server.clone(),
            arguments,
            reads: tool.offer.reads,
        })
    }

    fn unknown(&self, name: &str) -> Unfit {
        let shown: String = name.chars().filter(|c| !c.is_control()).take(64).collect();
        if self.tools.is_empty() {
            return Unfit(format!(
                "There is no tool {shown:?}: there are no tools for this task. Answer in words."
            ));
        }
        let plain = normal(name);
        let mut near: Vec<(usize, &str)> = self
            .tools
            .iter()
            .map(|tool| (distance(&normal(&tool.name), &plain), &*tool.name))
            .collect();
        near.sort_unstable();
        let near: Vec<&str> = near
            .into_iter()
            .take(NEAR_MAX)
            .map(|(_, name)| name)
            .collect();
        Unfit(format!(
            "There is no tool {shown:?}; nothing was called. Tools there are: {}.",
            near.join(", ")
        ))
    }
}

// === impl Callable ===

impl Callable {
    /// The arguments as the schema wants them, or what is wrong with them.
    fn fitted(&self, mut arguments: Value) -> Result<Value, Unfit> {
        self.retype(&mut arguments);
        if !arguments.is_object() {
            return Err(Unfit(format!(
                "The arguments of {} are no JSON object; it was not called.",
                self.name
            )));
        }
        let validator = self
            .validator
            .get_or_init(|| jsonschema::validator_for(&self.offer.schema).ok());
        let Some(validator) = validator else {
            // The server checks what it is called with; its schema says nothing that can be read.
            return Ok(arguments);
        };
        let errors: Vec<String> = validator
            .iter_errors(&arguments)
            .take(ERRORS_MAX)
            .map(|error| {
                let place = error.instance_path().to_string();
                let text: String = error.to_string().chars().take(200).collect();
                match place.is_empty() {
                    true => text,
                    false => format!("{place}: {text}"),
                }
            })
            .collect();
        if errors.is_empty() {
            return Ok(arguments);
        }
        let wants = self
            .offer
            .schema
            .get("properties")
            .and_then(Value::as_object);
        let wants: Vec<&str> = wants
            .map(|all| all.keys().map(String::as_str).collect())
            .unwrap_or_default();
        Err(Unfit(format!(
            "The arguments of {} do not fit, so it was not called: {}. Its arguments: {}.",
            self.name,
            errors.join("; "),
            wants.join(", ")
        )))
    }

    /// Numbers and truths that came as strings, where the schema wants nothing else.
    fn retype(&self, arguments: &mut Value) {
        let Some(object) = arguments.as_object_mut() else {
            return;
        };
        let properties = self.offer.schema.get("properties");
        for (name, value) in object.iter_mut() {
            let wanted = properties
                .and_then(|all| all.get(name)?.get("type")?.as_str())
                .unwrap_or_default();
            let Some(text) = value.as_str().map(str::trim) else {
                continue;
            };
            let parsed = match wanted {
                "integer" | "number" | "boolean" | "array" | "object" => {
                    serde_json::from_str::<Value>(&text.to_lowercase())
                        .or_else(|_| serde_json::from_str(text))
                }
                _ => continue,
            };
            // The text itself where it holds text: lower case would change it.
            let parsed = match wanted {
                "array" | "object" => serde_json::from_str(text),
                _ => parsed,
            };
            if let Ok(parsed) = parsed {
                *value = parsed;
            }
        }
    }
}

impl fmt::Debug for Callable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Callable")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

// === impl PlannedCall ===

impl fmt::Debug for PlannedCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Arguments are part of the conversation.
        f.debug_struct("PlannedCall")
            .field("id", &self.id)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

fn is_finder(offer: &Offer) -> bool {
    &*offer.server == HUB && matches!(&*offer.item, "find_tools" | "call_tool")
}

/// Whether a pattern of an agent's or a setting's means a tool.
fn matches(pattern: &str, offer: &Offer) -> bool {
    let pattern = pattern.trim();
    if pattern == "*" || *pattern == *offer.flat {
        return true;
    }
    if let Some((server, tool)) = pattern.split_once('/') {
        return (server == "*" || *server == *offer.server)
            && (tool == "*" || *tool == *offer.item);
    }
    if &*offer.server != WORKSPACE {
        return false;
    }
    let plain = normal(pattern);
    let alias = ALIASES.iter().find(|(word, _)| *word == plain);
    plain == normal(&offer.item) || alias.is_some_and(|(_, tool)| *tool == &*offer.item)
}

/// A name without what models add and mistake.
fn normal(name: &str) -> String {
    let name = name.strip_prefix("mcp__legation__").unwrap_or(name);
    let letters = name.chars().filter(|letter| letter.is_alphanumeric());
    letters.flat_map(char::to_lowercase).take(64).collect()
}

/// How many letters have to be changed to make one word of another.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.chars().enumerate() {
        let mut corner = row[0];
        row[0] = i + 1;
        for (j, b) in other.iter().enumerate() {
            let changed = corner + usize::from(a != *b);
            corner = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(corner + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests;
