//! `legation audit show`.

use std::path::PathBuf;

use clap::Args;
use legation_api::audit::{Filter, Query, Record, TailAnswer};
use legation_core::EntityId;
use legation_keystore::Keystore;
use legation_ledger::LedgerKeys;
use serde_json::Value;

use super::source::Source;
use crate::table::printable;
use crate::{CliError, Context, Exit};

/// Arguments of `legation audit show`.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// The call's id, or a place in a chain, like personal:17.
    #[arg(value_name = "CALL")]
    call: String,
    /// Say whether the bytes of this file are the call's arguments, or its result.
    #[arg(long, value_name = "FILE")]
    compare: Option<PathBuf>,
}

/// The members that hold a commitment.
const COMMITMENTS: [&str; 2] = ["args", "result"];

pub(super) fn cmd_show(context: &Context, args: &ShowArgs) -> Result<(), CliError> {
    let mut source = Source::open(context)?;
    let mut records = match args.call.rsplit_once(':') {
        Some((entity, seq)) => at(&mut source, entity, seq)?,
        None => source.show(&args.call)?,
    };
    // A place in a chain stands for the call it belongs to.
    if let [one] = &records[..]
        && let Some(call) = value(one)["call"].as_str()
    {
        records = source.show(call)?;
    }
    if records.is_empty() {
        return Err(CliError::new(
            Exit::Failed,
            format!("there is no record of {:?}", args.call),
        )
        .with_hint("`legation audit query` lists calls with --json; the id is the member `call`"));
    }
    let Some(path) = &args.compare else {
        return context.output.result(&TailAnswer { records }, render);
    };
    let bytes = std::fs::read(path).map_err(|error| CliError::failed(&error))?;
    let found = compare(context, &records, &bytes)?;
    context.output.result(&TailAnswer { records }, render)?;
    match found {
        Some(member) => {
            context
                .output
                .say(&format!("the file is what {member} commits to\n"));
            Ok(())
        }
        None => Err(CliError::new(
            Exit::Failed,
            "the file is not what the call's records commit to, or their key was destroyed",
        )),
    }
}

fn at(source: &mut Source, entity: &str, seq: &str) -> Result<Vec<Record>, CliError> {
    let seq = seq.parse().map_err(|_| {
        CliError::new(
            Exit::Usage,
            format!("{seq:?} is no place in a chain; nothing was read"),
        )
    })?;
    let mut query = Query {
        filter: Filter {
            entity: Some(entity.to_owned()),
            seq: Some(seq),
            ..Filter::default()
        },
        limit: 1,
        before: None,
        scan: None,
    };
    loop {
        let answer = source.query(&query)?;
        if !answer.records.is_empty() || answer.next.is_none() {
            return Ok(answer.records);
        }
        query.before = answer.next;
    }
}

/// The member that commits to `bytes`.
fn compare(
    context: &Context,
    records: &[Record],
    bytes: &[u8],
) -> Result<Option<&'static str>, CliError> {
    let keystore = Keystore::open(&context.home.keys())
        .map_err(|error| CliError::failed(&error).with_hint(error.hint()))?;
    let keys = LedgerKeys::kept_in(std::sync::Arc::new(keystore));
    for record in records {
        let entity = EntityId::new(record.entity.as_str());
        let commitment = keys
            .commitment(&entity, record.at_ms, bytes)
            .map_err(|error| CliError::failed(&error).with_hint(error.hint()))?;
        let value = value(record);
        let named = COMMITMENTS.into_iter().find(|name| {
            commitment
                .as_deref()
                .is_some_and(|ours| value[name] == ours)
        });
        if named.is_some() {
            return Ok(named);
        }
    }
    Ok(None)
}

fn value(record: &Record) -> Value {
    serde_json::from_str(record.record.get()).unwrap_or_default()
}

fn render(answer: &TailAnswer) -> String {
    let mut text = String::new();
    for record in &answer.records {
        text.push_str(&format!("{}:{}\n", printable(&record.entity), record.seq));
        if let Value::Object(members) = value(record) {
            for (name, value) in members {
                if matches!(name.as_str(), "v" | "entity" | "seq") {
                    continue;
                }
                let value = match value {
                    Value::String(value) => printable(&value),
                    value => value.to_string(),
                };
                text.push_str(&format!("  {name:<18} {value}\n"));
            }
        }
        text.push_str(&format!("  {:<18} {}\n", "hash", record.hash));
    }
    text
}
