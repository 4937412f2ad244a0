//! `legation audit`: the record of every call.

mod answers;
mod export;
mod filter;
mod keys;
mod show;
pub(crate) mod source;
mod verify;

use clap::{Args, Subcommand};
use legation_api::audit::{Filter, Query, QueryAnswer, Record, TailAnswer};
use serde::Deserialize;

use crate::table::Table;
use crate::{CliError, Context};

pub use answers::{export_answer, of_ledger, query_answer, records, verify_answer};
use source::Source;

/// The commands of `legation audit`.
#[derive(Debug, Subcommand)]
pub enum AuditCommand {
    /// Print the newest records.
    Tail {
        /// How many at most.
        #[arg(long, short = 'n', default_value_t = 20)]
        count: usize,
    },
    /// Print the records that match, newest first.
    Query(QueryArgs),
    /// Print everything about one call.
    Show(show::ShowArgs),
    /// Write records for other programs, oldest first.
    Export(export::ExportArgs),
    /// Check every chain of records, and the checkpoints.
    Verify(verify::VerifyArgs),
    /// Sign a checkpoint of everything recorded so far, and export it.
    Checkpoint,
    /// Change the key that signs checkpoints; the old one vouches for the new one.
    RotateKey,
    /// Destroy the keys of an entity's older commitments; the records stay.
    Shred(keys::ShredArgs),
}

/// Arguments of `legation audit query`.
#[derive(Debug, Args)]
pub struct QueryArgs {
    /// How many at most.
    #[arg(long, short = 'n', default_value_t = 50)]
    limit: usize,
    #[command(flatten)]
    filter: filter::FilterArgs,
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
    reason_code: String,
    text: String,
    execution_time_ms: Option<f64>,
    intent: Option<i64>,
}

pub(crate) fn cmd_audit(context: &Context, command: &AuditCommand) -> Result<(), CliError> {
    match command {
        AuditCommand::Tail { count } => {
            let records = Source::open(context)?.tail(*count)?;
            context.output.result(&TailAnswer { records }, render)
        }
        AuditCommand::Query(args) => cmd_query(context, args),
        AuditCommand::Show(args) => show::cmd_show(context, args),
        AuditCommand::Export(args) => export::cmd_export(context, args),
        AuditCommand::Verify(args) => verify::cmd_verify(context, args),
        AuditCommand::Checkpoint => keys::cmd_checkpoint(context),
        AuditCommand::RotateKey => keys::cmd_rotate_key(context),
        AuditCommand::Shred(args) => keys::cmd_shred(context, args),
    }
}

fn cmd_query(context: &Context, args: &QueryArgs) -> Result<(), CliError> {
    let filter: Filter = args.filter.to_filter(context)?;
    let mut source = Source::open(context)?;
    let mut all = QueryAnswer {
        records: Vec::new(),
        next: None,
    };
    // One answer looks at so many records only.
    loop {
        let answer = source.query(&Query {
            filter: filter.clone(),
            limit: args.limit - all.records.len(),
            before: all.next,
            scan: None,
        })?;
        all.records.extend(answer.records);
        all.next = answer.next;
        if all.next.is_none() || all.records.len() >= args.limit {
            break;
        }
    }
    context.output.result(&all, |all| table(&all.records))
}

fn render(answer: &TailAnswer) -> String {
    table(&answer.records)
}

fn table(records: &[Record]) -> String {
    let mut table = Table::new(&["CHAIN", "SEQ", "TIME", "KIND", "CLIENT", "WHAT", "RESULT"]);
    for record in records {
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
            record.entity.clone(),
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
