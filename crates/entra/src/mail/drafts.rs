//! Drafts: letters that wait for their author in the drafts' folder.
//!
//! Nothing here can send one: the scope that is asked for does not allow it,
//! and there is no such request. A draft has a `Message-ID` made of its key, by
//! which it is found again, so that it is not made twice.

use http::Method;
use legation_core::OpContext;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::filing::writing;
use super::listing::listed;
use super::wire::WireListed;
use super::{Folder, ListedLetter, MailError, SELECT};
use crate::account::Account;
use crate::base::{query_value, segment};
use crate::error::GraphError;
use crate::graph::{Graph, GraphCall};
use crate::html::Html;
use crate::http::Repeat;

/// A mailbox that drafts are put into.
#[derive(Clone, Debug)]
pub struct Drafts {
    graph: Graph,
}

/// A draft that is to be made.
#[derive(Clone, Debug, Default)]
pub struct NewDraft {
    /// Addresses.
    pub to: Vec<String>,
    /// Addresses.
    pub cc: Vec<String>,
    /// Addresses.
    pub bcc: Vec<String>,
    /// Its subject; an answer without one has that of the letter it answers.
    pub subject: String,
    /// What it says.
    pub body: DraftBody,
    /// The id of the letter it answers.
    pub answers: Option<String>,
    /// What it is known by. The same key again finds the draft that was made,
    /// or the letter it became.
    pub key: Option<String>,
}

/// What a draft says.
#[derive(Clone, Debug)]
pub enum DraftBody {
    /// Text.
    Text(String),
    /// HTML; what is not known to be harmless is left out.
    Html(String),
}

/// A draft that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// The draft.
    pub letter: ListedLetter,
    /// Whether it had been made before.
    pub was_found: bool,
}

/// Most recipients of a draft, of all kinds together.
pub const RECIPIENTS_MAX: usize = 100;
/// Largest text of a draft, in bytes.
pub const DRAFT_MAX: usize = 256 << 10;
const SUBJECT_MAX: usize = 255;
const TRIES: usize = 3;
const MORE: &str = "bodyPreview,isRead,importance,parentFolderId,webLink";

// === impl Account ===

impl Account {
    /// The mailbox of whoever acts, to put drafts into.
    #[must_use]
    pub fn drafts(&self) -> Drafts {
        Drafts {
            graph: writing(self),
        }
    }
}

// === impl DraftBody ===

impl Default for DraftBody {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

impl DraftBody {
    fn to_wire(&self) -> Value {
        match self {
            Self::Text(text) => json!({ "contentType": "text", "content": text }),
            Self::Html(html) => {
                let html = Html::parse(html).to_html();
                json!({ "contentType": "html", "content": html })
            }
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Text(text) | Self::Html(text) => text.len(),
        }
    }
}

// === impl Drafts ===

impl Drafts {
    /// Puts a draft into the drafts' folder, once for each key.
    ///
    /// # Errors
    /// See [`MailError`].
    pub async fn make(&self, ctx: &OpContext, new: &NewDraft) -> Result<Draft, MailError> {
        new.check()?;
        let key = match &new.key {
            Some(key) => self.message_id(key),
            None => {
                let made = crate::base::uuid().map_err(|_| MailError::Graph {
                    source: GraphError::Unreachable {
                        operation: "POST /v1.0/me/messages".into(),
                        source: crate::http::HttpError::Random,
                    },
                })?;
                self.message_id(&made)
            }
        };
        // Asked first, as the hub that made it may have ended before it heard so.
        if new.key.is_some()
            && let Some(found) = self.find(ctx, &key).await?
        {
            return Ok(found);
        }
        let (path, body) = new.request(&key);
        let mut call = GraphCall::new(Method::POST, &path);
        call.body = Some(body);
        call.repeat = Repeat::Refused;
        let mut tries = 0;
        let wire: WireListed = loop {
            tries += 1;
            let error = match self.graph.call(ctx, &call).await {
                Ok(answer) => break answer.json().map_err(uncertain)?,
                Err(error) if !error.is_ambiguous() => return Err(MailError::at_letter(error)),
                Err(error) => error,
            };
            match self.find(ctx, &key).await {
                Ok(Some(found)) => {
                    return Ok(Draft {
                        was_found: false,
                        ..found
                    });
                }
                Ok(None) if tries < TRIES => {}
                Ok(None) => return Err(MailError::Graph { source: error }),
                Err(_) => return Err(uncertain(error)),
            }
        };
        let letter = listed(wire).ok_or(MailError::NoDraft)?;
        let folder = Folder::DRAFTS.find(ctx, &self.graph).await?;
        if !letter.is_draft || letter.folder != folder.id {
            return Err(MailError::NoDraft);
        }
        Ok(Draft {
            letter,
            was_found: false,
        })
    }

