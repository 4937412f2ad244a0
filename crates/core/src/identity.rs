//! Under whose identity something is done.

/// Who acts, as records say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Attribution {
    /// The agent, as a user of its own.
    AgentUser,
    /// The agent, on behalf of its human.
    AgentForHuman,
    /// The application, on behalf of its human.
    ApplicationForHuman,
    /// Nobody has signed in.
    #[default]
    None,
}

/// An agent's identity, as records name it: by ids of its directory.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Identity {
    /// Who acts.
    pub attribution: Attribution,
    /// The agent, where one acts.
    pub agent_id: Option<Box<str>>,
    /// The person who answers for it.
    pub sponsor: Option<Box<str>>,
}

// === impl Attribution ===

impl Attribution {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::AgentUser,
        Self::AgentForHuman,
        Self::ApplicationForHuman,
        Self::None,
    ];

    /// The attribution of a word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.as_str() == word)
    }

    /// The word that stands in records.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AgentUser => "agent_user",
            Self::AgentForHuman => "agent_for_human",
            Self::ApplicationForHuman => "application_for_human",
            Self::None => "none",
        }
    }
}

// === impl Identity ===

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The sponsor is a person.
        f.debug_struct("Identity")
            .field("attribution", &self.attribution)
            .field("agent_id", &self.agent_id)
            .finish_non_exhaustive()
    }
}
