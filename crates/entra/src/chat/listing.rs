//! The chats that whoever acts is in.

use legation_core::OpContext;

use super::wire::{WireListed, WireMember};
use super::{Chat, ChatError, Chats};

/// A chat among others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The chat; of several others in it `human` is the account's, if that is
    /// one of them.
    pub chat: Chat,
    /// What people call it: its topic, or who else is in it.
    pub title: String,
}

/// Most pages that are read, fifty chats a page.
const PAGES_MAX: usize = 40;
/// Longest title, in characters.
const TITLE_MAX: usize = 120;

// === impl Chats ===

impl Chats {
    /// Every chat that whoever acts is in; of more than two thousand the first.
    ///
    /// # Errors
    /// See [`ChatError`].
    pub async fn all(&self, ctx: &OpContext) -> Result<Vec<Listed>, ChatError> {
        let me = self.me(ctx).await?;
        let path = "/me/chats?$expand=members&$top=50";
        let read = self.graph.list_some(ctx, path, PAGES_MAX).await;
        let (all, is_whole): (Vec<WireListed>, bool) =
            read.map_err(|source| ChatError::Graph { source })?;
        if !is_whole {
            let account = self.graph.account().name();
            tracing::warn!(
                account,
                chats = all.len(),
                "there are more chats than are read"
            );
        }
        let human = self.graph.account().settings().human.as_deref();
        let listed = all.into_iter().map(|wire| listed(wire, &me, human));
        Ok(listed.collect())
    }
}

fn listed(wire: WireListed, me: &str, human: Option<&str>) -> Listed {
    let members = wire.members.unwrap_or_default().into_iter();
    let is_me = |member: &WireMember| {
        let id = member.user_id.as_deref();
        id.is_some_and(|id| id.eq_ignore_ascii_case(me))
    };
    let others: Vec<WireMember> = members.filter(|member| !is_me(member)).collect();
    let is_human = |member: &&WireMember| {
        let names = [member.user_id.as_deref(), member.email.as_deref()];
        let mut names = names.into_iter().flatten();
        human.is_some_and(|human| names.any(|name| name.eq_ignore_ascii_case(human)))
    };
    let found = others.iter().find(is_human);
    let title = match wire.topic.filter(|topic| !topic.trim().is_empty()) {
        Some(topic) => topic,
        None => {
            let names = others.iter().map(|one| text(one.display_name.as_ref()));
            names.collect::<Vec<_>>().join(", ")
        }
    };
    Listed {
        chat: Chat {
            id: wire.id,
            me: me.to_owned(),
            human: text(found.and_then(|one| one.user_id.as_ref())).to_owned(),
            human_name: text(found.and_then(|one| one.display_name.as_ref())).to_owned(),
        },
        title: crate::base::plain(&title, TITLE_MAX),
    }
}

fn text(text: Option<&String>) -> &str {
    text.map(String::as_str).unwrap_or_default()
}
