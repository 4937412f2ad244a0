//! Letters of an account, read and moved.

use legation_core::OpContext;
use legation_core::error::chain;
use legation_desk::{SourceId, SourceKind};
use legation_entra::error::GraphMeaning;
use legation_entra::mail::{Address, Folder, ListedLetter, MailError, Wanted};
use legation_entra::{Account, Class, GraphError};
use legation_gate::Outcome;
use legation_wire::json::Object;
use serde::{Deserialize, Serialize};

use super::{Shared, arguments};
use crate::accounts::{self, Failure, outcome};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ListArguments {
    profile_id: String,
    #[serde(default)]
    folder: Option<String>,
    #[serde(default)]
    unread: bool,
    #[serde(default)]
    top: Option<usize>,
    #[serde(default)]
    skip: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadArguments {
    profile_id: String,
    message_id: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MoveArguments {
    profile_id: String,
    message_id: String,
    destination_folder: String,
    #[serde(default)]
    create_folder: bool,
}

#[derive(Serialize)]
struct Listed {
    profile_id: String,
    entity: String,
    folder: String,
    messages: Vec<Row>,
    #[serde(skip_serializing_if = "Option::is_none")]
    total_count: Option<u64>,
    has_more: bool,
}

/// A letter, as agents see it.
#[derive(Serialize)]
struct Row {
    id: String,
    source: SourceId,
    subject: String,
    from: Who,
    received_at: String,
    is_read: bool,
    is_draft: bool,
    preview: String,
    has_attachments: bool,
    importance: &'static str,
    conversation_id: String,
    web_link: String,
}

/// Somebody at an address.
#[derive(Serialize)]
pub(super) struct Who {
    name: String,
    address: String,
}

#[derive(Serialize)]
struct Opened {
    profile_id: String,
    entity: String,
    #[serde(flatten)]
    row: Row,
    to: Vec<Who>,
    cc: Vec<Who>,
    reply_to: Vec<Who>,
    attachments: Vec<String>,
    untrusted_text: String,
    is_cut: bool,
}

#[derive(Serialize)]
struct MovedLetter {
    profile_id: String,
    entity: String,
    message_id: String,
    moved: bool,
    folder: String,
    folder_name: String,
    /// Where it lay before: what undoes the move.
    previous_folder: String,
}

const TOP: usize = 25;

/// `mail_list`.
pub(super) async fn list(shared: &Shared, context: &OpContext, arguments: &Object) -> Outcome {
    outcome(listed(shared, context, arguments).await)
}

/// `mail_read`.
pub(super) async fn read(shared: &Shared, context: &OpContext, arguments: &Object) -> Outcome {
    outcome(opened(shared, context, arguments).await)
}

/// `mail_move`.
pub(super) async fn move_to(shared: &Shared, context: &OpContext, arguments: &Object) -> Outcome {
    outcome(moved(shared, context, arguments).await)
}

async fn listed(
    shared: &Shared,
    context: &OpContext,
    arguments: &Object,
) -> Result<Listed, Failure> {
    let wanted: ListArguments = arguments::read(arguments)?;
    let account = ready(shared, context, &wanted.profile_id).await?;
    let folder = wanted.folder.as_deref().unwrap_or("inbox");
    let found = account
        .mails()
        .listed(
            context,
            &Wanted {
                folder: Folder::parse(folder).map_err(|error| failure(&account, &error))?,
                is_unread: wanted.unread,
                from: None,
                since: None,
                most: wanted.top.unwrap_or(TOP),
                skip: wanted.skip,
            },
        )
        .await;
    let found = found.map_err(|error| failure(&account, &error))?;
    let rows = found.letters.into_iter();
    Ok(Listed {
        entity: account.entity().to_string(),
        folder: folder.to_owned(),
        messages: rows.map(|one| Row::of(account.name(), one)).collect(),
        total_count: found.total,
        has_more: found.has_more,
        profile_id: wanted.profile_id,
    })
}

async fn opened(
    shared: &Shared,
    context: &OpContext,
    arguments: &Object,
) -> Result<Opened, Failure> {
    let wanted: ReadArguments = arguments::read(arguments)?;
    let account = ready(shared, context, &wanted.profile_id).await?;
    let opened = account.mails().opened(context, &wanted.message_id).await;
    let opened = opened.map_err(|error| failure(&account, &error))?;
    let all = |list: &[Address]| list.iter().map(Who::of).collect();
    let letter = &opened.listed.letter;
    Ok(Opened {
        entity: account.entity().to_string(),
        to: all(&letter.to),
        cc: all(&letter.cc),
        reply_to: all(&letter.reply_to),
        attachments: opened.attachments,
        untrusted_text: opened.text,
        is_cut: opened.is_cut,
        row: Row::of(account.name(), opened.listed),
        profile_id: wanted.profile_id,
    })
}

async fn moved(
    shared: &Shared,
    context: &OpContext,
    arguments: &Object,
) -> Result<MovedLetter, Failure> {
    let wanted: MoveArguments = arguments::read(arguments)?;
    let account = ready(shared, context, &wanted.profile_id).await?;
    let failed = |error: MailError| failure(&account, &error);
    let folder = Folder::parse(&wanted.destination_folder).map_err(failed)?;
    let filing = account.filing();
    if wanted.create_folder {
        filing.folder(context, &folder).await.map_err(failed)?;
    }
    let moved = filing.move_to(context, &wanted.message_id, &folder).await;
    let moved = moved.map_err(failed)?;
    shared.changed.notify_waiters();
    Ok(MovedLetter {
        entity: account.entity().to_string(),
        message_id: moved.id,
        moved: !moved.was_there,
        folder: moved.to,
        folder_name: moved.to_name,
        previous_folder: moved.from,
        profile_id: wanted.profile_id,
    })
}

/// The account, with somebody who can act for it.
pub(super) async fn ready(
    shared: &Shared,
    context: &OpContext,
    name: &str,
) -> Result<Account, Failure> {
    let picked = shared.accounts.pick(Some(name)).await;
    let account = picked.map_err(|error| Failure::from(&error))?;
    accounts::ready(context, &account).await?;
    Ok(account)
}

/// A failure of the mailbox's in words.
pub(super) fn failure(account: &Account, error: &MailError) -> Failure {
    let scopes = match error {
        MailError::Graph { .. } => "Mail.Read, and Mail.ReadWrite for drafts and filing",
        _ => "",
    };
    said(
        account,
        error,
        (error.class(), error.hint()),
        error.graph(),
        scopes,
    )
}

/// The words for what Graph did not do; what has to be granted is named.
pub(super) fn said(
    account: &Account,
    error: &(dyn std::error::Error + 'static),
    (class, hint): (Class, String),
    graph: Option<&GraphError>,
    scopes: &str,
) -> Failure {
    let is_forbidden = graph.and_then(GraphError::meaning) == Some(GraphMeaning::Forbidden);
    let is_unconsented = class == Class::ConsentDenied || is_forbidden;
    let (class, hint) = match is_unconsented {
        true => {
            let name = account.name();
            let hint = format!("have the tenant grant {scopes} to the account `{name}`");
            (Class::ConsentDenied, hint)
        }
        false => (class, hint),
    };
    let wait = graph.and_then(GraphError::retry_after);
    Failure {
        retry_after_s: wait.map(|wait| wait.as_secs().max(1)),
        ..Failure::said(class, chain(error), &hint)
    }
}

// === impl Row ===

impl Row {
    fn of(account: &str, one: ListedLetter) -> Self {
        let letter = one.letter;
        Self {
            source: SourceId::in_account(SourceKind::Mail, account, &letter.id),
            from: letter.from.as_ref().map_or_else(Who::nobody, Who::of),
            subject: letter.subject,
            received_at: letter.received.to_string(),
            is_read: one.is_read,
            is_draft: one.is_draft,
            preview: one.preview,
            has_attachments: letter.has_attachments,
            importance: if one.is_important { "high" } else { "normal" },
            conversation_id: letter.conversation,
            web_link: one.web_link,
            id: letter.id,
        }
    }
}

// === impl Who ===

impl Who {
    pub(super) fn of(address: &Address) -> Self {
        Self {
            name: address.name.clone(),
            address: address.address.clone(),
        }
    }

    fn nobody() -> Self {
        Self {
            name: String::new(),
            address: String::new(),
        }
    }
}
