//! A run's entries as the book keeps them.
//!
//! The book has a row for each turn and one for each call. Whatever else happens between takes a
//! row of a turn that says nothing, so that there is one order for all of it.

use legation_api::tasks::ToolCallView;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::entry::{CallStatus, Called, Entry, Told};
use crate::record::{self, Background, CallEnd, CallRecord, Said, TurnRecord};

/// What a row holds beside what was said.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "memo", rename_all = "snake_case")]
enum Memo {
    Turn {
        step: u32,
        /// Calls that must not be made.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        cut: Vec<String>,
    },
    Other {
        entry: Entry,
    },
}

/// The row of an entry; `None` for a result, which belongs to its call.
pub(crate) fn row(number: u32, until: u64, entry: &Entry) -> Option<TurnRecord> {
    let (said, memo) = match entry {
        Entry::Turn {
            step,
            text,
            seal,
            reasoning,
            calls,
        } => {
            let said = Said {
                text: text.clone(),
                reasoning: reasoning.clone(),
                seal: seal.clone(),
                calls: calls.iter().map(called).collect(),
            };
            let cut = calls.iter().filter(|call| call.is_cut);
            let cut = cut.map(|call| call.id.clone()).collect();
            (said, Memo::Turn { step: *step, cut })
        }
        Entry::Result { .. } => return None,
        other => {
            let entry = other.clone();
            (Said::default(), Memo::Other { entry })
        }
    };
    Some(TurnRecord {
        step: number,
        until,
        said,
        memo: serde_json::to_value(memo).unwrap_or(Value::Null),
    })
}

/// The entries of what the book keeps, in their order.
pub(crate) fn entries(turns: &[TurnRecord], calls: &[CallRecord]) -> Vec<Entry> {
    let mut entries = Vec::new();
    for turn in turns {
        let memo = serde_json::from_value(turn.memo.clone());
        match memo {
            Ok(Memo::Other { entry }) => entries.push(entry),
            Ok(Memo::Turn { step, cut }) => {
                let said = &turn.said;
                let calls = said.calls.iter().map(|call| Called {
                    id: call.id.clone(),
                    name: call.name.clone(),
                    arguments: call.arguments.clone(),
                    is_cut: cut.contains(&call.id),
                });
                entries.push(Entry::Turn {
                    step,
                    text: said.text.clone(),
                    seal: said.seal.clone(),
                    reasoning: said.reasoning.clone(),
                    calls: calls.collect(),
                });
            }
            // A row of another version of this program: what was said in it still stands.
            Err(_) => entries.push(Entry::Said {
                text: turn.said.text.clone(),
            }),
        }
        let of_turn = calls.iter().filter(|call| call.intent.step == turn.step);
        entries.extend(of_turn.filter_map(result));
    }
    entries
}

fn result(call: &CallRecord) -> Option<Entry> {
    let end = call.end.as_ref()?;
    let id = call.intent.call_id.clone();
    // What it brought since is told by an entry of its own.
    let told = match end.background {
        Some(_) => Told::new(CallStatus::Background, end.text.clone()),
        None => told(&end.view, end.is_error, end.text.clone()),
    };
    Some(Entry::Result { id, told })
}

fn told(view: &ToolCallView, is_error: bool, text: String) -> Told {
    let status = match view.status.as_str() {
        "success" => CallStatus::Success,
        "denied" => CallStatus::Denied,
        "skipped" => CallStatus::Skipped,
        "unknown" => CallStatus::Unknown,
        _ if is_error => CallStatus::Error,
        _ => CallStatus::Success,
    };
    Told {
        status,
        text,
        result_uri: view.result_uri.clone(),
        exit_code: view.exit_code,
        lines: view.lines,
    }
}

/// What a call brought that runs beside the conversation; `None` while it runs.
pub(crate) fn brought(end: &CallEnd) -> Option<Told> {
    let text = end.background.as_ref()?.result.clone()?;
    Some(told(&end.view, end.view.status != "success", text))
}

/// What a call came to, as the book keeps it.
pub(crate) fn end(view: &ToolCallView, told: &Told, background: Option<Background>) -> CallEnd {
    CallEnd {
        text: told.text.clone(),
        is_error: !matches!(told.status, CallStatus::Success | CallStatus::Background),
        view: ended(view, told),
        background,
    }
}

/// A call as people see it once it came to something.
pub(crate) fn ended(view: &ToolCallView, told: &Told) -> ToolCallView {
    ToolCallView {
        status: told.status.as_str().to_owned(),
        exit_code: told.exit_code,
        lines: told.lines,
        result_uri: told.result_uri.clone(),
        ..view.clone()
    }
}

fn called(call: &Called) -> record::Called {
    record::Called {
        id: call.id.clone(),
        name: call.name.clone(),
        arguments: call.arguments.clone(),
    }
}

#[cfg(test)]
mod tests {
    use legation_core::EntityLabels;

    use super::*;

    #[test]
    fn what_is_kept_reads_as_it_was() {
        let call = |id: &str, is_cut| Called {
            id: id.to_owned(),
            name: "bash".to_owned(),
            arguments: "{}".to_owned(),
            is_cut,
        };
        let told = Told {
            exit_code: Some(1),
            lines: Some(3),
            result_uri: Some("legation://spill/1".to_owned()),
            ..Told::new(CallStatus::Denied, "no")
        };
        let all = [
            Entry::Said {
                text: "go on".to_owned(),
            },
            Entry::Turn {
                step: 4,
                text: "I look.".to_owned(),
                seal: Some("s".to_owned()),
                reasoning: "hm".to_owned(),
                calls: vec![call("c1", false), call("c2", true)],
            },
            Entry::Result {
                id: "c1".to_owned(),
                told: told.clone(),
            },
            Entry::Summary {
                text: "so".to_owned(),
                kept: 2,
            },
        ];
        let rows: Vec<TurnRecord> = all
            .iter()
            .filter(|entry| !matches!(entry, Entry::Result { .. }))
            .zip(1..)
            .filter_map(|(entry, number)| row(number, 7, entry))
            .collect();
        let view = ToolCallView {
            tool: "bash".to_owned(),
            status: String::new(),
            path: None,
            command: None,
            exit_code: None,
            lines: None,
            result_uri: None,
        };
        let record = CallRecord {
            intent: record::Intent {
                step: 2,
                place: 1,
                call_id: "c1".to_owned(),
                tool: "bash".to_owned(),
                arguments: "{}".to_owned(),
                changes: true,
                view: view.clone(),
                labels: EntityLabels::none(),
            },
            end: Some(end(&view, &told, None)),
        };
        assert_eq!(entries(&rows, &[record]), all);
    }
}
