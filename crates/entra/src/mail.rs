//! The mailbox of whoever acts: what comes into its inbox, what its folders
//! hold, filing, and drafts. There is no sending.
//!
//! What comes by mail is data. Anybody can write to an address, under any
//! name; it is given as text with the address it claims to come from.

mod drafts;
mod error;
mod filing;
mod folder;
mod letter;
mod listing;
mod noise;
mod wire;

use std::collections::BTreeSet;

use http::Method;
use legation_core::{OpContext, Wall};

use crate::account::Account;
use crate::base::{query_value, segment};
use crate::error::{GraphError, GraphMeaning};
use crate::graph::{DeltaFrom, Graph, GraphCall};

pub use drafts::{DRAFT_MAX, Draft, DraftBody, Drafts, NewDraft, RECIPIENTS_MAX, is_address};
pub use error::MailError;
pub use filing::{FILING_SCOPES, Filing, Moved};
pub use folder::{Folder, FoundFolder};
pub use letter::{Address, Letter};
pub use listing::{LIST_MAX, ListedLetter, Listing, OpenedLetter, TEXT_MAX, Touched, Wanted};
pub use noise::Noise;

use wire::{WireAttachment, WireFolder, WireLetter, WireUser, WireWords};

/// What reading a mailbox takes, beside what acting in Teams does. It is asked
/// for apart, so that an account whose tenant grants no mail still talks.
pub const MAIL_SCOPES: [&str; 1] = ["Mail.Read"];

/// A mailbox.
#[derive(Clone, Debug)]
pub struct Mails {
    graph: Graph,
}

/// A page of what changed in the inbox.
#[derive(Debug)]
pub struct MailPage {
    /// What happened, in the order in which Graph tells it.
    pub changes: Vec<MailChange>,
    /// From where to go on.
    pub link: String,
    /// Whether nothing more waits for now.
    pub is_last: bool,
    /// Whether Graph had forgotten the link: the page begins anew.
    pub is_resync: bool,
}

/// What happened in the inbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MailChange {
    /// A letter is there. It may have been there before: Graph tells of it again
    /// when it is read or flagged, and its words never change.
    Here(Box<Letter>),
    /// A letter is there no more: deleted, or moved elsewhere.
    Gone {
        /// Its id.
        id: String,
    },
}

/// Letters on a page; fewer where these are longer than an answer may be, as
/// anybody can write letters with long heads.
const PAGES: [&str; 2] = ["odata.maxpagesize=50", "odata.maxpagesize=10"];
/// The same of a list.
const TOPS: [usize; 2] = [200, 10];
const FOLDER: &str = "/me/mailFolders/inbox";
// Not the words: one letter as long as it likes would keep all others from coming.
const SELECT: &str = "internetMessageId,conversationId,subject,from,sender,toRecipients,ccRecipients,replyTo,receivedDateTime,hasAttachments,isDraft,internetMessageHeaders";
/// Names of attachments that are shown; a letter with more says how many.
const ATTACHMENTS_MAX: usize = 50;

// === impl Account ===

impl Account {
    /// The mailbox of whoever acts.
    #[must_use]
    pub fn mails(&self) -> Mails {
        let resource = self.graph_resource();
        let scopes = MAIL_SCOPES.map(|scope| format!("{resource}/{scope}"));
        Mails {
            graph: self.graph_with_scope(&scopes.join(" ")),
        }
    }
}

// === impl Mails ===

impl Mails {
    /// The time by the services' clock.
    #[must_use]
    pub fn services_time(&self) -> Wall {
        self.graph.account().http().wall()
    }

    /// The addresses of whoever acts, in small letters: those of the settings,
    /// and those the directory has where it tells.
    ///
    /// # Errors
    /// See [`GraphError`]; that it does not tell is none.
    pub async fn own_addresses(&self, ctx: &OpContext) -> Result<BTreeSet<String>, GraphError> {
        let account = self.graph.account();
        let settings = account.settings();
        let own = match account.acting().is_somebody_else() {
            true => settings.agent_user.as_deref(),
            false => settings.human.as_deref(),
        };
        let mut addresses: BTreeSet<String> = own
            .filter(|own| own.contains('@'))
            .map(str::to_lowercase)
            .into_iter()
            .collect();
        let path = "/me?$select=mail,userPrincipalName,proxyAddresses";
        match self.graph.get::<WireUser>(ctx, path).await {
            Ok(user) => addresses.extend(user.addresses()),
            Err(error) if error.meaning() == Some(GraphMeaning::Forbidden) => {}
            Err(error) => return Err(error),
        }
        Ok(addresses)
    }

    /// The letter that came last; `None` where the inbox is empty.
    ///
    /// # Errors
    /// See [`GraphError`].
    pub async fn newest(&self, ctx: &OpContext) -> Result<Option<Letter>, GraphError> {
        let path = format!(
            "{FOLDER}/messages?$top=1&$orderby={}&$select={SELECT}",
            query_value("receivedDateTime desc"),
        );
        let (letters, _) = self.list(ctx, &path).await?;
        Ok(letters.into_iter().next())
    }

