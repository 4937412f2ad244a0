//! Sending: a message is posted once.
//!
//! Graph has no key for a message. So after an answer that says nothing the
//! chat is read first, and the message posted again only when it is not there.
//! It is found by a marker in it, or, should Teams have removed that, by its
//! text among what was written since.

use std::time::Duration;

use legation_core::{CancelReason, OpContext, Wall};

use super::compose::Part;
use super::turns::{APART, Posted};
use super::wire::WireMessage;
use super::{ChatError, Chats, Message, Outgoing};
use crate::base::{query_value, segment};
use crate::error::GraphError;

/// Attempts at one part.
const TRIES: u32 = 5;
/// A message that was posted may be readable a little later.
const LOOK_AFTER: Duration = Duration::from_secs(1);
/// Pages of fifty that are looked through for a message.
const LOOK_PAGES: usize = 20;
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
    /// Sends what an agent wants to say, in as many messages as it takes. What
    /// an earlier attempt sent ([`Outgoing::earlier`]) is not sent again.
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
        let key = match &outgoing.key {
            Some(key) => key.as_str(),
            None => {
                made = crate::base::uuid().map_err(|_| ChatError::Graph {
                    source: GraphError::Unreachable {
                        operation: "POST /v1.0/chats/{id}/messages".into(),
                        source: crate::http::HttpError::Random,
                    },
                })?;
                made.as_str()
            }
        };
        let parts = outgoing.compose(key)?;
        let me = self.me(ctx).await?;
        let turn = self.graph.account().chat_turns().of(chat);
        let mut turn = tokio::select! {
            biased;
            reason = ctx.cancel.cancelled() => {
                let source = cancelled(reason);
                return Err(ChatError::Graph { source });
            }
            turn = turn.lock() => turn,
        };
        let begun = self.graph.account().http().wall();
        let mut post = Post {
            chat,
            me: &me,
            begun,
            earlier: None,
            others: &[],
            taken: &mut turn,
        };
        let mut sent = Vec::with_capacity(parts.len());
        if let Some(earlier) = &outgoing.earlier {
            let ids = earlier.ids.iter().take(parts.len());
            sent.extend(ids.map(|id| Sent::found(id, earlier.began)));
            post.earlier = Some(earlier.began);
            post.others = &earlier.others;
        }
        for id in sent.iter().map(|one: &Sent| one.id.as_str()) {
            post.taken.add(id);
        }
        for part in &parts[sent.len()..] {
            match self.post(ctx, &mut post, part).await {
                Ok(one) => sent.push(one),
                Err(Failed::Uncertain(source)) => {
                    return Err(ChatError::Uncertain { sent, source });
                }
                Err(Failed::Refused(source)) if sent.is_empty() => {
                    return Err(ChatError::Graph { source });
                }
                Err(Failed::Refused(source)) => {
                    let parts = parts.len();
                    return Err(ChatError::Partly {
                        sent,
                        parts,
                        source,
                    });
                }
            }
        }
        Ok(sent)
    }

    /// The time to give as [`super::Earlier::began`] should the attempt that is
    /// about to be made not end: by the services' clock.
    #[must_use]
    pub fn services_time(&self) -> Wall {
        self.graph.account().http().wall()
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
        post: &mut Post<'_>,
        part: &Part,
    ) -> Result<Sent, Failed> {
        let path = format!("/chats/{}/messages", segment(post.chat));
        let clock = self.graph.clock();
        if let Some(began) = post.earlier {
            let since = Wall(began.0 - SLACK_MS);
            let found = self.look(ctx, post, part, since).await;
            if let Some(sent) = found.map_err(Failed::Refused)? {
                post.taken.add(&sent.id);
                return Ok(sent);
            }
            // What an attempt sent, it sent in order: after a gap is nothing.
            post.earlier = None;
        }
        let mut tries = 0;
        loop {
            let last = post.taken.last;
            let since_last = last.map(|last| clock.now().saturating_duration_since(last));
            let wait = since_last.map_or(Duration::ZERO, |passed| APART.saturating_sub(passed));
            let failed = if tries == 0 {
                Failed::Refused
            } else {
                Failed::Uncertain
            };
            pause(ctx, wait).await.map_err(failed)?;
            post.taken.last = Some(clock.now());
            tries += 1;
            let posted: Result<WireMessage, _> =
                self.graph.post(ctx, &path, part.json.clone()).await;
            let error = match posted {
                Ok(message) => {
                    post.taken.add(&message.id);
                    return Ok(Sent::from_wire(message, post.begun));
                }
                // What became of an attempt before it, nobody knows.
                Err(error) if !error.is_ambiguous() => return Err(failed(error)),
                Err(error) => error,
            };
            if matches!(error, GraphError::Cancelled { .. }) {
                return Err(Failed::Uncertain(error));
            }
            if pause(ctx, LOOK_AFTER * tries).await.is_err() {
                return Err(Failed::Uncertain(error));
            }
            let since = Wall(post.begun.0 - SLACK_MS);
            match self.look(ctx, post, part, since).await {
                Ok(Some(sent)) => {
                    post.taken.add(&sent.id);
                    return Ok(sent);
                }
                Ok(None) if tries < TRIES => {}
                Ok(None) | Err(_) => return Err(Failed::Uncertain(error)),
            }
        }
    }

    /// The part among what whoever acts wrote since then.
    async fn look(
        &self,
        ctx: &OpContext,
        post: &Post<'_>,
        part: &Part,
        since: Wall,
    ) -> Result<Option<Sent>, GraphError> {
        let filter = format!("lastModifiedDateTime gt {since}");
        let path = format!(
            "/chats/{}/messages?$top=50&$orderby={}&$filter={}",
            segment(post.chat),
            query_value("lastModifiedDateTime desc"),
            query_value(&filter),
        );
        let page: Vec<WireMessage> = self.graph.list(ctx, &path, LOOK_PAGES).await?;
        let mut by_text: Option<Sent> = None;
        for wire in page {
            let raw = wire.body.as_ref().and_then(|body| body.content.clone());
            let has_marker = raw.is_some_and(|raw| raw.contains(&part.marker));
            let Some(message) = Message::from_wire(wire) else {
                continue;
            };
            if !message.is_from(post.me) || message.created < since {
                continue;
            }
            let attached = message.attachments.iter().any(|one| one.id == part.marker);
            if has_marker || attached {
                return Ok(Some(Sent::found(&message.id, message.created)));
            }
            // The oldest: parts with the same words arrived in order.
            let is_first = by_text
                .as_ref()
                .is_none_or(|found| message.created < found.created);
            let same_text = !part.text.is_empty() && message.text == part.text;
            let is_other = post.taken.has(&message.id) || post.others.contains(&message.id);
            if same_text && is_first && !is_other {
                by_text = Some(Sent::found(&message.id, message.created));
            }
        }
        Ok(by_text)
    }
}

/// One message on its way.
struct Post<'a> {
    chat: &'a str,
    me: &'a str,
    /// When this attempt began.
    begun: Wall,
    /// When an earlier one did, of which more may be found.
    earlier: Option<Wall>,
    /// What is known to be something else, by who sent it before this process.
    others: &'a [String],
    taken: &'a mut Posted,
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
    fn found(id: &str, created: Wall) -> Self {
        Self {
            id: id.to_owned(),
            created,
            was_found: true,
        }
    }

    fn from_wire(wire: WireMessage, begun: Wall) -> Self {
        let created = wire.created_date_time.as_deref().and_then(Wall::parse);
        Self {
            id: wire.id,
            created: created.unwrap_or(begun),
            was_found: false,
        }
    }
}
