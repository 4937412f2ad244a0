//! What waits for a person, and their answers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Done, request};

/// Everything that waits, and every grant that lasts.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
pub struct List {}

/// One call that waits, by its id or the code that its person was given elsewhere.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Find {
    /// Which.
    pub id: String,
}

/// Everything that waits, and every grant that lasts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ListAnswer {
    /// Oldest first. Texts are as models and servers wrote them: escape them.
    pub waiting: Vec<Waiting>,
    /// Oldest first.
    pub grants: Vec<Grant>,
    /// Rows that were changed by another hand, and are not honoured.
    pub reported: Vec<String>,
}

/// One call that waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Waiting {
    /// What people call it by.
    pub id: String,
    /// `approval`, `proposal`, which takes a PIN, or `client permission`, which a
    /// client asks of its own tools.
    pub kind: String,
    /// `pending` or `granted`.
    pub state: String,
    /// Whose call.
    pub client: String,
    /// For which client it is made, where it acts for another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_behalf_of: Option<String>,
    /// At which server; empty for a tool of the client's own.
    pub server: String,
    /// The tool, resource or prompt.
    pub item: String,
    /// In whose business.
    pub entity: String,
    /// The rule that asks.
    pub rule: String,
    /// Why it asks.
    pub reason: String,
    /// The arguments, cut where they are long.
    pub arguments: String,
    /// The answers that can be given.
    pub answers: Vec<String>,
    /// SHA-256 of what is asked, hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The digest as people compare it, wherever the question is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub short_digest: Option<String>,
    /// Where else its person is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub posted: Option<Posted>,
    /// When it was asked, RFC 3339.
    pub created: String,
    /// Until when it can be answered and used.
    pub expires: String,
}

/// Where else a person is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Posted {
    /// `teams`.
    pub to: String,
    /// Through which account.
    pub account: String,
    /// `sent`, `announced` where what is asked may not be shown there, or
    /// `not sent`.
    pub state: String,
    /// When it was sent, RFC 3339, by the clock there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// Why it is not sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// One grant that lasts beyond its call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Grant {
    /// Its id.
    pub id: String,
    /// Whose.
    pub client: String,
    /// For calls that it makes for this client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_behalf_of: Option<String>,
    /// At which server.
    pub server: String,
    /// The tool, resource or prompt.
    pub item: String,
    /// In whose business.
    pub entity: String,
    /// `session`, `here`, `until` or `always`.
    pub scope: String,
    /// By which road the answer came.
    pub approver: String,
    /// Until when, where it ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<String>,
}

/// An answer to an approval, or a rejection of a proposal.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// To which.
    pub id: String,
    /// `once`, `session`, `here`, `always` or `deny`.
    pub answer: String,
}

/// What an answer came to.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Answered {
    /// The answer that counts: `once` where the client has no session or folder
    /// that the one that was given would be bound to.
    pub answer: String,
}

/// A person certifies a proposal.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
pub struct Certify {
    /// Which.
    pub id: String,
    /// The digest of what the person was shown, hexadecimal.
    pub digest: String,
    /// Their PIN; without one the operating system asks for consent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pin: Option<String>,
}

/// Take a grant back.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Revoke {
    /// Which.
    pub id: String,
}

/// Forget whose data a conversation holds.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ResetLabels {
    /// The client's name, or the seat of a bridge.
    pub holder: String,
}

request!(List, "approvals.list", ListAnswer);
request!(Find, "approvals.find", Waiting);
request!(Answer, "approvals.answer", Answered);
request!(Certify, "approvals.certify", Done);
request!(Revoke, "approvals.revoke", Done);
request!(ResetLabels, "approvals.reset-labels", Done);

// === impl Certify ===

impl std::fmt::Debug for Certify {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Certify")
            .field("id", &self.id)
            .field("digest", &self.digest)
            .field("pin", &self.pin.as_ref().map(|_| "****"))
            .finish()
    }
}
