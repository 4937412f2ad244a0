//! `autonomy_ladder.json`: how far a tool may go without a person.

use schemars::JsonSchema;
use serde::Deserialize;

use super::pattern::ToolPattern;

/// The ladder.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AutonomyLadder {
    /// Where an editor finds the schema of this file.
    #[serde(default, rename = "$schema")]
    pub schema: Option<String>,
    /// The mode of a tool that no category lists.
    pub default_mode: Mode,
    /// Who approves, in words.
    #[serde(default)]
    pub approver: Option<String>,
    /// The categories.
    pub action_categories: Vec<ActionCategory>,
}

/// Tools that go equally far.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ActionCategory {
    /// What they do, in words; its name.
    pub action: String,
    /// How far they go.
    pub mode: Mode,
    /// Which tools these are.
    pub tools: Vec<ToolPattern>,
    /// Why, for the one who is refused.
    #[serde(default)]
    pub notes: Option<String>,
    /// From 0 to 1. A caller that is less sure than this, or does not say how
    /// sure it is, gets a draft instead.
    #[serde(default)]
    pub confidence_threshold: Option<f64>,
    /// When the owner may think of the next rung. Never climbed by itself.
    #[serde(default)]
    pub promotion_threshold: Option<PromotionThreshold>,
}

/// When a category has earned the next rung.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PromotionThreshold {
    /// Which part of its calls a person approved, from 0 to 1.
    pub approval_rate: f64,
    /// For how many months.
    pub min_duration_months: u32,
}

/// How far a tool may go, from the freest to the strictest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// It runs.
    Autonomous,
    /// It makes a draft that a person sends or throws away.
    DraftOnly,
    /// It is proposed; a person certifies exactly that; then it is applied.
    ProposeCertifyApply,
    /// It does not run now.
    Blocked,
    /// It will never run.
    Never,
}

// === impl AutonomyLadder ===

impl AutonomyLadder {
    /// The category of a tool, by its `server/tool` name. Where several list
    /// it, the strictest of them.
    pub fn category_of(&self, tool: &str) -> Option<&ActionCategory> {
        self.action_categories
            .iter()
            .filter(|category| category.lists(tool))
            .max_by_key(|category| category.mode)
    }

    /// How far a tool may go.
    pub fn mode_of(&self, tool: &str) -> Mode {
        self.category_of(tool)
            .map_or(self.default_mode, |category| category.mode)
    }
}

// === impl ActionCategory ===

impl ActionCategory {
    /// Whether it lists a tool, by its `server/tool` name.
    pub fn lists(&self, tool: &str) -> bool {
        self.tools.iter().any(|pattern| pattern.matches(tool))
    }
}

// === impl Mode ===

impl Mode {
    /// Every mode, from the freest to the strictest.
    pub const ALL: [Self; 5] = [
        Self::Autonomous,
        Self::DraftOnly,
        Self::ProposeCertifyApply,
        Self::Blocked,
        Self::Never,
    ];

    /// The word a file uses.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Autonomous => "autonomous",
            Self::DraftOnly => "draft_only",
            Self::ProposeCertifyApply => "propose_certify_apply",
            Self::Blocked => "blocked",
            Self::Never => "never",
        }
    }
}
