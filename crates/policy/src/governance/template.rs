//! What `governance init` writes. The texts belong to this crate because only
//! it can say that they are understood.

use std::borrow::Cow;
use std::fmt;

use super::{FileText, Sources, file, schemas};

/// A set of files to begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Template {
    /// One person and their own servers.
    Personal,
    /// Several companies, one of them under HIPAA: begins with denying.
    Business,
}

macro_rules! files {
    ($folder:literal: $($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../templates/", $folder, "/", $name)))),*]
    };
}

const PERSONAL: &[(&str, &str)] = files!("personal":
    "operator_profile.json",
    "role_cards.json",
    "hard_bans.json",
    "autonomy_ladder.json",
    "llm_provider.json",
    "output_contracts.json",
    "brief_config.json",
    "urgency_rules.json",
    "draft_style.json",
    "para_rules.json",
    "policy.cedar",
    "permissions.toml",
);

const BUSINESS: &[(&str, &str)] = files!("business":
    "operator_profile.json",
    "rosters/meadow.json",
    "role_cards.json",
    "hard_bans.json",
    "autonomy_ladder.json",
    "llm_provider.json",
    "output_contracts.json",
    "brief_config.json",
    "urgency_rules.json",
    "draft_style.json",
    "para_rules.json",
    "policy.cedar",
    "permissions.toml",
);

// === impl Template ===

impl Template {
    /// Every template.
    pub const ALL: [Self; 2] = [Self::Personal, Self::Business];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Personal => "personal",
            Self::Business => "business",
        }
    }

    /// The template called `text`.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.as_str() == text)
    }

    /// Its files: the name below the governance folder, and the text.
    pub fn files(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Personal => PERSONAL,
            Self::Business => BUSINESS,
        }
    }

    /// Its files, and the schemas that they name for editors.
    pub fn everything(self) -> Vec<(Cow<'static, str>, Cow<'static, str>)> {
        let files = self.files().iter();
        let files = files.map(|(name, text)| (Cow::Borrowed(*name), Cow::Borrowed(*text)));
        let schemas = schemas().into_iter();
        let schemas =
            schemas.map(|(name, text)| (format!("schemas/{name}").into(), Cow::Owned(text)));
        files.chain(schemas).collect()
    }

    /// What would be found where exactly its files are.
    pub fn sources(self) -> Sources {
        Sources::from_files(|name| {
            self.file(name)
                .map_or(FileText::Absent, |text| FileText::Text(text.to_owned()))
        })
        .with_rosters(self.files().iter().filter_map(|(name, text)| {
            let is_roster = name.starts_with(file::ROSTERS);
            is_roster.then(|| ((*name).into(), FileText::Text((*text).to_owned())))
        }))
    }

    /// The text of one of its files.
    pub fn file(self, name: &str) -> Option<&'static str> {
        let mut files = self.files().iter();
        files
            .find(|(named, _)| *named == name)
            .map(|(_, text)| *text)
    }
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
