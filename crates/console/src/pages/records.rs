//! Records of the ledger, as people read them.

use legation_api::audit::Record;
use maud::{Markup, html};
use serde::Deserialize;

use super::fields::encoded;
use super::html::{badge, entity, moment_ms};

/// A record, taken apart as far as it is shown.
#[derive(Debug, Clone)]
pub(crate) struct Shown {
    pub(crate) record: Record,
    pub(crate) members: Members,
}

/// The members of a record that are shown by name. What is missing is not there.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Members {
    pub(crate) kind: String,
    pub(crate) call: Option<String>,
    pub(crate) client: Option<String>,
    pub(crate) server: Option<String>,
    pub(crate) item: Option<String>,
    pub(crate) verb: Option<String>,
    pub(crate) rule: Option<String>,
    pub(crate) status: Option<String>,
    pub(crate) reason: Option<String>,
    pub(crate) reason_code: Option<String>,
    pub(crate) event: Option<String>,
    pub(crate) topic: Option<String>,
    pub(crate) text: Option<String>,
    pub(crate) execution_time_ms: Option<f64>,
}

// === impl Shown ===

impl Shown {
    pub(crate) fn of(record: Record) -> Self {
        // One that cannot be read is shown as it is; the verifier says what is wrong with it.
        let members = serde_json::from_str(record.record.get()).unwrap_or_default();
        Self { record, members }
    }
}

// === impl Members ===

impl Members {
    fn what(&self) -> String {
        match (&self.server, &self.item) {
            (Some(server), Some(item)) => format!("{server}/{item}"),
            (None, Some(item)) => item.clone(),
            (Some(server), None) => server.clone(),
            (None, None) => {
                let event = self.event.as_ref().or(self.topic.as_ref());
                event.cloned().unwrap_or_default()
            }
        }
    }

    fn says(&self) -> String {
        let text = self.reason.as_ref().or(self.text.as_ref());
        let rule = self.rule.as_ref().map(|rule| format!("by {rule}"));
        let took = self.execution_time_ms.map(|ms| format!("{ms:.1} ms"));
        let parts = [text.cloned(), rule, took];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        parts.join(", ")
    }
}

/// Records in the order they come.
pub(crate) fn table(label: &str, records: &[Shown]) -> Markup {
    let heads = ["When", "Chain", "Record", "Client", "About", "Says"];
    let rows = html! {
        @for Shown { record, members } in records {
            tr {
                td { (moment_ms(record.at_ms)) }
                td { (entity(&record.entity)) " " span.quiet { "#" (record.seq) } }
                td { (badge(members.status.as_deref().unwrap_or(&members.kind))) }
                td { (members.client.as_deref().unwrap_or("")) }
                td.wide {
                    @match &members.call {
                        Some(call) => { a href={ "/ledger/calls/" (encoded(call)) "?at=" (record.position) } { (members.what()) } }
                        None => { (members.what()) }
                    }
                }
                td.wide { (members.says()) }
            }
        }
    };
    super::html::table(label, &heads, &rows)
}
