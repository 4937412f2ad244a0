//! `legation governance hipaa`.

mod redaction;

use clap::Args;
use legation_core::home::write_private;
use legation_policy::hipaa::{self, Evidence, Line};
use serde::{Deserialize, Serialize};

use super::Found;
use crate::table::{counted, printable};
use crate::{CliError, Context, Exit};

/// Arguments of `legation governance hipaa`.
#[derive(Debug, Args)]
pub struct HipaaArgs {
    /// First try redaction on every name, number and field of the entities.
    #[arg(long)]
    test_redaction: bool,
}

#[derive(Debug, Serialize)]
struct Shown {
    entity: String,
    demand: &'static str,
    open: bool,
    evidence: String,
}

/// What the last test of redaction left behind.
#[derive(Debug, Serialize, Deserialize)]
struct TestRecord {
    /// When, RFC 3339.
    tested_at: String,
    /// The rosters and the profile it was made with.
    digest: String,
    /// Names, identifiers and patterns that were tried.
    tried: u64,
    /// Those that were still there afterwards.
    missed: u64,
}

/// Where a test of redaction leaves its record.
const TEST_RECORD: &str = "redaction_test.json";

pub(super) fn cmd_hipaa(context: &Context, args: &HipaaArgs) -> Result<(), CliError> {
    let found = super::find(context);
    if args.test_redaction {
        test(context, &found)?;
    }
    let evidence = Evidence {
        now_ms: context.clock.wall().0,
        redaction_test: tested(context, &found),
        audit: recorded(context),
    };
    let lines = hipaa::checklist(found.governance(), &evidence);
    let open = lines.iter().filter(|line| line.open).count();
    let shown: Vec<Shown> = lines.into_iter().map(shown).collect();
    context.output.result(&shown, render)?;
    if open == 0 {
        return Ok(());
    }
    Err(CliError::new(
        Exit::Failed,
        format!("{} of {} open", open, counted(shown.len(), "line")),
    )
    .with_hint("each line says what shows it; nothing of the entity should reach a model before"))
}

/// Tries redaction and leaves a record, which holds counts and no names.
fn test(context: &Context, found: &Found) -> Result<(), CliError> {
    let tried = redaction::test(found.governance())?;
    let record = TestRecord {
        tested_at: context.clock.wall().to_string(),
        digest: found.sources.redaction_digest(),
        tried: tried.tried,
        missed: tried.missed,
    };
    let mut text = serde_json::to_string(&record).map_err(|error| CliError::failed(&error))?;
    text.push('\n');
    write_private(&context.home.root().join(TEST_RECORD), text.as_bytes())?;
    Ok(())
}

fn tested(context: &Context, found: &Found) -> Result<String, String> {
    let file = context.home.root().join(TEST_RECORD);
    let text = match legation_config::governance::read_one(&file) {
        legation_config::governance::Found::Text(text) => text,
        legation_config::governance::Found::Absent => {
            return Err("never tested: `legation governance hipaa --test-redaction`".to_owned());
        }
        legation_config::governance::Found::Unusable(why) => {
            return Err(format!("the record of the test {why}"));
        }
    };
    let record: TestRecord = serde_json::from_str(&text)
        .map_err(|_| "the record of the test cannot be understood".to_owned())?;
    if record.digest != found.sources.redaction_digest() {
        return Err(format!(
            "the profile or a roster changed after the test of {}",
            record.tested_at
        ));
    }
    let said = format!(
        "tested on {}: {} tried, {} missed",
        record.tested_at, record.tried, record.missed
    );
    if record.missed == 0 && record.tried > 0 {
        Ok(said)
    } else {
        Err(said)
    }
}

/// The hub records every call from its first start on, or makes none.
fn recorded(context: &Context) -> Result<String, String> {
    let file = context.home.state_db();
    if file.is_file() {
        Ok(format!("the ledger in {}", file.display()))
    } else {
        Err("there is no ledger yet: the hub never ran".to_owned())
    }
}

fn shown(line: Line) -> Shown {
    Shown {
        entity: line.entity.to_string(),
        demand: line.demand,
        open: line.open,
        evidence: line.evidence,
    }
}

fn render(lines: &Vec<Shown>) -> String {
    if lines.is_empty() {
        return "no entity has health information\n".to_owned();
    }
    let mut text = String::new();
    let mut entity = "";
    for line in lines {
        if line.entity != entity {
            entity = &line.entity;
            text.push_str(&format!("{}\n", printable(entity)));
        }
        let mark = if line.open { "[ ]" } else { "[x]" };
        text.push_str(&format!(
            "  {mark} {}\n      {}\n",
            line.demand,
            printable(&line.evidence)
        ));
    }
    text
}
