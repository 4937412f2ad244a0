//! What a message wants, by rules over its words.
//!
//! Where several rules hold, or none, a model may be asked which of them was meant; where none may
//! be, the first rule that holds stands. The order of the rules is therefore their rank: who wants a
//! draft of a mail does not want a list of mails.

/// What can be wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Intent {
    /// A draft of a letter.
    DraftEmail,
    /// The brief of the morning.
    MorningBrief,
    /// The digest of the evening.
    EodDigest,
    /// Deadlines in a text.
    Deadlines,
    /// What waits to be sorted.
    TriageList,
    /// The calendar.
    CalendarList,
    /// Letters.
    MailList,
    /// All deals.
    DealsList,
    /// What happened to a deal.
    DealTimeline,
    /// One deal.
    DealDetail,
    /// How the desk is.
    Status,
    /// Anything else.
    General,
}

/// What the words of a message say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// Every intent that a rule found, by rank.
    pub(crate) found: Vec<Intent>,
}

// === impl Intent ===

impl Intent {
    /// All of them, by rank.
    pub const ALL: &[Self] = &[
        Self::DraftEmail,
        Self::MorningBrief,
        Self::EodDigest,
        Self::Deadlines,
        Self::TriageList,
        Self::CalendarList,
        Self::DealsList,
        Self::DealTimeline,
        Self::DealDetail,
        Self::MailList,
        Self::Status,
        Self::General,
    ];

    /// As it stands in records, and as models say it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::DraftEmail => "draft_email",
            Self::MorningBrief => "morning_brief",
            Self::EodDigest => "eod_digest",
            Self::Deadlines => "deadlines",
            Self::TriageList => "triage_list",
            Self::CalendarList => "calendar_list",
            Self::MailList => "mail_list",
            Self::DealsList => "deals_list",
            Self::DealTimeline => "deal_timeline",
            Self::DealDetail => "deal_detail",
            Self::Status => "status",
            Self::General => "general_chat",
        }
    }

    /// The one that is written so.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let all = Self::ALL.iter().copied();
        all.into_iter().find(|intent| intent.as_str() == text)
    }

    /// Whether it only shows what there is.
    #[must_use]
    pub fn reads_only(self) -> bool {
        match self {
            // A text to look through may say anything of anybody.
            Self::DraftEmail | Self::Deadlines => false,
            Self::MorningBrief
            | Self::EodDigest
            | Self::TriageList
            | Self::CalendarList
            | Self::MailList
            | Self::DealsList
            | Self::DealTimeline
            | Self::DealDetail
            | Self::Status
            | Self::General => true,
        }
    }

    /// Whether it is about somebody's data.
    #[must_use]
    pub fn needs_entity(self) -> bool {
        !matches!(self, Self::Status | Self::General)
    }

    /// Whether these words, lower case and in their order, ask for it.
    fn is_meant(self, words: &[&str]) -> bool {
        let has = |all: &[&str]| words.iter().any(|word| all.contains(word));
        let follow = |first: &[&str], second: &[&str]| {
            let mut pairs = words.windows(2);
            pairs.any(|pair| first.contains(&pair[0]) && second.contains(&pair[1]))
        };
        match self {
            Self::DraftEmail => {
                has(&["draft", "write", "compose", "reply", "answer"])
                    && has(&[
                        "email", "emails", "mail", "message", "letter", "reply", "note",
                    ])
            }
            Self::MorningBrief => has(&["brief", "briefing"]),
            Self::EodDigest => {
                has(&["eod", "digest"])
                    || words.windows(3).any(|three| three == ["end", "of", "day"])
            }
            Self::Deadlines => has(&["deadline", "deadlines", "due"]),
            Self::TriageList => has(&["triage", "unsorted", "unclassified"]),
            Self::CalendarList => has(&[
                "calendar",
                "schedule",
                "meeting",
                "meetings",
                "appointments",
            ]),
            Self::MailList => has(&["inbox", "mail", "mails", "email", "emails", "letters"]),
            Self::DealsList => {
                has(&["deals", "pipeline"]) || follow(&["deal"], &["list", "status", "all"])
            }
            Self::DealTimeline => has(&["timeline", "history"]) && has(&["deal"]),
            Self::DealDetail => has(&["deal"]) && !follow(&["deal"], &["list", "status", "all"]),
            Self::Status => has(&["status", "health", "doctor"]),
            Self::General => false,
        }
    }
}

// === impl Wanted ===

impl Wanted {
    /// What the words say; `names_deal` where a deal of the owner's is named.
    pub(crate) fn of(text: &str, names_deal: bool) -> Self {
        let lower = text.to_lowercase();
        let words: Vec<&str> = lower
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .collect();
        let mut found: Vec<Intent> = Intent::ALL
            .iter()
            .copied()
            .filter(|intent| intent.is_meant(&words))
            .collect();
        if names_deal && found.is_empty() {
            found.push(Intent::DealDetail);
        }
        // What happened to a deal is more than the deal, and a deal's status is the deal.
        if found.contains(&Intent::DealTimeline) {
            found.retain(|intent| *intent != Intent::DealDetail);
        }
        if found
            .iter()
            .any(|intent| matches!(intent, Intent::DealsList | Intent::DealDetail))
        {
            found.retain(|intent| *intent != Intent::Status);
        }
        Self { found }
    }

    /// What stands where nobody is asked.
    pub(crate) fn first(&self) -> Intent {
        self.found.first().copied().unwrap_or(Intent::General)
    }

    /// Whether the rules leave no doubt.
    pub(crate) fn is_certain(&self) -> bool {
        match self.found.as_slice() {
            [_] => true,
            // A draft about a deal, a meeting or a deadline is a draft.
            [Intent::DraftEmail, ..] => true,
            _ => false,
        }
    }
}
