//! Letters of a folder as people see them, and one letter with its words.

use legation_core::{OpContext, Wall};
use serde::de::IgnoredAny;

use super::wire::{WireListed, WireListing};
use super::{Address, Folder, Letter, MailError, Mails, SELECT, letter, seconds};
use crate::base::{plain, query_value, segment};
use crate::graph::DeltaFrom;

/// Which letters are wanted.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Of which folder.
    pub folder: Folder,
    /// Only those that were not read yet.
    pub is_unread: bool,
    /// Only those from this address.
    pub from: Option<String>,
    /// Only those that were received from then on.
    pub since: Option<Wall>,
    /// How many, at most [`LIST_MAX`].
    pub most: usize,
    /// How many to leave out from the newest on.
    pub skip: usize,
}

/// Letters of a folder, newest first.
#[derive(Clone, Debug)]
pub struct Listing {
    /// The letters.
    pub letters: Vec<ListedLetter>,
    /// How many there are in all, where Graph says it.
    pub total: Option<u64>,
    /// Whether there are more.
    pub has_more: bool,
}

/// A letter, with what its mailbox knows about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedLetter {
    /// The letter.
    pub letter: Letter,
    /// Its first words.
    pub preview: String,
    /// Whether somebody has read it.
    pub is_read: bool,
    /// Whether it is a draft.
    pub is_draft: bool,
    /// Whether its sender calls it important.
    pub is_important: bool,
    /// The id of the folder it lies in.
    pub folder: String,
    /// Where a person can open it.
    pub web_link: String,
}

/// A letter that was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenedLetter {
    /// The letter.
    pub listed: ListedLetter,
    /// What it says, as text.
    pub text: String,
    /// Whether it says more than that.
    pub is_cut: bool,
    /// What is attached, by name.
    pub attachments: Vec<String>,
}

/// Most letters of one list.
pub const LIST_MAX: usize = 50;
/// Most characters of a letter that are read.
pub const TEXT_MAX: usize = 200_000;
/// Fewer, where letters with long heads make an answer too long.
const FEWER: usize = 10;
const PREVIEW_MAX: usize = 255;
const PAGE: &str = "odata.maxpagesize=200";
const PAGES_MAX: usize = 50;
const MORE: &str = "bodyPreview,isRead,importance,parentFolderId,webLink";
/// Graph wants what a list is ordered by first in its filter, whatever else is in it.
const EVER: &str = "1900-01-01T00:00:00Z";

// === impl Mails ===

impl Mails {
    /// Letters of a folder, newest first.
    ///
    /// # Errors
    /// See [`MailError`].
    pub async fn listed(&self, ctx: &OpContext, wanted: &Wanted) -> Result<Listing, MailError> {
        let folder = wanted.folder.segment(ctx, &self.graph).await?;
        let most = wanted.most.clamp(1, LIST_MAX);
        let page = match self.page(ctx, &folder, wanted, most).await {
            Err(error) if error.is_answer_too_large() => {
                self.page(ctx, &folder, wanted, most.min(FEWER)).await
            }
            other => other,
        };
        let page = page.map_err(|source| MailError::at_folder(&wanted.folder, source))?;
        Ok(Listing {
            total: page.count,
            has_more: page.next.is_some(),
            letters: page.value.into_iter().filter_map(listed).collect(),
        })
    }

    async fn page(
        &self,
        ctx: &OpContext,
        folder: &str,
        wanted: &Wanted,
        most: usize,
    ) -> Result<WireListing, crate::error::GraphError> {
        let mut path = format!(
            "/me/mailFolders/{folder}/messages?$top={most}&$count=true&$orderby={}&$select={SELECT},{MORE}",
            query_value("receivedDateTime desc"),
        );
        if wanted.skip > 0 {
            path.push_str(&format!("&$skip={}", wanted.skip));
        }
        if let Some(filter) = filter(wanted) {
            path.push_str("&$filter=");
            path.push_str(&query_value(&filter));
        }
        self.graph.get(ctx, &path).await
    }

