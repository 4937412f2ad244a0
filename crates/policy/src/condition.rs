//! Conditions on arguments, as permission rules and bans write them.
//!
//! The same words are read in two ways. A rule that refuses or asks is
//! *wary*: it strikes when any selected value fits, compares texts without
//! regard to case and width, and counts what cannot be compared as fitting. A
//! rule that allows is *exact*: every selected value must be there and fit to
//! the letter. One reading for both would let the same trick open a door that
//! an owner closed with one rule or opened a crack with another.

use std::fmt;

use legation_core::EntityLabels;
use serde_json::Value;

use crate::glob::Glob;
use crate::governance::{Operator, OperatorProfile, normalise};

/// Values that one pointer may select; past that, a wary rule strikes and an
/// exact one does not.
const SELECTED_MAX: usize = 10_000;

/// One condition.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Condition {
    pointer: Pointer,
    test: Test,
}

/// A JSON pointer (RFC 6901) in which a step `*` stands for every item or
/// member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pointer {
    text: Box<str>,
    steps: Box<[Box<str>]>,
}

#[derive(Clone, Debug, PartialEq)]
enum Test {
    Compare {
        op: Operator,
        value: Value,
        /// The value's text as wary rules compare it.
        normal: Box<str>,
    },
    Like {
        exact: Glob,
        normal: Glob,
    },
    Exists(bool),
    /// The value belongs to this entity, or to the call's where it is `None`.
    EntityOf(Option<Box<str>>),
}

/// How a condition is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// For deny, ask and bans.
    Wary,
    /// For allow and reads.
    Exact,
}

/// What `entity-of` compares with.
#[derive(Clone, Copy)]
pub(crate) struct Owners<'a> {
    pub(crate) profile: Option<&'a OperatorProfile>,
    pub(crate) call: &'a EntityLabels,
}

// === impl Pointer ===

impl Pointer {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if !text.starts_with('/') {
            return Err(format!("{text:?} is not a JSON pointer: it starts with /"));
        }
        let mut steps = Vec::new();
        for step in text[1..].split('/') {
            let mut plain = String::with_capacity(step.len());
            let mut letters = step.chars();
            while let Some(letter) = letters.next() {
                plain.push(match letter {
                    '~' => match letters.next() {
                        Some('0') => '~',
                        Some('1') => '/',
                        _ => return Err(format!("{text:?} has a ~ that is not ~0 or ~1")),
                    },
                    other => other,
                });
            }
            steps.push(plain.into());
        }
        Ok(Self {
            text: text.into(),
            steps: steps.into(),
        })
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// Every value it selects; `None` when there are too many.
    pub(crate) fn select<'v>(&self, root: &'v Value) -> Option<Vec<&'v Value>> {
        let mut found = vec![root];
        for step in &self.steps {
            let mut next = Vec::new();
            for value in found {
                match (value, &**step) {
                    (Value::Array(items), "*") => next.extend(items),
                    (Value::Object(members), "*") => next.extend(members.values()),
                    (Value::Object(members), name) => next.extend(members.get(name)),
                    (Value::Array(items), index) => {
                        next.extend(index.parse::<usize>().ok().and_then(|at| items.get(at)));
                    }
                    _ => {}
                }
                if next.len() > SELECTED_MAX {
                    return None;
                }
            }
            found = next;
        }
        Some(found)
    }
}

// === impl Condition ===

impl Condition {
    /// Compiles a condition.
    pub(crate) fn new(pointer: &str, op: Operator, value: Option<Value>) -> Result<Self, String> {
        let pointer = Pointer::parse(pointer)?;
        let test = match (op, value) {
            (Operator::Exists, None) => Test::Exists(true),
            (Operator::Absent, None) => Test::Exists(false),
            (Operator::Exists | Operator::Absent, Some(_)) => {
                return Err(format!("`{op}` takes no value"));
            }
            (_, None) => return Err(format!("`{op}` needs a value")),
            (Operator::Like, Some(Value::String(pattern))) => {
                if pattern.is_empty() || pattern.len() > crate::glob::MAX_LEN {
                    return Err("a pattern has 1 to 512 bytes".to_owned());
                }
                Test::Like {
                    exact: Glob::compile(&pattern),
                    normal: Glob::compile(&normalise(&pattern)),
                }
            }
            (op, Some(value)) => {
                check_type(op, &value)?;
                let normal = normalise(&text_of(&value)).into();
                Test::Compare { op, value, normal }
            }
        };
        Ok(Self { pointer, test })
    }

