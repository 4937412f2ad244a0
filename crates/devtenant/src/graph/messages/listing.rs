//! Reading a chat from its end: the one way there is to poll it.

use legation_core::Wall;
use serde_json::{Value, json};

use super::{READ, shown};
use crate::graph::error::Failure;
use crate::graph::{Call, Outcome, odata};
use crate::state::chat::Message;
use crate::web::{Answer, base64_any, base64_url};

/// The two times a chat can be ordered by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    Modified,
    Created,
}

// === impl By ===

impl By {
    fn name(self) -> &'static str {
        match self {
            Self::Modified => "lastModifiedDateTime",
            Self::Created => "createdDateTime",
        }
    }

    fn of(self, message: &Message) -> i64 {
        match self {
            Self::Modified => message.modified_ms,
            Self::Created => message.created_ms,
        }
    }
}

/// `GET /chats/{id}/messages`: newest first.
pub(super) fn list(call: &Call<'_>, chat: &str) -> Outcome {
    call.permit("GET /chats/{id}/messages", &READ, &["Chat.Read.All"])?;
    call.options(&["top", "orderby", "filter", "skiptoken"])?;
    let size = call.top(20, 50)?;
    let by = match call.option("orderby") {
        None => By::Modified,
        Some(text) => match odata::order(text) {
            ("lastModifiedDateTime", true) => By::Modified,
            ("createdDateTime", true) => By::Created,
            _ => {
                return Err(Failure::bad_request(format!(
                    "QueryOptions to order by '{text}' is not supported: only \
                     'lastModifiedDateTime desc' and 'createdDateTime desc' are."
                )));
            }
        },
    };
    let (after, before) = bounds(call, by)?;
    let from = match call.option("skiptoken") {
        None => i64::MAX,
        Some(token) => base64_any(token)
            .and_then(|bytes| String::from_utf8(bytes).ok()?.parse().ok())
            .ok_or_else(|| Failure::bad_request("Skip token is not valid."))?,
    };
    let mut messages: Vec<&Message> = call
        .own_chat(chat)?
        .messages
        .iter()
        .filter(|message| {
            let at = by.of(message);
            at > after && at < before && at < from
        })
        .collect();
    messages.sort_by_key(|message| std::cmp::Reverse(by.of(message)));
    let more = messages.len() > size;
    messages.truncate(size);
    let values = messages
        .iter()
        .map(|message| shown(call, chat, message))
        .collect::<Result<Vec<Value>, _>>()?;
    let mut body = json!({
        "@odata.count": values.len(),
    });
    call.annotate(&mut body, "chats('{id}')/messages");
    if let Some(last) = messages.last().filter(|_| more) {
        let token = base64_url(by.of(last).to_string().as_bytes());
        body["@odata.nextLink"] = odata::link(call.ask, &[("$skiptoken", &token)], &[]).into();
    }
    body["value"] = values.into();
    Ok(Answer::json(200, &body))
}

/// The open interval that a filter leaves. A filter on another property than the order's is
/// ignored, which is what Graph does and what clients must know.
fn bounds(call: &Call<'_>, by: By) -> Result<(i64, i64), Failure> {
    let mut bounds = (i64::MIN, i64::MAX);
    let Some(filter) = call.option("filter") else {
        return Ok(bounds);
    };
    let bad = || Failure::bad_request(format!("Filter expression '{filter}' is not supported."));
    let tests = odata::comparisons(filter).ok_or_else(bad)?;
    for (property, operator, operand) in tests {
        if ![By::Modified.name(), By::Created.name()].contains(&property.as_str()) {
            return Err(bad());
        }
        let at = Wall::parse(&operand).ok_or_else(bad)?.0;
        if call.option("orderby").is_none() || property != by.name() {
            continue;
        }
        match (by, operator.as_str()) {
            (By::Modified, "gt") => bounds.0 = bounds.0.max(at),
            (_, "lt") => bounds.1 = bounds.1.min(at),
            _ => return Err(bad()),
        }
    }
    Ok(bounds)
}
