//! What a call is told that a person has to agree to, or did not.

use legation_core::ApprovalId;
use legation_policy::Target;
use legation_policy::registry::ReasonCode;

use crate::approval::{self, AnswerError};
use crate::proposal::ProposalError;

/// A call that waits for a person, or was refused by one.
#[derive(Debug, thiserror::Error)]
pub enum Unapproved {
    /// It waits; calling again finds the answer.
    #[error("{} needs a person's approval ({reason}); nothing was called yet", Named(.target))]
    Pending {
        /// What it waits under.
        id: ApprovalId,
        /// The rule that asks.
        rule: Box<str>,
        /// Why it asks.
        reason: Box<str>,
        /// Which reason the rule gives.
        code: ReasonCode,
        /// What would be called.
        target: Box<Target>,
    },
    /// A person said no.
    #[error("a person denied {}; nothing was called", Named(.target))]
    Denied {
        /// Which question it was.
        id: ApprovalId,
        /// The rule that asked.
        rule: Box<str>,
        /// What was denied.
        target: Box<Target>,
    },
    /// What a person agreed to is used up, or was taken back meanwhile.
    #[error("the approval of {} was used up or taken back; nothing was called", Named(.target))]
    Spent {
        /// The rule that asked.
        rule: Box<str>,
        /// What would have been called.
        target: Box<Target>,
    },
    /// Nobody answered in time.
    #[error("the approval of {} expired before it was answered or used; nothing was called", Named(.target))]
    Expired {
        /// The rule that asked.
        rule: Box<str>,
        /// What would have been called.
        target: Box<Target>,
    },
    /// What a person agreed to is not what would be called now.
    #[error("{} is not what was approved any more; nothing was called", Named(.target))]
    Voided {
        /// The rule that asked.
        rule: Box<str>,
        /// What would have been called.
        target: Box<Target>,
    },
    /// It was proposed, and waits to be certified.
    #[error("{} was proposed and waits for a person's certificate; nothing was called yet", Named(.target))]
    Proposed {
        /// The proposal.
        id: legation_core::ProposalId,
        /// The rule that wants it certified.
        rule: Box<str>,
        /// What would be called.
        target: Box<Target>,
    },
    /// The question could not be kept.
    #[error("a person's approval is needed and could not be asked for; nothing was called")]
    NotAsked {
        /// The rule that asks.
        rule: Box<str>,
        /// What would have been called.
        target: Box<Target>,
        /// Why.
        #[source]
        source: AnswerError,
    },
    /// The proposal could not be kept.
    #[error("a certificate is needed and nothing could be proposed; nothing was called")]
    NotProposed {
        /// The rule that wants it certified.
        rule: Box<str>,
        /// What would have been called.
        target: Box<Target>,
        /// Why.
        #[source]
        source: ProposalError,
    },
}

/// The target in a message.
struct Named<'a>(&'a Target);

// === impl Named ===

impl std::fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} `{}/{}`",
            self.0.verb.in_words(),
            self.0.server,
            approval::escaped(&self.0.item, 120)
        )
    }
}

// === impl Unapproved ===

impl Unapproved {
    /// The rule that wants a person.
    #[must_use]
    pub fn rule(&self) -> &str {
        match self {
            Self::Pending { rule, .. }
            | Self::Denied { rule, .. }
            | Self::Spent { rule, .. }
            | Self::Expired { rule, .. }
            | Self::Voided { rule, .. }
            | Self::Proposed { rule, .. }
            | Self::NotAsked { rule, .. }
            | Self::NotProposed { rule, .. } => rule,
        }
    }

    /// What would have been called.
    #[must_use]
    pub fn target(&self) -> &Target {
        match self {
            Self::Pending { target, .. }
            | Self::Denied { target, .. }
            | Self::Spent { target, .. }
            | Self::Expired { target, .. }
            | Self::Voided { target, .. }
            | Self::Proposed { target, .. }
            | Self::NotAsked { target, .. }
            | Self::NotProposed { target, .. } => target,
        }
    }

    /// The word that programs compare.
    #[must_use]
    pub fn reason_code(&self) -> ReasonCode {
        match self {
            Self::Pending { .. } => ReasonCode::ApprovalPending,
            Self::Denied { .. } => ReasonCode::ApprovalDenied,
            Self::Spent { .. } => ReasonCode::ApprovalUsed,
            Self::Expired { .. } => ReasonCode::ApprovalExpired,
            Self::Voided { .. } => ReasonCode::ApprovalVoided,
            Self::Proposed { .. } => ReasonCode::CertificationRequired,
            Self::NotAsked { .. } | Self::NotProposed { .. } => {
                ReasonCode::OperatorApprovalRequired
            }
        }
    }

    /// The id to wait with, where there is one.
    #[must_use]
    pub fn waits_under(&self) -> Option<&str> {
        match self {
            Self::Pending { id, .. } => Some(id.as_str()),
            Self::Proposed { id, .. } => Some(id.as_str()),
            Self::Denied { .. }
            | Self::Spent { .. }
            | Self::Expired { .. }
            | Self::Voided { .. }
            | Self::NotAsked { .. }
            | Self::NotProposed { .. } => None,
        }
    }

    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Pending { id, .. } => format!(
                "Ask your user to run `legation approve {id}` or `legation deny {id}`, then make exactly the same call again."
            ),
            Self::Proposed { id, .. } => format!(
                "Ask your user to look at it and certify it with `legation approve {id}`, which takes their PIN; then make exactly the same call again."
            ),
            Self::Denied { .. } => {
                "Do not make this call again; ask your user what they want instead.".to_owned()
            }
            Self::Spent { .. } | Self::Expired { .. } | Self::Voided { .. } => {
                "Make the call again to have a person asked anew.".to_owned()
            }
            Self::NotAsked { source, .. } => match source {
                AnswerError::NotOpen(_) => {
                    "Wait until your user has answered what waits: `legation approvals`.".to_owned()
                }
                AnswerError::NotKept(_) | AnswerError::NotSealed(_) => {
                    "See that the data directory can be written, then call again.".to_owned()
                }
            },
            Self::NotProposed { source, .. } => match source {
                ProposalError::Full => {
                    "Wait until your user has answered what waits: `legation approvals`.".to_owned()
                }
                _ => "See that the data directory can be written, then call again.".to_owned(),
            },
        }
    }
}
