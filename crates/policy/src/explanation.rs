//! What every layer said of one call, for people who ask why.

use crate::decision::Rung;
use crate::registry::ReasonCode;
use crate::rule_id::RuleId;

/// The layers in the order in which they are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Layer {
    /// The organisation's policy.
    Enterprise,
    /// Whose data it is and what may not meet.
    Boundary,
    /// Whether the client may see that data.
    Clearance,
    /// Whether the client's role may do it.
    Role,
    /// Hard bans.
    Bans,
    /// How far the tool may go.
    Ladder,
    /// The owner's Cedar policies.
    Cedar,
    /// Permission rules.
    Permissions,
    /// Whether the definition was looked at.
    Pins,
    /// Contracts about results, as far as they can be broken beforehand.
    Contracts,
    /// What people agreed to.
    Grants,
}

/// What one layer says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Nothing against it.
    Passes,
    /// No farther than this.
    Limits(Rung),
    /// A person has to agree.
    Asks,
    /// Not at all.
    Denies,
}

/// One layer's verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Which layer.
    pub layer: Layer,
    /// What it says.
    pub verdict: Verdict,
    /// The rule that says so, where one does.
    pub rule: Option<RuleId>,
    /// Why, in words.
    pub reason: Box<str>,
}

/// Every layer's verdict and what follows from them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// In the order in which the layers are asked. Of a delegated call, first
    /// the agent's, then the delegator's.
    pub steps: Vec<Step>,
    /// What is decided.
    pub outcome: Verdict,
    /// The rule that decides.
    pub rule: RuleId,
    /// Why, as a word; `None` when it is permitted.
    pub reason_code: Option<ReasonCode>,
    /// How far it would go.
    pub rung: Rung,
}

// === impl Layer ===

impl Layer {
    /// A word for tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Enterprise => "enterprise",
            Self::Boundary => "boundary",
            Self::Clearance => "clearance",
            Self::Role => "role",
            Self::Bans => "bans",
            Self::Ladder => "ladder",
            Self::Cedar => "cedar",
            Self::Permissions => "permissions",
            Self::Pins => "pins",
            Self::Contracts => "contracts",
            Self::Grants => "grants",
        }
    }
}

// === impl Verdict ===

impl Verdict {
    /// A word for tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Passes => "passes",
            Self::Limits(_) => "limits",
            Self::Asks => "asks",
            Self::Denies => "denies",
        }
    }
}
