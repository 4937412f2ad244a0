//! Names with `*` and `?` in governance files, checked when they are read.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error as _};

use crate::glob::{Glob, MAX_LEN};

/// `server/tool`, either with `*` and `?`, or `*` for everything.
#[derive(Clone, PartialEq, Eq)]
pub struct ToolPattern {
    text: Box<str>,
    glob: Glob,
}

/// One name, with `*` and `?`.
#[derive(Clone, PartialEq, Eq)]
pub struct NamePattern {
    text: Box<str>,
    glob: Glob,
}

// === impl ToolPattern ===

impl ToolPattern {
    /// Compiles `text`.
    ///
    /// # Errors
    /// What is wrong with it, as a sentence.
    pub fn parse(text: &str) -> Result<Self, String> {
        check(text)?;
        let is_pair = text
            .split_once('/')
            .is_some_and(|(server, tool)| !server.is_empty() && !tool.is_empty());
        if text != "*" && !is_pair {
            return Err(format!("{text:?} is not of the form server/tool"));
        }
        Ok(Self {
            text: text.into(),
            glob: Glob::compile(text),
        })
    }

    /// As written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether it matches a tool's `server/tool` name.
    pub fn matches(&self, name: &str) -> bool {
        self.glob.matches(name)
    }

    /// Whether it has no wildcard.
    pub fn is_literal(&self) -> bool {
        matches!(self.glob, Glob::Exact(_))
    }

    /// The part before the first slash; `*` for a pattern that is only that.
    pub fn server(&self) -> &str {
        self.text.split_once('/').map_or("*", |(server, _)| server)
    }
}

// === impl NamePattern ===

impl NamePattern {
    /// Compiles `text`.
    ///
    /// # Errors
    /// What is wrong with it, as a sentence.
    pub fn parse(text: &str) -> Result<Self, String> {
        check(text)?;
        Ok(Self {
            text: text.into(),
            glob: Glob::compile(text),
        })
    }

    /// As written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether it matches `name`.
    pub fn matches(&self, name: &str) -> bool {
        self.glob.matches(name)
    }

    /// Whether it has no wildcard.
    pub fn is_literal(&self) -> bool {
        matches!(self.glob, Glob::Exact(_))
    }

    /// How much of it is not wildcard: of two patterns that match, the one
    /// with more says more about the name. A literal beats every wildcard.
    pub fn weight(&self) -> usize {
        if self.is_literal() {
            return usize::MAX;
        }
        self.text
            .bytes()
            .filter(|byte| !matches!(byte, b'*' | b'?'))
            .count()
    }
}

fn check(text: &str) -> Result<(), String> {
    if text.is_empty() {
        return Err("a name is missing".to_owned());
    }
    if text.len() > MAX_LEN {
        return Err(format!("a name has more than {MAX_LEN} bytes"));
    }
    if text.trim() != text || text.chars().any(char::is_control) {
        return Err(format!(
            "{text:?} has white space at an end or a control character"
        ));
    }
    Ok(())
}

macro_rules! pattern_text {
    ($name:ident, $schema:literal, $about:literal) => {
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", stringify!($name), self.text)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.text)
            }
        }

        impl PartialOrd for $name {
            fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
                Some(self.cmp(other))
            }
        }

        impl Ord for $name {
            fn cmp(&self, other: &Self) -> std::cmp::Ordering {
                self.text.cmp(&other.text)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                Self::parse(&text).map_err(D::Error::custom)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({
                    "type": "string",
                    "description": $about,
                    "pattern": $schema,
                    "maxLength": MAX_LEN,
                })
            }
        }
    };
}

pattern_text!(
    ToolPattern,
    "^(\\*|[^/]+/.+)$",
    "server/tool, with * for any text and ? for one character."
);
pattern_text!(
    NamePattern,
    "^.+$",
    "A name, with * for any text and ? for one character."
);
