//! Sending: a message is posted once.
//!
//! Graph has no key for a message. So after an answer that says nothing the
//! chat is read first, and the message posted again only when it is not there.
//! It is found by a marker in it, or, should Teams have removed that, by its
//! text among what was written since.

use std::time::Duration;

use legation_core::{CancelReason, OpContext, Wall};

use super::compose::Part;
use super::turns::APART;
use super::wire::WireMessage;
use super::{ChatError, Chats, List, Message, Outgoing};
use crate::base::{query_value, segment};
use crate::error::GraphError;

/// Attempts at one part.
const TRIES: u32 = 5;
/// A message that was posted may be readable a little later.
const LOOK_AFTER: Duration = Duration::from_secs(1);
/// A message of an earlier attempt with the same key is looked for so far back.
const KEY_BACK_MS: i64 = 24 * 3600 * 1000;
/// Clocks differ; the times of messages are Teams'.
const SLACK_MS: i64 = 5_000;

/// A message that was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Its id.
    pub id: String,
    /// When.
    pub created: Wall,
    /// Whether it had been sent before and was found.
    pub was_found: bool,
}

// === impl Chats ===

impl Chats {
    /// Sends what an agent wants to say, in as many messages as it takes. With
    /// a key that was used before, what was sent then is not sent again.
    ///
    /// # Errors
    /// See [`ChatError`].
    pub async fn send(
        &self,
        ctx: &OpContext,
        chat: &str,
        outgoing: &Outgoing,
    ) -> Result<Vec<Sent>, ChatError> {
        let made;
        let (key, is_used) = match &outgoing.key {
            Some(key) => (key.as_str(), true),
            None => {
                made = crate::base::uuid().map_err(|_| ChatError::Graph {
                    source: GraphError::Unreachable {
                        operation: "POST /v1.0/chats/{id}/messages".into(),
                        source: crate::http::HttpError::Random,
                    },
                })?;
                (made.as_str(), false)
            }
        };
        let parts = outgoing.compose(key)?;
        let me = self.me(ctx).await?;
        let turn = self.graph.account().chat_turns().of(chat);
        let mut last = tokio::select! {
            biased;
            reason = ctx.cancel.cancelled() => {
                let source = cancelled(reason);
                return Err(ChatError::Graph { source });
            }
            turn = turn.lock() => turn,
        };
        let mut sent = Vec::with_capacity(parts.len());
        for part in &parts {
            let posted = self.post(ctx, chat, &me, part, is_used, &mut last).await;
            match posted {
                Ok(one) => sent.push(one),
                Err(Failed::Uncertain(source)) => {
                    let parts_sent = sent.len();
                    return Err(ChatError::Uncertain { parts_sent, source });
                }
                Err(Failed::Refused(source)) if sent.is_empty() => {
                    return Err(ChatError::Graph { source });
                }
                Err(Failed::Refused(source)) => {
                    return Err(ChatError::Partly {
                        parts_sent: sent.len(),
                        parts: parts.len(),
                        source,
                    });
                }
            }
        }
        Ok(sent)
    }

    /// Puts something else in place of a message that was sent: one message,
    /// however long.
    ///
    /// # Errors
    /// See [`ChatError`].
    pub async fn update(
        &self,
        ctx: &OpContext,
        chat: &str,
        message: &str,
        outgoing: &Outgoing,
    ) -> Result<(), ChatError> {
        let parts = outgoing.compose(message)?;
        let [part] = &parts[..] else {
            let size = |part: &Part| part.json.to_string().len();
            return Err(ChatError::TooLong {
                bytes: parts.iter().map(size).sum(),
                most: super::MESSAGE_MAX,
            });
        };
        let path = format!("/chats/{}/messages/{}", segment(chat), segment(message));
        let changed = self.graph.patch(ctx, &path, part.json.clone()).await;
        changed
            .map(drop)
            .map_err(|source| ChatError::Graph { source })
    }

