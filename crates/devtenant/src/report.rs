//! What clients asked for: the calls with their permissions, and what nobody knows.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::say::say;

/// More kinds of unknown requests than this are counted, not listed.
const UNKNOWN_MAX: usize = 500;

/// What was called since the start.
#[derive(Debug, Default)]
pub(crate) struct Report {
    unknown: BTreeMap<String, u64>,
    /// How many unknown requests did not fit.
    beyond: u64,
    calls: BTreeMap<String, Call>,
    /// Clients that came back earlier than they were told.
    early: Vec<Value>,
}

#[derive(Debug, Default)]
struct Call {
    count: u64,
    /// The scopes or roles that the tokens showed.
    shown: BTreeMap<String, u64>,
    /// The least that would have done.
    least: &'static str,
}

// === impl Report ===

impl Report {
    /// A request that this tenant does not know. It was refused like the real service refuses
    /// what it does not know; the difference is for the reader to judge.
    pub(crate) fn unknown(&mut self, what: &str) {
        if self.unknown.len() >= UNKNOWN_MAX && !self.unknown.contains_key(what) {
            self.beyond += 1;
            return;
        }
        let count = self.unknown.entry(what.to_owned()).or_default();
        *count += 1;
        if *count == 1 {
            say(&format!("unknown request: {what}"));
        }
    }

    /// A call at Graph, by the name of its operation.
    pub(crate) fn call(&mut self, operation: &str, shown: &str, least: &'static str) {
        let call = self.calls.entry(operation.to_owned()).or_default();
        call.count += 1;
        call.least = least;
        *call.shown.entry(shown.to_owned()).or_default() += 1;
    }

    /// A client came back too early.
    pub(crate) fn early(&mut self, what: Value) {
        say(&format!("a client came back too early: {what}"));
        if self.early.len() < UNKNOWN_MAX {
            self.early.push(what);
        }
    }

    pub(crate) fn unknown_json(&self) -> Value {
        json!({"unknown": self.unknown, "beyond": self.beyond})
    }

    pub(crate) fn early_json(&self) -> Value {
        json!({"early": self.early})
    }

    /// Operation by operation, and the set of permissions that would do for all of it.
    pub(crate) fn permissions_json(&self) -> Value {
        let mut least: Vec<&str> = self
            .calls
            .values()
            .map(|call| call.least)
            .filter(|least| !least.is_empty())
            .collect();
        least.sort_unstable();
        least.dedup();
        let mut shown: Vec<&str> = self
            .calls
            .values()
            .flat_map(|call| call.shown.keys())
            .flat_map(|scopes| scopes.split(' '))
            .filter(|scope| !scope.is_empty())
            .collect();
        shown.sort_unstable();
        shown.dedup();
        let unused: Vec<&str> = shown
            .iter()
            .copied()
            .filter(|scope| !least.contains(scope))
            .collect();
        let calls: Vec<Value> = self
            .calls
            .iter()
            .map(|(operation, call)| {
                json!({
                    "operation": operation,
                    "count": call.count,
                    "shown": call.shown.keys().collect::<Vec<_>>(),
                    "least": call.least,
                })
            })
            .collect();
        json!({"calls": calls, "least": least, "shown": shown, "moreThanNeeded": unused})
    }
}
