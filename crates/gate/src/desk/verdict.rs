//! What comes back from where a question was put, and whether it counts.

use legation_core::{ApprovalId, EntityId, ProposalId};
use legation_keystore::{HumanProof, NoProof, Reply};
use legation_policy::registry::{EventName, ReasonCode};

use super::words::{self, Words};
use super::{Desk, Posting, QuestionKind, Stage};
use crate::approval::{Answer, AnswerError, Channel, NotOpen};
use crate::journal::Happened;

/// A message where questions are put, as the service tells of it.
#[derive(Debug, Clone, Copy)]
pub struct Heard<'a> {
    /// Through which account it was read.
    pub account: &'a str,
    /// Whose data the account's is.
    pub entity: &'a EntityId,
    /// In which chat.
    pub chat: &'a str,
    /// The person's id there, as it is known now.
    pub person: &'a str,
    /// The id there of whom the hub writes as, as it is known now.
    pub program: &'a str,
    /// The message's id.
    pub message: &'a str,
    /// Who wrote it, by id.
    pub sender: &'a str,
    /// Its newest words.
    pub text: &'a str,
    /// When it was written, by the clock there.
    pub written_ms: i64,
    /// Whether it was written anew since.
    pub is_edited: bool,
}

/// What came of a message that is an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It counted.
    Counted {
        /// For which question.
        posting: Box<Posting>,
        /// Whether it was a yes.
        approve: bool,
    },
    /// It did not.
    Refused {
        /// Why.
        why: Refused,
        /// Whether the person wrote it, who may be told why.
        is_persons: bool,
    },
}

/// Why an answer did not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The agent wrote it.
    #[error("the agent itself wrote it")]
    Agent,
    /// Somebody else wrote it.
    #[error("somebody else wrote it than the person who may answer")]
    SomebodyElse,
    /// Agent and person are one user here.
    #[error("the agent posts as the person who would answer")]
    SameUser,
    /// Too many codes were wrong.
    #[error("too many wrong codes came before it")]
    Locked,
    /// No question that waits here has this code.
    #[error("no question here has this code")]
    WrongCode {
        /// How many more may be wrong before none counts for a while.
        left: u32,
    },
    /// It was edited.
    #[error("it was edited; only what is written anew counts")]
    Edited,
    /// It says more than yes or no.
    #[error("it says more than the two words")]
    Unclear,
    /// It came too late.
    #[error("the question's time was over")]
    Late,
    /// The code was used before.
    #[error("the code was used before")]
    Twice,
    /// It was answered elsewhere meanwhile.
    #[error("the question was answered elsewhere meanwhile")]
    Elsewhere,
    /// It can be answered no more.
    #[error(
        "the question can be answered no more: it was answered elsewhere, other rules are in force, or its session has ended"
    )]
    Void,
    /// It could not be kept.
    #[error("the answer could not be kept; the question still waits")]
    NotKept,
}

// === impl Refused ===

impl Refused {
    /// The reason as a word that programs compare.
    #[must_use]
    pub fn code(self) -> ReasonCode {
        match self {
            Self::Agent | Self::SomebodyElse | Self::SameUser => ReasonCode::ReplyNotFromSponsor,
            Self::Locked => ReasonCode::ReplyLocked,
            Self::WrongCode { .. } => ReasonCode::ReplyWrongCode,
            Self::Edited => ReasonCode::ReplyEdited,
            Self::Unclear => ReasonCode::ReplyUnclear,
            Self::Late => ReasonCode::ApprovalExpired,
            Self::Twice | Self::Elsewhere => ReasonCode::ApprovalUsed,
            Self::Void => ReasonCode::ApprovalVoided,
            Self::NotKept => ReasonCode::LedgerUnavailable,
        }
    }

    /// What the person can do.
    #[must_use]
    pub fn hint(self) -> &'static str {
        match self {
            Self::WrongCode { .. } => "Look at the code on the card and write it again.",
            Self::Locked => {
                "Write it again in a quarter of an hour, or answer at the hub: `legation approvals`."
            }
            Self::Edited => "Write a new message with the two words alone.",
            Self::Unclear => "Write the two words alone, like `approve CODE`.",
            Self::NotKept => "Write it again, or answer at the hub: `legation approvals`.",
            Self::Agent
            | Self::SomebodyElse
            | Self::SameUser
            | Self::Late
            | Self::Twice
            | Self::Elsewhere
            | Self::Void => "`legation approvals` shows what waits.",
        }
    }
}

impl From<NoProof> for Refused {
    fn from(error: NoProof) -> Self {
        match error {
            NoProof::SameUser => Self::SameUser,
            NoProof::Program => Self::Agent,
            NoProof::SomebodyElse => Self::SomebodyElse,
            NoProof::Edited => Self::Edited,
            NoProof::NotInTime => Self::Late,
            NoProof::WrongCode => Self::WrongCode { left: 0 },
        }
    }
}

// === impl Desk ===

