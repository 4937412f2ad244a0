//! What governs the desk where no file does.
//!
//! A data directory of before the desk has none of the four files. Denying everything there would
//! take from its owner what nobody ever forbade, so these hold instead: no model is asked, and a
//! personal calendar stands in no brief of all. Where any of the four is there, the owner's folder
//! knows the desk, and a file that is missing was taken away: then it denies, like every other.

use legation_core::EntityId;

use super::problem::{Place, Problem, Severity};
use super::{FileText, OperatorProfile, Sources, file};

/// The texts of the four files.
#[derive(Clone, Debug)]
pub struct DeskDefaults {
    /// `brief_config.json`.
    pub brief: String,
    /// `urgency_rules.json`.
    pub urgency: &'static str,
    /// `draft_style.json`.
    pub draft_style: &'static str,
    /// `para_rules.json`.
    pub para: &'static str,
}

const BRIEF: &str = include_str!("../../templates/desk/brief_config.json");
const NOBODY: &str = r#""personal_entities": []"#;
const PERSONAL: &str = r#""personal_entities": ["personal"]"#;

// === impl DeskDefaults ===

impl DeskDefaults {
    /// Those that hold beside this profile.
    pub fn beside(profile: &OperatorProfile) -> Self {
        let personal = EntityId::personal();
        let is_one_of_several =
            profile.entities.len() > 1 && profile.entities.contains_key(&personal);
        Self {
            brief: match is_one_of_several {
                true => BRIEF.replace(NOBODY, PERSONAL),
                false => BRIEF.to_owned(),
            },
            urgency: include_str!("../../templates/desk/urgency_rules.json"),
            draft_style: include_str!("../../templates/desk/draft_style.json"),
            para: include_str!("../../templates/desk/para_rules.json"),
        }
    }

    /// The names of the files with their texts.
    pub fn files(&self) -> [(&'static str, &str); 4] {
        [
            (file::BRIEF, &self.brief),
            (file::URGENCY, self.urgency),
            (file::DRAFT_STYLE, self.draft_style),
            (file::PARA, self.para),
        ]
    }

    /// Those that hold where nobody wrote any of the files.
    pub(super) fn holding(sources: &Sources, profile: Option<&OperatorProfile>) -> Option<Self> {
        let files = [
            &sources.brief,
            &sources.urgency,
            &sources.draft_style,
            &sources.para,
        ];
        let is_before = files.iter().all(|text| **text == FileText::Absent);
        profile.filter(|_| is_before).map(Self::beside)
    }

    /// What the owner is told.
    pub(super) fn problem() -> Problem {
        Problem {
            file: file::BRIEF.into(),
            place: Place::default(),
            message:
                "is missing, as are urgency_rules.json, draft_style.json and para_rules.json: \
                      the desk goes by defaults and asks no model"
                    .to_owned(),
            hint: "`legation desk init` writes them, for you to change.".to_owned(),
            severity: Severity::Warning,
        }
    }
}
