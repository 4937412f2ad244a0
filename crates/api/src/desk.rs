//! What only the owner does at the desk of the running hub: acts on deals, and decisions about
//! where letters are filed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::request;

/// How far a deal is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Somebody heard of it.
    DealIdentified,
    /// A non-disclosure agreement is signed.
    NdaSigned,
    /// The data room is open.
    DataRoomAccess,
    /// It is being looked into.
    DdActive,
    /// The purchase agreement is negotiated.
    PsaInProgress,
    /// Investors come in.
    InvestorOnboarding,
    /// It closes.
    Closing,
    /// It closed, or came to nothing.
    Closed,
}

/// Somebody who takes part in a deal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Party {
    /// Their name.
    pub name: String,
    /// As what.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub role: String,
    /// Where they are written to.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub address: String,
}

/// A day that matters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Day {
    /// What happens then.
    pub label: String,
    /// The day, as `2026-05-01`.
    pub date: String,
}

/// Something that belongs to a deal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Link {
    /// What people call it.
    pub label: String,
    /// An https address, or a source such as `mail/ACCOUNT/ID`.
    pub target: String,
}

/// What is done to a deal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "act", rename_all = "snake_case")]
pub enum Act {
    /// Bring it to a stage: forward by any number, back by one.
    Stage {
        /// Which.
        stage: Stage,
    },
    /// Let it rest.
    Pause,
    /// Go on with it.
    Resume,
    /// Note something.
    Note {
        /// What.
        text: String,
    },
    /// Add somebody who takes part, or change as what.
    Party {
        /// Who.
        party: Party,
    },
    /// Add a day that matters, or move the one of its name.
    Date {
        /// Which.
        date: Day,
    },
    /// Put something to it.
    Link {
        /// What.
        link: Link,
    },
    /// Put it away.
    Archive,
    /// Take it out again, as it was.
    Restore,
}

/// Do something to a deal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DealAct {
    /// Which deal.
    pub deal_id: String,
    /// What.
    pub act: Act,
    /// Only say what would be done.
    #[serde(default)]
    pub dry_run: bool,
}

/// What was done to a deal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DealActAnswer {
    /// Which deal.
    pub deal_id: String,
    /// Whose.
    pub entity: String,
    /// What was done, as a word.
    pub action: String,
    /// What changed, in words.
    pub details: String,
    /// Whether it was done.
    pub done: bool,
}

/// Where something might be filed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Filing {
    /// Its id.
    pub suggestion_id: String,
    /// Whose it is.
    pub entity: String,
    /// `proposed`, `filed`, `undone` or `rejected`.
    pub state: String,
    /// The item of triage.
    pub item_id: String,
    /// What would be filed.
    pub source: String,
    /// Where.
    pub path: String,
    /// The rule or client that says so.
    pub suggested_by: String,
    /// Why.
    pub rationale: String,
}

/// List suggestions where to file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Filings {
    /// Only of this entity; of every one without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entity: Option<String>,
    /// Only those that stand so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<FilingState>,
}

/// How a suggestion stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FilingState {
    /// Nobody decided.
    Proposed,
    /// The letter lies there.
    Filed,
    /// It was taken back.
    Undone,
    /// The owner does not want it.
    Rejected,
}

/// The suggestions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FilingsAnswer {
    /// By entity, the oldest first.
    pub filings: Vec<Filing>,
}

/// Agree to a suggestion: the letter is moved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct File {
    /// Which suggestion.
    pub suggestion_id: String,
    /// Only say what would be done.
    #[serde(default)]
    pub dry_run: bool,
}

/// Take a filing back: the letter is moved to where it came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unfile {
    /// Which suggestion.
    pub suggestion_id: String,
    /// Only say what would be done.
    #[serde(default)]
    pub dry_run: bool,
}

/// Say that a suggestion is not wanted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reject {
    /// Which suggestion.
    pub suggestion_id: String,
}

/// What became of a suggestion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileAnswer {
    /// The suggestion, as it stands now.
    pub filing: Filing,
    /// The folder that the letter goes to.
    pub folder: String,
    /// Whether it was done.
    pub done: bool,
}

request!(DealAct, "desk.deal_act", DealActAnswer);
request!(Filings, "desk.filings", FilingsAnswer);
request!(File, "desk.file", FileAnswer);
request!(Unfile, "desk.unfile", FileAnswer);
request!(Reject, "desk.reject", Filing);
