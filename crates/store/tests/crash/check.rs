//! Opens what a power failure left, and looks for what must be there.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use legation_crash::{Trace, explore};
use legation_store::{ApprovalState, LedgerRow, Store};

use crate::drive::{self, DATABASE, USES};

/// What had been acknowledged when the power failed.
#[derive(Debug, Clone, Default, Hash)]
pub(crate) struct Facts {
    position: i64,
    counter: i64,
    grants: Vec<String>,
    denied: Vec<String>,
}

/// Tries `count` crash points; how many of them differ from each other.
pub(crate) fn run(trace: &Trace, count: usize, seed: u64) -> Result<usize, String> {
    explore(trace, count, seed, |folder, facts, go_on| {
        look(&folder.join(DATABASE), facts, go_on)
    })
}

impl Facts {
    /// Those of a whole run.
    pub(crate) fn of(text: &str) -> Self {
        let mut facts = Self::default();
        text.lines()
            .for_each(|fact| legation_crash::Facts::learn(&mut facts, fact));
        facts
    }
}

impl legation_crash::Facts for Facts {
    fn learn(&mut self, fact: &str) {
        let (what, value) = fact.split_once(' ').expect("a fact has a value");
        let number = || value.parse().expect("a number");
        match what {
            "ledger" => self.position = number(),
            "counter" => self.counter = number(),
            "granted" => self.grants.push(value.to_owned()),
            "denied" => self.denied.push(value.to_owned()),
            other => panic!("{other} is no fact"),
        }
    }
}

/// Opens a store that must hold these facts.
pub(crate) fn look(path: &Path, facts: &Facts, go_on: bool) -> Result<(), String> {
    let store = Store::open(path, drive::options())
        .map_err(|error| format!("it cannot be opened: {error:?}"))?;
    let rows = store
        .reader()
        .ledger_after(0, usize::MAX)
        .map_err(|error| format!("the ledger cannot be read: {error:?}"))?;
    if (rows.len() as i64) < facts.position {
        let lost = facts.position;
        return Err(format!(
            "{} rows are left of {lost} acknowledged",
            rows.len()
        ));
    }
    let uses = follow(&rows)?;
    let unread = |error| format!("it cannot be read: {error:?}");
    if store.counter_get("c").map_err(unread)? < facts.counter {
        return Err(format!("the counter was acknowledged at {}", facts.counter));
    }
    let grants = store.grant_list().map_err(unread)?;
    let found: HashSet<&str> = grants.iter().map(|grant| grant.id.as_str()).collect();
    if let Some(lost) = facts.grants.iter().find(|id| !found.contains(id.as_str())) {
        return Err(format!("the grant {lost} was acknowledged and is lost"));
    }
    for grant in &grants {
        let used = uses.get(grant.id.as_bytes()).copied().unwrap_or(0);
        if grant.uses_left != Some(USES - used) {
            let left = grant.uses_left;
            return Err(format!(
                "{} was used {used} times and has {left:?} left",
                grant.id
            ));
        }
    }
    let known: i64 = grants
        .iter()
        .map(|grant| USES - grant.uses_left.unwrap_or(0))
        .sum();
    if known != uses.values().sum::<i64>() {
        return Err("a record uses a grant that is not there".to_owned());
    }
    for id in &facts.denied {
        let found = store.approval_get(id).map_err(unread)?;
        if found.is_none_or(|approval| approval.state != ApprovalState::Denied) {
            return Err(format!("the approval {id} was denied and is not any more"));
        }
    }
    if go_on {
        drive::go_on(&store);
    }
    Ok(())
}

/// Checks that positions and chains are whole; how often each grant was used.
fn follow(rows: &[LedgerRow]) -> Result<HashMap<&[u8], i64>, String> {
    let mut ends: HashMap<&str, (i64, Vec<u8>)> = HashMap::new();
    let mut uses = HashMap::new();
    for (row, position) in rows.iter().zip(1..) {
        let end = ends.entry(row.entity.as_str()).or_insert((0, vec![0; 32]));
        let whole = row.position == position
            && row.seq == end.0 + 1
            && row.prev == end.1
            && row.hash == drive::hash(&row.prev, &row.bytes);
        if !whole {
            return Err(format!("the chain breaks at {}", row.position));
        }
        *end = (row.seq, row.hash.clone());
        if let Some(rest) = row.bytes.strip_prefix(b"use ") {
            let id = rest.split(|byte| *byte == b' ').next().unwrap_or_default();
            *uses.entry(id).or_insert(0) += 1;
        }
    }
    Ok(uses)
}
