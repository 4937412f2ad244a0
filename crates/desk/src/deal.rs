//! Deals: what they are, and what may happen to them.

use std::fmt;

use legation_api::desk as asked;
use legation_api::desk::Act;
use serde::{Deserialize, Serialize};

use crate::source::SourceId;

/// Most parties, dates, notes and links of one deal.
pub const PARTS_MAX: usize = 200;

/// A deal.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deal {
    /// What people call it.
    pub name: String,
    /// What kind of deal it is, in the owner's words.
    #[serde(default)]
    pub kind: Option<String>,
    /// How far it is.
    pub stage: Stage,
    /// Whether anybody works on it.
    pub status: DealStatus,
    /// The stage it had before it was archived.
    #[serde(default)]
    pub archived_from: Option<Stage>,
    /// Who takes part.
    #[serde(default)]
    pub parties: Vec<Party>,
    /// Days that matter.
    #[serde(default)]
    pub dates: Vec<DealDate>,
    /// What was noted.
    #[serde(default)]
    pub notes: Vec<DealNote>,
    /// What belongs to it.
    #[serde(default)]
    pub links: Vec<Link>,
    /// When it was created, in milliseconds since 1970.
    pub created_ms: i64,
    /// When it last changed.
    pub updated_ms: i64,
    /// Who changed it last.
    pub updated_by: String,
}

/// Somebody who takes part.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Party {
    /// Their name.
    pub name: String,
    /// As what.
    #[serde(default)]
    pub role: String,
    /// Where they are written to.
    #[serde(default)]
    pub address: String,
}

/// A day that matters.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DealDate {
    /// What happens then.
    pub label: String,
    /// The day, as `2026-05-01`.
    #[serde(with = "crate::day")]
    pub date: jiff::civil::Date,
}

/// Something that was noted.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DealNote {
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
    /// Who.
    pub by: String,
    /// What.
    pub text: String,
}

/// Something that belongs to a deal.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// What people call it.
    pub label: String,
    /// An https address, or a [`SourceId`].
    pub target: String,
}

/// How far a deal is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
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
    /// Nobody looks at it any more.
    Archived,
}

/// Whether anybody works on a deal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DealStatus {
    /// Somebody does.
    Active,
    /// Nobody does for the moment.
    Paused,
    /// It is over.
    Closed,
    /// It is put away.
    Archived,
}

/// What happened to a deal, for its timeline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DealEvent {
    /// What was done, as a word.
    pub action: String,
    /// By whom: a client, or the owner.
    pub by: String,
    /// What changed, in words.
    pub details: String,
    /// What it rests on, where it came from somewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<SourceId>,
}