    async fn post(
        &self,
        ctx: &OpContext,
        chat: &str,
        me: &str,
        part: &Part,
        look_first: bool,
        last: &mut Option<std::time::Instant>,
    ) -> Result<Sent, Failed> {
        let path = format!("/chats/{}/messages", segment(chat));
        let clock = self.graph.clock();
        let begun = self.graph.account().http().wall();
        if look_first {
            let since = Wall(begun.0 - KEY_BACK_MS);
            let found = self.look(ctx, chat, me, part, since, false).await;
            if let Some(sent) = found.map_err(Failed::Refused)? {
                return Ok(sent);
            }
        }
        let mut tries = 0;
        loop {
            let since_last = last.map(|last| clock.now().saturating_duration_since(last));
            let wait = since_last.map_or(Duration::ZERO, |passed| APART.saturating_sub(passed));
            pause(ctx, wait).await.map_err(Failed::Refused)?;
            *last = Some(clock.now());
            tries += 1;
            let posted: Result<WireMessage, _> =
                self.graph.post(ctx, &path, part.json.clone()).await;
            let error = match posted {
                Ok(message) => return Ok(Sent::from_wire(message, begun)),
                Err(error) if !error.is_ambiguous() => return Err(Failed::Refused(error)),
                Err(error) => error,
            };
            if matches!(error, GraphError::Cancelled { .. }) {
                return Err(Failed::Uncertain(error));
            }
            pause(ctx, LOOK_AFTER * tries)
                .await
                .map_err(Failed::Uncertain)?;
            let since = Wall(begun.0 - SLACK_MS);
            match self.look(ctx, chat, me, part, since, true).await {
                Ok(Some(sent)) => return Ok(sent),
                Ok(None) if tries < TRIES => {}
                Ok(None) => return Err(Failed::Refused(error)),
                Err(_) => return Err(Failed::Uncertain(error)),
            }
        }
    }

    /// The part among what whoever acts wrote since then.
    async fn look(
        &self,
        ctx: &OpContext,
        chat: &str,
        me: &str,
        part: &Part,
        since: Wall,
        by_text: bool,
    ) -> Result<Option<Sent>, GraphError> {
        let filter = format!("lastModifiedDateTime gt {since}");
        let path = format!(
            "/chats/{}/messages?$top=50&$orderby={}&$filter={}",
            segment(chat),
            query_value("lastModifiedDateTime desc"),
            query_value(&filter),
        );
        let page: List = self.graph.get(ctx, &path).await?;
        for wire in page.value {
            let raw = wire.body.as_ref().and_then(|body| body.content.clone());
            let has_marker = raw.is_some_and(|raw| raw.contains(&part.marker));
            let Some(message) = Message::from_wire(wire) else {
                continue;
            };
            let attached = message.attachments.iter().any(|one| one.id == part.marker);
            let same_text = by_text
                && message.created >= since
                && !part.text.is_empty()
                && message.text == part.text;
            if message.is_from(me) && (has_marker || attached || same_text) {
                return Ok(Some(Sent {
                    id: message.id,
                    created: message.created,
                    was_found: true,
                }));
            }
        }
        Ok(None)
    }
}

enum Failed {
    /// It was not sent.
    Refused(GraphError),
    /// Nobody knows.
    Uncertain(GraphError),
}

async fn pause(ctx: &OpContext, wait: Duration) -> Result<(), GraphError> {
    if wait.is_zero() {
        return Ok(());
    }
    tokio::select! {
        biased;
        reason = ctx.cancel.cancelled() => Err(cancelled(reason)),
        () = tokio::time::sleep(wait) => Ok(()),
    }
}

fn cancelled(reason: CancelReason) -> GraphError {
    GraphError::Cancelled {
        operation: "POST /v1.0/chats/{id}/messages".into(),
        reason,
    }
}

// === impl Sent ===

impl Sent {
    fn from_wire(wire: WireMessage, begun: Wall) -> Self {
        let created = wire.created_date_time.as_deref().and_then(Wall::parse);
        Self {
            id: wire.id,
            created: created.unwrap_or(begun),
            was_found: false,
        }
    }
}
