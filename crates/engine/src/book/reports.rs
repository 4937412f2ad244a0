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

/// Reports that are kept, of all clients together; the oldest go first.
const KEPT_MAX: usize = 1_000;
/// Reports of one client that are kept, so that none can push out those of others.
const OF_CLIENT_MAX: usize = 100;
/// How much of a transcript is kept, in bytes; its end is what the report is about.
const TRANSCRIPT_MAX: usize = 1024 * 1024;
/// The longest that each part of a report's own words is kept, in bytes.
const WORDS_MAX: usize = 16 * 1024;

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
    /// How much of the beginning was left out, because it was too long.
    #[serde(default)]
    left_out: usize,
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
            issue_type: cut(report.issue_type),
            description: cut(report.description),
            expected: report.expected.map(cut),
            created: at.to_string(),
        };
        let mut kept = Kept {
            report: view.clone(),
            task: None,
            messages: Vec::new(),
            turns: Vec::new(),
            calls: Vec::new(),
            left_out: 0,
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
        let most = (OF_CLIENT_MAX, KEPT_MAX);
        let gone = self
            .with_store(true, move |store| store.report_add(&row, most))
            .await?;
        if gone > 0 {
            tracing::info!(gone, "the oldest reports were removed for a new one");
        }
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
        // A third each: what people saw must not push out what the model said, nor that the calls.
        let room = TRANSCRIPT_MAX / 3;
        let (turns, calls) = self.steps(task).await?;
        kept.messages = last_of(own.map(Entry::view).collect(), room, &mut kept.left_out);
        kept.turns = last_of(turns, room, &mut kept.left_out);
        kept.calls = last_of(calls.iter().map(told).collect(), room, &mut kept.left_out);
        kept.task = Some(view);
        Ok(open.labels)
    }

    /// A hub's reports, newest first. One that cannot be read any more says so.
    pub(crate) async fn reports(&self) -> Result<Vec<ReportView>, BookError> {
        let hub = self.hub.clone();
        let rows = self
            .with_store(false, move |store| store.report_list(&hub, KEPT_MAX))
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

/// The last of some things that fit into so many bytes, and how many more do not.
fn last_of<T: Serialize>(mut all: Vec<T>, room: usize, left_out: &mut usize) -> Vec<T> {
    let mut bytes = 0;
    let fit = all.iter().rev().take_while(|one| {
        // What cannot be written takes no room, and is refused where it is.
        bytes += serde_json::to_vec(one).map_or(0, |text| text.len());
        bytes <= room
    });
    let more = all.len() - fit.count();
    *left_out += more;
    all.split_off(more)
}

/// The beginning of what somebody wrote, cut between characters.
fn cut(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(WORDS_MAX));
    text
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
