//! The approval desk: what waits for a person, put to them somewhere else, and
//! their word from there.
//!
//! It neither reads a chat nor writes one. Who does tells it what was posted and
//! what came back, and it judges whether that is the person's word
//! ([`legation_keystore::ReplyCodes`]), gives it to what waits, once, and has it
//! recorded whether it counted or not. The alternative, judging where messages
//! are read, was rejected: a server of the hub must not be able to approve
//! anything by itself.

mod codes;
mod permission;
mod posting;
mod question;
mod verdict;
pub mod words;

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use legation_core::{ApprovalId, EntityId, ProposalId};
use legation_keystore::{Key, KeystoreError, ReplyCodes};
use legation_policy::registry::EventName;
use legation_store::{ApprovalState, Store, StoreError};
use tokio::sync::broadcast;

use crate::Asking;
use crate::approval::{ApprovalEvent, State};
use crate::journal::{About, Happened};

pub use permission::{Asker, Permission, PermissionGuard, PermissionRequest, Permissions};
pub use posting::{Posting, Stage};
pub use question::{Question, QuestionKind};
pub use verdict::{Heard, Refused, Verdict};

use codes::Tries;
use posting::{POSTINGS_MAX, Rows};

/// Everything that was put to a person elsewhere. Shared.
#[derive(Debug)]
pub struct Desk {
    asking: Asking,
    codes: ReplyCodes,
    rows: Rows,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    postings: HashMap<Box<str>, Posting>,
    tries: HashMap<Box<str>, Tries>,
    /// Why nothing goes out through an account.
    problems: HashMap<Box<str>, Box<str>>,
    /// Through which account, in which chat, which message had a wrong code.
    wrong: VecDeque<(Box<str>, Box<str>, Box<str>)>,
}

/// Where a question is put.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// Through which account.
    pub account: &'a str,
    /// In which chat.
    pub chat: &'a str,
    /// The person's id there, who alone may answer.
    pub person: &'a str,
    /// The id there of whom the hub writes as.
    pub program: &'a str,
    /// The time there, in milliseconds since 1970.
    pub now_ms: i64,
    /// Whether it is shown what is asked. Where it may not be, the person is
    /// told that something waits, and cannot answer it there.
    pub is_shown: bool,
}