    /// A letter with its words. Nothing of its markup is left in them.
    ///
    /// # Errors
    /// See [`MailError`].
    pub async fn opened(&self, ctx: &OpContext, id: &str) -> Result<OpenedLetter, MailError> {
        let path = format!("/me/messages/{}?$select={SELECT},{MORE},body", segment(id));
        let read = self.graph.get::<WireListed>(ctx, &path).await;
        let mut wire = read.map_err(MailError::at_letter)?;
        let body = wire.body.take();
        let listed = listed(wire).ok_or(MailError::NoLetter)?;
        // Megabytes of markup would hold up whatever else this thread does.
        let text = tokio::task::spawn_blocking(|| letter::text(body)).await;
        let text = text.unwrap_or_default();
        let end = text.char_indices().nth(TEXT_MAX).map(|(at, _)| at);
        let attachments = match listed.letter.has_attachments {
            true => self
                .attachments(ctx, id)
                .await
                .map_err(MailError::at_letter)?,
            false => Vec::new(),
        };
        Ok(OpenedLetter {
            text: text[..end.unwrap_or(text.len())].trim_end().to_owned(),
            is_cut: end.is_some(),
            listed,
            attachments,
        })
    }
}

/// Whether something in the inbox is not as it was, and from where to ask the next time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Touched {
    /// Whether a letter came, left, or was read or flagged.
    pub is_changed: bool,
    /// From where to go on.
    pub link: String,
}

impl Mails {
    /// Whether the inbox changed since a link, in what was received from then on. Without a link
    /// it did.
    ///
    /// # Errors
    /// See [`MailError`].
    pub async fn touched(
        &self,
        ctx: &OpContext,
        since: Wall,
        link: Option<String>,
    ) -> Result<Touched, MailError> {
        let filter = format!("receivedDateTime ge {}", seconds(since));
        let start = format!(
            "/me/mailFolders/inbox/messages/delta?$filter={}&$select=isRead,subject,flag",
            query_value(&filter)
        );
        let mut is_changed = link.is_none();
        let mut at = match link {
            Some(link) => DeltaFrom::Link {
                link,
                start: start.clone(),
            },
            None => DeltaFrom::Start(start.clone()),
        };
        for _ in 0..PAGES_MAX {
            let page = self.graph.delta::<IgnoredAny>(ctx, &at, &[PAGE]).await;
            let page = page.map_err(|source| MailError::Graph { source })?;
            is_changed |= page.is_resync || !page.items.is_empty();
            if page.is_last {
                let link = page.link;
                return Ok(Touched { is_changed, link });
            }
            at = DeltaFrom::Link {
                link: page.link,
                start: start.clone(),
            };
        }
        // More than that is read anew in any case; the rest is told the next time.
        let (DeltaFrom::Link { link, .. } | DeltaFrom::Start(link)) = at;
        Ok(Touched {
            is_changed: true,
            link,
        })
    }
}

// === impl ListedLetter ===

impl ListedLetter {
    /// Whom an answer goes to.
    #[must_use]
    pub fn answered_to(&self) -> Vec<Address> {
        let letter = &self.letter;
        match &letter.reply_to[..] {
            [] => letter.from.iter().cloned().collect(),
            some => some.to_vec(),
        }
    }
}

fn filter(wanted: &Wanted) -> Option<String> {
    let mut tests = Vec::new();
    if wanted.is_unread {
        tests.push("isRead eq false".to_owned());
    }
    if let Some(from) = &wanted.from {
        let from = from.replace('\'', "''");
        tests.push(format!("from/emailAddress/address eq '{from}'"));
    }
    if tests.is_empty() && wanted.since.is_none() {
        return None;
    }
    let since = wanted.since.map_or_else(|| EVER.to_owned(), seconds);
    tests.insert(0, format!("receivedDateTime ge {since}"));
    Some(tests.join(" and "))
}

pub(super) fn listed(wire: WireListed) -> Option<ListedLetter> {
    let is_draft = wire.letter.is_draft == Some(true);
    Some(ListedLetter {
        preview: plain(&wire.body_preview.unwrap_or_default(), PREVIEW_MAX),
        is_read: wire.is_read == Some(true),
        is_draft,
        is_important: wire.importance.as_deref() == Some("high"),
        folder: wire.parent_folder_id.unwrap_or_default(),
        web_link: crate::base::link(wire.web_link),
        letter: Letter::draft_or_not(wire.letter)?,
    })
}
