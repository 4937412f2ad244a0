//! What is asked of a policy and what it answers.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use legation_core::context::Principal;
use legation_core::{EntityId, EntityLabels, SeatId};

use crate::arguments::Arguments;
use crate::denied::{About, Denied};
use crate::grant::GrantIndex;
use crate::permitted::{Found, Permitted};
use crate::registry::ReasonCode;
use crate::rule_id::RuleId;
use crate::target::{Target, Verb};

/// Everything about one call that is not its target. The clock, the grants and
/// the labels are arguments, so that a recorded call can be decided again.
#[derive(Clone, Copy, Debug)]
pub struct Inquiry<'a> {
    /// Who calls.
    pub principal: &'a Principal,
    /// For whom, where an agent acts for somebody: both must be permitted.
    pub on_behalf_of: Option<&'a Principal>,
    /// Which running instance of the client.
    pub seat: &'a SeatId,
    /// The folder the client works in.
    pub workspace: Option<&'a Path>,
    /// Whose data the conversation holds already.
    pub labels: &'a EntityLabels,
    /// What the call carries; `None` where its verb carries nothing.
    pub arguments: Option<&'a Arguments<'a>>,
    /// To whom a server of the hub's own sends what it is called with, beside
    /// whom the arguments name: an address, or a text that is none where it
    /// cannot be told who it is.
    pub sent_to: Option<&'a str>,
    /// Whether health information was found in the arguments, unredacted, on
    /// its way out of its entity; `None` when nobody looked, in which case the
    /// patterns of this crate look.
    pub unredacted_phi: Option<bool>,
    /// How sure the caller says it is, from 0 to 1.
    pub confidence: Option<f64>,
    /// Whether this applies a proposal exactly as a person certified it. Only
    /// what checked the proof may say so.
    pub certified: bool,
    /// What people agreed to.
    pub grants: &'a GrantIndex,
    /// Now, in milliseconds since 1970.
    pub now_ms: i64,
}

/// The answer.
#[derive(Debug)]
#[must_use]
pub enum Decision {
    /// It may be done, as far as [`Permitted::rung`] says.
    Permitted(Permitted),
    /// A person has to agree first.
    Ask(Box<Asked>),
    /// It may not be done.
    Denied(Box<Denied>),
}

/// How far a call goes. Ordered: a higher rung does more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rung {
    /// It is written down for a person to certify; nothing is called.
    Propose,
    /// It leaves a draft.
    Draft,
    /// It is done.
    Execute,
    /// It is done exactly as it was certified.
    Apply,
}

/// What a person is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AskKind {
    /// To permit this call.
    Permission,
    /// To look at a definition that nobody has seen.
    FirstSight,
    /// To let a tool run that cannot leave a draft.
    Draft,
    /// To certify a proposal; takes proof of a person.
    Certify,
    /// To let a server use the client's model.
    Sampling,
}

/// For how long an answer may hold. Ordered: a later one holds longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// For this call alone.
    Once,
    /// While the client's session lasts.
    Session,
    /// In this folder, until it is taken back.
    Here,
    /// For a time.
    Until(Duration),
    /// Until it is taken back.
    Always,
}

/// What has to be asked before the call can go on.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// What is asked.
    pub kind: AskKind,
    /// The rule that wants it asked.
    pub rule: RuleId,
    /// Which reason a pending result carries.
    pub reason_code: ReasonCode,
    /// Why, in words.
    pub reason: Box<str>,
    /// How far the call would go.
    pub rung: Rung,
    /// The chain it would be recorded in.
    pub entity: EntityId,
    /// The entities of the call itself.
    pub entities: EntityLabels,
    /// Whether it is about every entity, each of which would stand by itself in the answer.
    pub apart: bool,
    /// Whose data the call touches.
    pub labels: EntityLabels,
    /// What would be done.
    pub target: Target,
    /// The answers that may be offered; [`Scope::Once`] always.
    pub scopes: Vec<Scope>,
    /// SHA-256 of the canonical arguments; an answer is bound to it.
    pub args_digest: [u8; 32],
    /// The [`crate::Policy::version`] that asked.
    pub policy_version: u64,
}

