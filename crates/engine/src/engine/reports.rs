//! Reports of poor results.

use legation_api::tasks::ReportView;
use serde_json::Value;

use super::{Asker, Engine};
use crate::TaskError;
use crate::book::Report;

/// A report of a poor result.
#[derive(Debug, Clone)]
pub struct NewReport {
    /// The task it is about.
    pub task: Option<String>,
    /// What is wrong, in a word.
    pub issue_type: String,
    /// What is wrong.
    pub description: String,
    /// What was expected instead.
    pub expected: Option<String>,
}

// === impl Engine ===

impl Engine {
    /// Reports a poor result, with the transcript of its task. On disk on return.
    ///
    /// # Errors
    /// [`TaskError`].
    pub async fn report(&self, who: &Asker, report: NewReport) -> Result<ReportView, TaskError> {
        let task = match &report.task {
            Some(id) => Some(self.found(who, id).await?),
            None => None,
        };
        let report = Report {
            task,
            client: who
                .client()
                .map_or_else(|| "you".to_owned(), ToString::to_string),
            issue_type: report.issue_type,
            description: report.description,
            expected: report.expected,
        };
        Ok(self.core.book.report(report).await?)
    }

    /// Reports, newest first. For the owner.
    ///
    /// # Errors
    /// [`TaskError`] when the book cannot be read.
    pub async fn reports(&self) -> Result<Vec<ReportView>, TaskError> {
        Ok(self.core.book.reports().await?)
    }

    /// A report with the transcript of its task. For the owner.
    ///
    /// # Errors
    /// [`TaskError`].
    pub async fn report_export(&self, id: &str) -> Result<Value, TaskError> {
        Ok(self.core.book.report_export(id).await?)
    }
}
