//! Where questions were put, as rows: ids and a random number, nothing of their
//! words and no code.

use std::collections::HashMap;
use std::sync::Arc;

use legation_core::{ClientId, EntityId};
use legation_keystore::PutTo;
use legation_store::{KeptRow, Store, StoreError};
use serde::{Deserialize, Serialize};

use super::codes::Tries;
use super::{Place, Question, QuestionKind};

/// How long a row is remembered after its question's end, so that a late or
/// second answer is known for what it is.
const REMEMBERED_MS: i64 = 7 * 24 * 60 * 60 * 1000;
const POSTING: &str = "approval posting";
const TRIES: &str = "approval codes";
/// Most postings that are remembered: many more than can be open.
pub(super) const POSTINGS_MAX: u32 = 8_192;

/// A question that was put somewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Posting {
    /// The question's id.
    pub id: Box<str>,
    /// What kind of question it is.
    pub kind: QuestionKind,
    /// Who asks.
    pub client: ClientId,
    /// What would be done.
    pub call: Box<str>,
    /// In whose chain it is recorded, where it is one entity's.
    pub entity: Option<EntityId>,
    /// Through which account.
    pub account: Box<str>,
    /// In which chat.
    pub chat: Box<str>,
    /// Who may answer.
    pub person: Box<str>,
    /// Who put it.
    pub program: Box<str>,
    /// What the code is made of, with a key.
    pub(super) nonce: [u8; 16],
    /// What was asked.
    pub(super) digest: [u8; 32],
    /// When it was put, by the clock there.
    pub asked_ms: i64,
    /// Until when an answer counts, by the clock there.
    pub until_ms: i64,
    /// The same by the hub's clock.
    pub expires_ms: i64,
    /// Whether what is asked is shown there.
    pub is_shown: bool,
    /// The message it became.
    pub message: Option<Box<str>>,
    /// What became of it.
    pub stage: Stage,
    /// Whether what stands there says how it ended.
    pub is_told: bool,
}

/// What became of a posting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// It is on its way, or perhaps there.
    Posting,
    /// It waits there.
    Open,
    /// It was answered there.
    Answered {
        /// Whether with a yes.
        approve: bool,
        /// By this message.
        by: Box<str>,
    },
    /// It was answered elsewhere.
    Elsewhere,
    /// Its time was over.
    Expired,
    /// It can be answered no more: other rules are in force, or its session ended.
    Void,
}

/// A posting as its row has it.
#[derive(Serialize, Deserialize)]
struct Kept {
    kind: Box<str>,
    client: Box<str>,
    call: Box<str>,
    entity: Option<Box<str>>,
    account: Box<str>,
    chat: Box<str>,
    person: Box<str>,
    program: Box<str>,
    nonce: [u8; 16],
    digest: [u8; 32],
    asked_ms: i64,
    until_ms: i64,
    expires_ms: i64,
    is_shown: bool,
    message: Option<Box<str>>,
    stage: Stage,
    is_told: bool,
}

/// The rows.
#[derive(Debug)]
pub(super) struct Rows {
    store: Arc<Store>,
}

// === impl Posting ===

impl Posting {
    pub(super) fn new(
        question: &Question,
        place: &Place<'_>,
        nonce: [u8; 16],
        left_ms: i64,
    ) -> Self {
        Self {
            id: question.id.clone(),
            kind: question.kind,
            client: question.client.clone(),
            call: question.call.clone(),
            entity: match question.entities.as_slice() {
                [one] => Some(one.clone()),
                _ => None,
            },
            account: place.account.into(),
            chat: place.chat.into(),
            person: place.person.into(),
            program: place.program.into(),
            nonce,
            digest: question.digest,
            asked_ms: place.now_ms,
            until_ms: place.now_ms.saturating_add(left_ms),
            expires_ms: question.expires_ms,
            is_shown: place.is_shown,
            message: None,
            stage: Stage::Posting,
            is_told: false,
        }
    }

    /// Whether it was put in the same place, by and for the same.
    pub(super) fn is_at(&self, place: &Place<'_>) -> bool {
        *self.account == *place.account
            && *self.chat == *place.chat
            && *self.person == *place.person
            && *self.program == *place.program
            && self.is_shown == place.is_shown
    }