/// Why something cannot be done to a deal.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DealError {
    /// The stage cannot follow.
    #[error("a deal in stage {from} cannot go to {to}; nothing was changed")]
    Stage {
        /// Where it is.
        from: &'static str,
        /// Where it should go.
        to: &'static str,
    },
    /// It is put away.
    #[error("the deal is archived; nothing was changed")]
    Archived,
    /// It is as it should be made.
    #[error("the deal is {0} already; nothing was changed")]
    Already(&'static str),
    /// Something is empty or too long.
    #[error("{0}; nothing was changed")]
    Unfit(&'static str),
    /// There are too many.
    #[error("a deal has at most {PARTS_MAX} {0}; nothing was changed")]
    Full(&'static str),
}

// === impl Deal ===

impl Deal {
    /// A new deal. What does not fit is refused.
    ///
    /// # Errors
    /// The name is empty, or a link leads nowhere.
    pub fn new(name: &str, by: &str, now_ms: i64) -> Result<Self, DealError> {
        let name = name.trim();
        if name.is_empty() || name.chars().count() > 200 {
            return Err(DealError::Unfit(
                "a deal needs a name of at most 200 characters",
            ));
        }
        Ok(Self {
            name: name.to_owned(),
            kind: None,
            stage: Stage::DealIdentified,
            status: DealStatus::Active,
            archived_from: None,
            parties: Vec::new(),
            dates: Vec::new(),
            notes: Vec::new(),
            links: Vec::new(),
            created_ms: now_ms,
            updated_ms: now_ms,
            updated_by: by.to_owned(),
        })
    }

    /// Does something to it; what happened. A stage follows forward by any number of stages,
    /// backward by one: a stage that was left by mistake is gone back to, a deal that starts over
    /// is another deal.
    ///
    /// # Errors
    /// See [`DealError`]; the deal is as it was then.
    pub fn act(&mut self, act: Act, by: &str, now_ms: i64) -> Result<DealEvent, DealError> {
        if self.status == DealStatus::Archived && act != Act::Restore {
            return Err(DealError::Archived);
        }
        let (action, details) = match act {
            Act::Stage { stage } => self.stage_to(stage.into())?,
            Act::Pause => self.status_to(DealStatus::Active, DealStatus::Paused)?,
            Act::Resume => self.status_to(DealStatus::Paused, DealStatus::Active)?,
            Act::Note { text } => self.note(&text, by, now_ms)?,
            Act::Party { party } => self.party(party.into())?,
            Act::Date { date } => self.date(date.try_into()?)?,
            Act::Link { link } => self.link(link.into())?,
            Act::Archive => self.archive(),
            Act::Restore => self.restore()?,
        };
        self.updated_ms = now_ms;
        by.clone_into(&mut self.updated_by);
        Ok(DealEvent {
            action: action.to_owned(),
            by: by.to_owned(),
            details,
            source: None,
        })
    }

    /// The next day that matters, from a day on.
    #[must_use]
    pub fn next_date(&self, today: jiff::civil::Date) -> Option<&DealDate> {
        let coming = self.dates.iter().filter(|date| date.date >= today);
        coming.min_by_key(|date| date.date)
    }

    /// The words by which somebody may mean it: its name and its parties.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.name.as_str()).chain(
            self.parties
                .iter()
                .flat_map(|party| [party.name.as_str(), party.address.as_str()])
                .filter(|name| !name.is_empty()),
        )
    }

    fn stage_to(&mut self, to: Stage) -> Result<(&'static str, String), DealError> {
        let from = self.stage;
        if from == to {
            return Err(DealError::Already("in that stage"));
        }
        let back_by_one = to.step() + 1 == from.step();
        let forward = to > from && to != Stage::Archived;
        // What is closed opens again only by going back to closing.
        if !forward && !back_by_one {
            return Err(DealError::Stage {
                from: from.as_str(),
                to: to.as_str(),
            });
        }
        self.stage = to;
        self.status = match to {
            Stage::Closed => DealStatus::Closed,
            _ if self.status == DealStatus::Closed => DealStatus::Active,
            _ => self.status,
        };
        Ok(("stage", format!("{} → {}", from.as_str(), to.as_str())))
    }

    fn status_to(
        &mut self,
        from: DealStatus,
        to: DealStatus,
    ) -> Result<(&'static str, String), DealError> {
        if self.status != from {
            return Err(DealError::Already(self.status.as_str()));
        }
        self.status = to;
        Ok(("status", format!("{} → {}", from.as_str(), to.as_str())))
    }

    fn note(
        &mut self,
        text: &str,
        by: &str,
        now_ms: i64,
    ) -> Result<(&'static str, String), DealError> {
        let text = text.trim();
        if text.is_empty() || text.chars().count() > 4000 {
            return Err(DealError::Unfit("a note has from 1 to 4000 characters"));
        }
        room(self.notes.len(), "notes")?;
        self.notes.push(DealNote {
            at_ms: now_ms,
            by: by.to_owned(),
            text: text.to_owned(),
        });
        Ok(("note", text.chars().take(200).collect()))
    }

    fn party(&mut self, party: Party) -> Result<(&'static str, String), DealError> {
        if party.name.trim().is_empty() {
            return Err(DealError::Unfit("somebody who takes part has a name"));
        }
        let said = match party.role.is_empty() {
            true => party.name.clone(),
            false => format!("{}, {}", party.name, party.role),
        };
        let there = self.parties.iter_mut().find(|one| one.name == party.name);
        match there {
            Some(there) if *there == party => {
                return Err(DealError::Already("as it should be"));
            }
            Some(there) => *there = party,
            None => {
                room(self.parties.len(), "parties")?;
                self.parties.push(party);
            }
        }
        Ok(("party", said))
    }

    fn date(&mut self, date: DealDate) -> Result<(&'static str, String), DealError> {
        if date.label.trim().is_empty() {
            return Err(DealError::Unfit("a day that matters says what for"));
        }
        let said = format!("{}: {}", date.label, date.date);
        let there = self.dates.iter_mut().find(|one| one.label == date.label);
        match there {
            Some(there) if *there == date => {
                return Err(DealError::Already("as it should be"));
            }
            Some(there) => *there = date,
            None => {
                room(self.dates.len(), "dates")?;
                self.dates.push(date);
            }
        }
        Ok(("date", said))
    }

    fn link(&mut self, link: Link) -> Result<(&'static str, String), DealError> {
        let leads = link.target.starts_with("https://") || SourceId::parse(&link.target).is_some();
        if !leads || link.label.trim().is_empty() {
            return Err(DealError::Unfit(
                "a link has a label, and an https address or a source",
            ));
        }
        if self.links.iter().any(|one| one.target == link.target) {
            return Err(DealError::Already("linked to that"));
        }
        room(self.links.len(), "links")?;
        let said = link.label.clone();
        self.links.push(link);
        Ok(("link", said))
    }

    fn archive(&mut self) -> (&'static str, String) {
        let from = self.stage;
        self.archived_from = Some(from);
        self.stage = Stage::Archived;
        self.status = DealStatus::Archived;
        ("archived", format!("was {}", from.as_str()))
    }

    fn restore(&mut self) -> Result<(&'static str, String), DealError> {
        if self.status != DealStatus::Archived {
            return Err(DealError::Already(self.status.as_str()));
        }
        self.stage = self.archived_from.take().unwrap_or(Stage::DealIdentified);
        self.status = match self.stage {
            Stage::Closed => DealStatus::Closed,
            _ => DealStatus::Active,
        };
        Ok(("restored", format!("is {}", self.stage.as_str())))
    }
}

