//! `legation redact`: personal data out of files and pipes.
//!
//! It works without a hub. Text goes out line group by line group, so a pipe that stays open is
//! not waited for; values and tokens are forgotten at the end, because only the hub keeps a vault.

#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;

use clap::Args;
use legation_core::EntityId;
use legation_redact::{Class, Finding, MemoryVault, Redactor, RedactorSpec, RosterEntry};
use serde::Serialize;

use crate::{CliError, Context, Exit};

/// Arguments of `legation redact`.
#[derive(Debug, Args)]
pub struct RedactArgs {
    /// Files to read [default: standard input].
    files: Vec<PathBuf>,

    /// Use the names, fields and patterns of this entity.
    #[arg(long, value_name = "ID")]
    entity: Option<String>,

    /// Fail where more of a text than this may still identify somebody, from 0 to 1.
    #[arg(long, value_name = "RISK")]
    max_risk: Option<f32>,
}

/// A find, as `--json` prints it: where, and of which class; never what.
#[derive(Debug, Serialize)]
struct Found {
    class: &'static str,
    start: usize,
    end: usize,
}

/// A text without its identifiers, as `--json` prints it.
#[derive(Debug, Serialize)]
struct Report {
    text: String,
    findings: Vec<Found>,
    residual_risk: f32,
}

/// Text that is read before it is redacted: whole lines, up to a blank one or this many bytes.
const BLOCK: usize = 64 * 1024;

pub(crate) fn cmd_redact(context: &Context, args: &RedactArgs) -> Result<(), CliError> {
    let spec = match &args.entity {
        Some(entity) => entity_spec(context, &EntityId::new(entity.as_str()))?,
        None => RedactorSpec::default(),
    };
    let redactor =
        Redactor::build(&spec).map_err(|error| CliError::usage(&error).with_hint(error.hint()))?;
    let mut work = Work {
        redactor,
        vault: MemoryVault::new(),
        json: context.output.is_json(),
        max_risk: args.max_risk,
    };
    let mut out = io::stdout().lock();
    if args.files.is_empty() {
        return work.stream(&mut io::stdin().lock(), &mut out);
    }
    for path in &args.files {
        let file = File::open(path).map_err(|error| {
            CliError::new(
                Exit::Usage,
                format!("{} cannot be read: {error}", path.display()),
            )
            .with_hint("nothing of it was printed; check the path")
        })?;
        work.stream(&mut BufReader::new(file), &mut out)?;
    }
    Ok(())
}

/// What the governance files say about an entity's data.
fn entity_spec(context: &Context, entity: &EntityId) -> Result<RedactorSpec, CliError> {
    let found = super::governance::find(context);
    let plan = found.governance().redaction(entity).map_err(|broken| {
        let message = format!("{} {}; nothing was redacted", broken.file, broken.reason);
        CliError::new(Exit::Usage, message).with_hint("see `legation governance check`")
    })?;
    let names = plan.names.into_iter().map(RosterEntry::person);
    let known = plan.identifiers.into_iter();
    let known = known.map(|value| RosterEntry::value(Class::Other, value));
    let profile = found.governance().profile.get();
    if profile.is_ok_and(|profile| !profile.entities.contains_key(entity)) {
        let message = format!("there is no entity {entity}; nothing was redacted");
        return Err(
            CliError::new(Exit::Usage, message).with_hint("see `legation governance explain`")
        );
    }
    Ok(RedactorSpec {
        fields: plan.fields,
        roster: names.chain(known).collect(),
        safe_words: plan.safe_words,
        patterns: plan.patterns,
        ..RedactorSpec::default()
    })
}

struct Work {
    redactor: Redactor,
    vault: MemoryVault,
    json: bool,
    max_risk: Option<f32>,
}

// === impl Work ===

impl Work {
    /// Redacts what comes, block by block. A document of JSON is one block.
    fn stream(&mut self, input: &mut dyn BufRead, out: &mut dyn Write) -> Result<(), CliError> {
        let failed = |error: io::Error| {
            CliError::new(
                Exit::Failed,
                format!("the text cannot be read or written: {error}; the rest was not printed"),
            )
        };
        let mut block = String::new();
        let mut line = Vec::new();
        let mut document = None;
        loop {
            line.clear();
            let read = input.read_until(b'\n', &mut line).map_err(failed)?;
            block.push_str(&String::from_utf8_lossy(&line));
            if document.is_none() && !block.trim().is_empty() {
                document = Some(block.trim_start().starts_with(['{', '[']));
            }
            let paragraph = line.trim_ascii().is_empty() || block.len() >= BLOCK;
            if read == 0 || (document == Some(false) && paragraph) {
                self.block(&block, document == Some(true), out)
                    .map_err(failed)??;
                block.clear();
            }
            if read == 0 {
                return Ok(());
            }
        }
    }

    /// Redacts one block, or refuses it.
    fn block(
        &mut self,
        text: &str,
        document: bool,
        out: &mut dyn Write,
    ) -> io::Result<Result<(), CliError>> {
        if text.is_empty() {
            return Ok(Ok(()));
        }
        let (text, findings, residual_risk) = if document {
            let redacted = self.redactor.redact_json(text, &mut self.vault);
            (redacted.json, redacted.findings, redacted.residual_risk)
        } else {
            let redacted = self.redactor.redact_text(text, &mut self.vault);
            (redacted.text, redacted.findings, redacted.residual_risk)
        };
        if self.max_risk.is_some_and(|most| residual_risk > most) {
            let message =
                format!("the text's residual risk is {residual_risk:.2}; it was not printed");
            return Ok(Err(CliError::new(Exit::Refused, message).with_hint(
                "name the entity whose roster knows its people, or raise --max-risk",
            )));
        }
        if self.json {
            let findings = findings.iter().map(found).collect();
            let report = Report {
                text,
                findings,
                residual_risk,
            };
            serde_json::to_writer(&mut *out, &report)?;
            out.write_all(b"\n")?;
        } else {
            out.write_all(text.as_bytes())?;
        }
        out.flush()?;
        Ok(Ok(()))
    }
}

fn found(finding: &Finding) -> Found {
    Found {
        class: finding.class.label(),
        start: finding.start,
        end: finding.end,
    }
}
