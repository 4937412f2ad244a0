//! `legation audit`: the record of every call.
//!
//! A running hub is asked; without one the store is read under the data
//! directory's lock, so that no hub can start writing in between.

use clap::Subcommand;
use legation_api::audit::{Fault, Record, Tail, TailAnswer, Verify, VerifyAnswer};
use legation_core::Secret;
use legation_core::home::HomeLock;
use legation_ledger::{Entry, Evidence, LedgerReader, Report};
use legation_store::DatabaseUrl;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::commands::{config, hub};
use crate::table::Table;
use crate::{CliError, Context, Exit};

/// The commands of `legation audit`.
#[derive(Debug, Subcommand)]
pub enum AuditCommand {
    /// Print the newest records.
    Tail {
        /// How many at most.
        #[arg(long, short = 'n', default_value_t = 20)]
        count: usize,
    },
    /// Check the whole chain of records.
    Verify,
}

/// As much of a record as the table shows.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Shown {
    at: String,
    kind: String,
    client: String,
    server: String,
    item: String,
    rule: String,
    status: String,
    reason: String,
    text: String,
    execution_time_ms: Option<f64>,
    intent: Option<i64>,
}

pub(crate) fn cmd_audit(context: &Context, command: &AuditCommand) -> Result<(), CliError> {
    match command {
        AuditCommand::Tail { count } => tail(context, *count),
        AuditCommand::Verify => verify(context),
    }
}

fn tail(context: &Context, count: usize) -> Result<(), CliError> {
    let answer = match hub(context)? {
        Some(mut client) => client.call(&Tail { count })?,
        None => {
            let (_lock, reader) = offline(context)?;
            let entries = reader
                .tail(count)
                .map_err(|error| CliError::failed(&error))?;
            TailAnswer {
                records: records(&entries)?,
            }
        }
    };
    context.output.result(&answer, render)
}

fn verify(context: &Context) -> Result<(), CliError> {
    let answer = match hub(context)? {
        Some(mut client) => client.call(&Verify {})?,
        None => {
            let (_lock, reader) = offline(context)?;
            let report = reader
                .verify(&Evidence::default())
                .map_err(|error| CliError::failed(&error))?;
            report_answer(&report)
        }
    };
    context
        .output
        .result(&answer, |answer| match &answer.fault {
            None => format!(
                "intact: {} records ({} intents, {} outcomes, {} refused)\nhead   {}\n",
                answer.records,
                answer.intents,
                answer.outcomes,
                answer.refused,
                answer.head.as_deref().unwrap_or("-")
            ),
            Some(fault) => {
                format!(
                    "BROKEN at record {} of {}: {}\n",
                    fault.seq, fault.entity, fault.what
                )
            }
        })?;
    if answer.intact {
        return Ok(());
    }
    Err(CliError::new(
        Exit::Failed,
        "the ledger was changed after it was written, or is damaged",
    )
    .with_hint(
        "keep state.db as it is and compare it with a copy; new calls go on in the same chain",
    ))
}

/// What a report says to programs.
pub fn report_answer(report: &Report) -> VerifyAnswer {
    VerifyAnswer {
        intact: report.is_intact(),
        records: report.records,
        intents: report.intents,
        outcomes: report.outcomes,
        refused: report.refused,
        head: report.chains.first().map(|chain| chain.hash.clone()),
        fault: report.first().map(|fault| Fault {
            entity: fault.entity.to_string(),
            seq: u64::try_from(fault.seq).unwrap_or(0),
            what: fault.kind.as_str().to_owned(),
        }),
    }
}

/// Records as programs see them.
///
/// # Errors
/// When a stored record is no JSON.
pub fn records(entries: &[Entry]) -> Result<Vec<Record>, CliError> {
    entries
        .iter()
        .map(|entry| {
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
                seq: u64::try_from(entry.seq).unwrap_or(0),
                hash: entry.hash.clone(),
                record,
            })
        })
        .collect()
}

fn offline(context: &Context) -> Result<(HomeLock, LedgerReader), CliError> {
    let path = context.home.state_db();
    let server = config::settings(context)?.store_url;
    if server.is_none() && !path.exists() {
        return Err(CliError::new(
            Exit::Failed,
            format!(
                "{} does not exist: nothing was ever recorded there",
                path.display()
            ),
        )
        .with_hint(
            "the first `legation serve` makes it; `legation config path` shows the folder",
        ));
    }
    let lock = context
        .home
        .lock()
        .map_err(|error| CliError::failed(&error))?;
    let Some(lock) = lock else {
        return Err(CliError::new(
            Exit::NotReachable,
            "a hub owns the data directory but does not answer; nothing was read",
        )
        .with_hint("wait until it has started or stopped, then try again"));
    };
    let opened = match server {
        None => LedgerReader::open(&path),
        Some(url) => {
            let variable = |name: &str| context.environment.get(name).map(Secret::new);
            let url = DatabaseUrl::parse(url.reveal(), variable)
                .map_err(|error| CliError::usage(&error).with_hint(error.hint()))?;
            LedgerReader::connect(&url)
        }
    };
    let reader = opened.map_err(|error| CliError::failed(&error).with_hint(error.hint()))?;
    Ok((lock, reader))
}

fn render(answer: &TailAnswer) -> String {
    let mut table = Table::new(&["SEQ", "TIME", "KIND", "CLIENT", "WHAT", "RESULT"]);
    for record in &answer.records {
        let shown: Shown = serde_json::from_str(record.record.get()).unwrap_or_default();
        let what = match (&*shown.kind, shown.intent) {
            ("outcome", Some(intent)) => format!("of {intent}"),
            ("note", _) => shown.text.clone(),
            // A name that led nowhere belongs to no server.
            _ if shown.server.is_empty() => shown.item.clone(),
            _ => format!("{}/{}", shown.server, shown.item),
        };
        let result = match (&*shown.kind, shown.execution_time_ms) {
            ("intent", _) => format!("rule {}", shown.rule),
            ("outcome", Some(took)) => format!("{} after {took} ms", shown.status),
            ("refused", _) => format!("rule {}: {}", shown.rule, shown.reason),
            _ => shown.status.clone(),
        };
        table.row([
            record.seq.to_string(),
            shown.at,
            shown.kind,
            shown.client,
            what,
            result,
        ]);
    }
    table.render()
}

#[cfg(test)]
mod tests;
