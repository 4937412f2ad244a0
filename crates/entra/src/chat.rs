//! The one-to-one chat of an agent and its human: connecting, reading,
//! sending, changing, presence.
//!
//! What comes from Teams is data. It is given as text with its sender, and
//! nothing in it is obeyed here.

mod compose;
mod error;
mod incoming;
mod listing;
mod news;
mod presence;
mod send;
mod turns;
mod window;
mod wire;

use legation_core::{OpContext, Wall};
use serde_json::json;

use crate::account::{Account, Acting};
use crate::base::{query_value, segment};
use crate::graph::Graph;

pub use compose::{Body, Earlier, MESSAGE_MAX, Mention, Outgoing};
pub use error::ChatError;
pub use incoming::{Attachment, Kind, Message, Sender};
pub use listing::Listed;
pub use news::{Change, News, OVERLAP_MS, Seen};
pub use presence::Presence;
pub use send::Sent;
pub use window::{Width, Window};

pub(crate) use turns::ChatTurns;

use wire::{List, Members, WireChat, WireUser};

/// Most pages of messages that are read at once, fifty a page.
const PAGES_MAX: usize = 40;

/// The chats of whoever acts for an account.
#[derive(Clone, Debug)]
pub struct Chats {
    graph: Graph,
}

/// A chat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chat {
    /// Its id.
    pub id: String,
    /// Who acts in it, as a user.
    pub me: String,
    /// The other one: the user's id, which senders of messages have.
    pub human: String,
    /// The other one's name, as the directory has it.
    pub human_name: String,
}

// === impl Account ===

impl Account {
    /// The chats of whoever acts.
    #[must_use]
    pub fn chats(&self) -> Chats {
        Chats {
            graph: self.graph(),
        }
    }
}

// === impl Chats ===

impl Chats {
    /// The chat with the account's human: the one there is, or a new one. For
    /// a pair Teams has one chat, however often it is asked to make it.
    ///
    /// # Errors
    /// See [`ChatError`].
    pub async fn connect(&self, ctx: &OpContext) -> Result<Chat, ChatError> {
        let account = self.graph.account();
        let human = account.settings().human.clone();
        let human = human.ok_or_else(|| ChatError::NoHuman {
            account: account.name().into(),
        })?;
        self.connect_with(ctx, &human).await
    }

    /// The chat with this user, by id or sign-in name.
    ///
    /// # Errors
    /// See [`ChatError`].
    pub async fn connect_with(&self, ctx: &OpContext, human: &str) -> Result<Chat, ChatError> {
        let me = self.me(ctx).await?;
        if me.eq_ignore_ascii_case(human) {
            return Err(ChatError::Alone {
                acting: self.graph.account().acting(),
            });
        }
        let member = |user: &str| {
            let quoted = user.replace('\'', "''");
            json!({
                "@odata.type": "#microsoft.graph.aadUserConversationMember",
                "roles": ["owner"],
                "user@odata.bind": format!(
                    "{}/v1.0/users('{quoted}')", self.graph.account().graph_resource()
                ),
            })
        };
        let body = json!({ "chatType": "oneOnOne", "members": [member(&me), member(human)] });
        let chat: WireChat = self
            .graph
            .post_again(ctx, "/chats", Some(body))
            .await
            .map_err(|source| ChatError::Graph { source })?;
        self.other(ctx, chat.id, me).await
    }

    /// The settings may name the human by sign-in name; messages have ids.
    async fn other(&self, ctx: &OpContext, id: String, me: String) -> Result<Chat, ChatError> {
        let path = format!("/chats/{}/members", segment(&id));
        let members: Members = self
            .graph
            .get(ctx, &path)
            .await
            .map_err(|source| ChatError::Graph { source })?;
        let others = members.value.into_iter().filter_map(|member| {
            let user = member.user_id?;
            let name = crate::base::plain(&member.display_name.unwrap_or_default(), 200);
            (!user.eq_ignore_ascii_case(&me)).then_some((user, name))
        });
        let others: Vec<(String, String)> = others.collect();
        match <[_; 1]>::try_from(others) {
            Ok([(human, human_name)]) => Ok(Chat {
                id,
                me,
                human,
                human_name,
            }),
            Err(_) => Err(ChatError::Members { chat: id.into() }),
        }
    }

    /// The messages that were written or changed after `since`, oldest first.
    /// Ask with some overlap ([`OVERLAP_MS`]) and sort out what was seen with
    /// [`Seen`]: Teams' clocks are several. Where more than a few hours may
    /// have passed, ask for a [`Chats::window`].
    ///
    /// # Errors
    /// See [`ChatError`].
    pub async fn messages(
        &self,
        ctx: &OpContext,
        chat: &str,
        since: Option<Wall>,
    ) -> Result<Vec<Message>, ChatError> {
        let mut path = format!(
            "/chats/{}/messages?$top=50&$orderby={}",
            segment(chat),
            query_value("lastModifiedDateTime desc"),
        );
        if let Some(since) = since {
            // A filter on another property than the order's is ignored.
            let filter = format!("lastModifiedDateTime gt {since}");
            path.push_str("&$filter=");
            path.push_str(&query_value(&filter));
        }
        let list = match since {
            Some(_) => self.graph.list(ctx, &path, PAGES_MAX).await,
            // Without a time the newest are enough.
            None => self
                .graph
                .get(ctx, &path)
                .await
                .map(|page: List| page.value),
        };
        let list = list.map_err(|source| ChatError::Graph { source })?;
        Ok(window::sorted(list))
    }

    /// The id of the user who acts.
    ///
    /// # Errors
    /// See [`ChatError`].
    pub async fn me(&self, ctx: &OpContext) -> Result<String, ChatError> {
        let account = self.graph.account();
        if let Some(id) = account.known().and_then(|known| known.user_id) {
            return Ok(id);
        }
        let who = account.whoami(ctx).await;
        if let Some(id) = who.map_err(|source| ChatError::SignIn { source })?.user_id {
            return Ok(id);
        }
        // A token that says nothing of its user; Graph knows.
        let user: WireUser = self
            .graph
            .get(ctx, "/me?$select=id")
            .await
            .map_err(|source| ChatError::Graph { source })?;
        Ok(user.id)
    }
}

/// Whether a message can have been written by whoever acts, or by the human.
/// As the application on behalf of a person both are one user.
impl Acting {
    /// Whether agent and human are two users.
    #[must_use]
    pub fn is_somebody_else(self) -> bool {
        self == Self::AgentUser
    }
}

#[cfg(test)]
mod tests;