    /// What was made with this `Message-ID`, wherever it lies by now.
    async fn find(&self, ctx: &OpContext, key: &str) -> Result<Option<Draft>, MailError> {
        let filter = format!("internetMessageId eq '{key}'");
        let path = format!(
            "/me/messages?$top=2&$select={SELECT},{MORE}&$filter={}",
            query_value(&filter)
        );
        let found = self.graph.list_some::<WireListed>(ctx, &path, 1).await;
        let (found, _) = found.map_err(|source| MailError::Graph { source })?;
        Ok(found.into_iter().find_map(listed).map(|letter| Draft {
            letter,
            was_found: true,
        }))
    }

    /// The `Message-ID` of a key, which tells nothing of it.
    fn message_id(&self, key: &str) -> String {
        let account = self.graph.account();
        let mut digest = Sha256::new();
        for part in [account.name(), key] {
            digest.update(part.len().to_le_bytes());
            digest.update(part);
        }
        let digest = legation_core::id::hex(&digest.finalize()[..16]);
        let settings = account.settings();
        let own = [settings.agent_user.as_deref(), settings.human.as_deref()];
        let domain = own
            .into_iter()
            .flatten()
            .find_map(|own| Some(own.split_once('@')?.1));
        // RFC 2606: a domain that is nobody's.
        format!(
            "<legation.{digest}@{}>",
            domain.unwrap_or("legation.invalid")
        )
    }
}

// === impl NewDraft ===

impl NewDraft {
    fn check(&self) -> Result<(), MailError> {
        let all = [&self.to, &self.cc, &self.bcc];
        let number = all.iter().map(|list| list.len()).sum();
        if number > RECIPIENTS_MAX {
            return Err(MailError::Recipients {
                number,
                most: RECIPIENTS_MAX,
            });
        }
        for (at, address) in all.into_iter().flatten().enumerate() {
            if !is_address(address) {
                return Err(MailError::BadAddress { number: at + 1 });
            }
        }
        if self.body.len() > DRAFT_MAX {
            return Err(MailError::DraftTooLong {
                bytes: self.body.len(),
                most: DRAFT_MAX,
            });
        }
        if self.body.len() == 0 && self.subject.trim().is_empty() {
            return Err(MailError::Empty);
        }
        Ok(())
    }

    /// Where it is posted, and what.
    fn request(&self, message_id: &str) -> (String, Value) {
        let list = |addresses: &[String]| {
            let one = |address: &String| json!({ "emailAddress": { "address": address } });
            Value::from(addresses.iter().map(one).collect::<Vec<_>>())
        };
        let mut message = json!({
            "internetMessageId": message_id,
            "body": self.body.to_wire(),
        });
        // An answer goes to whom the caller says, too: never to whomever the letter names.
        for (name, addresses) in [
            ("toRecipients", &self.to),
            ("ccRecipients", &self.cc),
            ("bccRecipients", &self.bcc),
        ] {
            message[name] = list(addresses);
        }
        let subject = crate::base::plain(&self.subject, SUBJECT_MAX);
        if !subject.is_empty() || self.answers.is_none() {
            message["subject"] = subject.into();
        }
        match &self.answers {
            Some(id) => {
                let path = format!("/me/messages/{}/createReply", segment(id));
                (path, json!({ "message": message }))
            }
            None => ("/me/messages".to_owned(), message),
        }
    }
}

/// `somebody@example.com`, without a name, in the letters that addresses have. Others are none:
/// whoever decides about recipients compares them in a normal form, in which a letter beyond ASCII
/// may become a comma, and one address two.
#[must_use]
pub fn is_address(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else {
        return false;
    };
    let is_odd = |c: char| !c.is_ascii_graphic() || "<>,;:\"()[]\\@".contains(c);
    let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let is_label = |label: &str| !label.is_empty() && label.chars().all(is_letter);
    text.len() <= 320
        && !local.is_empty()
        && !local.contains(is_odd)
        && domain.contains('.')
        && domain.split('.').all(is_label)
}

fn uncertain(source: GraphError) -> MailError {
    MailError::Uncertain {
        what: "making the draft",
        source,
    }
}
