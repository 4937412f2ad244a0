//! Reading a chat in which much was written since: in windows of time, oldest
//! first.
//!
//! Graph lists a chat from its end only, so the oldest of many messages would
//! come last and nothing could be kept before all were read. A window is
//! narrowed until few pages fill it; what does not fit is read in the next.

use legation_core::{OpContext, Wall};

use super::wire::WireMessage;
use super::{ChatError, Chats, Message};
use crate::base::{query_value, segment};
use crate::error::GraphError;

/// Some of a chat's messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// What was written or changed in it, oldest first.
    pub messages: Vec<Message>,
    /// Every change before this time is in it, or in one before it, and later
    /// ones wait; `None` where none wait.
    pub until: Option<Wall>,
}

/// How wide windows are while a chat is caught up with. Between windows it is
/// kept by whoever reads, so that each begins with what fitted before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Width {
    /// The last window that fitted, in milliseconds.
    fitted_ms: Option<i64>,
    /// Reading on to the end from a time before this one did not fit.
    crowded_before: Option<Wall>,
}

/// Pages of fifty messages in a window. Teams answers one request a second for
/// a chat, so a window that turns out too wide has cost so many seconds.
const PAGES_MAX: usize = 10;
/// A window is not narrowed further: that many changes in a moment are none of people's.
const NARROWEST_MS: i64 = 2;

// === impl Chats ===

impl Chats {
    /// The oldest messages that were written or changed after `since`: all of
    /// them where they are few, else as many as fit.
    ///
    /// # Errors
    /// See [`ChatError`].
    pub async fn window(
        &self,
        ctx: &OpContext,
        chat: &str,
        since: Wall,
        width: &mut Width,
    ) -> Result<Window, ChatError> {
        let mut end = width.next(since);
        loop {
            let (messages, overflow) = self.between(ctx, chat, since, end).await?;
            let Some(crowded) = overflow else {
                if let Some(end) = end {
                    width.fitted_ms = Some(end.0 - since.0);
                }
                return Ok(Window {
                    messages,
                    until: end,
                });
            };
            // What is later than the oldest message that was seen did not fit.
            if end.is_none() {
                width.crowded_before = Some(crowded);
            }
            let span = end.unwrap_or(crowded).min(crowded).0 - since.0;
            if span <= NARROWEST_MS {
                return Err(ChatError::Graph {
                    source: GraphError::TooManyPages {
                        operation: "GET /v1.0/chats/{id}/messages".into(),
                        pages: PAGES_MAX,
                    },
                });
            }
            end = Some(Wall(since.0 + (span / 2).max(NARROWEST_MS)));
        }
    }

    /// The messages of an open interval, oldest first; where they are too many,
    /// the time of the oldest that was seen.
    async fn between(
        &self,
        ctx: &OpContext,
        chat: &str,
        after: Wall,
        before: Option<Wall>,
    ) -> Result<(Vec<Message>, Option<Wall>), ChatError> {
        // A filter on another property than the order's is ignored.
        let mut filter = format!("lastModifiedDateTime gt {after}");
        if let Some(before) = before {
            filter.push_str(&format!(" and lastModifiedDateTime lt {before}"));
        }
        let path = format!(
            "/chats/{}/messages?$top=50&$orderby={}&$filter={}",
            segment(chat),
            query_value("lastModifiedDateTime desc"),
            query_value(&filter),
        );
        let read = self.graph.list_some(ctx, &path, PAGES_MAX).await;
        let (list, is_whole): (Vec<WireMessage>, bool) =
            read.map_err(|source| ChatError::Graph { source })?;
        let messages = sorted(list);
        let overflow = match is_whole {
            true => None,
            false => Some(messages.first().map_or(after, |oldest| oldest.modified)),
        };
        Ok((messages, overflow))
    }
}

/// Messages in the order in which they were changed.
pub(super) fn sorted(list: Vec<WireMessage>) -> Vec<Message> {
    let mut messages: Vec<Message> = list.into_iter().filter_map(Message::from_wire).collect();
    messages.sort_by(|a, b| a.modified.cmp(&b.modified).then_with(|| a.id.cmp(&b.id)));
    messages
}

// === impl Width ===

impl Width {
    /// The end of the window that begins here; `None` to read on to the end.
    /// Each is tried twice as wide as the last: people do not write evenly.
    fn next(&self, since: Wall) -> Option<Wall> {
        let (fitted, crowded) = (self.fitted_ms?, self.crowded_before?);
        let end = Wall(since.0.saturating_add(fitted.saturating_mul(2)));
        (crowded.0 - since.0 > 1).then(|| end.min(crowded))
    }
}