impl Desk {
    /// Judges a message; `None` for what is no answer, or was judged before. What
    /// counts has been given to its question on return, and either way is
    /// recorded.
    pub fn hear(&self, heard: &Heard<'_>) -> Option<Verdict> {
        let said = words::read(heard.text)?;
        let code = match &said {
            Words::Answer { code, .. } | Words::Unclear { code } => code.as_str(),
        };
        if !said.is_sure() && self.find(heard, code).is_none() {
            // A word that is no code.
            return None;
        }
        // Who wrote it is looked at before the code is.
        let stranger = if heard.person.eq_ignore_ascii_case(heard.program) {
            Some(Refused::SameUser)
        } else if heard.sender.eq_ignore_ascii_case(heard.program) {
            Some(Refused::Agent)
        } else if !heard.sender.eq_ignore_ascii_case(heard.person) {
            Some(Refused::SomebodyElse)
        } else {
            None
        };
        if let Some(why) = stranger {
            return Some(self.refused(heard, None, why));
        }
        if self.is_locked(heard.account) {
            return Some(self.refused(heard, None, Refused::Locked));
        }
        let Some(posting) = self.find(heard, code) else {
            // Accounts of one agent and one person share a chat, and each reads it.
            if self.is_anothers(heard, code) || !self.is_judged_first(heard) {
                return None;
            }
            let why = self.count_wrong(heard.account);
            return Some(self.refused(heard, None, why));
        };
        self.right_code(heard.account);
        match self.take(heard, &posting, &said, code) {
            Ok(None) => None,
            Ok(Some(approve)) => Some(Verdict::Counted {
                posting: Box::new(posting),
                approve,
            }),
            Err(why) => Some(self.refused(heard, Some(&posting), why)),
        }
    }

    /// Gives an answer to its question; whether it was a yes, or `None` where
    /// this very message did so before.
    fn take(
        &self,
        heard: &Heard<'_>,
        posting: &Posting,
        said: &Words,
        code: &str,
    ) -> Result<Option<bool>, Refused> {
        match &posting.stage {
            Stage::Answered { by, .. } if **by == *heard.message && !heard.is_edited => {
                return Ok(None);
            }
            Stage::Answered { .. } => return Err(Refused::Twice),
            Stage::Elsewhere => return Err(Refused::Elsewhere),
            Stage::Expired => return Err(Refused::Late),
            Stage::Void => return Err(Refused::Void),
            Stage::Posting | Stage::Open => {}
        }
        let reply = Reply {
            sender: heard.sender,
            code,
            written_ms: heard.written_ms,
            is_edited: heard.is_edited,
        };
        let proof = self.codes.prove(&posting.put(), &reply)?;
        let approve = match said {
            Words::Answer { approve, .. } => *approve,
            Words::Unclear { .. } => return Err(Refused::Unclear),
        };
        self.give(posting, approve, &proof)?;
        let mut answered = posting.clone();
        answered.stage = Stage::Answered {
            approve,
            by: heard.message.into(),
        };
        self.keep_or_log(answered);
        Ok(Some(approve))
    }

    fn give(&self, posting: &Posting, approve: bool, proof: &HumanProof) -> Result<(), Refused> {
        let asking = &self.asking;
        match posting.kind {
            QuestionKind::Approval => {
                let id = ApprovalId::new(&*posting.id);
                let is_same = |open: &crate::approval::Approval| open.digest() == posting.digest;
                if asking
                    .approvals
                    .get(&id)
                    .is_some_and(|open| !is_same(&open))
                {
                    return Err(Refused::Void);
                }
                let answer = if approve { Answer::Once } else { Answer::Deny };
                let taken = asking.approvals.answer(&id, answer, Channel::Teams);
                taken.map(drop).map_err(|error| match error {
                    AnswerError::NotOpen(NotOpen::Expired | NotOpen::Unknown) => Refused::Late,
                    AnswerError::NotOpen(NotOpen::Voided) => Refused::Void,
                    AnswerError::NotOpen(_) => Refused::Elsewhere,
                    AnswerError::NotKept(_) | AnswerError::NotSealed(_) => Refused::NotKept,
                })
            }
            QuestionKind::Proposal => {
                use crate::proposal::ProposalError as Error;
                let id = ProposalId::new(&*posting.id);
                let waits = asking.proposals.get(&id);
                if waits.is_some_and(|open| open.certified.is_some()) {
                    return Err(Refused::Elsewhere);
                }
                let taken = match approve {
                    true => asking.proposals.certify(&id, &posting.digest, proof),
                    false => asking.proposals.reject(&id),
                };
                taken.map_err(|error| match error {
                    Error::Unknown => self.past_as_refused(posting),
                    Error::Over => Refused::Elsewhere,
                    _ => Refused::NotKept,
                })
            }
            QuestionKind::Permission => {
                let taken = asking
                    .permissions
                    .answer(&posting.id, approve, Channel::Teams);
                taken.map_err(|_| self.past_as_refused(posting))
            }
        }
    }

    fn past_as_refused(&self, posting: &Posting) -> Refused {
        match self.past(posting) {
            Stage::Expired => Refused::Late,
            _ => Refused::Void,
        }
    }

    fn refused(&self, heard: &Heard<'_>, posting: Option<&Posting>, why: Refused) -> Verdict {
        let text = format!("an answer through {} did not count: {why}", heard.account);
        let event = EventName::ApprovalReplyRefused;
        match posting {
            Some(posting) => self.happened(event, posting, heard.entity, &text, Some(why.code())),
            None => self.asking.journal.add(Happened {
                entity: heard.entity.clone(),
                reason: Some(why.code()),
                ..Happened::new(event, &text)
            }),
        }
        Verdict::Refused {
            why,
            is_persons: heard.sender.eq_ignore_ascii_case(heard.person)
                && !matches!(why, Refused::SameUser),
        }
    }
}
