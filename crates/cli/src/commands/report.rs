//! `legation report`: what agents said of poor results.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use legation_api::tasks::{ReportExport, Reports, ReportsAnswer};

use crate::commands::running_hub;
use crate::commands::session::export::write_json;
use crate::table::Table;
use crate::{CliError, Context};

/// The commands of `legation report`.
#[derive(Debug, Subcommand)]
pub enum ReportCommand {
    /// List the reports, newest first.
    List,
    /// Write a report with the transcript of its task as JSON.
    Export(ExportArgs),
}

/// Arguments of `legation report export`.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// Its id.
    id: String,
    /// Write to this file, which must not exist, instead of standard output.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(crate) fn cmd_report(context: &Context, command: &ReportCommand) -> Result<(), CliError> {
    match command {
        ReportCommand::List => {
            let answer = running_hub(context)?.call(&Reports {})?;
            context.output.result(&answer, render)
        }
        ReportCommand::Export(args) => {
            let report = running_hub(context)?.call(&ReportExport {
                id: args.id.clone(),
            })?;
            write_json(context, &report, args.output.as_deref())
        }
    }
}

fn render(answer: &ReportsAnswer) -> String {
    const SHOWN: usize = 60;
    if answer.reports.is_empty() {
        return "There are no reports.\n".to_owned();
    }
    let mut table = Table::new(&["ID", "WHEN", "FROM", "TASK", "ISSUE", "DESCRIPTION"]);
    for report in &answer.reports {
        table.row([
            report.id.clone(),
            report.created.clone(),
            report.client.clone(),
            report.task_id.clone().unwrap_or_else(|| "-".to_owned()),
            report.issue_type.clone(),
            report.description.chars().take(SHOWN).collect(),
        ]);
    }
    table.render()
}
