//! Presence: what others see beside the name.

use std::time::Duration;

use legation_core::OpContext;
use serde_json::{Value, json};

use super::{ChatError, Chats};
use crate::base::segment;
use crate::error::{GraphError, GraphMeaning};

/// What others see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Presence {
    /// Ready for work.
    Available,
    /// At work; Teams has no closer word for it than being in a call.
    Busy,
    /// Waiting for somebody.
    Away,
    /// Not there. A session cannot be offline, so this is a preference, which
    /// holds until another is set.
    Offline,
}

/// Graph takes from five minutes to four hours.
const LONGEST: Duration = Duration::from_secs(4 * 3600);
const SHORTEST: Duration = Duration::from_secs(5 * 60);

// === impl Presence ===

impl Presence {
    /// The word in tools and records.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Available => "Available",
            Self::Busy => "Busy",
            Self::Away => "Away",
            Self::Offline => "Offline",
        }
    }

    /// By the word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Available, Self::Busy, Self::Away, Self::Offline]
            .into_iter()
            .find(|one| one.as_str().eq_ignore_ascii_case(word))
    }

    fn activity(self) -> &'static str {
        match self {
            Self::Available => "Available",
            Self::Busy => "InACall",
            Self::Away => "Away",
            Self::Offline => "OffWork",
        }
    }
}

// === impl Chats ===

impl Chats {
    /// Shows a presence for a while; `Available` fades after five minutes and
    /// is to be set again before that.
    ///
    /// # Errors
    /// See [`ChatError`].
    pub async fn presence_set(
        &self,
        ctx: &OpContext,
        presence: Presence,
        lasts: Duration,
    ) -> Result<(), ChatError> {
        let minutes = lasts.clamp(SHORTEST, LONGEST).as_secs().div_ceil(60);
        let mut body = json!({
            "availability": presence.as_str(),
            "activity": presence.activity(),
            "expirationDuration": format!("PT{minutes}M"),
        });
        if presence == Presence::Offline {
            return self.presence(ctx, "setUserPreferredPresence", body).await;
        }
        // A preference would hide what is set now.
        self.presence(ctx, "clearUserPreferredPresence", json!({}))
            .await?;
        body["sessionId"] = json!(self.session());
        self.presence(ctx, "setPresence", body).await
    }

    /// Shows nothing any more.
    ///
    /// # Errors
    /// See [`ChatError`].
    pub async fn presence_clear(&self, ctx: &OpContext) -> Result<(), ChatError> {
        self.presence(ctx, "clearUserPreferredPresence", json!({}))
            .await?;
        let body = json!({ "sessionId": self.session() });
        self.presence(ctx, "clearPresence", body).await
    }

    async fn presence(&self, ctx: &OpContext, what: &str, body: Value) -> Result<(), ChatError> {
        let me = self.me(ctx).await?;
        let path = format!("/users/{}/presence/{what}", segment(&me));
        let done: Result<Value, GraphError> = self.graph.post_again(ctx, &path, Some(body)).await;
        match done {
            Ok(_) => Ok(()),
            // A session that is not there needs no clearing.
            Err(error)
                if what.starts_with("clear") && error.meaning() == Some(GraphMeaning::NotFound) =>
            {
                Ok(())
            }
            Err(source) => Err(ChatError::Graph { source }),
        }
    }

    /// A session is the application's: its id.
    fn session(&self) -> String {
        let account = self.graph.account();
        let acts = account.known().and_then(|known| known.agent_id);
        let settings = account.settings();
        acts.or_else(|| settings.middle_tier().map(str::to_owned))
            .unwrap_or_default()
    }
}