    /// Whether nothing more comes of it.
    #[must_use]
    pub fn is_over(&self) -> bool {
        !matches!(self.stage, Stage::Posting | Stage::Open)
    }

    /// From when on nobody needs to know of it.
    pub(super) fn forgotten_ms(&self) -> i64 {
        self.expires_ms.saturating_add(REMEMBERED_MS)
    }

    /// What its code is made of.
    pub(super) fn put(&self) -> PutTo<'_> {
        PutTo {
            question: &self.digest,
            nonce: &self.nonce,
            person: &self.person,
            program: &self.program,
            from_ms: self.asked_ms,
            until_ms: self.until_ms,
        }
    }

    fn kept(&self) -> Kept {
        Kept {
            kind: self.kind.as_str().into(),
            client: self.client.as_str().into(),
            call: self.call.clone(),
            entity: self.entity.as_ref().map(|entity| entity.as_str().into()),
            account: self.account.clone(),
            chat: self.chat.clone(),
            person: self.person.clone(),
            program: self.program.clone(),
            nonce: self.nonce,
            digest: self.digest,
            asked_ms: self.asked_ms,
            until_ms: self.until_ms,
            expires_ms: self.expires_ms,
            is_shown: self.is_shown,
            message: self.message.clone(),
            stage: self.stage.clone(),
            is_told: self.is_told,
        }
    }

    fn of(id: &str, kept: Kept) -> Option<Self> {
        let kinds = [
            QuestionKind::Approval,
            QuestionKind::Proposal,
            QuestionKind::Permission,
        ];
        Some(Self {
            id: id.into(),
            kind: kinds
                .into_iter()
                .find(|kind| *kind.as_str() == *kept.kind)?,
            client: ClientId::new(kept.client),
            call: kept.call,
            entity: kept.entity.map(EntityId::new),
            account: kept.account,
            chat: kept.chat,
            person: kept.person,
            program: kept.program,
            nonce: kept.nonce,
            digest: kept.digest,
            asked_ms: kept.asked_ms,
            until_ms: kept.until_ms,
            expires_ms: kept.expires_ms,
            is_shown: kept.is_shown,
            message: kept.message,
            stage: kept.stage,
            is_told: kept.is_told,
        })
    }
}

// === impl Rows ===

impl Rows {
    pub(super) fn new(store: &Arc<Store>) -> Self {
        Self {
            store: Arc::clone(store),
        }
    }

    /// Everything that is remembered. A row that cannot be read was changed by
    /// hand: its question is put anew, under another code.
    pub(super) fn postings(&self) -> Result<HashMap<Box<str>, Posting>, StoreError> {
        let rows = self.store.kept_list(POSTING)?;
        let read = rows.into_iter().filter_map(|row| {
            let kept: Kept = serde_json::from_str(&row.value).ok()?;
            let posting = Posting::of(&row.name, kept)?;
            Some((posting.id.clone(), posting))
        });
        Ok(read.collect())
    }

    pub(super) fn put(&self, posting: &Posting) -> Result<(), StoreError> {
        self.store.kept_trim(POSTING, POSTINGS_MAX)?;
        self.store.kept_put(&KeptRow {
            kind: POSTING.to_owned(),
            name: posting.id.to_string(),
            value: serde_json::to_string(&posting.kept()).unwrap_or_default(),
            changed_ms: posting.asked_ms,
            expires_ms: posting.forgotten_ms(),
        })
    }

    /// The wrong codes of each account.
    pub(super) fn tries(&self) -> Result<HashMap<Box<str>, Tries>, StoreError> {
        let rows = self.store.kept_list(TRIES)?;
        let read = rows.into_iter().filter_map(|row| {
            let tries = serde_json::from_str(&row.value).ok()?;
            Some((row.name.into(), tries))
        });
        Ok(read.collect())
    }

    pub(super) fn put_tries(&self, account: &str, tries: Tries) -> Result<(), StoreError> {
        self.store.kept_put(&KeptRow {
            kind: TRIES.to_owned(),
            name: account.to_owned(),
            value: serde_json::to_string(&tries).unwrap_or_default(),
            changed_ms: tries.last_ms,
            expires_ms: tries.last_ms.saturating_add(REMEMBERED_MS),
        })
    }
}