// === impl Rung ===

impl Rung {
    /// Every rung, from the lowest.
    pub const ALL: [Self; 4] = [Self::Propose, Self::Draft, Self::Execute, Self::Apply];

    /// The word files and records use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Propose => "propose",
            Self::Draft => "draft",
            Self::Execute => "execute",
            Self::Apply => "apply",
        }
    }

    /// The rung that is written so.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|rung| rung.as_str() == text)
    }
}

impl fmt::Display for Rung {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

// === impl AskKind ===

impl AskKind {
    /// The word records use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Permission => "permission",
            Self::FirstSight => "first_sight",
            Self::Draft => "draft",
            Self::Certify => "certify",
            Self::Sampling => "mcp-sampling",
        }
    }
}

// === impl Scope ===

impl Scope {
    /// Reads what [`Scope`] displays.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "once" => Some(Self::Once),
            "session" => Some(Self::Session),
            "here" => Some(Self::Here),
            "always" => Some(Self::Always),
            _ => duration(text).map(Self::Until),
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Once => f.write_str("once"),
            Self::Session => f.write_str("session"),
            Self::Here => f.write_str("here"),
            Self::Always => f.write_str("always"),
            Self::Until(time) => {
                let seconds = time.as_secs();
                let (count, unit) = [(86_400, "d"), (3_600, "h"), (60, "m")]
                    .into_iter()
                    .find(|(size, _)| seconds > 0 && seconds.is_multiple_of(*size))
                    .map_or((seconds, "s"), |(size, unit)| (seconds / size, unit));
                write!(f, "{count}{unit}")
            }
        }
    }
}

/// `90s`, `15m`, `8h` or `30d`; at most ten years.
fn duration(text: &str) -> Option<Duration> {
    let (digits, size) = [("s", 1), ("m", 60), ("h", 3_600), ("d", 86_400)]
        .into_iter()
        .find_map(|(unit, size)| text.strip_suffix(unit).map(|digits| (digits, size)))?;
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let seconds: u64 = digits.parse::<u64>().ok()?.checked_mul(size)?;
    (seconds > 0 && seconds <= 3_650 * 86_400).then(|| Duration::from_secs(seconds))
}

// === impl Asked ===

impl Asked {
    /// What was found out of the call.
    pub fn about(&self) -> About {
        About {
            entities: Some(self.entities.clone()),
            apart: self.apart,
            labels: self.labels.clone(),
            policy_version: self.policy_version,
        }
    }
}

// === impl Decision ===

impl Decision {
    /// What was permitted, or why a call that cannot be asked about is refused.
    ///
    /// # Errors
    /// The refusal; a question becomes one that says that a person has to
    /// agree.
    pub fn permitted(self) -> Result<Permitted, Box<Denied>> {
        match self {
            Self::Permitted(permitted) => Ok(permitted),
            Self::Ask(asked) => Err(Box::new(Denied::asked(*asked))),
            Self::Denied(denied) => Err(denied),
        }
    }

    /// As [`Decision::permitted`], of a caller who reads or calls off a task that its own call
    /// began: whatever had to be agreed to was agreed to with that call, and nobody is asked again.
    ///
    /// # Errors
    /// The refusal; a question about anything but a task stays one.
    pub fn begun(self, principal: &Principal) -> Result<Permitted, Box<Denied>> {
        match self {
            Self::Ask(asked)
                if matches!(asked.target.verb, Verb::TaskUpdate | Verb::TaskCancel) =>
            {
                let found = Found {
                    rule: asked.rule,
                    reads_only: false,
                    rung: asked.rung,
                    entity: asked.entity,
                    entities: asked.entities,
                    apart: asked.apart,
                    labels: asked.labels,
                    grant: None,
                };
                let version = asked.policy_version;
                Ok(Permitted::mint(
                    asked.target,
                    principal.clone(),
                    found,
                    version,
                    None,
                ))
            }
            other => other.permitted(),
        }
    }
}
