//! What the ledger says, as programs see it. Used by the commands, for a ledger
//! that no hub holds, and by the hub.

use std::path::Path;

use legation_api::audit::{
    Chain, Export, ExportAnswer, Fault, Filter, Query, QueryAnswer, Record, Verify, VerifyAnswer,
};
use legation_ledger::{Bounds, Entry, Evidence, Format, LedgerError, PublicKey, Records, Report};
use serde_json::value::RawValue;

use crate::{CliError, Exit};

/// Most records of one answer.
const LIMIT_MAX: usize = 10_000;
/// Records of one page of an export.
const EXPORT_PAGE: usize = 2_000;
/// Most records that are looked at for one answer, so that none takes long.
const SCAN_MAX: usize = 200_000;
/// Faults of an answer.
const FAULTS_MAX: usize = 1_000;

/// The records a query wants.
///
/// # Errors
/// When they cannot be read.
pub fn query_answer(ledger: Records<'_>, query: &Query) -> Result<QueryAnswer, CliError> {
    let bounds = Bounds {
        limit: query.limit.clamp(1, LIMIT_MAX),
        scan: query.scan.unwrap_or(SCAN_MAX).clamp(1, SCAN_MAX),
    };
    let page = ledger
        .query(&filter(&query.filter), query.before, bounds)
        .map_err(|error| of_ledger(&error))?;
    Ok(QueryAnswer {
        records: records(&page.entries)?,
        next: page.next,
    })
}

/// One page of an export.
///
/// # Errors
/// When there is no such format, or the records cannot be read.
pub fn export_answer(
    ledger: Records<'_>,
    export: &Export,
    version: &str,
) -> Result<ExportAnswer, CliError> {
    let format: Format = export
        .format
        .parse()
        .map_err(|error: legation_ledger::FormatError| {
            CliError::new(Exit::Usage, format!("{error}; nothing was exported"))
        })?;
    let bounds = Bounds {
        limit: EXPORT_PAGE,
        scan: SCAN_MAX,
    };
    let page = ledger
        .scan(&filter(&export.filter), export.after, bounds)
        .map_err(|error| of_ledger(&error))?;
    Ok(ExportAnswer {
        lines: page
            .entries
            .iter()
            .map(|entry| format.line(entry, version))
            .collect(),
        next: page.next,
    })
}

/// Checks every chain, against what the request names.
///
/// # Errors
/// When what it names, or the ledger, cannot be read.
pub fn verify_answer(ledger: Records<'_>, verify: &Verify) -> Result<VerifyAnswer, CliError> {
    let mut evidence = Evidence::default();
    if let Some(folder) = &verify.checkpoints {
        evidence.add_folder(Path::new(folder)).map_err(|error| {
            CliError::failed(&error)
                .with_hint("name a folder of exported checkpoints that is there")
        })?;
    }
    for key in &verify.public_keys {
        let key: PublicKey = key.parse().map_err(|error: legation_ledger::PublicKeyError| {
            CliError::new(Exit::Usage, format!("{key:?}: {error}; nothing was checked"))
                .with_hint("`legation audit checkpoint` prints the key; keep it where the hub cannot change it")
        })?;
        evidence.trust(key);
    }
    let report = ledger
        .verify(&evidence)
        .map_err(|error| of_ledger(&error))?;
    Ok(report_answer(&report))
}

/// Records as programs see them.
///
/// # Errors
/// When a stored record is no JSON.
pub fn records(entries: &[Entry]) -> Result<Vec<Record>, CliError> {
    entries.iter().map(record).collect()
}

fn record(entry: &Entry) -> Result<Record, CliError> {
    let record = RawValue::from_string(entry.text.clone()).map_err(|error| {
        CliError::new(
            Exit::Failed,
            format!(
                "record {} of {} is damaged: {error}",
                entry.seq, entry.entity
            ),
        )
        .with_hint("`legation audit verify` says where the chain breaks")
    })?;
    Ok(Record {
        position: entry.position,
        entity: entry.entity.to_string(),
        seq: u64::try_from(entry.seq).unwrap_or(0),
        at_ms: entry.at_ms,
        hash: entry.hash.clone(),
        record,
    })
}

fn report_answer(report: &Report) -> VerifyAnswer {
    VerifyAnswer {
        intact: report.is_intact(),
        records: report.records,
        intents: report.intents,
        outcomes: report.outcomes,
        refused: report.refused,
        notes: report.notes,
        open: report.open,
        checkpoints: report.checkpoints,
        covered: report.covered,
        public_keys: report.keys.clone(),
        chains: report
            .chains
            .iter()
            .map(|chain| Chain {
                entity: chain.entity.to_string(),
                seq: chain.seq,
                hash: chain.hash.clone(),
            })
            .collect(),
        faults: report
            .faults
            .iter()
            .take(FAULTS_MAX)
            .map(|fault| Fault {
                kind: fault.kind.name().to_owned(),
                entity: fault.entity.to_string(),
                seq: fault.seq,
                checkpoint: fault.checkpoint.clone(),
                what: fault.to_string(),
            })
            .collect(),
        fault_count: report.fault_count,
    }
}

fn filter(filter: &Filter) -> legation_ledger::Filter {
    let Filter {
        from_ms,
        until_ms,
        entity,
        seq,
        kind,
        call,
        client,
        server,
        agent_id,
        attribution,
        item,
        rule,
        status,
        reason_code,
        topic,
    } = filter.clone();
    legation_ledger::Filter {
        from_ms,
        until_ms,
        entity,
        seq,
        kind,
        call,
        client,
        server,
        agent_id,
        attribution,
        item,
        rule,
        status,
        reason_code,
        topic,
    }
}

/// A failure of the ledger, with its hint.
#[must_use]
pub fn of_ledger(error: &LedgerError) -> CliError {
    CliError::failed(error).with_hint(error.hint())
}