impl fmt::Debug for Deal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Deal")
            .field("stage", &self.stage)
            .field("status", &self.status)
            .finish_non_exhaustive()
    }
}

fn room(count: usize, what: &'static str) -> Result<(), DealError> {
    match count < PARTS_MAX {
        true => Ok(()),
        false => Err(DealError::Full(what)),
    }
}

macro_rules! hidden {
    ($($name:ident),*) => {$(
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($name), "(***)"))
            }
        }
    )*};
}

hidden!(Party, DealDate, DealNote, Link);

// === impl Stage ===

impl Stage {
    /// Every stage, in their order.
    pub const ALL: [Self; 9] = [
        Self::DealIdentified,
        Self::NdaSigned,
        Self::DataRoomAccess,
        Self::DdActive,
        Self::PsaInProgress,
        Self::InvestorOnboarding,
        Self::Closing,
        Self::Closed,
        Self::Archived,
    ];

    /// Its word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::DealIdentified => "deal_identified",
            Self::NdaSigned => "nda_signed",
            Self::DataRoomAccess => "data_room_access",
            Self::DdActive => "dd_active",
            Self::PsaInProgress => "psa_in_progress",
            Self::InvestorOnboarding => "investor_onboarding",
            Self::Closing => "closing",
            Self::Closed => "closed",
            Self::Archived => "archived",
        }
    }

    /// What people read.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::DealIdentified => "identified",
            Self::NdaSigned => "NDA signed",
            Self::DataRoomAccess => "data room open",
            Self::DdActive => "due diligence",
            Self::PsaInProgress => "purchase agreement",
            Self::InvestorOnboarding => "investors",
            Self::Closing => "closing",
            Self::Closed => "closed",
            Self::Archived => "archived",
        }
    }

    /// The stage with this word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|stage| stage.as_str() == word)
    }

    fn step(self) -> usize {
        Self::ALL
            .iter()
            .position(|stage| *stage == self)
            .unwrap_or_default()
    }
}

impl From<asked::Stage> for Stage {
    fn from(stage: asked::Stage) -> Self {
        match stage {
            asked::Stage::DealIdentified => Self::DealIdentified,
            asked::Stage::NdaSigned => Self::NdaSigned,
            asked::Stage::DataRoomAccess => Self::DataRoomAccess,
            asked::Stage::DdActive => Self::DdActive,
            asked::Stage::PsaInProgress => Self::PsaInProgress,
            asked::Stage::InvestorOnboarding => Self::InvestorOnboarding,
            asked::Stage::Closing => Self::Closing,
            asked::Stage::Closed => Self::Closed,
        }
    }
}

// === impl Party, DealDate, Link ===

impl From<asked::Party> for Party {
    fn from(party: asked::Party) -> Self {
        Self {
            name: party.name,
            role: party.role,
            address: party.address,
        }
    }
}

impl TryFrom<asked::Day> for DealDate {
    type Error = DealError;

    fn try_from(day: asked::Day) -> Result<Self, DealError> {
        let date = day.date.parse();
        let date = date.map_err(|_| DealError::Unfit("a date is written as 2026-05-01"))?;
        Ok(Self {
            label: day.label,
            date,
        })
    }
}

impl From<asked::Link> for Link {
    fn from(link: asked::Link) -> Self {
        Self {
            label: link.label,
            target: link.target,
        }
    }
}

// === impl DealStatus ===

impl DealStatus {
    /// Every status.
    pub const ALL: [Self; 4] = [Self::Active, Self::Paused, Self::Closed, Self::Archived];

    /// Its word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Paused => "paused",
            Self::Closed => "closed",
            Self::Archived => "archived",
        }
    }

    /// The status with this word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == word)
    }
}
