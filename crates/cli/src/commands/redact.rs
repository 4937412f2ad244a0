//! `legation redact`: personal data out of files and pipes.
//!
//! It works without a hub. Text goes out line group by line group, so a pipe that stays open is
//! not waited for. Values and tokens are forgotten at the end, unless a file is named that keeps
//! them; with that file the way back is open. The hub's own vaults stay in the hub: whoever may
//! type a command must not get back what the hub took out of a conversation.

#[cfg(test)]
mod tests;
mod vault;

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use legation_core::{EntityId, SharedClock};
use legation_keystore::Keystore;
use legation_redact::{
    Class, Finding, MemoryVault, Redactor, RedactorSpec, Restorer, RosterEntry, restore_json,
};
use serde::Serialize;

use self::vault::{VaultFile, VaultFileError};
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
    #[arg(long, value_name = "RISK", conflicts_with = "restore")]
    max_risk: Option<f32>,

    /// Keep the tokens in this file for 30 days, sealed under a key of the data directory; a file
    /// that is there already is gone on with.
    #[arg(long, value_name = "FILE")]
    vault: Option<PathBuf>,

    /// Put the values back in the place of the tokens of --vault; with --entity, of a vault that
    /// was made with that entity. Other tokens stay.
    #[arg(long, requires = "vault")]
    restore: bool,
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
    let entity = args.entity.as_deref().map(EntityId::new);
    let mut out = io::stdout().lock();
    if args.restore {
        let mut work = restore_work(context, args, entity.as_ref())?;
        return each_input(&args.files, |input| work.stream(input, &mut out));
    }
    let mut work = redact_work(context, args, entity.as_ref())?;
    each_input(&args.files, |input| work.stream(input, &mut out))
}

/// Runs over the files in their order, or over standard input where there are none.
fn each_input(
    files: &[PathBuf],
    mut run: impl FnMut(&mut dyn BufRead) -> Result<(), CliError>,
) -> Result<(), CliError> {
    if files.is_empty() {
        return run(&mut io::stdin().lock());
    }
    for path in files {
        let file = File::open(path).map_err(|error| {
            CliError::new(
                Exit::Usage,
                format!("{} cannot be read: {error}", path.display()),
            )
            .with_hint("nothing of it was printed; check the path")
        })?;
        run(&mut BufReader::new(file))?;
    }
    Ok(())
}

fn redact_work(
    context: &Context,
    args: &RedactArgs,
    entity: Option<&EntityId>,
) -> Result<Work, CliError> {
    let spec = match entity {
        Some(entity) => entity_spec(context, entity)?,
        None => RedactorSpec::default(),
    };
    let redactor =
        Redactor::build(&spec).map_err(|error| CliError::usage(&error).with_hint(error.hint()))?;
    let (kept, vault) = match &args.vault {
        Some(path) => {
            let keys = keystore(context)?;
            let now_ms = context.clock.wall().0;
            let opened = VaultFile::to_add(path, &keys, entity, now_ms);
            let (kept, vault) = opened.map_err(|error| refused(&error))?;
            (Some(kept), vault)
        }
        None => (None, MemoryVault::new()),
    };
    Ok(Work {
        redactor,
        vault,
        kept,
        clock: context.clock.clone(),
        json: context.output.is_json(),
        max_risk: args.max_risk,
    })
}

fn restore_work(
    context: &Context,
    args: &RedactArgs,
    entity: Option<&EntityId>,
) -> Result<Restoring, CliError> {
    let path = args.vault.as_deref().unwrap_or(Path::new(""));
    let keys = keystore(context)?;
    let vault = VaultFile::to_restore(path, &keys, entity, context.clock.wall().0);
    let vault = vault.map_err(|error| refused(&error))?;
    Ok(Restoring { vault })
}

fn keystore(context: &Context) -> Result<Keystore, CliError> {
    Keystore::open(&context.home.keys())
        .map_err(|error| CliError::failed(&error).with_hint(error.hint()))
}

/// A vault that cannot be used: nothing was read or printed.
fn refused(error: &VaultFileError) -> CliError {
    CliError::usage(error).with_hint(error.hint())
}

/// A text that cannot be read or printed.
fn broken_off(error: &io::Error) -> CliError {
    CliError::new(
        Exit::Failed,
        format!("the text cannot be read or written: {error}; the rest was not printed"),
    )
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
    kept: Option<VaultFile>,
    clock: SharedClock,
    json: bool,
    max_risk: Option<f32>,
}

/// The way back.
struct Restoring {
    vault: MemoryVault,
}

// === impl Work ===

impl Work {
    /// Redacts what comes, block by block. A document of JSON is one block.
    fn stream(&mut self, input: &mut dyn BufRead, out: &mut dyn Write) -> Result<(), CliError> {
        let failed = |error: io::Error| broken_off(&error);
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
        if let Some(kept) = &mut self.kept {
            let fresh = self.vault.take_fresh();
            if let Err(error) = kept.keep(fresh, self.clock.wall().0) {
                let error = CliError::failed(&error).with_hint(error.hint());
                return Ok(Err(error));
            }
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

// === impl Restoring ===

impl Restoring {
    /// Restores what comes, piece by piece: a token may be split over two. A document of JSON is
    /// one piece, so that numbers become numbers again.
    fn stream(&mut self, input: &mut dyn BufRead, out: &mut dyn Write) -> Result<(), CliError> {
        let failed = |error: io::Error| broken_off(&error);
        let mut restorer = Restorer::new();
        let mut document: Option<String> = None;
        let mut begun = false;
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = input.read_until(b'\n', &mut line).map_err(failed)?;
            let text = String::from_utf8_lossy(&line);
            if read == 0 {
                let rest = match &document {
                    Some(document) => restore_json(document, &self.vault),
                    None => restorer.finish(),
                };
                out.write_all(rest.as_bytes()).map_err(failed)?;
                return out.flush().map_err(failed);
            }
            if !begun && !text.trim().is_empty() {
                begun = true;
                document = text.trim_start().starts_with(['{', '[']).then(String::new);
            }
            match &mut document {
                Some(document) => document.push_str(&text),
                None => {
                    let restored = restorer.push(&text, &self.vault);
                    out.write_all(restored.as_bytes()).map_err(failed)?;
                    out.flush().map_err(failed)?;
                }
            }
        }
    }
}

fn found(finding: &Finding) -> Found {
    Found {
        class: finding.class.label(),
        start: finding.start,
        end: finding.end,
    }
}
