//! From what an agent wants to say to what Teams takes.

use legation_core::Wall;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::ChatError;
use crate::html::{Html, Piece, from_markdown};

/// The most bytes of one message, markup and all. Teams refuses at about
/// 28 KB, and counts what it adds.
pub const MESSAGE_MAX: usize = 24_000;
/// Room for marker and the rest of the body.
const OVERHEAD: usize = 256;

/// What an agent wants to say.
#[derive(Clone, Debug)]
pub struct Outgoing {
    /// What.
    pub body: Body,
    /// To whom in particular; `@Name` in the text becomes the mention.
    pub mentions: Vec<Mention>,
    /// Names this message, and marks it in the chat. Without one, a key is made.
    pub key: Option<String>,
    /// An earlier attempt at the message with this key: what it sent is not
    /// sent again.
    pub earlier: Option<Earlier>,
}

/// An attempt at a message of which its sender did not learn the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Earlier {
    /// When it began, by the services' time.
    pub began: Wall,
    /// The parts it is known to have sent, first to last; what came after them
    /// is looked for in the chat.
    pub ids: Vec<String>,
    /// Messages that are known to be others, whatever words they have.
    pub others: Vec<String>,
}

/// What is said.
#[derive(Clone, Debug)]
pub enum Body {
    /// Text without markup.
    Text(String),
    /// Markdown.
    Markdown(String),
    /// HTML.
    Html(String),
    /// An Adaptive Card, with what is said above it.
    Card {
        /// The card.
        card: Value,
        /// Markdown above it, which may be empty.
        text: String,
    },
}

/// Somebody who is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mention {
    /// The user's id.
    pub user_id: String,
    /// The name in the text.
    pub name: String,
}

/// One message of Teams.
#[derive(Clone, Debug)]
pub(super) struct Part {
    /// What is posted.
    pub(super) json: Value,
    /// Finds it again.
    pub(super) marker: String,
    /// Its text, should the marker not come back.
    pub(super) text: String,
}

// === impl Outgoing ===

impl Outgoing {
    /// Markdown, and nothing else.
    #[must_use]
    pub fn markdown(text: &str) -> Self {
        Self {
            body: Body::Markdown(text.to_owned()),
            mentions: Vec::new(),
            key: None,
            earlier: None,
        }
    }

    /// The messages it becomes.
    pub(super) fn compose(&self, key: &str) -> Result<Vec<Part>, ChatError> {
        let html = match &self.body {
            Body::Text(text) => Html::from_text(text),
            Body::Markdown(text) => from_markdown(text),
            Body::Html(html) => Html::parse(html),
            Body::Card { card, text } => return self.card(key, card, text).map(|part| vec![part]),
        };
        let html = self.named(html);
        if html.is_empty() {
            return Err(ChatError::Empty);
        }
        let too_long = |bytes| ChatError::TooLong {
            bytes,
            most: MESSAGE_MAX,
        };
        let mentions: usize = self.mentions.iter().map(Mention::size).sum();
        let room = MESSAGE_MAX.checked_sub(OVERHEAD + mentions);
        let room = room.filter(|room| *room > 1_000);
        let room = room.ok_or_else(|| too_long(OVERHEAD + mentions))?;
        let parts = html.split(room).map_err(|error| too_long(error.bytes))?;
        let parts = parts.into_iter().enumerate();
        Ok(parts
            .map(|(index, html)| self.part(key, index, &html))
            .collect())
    }

    fn named(&self, html: Html) -> Html {
        html.with_mentions(self.mentions.iter().map(|one| one.name.as_str()))
    }

    fn part(&self, key: &str, index: usize, html: &str) -> Part {
        let marker = marker(key, index);
        let body = Html::parse(html);
        // A span without content shows nothing and takes no room.
        let content = format!("{html}<span title=\"{marker}\"></span>");
        Part {
            text: body.to_text(&|_| None),
            json: json!({
                "body": { "contentType": "html", "content": content },
                "mentions": self.mentions_of(&body),
            }),
            marker,
        }
    }

    fn card(&self, key: &str, card: &Value, text: &str) -> Result<Part, ChatError> {
        let is_card = card.get("type").and_then(Value::as_str) == Some("AdaptiveCard");
        if !is_card {
            return Err(ChatError::Card {
                why: "it is not a JSON object with the type AdaptiveCard",
            });
        }
        let body = self.named(from_markdown(text));
        let id = marker(key, 0);
        let html = format!("{}<attachment id=\"{id}\"></attachment>", body.to_html());
        let card = card.to_string();
        let bytes = card.len() + html.len() + OVERHEAD;
        if bytes > MESSAGE_MAX {
            return Err(ChatError::TooLong {
                bytes,
                most: MESSAGE_MAX,
            });
        }
        Ok(Part {
            text: body.to_text(&|_| None),
            json: json!({
                "body": { "contentType": "html", "content": html },
                "attachments": [{
                    "id": id,
                    "contentType": "application/vnd.microsoft.card.adaptive",
                    "contentUrl": null,
                    "content": card,
                    "name": null,
                    "thumbnailUrl": null,
                }],
                "mentions": self.mentions_of(&body),
            }),
            marker: id,
        })
    }

    /// Those who are named in this part: a list with others in it is refused.
    fn mentions_of(&self, body: &Html) -> Vec<Value> {
        let there = body.pieces().iter().filter_map(|piece| match piece {
            Piece::Mention { id, name } => Some((*id, name)),
            _ => None,
        });
        there
            .filter_map(|(id, name)| {
                let mention = self.mentions.get(usize::try_from(id).ok()?)?;
                Some(json!({
                    "id": id,
                    "mentionText": name,
                    "mentioned": { "user": {
                        "id": mention.user_id,
                        "displayName": mention.name,
                        "userIdentityType": "aadUser",
                    } },
                }))
            })
            .collect()
    }
}

/// What finds a part again, a UUID by its form: also the id of an attachment.
fn marker(key: &str, index: usize) -> String {
    let digest = Sha256::digest(format!("legation part {index} of {key}"));
    let hex = legation_core::id::hex(&digest[..16]);
    let (a, b, c, d, e) = (
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..],
    );
    format!("{a}-{b}-{c}-{d}-{e}")
}

// === impl Mention ===

impl Mention {
    fn size(&self) -> usize {
        self.user_id.len() + 2 * self.name.len() + 160
    }
}
