//! The last records of several chains, found in one reading.
//!
//! Asking [`Ledger::query`] once for each chain was rejected: each question reads what the others
//! read, and one about a chain that is short, ended long ago or was never begun reads to its bound
//! and finds nothing.

use std::ops::Range;

use legation_core::EntityId;
use legation_store::Reader;

use crate::error::LedgerError;
use crate::ledger::Ledger;
use crate::query::{Bounds, CHUNK};
use crate::read::Entry;

/// A chain that ended so much earlier holds nothing of a span: clocks are not set back by more.
const SET_BACK_MS: i64 = 60 * 60 * 1_000;

/// The last records of several chains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Latest {
    /// Of each chain that was asked for, in that order: its records, newest first.
    pub chains: Vec<Vec<Entry>>,
    /// How many records were read to find them.
    pub read: usize,
}

/// How far the search for one chain's records is.
struct Search<'e> {
    entity: &'e EntityId,
    found: Vec<Entry>,
    is_over: bool,
}

impl Ledger {
    /// The records of each of these entities' chains in a span of time (milliseconds since 1970),
    /// newest first: for each at most [`Bounds::limit`], and for all together no more than about
    /// [`Bounds::scan`] records are looked at. What is found is what [`Ledger::query`] finds for
    /// each of them. Blocks: run it off the runtime.
    ///
    /// # Errors
    /// [`LedgerError::Read`].
    pub fn latest(
        &self,
        entities: &[EntityId],
        span: &Range<i64>,
        bounds: Bounds,
    ) -> Result<Latest, LedgerError> {
        let ends = self.inner.chain().ends_of(entities);
        latest(self.inner.store.reader(), entities, ends, span, bounds)
    }
}

/// `ends` are the positions of the chains' last records, 0 for a chain without any; `None` while
/// they are not known.
fn latest(
    reader: &Reader,
    entities: &[EntityId],
    ends: Option<Vec<i64>>,
    span: &Range<i64>,
    bounds: Bounds,
) -> Result<Latest, LedgerError> {
    let last = reader.ledger_last(1).map_err(LedgerError::read)?;
    let mut high = last.first().map_or(0, |row| row.position);
    let mut read = last.len();
    let mut searches = Vec::with_capacity(entities.len());
    for (index, entity) in entities.iter().enumerate() {
        let end = ends.as_ref().map(|ends| ends[index]);
        let is_over = match end {
            Some(0) => true,
            // What stands near the end is read anyway.
            Some(end) if end + chunk() <= high => {
                let rows = reader.ledger_after(end - 1, 1).map_err(LedgerError::read)?;
                read += rows.len();
                let end = rows.first().filter(|row| row.position == end);
                end.is_some_and(|row| row.at_ms.saturating_add(SET_BACK_MS) < span.start)
            }
            Some(_) | None => false,
        };
        searches.push(Search {
            entity,
            found: Vec::new(),
            is_over,
        });
    }
    let mut seen = 0;
    while high > 0 && seen < bounds.scan && searches.iter().any(|search| !search.is_over) {
        let low = (high - chunk()).max(0);
        let rows = reader.ledger_after(low, CHUNK).map_err(LedgerError::read)?;
        read += rows.len();
        let mut newest_ms = i64::MIN;
        for row in rows.into_iter().rev().filter(|row| row.position <= high) {
            seen += 1;
            newest_ms = newest_ms.max(row.at_ms);
            let wants = |search: &&mut Search<'_>| !search.is_over && *search.entity == row.entity;
            let Some(search) = searches.iter_mut().find(wants) else {
                continue;
            };
            // Nothing of a chain is older than its first record.
            let is_first = row.seq <= 1;
            if span.contains(&row.at_ms) {
                search.found.push(Entry::from_row(row));
            }
            search.is_over = is_first || search.found.len() >= bounds.limit;
        }
        // As in `query`: a clock that was set back between two records must not end it early.
        if newest_ms < span.start {
            break;
        }
        high = low;
    }
    Ok(Latest {
        chains: searches.into_iter().map(|search| search.found).collect(),
        read,
    })
}

/// The rows of one read, as a distance between positions.
fn chunk() -> i64 {
    i64::try_from(CHUNK).unwrap_or(i64::MAX)
}
