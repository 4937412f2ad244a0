//! The walk over the rows.

use std::collections::{BTreeMap, HashMap};
use std::ops::RangeInclusive;

use legation_core::EntityId;
use legation_core::id::hex;
use legation_store::LedgerRow;
use serde::de::IgnoredAny;

use super::evidence::Compared;
use super::{ChainReport, Fault, FaultKind, Report};
use crate::chain::{Hash, hash};
use crate::line;

/// The state of the walk.
#[derive(Debug)]
pub(super) struct Verifier {
    report: Report,
    chains: BTreeMap<EntityId, Walked>,
    compared: Compared,
    /// What a record must begin with; kept for its memory.
    start: Vec<u8>,
}

/// One chain as far as it was walked.
#[derive(Debug, Default)]
struct Walked {
    seq: i64,
    /// What the next record may be chained to: the last one's hash, and after a
    /// fault the one that its row states too. `None` after a gap.
    ends: Option<[Hash; 2]>,
    /// Places that are damaged or missing, in order: an outcome whose call may
    /// have stood there is no fault of its own.
    suspect: Vec<RangeInclusive<i64>>,
    /// Calls without outcome so far, by the place of the intent.
    open: HashMap<i64, Box<[u8]>>,
}

/// What a record says after its stamp, as far as the verifier reads it.
struct Said<'a> {
    kind: &'a [u8],
    call: &'a [u8],
    intent: Option<i64>,
}

// === impl Verifier ===

impl Verifier {
    pub(super) fn new(compared: Compared) -> Self {
        Self {
            report: Report::default(),
            chains: BTreeMap::new(),
            compared,
            start: Vec::new(),
        }
    }

    pub(super) fn check(&mut self, row: &LedgerRow) {
        self.report.records += 1;
        let fault = |seq, kind| Fault {
            position: row.position,
            entity: row.entity.clone(),
            seq,
            kind,
            checkpoint: None,
        };
        let computed = hash(&row.prev, &row.bytes);
        let stated = Hash::try_from(row.hash.as_slice()).ok();
        let whole = row.is_sound && stated == Some(computed) && row.prev.len() == computed.len();
        line::stamp(&mut self.start, &row.entity, row.seq, row.at_ms);
        let rest = row.bytes.strip_prefix(&self.start[..]);
        let said = rest
            .filter(|_| whole)
            .and_then(|rest| Said::read(rest, &row.bytes));
        if !self.chains.contains_key(&row.entity) {
            self.chains.insert(row.entity.clone(), Walked::first());
        }
        let Some(walked) = self.chains.get_mut(&row.entity) else {
            return;
        };
        if !whole {
            self.report.add(fault(row.seq, FaultKind::Changed));
        } else if said.is_none() {
            let moved = rest.is_none() && row.bytes.starts_with(line::VERSION);
            let kind = if moved {
                FaultKind::Misplaced
            } else {
                FaultKind::Malformed
            };
            self.report.add(fault(row.seq, kind));
            if moved && !is_at_home(row) {
                // It belongs elsewhere; here it is as if it were not.
                return;
            }
        }
        if row.seq <= walked.seq {
            self.report.add(fault(row.seq, FaultKind::Repeated));
            return;
        }
        if row.seq > walked.seq + 1 {
            self.report.add(fault(walked.seq + 1, FaultKind::Missing));
            walked.suspect.push(walked.seq + 1..=row.seq - 1);
        } else if whole
            && walked
                .ends
                .is_some_and(|ends| !ends.iter().any(|end| row.prev == end))
        {
            self.report.add(fault(row.seq, FaultKind::Unlinked));
        }
        walked.seq = row.seq;
        walked.ends = Some([computed, stated.unwrap_or(computed)]);
        if !whole {
            walked.suspect.push(row.seq..=row.seq);
        }
        self.compared.see(row, &computed);
        if let Some(said) = said {
            let outcome = walked.count(&mut self.report, &said, row.seq);
            if outcome.is_err() {
                self.report.add(fault(row.seq, FaultKind::Orphan));
            }
        }
    }

    pub(super) fn finish(self) -> Report {
        let mut report = self.report;
        report.open = self
            .chains
            .values()
            .map(|walked| walked.open.len() as u64)
            .sum();
        self.compared.finish(&mut report);
        report.chains = self
            .chains
            .into_iter()
            .filter(|(_, walked)| walked.seq > 0)
            .map(|(entity, walked)| ChainReport {
                entity,
                seq: walked.seq,
                hash: walked.ends.map(|ends| hex(&ends[0])).unwrap_or_default(),
            })
            .collect();
        report
    }
}

// === impl Walked ===

impl Walked {
    fn first() -> Self {
        Self {
            ends: Some([[0; 32]; 2]),
            ..Self::default()
        }
    }

    fn is_suspect(&self, seq: i64) -> bool {
        let after = self.suspect.partition_point(|range| *range.start() <= seq);
        after
            .checked_sub(1)
            .is_some_and(|index| self.suspect[index].contains(&seq))
    }

    /// Counts a record; `Err` for an outcome without its call.
    fn count(&mut self, report: &mut Report, said: &Said<'_>, seq: i64) -> Result<(), ()> {
        match said.kind {
            b"intent" => {
                report.intents += 1;
                self.open.insert(seq, said.call.into());
            }
            b"outcome" => {
                report.outcomes += 1;
                let intent = said.intent.unwrap_or_default();
                if self.open.remove(&intent).as_deref() == Some(said.call) {
                    report.pairs += 1;
                } else if !self.is_suspect(intent) {
                    return Err(());
                }
            }
            b"refused" => report.refused += 1,
            _ => report.notes += 1,
        }
        Ok(())
    }
}

// === impl Said ===

impl<'a> Said<'a> {
    /// Reads what follows the stamp. The members stand in a fixed order and the
    /// ledger's own words need no escaping, so that bytes can be compared; that
    /// the whole is JSON is checked, but nothing is made of it.
    fn read(rest: &'a [u8], whole: &[u8]) -> Option<Self> {
        serde_json::from_slice::<IgnoredAny>(whole).ok()?;
        let rest = rest.strip_prefix(b"\"kind\":\"")?;
        let (kind, rest) = until_quote(rest)?;
        if !matches!(kind, b"intent" | b"outcome" | b"refused" | b"note") {
            return None;
        }
        if kind == b"note" {
            return Some(Self {
                kind,
                call: b"",
                intent: None,
            });
        }
        let (call, rest) = until_quote(rest.strip_prefix(b",\"call\":\"")?)?;
        let intent = if kind == b"outcome" {
            let digits = rest.strip_prefix(b",\"intent\":")?;
            let end = digits.iter().position(|byte| !byte.is_ascii_digit())?;
            Some(std::str::from_utf8(&digits[..end]).ok()?.parse().ok()?)
        } else {
            None
        };
        Some(Self { kind, call, intent })
    }
}

/// The bytes before the next quotation mark, and those after it.
fn until_quote(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = bytes.iter().position(|byte| *byte == b'"')?;
    Some((&bytes[..end], &bytes[end + 1..]))
}

/// Whether only the time differs between a record and its row.
fn is_at_home(row: &LedgerRow) -> bool {
    let mut start = Vec::new();
    line::place(&mut start, &row.entity, row.seq);
    row.bytes.starts_with(&start)
}
