//! Calls under way, as the log of events tells of them: by their ids and names, never by
//! what they carry.

use legation_gate::watch::{Question, Sight, Watched, Watcher};
use serde::Serialize;

use super::EventLog;

/// `tool.execution_start`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Started<'a> {
    tool_call_id: &'a str,
    client: &'a str,
    mcp_server_name: &'a str,
    mcp_tool_name: &'a str,
}

/// `tool.execution_progress`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Progress<'a> {
    tool_call_id: &'a str,
    progress: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<f64>,
}

/// `tool.execution_partial_result`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Partial<'a> {
    tool_call_id: &'a str,
    /// Of the result, until now.
    bytes: u64,
}

/// `tool.execution_complete`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Complete<'a> {
    tool_call_id: &'a str,
    success: bool,
    status: &'a str,
}

/// `elicitation.…` and `sampling.…`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Asked<'a> {
    request_id: String,
    tool_call_id: &'a str,
    client: &'a str,
    mcp_server_name: &'a str,
}

// === impl EventLog ===

impl Watcher for EventLog {
    fn looks(&self) -> bool {
        self.is_read()
    }

    fn saw(&self, call: &Watched<'_>, what: Sight) {
        let tool_call_id = call.call;
        match what {
            Sight::Started => {
                if let Some(mcp_tool_name) = call.item {
                    let started = Started {
                        tool_call_id,
                        client: call.client.as_str(),
                        mcp_server_name: call.server.as_str(),
                        mcp_tool_name,
                    };
                    self.note("tool.execution_start", &started);
                }
            }
            Sight::Progress { progress, total } if call.item.is_some() => {
                let progress = Progress {
                    tool_call_id,
                    progress,
                    total,
                };
                self.note("tool.execution_progress", &progress);
            }
            Sight::Partial(bytes) if call.item.is_some() => {
                let partial = Partial {
                    tool_call_id,
                    bytes,
                };
                self.note("tool.execution_partial_result", &partial);
            }
            Sight::Over(status, success) if call.item.is_some() => {
                let complete = Complete {
                    tool_call_id,
                    success,
                    status,
                };
                self.note("tool.execution_complete", &complete);
            }
            Sight::Progress { .. } | Sight::Partial(_) | Sight::Over(..) => {}
            Sight::Asked(question, number) => self.asked(call, question, number, true),
            Sight::Answered(question, number) => self.asked(call, question, number, false),
        }
    }
}

impl EventLog {
    fn asked(&self, call: &Watched<'_>, question: Question, number: u64, is_new: bool) {
        let name = match (question, is_new) {
            (Question::Elicitation, true) => "elicitation.requested",
            (Question::Elicitation, false) => "elicitation.completed",
            (Question::Sampling, true) => "sampling.requested",
            (Question::Sampling, false) => "sampling.completed",
            (Question::Other, _) => return,
        };
        let asked = Asked {
            request_id: format!("{}-{number}", call.call),
            tool_call_id: call.call,
            client: call.client.as_str(),
            mcp_server_name: call.server.as_str(),
        };
        self.note(name, &asked);
    }
}

#[cfg(test)]
mod tests;
