//! Messages as they are read.

use legation_core::Wall;

use super::wire::{List, WireAttachment, WireFrom, WireMessage};
use crate::html::Html;

/// A message that was read. Its text is data of whoever wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its id; it stays when the message is changed.
    pub id: String,
    /// Its version; it changes with every change, a reaction among them.
    pub etag: String,
    /// What it is.
    pub kind: Kind,
    /// When it was written.
    pub created: Wall,
    /// When it was last changed.
    pub modified: Wall,
    /// When its writer last wrote it anew, if ever; a reaction is no edit.
    pub edited: Option<Wall>,
    /// Whether its writer removed it.
    pub is_deleted: bool,
    /// Who wrote it; nobody writes a system message.
    pub from: Option<Sender>,
    /// Its text, without markup.
    pub text: String,
    /// Its text as sanitised HTML.
    pub html: String,
    /// Who is mentioned: user ids.
    pub mentions: Vec<String>,
    /// What is attached.
    pub attachments: Vec<Attachment>,
}

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Somebody's message.
    Message,
    /// An event of the chat: somebody was added, a call ended.
    System,
    /// A kind that came after this program.
    Other,
}

/// Who wrote a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sender {
    /// The user's or application's id.
    pub id: String,
    /// The name shown beside it.
    pub name: String,
    /// Whether it is a user's.
    pub is_user: bool,
}

/// What is attached to a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// Its id, to which the text refers.
    pub id: String,
    /// What it is.
    pub content_type: String,
    /// Its name.
    pub name: Option<String>,
}

/// A quotation of an earlier message, whose id is the attachment's.
const QUOTATION: &str = "messageReference";

// === impl Message ===

impl Message {
    /// Reads a page of a list of messages as Graph sends it.
    ///
    /// # Errors
    /// When it is not JSON of that shape.
    pub fn page(json: &[u8]) -> Result<Vec<Self>, serde_json::Error> {
        let page: List = serde_json::from_slice(json)?;
        Ok(page.value.into_iter().filter_map(Self::from_wire).collect())
    }

    /// Reads what Graph answers; a message without times is none.
    pub(super) fn from_wire(wire: WireMessage) -> Option<Self> {
        let created = wire.created_date_time.as_deref().and_then(Wall::parse);
        let modified = wire.last_modified_date_time.as_deref();
        let modified = modified.and_then(Wall::parse).or(created)?;
        let edited = wire.last_edited_date_time.as_deref();
        let kind = match wire.message_type.as_deref() {
            None | Some("message") => Kind::Message,
            Some("systemEventMessage") => Kind::System,
            Some(_) => Kind::Other,
        };
        let attachments: Vec<Attachment> = wire
            .attachments
            .unwrap_or_default()
            .into_iter()
            .filter_map(Attachment::from_wire)
            .collect();
        let html = body(wire.body);
        let name = |id: &str| {
            let found = attachments.iter().find(|one| one.id == id)?;
            Some(match (&found.name, found.is_quotation()) {
                (_, true) => "quotation".to_owned(),
                (Some(name), false) => name.clone(),
                (None, false) => "attachment".to_owned(),
            })
        };
        let mentions = wire.mentions.unwrap_or_default().into_iter();
        let mentions = mentions.filter_map(|one| one.mentioned?.user?.id).collect();
        Some(Self {
            text: html.to_text(&name),
            html: html.to_html(),
            etag: wire.etag.unwrap_or_default(),
            id: wire.id,
            kind,
            created: created.unwrap_or(modified),
            modified,
            edited: edited.and_then(Wall::parse),
            is_deleted: wire.deleted_date_time.is_some(),
            from: wire.from.and_then(Sender::from_wire),
            mentions,
            attachments,
        })
    }

    /// Whether this user wrote it.
    #[must_use]
    pub fn is_from(&self, user: &str) -> bool {
        let from = self.from.as_ref();
        from.is_some_and(|from| from.is_user && from.id.eq_ignore_ascii_case(user))
    }
}

fn body(body: Option<super::wire::WireBody>) -> Html {
    let Some(body) = body else {
        return Html::default();
    };
    let content = body.content.unwrap_or_default();
    match body.content_type.as_deref() {
        Some("text") => Html::from_text(&content),
        _ => Html::parse(&content),
    }
}

// === impl Sender ===

impl Sender {
    fn from_wire(from: WireFrom) -> Option<Self> {
        let is_user = from.user.is_some();
        let identity = from.user.or(from.application)?;
        Some(Self {
            id: identity.id?,
            name: crate::base::plain(&identity.display_name.unwrap_or_default(), 200),
            is_user,
        })
    }
}

// === impl Attachment ===

impl Attachment {
    fn from_wire(wire: WireAttachment) -> Option<Self> {
        Some(Self {
            id: wire.id?,
            content_type: wire.content_type.unwrap_or_default(),
            name: wire.name.map(|name| crate::base::plain(&name, 200)),
        })
    }

    /// Whether it is a quotation of an earlier message.
    #[must_use]
    pub fn is_quotation(&self) -> bool {
        self.content_type == QUOTATION
    }
}