/// A question that could not be put elsewhere; it waits as before.
#[derive(Debug, thiserror::Error)]
pub enum NotPut {
    /// The store cannot keep where it was put.
    #[error("where the question is put could not be kept, so it was not put there")]
    NotKept(#[source] StoreError),
    /// No code could be made.
    #[error("no code could be made, so the question was not put there")]
    NoCode(#[source] KeystoreError),
}

// === impl Desk ===

impl Desk {
    /// The desk of what waits in `asking`. `key` is `approvals` of the keystore.
    ///
    /// # Errors
    /// When the rows cannot be read.
    pub fn open(asking: Asking, store: &Arc<Store>, key: &Key) -> Result<Self, StoreError> {
        let rows = Rows::new(store);
        let held = Held {
            postings: rows.postings()?,
            tries: rows.tries()?,
            ..Held::default()
        };
        Ok(Self {
            asking,
            codes: ReplyCodes::new(key),
            rows,
            held: Mutex::new(held),
        })
    }

    /// Everything that waits for a person's yes or no, oldest first.
    #[must_use]
    pub fn waiting(&self) -> Vec<Question> {
        let asking = &self.asking;
        let mut all: Vec<Question> = asking.approvals.list().iter().map(Question::from).collect();
        let proposals = asking.proposals.list();
        let open = proposals.iter().filter(|open| open.certified.is_none());
        all.extend(open.map(Question::from));
        all.extend(asking.permissions.list().iter().map(Question::from));
        all.sort_by(|a, b| (a.created_ms, &a.id).cmp(&(b.created_ms, &b.id)));
        all
    }

    /// Where a question was put, and what became of it there.
    #[must_use]
    pub fn posting(&self, id: &str) -> Option<Posting> {
        self.lock().postings.get(id).cloned()
    }

    /// Everything that was put somewhere through an account and is remembered.
    #[must_use]
    pub fn postings(&self, account: &str) -> Vec<Posting> {
        let held = self.lock();
        let of = held
            .postings
            .values()
            .filter(|one| *one.account == *account);
        let mut all: Vec<Posting> = of.cloned().collect();
        all.sort_by(|a, b| (a.asked_ms, &a.id).cmp(&(b.asked_ms, &b.id)));
        all
    }

    /// Why nothing goes out through an account at the moment.
    #[must_use]
    pub fn problem(&self, account: &str) -> Option<Box<str>> {
        self.lock().problems.get(account).cloned()
    }

    /// Notes why nothing goes out through an account, or that it does again.
    pub fn set_problem(&self, account: &str, problem: Option<&str>) {
        let problems = &mut self.lock().problems;
        match problem {
            Some(problem) => drop(problems.insert(account.into(), problem.into())),
            None => drop(problems.remove(account)),
        }
    }

    /// What is waiting, or ends to wait.
    #[must_use]
    pub fn events(&self) -> broadcast::Receiver<ApprovalEvent> {
        self.asking.approvals.events()
    }

    /// Begins to put a question somewhere: on disk before it is said, so that
    /// the next hub says the same and not another thing. The posting and its
    /// code, which is told to the person and to nobody else.
    ///
    /// # Errors
    /// See [`NotPut`].
    pub fn begin(
        &self,
        question: &Question,
        place: &Place<'_>,
    ) -> Result<(Posting, String), NotPut> {
        let known = self.posting(&question.id);
        let posting = match known {
            Some(known) if known.is_at(place) && known.digest == question.digest => known,
            _ => {
                let left_ms = question.expires_ms - self.asking.approvals.now_ms();
                let posting = loop {
                    let nonce = ReplyCodes::nonce().map_err(NotPut::NoCode)?;
                    let posting = Posting::new(question, place, nonce, left_ms);
                    // Nine of ten codes have a digit, and are no word.
                    if words::has_digit(&self.codes.code(&posting.put())) {
                        break posting;
                    }
                };
                self.keep(posting.clone()).map_err(NotPut::NotKept)?;
                posting
            }
        };
        let code = self.codes.code(&posting.put());
        Ok((posting, code))
    }

    /// It was said there.
    pub fn posted(&self, id: &str, message: &str, entity: &EntityId) {
        let Some(mut posting) = self.posting(id) else {
            return;
        };
        posting.message = Some(message.into());
        posting.stage = Stage::Open;
        let text = match posting.is_shown {
            true => format!("put to the person of the account {}", posting.account),
            false => format!(
                "the person of the account {} is told that it waits",
                posting.account
            ),
        };
        self.happened(EventName::ApprovalPosted, &posting, entity, &text, None);
        self.keep_or_log(posting);
    }

    /// Postings whose question has ended in another way, with how it ended: what
    /// stands there should say so.
    #[must_use]
    pub fn overtaken(&self, account: &str) -> Vec<(Posting, Stage)> {
        let open = self.postings(account);
        open.into_iter()
            .filter(|posting| matches!(posting.stage, Stage::Posting | Stage::Open))
            .filter_map(|posting| {
                let stage = self.end_of(&posting)?;
                Some((posting, stage))
            })
            .collect()
    }

    /// How a posting's question ended, if it has.
    fn end_of(&self, posting: &Posting) -> Option<Stage> {
        let asking = &self.asking;
        match posting.kind {
            QuestionKind::Approval => {
                let id = ApprovalId::new(&*posting.id);
                match asking.approvals.get(&id) {
                    Some(open) if open.state == State::Pending => None,
                    Some(_) => Some(Stage::Elsewhere),
                    None => Some(match asking.approvals.ended(&id) {
                        Some(ApprovalState::Expired) | None => Stage::Expired,
                        Some(ApprovalState::Voided) => Stage::Void,
                        Some(_) => Stage::Elsewhere,
                    }),
                }
            }
            QuestionKind::Proposal => match asking.proposals.get(&ProposalId::new(&*posting.id)) {
                Some(open) if open.certified.is_none() => None,
                Some(_) => Some(Stage::Elsewhere),
                None => Some(self.past(posting)),
            },
            QuestionKind::Permission => {
                let all = asking.permissions.list();
                let is_open = all.iter().any(|open| open.id == posting.id);
                (!is_open).then(|| self.past(posting))
            }
        }
    }

    /// For what leaves nothing behind when it ends.
    fn past(&self, posting: &Posting) -> Stage {
        match posting.expires_ms <= self.asking.approvals.now_ms() {
            true => Stage::Expired,
            false => Stage::Void,
        }
    }

    /// What stands there says how it ended, or cannot be made to.
    pub fn closed(&self, id: &str, stage: Stage) {
        if let Some(mut posting) = self.posting(id) {
            if !matches!(posting.stage, Stage::Answered { .. }) {
                posting.stage = stage;
            }
            posting.is_told = true;
            self.keep_or_log(posting);
        }
    }

    /// Whether a message is one of the desk's own, which nobody else may change.
    #[must_use]
    pub fn is_posting(&self, chat: &str, message: &str) -> bool {
        let held = self.lock();
        let mut all = held.postings.values();
        all.any(|one| *one.chat == *chat && one.message.as_deref() == Some(message))
    }

    /// Forgets what ended so long ago that its row is gone too, and of too many
    /// the oldest that ended.
    pub fn forget(&self, now_ms: i64) {
        let postings = &mut self.lock().postings;
        let is_old = |one: &Posting| one.is_over() && one.forgotten_ms() <= now_ms;
        postings.retain(|_, one| !is_old(one));
        let most = usize::try_from(POSTINGS_MAX).unwrap_or(usize::MAX);
        let too_many = postings.len().saturating_sub(most);
        if too_many == 0 {
            return;
        }
        let over = postings.values().filter(|one| one.is_over());
        let mut over: Vec<(i64, Box<str>)> =
            over.map(|one| (one.asked_ms, one.id.clone())).collect();
        over.sort();
        for (_, id) in over.into_iter().take(too_many) {
            postings.remove(&id);
        }
    }

    fn happened(
        &self,
        event: EventName,
        posting: &Posting,
        entity: &EntityId,
        text: &str,
        reason: Option<legation_policy::registry::ReasonCode>,
    ) {
        let id: Box<str> = posting.id.clone();
        self.asking.journal.add(Happened {
            entity: posting.entity.clone().unwrap_or_else(|| entity.clone()),
            client: Some(posting.client.clone()),
            tool: Some(crate::approval::escaped(&posting.call, 200).into()),
            about: Some(match posting.kind {
                QuestionKind::Proposal => About::Proposal(id),
                QuestionKind::Approval | QuestionKind::Permission => About::Approval(id),
            }),
            reason,
            ..Happened::new(event, text)
        });
    }

    fn keep(&self, posting: Posting) -> Result<(), StoreError> {
        self.rows.put(&posting)?;
        self.lock().postings.insert(posting.id.clone(), posting);
        Ok(())
    }

    /// Keeps what has happened already and cannot be undone: a row that cannot
    /// be written leaves the next hub to find it out anew.
    fn keep_or_log(&self, posting: Posting) {
        if let Err(error) = self.rows.put(&posting) {
            tracing::error!(error = %legation_core::error::chain(&error), "where a question was put is not remembered");
        }
        self.lock().postings.insert(posting.id.clone(), posting);
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
