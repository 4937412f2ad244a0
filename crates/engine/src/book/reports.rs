//! Reports of poor results, each with what led to it.

use legation_api::conversation::MessageView;
use legation_api::tasks::{ReportView, TaskView};
use legation_core::id::random_hex;
use legation_core::{EntityLabels, TaskId, Wall};
use legation_store::ReportRow;
use serde::{Deserialize, Serialize};

use super::Book;
use super::rows::{labels_of, labels_text};
use crate::BookError;
use crate::record::{CallRecord, Entry, TurnRecord};

/// Reports that are listed.
const LIST_MAX: usize = 1_000;

/// What is reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Report {
    pub(crate) task: Option<TaskId>,
    pub(crate) client: String,
    pub(crate) issue_type: String,
    pub(crate) description: String,
    pub(crate) expected: Option<String>,
}

/// A report with everything that led to it.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    report: ReportView,
    task: Option<TaskView>,
    messages: Vec<MessageView>,
    turns: Vec<TurnRecord>,
    calls: Vec<serde_json::Value>,
}

// === impl Book ===

impl Book {
    /// Stores a report with the transcript of its task as it is now. On disk on return.
    pub(crate) async fn report(&self, report: Report) -> Result<ReportView, BookError> {
        let name = random_hex().map_err(|_| BookError::NoName)?;
        let at = self.clock.wall();
        let view = ReportView {
            id: format!("rep_{name}"),
            task_id: report.task.as_ref().map(TaskId::to_string),
            client: report.client.clone(),
            issue_type: report.issue_type,
            description: report.description,
            expected: report.expected,
            created: at.to_string(),
        };
        let mut kept = Kept {
            report: view.clone(),
            task: None,
            messages: Vec::new(),
            turns: Vec::new(),
            calls: Vec::new(),
        };
        let mut labels = EntityLabels::none();
        if let Some(task) = &report.task {
            labels = self.add_transcript(task, &mut kept).await?;
        }
        let row = ReportRow {
            id: view.id.clone(),
            hub: self.hub.clone(),
            task: report.task,
            client: report.client,
            created_ms: at.0,
            labels: labels_text(&labels),
            body: self.seals.seal(&labels, &view.id, &kept)?,
        };
        self.with_store(true, move |store| store.report_add(&row))
            .await?;
        Ok(view)
    }

    async fn add_transcript(
        &self,
        task: &TaskId,
        kept: &mut Kept,
    ) -> Result<EntityLabels, BookError> {
        let (open, view) = self.view(task).await?;
        let entries = self.last(Some(&open.session), None, usize::MAX).await?;
        let own = entries
            .iter()
            .filter(|entry| entry.entry.task.as_ref() == Some(task));
        kept.messages = own.map(Entry::view).collect();
        let (turns, calls) = self.steps(task).await?;
        kept.turns = turns;
        kept.calls = calls.iter().map(told).collect();
        kept.task = Some(view);
        Ok(open.labels)
    }

    /// A hub's reports, newest first. One that cannot be read any more says so.
    pub(crate) async fn reports(&self) -> Result<Vec<ReportView>, BookError> {
        let hub = self.hub.clone();
        let rows = self
            .with_store(false, move |store| store.report_list(&hub, LIST_MAX))
            .await?;
        Ok(rows
            .into_iter()
            .map(|row| match self.report_of(&row) {
                Ok(kept) => kept.report,
                Err(error) => ReportView {
                    id: row.id.clone(),
                    task_id: row.task.map(|task| task.to_string()),
                    client: row.client,
                    issue_type: "other".to_owned(),
                    description: error.to_string(),
                    expected: None,
                    created: Wall(row.created_ms).to_string(),
                },
            })
            .collect())
    }

    /// A report with the transcript of its task.
    pub(crate) async fn report_export(&self, id: &str) -> Result<serde_json::Value, BookError> {
        let (of, hub) = (id.to_owned(), self.hub.clone());
        let row = self
            .with_store(false, move |store| store.report_get(&of))
            .await?;
        let row = row.filter(|row| row.hub == hub);
        let kept = self.report_of(&row.ok_or(BookError::Gone { what: "report" })?)?;
        Ok(serde_json::to_value(&kept).expect("types of ours always serialise"))
    }

    fn report_of(&self, row: &ReportRow) -> Result<Kept, BookError> {
        let opened = self.seals.open(&labels_of(&row.labels), &row.id, &row.body);
        opened.map_err(|_| BookError::Unreadable {
            what: format!("report {}", row.id),
        })
    }
}

fn told(call: &CallRecord) -> serde_json::Value {
    serde_json::json!({
        "step": call.intent.step,
        "tool": call.intent.tool,
        "arguments": call.intent.arguments,
        "result": call.end.as_ref().map(|end| &end.text),
        "is_error": call.end.as_ref().map(|end| end.is_error),
    })
}
