//! Closes the calls that were running when the hub last ended.

use std::collections::BTreeMap;

use legation_core::{EntityId, Wall};
use legation_store::{Store, StoreError};

use crate::chain::Chain;
use crate::line::Line;
use crate::members::{ID_MAX, Repeated, Subject};
use crate::queue::{Duty, Pending};
use crate::record::{OutcomeRecord, Status};
use crate::stored::{Kind, Record};

/// Rows read at a time.
const CHUNK: usize = 1_024;

/// Records an outcome of `unknown` for every intent without one and says how
/// many there were. Only rows after the mark are read: before it every call is
/// closed. A row that cannot be read is left to the verifier.
pub(crate) fn sweep(store: &Store, chain: &mut Chain, now: Wall) -> Result<usize, StoreError> {
    let mut open: BTreeMap<(EntityId, i64), (i64, Record)> = BTreeMap::new();
    let mut after = store.reader().ledger_mark()?;
    loop {
        let rows = store.reader().ledger_after(after, CHUNK)?;
        let Some(last) = rows.last() else { break };
        after = last.position;
        for row in rows {
            let Ok(record) = serde_json::from_slice::<Record>(&row.bytes) else {
                tracing::error!(entity = %row.entity, seq = row.seq, "a ledger record cannot be read; run `legation audit verify`");
                continue;
            };
            match (record.kind, record.intent) {
                (Kind::Intent, _) => {
                    open.insert((row.entity, row.seq), (row.position, record));
                }
                (Kind::Outcome, Some(seq)) => drop(open.remove(&(row.entity, seq))),
                (Kind::Outcome | Kind::Refused | Kind::Note, _) => {}
            }
        }
    }
    let swept = open.len();
    let batch = open
        .into_iter()
        .map(|((entity, seq), (position, record))| Pending {
            members: unknown(&record, seq),
            entity,
            at_ms: now.0,
            duty: Duty::Outcome { closes: position },
        })
        .collect();
    if let Err(failed) = chain.write(store, batch) {
        // Nobody else holds the error yet.
        return Err(std::sync::Arc::into_inner(failed.source).unwrap_or(StoreError::Reopened));
    }
    if swept > 0 {
        tracing::warn!(
            calls = swept,
            "calls that were running when the hub ended are recorded as unknown"
        );
    }
    Ok(swept)
}

fn unknown(record: &Record, seq: i64) -> Vec<u8> {
    let subject = Subject {
        client: record.client.as_deref().unwrap_or_default(),
        via: record.via.as_deref().unwrap_or_default(),
        server: record.server.as_deref(),
        verb: record.verb.as_deref().unwrap_or_default(),
        item: record.item.as_deref().unwrap_or_default(),
    };
    let mut repeated = Line::default();
    subject.write(&mut repeated);
    let identity = [
        ("attribution", &record.attribution),
        ("agent_id", &record.agent_id),
        ("sponsor", &record.sponsor),
    ];
    for (name, value) in identity {
        if let Some(value) = value {
            repeated.text(name, value, ID_MAX);
        }
    }
    let mut call = Line::default();
    call.text(
        "call",
        record.call.as_deref().unwrap_or_default(),
        usize::MAX,
    );
    let intent = Repeated {
        call: &call.into_members(),
        subject: &repeated.into_members(),
        intent: seq,
    };
    OutcomeRecord::bare(Status::Unknown).members(&intent, None, None)
}