    /// The next changes; from the beginning, which is what was received from
    /// `since` on, where there is no link.
    ///
    /// # Errors
    /// See [`GraphError`].
    pub async fn changes(
        &self,
        ctx: &OpContext,
        since: Wall,
        link: Option<String>,
    ) -> Result<MailPage, GraphError> {
        // Outlook keeps times to the second, and its filter knows no more.
        let filter = format!("receivedDateTime ge {}", seconds(since));
        let start = format!(
            "{FOLDER}/messages/delta?$filter={}&$select={SELECT}",
            query_value(&filter)
        );
        let from = match link {
            Some(link) => DeltaFrom::Link { link, start },
            None => DeltaFrom::Start(start),
        };
        let [page, smaller] = PAGES;
        let page = match self.graph.delta::<WireLetter>(ctx, &from, &[page]).await {
            Err(error) if error.is_answer_too_large() => {
                self.graph.delta(ctx, &from, &[smaller]).await?
            }
            other => other?,
        };
        Ok(MailPage {
            changes: page.items.into_iter().filter_map(change).collect(),
            link: page.link,
            is_last: page.is_last,
            is_resync: page.is_resync,
        })
    }

    /// Letters that were received from `since` on, oldest first: a page of
    /// them, and whether there are more.
    ///
    /// # Errors
    /// See [`GraphError`].
    pub async fn received_since(
        &self,
        ctx: &OpContext,
        since: Wall,
    ) -> Result<(Vec<Letter>, bool), GraphError> {
        let filter = format!("receivedDateTime ge {}", seconds(since));
        let path = |top: usize| {
            format!(
                "{FOLDER}/messages?$top={top}&$filter={}&$orderby={}&$select={SELECT}",
                query_value(&filter),
                query_value("receivedDateTime asc"),
            )
        };
        let [top, fewer] = TOPS;
        match self.list(ctx, &path(top)).await {
            Err(error) if error.is_answer_too_large() => self.list(ctx, &path(fewer)).await,
            other => other,
        }
    }

    /// What a letter says, as text; `None` where it says too much, cannot be
    /// read, or is there no more.
    ///
    /// # Errors
    /// See [`GraphError`].
    pub async fn words(&self, ctx: &OpContext, id: &str) -> Result<Option<String>, GraphError> {
        let path = format!("/me/messages/{}?$select=body", segment(id));
        let body = match self.graph.get::<WireWords>(ctx, &path).await {
            Ok(letter) => letter.body,
            Err(GraphError::BadAnswer { .. }) => return Ok(None),
            Err(error) if error.is_answer_too_large() => return Ok(None),
            Err(error) if error.meaning() == Some(GraphMeaning::NotFound) => return Ok(None),
            Err(error) => return Err(error),
        };
        // Megabytes of markup would hold up whatever else this thread does.
        let text = tokio::task::spawn_blocking(|| letter::text(body)).await;
        Ok(text.ok())
    }

    async fn list(&self, ctx: &OpContext, path: &str) -> Result<(Vec<Letter>, bool), GraphError> {
        let (list, is_whole) = self.graph.list_some::<WireLetter>(ctx, path, 1).await?;
        let letters = list.into_iter().filter_map(Letter::from_wire);
        Ok((letters.collect(), !is_whole))
    }

    /// What is attached to a letter, by name.
    ///
    /// # Errors
    /// See [`GraphError`].
    pub async fn attachments(&self, ctx: &OpContext, id: &str) -> Result<Vec<String>, GraphError> {
        let path = format!(
            "/me/messages/{}/attachments?$select=name,isInline&$top={ATTACHMENTS_MAX}",
            segment(id)
        );
        let (list, is_whole) = self
            .graph
            .list_some::<WireAttachment>(ctx, &path, 1)
            .await?;
        let named = list.into_iter().filter(|one| !one.is_inline);
        let names = named.filter_map(|one| one.name);
        let mut names: Vec<String> = names.map(|name| crate::base::plain(&name, 200)).collect();
        if !is_whole {
            names.push("…".to_owned());
        }
        Ok(names)
    }

    /// Whether a letter that left the inbox was deleted, rather than moved.
    ///
    /// # Errors
    /// See [`GraphError`].
    pub async fn is_deleted(&self, ctx: &OpContext, id: &str) -> Result<bool, GraphError> {
        let call = GraphCall::new(
            Method::GET,
            &format!("/me/messages/{}?$select=parentFolderId", segment(id)),
        );
        let letter: WireFolder = match self.graph.call(ctx, &call).await {
            Err(error) if error.meaning() == Some(GraphMeaning::NotFound) => return Ok(true),
            other => other?.json()?,
        };
        let path = "/me/mailFolders/deleteditems?$select=id";
        let bin: WireFolder = self.graph.get(ctx, path).await?;
        Ok(letter.parent_folder_id.is_some() && letter.parent_folder_id == bin.id)
    }
}

fn change(wire: WireLetter) -> Option<MailChange> {
    match &wire.removed {
        Some(_) => Some(MailChange::Gone { id: wire.id }),
        None => Letter::from_wire(wire).map(|letter| MailChange::Here(Box::new(letter))),
    }
}

/// `2026-11-21T01:55:06Z`
fn seconds(at: Wall) -> String {
    let text = at.to_string();
    let whole = text.split('.').next().unwrap_or(&text);
    format!("{}Z", whole.trim_end_matches('Z'))
}

#[cfg(test)]
mod tests;
