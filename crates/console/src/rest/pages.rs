//! Long answers in pages.

use serde_json::{Map, Value};

use super::problem::Problem;
use super::route::Pages;
use http::StatusCode;

/// Most items of a page, and how many there are when nobody says.
pub(super) const LIMIT_MAX: u64 = 1000;
pub(super) const LIMIT: u64 = 100;
/// Longest cursor.
pub(super) const CURSOR_MAX: usize = 4096;

/// What is asked of a page.
#[derive(Debug)]
pub(super) struct Page {
    pages: Pages,
    limit: usize,
    cursor: Option<String>,
}

// === impl Page ===

impl Page {
    /// Takes out of a request what is about its page, and puts in what the method itself
    /// knows of pages.
    pub(super) fn take(pages: Pages, request: &mut Map<String, Value>) -> Result<Self, Problem> {
        let limit = request.remove("limit").and_then(|limit| limit.as_u64());
        let limit = limit.unwrap_or(LIMIT).min(LIMIT_MAX);
        let cursor = match request.remove("cursor") {
            Some(Value::String(cursor)) => Some(cursor),
            _ => None,
        };
        if let Pages::Before { .. } = pages {
            request.insert("limit".to_owned(), limit.into());
            if let Some(cursor) = &cursor {
                let place: u64 = cursor.parse().map_err(|_| stale())?;
                let place = i64::try_from(place).map_err(|_| stale())?;
                request.insert("before".to_owned(), place.into());
            }
        }
        Ok(Self {
            pages,
            limit: usize::try_from(limit).unwrap_or(usize::MAX),
            cursor,
        })
    }

    /// Cuts the page out of an answer, and says where the next one begins.
    pub(super) fn cut(&self, answer: &mut Map<String, Value>) -> Result<(), Problem> {
        let next = match self.pages {
            Pages::Before {
                list,
                place,
                is_oldest_first,
            } => {
                // A method that looks through more than it answers says so itself.
                let said = answer.remove("next").filter(|next| !next.is_null());
                let items = answer.get(list).and_then(Value::as_array);
                let edge = items.filter(|items| items.len() >= self.limit);
                let edge = edge.and_then(|items| match is_oldest_first {
                    true => items.first(),
                    false => items.last(),
                });
                said.or_else(|| edge?.get(place).cloned())
                    .map(|next| next.to_string())
            }
            Pages::Cut { list, keys } => {
                let Some(Value::Array(items)) = answer.get_mut(list) else {
                    return Ok(());
                };
                if let Some(cursor) = &self.cursor {
                    let last = items.iter().position(|item| key(item, keys) == *cursor);
                    items.drain(..=last.ok_or_else(stale)?);
                }
                let has_more = items.len() > self.limit;
                items.truncate(self.limit);
                items
                    .last()
                    .filter(|_| has_more)
                    .map(|item| key(item, keys))
            }
        };
        if let Some(next) = next {
            answer.insert("next_cursor".to_owned(), next.into());
        }
        Ok(())
    }
}

/// What tells an item of a list from the others.
fn key(item: &Value, keys: &[&str]) -> String {
    let parts: Vec<&str> = keys
        .iter()
        .map(|key| item.get(key).and_then(Value::as_str).unwrap_or_default())
        .collect();
    parts.join("\u{1f}")
}

fn stale() -> Problem {
    Problem::new(
        StatusCode::CONFLICT,
        "the cursor leads nowhere any more; nothing was read",
    )
    .with_hint("begin again without a cursor")
}
