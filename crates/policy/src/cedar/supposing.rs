//! The owner's policies for calls whose arguments nobody knows.
//!
//! What a policy says of arguments is taken out of its conditions, so that it
//! speaks of every call it could have spoken of; what is left is then supposed
//! to hold, or the whole policy not to.

use std::collections::{BTreeMap, HashSet};

use cedar_policy::{Effect, PolicySet};
use serde_json::Value;

use super::{Cedar, OF_ARGUMENTS};
use crate::rule_id::RuleId;

/// The policies under each supposition.
#[derive(Debug)]
pub(crate) struct Supposing {
    /// Whatever may forbid does; nothing that may permit does.
    pub(crate) strict: Cedar,
    /// As `strict`, where policies that stood there then are known to have let
    /// the call pass.
    pub(crate) informed: Cedar,
    /// Whatever may permit does; nothing that may forbid does.
    pub(crate) mild: Cedar,
    /// Policies that read arguments, and what they read of them.
    pub(crate) reads: BTreeMap<RuleId, Vec<String>>,
}

// === impl Cedar ===

impl Cedar {
    /// The ids of the policies that stand in both, word for word.
    pub(crate) fn same_policies(&self, other: &Self) -> impl Iterator<Item = RuleId> {
        let both = self.policies.policies().filter(|policy| {
            let other = other.policies.policy(policy.id());
            other.is_some_and(|other| other.to_string() == policy.to_string())
        });
        both.map(|policy| RuleId::new(policy.id().as_ref()))
    }

    /// The policies with nothing about arguments in them. `same` are those that
    /// were in force before.
    pub(crate) fn supposing(&self, same: &HashSet<RuleId>) -> Supposing {
        let mut reads = BTreeMap::new();
        let (mut strict, mut informed, mut mild) =
            (PolicySet::new(), PolicySet::new(), PolicySet::new());
        for policy in self.policies.policies() {
            let id = RuleId::new(policy.id().as_ref());
            let mut json = policy.to_json().unwrap_or_default();
            let mut read = Vec::new();
            collect(&json["conditions"], &mut read);
            let add = |set: &mut PolicySet, policy: cedar_policy::Policy| {
                // The ids were distinct before, so that none is refused.
                drop(set.add(policy));
            };
            if read.is_empty() {
                for set in [&mut strict, &mut informed, &mut mild] {
                    add(set, policy.clone());
                }
                continue;
            }
            read.sort_unstable();
            read.dedup();
            strip(&mut json["conditions"]);
            let stripped = cedar_policy::Policy::from_json(Some(policy.id().clone()), json);
            // What cannot be stripped is supposed to hold whenever it would be bad.
            let stripped = stripped.unwrap_or_else(|_| policy.clone());
            match policy.effect() {
                Effect::Forbid => {
                    if !same.contains(&id) {
                        add(&mut informed, stripped.clone());
                    }
                    add(&mut strict, stripped);
                }
                Effect::Permit => add(&mut mild, stripped),
            }
            reads.insert(id, read);
        }
        Supposing {
            strict: self.with(strict),
            informed: self.with(informed),
            mild: self.with(mild),
            reads,
        }
    }
}

/// Every member of the context that arguments can change, below a value of
/// Cedar's JSON form of a policy.
fn collect(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            if let Some(name) = of_context(value) {
                if OF_ARGUMENTS.contains(&name) && name != "input" {
                    found.push(name.replace('_', " "));
                } else if name == "input" {
                    found.push("every argument".to_owned());
                }
                return;
            }
            if let Some(pointer) = pointer(value) {
                found.push(pointer);
                return;
            }
            members.values().for_each(|value| collect(value, found));
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
        _ => {}
    }
}

/// The name in `context.NAME` or `context has NAME`.
fn of_context(value: &Value) -> Option<&str> {
    let access = value.get(".").or_else(|| value.get("has"))?;
    (access["left"]["Var"] == "context")
        .then(|| access["attr"].as_str())
        .flatten()
}

/// `context.input.a.b` as `/a/b`.
fn pointer(value: &Value) -> Option<String> {
    let access = value.get(".").or_else(|| value.get("has"))?;
    let step = access["attr"]
        .as_str()?
        .replace('~', "~0")
        .replace('/', "~1");
    match of_context(&access["left"]) {
        Some("input") => Some(format!("/{step}")),
        Some(_) => None,
        None => Some(format!("{}/{step}", pointer(&access["left"])?)),
    }
}

/// Takes out what reads arguments: of `when` the parts of a conjunction that
/// do, of `unless` all of it.
fn strip(conditions: &mut Value) {
    let Some(clauses) = conditions.as_array_mut() else {
        return;
    };
    clauses.retain_mut(|clause| {
        if !reads(clause) {
            return true;
        }
        clause["kind"] == "when" && {
            match without(clause["body"].take()) {
                Some(body) => {
                    clause["body"] = body;
                    true
                }
                None => false,
            }
        }
    });
}

fn reads(value: &Value) -> bool {
    let mut found = Vec::new();
    collect(value, &mut found);
    !found.is_empty()
}

/// A condition without the parts of its conjunction that read arguments.
fn without(mut body: Value) -> Option<Value> {
    if !reads(&body) {
        return Some(body);
    }
    let both = body.get_mut("&&")?;
    let (left, right) = (both["left"].take(), both["right"].take());
    match (without(left), without(right)) {
        (Some(left), Some(right)) => {
            Some(serde_json::json!({ "&&": { "left": left, "right": right } }))
        }
        (one, other) => one.or(other),
    }
}
