//! The owner's governance files: their types, how they are read, and what is
//! wrong with them.
//!
//! Every file stands for itself: one that is missing, unusable or wrong is
//! [`Broken`] and denies what it governs, while the others hold on. There is
//! no default for a file, because a default is a rule that nobody wrote; but
//! for the desk's four, and only where none of them is there ([`DeskDefaults`]).

mod bans;
mod brief;
mod checks;
mod contracts;
mod date;
mod desk;
mod draft_style;
mod enterprise;
mod json;
mod ladder;
mod load;
mod name;
mod native;
mod para;
mod pattern;
mod problem;
mod profile;
mod providers;
mod roles;
mod roster;
mod schema;
mod template;
mod urgency;

use std::collections::BTreeMap;
use std::fmt;

use sha2::{Digest as _, Sha256};

pub use bans::{
    ArgumentTest, BanExample, BanKind, BanWhen, Fact, HardBan, HardBans, MoneyOver, Operator,
    RecipientList,
};
pub use brief::{Brief, BriefConfig, BriefPart, EntityBrief};
pub use contracts::{
    Audience, Breach, GoldenFixture, OutputContract, OutputContracts, TextPattern,
};
pub use date::Date;
pub use desk::DeskDefaults;
pub use draft_style::DraftStyle;
pub use enterprise::{
    Allowed, Enterprise, EnterpriseBlock, EnterprisePolicy, Fingerprint, ModelPolicy,
};
pub use json::Note;
pub use ladder::{ActionCategory, AutonomyLadder, Mode, PromotionThreshold};
pub use load::ToolName;
pub(crate) use name::look;
pub use name::{ALL, EntitySet, Meant, normalise};
pub use native::native_tools;
pub use para::{ParaCategory, ParaRule, ParaRules};
pub use pattern::{NamePattern, ToolPattern};
pub use problem::{Place, Problem, Severity};
pub use profile::{ClientClearance, Entity, Operator as Owner, OperatorProfile};
pub use providers::{
    Agreement, DISABLED, EntityOverride, JobOverride, LlmProviders, Prices, Provider, ProviderKind,
    ProviderLimits,
};
pub use roles::{RoleCard, RoleCards};
pub use roster::{Person, RedactionPlan, Roster};
pub use schema::schemas;
pub use template::Template;
pub use urgency::{Urgency, UrgencyRules, UrgencySignal};

/// Names of the governance files.
pub mod file {
    /// Entities and clearances.
    pub const OPERATOR_PROFILE: &str = "operator_profile.json";
    /// Roles of clients.
    pub const ROLE_CARDS: &str = "role_cards.json";
    /// Bans.
    pub const HARD_BANS: &str = "hard_bans.json";
    /// Rungs.
    pub const AUTONOMY_LADDER: &str = "autonomy_ladder.json";
    /// Models.
    pub const LLM_PROVIDER: &str = "llm_provider.json";
    /// Results.
    pub const OUTPUT_CONTRACTS: &str = "output_contracts.json";
    /// What briefs hold.
    pub const BRIEF: &str = "brief_config.json";
    /// What is urgent.
    pub const URGENCY: &str = "urgency_rules.json";
    /// How drafts sound.
    pub const DRAFT_STYLE: &str = "draft_style.json";
    /// Where things are filed.
    pub const PARA: &str = "para_rules.json";
    /// The owner's own Cedar policies.
    pub const CEDAR: &str = "policy.cedar";
    /// Permission rules.
    pub const PERMISSIONS: &str = "permissions.toml";
    /// Where rosters stand.
    pub const ROSTERS: &str = "rosters/";
    /// The enterprise policy, which stands elsewhere.
    pub const ENTERPRISE: &str = "policy.toml";
}

/// What was found where a governance file should be. `Debug` shows no text:
/// files hold names of people.
#[derive(Clone, PartialEq, Eq)]
pub enum FileText {
    /// Its text.
    Text(String),
    /// There is no file.
    Absent,
    /// There is one, but nobody should believe it: the reason.
    Unusable(String),
}

/// Everything that was found, before it is understood.
#[derive(Clone, Debug)]
pub struct Sources {
    /// `operator_profile.json`.
    pub operator_profile: FileText,
    /// `role_cards.json`.
    pub role_cards: FileText,
    /// `hard_bans.json`.
    pub hard_bans: FileText,
    /// `autonomy_ladder.json`.
    pub autonomy_ladder: FileText,
    /// `llm_provider.json`.
    pub llm_provider: FileText,
    /// `output_contracts.json`.
    pub output_contracts: FileText,
    /// `brief_config.json`.
    pub brief: FileText,
    /// `urgency_rules.json`.
    pub urgency: FileText,
    /// `draft_style.json`.
    pub draft_style: FileText,
    /// `para_rules.json`.
    pub para: FileText,
    /// `policy.cedar`.
    pub cedar: FileText,
    /// `permissions.toml`.
    pub permissions: FileText,
    /// Rule files of folders, which may only deny and ask: the folder, its file.
    pub workspaces: Vec<(Box<str>, FileText)>,
    /// Enterprise policies, all of which hold.
    pub enterprise: Vec<FileText>,
    /// The files of people's names below the governance folder, by the name
    /// that `roster_files` uses.
    pub rosters: BTreeMap<Box<str>, FileText>,
}

