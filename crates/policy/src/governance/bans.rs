//! `hard_bans.json`: what is never done, and what is never done unasked.
//!
//! Prose cannot be enforced, so a ban is typed and shows, by examples that
//! are checked whenever the file loads, what it stops and what it lets pass.

use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::pattern::ToolPattern;

/// The bans.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HardBans {
    /// Where an editor finds the schema of this file.
    #[serde(default, rename = "$schema")]
    pub schema: Option<String>,
    /// The bans, in any order; each holds by itself.
    pub bans: Vec<HardBan>,
}

/// One ban.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HardBan {
    /// Its name in refusals and in the ledger.
    pub id: String,
    /// Whether a person can still allow it.
    pub kind: BanKind,
    /// When it strikes: when everything said here is so.
    pub when: BanWhen,
    /// Why, for the one who is refused.
    pub because: String,
    /// Calls it stops.
    #[serde(default, rename = "match")]
    pub matches: Vec<BanExample>,
    /// Calls it lets pass.
    #[serde(default)]
    pub no_match: Vec<BanExample>,
}

/// Whether a person can still allow what a ban stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BanKind {
    /// Nobody can.
    NeverDo,
    /// A person is asked each time.
    NeverWithoutApproval,
}

/// The conditions of a ban. All that are given must hold.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BanWhen {
    /// One of these tools; any tool when not given.
    #[serde(default)]
    pub tools: Option<Vec<ToolPattern>>,
    /// Conditions on arguments; each of them holds.
    #[serde(default)]
    pub arguments: Vec<ArgumentTest>,
    /// What is so about the call; each of them.
    #[serde(default)]
    pub facts: Vec<Fact>,
    /// One of these texts stands somewhere in the arguments, or in the result
    /// where `output` is set. Case, width and accents of the same letter do
    /// not matter.
    #[serde(default)]
    pub text: Vec<String>,
    /// Whether the ban judges what a tool returned instead of what it was
    /// given.
    #[serde(default)]
    pub output: bool,
}

/// One condition on one argument.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArgumentTest {
    /// JSON pointer into the arguments; `*` as a step stands for every item.
    pub pointer: String,
    /// How to compare.
    pub op: Operator,
    /// With what; not given for `exists` and `absent`.
    #[serde(default)]
    pub value: Option<Value>,
}

/// How an argument is compared. A value of another type never compares, and
/// for a ban what cannot be compared counts as struck.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
pub enum Operator {
    /// Equal.
    #[serde(rename = "==")]
    Eq,
    /// Not equal.
    #[serde(rename = "!=")]
    Ne,
    /// A number that is less.
    #[serde(rename = "<")]
    Lt,
    /// A number that is not more.
    #[serde(rename = "<=")]
    Le,
    /// A number that is more.
    #[serde(rename = ">")]
    Gt,
    /// A number that is not less.
    #[serde(rename = ">=")]
    Ge,
    /// One of a list.
    #[serde(rename = "in")]
    In,
    /// A text that holds this text, or a list that holds this value.
    #[serde(rename = "contains")]
    Contains,
    /// A text that begins so.
    #[serde(rename = "starts_with")]
    StartsWith,
    /// A text that ends so.
    #[serde(rename = "ends_with")]
    EndsWith,
    /// A text that matches a pattern with `*` and `?`.
    #[serde(rename = "like")]
    Like,
    /// It is there.
    #[serde(rename = "exists")]
    Exists,
    /// It is not there.
    #[serde(rename = "absent")]
    Absent,
}

/// Something about a call that the hub finds out itself.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Fact {
    /// A recipient in the arguments is not cleared for the entity of the call.
    ForeignRecipient,
    /// A recipient in the arguments is of no entity's mailbox or domain.
    ExternalRecipient,
    /// The call and what the conversation holds are of entities that may never
    /// meet.
    MixedEntities,
    /// An amount of money in the arguments is higher than this.
    MoneyOver(MoneyOver),
    /// Health information in it will not be redacted, and who would get it is
    /// not cleared for it.
    UnredactedPhi,
    /// A recipient in the arguments is not on this list of
    /// `privilege_approved_lists`.
    RecipientNotOn(RecipientList),
}

/// The limit of [`Fact::MoneyOver`].
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MoneyOver {
    /// The highest amount that is not over it.
    pub amount: f64,
    /// JSON pointers of the amounts, `*` for every item. Without them every
    /// argument counts whose name says that it is money.
    #[serde(default)]
    pub pointers: Vec<String>,
}

/// The list of [`Fact::RecipientNotOn`].
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecipientList {
    /// The list's name.
    pub list: String,
}

/// A call that a ban is tried on when the file loads.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BanExample {
    /// `server/tool`.
    pub tool: String,
    /// What it is called with.
    #[serde(default)]
    pub arguments: Map<String, Value>,
    /// What it returned, for a ban on outputs.
    #[serde(default)]
    pub output: Option<String>,
    /// Entities whose data the conversation holds already, as ids.
    #[serde(default)]
    pub holds: Vec<String>,
    /// Whether health information in it was found unredacted.
    #[serde(default)]
    pub unredacted_phi: bool,
}

// === impl BanKind ===

impl BanKind {
    /// The word a file uses.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NeverDo => "never_do",
            Self::NeverWithoutApproval => "never_without_approval",
        }
    }
}

// === impl BanWhen ===

impl BanWhen {
    /// Whether it says nothing, and so would strike everything.
    pub fn is_empty(&self) -> bool {
        self.tools.is_none()
            && self.arguments.is_empty()
            && self.facts.is_empty()
            && self.text.is_empty()
    }
}

// === impl Operator ===

impl Operator {
    /// Every operator.
    pub const ALL: [Self; 13] = [
        Self::Eq,
        Self::Ne,
        Self::Lt,
        Self::Le,
        Self::Gt,
        Self::Ge,
        Self::In,
        Self::Contains,
        Self::StartsWith,
        Self::EndsWith,
        Self::Like,
        Self::Exists,
        Self::Absent,
    ];

    /// The word a file uses.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Eq => "==",
            Self::Ne => "!=",
            Self::Lt => "<",
            Self::Le => "<=",
            Self::Gt => ">",
            Self::Ge => ">=",
            Self::In => "in",
            Self::Contains => "contains",
            Self::StartsWith => "starts_with",
            Self::EndsWith => "ends_with",
            Self::Like => "like",
            Self::Exists => "exists",
            Self::Absent => "absent",
        }
    }

    /// The operator a file calls `text`.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|op| op.as_str() == text)
    }

    /// Whether it compares with a value.
    pub fn takes_value(self) -> bool {
        !matches!(self, Self::Exists | Self::Absent)
    }
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
