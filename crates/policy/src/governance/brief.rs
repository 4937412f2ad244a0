//! `brief_config.json`: what the desk's briefs hold, and for whom.

use std::collections::BTreeMap;

use legation_core::EntityId;
use schemars::JsonSchema;
use serde::Deserialize;

use super::name::{self, EntityName};

/// The briefs.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BriefConfig {
    /// Where an editor finds the schema of this file.
    #[serde(default, rename = "$schema")]
    pub schema: Option<String>,
    /// The morning's brief.
    pub morning: Brief,
    /// The digest at the end of the day.
    pub evening: Brief,
    /// What differs for one entity.
    #[serde(default, deserialize_with = "name::map")]
    #[schemars(with = "BTreeMap<EntityName, EntityBrief>")]
    pub entities: BTreeMap<EntityId, EntityBrief>,
    /// The entity whose calendar is personal: it stands in a brief only when that is asked for.
    #[serde(default, deserialize_with = "name::list")]
    #[schemars(with = "Vec<EntityName>")]
    pub personal_entities: Vec<EntityId>,
}

/// One kind of brief.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Brief {
    /// When people expect it, as `07:30` in the time zone.
    #[serde(default)]
    pub delivery_time: Option<String>,
    /// An IANA time zone; the operator's when not given.
    #[serde(default)]
    pub timezone: Option<String>,
    /// What stands in it, in this order.
    pub must_include: Vec<BriefPart>,
    /// The most lines of each part; what is left out is counted.
    #[serde(default = "lines")]
    pub lines_per_part: u32,
    /// How many days ahead deadlines are looked for.
    #[serde(default = "days")]
    pub deadline_days: u32,
    /// Whether a model that is cleared may put it into words. What it writes is checked against
    /// the lines; where it says anything else, the lines stand.
    #[serde(default)]
    pub model: bool,
}

/// A part of a brief.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BriefPart {
    /// Today's meetings; in the evening tomorrow's.
    Meetings,
    /// Deadlines that come.
    Deadlines,
    /// Letters nobody has read.
    UnreadMail,
    /// What waits to be sorted.
    Triage,
    /// What belongs to nobody yet.
    Unclassified,
    /// Open deals.
    Deals,
    /// Where something might be filed.
    Filing,
    /// What was done, from the record.
    Done,
}

/// What differs for one entity.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EntityBrief {
    /// Parts that do not stand in its section.
    #[serde(default)]
    pub leave_out: Vec<BriefPart>,
}

fn lines() -> u32 {
    10
}

fn days() -> u32 {
    14
}

// === impl BriefPart ===

impl BriefPart {
    /// Every part.
    pub const ALL: [Self; 8] = [
        Self::Meetings,
        Self::Deadlines,
        Self::UnreadMail,
        Self::Triage,
        Self::Unclassified,
        Self::Deals,
        Self::Filing,
        Self::Done,
    ];

    /// Its word in the file.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Meetings => "meetings",
            Self::Deadlines => "deadlines",
            Self::UnreadMail => "unread_mail",
            Self::Triage => "triage",
            Self::Unclassified => "unclassified",
            Self::Deals => "deals",
            Self::Filing => "filing",
            Self::Done => "done",
        }
    }

    /// What stands above it.
    pub fn title(self) -> &'static str {
        match self {
            Self::Meetings => "Meetings",
            Self::Deadlines => "Deadlines",
            Self::UnreadMail => "Unread mail",
            Self::Triage => "To be sorted",
            Self::Unclassified => "Of nobody yet",
            Self::Deals => "Deals",
            Self::Filing => "To be filed",
            Self::Done => "Done",
        }
    }
}