/// A file that was understood, or why it was not.
#[derive(Clone, Debug)]
pub enum Loaded<T> {
    /// It holds.
    Good(T),
    /// It denies what it governs.
    Broken(Broken),
}

/// Why a file governs by denying. `Display` is for the one who is refused;
/// [`Broken::reason`] for the owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Its name.
    pub file: &'static str,
    /// What is wrong with it. For the owner's eyes.
    pub reason: String,
}

/// The governance files, understood.
#[derive(Clone, Debug)]
pub struct Governance {
    /// `operator_profile.json`.
    pub profile: Loaded<OperatorProfile>,
    /// `role_cards.json`.
    pub roles: Loaded<RoleCards>,
    /// `hard_bans.json`.
    pub bans: Loaded<HardBans>,
    /// `autonomy_ladder.json`.
    pub ladder: Loaded<AutonomyLadder>,
    /// `llm_provider.json`.
    pub providers: Loaded<LlmProviders>,
    /// `output_contracts.json`.
    pub contracts: Loaded<OutputContracts>,
    /// `brief_config.json`. It, like the next three, governs the desk and nothing else.
    pub brief: Loaded<BriefConfig>,
    /// `urgency_rules.json`.
    pub urgency: Loaded<UrgencyRules>,
    /// `draft_style.json`.
    pub draft_style: Loaded<DraftStyle>,
    /// `para_rules.json`.
    pub para: Loaded<ParaRules>,
    /// The enterprise policies. None is a good one that forbids nothing.
    pub enterprise: Loaded<Enterprise>,
    /// Whether nobody wrote the desk's four files, and [`DeskDefaults`] hold.
    pub is_desk_by_default: bool,
    /// The rosters, by the name that `roster_files` uses.
    pub rosters: BTreeMap<Box<str>, Loaded<Roster>>,
    /// What the owner wrote beside the rules, by file.
    pub notes: BTreeMap<&'static str, Vec<Note>>,
}

// === impl FileText ===

impl fmt::Debug for FileText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write!(f, "Text({} bytes)", text.len()),
            Self::Absent => f.write_str("Absent"),
            Self::Unusable(why) => write!(f, "Unusable({why})"),
        }
    }
}

// === impl Sources ===

impl Sources {
    /// No file at all: everything is denied.
    pub fn nothing() -> Self {
        Self::from_files(|_| FileText::Absent)
    }

    /// The files of the governance folder, by their names in [`file`]; no
    /// rosters, no workspaces and no enterprise policy.
    pub fn from_files(mut read: impl FnMut(&'static str) -> FileText) -> Self {
        Self {
            operator_profile: read(file::OPERATOR_PROFILE),
            role_cards: read(file::ROLE_CARDS),
            hard_bans: read(file::HARD_BANS),
            autonomy_ladder: read(file::AUTONOMY_LADDER),
            llm_provider: read(file::LLM_PROVIDER),
            output_contracts: read(file::OUTPUT_CONTRACTS),
            brief: read(file::BRIEF),
            urgency: read(file::URGENCY),
            draft_style: read(file::DRAFT_STYLE),
            para: read(file::PARA),
            cedar: read(file::CEDAR),
            permissions: read(file::PERMISSIONS),
            workspaces: Vec::new(),
            enterprise: Vec::new(),
            rosters: BTreeMap::new(),
        }
    }

    /// Stands for what redaction goes by: the profile and the rosters. A test of
    /// redaction is about this text of them and no other.
    pub fn redaction_digest(&self) -> String {
        let mut hash = Sha256::new();
        let mut add = |name: &str, text: &FileText| {
            let text = match text {
                FileText::Text(text) => text.as_str(),
                FileText::Absent | FileText::Unusable(_) => "",
            };
            for part in [name, text] {
                hash.update((part.len() as u64).to_be_bytes());
                hash.update(part.as_bytes());
            }
        };
        add(file::OPERATOR_PROFILE, &self.operator_profile);
        for (name, text) in &self.rosters {
            add(name, text);
        }
        let digest = hash.finalize();
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// With these rosters, by the name that `roster_files` uses.
    #[must_use]
    pub fn with_rosters(mut self, rosters: impl IntoIterator<Item = (Box<str>, FileText)>) -> Self {
        self.rosters.extend(rosters);
        self
    }
}

// === impl Loaded ===

impl<T> Loaded<T> {
    /// What it says.
    ///
    /// # Errors
    /// Why it says nothing.
    pub fn get(&self) -> Result<&T, &Broken> {
        match self {
            Self::Good(value) => Ok(value),
            Self::Broken(broken) => Err(broken),
        }
    }

    /// What it says, if it says anything.
    pub fn good(&self) -> Option<&T> {
        self.get().ok()
    }
}

// === impl Broken ===

impl fmt::Display for Broken {
    /// For whoever is refused because of it, so without the reason, which can
    /// name what that one has no business to know.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the governance file {} is missing or cannot be relied on",
            self.file
        )
    }
}

#[cfg(test)]
mod tests;
