//! Microsoft's clouds (Microsoft Learn, "National clouds and Microsoft Graph").

/// One of Microsoft's clouds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Cloud {
    /// For everybody.
    #[default]
    Global,
    /// US Government L4.
    UsGov,
    /// US Government L5, the Department of Defense.
    UsGovDod,
    /// China, operated by 21Vianet.
    China,
}

// === impl Cloud ===

impl Cloud {
    /// Every cloud.
    pub const ALL: [Self; 4] = [Self::Global, Self::UsGov, Self::UsGovDod, Self::China];

    /// By the word in the settings.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|cloud| cloud.as_str() == word)
    }

    /// The word in the settings.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Global => "global",
            Self::UsGov => "us-gov",
            Self::UsGovDod => "us-gov-dod",
            Self::China => "china",
        }
    }

    /// Where people and applications sign in.
    #[must_use]
    pub fn authority(self) -> &'static str {
        match self {
            Self::Global => "https://login.microsoftonline.com",
            Self::UsGov | Self::UsGovDod => "https://login.microsoftonline.us",
            Self::China => "https://login.chinacloudapi.cn",
        }
    }

    /// Graph, both as the base of requests and as the name in scopes.
    #[must_use]
    pub fn graph_resource(self) -> &'static str {
        match self {
            Self::Global => "https://graph.microsoft.com",
            Self::UsGov => "https://graph.microsoft.us",
            Self::UsGovDod => "https://dod-graph.microsoft.us",
            Self::China => "https://microsoftgraph.chinacloudapi.cn",
        }
    }
}