    /// `entity-of`; `None` for the entities of the call.
    pub(crate) fn entity_of(pointer: &str, entity: Option<&str>) -> Result<Self, String> {
        Ok(Self {
            pointer: Pointer::parse(pointer)?,
            test: Test::EntityOf(entity.map(Into::into)),
        })
    }

    /// What it reads.
    pub(crate) fn pointer(&self) -> &str {
        self.pointer.as_str()
    }

    /// The entity that `entity-of` names.
    pub(crate) fn named_entity(&self) -> Option<&str> {
        match &self.test {
            Test::EntityOf(entity) => entity.as_deref(),
            _ => None,
        }
    }

    /// Whether it holds. `arguments` is `None` when they cannot be read.
    pub(crate) fn holds(
        &self,
        arguments: Option<&Value>,
        reading: Reading,
        owners: Owners<'_>,
    ) -> bool {
        let wary = reading == Reading::Wary;
        let Some(selected) = arguments.and_then(|root| self.pointer.select(root)) else {
            return wary;
        };
        if let Test::Exists(wanted) = self.test {
            return selected.is_empty() != wanted;
        }
        if selected.is_empty() {
            return wary && self.is_unequal();
        }
        let mut values = selected.into_iter().flat_map(|value| self.items(value));
        if wary {
            values.any(|value| self.fits(value, reading, owners))
        } else {
            let mut some = false;
            let all = values.all(|value| {
                some = true;
                self.fits(value, reading, owners)
            });
            some && all
        }
    }

    /// A list stands for its items, unless it is compared as a list.
    fn items<'v>(&self, value: &'v Value) -> Vec<&'v Value> {
        let as_list = matches!(
            &self.test,
            Test::Compare {
                op: Operator::Eq | Operator::Ne,
                value: Value::Array(_),
                ..
            } | Test::Compare {
                op: Operator::Contains,
                ..
            }
        );
        match value {
            Value::Array(items) if !as_list => items.iter().collect(),
            other => vec![other],
        }
    }

    fn is_unequal(&self) -> bool {
        matches!(
            &self.test,
            Test::Compare {
                op: Operator::Ne,
                ..
            }
        )
    }

    fn fits(&self, found: &Value, reading: Reading, owners: Owners<'_>) -> bool {
        let wary = reading == Reading::Wary;
        match &self.test {
            Test::Exists(wanted) => *wanted,
            Test::EntityOf(entity) => belongs(found, entity.as_deref(), reading, owners),
            Test::Like { exact, normal } => match found {
                Value::String(text) if wanders(text) => wary,
                Value::String(text) if wary => {
                    normal.matches(&normalise(text)) || exact.matches(text)
                }
                Value::String(text) => exact.matches(text),
                _ => wary,
            },
            Test::Compare { op, value, normal } => compare(*op, found, value, normal, wary),
        }
    }
}

fn check_type(op: Operator, value: &Value) -> Result<(), String> {
    let fits = match op {
        Operator::Lt | Operator::Le | Operator::Gt | Operator::Ge => value.is_number(),
        Operator::In => value.as_array().is_some_and(|list| !list.is_empty()),
        Operator::StartsWith | Operator::EndsWith | Operator::Like => {
            value.as_str().is_some_and(|text| !text.is_empty())
        }
        _ => true,
    };
    if fits {
        return Ok(());
    }
    Err(match op {
        Operator::In => "`in` needs a list that is not empty".to_owned(),
        Operator::StartsWith | Operator::EndsWith | Operator::Like => {
            format!("`{op}` needs a text that is not empty")
        }
        _ => format!("`{op}` needs a number"),
    })
}

