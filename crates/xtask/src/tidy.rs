//! `cargo xtask tidy`: the house rules that no compiler and no lint knows.
//!
//! Every rule is a pure function from a [`Workspace`] in memory to findings, so that each can be
//! shown to fail on a planted fault. Reading the tree happens once, in [`workspace`]. The rules are
//! textual on purpose: parsing Rust for them would cost more build time than they are worth.

mod deps;
mod documents;
mod layout;
mod licences;
mod parity;
#[cfg(test)]
mod tests;
mod words;
mod workspace;

use std::fmt;
use std::process::ExitCode;

use anyhow::Result;

use crate::sys;
use workspace::Workspace;

/// Options of `cargo xtask tidy`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Treat warnings as errors.
    #[arg(long)]
    strict: bool,
}

/// One broken rule.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Finding {
    rule: &'static str,
    severity: Severity,
    /// Where: a path, with `:line` where there is one.
    place: String,
    message: String,
}

/// Whether a finding fails the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Severity {
    Error,
    Warning,
}

/// A rule: its name and its check.
type Rule = (&'static str, fn(&Workspace) -> Vec<Finding>);

const RULES: &[Rule] = &[
    ("crate-walls", deps::crate_walls),
    ("one-version", deps::one_version),
    ("sources", deps::sources),
    ("rmcp", deps::rmcp),
    ("licences", licences::licences),
    ("file-length", layout::file_length),
    ("forgotten-file", layout::forgotten_file),
    ("crate-doc", layout::crate_doc),
    ("words", words::words),
    ("documents", documents::documents),
    ("invariants", documents::invariants),
    ("parity", parity::parity),
];

/// Checks the tree this program was built from.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    Ok(if is_clean(args.strict)? {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Says what is found; whether that is nothing, or only warnings where they are let pass.
pub(crate) fn is_clean(strict: bool) -> Result<bool> {
    let started = sys::now();
    let workspace = Workspace::read(&sys::root())?;
    let findings = check(&workspace);
    for finding in &findings {
        sys::put(&finding.to_string());
    }
    let errors = findings
        .iter()
        .filter(|f| f.severity == Severity::Error)
        .count();
    let warnings = findings.len() - errors;
    sys::say(&format!(
        "tidy: {} files, {} rules, {errors} errors, {warnings} warnings, {} ms",
        workspace.files.len(),
        RULES.len(),
        started.elapsed().as_millis(),
    ));
    Ok(errors == 0 && !(strict && warnings > 0))
}

/// Every rule's findings, in the order of the rules.
fn check(workspace: &Workspace) -> Vec<Finding> {
    RULES.iter().flat_map(|(_, rule)| rule(workspace)).collect()
}

// === impl Finding ===

impl Finding {
    fn error(rule: &'static str, place: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            rule,
            severity: Severity::Error,
            place: place.into(),
            message: message.into(),
        }
    }

    fn warning(rule: &'static str, place: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::error(rule, place, message)
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        write!(
            f,
            "{severity}[{}] {}: {}",
            self.rule, self.place, self.message
        )
    }
}