fn compare(op: Operator, found: &Value, value: &Value, normal: &str, wary: bool) -> bool {
    match op {
        Operator::Eq => equal(found, value, normal, wary),
        // What is unequal in some reading is unequal for the wary.
        Operator::Ne => !equal(found, value, normal, !wary),
        Operator::In => value
            .as_array()
            .is_some_and(|list| list.iter().any(|one| same(found, one, wary))),
        Operator::Lt | Operator::Le | Operator::Gt | Operator::Ge => {
            let (Some(found), Some(limit)) = (number(found, wary), number(value, false)) else {
                return wary;
            };
            match op {
                Operator::Lt => found < limit,
                Operator::Le => found <= limit,
                Operator::Gt => found > limit,
                _ => found >= limit,
            }
        }
        Operator::Contains => contains(found, value, normal, wary),
        Operator::StartsWith | Operator::EndsWith => {
            let (Some(text), Some(part)) = (found.as_str(), value.as_str()) else {
                return wary;
            };
            if wanders(text) {
                return wary;
            }
            let fits = |text: &str, part: &str| {
                if op == Operator::StartsWith {
                    text.starts_with(part)
                } else {
                    text.ends_with(part)
                }
            };
            fits(text, part) || (wary && fits(&normalise(text), normal))
        }
        // These three became tests of their own when the condition was made.
        Operator::Like | Operator::Exists | Operator::Absent => wary,
    }
}

fn equal(found: &Value, value: &Value, normal: &str, wary: bool) -> bool {
    found == value
        || numbers_equal(found, value)
        || (wary && is_scalar(found) && normalise(&text_of(found)) == normal)
}

fn same(found: &Value, one: &Value, wary: bool) -> bool {
    equal(found, one, &normalise(&text_of(one)), wary)
}

fn numbers_equal(found: &Value, value: &Value) -> bool {
    match (found.as_f64(), value.as_f64()) {
        (Some(found), Some(value)) => found.total_cmp(&value).is_eq(),
        _ => false,
    }
}

fn contains(found: &Value, value: &Value, normal: &str, wary: bool) -> bool {
    match found {
        Value::Array(items) => items.iter().any(|item| same(item, value, wary)),
        Value::String(text) => {
            let part = value.as_str().unwrap_or(normal);
            text.contains(part) || (wary && normalise(text).contains(normal))
        }
        _ => wary,
    }
}

/// A number; for the wary also one that is written as text.
fn number(value: &Value, wary: bool) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) if wary => normalise(text).parse().ok().filter(|n: &f64| !n.is_nan()),
        _ => None,
    }
}

fn is_scalar(value: &Value) -> bool {
    !value.is_array() && !value.is_object()
}

fn text_of(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

/// Whether a text that is compared from one end could mean a place elsewhere:
/// it has a `.` or `..` step, plain or percent-encoded.
fn wanders(text: &str) -> bool {
    if !text.contains('.') && !text.contains('%') {
        return false;
    }
    let plain = text.to_ascii_lowercase().replace("%2e", ".");
    let plain = plain.replace("%2f", "/").replace("%5c", "/");
    plain
        .split(['/', '\\'])
        .any(|step| step == "." || step == "..")
}

/// Whether a text names the entity: an address, a domain, an id, an account.
fn belongs(found: &Value, entity: Option<&str>, reading: Reading, owners: Owners<'_>) -> bool {
    let wary = reading == Reading::Wary;
    let (Some(text), Some(profile)) = (found.as_str(), owners.profile) else {
        return wary;
    };
    let of = crate::boundary::owners_of(profile, text);
    let is_meant = |id: &legation_core::EntityId| match entity {
        Some(wanted) => id.as_str() == wanted,
        None => owners.call.contains(id),
    };
    if wary {
        of.iter().any(is_meant)
    } else {
        !of.is_empty() && of.iter().all(is_meant)
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pointer = self.pointer.as_str();
        match &self.test {
            Test::Compare { op, value, .. } => write!(f, "{pointer} {op} {value}"),
            Test::Like { exact, .. } => write!(f, "{pointer} like {exact:?}"),
            Test::Exists(true) => write!(f, "{pointer} exists"),
            Test::Exists(false) => write!(f, "{pointer} absent"),
            Test::EntityOf(entity) => {
                write!(
                    f,
                    "{pointer} entity-of {}",
                    entity.as_deref().unwrap_or("call")
                )
            }
        }
    }
}
